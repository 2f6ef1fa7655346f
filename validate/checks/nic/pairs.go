package nic

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// pairs finds programs whose queue pairs send RDMA in another class than the intent says: a
// library sets its own traffic class, or none where the driver has no default.
func (p *portCheck) pairs(at string) {
	w := p.want
	rdma := w.PFC.Or(0) | w.ECN.Or(0)
	if !w.ToS.Set || !w.DSCP.Set || rdma == 0 {
		return
	}
	for _, use := range p.have.Pairs.V {
		prio := int8(qos.Unmapped)
		if use.DSCP >= 0 && use.DSCP < qos.NumDSCP {
			prio = w.DSCP.V[use.DSCP]
		}
		if prio >= 0 && rdma.Has(int(prio)) {
			continue
		}
		in := "no class"
		if prio >= 0 {
			in = fmt.Sprintf("priority %d", prio)
		}
		p.add("NIC-16", checks.Warning, p.name, at, fmt.Sprintf("set NCCL_IB_TC=%d, UCX_IB_TRAFFIC_CLASS=%d or the like in %s: 'roce-fabric advise' has the line for each library", w.ToS.V, w.ToS.V, term.CleanLine(use.Program)),
			"%s sends RDMA with DSCP %d (%s), seen on %d of its %s; the intent says DSCP %d", term.CleanLine(use.Program), use.DSCP, in, use.Read, words.Count(use.Of, "queue pair"), w.ToS.V>>2)
	}
}
