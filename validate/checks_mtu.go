package validate

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

var mtuChecks = []Check{
	{
		ID: "MTU-01", Title: "the two ends of a link have different MTUs",
		Rules: []Rule{{Error, "where hosts send larger packets than one end carries"}, {Info, "else"}}, Scope: ScopeLink, Reads: ReadsIntent | ReadsRunning,
		Why:  "large packets are lost in one direction",
		Fix:  "set one mtu.fabric for both ends",
		link: mtuOfEnds,
	},
	{
		ID: "MTU-02", Title: "a link cannot carry a full RDMA packet",
		Rules: []Rule{{Error, "by the intent"}, {Warning, "where no intent says which packets hosts send"}}, Scope: ScopeFabric, Reads: ReadsIntent | ReadsRunning,
		Why:     "connections come up and stall with the first large transfer",
		Fix:     "raise mtu.fabric on the path, or lower mtu.rdma",
		Sources: []string{"Linux include/rdma/ib_addr.h, iboe_get_mtu"},
		link:    mtuOfRDMA,
	},
	{
		ID: "MTU-03", Title: "a host sends larger packets than its switch accepts",
		Rules: always(Error), Scope: ScopeNIC, Reads: ReadsRunning | ReadsNIC,
		Why:    "large packets are lost",
		Fix:    "lower the host's MTU, or raise the switch's",
		device: eachPort(mtuTowardsHost),
	},
	{
		ID: "MTU-05", Title: "a class has a smaller MTU than its port",
		Rules: always(Error), Scope: ScopeSwitch, Reads: ReadsApplied,
		Why:   "packets are dropped in that class alone",
		Fix:   "give the class the MTU of the port",
		needs: stateInForce, state: mtuOfClasses,
	},
}

// senders holds the size of the largest packets that hosts send into a fabric, in bytes.
type senders struct{ packet, payload int }

// mtuMemo keeps the senders of the fabric.
type mtuMemo struct{ senders *senders }

// senders returns the senders of the fabric, computed once.
func (r *linkRun) senders() senders {
	m := keptIn[mtuMemo](r.memo)
	if m.senders == nil {
		s := sendersOf(r.fabric)
		m.senders = &s
	}
	return *m.senders
}

// sendersOf takes the maximum over all ports to hosts; without any, the fabric's own settings.
func sendersOf(f *intent.Fabric) senders {
	s := senders{}
	for _, sw := range f.Switches {
		for _, p := range sw.Ports {
			if p.Link != nil && !p.Uplink() {
				s.packet, s.payload = max(s.packet, p.Settings.MTU.Host.V), max(s.payload, p.Settings.MTU.RDMA.V)
			}
		}
	}
	if s.packet == 0 {
		s = senders{f.Settings.MTU.Host.V, f.Settings.MTU.RDMA.V}
	}
	return s
}

// largestPacket returns the size of the IP packet with a full RDMA payload, in bytes.
func (s senders) largestPacket() int { return s.payload + intent.RDMAOverhead }

// isMTUExplained reports whether MTU-05 explains why the end with the smaller MTU has it.
func (r *linkRun) isMTUExplained() bool {
	return r.a.mtuSaid && r.a.MTU <= r.b.MTU || r.b.mtuSaid && r.b.MTU <= r.a.MTU
}

func mtuOfEnds(r *linkRun) {
	a, b := r.a.MTU, r.b.MTU
	sent := r.senders()
	switch {
	case r.isMTUExplained():
	case a == b || a == 0 || b == 0 || min(a, b) < sent.largestPacket(): // MTU-02 reports that
	case min(a, b) < sent.packet:
		r.found(Error, r.fixOf(qos.KindMTU.Attr()), "its MTU is %v B, that of %v is %v B", a, b, qos.KindMTU.Attr())
	default:
		r.found(Info, r.fixOf(qos.KindMTU.Attr()), "its MTU is %v B, that of %v is %v B", a, b)
	}
}

func mtuOfRDMA(r *linkRun) {
	a, b := r.a.MTU, r.b.MTU
	if need := r.senders().largestPacket(); a > 0 && b > 0 && min(a, b) < need && !r.isMTUExplained() {
		r.found(Error, r.fixOf(qos.KindMTU.Attr()), fmt.Sprintf("an RDMA packet of %d B has %d B with its headers; the port carries %%v B, %%v %%v B", r.senders().payload, need), a, b, qos.KindMTU.Attr())
	}
}

func mtuTowardsHost(r *deviceRun, p *intent.Port, q *qos.Port) {
	peer, linked := p.Peer()
	if !linked || p.Uplink() || !q.MTU.Set || q.MTU.V >= p.Settings.MTU.Host.V || r.cureOf(p.Name, qos.KindMTU.Attr()) != "" {
		return
	}
	fix := "raise mtu.fabric in the intent, or lower mtu.host"
	if _, differs := r.differs(p.Name, qos.KindMTU.Attr()); differs {
		fix = "apply the intent to the switch"
	}
	r.foundTowards(peer, Finding{Severity: Error, What: fmt.Sprintf("the port accepts packets of up to %d B; by the intent, hosts send up to %d B", q.MTU.V, p.Settings.MTU.Host.V), Fix: fix}, p.Name, qos.KindMTU.Attr())
}

// narrowClass reports whether a mismatch is about a class with a smaller MTU than its port, for
// which the driver knows the fix.
func narrowClass(m drivers.Mismatch) bool { return m.Field.Kind == qos.KindMTU && m.Fix != "" }

func mtuOfClasses(r *deviceRun) {
	for _, m := range r.seen.InForce {
		if narrowClass(m) {
			r.found(Finding{Severity: Error, What: fmt.Sprintf("%s, but the port must carry %s", m.Have, m.Want), Fix: m.Fix}, m.Port, qos.KindMTU.Attr())
		}
	}
}
