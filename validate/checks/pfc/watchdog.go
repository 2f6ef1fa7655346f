package pfc

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var watchdogChecks = []checks.Check{
	{
		ID: "WD-01", Title: "the PFC watchdog is off towards a host",
		FoldedIn: []string{"PFC-01", "PFC-02"},
		Rules:    []checks.Rule{{Severity: checks.Error, When: "by the intent"}, {Severity: checks.Warning, When: "where no intent says what is attached"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:      "one bad NIC can pause the whole fabric",
		Fix:      "switch pfc.watchdog on: one bad NIC can pause the whole fabric",
		Sources:  []string{"RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.3"},
		Switch:   watchdogOff(false, checks.Error, "hosts"),
		Alone:    checks.InEachPausingPort(watchdogAlone),
		AloneFix: "switch the PFC watchdog on at the port: one bad NIC can pause the whole fabric",
	},
	{
		ID: "WD-02", Title: "the PFC watchdog is off between switches",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "nothing breaks a deadlock",
		Fix:    "switch pfc.watchdog on, so that a deadlock is broken",
		Switch: watchdogOff(true, checks.Warning, "switches"),
	},
	{
		ID: "WD-03", Title: "the PFC watchdog and PFC name different priorities",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:      "a PFC storm on a priority that is not watched is not stopped, and a watched one that pauses nothing was meant to be lossless",
		Fix:      "apply the intent",
		Switch:   checks.OnlyObserved(checks.EachPort(watchedPriorities)),
		Alone:    checks.InEachPort(watchdogAlone),
		AloneFix: "watch exactly the lossless priorities",
	},
	{
		ID: "WD-04", Title: "a watchdog time is outside the system's range",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the switch refuses it"}, {Severity: checks.Warning, When: "where the switch does something else"}},
		Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRendered,
		Why:    "the switch refuses it, or a queue stays blocked",
		Fix:    "use a time within the system's range",
		Switch: watchdogPoll,
		ByText: true,
	},
	{
		ID: "WD-05", Title: "watchdogs of one role differ, or wait too long",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "a PFC storm is stopped on one switch and continues on another",
		Fix:    "state one pfc.watchdog for the role, with detect of at most 1s",
		Switch: checks.EachPort(watchdogTimes), Outliers: otherWatchdog,
		Alone:    checks.InEachPausingPort(watchdogAlone),
		AloneFix: "shorten the detection time to at most 1s",
	},
	{
		ID: "WD-06", Title: "the PFC watchdog is only half configured",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "it reads as if the port were guarded, and no PFC storm is stopped",
		Fix:    "configure the other half{how}; or choose an action that the switch takes",
		ByText: true,
	},
}

func watchdogOff(uplink bool, severity checks.Severity, towards string) func(*checks.Switch) {
	return checks.EachPort(func(r *checks.Switch, p *intent.Port, q *qos.Port) {
		_, linked := p.Peer()
		if !linked || p.Uplink() != uplink || r.Lossless(p.Settings) == 0 || !q.Watchdog.Set || q.Watchdog.V.Enabled {
			return
		}
		f := checks.Finding{Severity: severity, Where: p.Settings.Watchdog.Enabled.From.String(),
			What: "the PFC watchdog is off on lossless ports towards " + towards}
		if _, off := r.Differs(p.Name, qos.KindPFC.Attr()); off && q.PFC.Or(0) == 0 {
			f.Roots = pauseRoots(r, p, q) // there is no pause to watch
		}
		if _, ok := r.Differs(p.Name, qos.KindWatchdog.Attr()); ok {
			f.Fix = "apply the intent, which has it on"
		}
		r.Found(f, p.Name, qos.KindWatchdog.Attr())
	})
}

func watchedPriorities(r *checks.Switch, p *intent.Port, q *qos.Port) {
	w, want := q.Watchdog.V, r.Device.Desired.Ports[p.Name].Watchdog.V
	if !q.Watchdog.Set || !w.Enabled {
		return
	}
	missing, sameElse := want.Priorities&^w.Priorities, w
	sameElse.Priorities = want.Priorities
	_, pfc := r.Differs(p.Name, qos.KindPFC.Attr())
	switch extra := q.PFC.Or(0) &^ want.Priorities &^ w.Priorities; {
	case pfc && w.Priorities == q.PFC.V && missing == 0:
		// It watches one more priority only because the port pauses one more.
		if sameElse == want {
			r.Outcome.MarkReported(p.Name, qos.KindWatchdog.Attr())
		}
	case missing != 0:
		notWatched(r, p, q, missing, pfc && missing&q.PFC.Or(0) == 0 && w.Priorities&^q.PFC.V == 0, sameElse == want)
	case pfc && extra != 0:
		r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("priorities %s are paused and not watched", extra)}, p.Name, qos.KindPFC.Attr())
	}
}

// notWatched reports lossless priorities that are not watched: because the watchdog follows PFC, or
// as the only difference of the watchdog, or among others.
func notWatched(r *checks.Switch, p *intent.Port, q *qos.Port, missing qos.PrioritySet, follows, alone bool) {
	f := checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("lossless priorities %s are not watched", missing)}
	if follows {
		f.Roots = pauseRoots(r, p, q)
	}
	if alone {
		r.Found(f, p.Name, qos.KindWatchdog.Attr())
		return
	}
	r.Found(f, p.Name)
}

// pauseRoots returns the roots of a finding whose cause is that a port does not pause as intended.
func pauseRoots(r *checks.Switch, p *intent.Port, q *qos.Port) []string {
	if by := ExplainedBy(r, p, q); by != nil {
		return by
	}
	return []string{qos.KindPFC.Attr().String()}
}

// watchdogPoll reports a system that polls more often than the intent states, because it cannot
// reach the stated times otherwise.
func watchdogPoll(r *checks.Switch) {
	w := r.Device.Switch.Settings.Watchdog
	stated, is := w.Poll, r.Config.WatchdogPoll
	if r.Source != checks.Intended || stated.IsDefault() || is == qos.Of(stated.V) || !is.Set {
		return
	}
	r.Found(checks.Finding{Severity: checks.Warning, Where: stated.From.String(),
		What: fmt.Sprintf("the watchdog is polled every %s, not every %s: %s needs that for detect %s and restore %s", is.V, stated.V, r.Device.Switch.OS, w.Detect.V, w.Restore.V),
		Fix:  "state that poll, or longer times"}, "")
}

// longDetect is how long a storm may last before a watchdog counts as slow. SONiC's own default
// reaches it with 128 ports (sonic-utilities pfcwd/main.py).
const longDetect = time.Second

func watchdogTimes(r *checks.Switch, p *intent.Port, q *qos.Port) {
	w := q.Watchdog.V
	if !q.Watchdog.Set || !w.Enabled {
		return
	}
	if w.Detect > longDetect {
		r.Found(checks.Finding{Severity: checks.Warning, Where: p.Settings.Watchdog.Detect.From.String(), What: fmt.Sprintf("a PFC storm lasts %s before the watchdog acts", w.Detect), Fix: r.FixOf(r.Check.Fix, p.Name, qos.KindWatchdog.Attr())}, p.Name)
	}
	r.Setting(checks.RoleOf(r.Device.Switch)+checks.Towards(p), string(w.Action)+" detect "+w.Detect.String()+" restore "+w.Restore.String(), "", p, qos.KindWatchdog.Attr(),
		func(s *intent.Settings) intent.Origin { return s.Watchdog.Detect.From },
		func(s *intent.Settings) intent.Origin { return s.Watchdog.Restore.From },
		func(s *intent.Settings) intent.Origin { return s.Watchdog.Action.From })
}

func otherWatchdog(o *checks.Outlier) {
	o.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the watchdog is %s, on %d of %d ports of %s %s", o.Value, o.Share, o.Of, o.Group, o.Usual)}, qos.KindWatchdog.Attr())
}
