package derive

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
)

// contradicted says where LLDP sees something else at a port than the link that
// is known already. A name of another form that a switch has nowhere may be any
// port's, one that a host gives in words or digits any interface's, and a chassis'
// MAC address any device's.
func (f *finder) contradicted(s *box, at intent.Endpoint, l *link) {
	peer := l.b
	if peer == at {
		peer = l.a
	}
	var other string
	for _, n := range s.Neighbors[at.Port] {
		var fits bool
		t := f.switchOf(n.Device)
		if t == nil && IsMAC(n.Device) {
			t = f.byName[peer.Device]
		}
		if t != nil {
			q := portOf(t, n.Port)
			fits = t.Name == peer.Device && (q == peer.Port || q == "" && !SameForm(n.Port, peer.Port))
		} else if f.byName[peer.Device] == nil {
			fits = n.Device == "" || IsMAC(n.Device) ||
				(strings.EqualFold(n.Device, peer.Device) || strings.EqualFold(short(n.Device), short(peer.Device))) && f.sameNIC(peer, n.Port)
		} else {
			fits = n.Device == ""
		}
		if fits {
			return
		}
		if other == "" {
			other = n.Device + "/" + n.Port
		}
	}
	if other != "" {
		f.leave(at.Device, []string{at.Port}, "LLDP sees %q there; the link of %s and %s is taken", other, l.a, l.b)
	}
}

// sameNIC reports whether a name that a host's LLDP gives may be that of a NIC.
func (f *finder) sameNIC(nic intent.Endpoint, given string) bool {
	if given == nic.Port {
		return true
	}
	h := f.hosts[nic.Device]
	if h == nil || h.nics[nic.Port] == nil {
		return true
	}
	return h.nics[nic.Port].RDMA == given || !NamesInterface(given)
}
