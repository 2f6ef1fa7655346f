package class

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// QueueOf returns the queue of a lossless priority: the queue of its traffic class, or the
// queue that its pause stops if no DSCP is in that class.
func QueueOf(m *qos.Maps, prio int) int {
	if m == nil {
		return prio
	}
	tables := [][qos.NumPriorities]int8{m.TCToQueue, m.PFCToQueue}
	if !reached(m, prio) {
		slices.Reverse(tables)
	}
	for _, t := range tables {
		if n := int(t[prio]); n >= 0 && n < qos.NumPriorities {
			return n
		}
	}
	return prio
}

// reached reports whether any DSCP is in a traffic class.
func reached(m *qos.Maps, tc int) bool {
	for d := range m.DSCPToTC {
		if TCOf(m, d) == tc {
			return true
		}
	}
	return false
}

// TCOf returns the traffic class of a DSCP. A DSCP that the map does not list is in traffic
// class 0.
func TCOf(m *qos.Maps, dscp int) int { return max(0, int(m.DSCPToTC[dscp])) }

// reaching returns the DSCPs in a queue.
func reaching(m *qos.Maps, queue int) (out []int) {
	if m == nil {
		return nil
	}
	for d := range m.DSCPToTC {
		if tc := TCOf(m, d); tc < qos.NumPriorities && (int(m.TCToQueue[tc]) == queue || m.TCToQueue[tc] < 0 && tc == queue) {
			out = append(out, d)
		}
	}
	return out
}

func trustAlone(r *checks.File, name string, q *qos.Port) {
	if q.Trust.V == qos.TrustPCP {
		r.Found(checks.Warning, name, qos.KindTrust.Attr(), "lossless traffic is classified by PCP, which routed and untagged frames do not carry")
	}
}

// classified holds the lossless priorities of a port with the DSCPs that reach them.
type classified struct {
	r    *checks.File
	name string
	q    *qos.Port
	m    *qos.Maps
	into map[int][]int // DSCPs by traffic class
}

// eachClassified runs a check on each lossless priority of ports that classify by DSCP. Without
// listed DSCPs, the switch does not show how it classifies.
func eachClassified(check func(c *classified, prio int)) func(*checks.File) {
	return checks.InEachPausingPort(func(r *checks.File, name string, q *qos.Port) {
		m := r.Config.ClassifiedBy(name)
		if m == nil || q.Trust.V == qos.TrustPCP {
			return
		}
		c := &classified{r: r, name: name, q: q, m: m, into: map[int][]int{}}
		listed := false
		for d, tc := range m.DSCPToTC {
			listed = listed || tc >= 0
			c.into[TCOf(m, d)] = append(c.into[TCOf(m, d)], d)
		}
		if !listed {
			return
		}
		for _, p := range q.PFC.V.List() {
			check(c, p)
		}
	})
}

// used reports whether traffic may reach a priority. On some systems the pause of a priority stops
// the queue of another class, and systems without a trust mode classify by both fields.
func (c *classified) used(prio int) bool {
	byBoth := !c.q.Trust.Set
	if to := c.m.PFCToQueue[prio]; to >= 0 {
		byPCP := byBoth && slices.ContainsFunc(c.m.PCPToTC[:], func(tc int8) bool { return tc >= 0 && c.m.TCToQueue[tc] == to })
		if byPCP || len(reaching(c.m, int(to))) > 0 {
			return true
		}
	}
	return len(c.into[prio]) > 0 || byBoth && slices.Contains(c.m.PCPToTC[:], int8(prio))
}

func unusedAlone(c *classified, prio int) {
	if c.used(prio) {
		return
	}
	severity := checks.Error
	if slices.ContainsFunc(c.q.PFC.V.List(), c.used) {
		severity = checks.Warning
	}
	c.r.Found(severity, c.name, DSCPField, "priority %d is lossless, and no DSCP reaches it", prio)
}

// unclassifiedAlone finds ports that pause priorities and have no map at all, on systems that then
// put every packet into traffic class 0 (SAI_PORT_ATTR_QOS_DEFAULT_TC, saiport.h).
func unclassifiedAlone(r *checks.File, name string, q *qos.Port) {
	m, lossless := r.Config.ClassifiedBy(name), q.PFC.V&^qos.Priorities(0)
	if !r.Rows || q.Trust != qos.Of(qos.TrustNone) || lossless == 0 || m != nil && slices.ContainsFunc(m.DSCPToTC[:], func(tc int8) bool { return tc >= 0 }) {
		return
	}
	r.Found(checks.Error, name, qos.KindPFC.Attr(), "priorities %s are lossless, and the port has no map of DSCP or PCP: all its packets are in traffic class 0", lossless)
}

func defaultAlone(c *classified, prio int) {
	ds := c.into[prio]
	if !slices.Contains(ds, 0) {
		return
	}
	how := ""
	if c.m.DSCPToTC[0] < 0 {
		how = ", because the map does not list them"
	}
	c.r.Found(checks.Warning, c.name, DSCPField, "DSCP %s are in lossless priority %d%s: DSCP 0 is what every host sends by default", qos.FoldInts(ds), prio, how)
}

// controlAlone leaves priorities with DSCP 0 to CLS-03.
func controlAlone(c *classified, prio int) {
	ds := c.into[prio]
	if !slices.Contains(ds, 0) && slices.ContainsFunc(controlDSCPs, func(d int) bool { return slices.Contains(ds, d) }) {
		c.r.Found(checks.Warning, c.name, DSCPField, "lossless priority %d has DSCP %s, and control protocols use %s", prio, qos.FoldInts(ds), qos.FoldInts(controlDSCPs))
	}
}

func rewrittenAlone(c *classified, prio int) {
	if to := int(c.m.TCToDSCP[prio]); to >= 0 && to < qos.NumDSCP && TCOf(c.m, to) != prio {
		c.r.Found(checks.Error, c.name, qos.KindMap.Table(qos.TCToDSCP), "packets of lossless priority %d leave with DSCP %d, which this switch has in traffic class %d", prio, to, TCOf(c.m, to))
	}
}

// leastShare is the share of a link, in percent, below which a lossless queue starves.
const leastShare = 5

// manyDSCPs is the most DSCPs that control traffic and notifications may have: CS6, CS7 and all
// DSCPs of the same precedence.
const manyDSCPs = 16

// eachServed runs a check on each lossless queue with a share of the link; sum is the shares of
// all queues of the port.
func eachServed(check func(r *checks.File, name string, q *qos.Port, prio, n, sum int)) func(*checks.File) {
	return checks.InEachPausingPort(func(r *checks.File, name string, q *qos.Port) {
		m, sum := r.Config.ClassifiedBy(name), 0
		for i := range q.Queues {
			sum += q.Queues[i].Scheduler.V.Weight
		}
		for _, p := range q.PFC.V.List() {
			n := QueueOf(m, p)
			if s := q.Queues[n].Scheduler; s.Set && !s.V.Strict && s.V.Other == "" {
				check(r, name, q, p, n, sum)
			}
		}
	})
}

// strictAlone finds strict queues that may starve a lossless one. On systems with lines, a strict
// queue below a queue with a weight is not served before it.
func strictAlone(r *checks.File, name string, q *qos.Port, prio, n, _ int) {
	m := r.Config.ClassifiedBy(name)
	for i := range q.Queues {
		o := q.Queues[i].Scheduler.V
		if ds := reaching(m, i); (i > n || i < n && r.Rows) && o.Strict && o.MaxRate == 0 && (slices.Contains(ds, 0) || len(ds) > manyDSCPs) {
			r.Found(checks.Warning, name, qos.KindScheduler.At(i), "strict queue %d has no rate limit, takes DSCP %s and is served before queue %d of lossless priority %d", i, qos.FoldInts(ds), n, prio)
		}
	}
}

func smallShareAlone(r *checks.File, name string, q *qos.Port, prio, n, sum int) {
	if w := q.Queues[n].Scheduler.V.Weight; w != 0 && w*100 < leastShare*sum {
		r.Found(checks.Warning, name, qos.KindScheduler.At(n), "queue %d of lossless priority %d has %d of %d parts of the link", n, prio, w, sum)
	}
}

func noShareAlone(r *checks.File, name string, q *qos.Port, prio, n, sum int) {
	if sum != 0 && q.Queues[n].Scheduler.V.Weight == 0 {
		r.Found(checks.Warning, name, qos.KindScheduler.At(n), "queue %d of lossless priority %d has no share of the link, and others have", n, prio)
	}
}
