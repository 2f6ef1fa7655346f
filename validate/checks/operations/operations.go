package operations

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/buffers"
	"github.com/roce-fabric/roce-fabric/validate/checks/mtu"
	"github.com/roce-fabric/roce-fabric/validate/checks/pfc"
	"github.com/roce-fabric/roce-fabric/validate/checks/ports"
)

var Checks = []checks.Check{
	{
		ID: "CFG-01", Title: "a policy or profile for RoCE is attached nowhere",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "it reads as if it were in force, and does nothing",
		Fix:    "attach it, or remove it",
		ByText: true,
	},
	{
		ID: "CFG-02", Title: "a setting has no effect where it is written",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "it reads as if it were in force, and another one is, or none",
		Fix:    "write it where the switch reads it, or remove it",
		ByText: true,
	},
	{
		ID: "CAT-01", Title: "the model is not in the catalogue",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "for a name near one that it knows"}, {Severity: checks.Info, When: "else"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:   "its ports, buffers and headroom cannot be checked",
		Fix:   "state the model as the switch shows it",
		Needs: platformKnown,
	},
	{
		ID: "DRIFT", Title: "the running configuration differs from the intent",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where traffic depends on it"}, {Severity: checks.Warning, When: "else"}, {Severity: checks.Info, When: "where the running value is not known"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning | checks.ReadsNIC,
		Why: "the checks of the intent do not describe what runs",
		Fix: "apply the intent, or change the intent",
	},
	{
		ID: "OPS-02", Title: "a value is configured but not in force",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the difference is visible"}, {Severity: checks.Info, When: "where the switch does not show what is in force"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsApplied,
		Why:   "the configuration shows one thing and the ASIC does another",
		Fix:   "find the reason in the switch's log, then write the value again",
		Needs: checks.StateInForce, State: inForce,
	},
	{
		ID: "OPS-04", Title: "the operating system does not accept a value",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the switch refuses it"}, {Severity: checks.Warning, When: "where the switch does something else"}},
		Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRendered,
		Why: "the switch refuses the whole request that contains it",
		Fix: "change the value in the intent",
	},
	{
		ID: "OPS-01", Title: "the running configuration is not saved",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where the difference is visible"}, {Severity: checks.Info, When: "where the switch does not show what is saved"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:   "a reload returns to the saved configuration",
		Fix:   "apply the intent, which also saves; or save it on the switch if it is as intended",
		Needs: stateSaved, State: unsaved,
	},
	{
		ID: "OPS-03", Title: "a change disturbs traffic outside a maintenance window",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsRendered,
		Why: "a port goes down, or packets of the class are lost", Fix: "drain first",
		Absent: "no state of a switch shows it: plan shows the impact of every change, and apply makes one above counters only where it is allowed, in the windows of the intent",
	},
	{
		ID: "OPS-05", Title: "switches of one role run different releases",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "the same configuration may behave differently",
		Fix:    "run one release on all switches of the role",
		Switch: releases, Outliers: otherRelease,
	},
	{
		ID: "OPS-06", Title: "a switch is in a state of its own",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where it has stopped traffic"}, {Severity: checks.Warning, When: "where it may have, has not settled, or will undo its configuration"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsApplied,
		Why:     "what it shows meanwhile is neither as configured nor as it will be",
		Fix:     "wait until the state has ended, then validate again",
		Sources: []string{"sonic-swss orchagent/pfcwdorch.cpp, pfcactionhandler.cpp", "Nexus 9000 NX-OS QoS Configuration Guide, 10.5(x)", "Cumulus Linux 5.17, PFC Watchdog"},
		State:   ownStates,
	},
	{
		ID: "READ", Title: "a device, or a value of it, could not be read",
		Rules: []checks.Rule{{Severity: checks.Error, When: "for a device"}, {Severity: checks.Info, When: "for a value, or a host without an address or a user name"}}, Scope: checks.ScopeFabric, Reads: checks.ReadsRunning | checks.ReadsNIC,
		Why: "nothing about it was checked",
		Fix: "make sure that the device can be reached and read",
	},
	{
		ID: "SUPPRESS", Title: "a suppression has ended, or names no check",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent,
		Why: "the findings that it accepted count again, or it never accepted any",
		Fix: "remove the cause, or correct the suppression",
	},
	{
		ID: "UNKNOWN", Title: "configuration that this tool does not understand",
		Rules: checks.Always(checks.Info), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "it is left alone and not checked",
		Fix:    "check it by hand",
		Switch: unknown,
		ByText: true,
	},
	{
		ID: "YANG", Title: "the rendered configuration is not valid against the models",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRendered,
		Why: "the switch refuses it",
		Fix: "check release and model of the switch",
	},
}

// platformKnown reports an unknown model, so that missing findings are not taken for approval.
// A switch that was read shows its own values, but not those of its platform.
func platformKnown(r *checks.Switch) *checks.Lack {
	if r.Source != checks.Running {
		return checks.ModelKnown(r)
	}
	what := "buffer pools, alpha"
	if r.Config.Hardware.Rows == nil && !r.Config.Platform.DynamicBuffers {
		what = "buffer pools, alpha, headroom"
	}
	return r.UnknownModel(what, "not compared with those of the platform")
}

// ownStates reports the states that the switch is in by itself.
func ownStates(r *checks.Switch) {
	for _, own := range r.Seen.Own {
		f := checks.Finding{Severity: checks.Warning, What: own.What, Fix: own.Fix}
		if own.Stopped {
			f.Severity = checks.Error
		}
		r.Found(f, own.Port)
	}
}

func stateSaved(r *checks.Switch) *checks.Lack {
	if r.Source != checks.Running || r.Seen.NotSaved == "" {
		return nil
	}
	return &checks.Lack{ID: "OPS-01", What: "the saved configuration", Short: "it cannot be read", Why: "it is not known whether the configuration is saved: " + r.Seen.NotSaved,
		Fix: "give the switch an ssh block in the intent, or compare its saved configuration by hand"}
}

// inForce reports values that are configured but not in force.
func inForce(r *checks.Switch) {
	for _, m := range r.Seen.InForce {
		if pfc.Live(m) || mtu.NarrowClass(m) || buffers.OfGroup(m) {
			continue // PFC-10, MTU-05, BUF-15
		}
		if m.Field.Kind == qos.KindAdminUp {
			continue // PRT-05
		}
		if f, ok := r.NotInForce(m); ok {
			r.Found(f, m.Port)
		}
	}
}

func unknown(r *checks.Switch) {
	// Equal lines of many ports become one finding.
	var alike ordered.Groups[drivers.Unknown, string]
	for _, u := range r.Seen.Unknown {
		at, _, _ := strings.Cut(strings.TrimPrefix(u.Where, "line "), ", line ")
		if _, err := strconv.Atoi(at); err == nil {
			at = "" // a line outside of any block
		}
		u.Where = ""
		alike.Add(u, at)
	}
	for u, at := range alike.All() {
		what := natural.Fold(slices.Compact(natural.Sorted(at)))
		if u.Text != "" {
			what = strings.TrimSpace(fmt.Sprintf("%s %q", what, u.Text))
		}
		f := checks.Finding{Severity: checks.Info, What: term.CleanLine(fmt.Sprintf("%s: %s", what, u.Why))}
		if u.Open {
			f.Unchecked, f.Because = "some QoS settings", "this tool does not understand them"
		}
		r.Found(f, "")
	}
}

// Refused converts refusals to findings, one per cause.
func Refused(sw *intent.Switch, rs []render.Refusal) []checks.Finding {
	var c checks.Collector
	for _, r := range rs {
		f := checks.Finding{ID: "OPS-04", Severity: checks.Error, Device: sw.Name, What: r.Why, Where: render.Reason(sw, r.Place), Fix: "change the value in the intent"}
		if r.Field.Kind == qos.KindWatchdog || r.Field.Kind == qos.KindWatchdogPoll {
			f.ID = "WD-04"
		}
		c.Add(f, r.Port)
	}
	return c.List
}

// Adapted reports settings that a system can only implement differently from the intent.
func Adapted(sw *intent.Switch, how []string) []checks.Finding {
	var c checks.Collector
	for _, h := range how {
		c.Add(checks.Finding{ID: "OPS-04", Severity: checks.Warning, Device: sw.Name, What: h, Where: sw.Pos.String(),
			Fix: "accept it, or change the intent"}, "")
	}
	return c.List
}

func unsaved(r *checks.Switch) {
	if len(r.Seen.Unsaved) == 0 {
		return
	}
	f := checks.Finding{Severity: checks.Warning, What: "not saved: " + strings.Join(r.Seen.Unsaved, ", "), Fix: "save the running configuration"}
	switch {
	case !r.Outcome.Drift.Empty():
		f.Fix = "apply the intent, which saves; do not save what differs from it"
	case slices.ContainsFunc(r.Device.Switch.Ports, func(p *intent.Port) bool { return ports.Shut(r, p) }):
		f.Fix = "bring up the ports that PRT-05 names, then save: a port that is saved as down stays down after a reload"
	}
	r.Found(f, "")
}

func releases(r *checks.Switch) {
	if rel := r.Config.Platform.Release; rel != "" {
		r.Trait(r.Device.Switch.OS+" of "+checks.RoleOf(r.Device.Switch), rel, "", r.Device.Switch.Release.From.String())
	}
}

func otherRelease(o *checks.Outlier) {
	o.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the release is %s, that of %d of %d switches (%s) is %s", term.CleanLine(o.Value), o.Share, o.Of, o.Group, term.CleanLine(o.Usual))})
}
