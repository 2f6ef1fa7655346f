package validate

import (
	"cmp"
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
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

var operationChecks = []Check{
	{
		ID: "CFG-01", Title: "a policy or profile for RoCE is attached nowhere",
		Rules: always(Warning), Scope: ScopeSwitch, Reads: ReadsRunning,
		Why: "it reads as if it were in force, and does nothing",
		Fix: "attach it, or remove it",
	},
	{
		ID: "CAT-01", Title: "the model is not in the catalogue",
		Rules: []Rule{{Warning, "for a name near one that it knows"}, {Info, "else"}}, Scope: ScopeSwitch, Reads: ReadsIntent | ReadsRunning,
		Why:   "its ports, buffers and headroom cannot be checked",
		Fix:   "state the model as the switch shows it",
		needs: platformKnown,
	},
	{
		ID: "DRIFT", Title: "the running configuration differs from the intent",
		Rules: []Rule{{Error, "where traffic depends on it"}, {Warning, "else"}}, Scope: ScopeSwitch, Reads: ReadsRunning | ReadsNIC,
		Why: "the checks of the intent do not describe what runs",
		Fix: "apply the intent, or change the intent",
	},
	{
		ID: "OPS-02", Title: "a value is configured but not in force",
		Rules: []Rule{{Error, "where the difference is visible"}, {Info, "where the switch does not show what is in force"}}, Scope: ScopeSwitch, Reads: ReadsApplied,
		Why:   "the configuration shows one thing and the ASIC does another",
		Fix:   "find the reason in the switch's log, then write the value again",
		needs: stateInForce, state: inForce,
	},
	{
		ID: "OPS-04", Title: "the operating system does not accept a value",
		Rules: []Rule{{Error, "where the switch refuses it"}, {Warning, "where the switch does something else"}},
		Scope: ScopeSwitch, Reads: ReadsIntent | ReadsRendered,
		Why: "the switch refuses the whole request that contains it",
		Fix: "change the value in the intent",
	},
	{
		ID: "OPS-01", Title: "the running configuration is not saved",
		Rules: []Rule{{Warning, "where the difference is visible"}, {Info, "where the switch does not show what is saved"}}, Scope: ScopeSwitch, Reads: ReadsRunning,
		Why:   "a reload returns to the saved configuration",
		Fix:   "apply the intent, which also saves; or save it on the switch if it is as intended",
		needs: stateSaved, state: unsaved,
	},
	{
		ID: "OPS-03", Title: "a change disturbs traffic outside a maintenance window",
		Rules: always(Warning), Scope: ScopeTime, Reads: ReadsRendered,
		Why: "a port goes down, or packets of the class are lost", Fix: "drain first",
		Absent: "no state of a switch shows it: plan shows the impact of every change, and apply makes one above counters only where it is allowed, in the windows of the intent",
	},
	{
		ID: "OPS-05", Title: "switches of one role run different releases",
		Rules: always(Warning), Scope: ScopeFabric, Reads: ReadsIntent | ReadsRunning,
		Why:    "the same configuration may behave differently",
		Fix:    "run one release on all switches of the role",
		device: releases, outliers: otherRelease,
	},
	{
		ID: "READ", Title: "a device, or a value of it, could not be read",
		Rules: []Rule{{Error, "for a device"}, {Info, "for a value, or a host without an address or a user name"}}, Scope: ScopeFabric, Reads: ReadsRunning | ReadsNIC,
		Why: "nothing about it was checked",
		Fix: "make sure that the device can be reached and read",
	},
	{
		ID: "SUPPRESS", Title: "a suppression has ended, or names no check",
		Rules: always(Warning), Scope: ScopeFabric, Reads: ReadsIntent,
		Why: "the findings that it accepted count again, or it never accepted any",
		Fix: "remove the cause, or correct the suppression",
	},
	{
		ID: "UNKNOWN", Title: "configuration that this tool does not understand",
		Rules: always(Info), Scope: ScopeSwitch, Reads: ReadsRunning,
		Why:    "it is left alone and not checked",
		Fix:    "check it by hand",
		device: unknown,
	},
	{
		ID: "YANG", Title: "the rendered configuration is not valid against the models",
		Rules: always(Error), Scope: ScopeSwitch, Reads: ReadsRendered,
		Why: "the switch refuses it",
		Fix: "check release and model of the switch",
	},
}

// platformKnown reports an unknown model, so that missing findings are not taken for approval.
// A switch that was read shows its own values, but not those of its platform.
func platformKnown(r *deviceRun) *lack {
	if r.source != Running {
		return modelKnown(r)
	}
	what := "buffer pools, alpha"
	if r.cfg.Hardware.Rows == nil && !r.cfg.Platform.DynamicBuffers {
		what = "buffer pools, alpha, headroom"
	}
	return r.unknownModel(what, "not compared with those of the platform")
}

// modelKnown returns what the checks of buffers lack if the model of an intended switch is not
// known.
func modelKnown(r *deviceRun) *lack {
	if r.source != Intended {
		return nil
	}
	return r.unknownModel("ports, buffers and headroom", "not checked")
}

func (r *deviceRun) unknownModel(what, not string) *lack {
	d := r.d
	name := d.Switch.Model.V
	if d.Model != nil {
		return nil
	}
	l := &lack{id: "CAT-01", what: what}
	switch {
	case name == "":
		l.short = "no model is stated"
		l.why, l.fix = fmt.Sprintf("no model is stated: %s are %s", what, not), intent.Fix("CAT-01", "state the model{how}")
	default:
		l.short = "the model is unknown"
		l.why, l.where = fmt.Sprintf("model %s is not in the catalogue: %s are %s", name, what, not), d.Switch.Model.From.String()
		l.fix = "check the spelling against the model that the switch shows"
		if near := catalog.Suggest(d.Switch.OS, name); near != "" {
			l.near, l.fix = true, fmt.Sprintf("did you mean %s?", near)
		}
	}
	return l
}

// buffersKnown is like modelKnown, but also reports a model without any buffer data in the
// catalogue.
func buffersKnown(r *deviceRun) *lack {
	if l := modelKnown(r); l != nil || r.source != Intended || r.d.Desired.Platform.DynamicBuffers || len(r.d.Model.Pools)+len(r.d.Model.Headroom) > 0 {
		return l
	}
	return r.unpublished("buffers and headroom", "the buffers of the model are not published", "buffers",
		"the model's ports are known, its buffers are not: buffers and headroom are checked only as far as the switch shows them")
}

// unpublished returns the lack for a model whose catalogue entry misses some data.
func (r *deviceRun) unpublished(what, short, of, why string) *lack {
	return &lack{id: "CAT-01", what: what, short: short, where: r.d.Switch.Model.From.String(), why: why,
		fix: "check the " + of + " of lossless ports on the switch itself"}
}

// rowsKnown is like buffersKnown, but also reports a model without a headroom table in the
// catalogue.
func rowsKnown(r *deviceRun) *lack {
	if l := buffersKnown(r); l != nil || r.source != Intended || r.d.Desired.Platform.DynamicBuffers || len(r.d.Model.Headroom) > 0 {
		return l
	}
	return r.unpublished("headroom", "the headroom of the model is not published", "headroom",
		fmt.Sprintf("no headroom table of %s is published: headroom is checked only as far as the switch shows it", r.d.Model.Name))
}

// poolsKnown is like buffersKnown, but also reports a model without buffer pools in the
// catalogue.
func poolsKnown(r *deviceRun) *lack {
	if l := buffersKnown(r); l != nil || r.source != Intended || len(r.d.Model.Pools) > 0 {
		return l
	}
	return r.unpublished("buffer pools", "the buffer pools of the model are not published", "buffers",
		fmt.Sprintf("no buffer pools of %s are published: they are checked only as far as the switch shows them", r.d.Model.Name))
}

// stateInForce returns what the checks of values in force lack.
func stateInForce(r *deviceRun) *lack {
	if r.source != Running || r.seen.NotInForce == "" {
		return nil
	}
	return &lack{id: "OPS-02", what: "values in force", short: "the switch does not show them", why: "the switch does not show what is in force: " + r.seen.NotInForce,
		fix: "look for the reason on the switch, and read it again"}
}

func stateSaved(r *deviceRun) *lack {
	if r.source != Running || r.seen.NotSaved == "" {
		return nil
	}
	return &lack{id: "OPS-01", what: "the saved configuration", short: "it cannot be read", why: "it is not known whether the configuration is saved: " + r.seen.NotSaved,
		fix: "give the switch an ssh block in the intent, or compare its saved configuration by hand"}
}

// inForce reports values that are configured but not in force.
func inForce(r *deviceRun) {
	for _, m := range r.seen.InForce {
		if livePFC(m) || narrowClass(m) || bufferOfGroup(m) {
			continue // PFC-10, MTU-05, BUF-15
		}
		if m.Field.Kind == qos.KindAdminUp {
			continue // PRT-05
		}
		if f, ok := r.notInForce(m); ok {
			r.found(f, m.Port)
		}
	}
}

// notInForce returns the finding for a value that is configured but not in force. If the value
// is not configured as intended, drift is reported instead, unless the driver knows the fix.
func (r *deviceRun) notInForce(m drivers.Mismatch) (f Finding, ok bool) {
	if r.bare[m.Port] {
		return f, false // PRT-01
	}
	ch, drifted := r.differs(m.Port, m.Field)
	// PFC in force that differs from the configuration is a separate fault.
	if m.Fix == "" && drifted && !(m.Field.Kind == qos.KindPFC && ch.Old != qos.PrioritySet(0).String() && ch.Old != m.Have) {
		return f, false
	}
	if drifted && m.Field.Kind == qos.KindPFC && m.Fix == "" {
		m.Want = ch.Old
	}
	f = Finding{Severity: Error, Where: render.Reason(r.d.Switch, qos.Place{Port: m.Port, Field: m.Field}),
		What: fmt.Sprintf("%s is configured as %s and in force as %s", m.What(), m.Want, m.Have),
		Fix:  "the switch did not put its configuration into force: look for the reason in its log, then write it again"}
	if m.Unsure {
		f.Unchecked, f.Because = "values in force", "the switch does not show them"
		f.Severity, f.What, f.Fix = Info, fmt.Sprintf("could not confirm that %s is in force as %s: %s", m.What(), m.Want, m.Have), cmp.Or(m.Fix, "check it on the switch")
	} else if m.Fix != "" {
		f.What, f.Fix = fmt.Sprintf("%s: %s is not in force: %s", m.What(), m.Want, m.Have), m.Fix
	}
	return f, true
}

func unknown(r *deviceRun) {
	// Equal lines of many ports become one finding.
	var alike ordered.Groups[drivers.Unknown, string]
	for _, u := range r.seen.Unknown {
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
		f := Finding{Severity: Info, What: term.CleanLine(fmt.Sprintf("%s: %s", what, u.Why))}
		if u.Open {
			f.Unchecked, f.Because = "some QoS settings", "this tool does not understand them"
		}
		r.found(f, "")
	}
}

// Refused converts refusals to findings, one per cause.
func Refused(sw *intent.Switch, rs []render.Refusal) []Finding {
	var c collector
	for _, r := range rs {
		f := Finding{ID: "OPS-04", Severity: Error, Device: sw.Name, What: r.Why, Where: render.Reason(sw, r.Place), Fix: "change the value in the intent"}
		if r.Field.Kind == qos.KindWatchdog || r.Field.Kind == qos.KindWatchdogPoll {
			f.ID = "WD-04"
		}
		c.add(f, r.Port)
	}
	return c.list
}

// Adapted reports settings that a system can only implement differently from the intent.
func Adapted(sw *intent.Switch, how []string) []Finding {
	var c collector
	for _, h := range how {
		c.add(Finding{ID: "OPS-04", Severity: Warning, Device: sw.Name, What: h, Where: sw.Pos.String(),
			Fix: "accept it, or change the intent"}, "")
	}
	return c.list
}

func unsaved(r *deviceRun) {
	if len(r.seen.Unsaved) == 0 {
		return
	}
	f := Finding{Severity: Warning, What: "not saved: " + strings.Join(r.seen.Unsaved, ", "), Fix: "save the running configuration"}
	switch {
	case !r.out.drift.empty():
		f.Fix = "apply the intent, which saves; do not save what differs from it"
	case slices.ContainsFunc(r.d.Switch.Ports, func(p *intent.Port) bool { return r.shut(p) }):
		f.Fix = "bring up the ports that PRT-05 names, then save: a port that is saved as down stays down after a reload"
	}
	r.found(f, "")
}

func releases(r *deviceRun) {
	if rel := r.cfg.Platform.Release; rel != "" {
		r.trait(r.d.Switch.OS+" of "+roleOf(r.d.Switch), rel, "", r.d.Switch.Release.From.String())
	}
}

func otherRelease(o *outlierRun) {
	o.found(Finding{Severity: Warning, What: fmt.Sprintf("the release is %s, that of %d of %d switches (%s) is %s", term.CleanLine(o.value), o.share, o.of, o.group, term.CleanLine(o.usual))})
}
