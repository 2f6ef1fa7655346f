package local

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Check returns an error that names the entry unless the undo record could have been made by Before
// or Apply for managed ports: the record may come from a file that anyone could have edited. A nil
// managed accepts every port.
func (u Undo) Check(managed func(port string) bool) error {
	for i, s := range u.Steps {
		if err := s.check(managed); err != nil {
			return fmt.Errorf("undo record: setting %d: %q of %q: %w", i+1, clip(s.Field), clip(s.Port), err)
		}
	}
	return nil
}

// After combines the record with that of an earlier run, so that it undoes both: where both have a
// value, the earlier one is kept.
func (u Undo) After(earlier Undo) Undo {
	out := Undo{Steps: slices.Clone(earlier.Steps)}
	for _, s := range u.Steps {
		i := slices.IndexFunc(out.Steps, func(o UndoStep) bool { return o.Port == s.Port && o.Field == s.Field })
		if i < 0 {
			out.Steps = append(out.Steps, s)
			continue
		}
		// Settings with several named values: each run records those that it writes.
		was := &out.Steps[i].Old
		was.NV, was.DCQCN, was.Along = withMissing(was.NV, s.Old.NV), withMissing(was.DCQCN, s.Old.DCQCN), withMissing(was.Along, s.Old.Along)
	}
	return out
}

// withMissing returns a plus the entries of b that a does not have.
func withMissing[V any](a, b map[string]V) map[string]V {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}

// Check is like [Undo.Check]: it returns an error that names the field unless Plan could have made
// the step.
func (s Step) Check(managed func(port string) bool) error {
	if err := (UndoStep{s.Port, s.Field, s.Driver, s.Want}).check(managed); err != nil {
		return fmt.Errorf("%q of %q: %w", clip(s.Field), clip(s.Port), err)
	}
	return nil
}

// Least returns the minimum impact of the step, regardless of the impact stated in the step.
func (s Step) Least() qos.Impact { return minImpact(s.Driver, s.Field) }

// Bounces reports whether the step takes the link down for a moment.
func (s Step) Bounces() bool { return bounces(s.Driver, s.Field) }

func minImpact(driver, field string) qos.Impact {
	switch {
	case field == nic.FieldMTU:
		return qos.ImpactLoss
	case bounces(driver, field):
		return qos.ImpactPortFlap
	}
	return qos.ImpactNone
}

// Least returns the minimum impact of the revert. It is derived from the settings, because steps
// read from a file may claim anything.
func (u Undo) Least() qos.Impact {
	i := qos.ImpactNone
	for _, s := range u.Steps {
		i = max(i, minImpact(s.Driver, s.Field))
	}
	return i
}

func (s UndoStep) check(managed func(port string) bool) error {
	switch {
	case !validName(s.Port, maxIfname):
		return errors.New("not a valid port name")
	case managed != nil && !managed(s.Port):
		return errors.New("the port is not in the intent")
	case !slices.Contains(order, s.Field):
		return errors.New("this tool never writes that")
	}
	allowed, ok := membersOf[s.Field]
	if !ok {
		allowed = []string{"number"}
	}
	for _, m := range s.Old.members() {
		if !slices.Contains(allowed, m) {
			return fmt.Errorf("a value of another setting (%s)", m)
		}
	}
	for _, name := range natural.Keys(s.Old.NV) {
		if !writesNV(name) {
			return fmt.Errorf("this tool never writes the firmware setting %q", clip(name))
		}
	}
	if err := parameters(s.Old.DCQCN); err != nil {
		return err
	}
	for _, name := range natural.Keys(s.Old.Along) {
		if mtu := s.Old.Along[name]; !validName(name, maxIfname) || mtu < ranges[nic.FieldMTU][0] || mtu > ranges[nic.FieldMTU][1] {
			return fmt.Errorf("%q: no device has an MTU of %d", clip(name), mtu)
		}
	}
	texts := []string{s.Driver, s.Old.Mode, string(s.Old.Trust)}
	if s.Old.Pause != nil {
		texts = append(texts, s.Old.Pause.Type)
	}
	for _, v := range s.Old.NV {
		texts = append(texts, v)
	}
	const most = 128
	if slices.ContainsFunc(texts, func(t string) bool {
		return len(t) > most || strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || r > '~' })
	}) {
		return errors.New("not the value of any setting")
	}
	return nil
}

// membersOf lists the members of a [Value] that a field uses, the required one first; all other
// fields use "number".
var membersOf = map[string][]string{
	nic.FieldDCBX: {"dcbx", "agent"}, nic.FieldLinkPause: {"pause"}, nic.FieldETS: {"ets", "rates"}, nic.FieldBuffers: {"buffers"},
	nic.FieldPFC: {"pfc", "pause"}, nic.FieldDSCP: {"dscp", "trust"}, nic.FieldECN: {"ecn", "number"}, nic.FieldRings: {"rings"},
	nic.FieldDCQCN: {"dcqcn"}, nic.FieldVFTrust: {"vf_trust"}, nic.FieldVFTag: {"vf_tag"},
	nic.FieldMTU: {"number", "along"}, nic.FieldEgress: {"pcps"},
	nic.FieldWilling: {"willing"}, nic.FieldStallPrevention: {"mode"}, nic.FieldMode: {"mode"}, nic.FieldNV: {"nv"},
}

// members returns the names of the members that are set.
func (v Value) members() []string {
	var out []string
	for f, val := range reflect.ValueOf(v).Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !val.IsZero() {
			out = append(out, name)
		}
	}
	return out
}
