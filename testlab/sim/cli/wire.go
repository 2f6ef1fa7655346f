package cli

import "cmp"

// Wire is how a port is set for its link.
type Wire struct {
	Speed int64  // bits a second; 0: what the transceiver has
	FEC   string // "rs", "fc" or "none"; "": what the transceiver has
	// Mute and Deaf: it sends and takes no LLDP.
	Mute, Deaf bool
}

// Connect says how the port at the other end of a link is set. It is asked whenever the
// state of the link is shown.
func (w *World) Connect(port string, peer func() Wire) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peers[port] = peer
}

// Link reports whether a port that is set so, and enabled, has a link: a cable, and the
// speed and FEC of the other end. Nothing but autonegotiation on copper would make two
// ends agree (IEEE 802.3 clauses 73, 91 and 108), which the ports here do not run. An end
// that is not [World.Connect]ed is as its transceiver has it, with RS-FEC.
// The caller holds no lock of a box.
func (w *World) Link(port string, own Wire, nominal int64) bool {
	peer := w.peer(port)
	speed := func(x Wire) int64 { return cmp.Or(x.Speed, nominal) }
	fec := func(x Wire) string { return cmp.Or(x.FEC, "rs") }
	return !w.Unplugged(port) && (own.Speed == peer.Speed || speed(own) == speed(peer)) && fec(own) == fec(peer)
}

// Hears is the neighbour of a port that has a link, where both ends have LLDP on.
func (w *World) Hears(port string, own Wire) (Neighbor, bool) {
	n, ok := w.Neighbor(port)
	return n, ok && !own.Deaf && !w.peer(port).Mute
}

func (w *World) peer(port string) Wire {
	w.mu.Lock()
	ask := w.peers[port]
	w.mu.Unlock()
	if ask == nil {
		return Wire{}
	}
	return ask()
}
