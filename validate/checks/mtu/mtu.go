package mtu

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var Checks = []checks.Check{
	{
		ID: "MTU-01", Title: "the two ends of a link have different MTUs",
		FoldedIn: []string{"MTU-02"},
		Rules:    []checks.Rule{{Severity: checks.Error, When: "where hosts send larger packets than one end carries"}, {Severity: checks.Info, When: "else"}}, Scope: checks.ScopeLink, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:  "large packets are lost in one direction",
		Fix:  "set one mtu.fabric for both ends",
		Link: mtuOfEnds, Compares: qos.KindMTU,
	},
	{
		ID: "MTU-02", Title: "a link cannot carry a full RDMA packet",
		FoldedIn: []string{"MTU-03"},
		Rules:    []checks.Rule{{Severity: checks.Error, When: "by the intent"}, {Severity: checks.Warning, When: "where no intent says which packets hosts send"}}, Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "connections come up and stall with the first large transfer",
		Fix:     "raise mtu.fabric on the path, or lower mtu.rdma",
		Sources: []string{"Linux include/rdma/ib_addr.h, iboe_get_mtu"},
		Link:    mtuOfRDMA, Compares: qos.KindMTU,
		Switch:   checks.EachPort(mtuOfRDMATowardsHost),
		Alone:    checks.InEachPausingPort(mtuAlone),
		AloneFix: "raise the MTU of the port to 9000 or more, as on every port of the path",
	},
	{
		ID: "MTU-03", Title: "a host sends larger packets than its switch accepts",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeNIC, Reads: checks.ReadsRunning | checks.ReadsNIC,
		Why:    "large packets are lost",
		Fix:    "lower the host's MTU, or raise the switch's",
		Switch: checks.EachPort(mtuTowardsHost),
	},
	{
		ID: "MTU-05", Title: "a class has a smaller MTU than its port",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsApplied,
		Why:   "packets are dropped in that class alone",
		Fix:   "give the class the MTU of the port",
		Needs: checks.StateInForce, State: mtuOfClasses,
		ByText: true,
	},
	{
		ID: "MTU-06", Title: "a link cannot carry the packets of hosts in a VXLAN tunnel",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeLink, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "the outer headers make large packets too long, and tunnels do not fragment",
		Fix:     "raise mtu.fabric on the path, or lower mtu.host",
		Sources: []string{"RFC 7348 4.3"},
		Link:    mtuOfTunnels, Compares: qos.KindMTU,
	},
}

// senders holds the size of the largest packets that hosts send into a fabric, in bytes.
type senders struct{ packet, payload int }

// mtuMemo keeps the senders of the fabric, and what they send in tunnels.
type mtuMemo struct {
	senders *senders
	tunnels map[*intent.Link]senders
}

// sendersOn returns the senders of the fabric, computed once.
func sendersOn(r *checks.Link) senders {
	m := checks.Kept[mtuMemo](r.Memo)
	if m.senders == nil {
		s := sendersOf(r.Intent)
		m.senders = &s
	}
	return *m.senders
}

// sendersOf takes the maximum over all ports to hosts; without any, the fabric's own settings.
func sendersOf(f *intent.Fabric) senders {
	s := senders{}
	for _, sw := range f.Switches {
		s.addHosts(sw)
	}
	if s.packet == 0 {
		s = senders{f.Settings.MTU.Host.V, f.Settings.MTU.RDMA.V}
	}
	return s
}

// sentBy takes the maximum over the ports of a switch to hosts; without any, the switch's own
// settings.
func sentBy(sw *intent.Switch) senders {
	s := senders{}
	s.addHosts(sw)
	if s.packet == 0 {
		s = senders{sw.Settings.MTU.Host.V, sw.Settings.MTU.RDMA.V}
	}
	return s
}

func (s *senders) addHosts(sw *intent.Switch) {
	for _, p := range sw.Ports {
		if p.Link != nil && !p.Uplink() {
			s.packet, s.payload = max(s.packet, p.Settings.MTU.Host.V), max(s.payload, p.Settings.MTU.RDMA.V)
		}
	}
}

// largestPacket returns the size of the IP packet with a full RDMA payload, in bytes.
func (s senders) largestPacket() int { return s.payload + intent.RDMAOverhead }

// isMTUExplained reports whether MTU-05 explains why the end with the smaller MTU has it.
func isMTUExplained(r *checks.Link) bool {
	return r.A.MTUSaid && r.A.MTU <= r.B.MTU || r.B.MTUSaid && r.B.MTU <= r.A.MTU
}

// fabricMTU returns where settings state the MTU of switch ports.
func fabricMTU(s *intent.Settings) []intent.Origin { return []intent.Origin{s.MTU.Fabric.From} }

func mtuOfEnds(r *checks.Link) {
	a, b := r.A.MTU, r.B.MTU
	n := needOn(r)
	r.From, r.Second = fabricMTU, b < a
	switch {
	case isMTUExplained(r):
	case a == b || a == 0 || b == 0:
	case n.inner > 0 && min(a, b) >= n.inner && min(a, b) < n.packet:
		r.Found(checks.Error, r.FixOf(qos.KindMTU.Attr()), fmt.Sprintf("its MTU is %%v B, that of %%v is %%v B: packets of %d B have %d B in VXLAN and are lost", n.inner, n.packet), a, b, qos.KindMTU.Attr())
	case min(a, b) < n.packet:
		r.Found(checks.Error, r.FixOf(qos.KindMTU.Attr()), "its MTU is %v B, that of %v is %v B", a, b, qos.KindMTU.Attr())
	default:
		r.About = new(qos.KindMTU.Attr())
		r.Found(checks.Info, r.FixOf(qos.KindMTU.Attr()), "its MTU is %v B, that of %v is %v B", a, b)
	}
}

func mtuOfRDMA(r *checks.Link) {
	a, b := r.A.MTU, r.B.MTU
	r.Second = b < a
	if n := needOn(r); a > 0 && b > 0 && min(a, b) < n.rdma && !isMTUExplained(r) {
		r.Found(checks.Error, r.FixOf(qos.KindMTU.Attr()), fmt.Sprintf("its MTU is %%v B, that of %%v is %%v B: full RDMA packets (%d B with %s) are lost", n.rdma, n.with), a, b, qos.KindMTU.Attr())
	}
}

// mtuOfTunnels finds links with equal ends that are too narrow for packets in tunnels; MTU-02
// reports those that are too narrow for RDMA.
func mtuOfTunnels(r *checks.Link) {
	a, b := r.A.MTU, r.B.MTU
	r.From = fabricMTU
	if n := needOn(r); n.inner > 0 && a > 0 && a == b && a >= n.rdma && a < n.packet && !isMTUExplained(r) {
		r.Found(checks.Error, r.FixOf(qos.KindMTU.Attr()), fmt.Sprintf("its MTU is %%[1]v B, as that of %%[2]v: packets of %d B have %d B in VXLAN and are lost", n.inner, n.packet), a, b, qos.KindMTU.Attr())
	}
}

// mtuOfRDMATowardsHost finds a port that drops the RDMA packets of its host.
func mtuOfRDMATowardsHost(r *checks.Switch, p *intent.Port, q *qos.Port) {
	peer, linked := p.Peer()
	need := p.Settings.MTU.RDMA.V + intent.RDMAOverhead
	if !linked || p.Uplink() || !q.MTU.Set || q.MTU.V >= need || r.CureOf(p.Name, qos.KindMTU.Attr()) != "" {
		return
	}
	r.FoundTowards(peer, checks.Finding{Severity: checks.Error, What: fmt.Sprintf("its MTU is %d B: full RDMA packets (%d B with headers) are lost", q.MTU.V, need)}, p.Name, qos.KindMTU.Attr())
}

func mtuTowardsHost(r *checks.Switch, p *intent.Port, q *qos.Port) {
	peer, linked := p.Peer()
	if !linked || p.Uplink() || !q.MTU.Set || q.MTU.V >= p.Settings.MTU.Host.V || r.CureOf(p.Name, qos.KindMTU.Attr()) != "" {
		return
	}
	fix := "raise mtu.fabric in the intent, or lower mtu.host"
	if _, differs := r.Differs(p.Name, qos.KindMTU.Attr()); differs {
		fix = "apply the intent to the switch"
	}
	r.FoundTowards(peer, checks.Finding{Severity: checks.Error, What: fmt.Sprintf("the port accepts packets of up to %d B; by the intent, hosts send up to %d B", q.MTU.V, p.Settings.MTU.Host.V), Fix: fix}, p.Name, qos.KindMTU.Attr())
}

// NarrowClass reports whether a mismatch is about a class with a smaller MTU than its port, for
// which the driver knows the fix.
func NarrowClass(m drivers.Mismatch) bool { return m.Field.Kind == qos.KindMTU && m.Fix != "" }

func mtuOfClasses(r *checks.Switch) {
	for _, m := range r.Seen.InForce {
		if NarrowClass(m) {
			r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("%s, but the port must carry %s", m.Have, m.Want), Fix: m.Fix}, m.Port, qos.KindMTU.Attr())
		}
	}
}
