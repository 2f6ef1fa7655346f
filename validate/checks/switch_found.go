package checks

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// Found adds a finding on a port; port is "" for the whole switch. attrs are the attributes
// that the finding is about: if they differ from the intent, no other finding reports the
// difference. The first one gives the line of the intent if the finding has none; the check
// gives the fix if the finding has none.
//
// A finding about a value that the switch does not show is left out: see [Switch.ReportUnknown].
func (r *Switch) Found(f Finding, port string, attrs ...qos.Attr) {
	if !r.IsUnknown(port, attrs...) {
		r.found(f, port, attrs...)
	}
}

func (r *Switch) found(f Finding, port string, attrs ...qos.Attr) {
	r.Check.MayFind(f.Severity)
	f.ID, f.Device = r.Check.ID, r.Device.Switch.Name
	if f.Where == "" {
		f.Where = r.Device.Switch.Pos.String()
		if len(attrs) > 0 {
			f.Where = render.Reason(r.Device.Switch, qos.Place{Port: port, Field: attrs[0]})
		}
	}
	if f.Fix == "" {
		f.Fix = r.FixOf(r.Check.Fix, port, attrs...)
	}
	r.Compare()
	if f.Roots == nil {
		f.Roots = r.Outcome.RootsOf(port, attrs...)
	}
	r.Outcome.MarkReported(port, attrs...)
	r.Outcome.Findings.Add(f, port)
}

// FoundTowards adds a finding about both ends of a link. The text does not name the other end,
// so that one cause on many links is one finding.
func (r *Switch) FoundTowards(peer intent.Endpoint, f Finding, port string, attrs ...qos.Attr) {
	f.Peers = []string{peer.String()}
	r.Found(f, port, attrs...)
}

// ApplyIntent is the fix for a difference from the intent.
const ApplyIntent = "apply the intent"

// FixOf returns the fix for a finding about these attributes. If they differ from the intent,
// the fix is to apply it: changing the intent would not help, and changing the switch by hand
// would bypass the intent.
func (r *Switch) FixOf(fix, port string, attrs ...qos.Attr) string {
	for _, attr := range attrs {
		if _, ok := r.Differs(port, attr); ok && !strings.Contains(fix, ApplyIntent) {
			return ApplyIntent
		}
	}
	return fix
}

// CureOf returns the fix for an attribute that is not in force; "" if the driver knows none.
func (r *Switch) CureOf(port string, attr qos.Attr) string {
	return r.cures[qos.Place{Port: port, Field: attr}]
}

// Differs returns how an attribute differs from the intent, if it does.
func (r *Switch) Differs(port string, attr qos.Attr) (qos.Change, bool) {
	r.Compare()
	return r.Outcome.Drift.find(port, attr)
}

// Trait records the value of a member of a group whose members should be equal. The member is a
// port, or the switch if port is "". attrs are the attributes that the value is from; none if the
// intent does not state it.
func (r *Switch) Trait(group, value, port, where string, attrs ...qos.Attr) {
	if r.IsUnknown(port, attrs...) {
		return
	}
	r.Compare()
	r.Member(Trait{Group: group, Value: value, Port: port, Where: where, Sound: !r.Outcome.Differs(port, attrs...)})
}

// Setting records a trait for a value from a port's settings. from return the settings that
// determine the value: the finding names the line of the innermost one. assumed says where the
// value comes from if the intent does not state it; otherwise it is "".
func (r *Switch) Setting(group, value, assumed string, p *intent.Port, attr qos.Attr, from ...func(*intent.Settings) intent.Origin) {
	r.Compare()
	t := Trait{Group: group, Value: value, Assumed: assumed, Port: p.Name, Sound: !r.Outcome.Differs(p.Name, attr)}
	for _, of := range from {
		at := of(p.Settings)
		layer := slices.IndexFunc(r.layers, func(s *intent.Settings) bool { return of(s) == at })
		if layer < 0 {
			layer = len(r.layers) // set on the port itself
		}
		if t.Where == "" || layer > t.Layer {
			t.Where, t.Layer = at.String(), layer
		}
	}
	r.Member(t)
}

// Member records a trait of the current check.
func (r *Switch) Member(t Trait) {
	t.Check = r.Check
	r.Outcome.Traits = append(r.Outcome.Traits, t)
}

type Trait struct {
	Check        *Check
	Group, Value string
	Assumed      string
	Port, Where  string
	Layer        int  // of the intent that states the value: 0 is the fabric
	Sound        bool // the value is as intended
}
