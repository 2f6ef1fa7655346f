package cli

import "cmp"

// Wire holds the settings of a port that matter for its link.
type Wire struct {
	Speed int64  // bits per second; 0 means the transceiver's default
	FEC   string // "rs", "fc" or "none"; "" means the transceiver's default
	// Mute and Deaf are set if the port does not send or does not receive LLDP.
	Mute, Deaf bool
}

// Connect sets the function that returns the settings of the port at the other end of a link. It
// is called whenever the state of the link is shown.
func (w *World) Connect(port string, peer func() Wire) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peers[port] = peer
}

// Link reports whether an enabled port with the settings own has a link: it needs a cable, and the
// speed and FEC of the other end. Only autonegotiation on copper could make different ends agree
// (IEEE 802.3 clauses 73, 91 and 108), and the ports here do not use it. If the other end is not
// [World.Connect]ed, it is taken to use its transceiver's speed, with RS-FEC. The caller must not
// hold a lock of a box.
func (w *World) Link(port string, own Wire, nominal int64) bool {
	peer := w.peer(port)
	speed := func(x Wire) int64 { return cmp.Or(x.Speed, nominal) }
	fec := func(x Wire) string { return cmp.Or(x.FEC, "rs") }
	return !w.Unplugged(port) && (own.Speed == peer.Speed || speed(own) == speed(peer)) && fec(own) == fec(peer)
}

// Hears returns the neighbor of a port that has a link, and false unless both ends have LLDP on.
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
