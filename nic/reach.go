package nic

import (
	"net/netip"
	"slices"
)

// Reach lists where the routes of a host lead through a port.
type Reach struct {
	// To holds the destinations of routes through the port, or through a bond, VLAN or bridge over
	// it, that packets with an address of the port can take; none lies within another.
	To []netip.Prefix `json:"to,omitempty"`
	// Partial says why only the main table of routes was read; "" if all were.
	Partial string `json:"partial,omitempty"`
}

// Leads reports whether a route through the port leads to an address.
func (r Reach) Leads(to netip.Addr) bool {
	return slices.ContainsFunc(r.To, func(p netip.Prefix) bool { return p.Contains(to) })
}
