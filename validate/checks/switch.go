package checks

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// Source says where the configuration that a check looks at comes from.
type Source int

// The sources.
const (
	Intended Source = iota // compiled from the intent
	Saved                  // a configuration in a file
	Running                // read from the switch
)

// State is the state that a switch shows in addition to its configuration.
type State struct {
	// InForce lists values that are configured but not in force; nil if the switch does not
	// show that.
	InForce []drivers.Mismatch
	// Unknown is configuration that [qos.Device] cannot represent.
	Unknown []drivers.Unknown
	// MayDerive is [drivers.Saved.MayDerive].
	MayDerive bool
	// Account returns what is known about each line of the running configuration; nil if it is
	// not needed.
	Account func() []render.Line
	// Unsaved names running configuration that a reload would lose.
	Unsaved []string
	// NotInForce says why the switch does not show what is in force; "" if it does.
	NotInForce string
	// NotSaved says why the switch does not show what a reload would lose; "" if it does.
	NotSaved string
	// Identity is the identity that the switch shows; Recorded is the one that run RecordedBy
	// recorded.
	Identity   drivers.Identity
	Recorded   drivers.Unit
	RecordedBy string
	// LeftDown maps ports that a run of this tool took down and did not bring up to that run.
	LeftDown map[string]string
	// Own holds the states that the switch is in by itself.
	Own []drivers.State
	// Ports holds all ports that the switch shows, configured or not; nil if it shows none.
	Ports map[string]*drivers.PortState
}

// NewSwitch returns the view of a switch that has the configuration cfg.
func NewSwitch(d *render.Device, cfg *qos.Device, source Source, state *State) *Switch {
	r := &Switch{Device: d, Config: cfg, Source: source, Seen: *state, layers: d.Fabric.Layers(d.Switch),
		Outcome: &Outcome{Drift: &Drift{}, explained: map[qos.Place]bool{}},
		cures:   map[qos.Place]string{}, lacking: map[Lack][]string{}}
	r.Seen.InForce = state.notOwned()
	for _, m := range r.Seen.InForce {
		if at := (qos.Place{Port: m.Port, Field: m.Field}); m.Fix != "" && r.cures[at] == "" {
			r.cures[at] = m.Fix
		}
	}
	r.Memory = d.Memory(nil)
	if source != Intended {
		r.Memory = d.Memory(cfg)
	}
	return r
}

// notOwned returns the values that are not in force for another reason than a state that the switch
// is in by itself.
func (s *State) notOwned() []drivers.Mismatch {
	return slices.DeleteFunc(slices.Clone(s.InForce), func(m drivers.Mismatch) bool {
		return slices.ContainsFunc(s.Own, func(own drivers.State) bool {
			return own.Settling || own.Port == m.Port && slices.ContainsFunc(own.Fields, func(a qos.Attr) bool { return sameOwner(a, m.Field) })
		})
	})
}

// sameOwner reports whether two attributes are equal, or of the same queue or group.
func sameOwner(a, b qos.Attr) bool {
	of := a.Kind.Of()
	return a == b || of == b.Kind.Of() && (of == qos.OfQueue || of == qos.OfGroup) && a.Index == b.Index
}

// Perform runs a check of the switch, or records what it lacks.
func (r *Switch) Perform(c *Check) {
	r.Check = c
	if c.Needs != nil {
		if l := c.Needs(r); l != nil {
			r.AddLack(*l, c.Switch != nil || c.State != nil)
			return
		}
	}
	if c.Switch != nil {
		c.Switch(r)
	}
	if c.State != nil && r.Source == Running {
		c.State(r)
	}
	if c.Port != nil {
		r.performPorts(c)
	}
}

// performPorts runs a check on each port.
func (r *Switch) performPorts(c *Check) {
	name := ""
	one := &Port{ByIntent: true, Read: r.Source != Intended, Found: func(f Finding, attrs ...qos.Attr) { r.Found(f, name, attrs...) }}
	for p, q := range r.Ports() {
		name = p.Name
		one.Config, one.LinkPause, one.Maps, one.Lossless = q, q.LinkPause.V, r.Config.ClassifiedBy(p.Name), r.Lossless(p.Settings)
		c.Port(one)
	}
}

// IsUnknown reports whether the switch has a value for one of the attributes of a port and does not
// show which.
func (r *Switch) IsUnknown(port string, attrs ...qos.Attr) bool {
	return r.Source != Intended && slices.ContainsFunc(attrs, func(a qos.Attr) bool { return r.Config.NotKnown[qos.Place{Port: port, Field: a}] != "" })
}

// drift is the id of the check that compares a device with the intent, and unknownValue its reason
// where a value is not known.
const (
	drift        = "DRIFT"
	unknownValue = "the value is not known"
)

// ReportUnknown reports the values of which it is not known whether they are as the intent says.
func (r *Switch) ReportUnknown(lookup func(id string) *Check) {
	r.Check = lookup(drift)
	for _, ch := range r.Outcome.Unknown {
		r.found(Finding{Severity: Info, Where: render.Reason(r.Device.Switch, ch.Place()),
			What: fmt.Sprintf("whether %s is %s, as the intent says, is not known: %s", ch.Field, ch.New, ch.Unknown), Fix: "look at the value on the switch; the next apply writes it",
			Unchecked: ch.Field.Words(), Because: unknownValue}, ch.Port)
	}
}

// Compare computes the differences from the intent, once.
func (r *Switch) Compare() {
	if r.compared || r.Source == Intended {
		return
	}
	r.compared = true
	diff := qos.Diff
	if r.Seen.MayDerive {
		diff = qos.DiffSaved
	}
	out := r.Outcome
	var differ []qos.Change
	for _, ch := range diff(r.Config, r.Device.Desired) {
		if ch.Unknown != "" {
			out.Unknown = append(out.Unknown, ch)
		} else {
			differ = append(differ, ch)
		}
	}
	out.Drift = DriftOf(differ)
	out.Reported = make([]bool, len(out.Drift.Changes))
}

// Switch is what one check sees of one switch.
type Switch struct {
	Check  *Check
	Device *render.Device // the intended configuration, and the catalogue's model
	Config *qos.Device    // the configuration to check
	Memory render.Memory  // computed from Config
	Source Source
	Seen   State
	layers []*intent.Settings // settings of the intent, outermost first
	cures  map[qos.Place]string
	Bare   map[string]bool // ports without any configuration of the intent
	// compared is set once the drift has been computed, which not every check needs.
	compared bool
	lacking  map[Lack][]string // checks that were not made, by what they lack
	Memo     Memo
	Outcome  *Outcome
}
