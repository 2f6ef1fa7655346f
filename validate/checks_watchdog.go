package validate

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

var watchdogChecks = []Check{
	{
		ID: "WD-01", Title: "the PFC watchdog is off towards a host",
		Rules: []Rule{{Error, "by the intent"}, {Warning, "where no intent says what is attached"}}, Scope: ScopeSwitch, Reads: ReadsIntent | ReadsRunning,
		Why:     "one bad NIC can pause the whole fabric",
		Fix:     "switch pfc.watchdog on: one bad NIC can pause the whole fabric",
		Sources: []string{"RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.3"},
		device:  watchdogOff(false, Error, "hosts"),
	},
	{
		ID: "WD-02", Title: "the PFC watchdog is off between switches",
		Rules: always(Warning), Scope: ScopeSwitch, Reads: ReadsIntent | ReadsRunning,
		Why:    "nothing breaks a deadlock",
		Fix:    "switch pfc.watchdog on, so that a deadlock is broken",
		device: watchdogOff(true, Warning, "switches"),
	},
	{
		ID: "WD-03", Title: "the PFC watchdog does not watch every lossless priority",
		Rules: always(Warning), Scope: ScopeSwitch, Reads: ReadsRunning,
		Why:    "a PFC storm on the others is not stopped",
		Fix:    "apply the intent",
		device: observed(eachPort(watchedPriorities)),
	},
	{
		ID: "WD-04", Title: "a watchdog time is outside the system's range",
		Rules: []Rule{{Error, "where the switch refuses it"}, {Warning, "where the switch does something else"}},
		Scope: ScopeSwitch, Reads: ReadsIntent | ReadsRendered,
		Why:    "the switch refuses it, or a queue stays blocked",
		Fix:    "use a time within the system's range",
		device: watchdogPoll,
	},
	{
		ID: "WD-05", Title: "watchdogs of one role differ, or wait too long",
		Rules: always(Warning), Scope: ScopeFabric, Reads: ReadsIntent | ReadsRunning,
		Why:    "a PFC storm is stopped on one switch and continues on another",
		Fix:    "state one pfc.watchdog for the role, with detect of at most 1s",
		device: eachPort(watchdogTimes), outliers: otherWatchdog,
	},
	{
		ID: "WD-06", Title: "the PFC watchdog is only half configured",
		Rules: always(Warning), Scope: ScopeSwitch, Reads: ReadsRunning,
		Why: "it reads as if the port were guarded, and no PFC storm is stopped",
		Fix: "configure the other half{how}",
	},
}

func watchdogOff(uplink bool, severity Severity, towards string) func(*deviceRun) {
	return eachPort(func(r *deviceRun, p *intent.Port, q *qos.Port) {
		_, linked := p.Peer()
		if !linked || p.Uplink() != uplink || r.lossless(p.Settings) == 0 || !q.Watchdog.Set || q.Watchdog.V.Enabled {
			return
		}
		if r.source != Intended && q.PFC.Or(0) == 0 {
			r.out.markReported(p.Name, qos.KindWatchdog.Attr()) // there is no pause to watch
			return
		}
		f := Finding{Severity: severity, Where: p.Settings.Watchdog.Enabled.From.String(),
			What: "the PFC watchdog is off on lossless ports towards " + towards}
		if _, ok := r.differs(p.Name, qos.KindWatchdog.Attr()); ok {
			f.Fix = "apply the intent, which has it on"
		}
		r.found(f, p.Name, qos.KindWatchdog.Attr())
	})
}

func watchedPriorities(r *deviceRun, p *intent.Port, q *qos.Port) {
	w, want := q.Watchdog.V, r.d.Desired.Ports[p.Name].Watchdog.V
	if _, pfc := r.differs(p.Name, qos.KindPFC.Attr()); pfc && w.Enabled && w.Priorities == q.PFC.V && want.Priorities&^w.Priorities == 0 {
		// It watches one more priority only because the port pauses one more.
		if w.Priorities = want.Priorities; w == want {
			r.out.markReported(p.Name, qos.KindWatchdog.Attr())
		}
		return
	}
	if missing := want.Priorities &^ w.Priorities; q.Watchdog.Set && w.Enabled && missing != 0 {
		fields := []qos.Attr{qos.KindWatchdog.Attr()}
		if w.Priorities = want.Priorities; w != want {
			fields = nil // it differs in other settings too
		}
		r.found(Finding{Severity: Warning, What: fmt.Sprintf("lossless priorities %s are not watched", missing)}, p.Name, fields...)
	}
}

// watchdogPoll reports a system that polls more often than the intent states, because it cannot
// reach the stated times otherwise.
func watchdogPoll(r *deviceRun) {
	w := r.d.Switch.Settings.Watchdog
	stated, is := w.Poll, r.cfg.WatchdogPoll
	if r.source != Intended || stated.IsDefault() || is == qos.Of(stated.V) || !is.Set {
		return
	}
	r.found(Finding{Severity: Warning, Where: stated.From.String(),
		What: fmt.Sprintf("the watchdog is polled every %s, not every %s: %s needs that for detect %s and restore %s", is.V, stated.V, r.d.Switch.OS, w.Detect.V, w.Restore.V),
		Fix:  "state that poll, or longer times"}, "")
}

// longDetect is how long a storm may last before a watchdog counts as slow. SONiC's own default
// reaches it with 128 ports (sonic-utilities pfcwd/main.py).
const longDetect = time.Second

func watchdogTimes(r *deviceRun, p *intent.Port, q *qos.Port) {
	w := q.Watchdog.V
	if !q.Watchdog.Set || !w.Enabled {
		return
	}
	if w.Detect > longDetect {
		r.found(Finding{Severity: Warning, Where: p.Settings.Watchdog.Detect.From.String(), What: fmt.Sprintf("a PFC storm lasts %s before the watchdog acts", w.Detect), Fix: r.fixOf(r.check.Fix, p.Name, qos.KindWatchdog.Attr())}, p.Name)
	}
	r.setting(roleOf(r.d.Switch)+towards(p), string(w.Action)+" detect "+w.Detect.String()+" restore "+w.Restore.String(), "", p,
		func(s *intent.Settings) intent.Origin { return s.Watchdog.Detect.From },
		func(s *intent.Settings) intent.Origin { return s.Watchdog.Restore.From },
		func(s *intent.Settings) intent.Origin { return s.Watchdog.Action.From })
}

func otherWatchdog(o *outlierRun) {
	o.found(Finding{Severity: Warning, What: fmt.Sprintf("the watchdog is %s, on %d of %d ports of %s %s", o.value, o.share, o.of, o.group, o.usual)}, qos.KindWatchdog.Attr())
}

// roleOf names the role of a switch. Switches of one role should be configured alike.
func roleOf(sw *intent.Switch) string {
	if sw.Role == "" {
		return "the fabric"
	}
	return "role " + sw.Role
}

// towards says whether a port leads to hosts or to switches.
func towards(p *intent.Port) string {
	if p.Uplink() {
		return " towards switches"
	}
	return " towards hosts"
}
