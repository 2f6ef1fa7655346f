package class

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var schedulerChecks = []checks.Check{
	{
		ID: "SCH-01", Title: "shares do not add up",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent,
		Why: "the switch refuses them, or divides the link differently", Fix: "let the bandwidths add up to at most 100 %",
		Absent: "an intent whose bandwidths exceed 100 % is refused when it is read",
	},
	{
		ID: "SCH-02", Title: "a strict class without a rate limit is served before a lossless one",
		Rules: []checks.Rule{{Severity: checks.Error, When: "by the intent"}, {Severity: checks.Warning, When: "where only the code points show the class"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:      "it can starve the lossless queue, which then pauses the fabric",
		Fix:      "give the class a bandwidth instead, or a maxRate",
		Switch:   checks.EachClass(strictAboveLossless),
		Alone:    eachServed(strictAlone),
		AloneFix: "give the queue a weight, or a limit to its rate",
	},
	{
		ID: "SCH-03", Title: "a lossless class has less of the link than intended",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:      "it is paused instead of forwarded",
		Fix:      "apply the intent",
		Switch:   checks.OnlyObserved(checks.EachLossless(losslessShare)),
		Alone:    eachServed(smallShareAlone),
		AloneFix: "give the queue a larger weight",
	},
	{
		ID: "SCH-05", Title: "the strict class of congestion notifications takes many DSCPs and has no limit",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent,
		Why:    "a flow that is mismarked with one of these DSCPs can take the whole link",
		Fix:    "give the class a maxRate, or the DSCP of congestion notifications alone",
		Switch: checks.OnlyIntended(checks.EachPort(unlimitedNotifications)),
	},
	{
		ID: "SCH-06", Title: "storage and GPU traffic share a lossless queue",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent,
		Why:    "an incast of one pauses the other",
		Fix:    "give each kind a class",
		Switch: checks.OnlyIntended(checks.EachPort(sharedByKinds)),
	},
	{
		ID: "SCH-07", Title: "the queue of a class has no bandwidth share",
		Rules: []checks.Rule{{Severity: checks.Error, When: "by the intent"}, {Severity: checks.Warning, When: "where the intent keeps the shares of the switch, or no intent says that the queue has a class"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "the class starves while others are busy",
		Fix:    "give the queue a weight: apply the intent",
		Switch: checks.OnlyObserved(checks.EachClass(starved)),
		Alone:  eachServed(noShareAlone),
	},
}

// strictAboveLossless finds strict queues that may starve a lossless one: queues with a higher
// number, or any strict queue on systems that serve all of them first.
func strictAboveLossless(r *checks.Switch, p *intent.Port, q *qos.Port, k *intent.Class) {
	cnp, _, _ := nic.CNPClass(p.Settings)
	s, field := q.Queues[k.Queue.V].Scheduler, qos.KindScheduler.At(k.Queue.V)
	if _, drifted := r.Differs(p.Name, field); r.Source != checks.Intended && !drifted {
		return // the checks of the intent cover a value as intended
	}
	if !s.Set || !s.V.Strict || s.V.MaxRate > 0 || k.Lossless.V || k == cnp {
		return
	}
	for _, l := range p.Settings.Classes {
		if l.Lossless.V && servedBefore(r, q, k, l) {
			f := checks.Finding{Severity: checks.Error, What: fmt.Sprintf("strict class %s has no rate limit and is served before lossless class %s", k.Name, l.Name)}
			if r.Source == checks.Intended {
				f.Where = k.Strict.From.String()
			}
			r.Found(f, p.Name, field)
			return
		}
	}
}

// servedBefore reports whether the strict queue of class k is served before the queue of class l.
func servedBefore(r *checks.Switch, q *qos.Port, k, l *intent.Class) bool {
	s := q.Queues[l.Queue.V].Scheduler
	return s.Set && (l.Queue.V < k.Queue.V || !s.V.Strict && intent.SystemOf(r.Device.Switch.OS).StrictFirst)
}

// unlimited reports whether the queue of a class is strict and has no limit to its rate.
func unlimited(q *qos.Port, k *intent.Class) bool {
	s := q.Queues[k.Queue.V].Scheduler.V
	return s.Strict && s.MaxRate == 0
}

// unlimitedBefore returns the first unlimited class that is served before class k, other than that of
// congestion notifications; nil if there is none.
func unlimitedBefore(r *checks.Switch, p *intent.Port, q *qos.Port, k *intent.Class) *intent.Class {
	cnp, _, _ := nic.CNPClass(p.Settings)
	for _, o := range p.Settings.Classes {
		if o != cnp && o != k && unlimited(q, o) && servedBefore(r, q, o, k) {
			return o
		}
	}
	return nil
}

func losslessShare(r *checks.Switch, p *intent.Port, q *qos.Port, k *intent.Class) {
	s := q.Queues[k.Queue.V].Scheduler
	if k.Strict.V || !s.Set || s.V.Strict || s.V.Weight <= 0 {
		return
	}
	have, should := shareOf(p.Settings, q, k), shareOf(p.Settings, r.Device.Desired.Ports[p.Name], k)
	o := unlimitedBefore(r, p, q, k)
	if o != nil && !unlimited(r.Device.Desired.Ports[p.Name], o) {
		r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("strict class %s may leave nothing of the link to lossless class %s, the intent says %d %%", o.Name, k.Name, should)}, p.Name, qos.KindScheduler.At(o.Queue.V))
		return
	}
	field := qos.KindScheduler.At(k.Queue.V)
	if _, drifted := r.Differs(p.Name, field); drifted && have < should {
		r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("lossless class %s has %d %% of the link, the intent says %d %%", k.Name, have, should)}, p.Name, field)
	}
}

// fewDSCPs is how many DSCPs a strict class may have without a rate limit: two kinds of NICs
// mark their notifications differently.
const fewDSCPs = 2

func unlimitedNotifications(r *checks.Switch, p *intent.Port, _ *qos.Port) {
	if k, _, ok := nic.CNPClass(p.Settings); ok && k.Strict.V && k.MaxRate.V == 0 && len(k.DSCP.V) > fewDSCPs {
		r.Found(checks.Finding{Severity: checks.Warning, Where: k.Strict.From.String(), What: fmt.Sprintf("class %s is strict, takes %d DSCPs and has no maxRate", k.Name, len(k.DSCP.V))}, p.Name)
	}
}

func starved(r *checks.Switch, p *intent.Port, q *qos.Port, k *intent.Class) {
	n, keep := k.Queue.V, p.Settings.Keep
	if keep.Queues.V {
		n = QueueOf(r.Config.ClassifiedBy(p.Name), k.Priority.V)
	}
	s := q.Queues[n].Scheduler
	if !s.Set || s.V.Strict || s.V.Weight > 0 || s.V.Other != "" {
		return
	}
	f := checks.Finding{Severity: checks.Error, What: fmt.Sprintf("queue %d of class %s has weight 0", n, k.Name)}
	if keep.Bandwidth.V {
		f.Severity, f.Where, f.Fix = checks.Warning, keep.Bandwidth.From.String(), "give the queue a weight on the switch, or state the bandwidth in the intent"
	}
	r.Found(f, p.Name, qos.KindScheduler.At(n))
}

// sharedByKinds finds lossless classes with traffic of several kinds.
func sharedByKinds(r *checks.Switch, p *intent.Port, _ *qos.Port) {
	first := map[*intent.Class]*intent.Traffic{}
	for _, t := range r.Device.Fabric.Traffic {
		if t.Kind == "" {
			continue
		}
		for _, d := range t.DSCP {
			k := classOf(p.Settings, d)
			if k == nil || !k.Lossless.V {
				continue
			}
			if o := first[k]; o == nil {
				first[k] = t
			} else if o.Kind != t.Kind {
				r.Found(checks.Finding{Severity: checks.Warning, Where: t.Pos.String(), What: fmt.Sprintf("%s traffic %s and %s traffic %s share lossless class %s", o.Kind, o.Name, t.Kind, t.Name, k.Name)}, p.Name)
			}
		}
	}
}
