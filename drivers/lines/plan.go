package lines

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/lines"
)

// Draft is a plan in preparation.
type Draft struct {
	Facts         drivers.Facts
	Have, Desired *qos.Device
	Changes       []qos.Change
	Notes         []string
	Edit          native.Edit // set once it is known
	Lines         []string    // lines that Edit types
}

// Note adds a note.
func (d *Draft) Note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// Planner is the part of planning that is specific to the system. Its methods are called in this
// order.
type Planner interface {
	// Open adds the notes that come first.
	Open()
	// Block marks changes that the system, or this tool on the system, does not support.
	Block()
	// Change returns the edit for the allowed part of desired.
	Change(allowed *qos.Device) native.Edit
	// Impact returns the impact that the edit gives to changes of this kind.
	Impact(kind qos.Kind) qos.Impact
	// Tell returns the transport of the step and its description for users, and adds notes about
	// side effects.
	Tell() (via, what string)
}

// Scoper is a Planner that first removes from desired the switch-wide settings that the ports of
// the intent do not need.
type Scoper interface{ Scope() }

// Plan creates one batch of lines that makes the change.
func (m *Machine) Plan(f drivers.Facts, s *drivers.Snapshot, want drivers.Desired, policy drivers.Policy) (*drivers.Steps, error) {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return nil, err
	}
	cfg, variant := m.Held(s)
	have, unknown := m.Means(cfg, variant)
	d := &Draft{Facts: f, Have: have, Desired: desired, Changes: qos.Diff(have, desired)}
	out := &drivers.Steps{Device: m.Name, Policy: policy, Base: m.Identify(cfg, desired, variant), Unknown: LeftAlone(unknown), Running: have}
	p := m.Switch.Planner(s, d)
	if s, ok := p.(Scoper); ok && len(d.Changes) > 0 {
		s.Scope()
		desired, d.Changes = d.Desired, qos.Diff(have, d.Desired)
	}
	p.Open()
	if len(d.Changes) > 0 {
		p.Block()
		why := "cannot be changed on " + m.System + " by this tool; set it on the switch, or remove it from the intent"
		var after *qos.Device
		d.Changes, after = drivers.BlockUnmade(have, desired, d.Changes, why, func(allowed *qos.Device) *qos.Device {
			d.Edit = p.Change(allowed)
			return m.decode(d.Edit.Apply(cfg), variant)
		})
		// Replaced lines may have held values that the intent does not set.
		d.Changes = drivers.WithOthers(d.Changes, have, after, m.Shares)
		for i := range d.Changes {
			if c := &d.Changes[i]; c.Blocked == "" {
				c.Takes(p.Impact(c.Field.Kind))
			}
		}
		if d.Lines = d.Edit.Commands(cfg); len(d.Lines) > 0 {
			via, what := p.Tell()
			if out.Items, err = m.step(via, what, d); err != nil {
				return nil, err
			}
		}
	}
	out.Changes, out.Notes = d.Changes, d.Notes
	return out, nil
}

// BlockPorts blocks changes of ports that the switch does not have, and of LAG membership.
// aggregates is the system's name for LAGs.
func (d *Draft) BlockPorts(aggregates string) {
	for i := range d.Changes {
		switch c := &d.Changes[i]; c.Field.Kind {
		case qos.KindPort:
			c.Blocked = "the switch has no such port; correct the name in the intent, or state the port's breakout on the switch first"
		case qos.KindLAG:
			c.Blocked = "this tool does not move ports between " + aggregates + "; set channel-group on the switch, or correct the intent"
		}
	}
}

// NoteModel notes that the switch is not the model that the intent states.
func (d *Draft) NoteModel() {
	if m := d.Desired.Platform.Model; m != "" && d.Facts.Model != "" && !strings.EqualFold(m, d.Facts.Model) {
		d.Note("the intent says model %s, the switch says %s", m, d.Facts.Model)
	}
}

// NoteWide notes which ports outside the intent are affected by switch-wide settings; things
// names these settings.
func (d *Draft) NoteWide(system string, things, ports []string) {
	d.Note("%s has one %s for the whole switch: the change also concerns %s that the intent does not name: %s",
		system, strings.Join(things, " and one "), words.Count(len(ports), "port"), natural.Fold(ports))
}

// NeedsShared explains that a change is blocked because it needs a different value of a
// switch-wide setting. others describes the ports outside the intent.
func NeedsShared(part, others string) string {
	return fmt.Sprintf("it needs a change of the %s of the switch, with which %s, not in the intent, would behave otherwise; list these ports in the intent, or state globals: own", part, others)
}

// Few folds port names, shortening a long list.
func Few(ports []string) string {
	const most = 4
	folded := strings.Split(natural.Fold(ports), ",")
	if len(folded) <= most {
		return strings.Join(folded, ", ")
	}
	return fmt.Sprintf("%s and more (%d ports)", strings.Join(folded[:most], ", "), len(ports))
}

// NoteLosses notes the settings that ports lose because their blocks are removed.
func (d *Draft) NoteLosses(losses []native.Loss) {
	const most = 4
	for _, l := range losses {
		from := "the switch"
		if len(l.Ports) > 0 {
			from = natural.Fold(l.Ports)
		}
		named := strings.Join(l.Lines[:min(len(l.Lines), most)], "; ")
		if n := len(l.Lines) - most; n > 0 {
			named += fmt.Sprintf("; and %d more", n)
		}
		d.Note("%s is removed from %s, and with it settings that the intent does not name: %s", l.Block, from, named)
	}
}
