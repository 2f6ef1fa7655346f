package ecn

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/class"
)

// dropsAtRandom matches the rest of a curve that drops packets.
var dropsAtRandom = lazyre.New(`\bdrop`)

// upsideDownAlone finds curves of any queue that have their min above their max.
func upsideDownAlone(r *checks.File, name string, q *qos.Port) {
	for n := range q.Queues {
		if e := q.Queues[n].ECN.V; upsideDown(e) {
			e.Other = ""
			r.Found(checks.Error, name, qos.KindECN.At(n), "queue %d marks from %s: its min is above its max", n, e)
		}
	}
}

// upsideDown reports whether a curve has its min above its max.
func upsideDown(e qos.ECN) bool {
	order, known := e.Order()
	return (e.Enabled || e.Drops) && e.Max != 0 && known && order > 0
}

// curvesAlone finds the first fault of the curve of each lossless queue, and reports it if it is
// the current check's.
func curvesAlone(r *checks.File, name string, q *qos.Port) {
	for _, p := range q.PFC.V.List() {
		n := class.QueueOf(r.Config.ClassifiedBy(name), p)
		if e := q.Queues[n].ECN; e.Set {
			if id, s, what := faultAlone(e.V, q.Groups[p].Headroom, p, n); id == r.Check.ID {
				r.Found(s, name, qos.KindECN.At(n), "%s", what)
			}
		}
	}
}

// unmarkedAlone finds ports with lossless queues that neither mark nor have a fault of their curve.
func unmarkedAlone(r *checks.File, name string, q *qos.Port) {
	m := r.Config.ClassifiedBy(name)
	var unmarked qos.PrioritySet
	for _, p := range q.PFC.V.List() {
		n := class.QueueOf(m, p)
		if e := q.Queues[n].ECN; e.Set && !e.V.Enabled {
			if id, _, _ := faultAlone(e.V, q.Groups[p].Headroom, p, n); id == "" {
				unmarked |= qos.Priorities(p)
			}
		}
	}
	if unmarked != 0 {
		r.Found(checks.Warning, name, qos.KindECN.At(class.QueueOf(m, unmarked.List()[0])), "lossless priorities %s are not marked: PFC is their only congestion control", unmarked)
	}
}

// faultAlone returns the first fault of the curve of a lossless queue, with the check that finds
// it; id is "" if there is none. A curve that is upside down is left to upsideDownAlone.
func faultAlone(e qos.ECN, h qos.Opt[qos.Headroom], prio, n int) (id string, s checks.Severity, what string) {
	k := &intent.Class{Name: fmt.Sprint(prio)}
	lo, _ := e.Unit.Split()
	switch {
	case e.Drops, !e.Enabled && dropsAtRandom.MatchString(e.Other):
		return "ECN-08", checks.Error, fmt.Sprintf("WRED on queue %d of lossless priority %d drops packets and marks none", n, prio)
	case inert(nil, k, e, qos.ECN{}) != nil:
		return "ECN-09", checks.Error, fmt.Sprintf("queue %d of lossless priority %d has the curve %s", n, prio, e)
	case !upsideDown(e) && oddCurve(nil, k, e, qos.ECN{}) != nil:
		return "ECN-02", checks.Error, fmt.Sprintf("queue %d of lossless priority %d has min = max with a probability of %d %%", n, prio, e.Probability)
	case averaged(nil, k, e, qos.ECN{}) != nil:
		return "ECN-10", checks.Warning, fmt.Sprintf("queue %d of lossless priority %d marks by an average of weight %d", n, prio, e.Weight)
	case e.Enabled && h.Set && h.V.Static && lo == qos.UnitBytes && h.V.Threshold > 0 && e.Min > h.V.Threshold:
		return "ECN-03", checks.Warning, fmt.Sprintf("queue %d marks from %s, and priority group %d pauses at %d B: one sender is paused before it is marked", n, e, prio, h.V.Threshold)
	}
	return "", "", ""
}
