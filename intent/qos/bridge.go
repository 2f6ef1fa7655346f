package qos

import "time"

// Bridge is a set of VLANs that a device both switches and routes, with one pair of timers. After
// a host's MAC entry has expired and while its ARP entry remains, packets routed to the host are
// flooded to all ports of the VLAN.
type Bridge struct {
	VLANs string   // native names, folded: "Vlan[10-12],Vlan20"
	Ports []string // native names in natural order
	// MACAge and ARPAge are the times after which the entry of a silent host expires; 0 is never.
	// A timer that the device does not show is not set.
	MACAge, ARPAge Opt[time.Duration]
}

// Floods reports whether MAC entries expire before ARP entries.
func (b *Bridge) Floods() bool {
	return b.MACAge.Set && b.ARPAge.Set && b.MACAge.V != 0 && (b.ARPAge.V == 0 || b.MACAge.V < b.ARPAge.V)
}

// Overlay is a subinterface or VLAN with a classification of its own for packets received on its
// ports.
type Overlay struct {
	Kind  string // "subinterface" or "VLAN"
	Ports []string
	// Trust and Maps are set if they differ from those of the port.
	Trust Opt[Trust]
	Maps  Opt[*Maps]
}
