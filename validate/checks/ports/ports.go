package ports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var Checks = []checks.Check{
	{
		ID: "PRT-01", Title: "a port has no QoS configuration, unlike others of its role",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:     "after a breakout only the first child may get maps and buffers",
		Fix:     "apply the intent; if that does not help, shut the port and bring it up again",
		Sources: []string{"sonic-buildimage issue 23354", "sonic-swss issue 2865"},
		Switch:  barePort,
	},
	{
		ID: "PRT-02", Title: "members of an aggregate differ",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "flows hashed to one member lose packets, others do not",
		Fix:    "give all members the same settings",
		Switch: membersDiffer,
		Alone:  membersAlone,
	},
	{
		ID: "PRT-03", Title: "a port differs from most ports of its role in a value that the intent does not set",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsRunning,
		Why:    "unmanaged values drift unnoticed",
		Fix:    "make the port like the others, or set the value in the intent",
		Switch: checks.OnlyObserved(checks.EachPort(unmanaged)), Outliers: otherPort,
	},
	{
		ID: "PRT-04", Title: "speed or FEC of a port are not as intended",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeLink, Reads: checks.ReadsRunning | checks.ReadsApplied | checks.ReadsNIC,
		Why:    "headroom and thresholds follow from the speed",
		Fix:    "apply the intent, or correct the speed in it",
		Switch: checks.EachPort(speedOfPorts), State: inOperation,
	},
	{
		ID: "PRT-05", Title: "a port of the intent is down",
		Rules: []checks.Rule{{Severity: checks.Error, When: "for a port that is shut, or that a link of the intent uses"}, {Severity: checks.Warning, When: "for a port without a link in the intent"}, {Severity: checks.Info, When: "where its state is not shown"}},
		Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning | checks.ReadsApplied,
		Why:   "it carries no traffic: a rail or a path of the fabric is missing",
		Fix:   "bring the port up, or state admin: down in the intent where it is meant to be down",
		Needs: portStates, State: portsDown,
	},
	{
		ID: "PRT-06", Title: "the two ends of a link have different speed or FEC",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeLink, Reads: checks.ReadsApplied | checks.ReadsNIC,
		Why:     "the link does not come up, or loses frames at one end",
		Fix:     "give both ends the same speed and FEC",
		Sources: []string{"IEEE 802.3 clauses 73.6.5, 91 and 108"},
		Link:    wireOfEnds,
	},
	{
		ID: "PRT-07", Title: "members of a port channel lack its QoS",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:     "a member has its own configuration alone: always on some systems, on others as an individual port, for example while a host boots",
		Fix:     "give the members the same lines as the port channel",
		Sources: []string{"aristanetworks/avd issue 3822", "sonic-swss orchagent/qosorch.cpp"},
		ByText:  true,
	},
}

// hasNoQoS reports whether a port has neither PFC nor ECN marking although it should have both.
func hasNoQoS(q, want *qos.Port) bool {
	if want.PFC.Or(0) == 0 || q.PFC.Or(0) != 0 {
		return false
	}
	marks := false
	for i := range want.Queues {
		if want.Queues[i].ECN.V.Enabled {
			marks = true
			if e := q.Queues[i].ECN.V; e.Enabled || e.Max > 0 {
				return false
			}
		}
	}
	return marks
}

// Bare returns the ports that have neither PFC nor ECN marking although they should have both.
func Bare(d *render.Device, cfg *qos.Device) map[string]bool {
	out := map[string]bool{}
	for _, p := range d.Switch.Ports {
		if q := cfg.Ports[p.Name]; q != nil && hasNoQoS(q, d.Desired.Ports[p.Name]) {
			out[p.Name] = true
		}
	}
	return out
}

func barePort(r *checks.Switch) {
	for _, p := range r.Device.Switch.Ports {
		if !r.Bare[p.Name] {
			continue
		}
		r.Found(checks.Finding{Severity: checks.Error, What: "the port has neither PFC nor ECN"}, p.Name, qos.KindPFC.Attr())
		for _, ch := range r.Outcome.Drift.Changes {
			if ch.Port == p.Name {
				r.Outcome.MarkReported(p.Name, ch.Field)
			}
		}
	}
}

func membersDiffer(r *checks.Switch) {
	type member struct {
		p *intent.Port
		q *qos.Port
	}
	lags := map[string][]member{}
	for p, q := range r.Ports() {
		if p.LAG.V != "" {
			lags[p.LAG.V] = append(lags[p.LAG.V], member{p, q})
		}
	}
	for _, lag := range natural.Keys(lags) {
		first := lags[lag][0]
		for _, m := range lags[lag][1:] {
			odd := m
			fields := slices.DeleteFunc(differing(first.q, m.q), func(a qos.Attr) bool { return r.IsUnknown(first.p.Name, a) || r.IsUnknown(m.p.Name, a) })
			if len(fields) == 0 {
				continue
			}
			if _, drifted := r.Differs(first.p.Name, fields[0]); drifted {
				odd = first
			}
			r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("members of %s differ in %s", lag, fieldNames(fields))}, odd.p.Name, fields...)
		}
	}
}

// several names the owners of attributes, queues and groups, that a finding mentions only once.
var several = map[qos.Owner]string{qos.OfQueue: "queues", qos.OfGroup: "groups"}

// fieldNames lists the names of fields; all fields of queues share one name, as do those of
// groups.
func fieldNames(fields []qos.Attr) string {
	var said []string
	for _, f := range fields {
		if base := cmp.Or(several[f.Kind.Of()], f.String()); !slices.Contains(said, base) {
			said = append(said, base)
		}
	}
	return strings.Join(said, ", ")
}

// differing returns the attributes in which two ports treat traffic differently.
func differing(a, b *qos.Port) []qos.Attr {
	one := func(p *qos.Port) *qos.Device { return &qos.Device{Ports: map[string]*qos.Port{"": p}} }
	var fields []qos.Attr
	for _, ch := range qos.Diff(one(a), one(b)) {
		if !ch.Field.Kind.Has(qos.LinkSetting) {
			fields = append(fields, ch.Field)
		}
	}
	return fields
}

// unmanaged records the values of a port that the intent does not set.
func unmanaged(r *checks.Switch, p *intent.Port, q *qos.Port) {
	if r.IsUnknown(p.Name, qos.KindFEC.Attr()) {
		return
	}
	want := r.Device.Desired.Ports[p.Name]
	var has []string
	add := func(attr qos.Attr, managed bool, set bool, value any) {
		if set && !managed {
			has = append(has, fmt.Sprintf("%s %v", attr, value))
		}
	}
	add(qos.KindFEC.Attr(), want.FEC.Set, q.FEC.Set, q.FEC.V)
	if r.Source == checks.Saved { // else PRT-05 reports it
		add(qos.KindAdminUp.Attr(), want.AdminUp.Set, q.AdminUp.Set, q.AdminUp.V)
	}
	for g := range q.Groups {
		h := q.Groups[g].Headroom
		if r.Outcome.IsReported(p.Name, qos.KindHeadroom.At(g)) {
			return // a check of buffers already reports it
		}
		add(qos.KindHeadroom.At(g), want.Groups[g].Headroom.Set, h.Set && q.Groups[g].Lossless.V, h.V)
	}
	if len(has) > 0 {
		group := fmt.Sprintf("%s of %s, %s at %s over %s", r.Device.Switch.OS, checks.RoleOf(r.Device.Switch), strings.TrimSpace(checks.Towards(p)), p.Speed.V, p.Cable.V)
		if own := p.Settings.Lossless(); own != r.Device.Fabric.Settings.Lossless() {
			group += fmt.Sprintf(", with PFC %s", own)
		}
		r.Trait(group, strings.Join(has, ", "), p.Name, p.Pos.String())
	}
}

func otherPort(o *checks.Outlier) {
	if o.Share < 3 || o.Share*4 < o.Of*3 {
		return // too few ports to tell what is usual
	}
	have, usual := strings.Split(o.Value, ", "), strings.Split(o.Usual, ", ")
	only := func(a, b []string) string {
		out := slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
		if len(out) == 0 {
			return "nothing else"
		}
		return strings.Join(out, ", ")
	}
	o.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("it has %s; %d of %d ports (%s) have %s", only(have, usual), o.Share, o.Of, o.Group, only(usual, have))})
}

func speedOfPorts(r *checks.Switch, p *intent.Port, q *qos.Port) {
	for _, field := range []qos.Attr{qos.KindSpeed.Attr(), qos.KindFEC.Attr()} {
		if ch, ok := r.Differs(p.Name, field); ok {
			fields := []qos.Attr{field}
			for g := range q.Groups {
				if speed, _, ok := q.Groups[g].LookedUp(); ok && field.Kind == qos.KindSpeed && speed == q.Speed.V {
					fields = append(fields, qos.KindDerivedFrom.At(g))
				}
			}
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("%s is %s, the intent says %s", field, ch.Old, ch.New)}, p.Name, fields...)
		}
	}
}

// Shut reports whether a port is administratively down although the intent does not say so.
func Shut(r *checks.Switch, p *intent.Port) bool {
	q := r.Config.Ports[p.Name]
	if q == nil || p.AdminUp.V != nil && !*p.AdminUp.V {
		return false
	}
	if s := r.Seen.Ports[p.Name]; s != nil && s.AdminUp.Set {
		return !s.AdminUp.V
	}
	return q.AdminUp.Set && !q.AdminUp.V
}

func portStates(r *checks.Switch) *checks.Lack {
	if r.Source != checks.Running || len(r.Seen.Ports) > 0 {
		return nil
	}
	return &checks.Lack{ID: "PRT-05", What: "whether ports are up", Short: "the switch does not show it", Why: "the switch does not show which of its ports are up", Fix: "check the ports on the switch"}
}

// portsDown finds ports of the intent that are shut or have no link, including ports without
// any other configuration from the intent. A port that the switch does not have is reported as
// drift.
func portsDown(r *checks.Switch) {
	for _, p := range r.Device.Switch.Ports {
		q := r.Config.Ports[p.Name]
		if q == nil || p.AdminUp.V != nil && !*p.AdminUp.V {
			continue
		}
		oper := qos.Opt[bool]{}
		if s := r.Seen.Ports[p.Name]; s != nil {
			oper = s.OperUp
		}
		f := checks.Finding{Severity: checks.Error, Where: p.Pos.String()}
		switch {
		case Shut(r, p):
			f.What = "the port is administratively down"
			if p.AdminUp.V != nil {
				f.Where, f.Fix = p.AdminUp.From.String(), "apply the intent, which has it up"
			}
			if what, fix := leftDown(r, p.Name); what != "" {
				f.What, f.Fix = what, fix
			}
		case oper.Set && oper.V:
			continue
		case oper.Set && p.Link == nil:
			f.Severity, f.What = checks.Warning, "the port has no link, and the intent states none for it"
			f.Fix = "check the cable, or remove the port from the intent if nothing is attached"
		case oper.Set:
			f.What, f.Where = "the port is enabled and has no link", p.Link.Pos.String()
			f.Fix = "check the cable, the transceivers, speed, FEC, and the port at the other end"
		default:
			f.Severity, f.What = checks.Info, "the switch does not show whether the port has a link"
			f.Unchecked, f.Because = "whether ports are up", "the switch does not show it"
			f.Fix = "check the port on the switch"
		}
		r.Found(f, p.Name, qos.KindAdminUp.Attr())
	}
	for _, name := range natural.Keys(r.Seen.LeftDown) {
		s := r.Seen.Ports[name]
		if what, _ := leftDown(r, name); r.Device.Switch.Port(name) == nil && s != nil && s.AdminUp.Set && !s.AdminUp.V {
			r.Found(checks.Finding{Severity: checks.Error, What: what + "; the intent does not have it", Fix: "roll the run back, which brings it up"}, name)
		}
	}
}
