package topology

import (
	"cmp"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// RDMA says whether a NIC sends RDMA by the intent.
type RDMA uint8

// The values of RDMA. It is unknown if no NIC of the host states an RDMA device.
const (
	UnknownRDMA RDMA = iota
	NoRDMA
	HasRDMA
)

// RDMAOf reports whether a NIC sends RDMA: it states its RDMA device, or is in a bond with a NIC
// that does (RoCE LAG has one device for all ports of the bond).
func RDMAOf(n *intent.NIC) RDMA {
	states := func(name string) bool {
		m := n.Host.NIC(name)
		return m != nil && m.RDMA.V != ""
	}
	switch {
	case n.NoRDMA.V:
		return NoRDMA
	case n.RDMA.V != "":
		return HasRDMA
	case !slices.ContainsFunc(n.Host.NICs, func(m *intent.NIC) bool { return m.RDMA.V != "" }):
		return UnknownRDMA
	case slices.ContainsFunc(n.Host.Bonds, func(b intent.Bond) bool {
		return slices.Contains(b.Members.V, n.Name) && slices.ContainsFunc(b.Members.V, states)
	}):
		return HasRDMA
	}
	return NoRDMA
}

// RDMAAt is [RDMAOf] for the NIC at an end of a link.
func RDMAAt(f *intent.Fabric, e intent.Endpoint) RDMA {
	if h := f.Host(e.Device); h != nil {
		if n := h.NIC(e.Port); n != nil {
			return RDMAOf(n)
		}
	}
	return UnknownRDMA
}

// senders finds the classes that each NIC sends, and expects to be lossless.
type senders struct {
	g       *Graph
	bounced qos.PrioritySet // classes that traffic is remapped to
	stated  bool            // some NIC of the fabric states its RDMA device
	// alike holds the lossless classes of NICs that the intent states on one line, at one switch
	// and at all switches (with a nil switch).
	alike   map[kin]qos.PrioritySet
	islands map[*intent.Host]qos.PrioritySet
}

type kin struct {
	line *intent.NICLine
	at   *intent.Switch
}

// Bounced returns the classes that a tunnel or an exception remaps traffic to.
func Bounced(f *intent.Fabric) (set qos.PrioritySet) {
	add := func(l []intent.Remap) {
		for _, m := range l {
			if m.From.Priority.V != m.To.Priority.V {
				set |= qos.Priorities(m.To.Priority.V)
			}
		}
	}
	for _, t := range f.Routing.Tunnels {
		add(t.Remap)
	}
	for _, x := range f.Routing.Exceptions {
		add(x.Remap)
	}
	return set
}

// send fills in what the NICs of the graph send.
func (g *Graph) send() {
	s := &senders{g: g, bounced: Bounced(g.Fabric), alike: map[kin]qos.PrioritySet{}, islands: map[*intent.Host]qos.PrioritySet{}}
	for _, is := range g.Fabric.Islands {
		for _, h := range is.Hosts {
			s.islands[h] = is.Classes
		}
	}
	for i := range g.Switches {
		for _, h := range g.Switches[i].Hosts {
			s.stated = s.stated || h.NIC.RDMA.V != ""
			for _, k := range []kin{{h.NIC.NICLine, nil}, {h.NIC.NICLine, h.Port.Switch}} {
				s.alike[k] |= h.Port.Settings.Lossless() &^ s.bounced
			}
		}
	}
	g.Sent = g.Fabric.LosslessAtHosts()
	for i := range g.Switches {
		for k := range g.Switches[i].Hosts {
			if h := &g.Switches[i].Hosts[k]; RDMAOf(h.NIC) == HasRDMA && classless(h.Port) {
				g.Sent |= s.near(h.Port.Switch)
			}
		}
	}
	for i := range g.Switches {
		for k := range g.Switches[i].Hosts {
			h := &g.Switches[i].Hosts[k]
			h.Sends = s.by(h)
		}
	}
}

// classless reports whether a port has no class for RDMA.
func classless(p *intent.Port) bool {
	return !slices.ContainsFunc(p.Settings.Classes, (*intent.Class).RDMA)
}

// near returns the classes that any end of a switch's links to switches pauses, without those
// that traffic is remapped to.
func (s *senders) near(sw *intent.Switch) (set qos.PrioritySet) {
	for _, p := range sw.Ports {
		if peer, linked := p.Peer(); linked && p.Uplink() {
			set |= p.Settings.Lossless() | s.g.Fabric.Switch(peer.Device).Port(peer.Port).Settings.Lossless()
		}
	}
	return set &^ s.bounced
}

// by returns the classes that a NIC sends: those that its port pauses and those that the ports of
// NICs like it pause. If its port has no class for RDMA at all, RDMA takes those that the links of
// its switch have. Traffic that is lossless at no host is not RDMA, and every host sends it.
func (s *senders) by(h *HostPort) qos.PrioritySet {
	other := ^(s.g.Sent | s.bounced)
	if RDMAOf(h.NIC) == NoRDMA {
		return other
	}
	set := h.Port.Settings.Lossless() | s.g.Pauses(h.Port)
	at := kin{line: h.NIC.NICLine}
	if slices.ContainsFunc(h.Port.Settings.Classes, func(c *intent.Class) bool { return c.Mode.V == intent.ModeLossy }) {
		at.at = h.Port.Switch // it may take losses on purpose, unless NICs like it at the same switch do not
	}
	set |= s.alike[at]
	if classless(h.Port) && (RDMAOf(h.NIC) == HasRDMA || !s.stated) {
		set |= cmp.Or(s.alike[at], s.near(h.Port.Switch), s.g.Sent&^s.bounced)
	}
	if own, ok := s.islands[h.NIC.Host]; ok {
		set &= own
	}
	return set | other
}
