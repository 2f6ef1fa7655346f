package checks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Lack says why checks of a switch cannot be made.
type Lack struct {
	ID    string // check that reports it
	What  string // what is not checked: "buffers and headroom"
	Short string // why, for the headline: "the model is unknown"
	Why   string
	Fix   string
	where string // position in the intent; "" for the position of the switch
	near  bool   // it is probably a mistake, so the finding is a warning
}

// ModelKnown returns what the checks of buffers lack if the model of an intended switch is not
// known.
func ModelKnown(r *Switch) *Lack {
	if r.Source != Intended {
		return nil
	}
	return r.UnknownModel("ports, buffers and headroom", "not checked")
}

// UnknownModel returns a lack if the catalogue does not have the model of the switch; what and not
// say which data are not checked then.
func (r *Switch) UnknownModel(what, not string) *Lack {
	d := r.Device
	name := d.Switch.Model.V
	if d.Model != nil {
		return nil
	}
	l := &Lack{ID: "CAT-01", What: what}
	switch {
	case name == "":
		l.Short = "no model is stated"
		l.Why, l.Fix = fmt.Sprintf("no model is stated: %s are %s", what, not), intent.Fix("CAT-01", "state the model{how}")
	default:
		l.Short = "the model is unknown"
		l.Why, l.where = fmt.Sprintf("model %s is not in the catalogue: %s are %s", name, what, not), d.Switch.Model.From.String()
		l.Fix = "check the spelling against the model that the switch shows"
		if near := catalog.Suggest(d.Switch.OS, name); near != "" {
			l.near, l.Fix = true, fmt.Sprintf("did you mean %s?", near)
		}
	}
	return l
}

// BuffersKnown is like [ModelKnown], but also reports a model without any buffer data in the
// catalogue.
func BuffersKnown(r *Switch) *Lack {
	if l := ModelKnown(r); l != nil || r.Source != Intended || r.Device.Desired.Platform.DynamicBuffers || len(r.Device.Model.Pools)+len(r.Device.Model.Headroom) > 0 {
		return l
	}
	return r.unpublished("buffers and headroom", "the buffers of the model are not published", "buffers",
		"the model's ports are known, its buffers are not: buffers and headroom are checked only as far as the switch shows them")
}

// unpublished returns the lack for a model whose catalogue entry misses some data.
func (r *Switch) unpublished(what, short, of, why string) *Lack {
	return &Lack{ID: "CAT-01", What: what, Short: short, where: r.Device.Switch.Model.From.String(), Why: why,
		Fix: "check the " + of + " of lossless ports on the switch itself"}
}

// RowsKnown is like [BuffersKnown], but also reports a model without a headroom table in the
// catalogue.
func RowsKnown(r *Switch) *Lack {
	if l := BuffersKnown(r); l != nil || r.Source != Intended || r.Device.Desired.Platform.DynamicBuffers || len(r.Device.Model.Headroom) > 0 {
		return l
	}
	return r.unpublished("headroom", "the headroom of the model is not published", "headroom",
		fmt.Sprintf("no headroom table of %s is published: headroom is checked only as far as the switch shows it", r.Device.Model.Name))
}

// PoolsKnown is like [BuffersKnown], but also reports a model without buffer pools in the
// catalogue.
func PoolsKnown(r *Switch) *Lack {
	if l := BuffersKnown(r); l != nil || r.Source != Intended || len(r.Device.Model.Pools) > 0 {
		return l
	}
	return r.unpublished("buffer pools", "the buffer pools of the model are not published", "buffers",
		fmt.Sprintf("no buffer pools of %s are published: they are checked only as far as the switch shows them", r.Device.Model.Name))
}

// StateInForce returns what the checks of values in force lack.
func StateInForce(r *Switch) *Lack {
	if r.Source != Running {
		return nil
	}
	for _, own := range r.Seen.Own {
		if own.Settling {
			return &Lack{ID: "OPS-02", What: "values in force", Short: "the switch has not settled", Why: "values in force are not compared: " + own.What, Fix: own.Fix}
		}
	}
	if r.Seen.NotInForce == "" {
		return nil
	}
	return &Lack{ID: "OPS-02", What: "values in force", Short: "the switch does not show them", Why: "the switch does not show what is in force: " + r.Seen.NotInForce,
		Fix: "look for the reason on the switch, and read it again"}
}

// NotInForce returns the finding for a value that is configured but not in force. If the value
// is not configured as intended, drift is reported instead, unless the driver knows the fix.
func (r *Switch) NotInForce(m drivers.Mismatch) (f Finding, ok bool) {
	if r.Bare[m.Port] {
		return f, false // PRT-01
	}
	ch, drifted := r.Differs(m.Port, m.Field)
	// PFC in force that differs from the configuration is a separate fault.
	if m.Fix == "" && drifted && !(m.Field.Kind == qos.KindPFC && ch.Old != qos.PrioritySet(0).String() && ch.Old != m.Have) {
		return f, false
	}
	if drifted && m.Field.Kind == qos.KindPFC && m.Fix == "" {
		m.Want = ch.Old
	}
	f = Finding{Severity: Error, Where: render.Reason(r.Device.Switch, qos.Place{Port: m.Port, Field: m.Field}),
		What: fmt.Sprintf("%s is configured as %s and in force as %s", m.What(), m.Want, m.Have),
		Fix:  "the switch did not put its configuration into force: look for the reason in its log, then write it again"}
	if m.Needed {
		f.What = fmt.Sprintf("%s: the configuration needs %s, in force is %s", m.What(), m.Want, m.Have)
	}
	if m.Unsure {
		f.Unchecked, f.Because = "values in force", "the switch does not show them"
		f.Severity, f.What, f.Fix = Info, fmt.Sprintf("could not confirm that %s is in force as %s: %s", m.What(), m.Want, m.Have), cmp.Or(m.Fix, "check it on the switch")
	} else if m.Fix != "" {
		f.What, f.Fix = fmt.Sprintf("%s: %s is not in force: %s", m.What(), m.Want, m.Have), m.Fix
	}
	return f, true
}

// AddLack records that the switch lacks something and, with notMade, that the check was not made
// for it.
func (r *Switch) AddLack(l Lack, notMade bool) {
	ids := r.lacking[l]
	if notMade && !slices.Contains(ids, r.Check.ID) {
		ids = append(ids, r.Check.ID)
	}
	r.lacking[l] = ids
}

// ReportLacks reports which checks were not made, with one finding per reason.
func (r *Switch) ReportLacks(lookup func(id string) *Check) {
	for _, l := range ordered.Sorted(maps.Keys(r.lacking), func(a, b Lack) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Why, b.Why)) }) {
		f := Finding{Severity: Info, What: l.Why, Fix: l.Fix, Where: l.where, Unchecked: l.What, Because: l.Short, NotMade: r.lacking[l]}
		if l.near {
			f.Severity = Warning
		}
		r.Check = lookup(l.ID)
		r.Found(f, "")
	}
}
