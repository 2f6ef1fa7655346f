package ecn

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/buffers"
)

var Checks = []checks.Check{
	{
		ID: "ECN-01", Title: "a lossless queue does not mark",
		FoldedIn: []string{"ECN-08", "ECN-09"},
		Rules:    []checks.Rule{{Severity: checks.Error, When: "where it has no curve"}, {Severity: checks.Warning, When: "where no intent asks for one"}, {Severity: checks.Info, When: "where the class has 'ecn: keep', and the curve of the switch is not compared"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:      "PFC becomes the only congestion control, and a class with 'mode: lossy' has none",
		Fix:      "give the class 'ecn: auto' or thresholds",
		Switch:   queuesOf(checks.EachRDMA, unmarked),
		Alone:    checks.InEachPausingPort(unmarkedAlone),
		AloneFix: "give the queue WRED thresholds with ECN",
	},
	{
		ID: "ECN-02", Title: "an ECN curve has max below min, or is a step that does not mark every packet",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "its behaviour on the switch is undefined",
		Fix:    "set max above min; a step (min = max) needs probability: 100%",
		Switch: losslessQueues(oddCurve),
		Alone: func(r *checks.File) {
			checks.InEachPort(upsideDownAlone)(r)
			checks.InEachPausingPort(curvesAlone)(r)
		},
	},
	{
		ID: "ECN-03", Title: "a lossless priority group pauses before its queue marks",
		FoldedIn: []string{"BUF-09", "BUF-10"},
		Rules:    []checks.Rule{{Severity: checks.Error, When: "where the pause comes before the first mark, or the curve is not the intent's"}, {Severity: checks.Warning, When: "where it comes before full marking, or other ports might feed the queue"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:      "pause stops senders before marks can slow them down, and pause spreads",
		Fix:      "lower the thresholds, or raise alpha; 'ecn: auto' picks thresholds that hold",
		Sources:  []string{"DCQCN, SIGCOMM 2015, section 4"},
		Switch:   checks.EachLossless(buffers.CheckPressure),
		Alone:    checks.InEachPausingPort(curvesAlone),
		AloneFix: "lower the thresholds",
	},
	{
		ID: "ECN-04", Title: "the upper ECN threshold is never reached",
		FoldedIn: []string{"BUF-09", "BUF-10", "ECN-03"},
		Rules:    driftIsError, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "the queue cannot grow that long, so full marking never happens",
		Fix:    "set max below the most that one queue can hold",
		Switch: checks.EachLossless(buffers.CheckPressure),
	},
	{
		ID: "ECN-05", Title: "ECN thresholds differ within a role",
		FoldedIn: []string{"ECN-07", "ECN-10", "ECN-15"},
		Rules:    checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "flows through one switch slow down before flows through another",
		Fix:    "give the role one curve",
		Switch: checks.EachLossless(curves), Outliers: otherCurve,
	},
	{
		ID: "ECN-06", Title: "an ECN threshold does not fit the speed",
		FoldedIn: []string{"ECN-03", "ECN-04"},
		Rules:    driftIsError, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "thresholds copied from another speed mark too early or too late",
		Fix:    "scale the thresholds with the speed, or write 'ecn: auto'",
		Switch: checks.EachClass(buffers.CheckPressure),
	},
	{
		ID: "ECN-07", Title: "a curve has the intended thresholds but a different marking probability",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "a probability of 10 % at max on one system is a ramp to certainty on another",
		Fix:    "apply the intent",
		Switch: losslessQueues(otherProbability),
	},
	{
		ID: "ECN-08", Title: "a lossless queue drops at random",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:     "WRED without ECN loses packets in a class that must not",
		Fix:     "switch ECN on in the queue's profile: apply the intent",
		Sources: []string{"sonic-wred-profile.yang, ecn"},
		Switch:  losslessQueues(randomDrops),
		Alone:   checks.InEachPausingPort(curvesAlone),
	},
	{
		ID: "ECN-09", Title: "a lossless queue has an ECN curve that is not enabled",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:     "thresholds are set but nothing is marked",
		Fix:     "enable the curve{how}: apply the intent",
		Sources: []string{"sonic-buildimage issue 4545"},
		Switch:  losslessQueues(inert),
		Alone:   checks.InEachPausingPort(curvesAlone),
	},
	{
		ID: "ECN-10", Title: "marking follows an average of the queue",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "DCQCN expects the current queue length",
		Fix:    "set weight 0: apply the intent",
		Switch: losslessQueues(averaged),
		Alone:  checks.InEachPausingPort(curvesAlone),
	},
	{
		ID: "ECN-15", Title: "the unit of an ECN threshold differs from the intent's",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "2000 segments are not 2000 KB",
		Fix:    "write the thresholds in bytes: apply the intent",
		Switch: losslessQueues(unitless),
	},
	{
		ID: "ECN-16", Title: "counters of ECN marks are off",
		Rules: checks.Always(checks.Info), Scope: checks.ScopeSwitch, Reads: checks.ReadsCounters,
		Why: "a window cannot tell whether packets are marked before they are paused", Fix: "turn the counter on",
	},
}

// driftIsError holds the rules of checks that warn about a value of the intent, and report an
// error if the switch differs from the intent.
var driftIsError = []checks.Rule{{Severity: checks.Error, When: "where the intent says otherwise"}, {Severity: checks.Warning, When: "by the intent"}}

// curveCheck checks the curve of a class and returns a finding, or nil.
type curveCheck func(r *checks.Switch, k *intent.Class, e, want qos.ECN) *checks.Finding

// losslessQueues checks the curve of each lossless class.
func losslessQueues(look curveCheck) func(*checks.Switch) { return queuesOf(checks.EachLossless, look) }

// queuesOf checks the curve of each class that each selects.
func queuesOf(each func(checks.ClassCheck) func(*checks.Switch), look curveCheck) func(*checks.Switch) {
	return each(func(r *checks.Switch, p *intent.Port, q *qos.Port, k *intent.Class) {
		e := q.Queues[k.Queue.V].ECN
		kept := k.ECN.Mode.V == intent.ECNKeep
		if !e.Set && r.Source == checks.Intended && !kept {
			return
		}
		field := qos.KindECN.At(k.Queue.V)
		_, drifted := r.Differs(p.Name, field)
		if r.Source == checks.Saved && !drifted && !kept {
			return // the checks of the intent cover a value as intended
		}
		f := look(r, k, e.V, r.Device.Desired.Ports[p.Name].Queues[k.Queue.V].ECN.V)
		if f == nil {
			return
		}
		if kept {
			f.Fix = "set the curve on the switch, or state it in the intent"
		}
		if !drifted {
			f.Where = k.ECN.Mode.From.String()
		}
		r.Found(*f, p.Name, field)
	})
}

func unmarked(r *checks.Switch, k *intent.Class, e, _ qos.ECN) *checks.Finding {
	switch {
	case k.ECN.Mode.V == intent.ECNKeep && r.Source == checks.Intended:
		return &checks.Finding{Severity: checks.Info, What: fmt.Sprintf("%s keeps the switch's ECN setting, which is not compared", ofRDMA(k))}
	case k.ECN.Mode.V == intent.ECNKeep && e.Enabled:
		return &checks.Finding{Severity: checks.Info, What: fmt.Sprintf("%s keeps the switch's ECN setting, %s, which is not compared", ofRDMA(k), e)}
	case e.Enabled:
		return nil
	case k.Lossless.V && k.ECN.Mode.V == intent.ECNOff:
		return &checks.Finding{Severity: checks.Error, What: fmt.Sprintf("%s has no ECN: PFC is its only congestion control", ofRDMA(k))}
	case r.Source == checks.Intended:
		return &checks.Finding{Severity: checks.Error, What: fmt.Sprintf("%s has no ECN", ofRDMA(k))}
	}
	return &checks.Finding{Severity: checks.Error, What: fmt.Sprintf("queue %[2]d of %[1]s has no ECN", ofRDMA(k), k.Queue.V), Fix: "apply the intent"}
}

// ofRDMA names a class that carries RDMA.
func ofRDMA(k *intent.Class) string {
	if k.Lossless.V {
		return "lossless class " + k.Name
	}
	return "class " + k.Name + " of RDMA without PFC"
}

func oddCurve(_ *checks.Switch, k *intent.Class, e, _ qos.ECN) *checks.Finding {
	order, known := e.Order()
	lo, hi := e.Ends()
	switch {
	case !e.Enabled || !known || order < 0 || order == 0 && (e.Probability == 100 || e.Min == 0):
		return nil
	case order > 0:
		return &checks.Finding{Severity: checks.Error, What: fmt.Sprintf("class %s marks from %s, above its max of %s", k.Name, lo, hi)}
	}
	return &checks.Finding{Severity: checks.Error, What: fmt.Sprintf("class %s has min = max = %s with a probability of %d %%", k.Name, lo, e.Probability)}
}

func randomDrops(_ *checks.Switch, k *intent.Class, e, _ qos.ECN) *checks.Finding {
	if !e.Drops {
		return nil
	}
	return &checks.Finding{Severity: checks.Error, What: fmt.Sprintf("WRED on queue %[2]d of lossless class %[1]s drops packets and marks none", k.Name, k.Queue.V)}
}

func inert(_ *checks.Switch, k *intent.Class, e, _ qos.ECN) *checks.Finding {
	if e.Enabled || e.Drops || e.Min == 0 && e.Max == 0 {
		return nil
	}
	return &checks.Finding{Severity: checks.Error, What: fmt.Sprintf("queue %[2]d of lossless class %[1]s has the curve %[3]s", k.Name, k.Queue.V, e)}
}

func averaged(_ *checks.Switch, k *intent.Class, e, _ qos.ECN) *checks.Finding {
	if !e.Enabled || e.Weight == 0 {
		return nil
	}
	return &checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("queue %[2]d of class %[1]s marks by an average of weight %[3]d", k.Name, k.Queue.V, e.Weight)}
}

func unitless(_ *checks.Switch, k *intent.Class, e, want qos.ECN) *checks.Finding {
	if k.ECN.Mode.V == intent.ECNKeep || e.Unit == want.Unit {
		return nil // there is no other unit to compare with
	}
	lower, upper := e.Unit.Split()
	for _, u := range []qos.ThresholdUnit{lower, upper} {
		switch u {
		case qos.UnitCells, qos.UnitSegments, qos.UnitPercent, qos.UnitMilliseconds, qos.UnitMicroseconds:
			return &checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the thresholds of class %s are %s: in %s, while the intent uses bytes", k.Name, e, u)}
		}
	}
	return nil
}

// otherProbability finds a curve that differs only in its probability, and says what that means
// for packets.
func otherProbability(_ *checks.Switch, k *intent.Class, e, want qos.ECN) *checks.Finding {
	have, ok := headroom.CurveOf(e)
	should, ok2 := headroom.CurveOf(want)
	if !ok || !ok2 || have.Min != should.Min || have.Max != should.Max || have.Probability == should.Probability {
		return nil
	}
	by, queue := have.Difference(should)
	return &checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("class %s marks %.0f %% of the packets at a queue of %s, the intent says %.0f %%: %.0f points apart",
		k.Name, 100*have.At(queue), units.Bytes(queue), 100*should.At(queue), 100*by)}
}

// curves records the curve of each lossless class. Computed curves depend on the port, so they
// are only compared with stated ones.
func curves(r *checks.Switch, p *intent.Port, q *qos.Port, k *intent.Class) {
	e, want := q.Queues[k.Queue.V].ECN, r.Device.Desired.Ports[p.Name].Queues[k.Queue.V].ECN.V
	if k.ECN.Mode.V == intent.ECNOff || !e.Set || !e.V.Enabled {
		return
	}
	if e.V.Same(want) {
		e.V = want // the same curve in other units
	}
	assumed := ""
	if k.ECN.Mode.V == intent.ECNAuto {
		assumed = " by ecn: auto"
	}
	r.Setting(fmt.Sprintf("class %s at %s of %s%s", k.Name, p.Speed.V, checks.RoleOf(r.Device.Switch), checks.Towards(p)), e.V.String(), assumed, p, qos.KindECN.At(k.Queue.V),
		func(s *intent.Settings) intent.Origin { return s.Class(k.Name).ECN.At(p.Speed.V).Mode.From },
		func(s *intent.Settings) intent.Origin { return s.Class(k.Name).ECN.At(p.Speed.V).Probability.From })
}

func otherCurve(o *checks.Outlier) {
	var fields []qos.Attr
	for n := range qos.NumPriorities {
		fields = append(fields, qos.KindECN.At(n))
	}
	o.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the curve is %s, on %d of %d ports (%s) %s", o.Value, o.Share, o.Of, o.Group, o.Usual)}, fields...)
}
