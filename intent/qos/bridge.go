package qos

import "time"

// Bridge is VLANs that a device switches and routes as well, with one pair of timers. While
// the ARP entry of a host outlives its MAC entry, packets routed to it leave by every port
// of the VLAN.
type Bridge struct {
	VLANs string   // native names, folded: "Vlan[10-12],Vlan20"
	Ports []string // by native name, in natural order
	// MACAge and ARPAge are after how long the entry of a silent host goes; 0 is never.
	// What the device does not show is not set.
	MACAge, ARPAge Opt[time.Duration]
}

// Floods reports whether MAC entries go before ARP entries do.
func (b *Bridge) Floods() bool {
	return b.MACAge.Set && b.ARPAge.Set && b.MACAge.V != 0 && (b.ARPAge.V == 0 || b.MACAge.V < b.ARPAge.V)
}

// Overlay is a subinterface, or a VLAN, that classifies what comes in by its ports in a
// way of its own.
type Overlay struct {
	Kind  string // "subinterface", "VLAN"
	Ports []string
	// Trust and Maps are set where it does not take them from the port.
	Trust Opt[Trust]
	Maps  Opt[*Maps]
}
