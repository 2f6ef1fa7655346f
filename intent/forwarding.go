package intent

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Trimming configures packet trimming: the switch cuts packets that find no buffer to their
// headers and forwards these.
type Trimming struct {
	Pos     Pos
	Off     bool
	Classes []string           // classes whose packets are cut
	Size    Value[units.Bytes] // length of a cut packet, 64 to 9216
	DSCP    Value[int]         // DSCP of a cut packet, 0 to 63
}

// LoadBalancing configures how a switch chooses among equal-cost paths.
type LoadBalancing struct {
	Pos       Pos
	Mode      Value[BalanceMode]
	QueuePair Value[bool] // include the RDMA queue pair in the hash
}

// BalanceMode is the unit of traffic that stays on one path.
type BalanceMode string

// The modes of load balancing.
const (
	BalanceFlow    BalanceMode = "flow"
	BalanceFlowlet BalanceMode = "flowlet"
	BalancePacket  BalanceMode = "packet"
)

// over replaces each setting that inner states.
func (g *rawGlobals) over(inner *rawGlobals) {
	over(&g.Globals, inner.Globals)
	over(&g.Write, inner.Write)
	if inner.Trimming.Stated {
		g.Trimming = inner.Trimming
	}
	if inner.LoadBalancing != nil {
		g.LoadBalancing = inner.LoadBalancing
	}
}

// checkForwarding checks the settings of a fabric, a role or a switch where they are stated, so
// that each problem is reported once.
func (r *resolver) checkForwarding(g *rawGlobals) {
	t := &g.Trimming
	if !t.Set || t.Word != "" {
		return
	}
	b := &t.Body
	for _, c := range b.Classes.Items {
		if _, ok := r.classIndex[c.V]; c.Set && !ok {
			r.problems.addf(c.Pos, didYouMean(c.V, r.classNames()), "no class %q in the fabric", brief(c.V))
		}
	}
	switch {
	case b.Classes.Bad || b.Size.Stated && !b.Size.Set || b.DSCP.Stated && !b.DSCP.Set: // already reported
	case len(b.Classes.Items) == 0 || !b.Size.Set || !b.DSCP.Set:
		r.problems.addf(t.Pos, "write trimming: {classes: [bulk], size: 256B, dscp: 21}, or off", "trimming needs classes, size and dscp")
	case b.Size.V < 64 || b.Size.V > 9216:
		r.problems.addf(b.Size.Pos, "", "size must be 64B to 9216B, not %s", b.Size.V)
	}
}

func (g *rawGlobals) trimming() *Trimming {
	t := &g.Trimming
	if !t.Set {
		return nil
	}
	out := &Trimming{Pos: t.Pos, Off: t.Word != "", Size: from(t.Body.Size, 0), DSCP: from(t.Body.DSCP, 0)}
	for _, c := range t.Body.Classes.Items {
		if !slices.Contains(out.Classes, c.V) {
			out.Classes = append(out.Classes, c.V)
		}
	}
	return out
}

func (g *rawGlobals) loadBalancing() *LoadBalancing {
	b := g.LoadBalancing
	if b == nil {
		return nil
	}
	return &LoadBalancing{Pos: b.Pos, Mode: wordOr(b.Mode, BalanceFlow), QueuePair: from(b.QueuePair, false)}
}
