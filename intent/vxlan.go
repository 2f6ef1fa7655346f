package intent

import "slices"

type rawVXLAN struct {
	Pos      Pos
	Ends     list[opt[string]] `key:"ends" rule:"selection" doc:"Switches that pack the packets of their hosts into VXLAN, and unpack those of the others: names, ranges, globs, role:ROLE or os:OS."`
	Underlay opt[string]       `key:"underlay" enum:"ipv4,ipv6" doc:"Protocol of the outer header. Default ipv4."`
	InnerTag opt[bool]         `key:"innerTag" doc:"true: packets keep their VLAN tag inside the tunnel. Default false."`
}

// VXLAN describes the tunnels between switches in which the packets of hosts cross the fabric. They
// configure nothing.
type VXLAN struct {
	Pos      Pos
	Ends     []*Switch // in the order of Fabric.Switches
	Underlay Value[string]
	InnerTag Value[bool]
}

// Values of [VXLAN.Underlay].
const (
	UnderlayIPv4 = "ipv4"
	UnderlayIPv6 = "ipv6"
)

// Sizes of what a tunnel adds to a packet, in bytes (IETF RFC 7348, 791, 8200; IEEE 802.1Q).
const (
	vxlanHeaders = 14 + 8 + 8 // inner Ethernet, VXLAN, UDP
	ipv4Header   = 20
	ipv6Header   = 40
	vlanTag      = 4
)

// Overhead returns by how many bytes the outer IP packet is longer than the inner one.
func (v *VXLAN) Overhead() int {
	n := vxlanHeaders + ipv4Header
	if v.Underlay.V == UnderlayIPv6 {
		n = vxlanHeaders + ipv6Header
	}
	if v.InnerTag.V {
		n += vlanTag
	}
	return n
}

// EndsAt reports whether a switch is an end of the tunnels. A nil VXLAN has none.
func (v *VXLAN) EndsAt(s *Switch) bool { return v != nil && slices.Contains(v.Ends, s) }

func (r *resolver) vxlan() {
	raw := r.raw.VXLAN
	if raw == nil {
		return
	}
	v := &VXLAN{Pos: raw.Pos, Ends: r.chosen(&raw.Ends, raw.Pos, "vxlan"),
		Underlay: from(raw.Underlay, UnderlayIPv4), InnerTag: from(raw.InnerTag, false)}
	if len(v.Ends) == 1 {
		r.problems.addf(raw.Ends.Pos, "", "a tunnel has two ends, and %q is the only one here", v.Ends[0].Name)
	}
	r.out.VXLAN = v
}
