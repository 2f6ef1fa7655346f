package nxos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// Plan works out one batch of lines that makes the change.
func (d *Driver) Plan(f drivers.Facts, s *drivers.Snapshot, want drivers.Desired, policy drivers.Policy) (*drivers.Steps, error) {
	desired, err := drivers.Want[*qos.Device](d.Name, want)
	if err != nil {
		return nil, err
	}
	snap := of(s)
	have, unknown := native.Decode(snap.cfg, snap.m)
	out := &drivers.Steps{Device: d.Name, Policy: policy, Base: native.Digest(snap.cfg, desired, snap.m), Unknown: lines.LeftAlone(unknown)}
	p := planner{machine: &d.Machine, snap: snap, have: have, desired: desired, changes: qos.Diff(have, desired)}
	p.open(f)
	if len(p.changes) > 0 {
		if err := p.plan(out); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	out.Changes, out.Notes = p.changes, p.notes
	return out, nil
}

type planner struct {
	machine       *lines.Machine
	snap          *snapshot
	have, desired *qos.Device
	changes       []qos.Change
	notes         []string
	touched       touched
}

func (p *planner) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// open notes what is to be known before anything else.
func (p *planner) open(f drivers.Facts) {
	for _, n := range natural.Keys(p.snap.theirs) {
		p.note("%s (checkpoint %s): where it was cut off here, an apply that finds nothing to change confirms it; where it was cut off elsewhere, \"no checkpoint %s\" on the switch removes what is left", drivers.AtWork(p.snap.theirs[n]), n, n)
	}
	for _, n := range p.snap.left {
		p.note("an earlier run left checkpoint %s: it was cut off before it was confirmed or reverted, and what of it is in force may not be saved; an apply that finds nothing to change confirms it and removes the checkpoint, and \"no checkpoint %s\" on the switch does as well", n, n)
	}
	p.notes = slices.Concat(p.notes, lines.ModelNotes(f, p.desired), native.Warnings(p.desired, p.snap.m))
}

func (p *planner) plan(out *drivers.Steps) error {
	p.block()
	changes, edit, after := p.machine.Prove(p.have, p.desired, p.changes, p.snap.cfg, int(p.snap.m), func(allowed *qos.Device) native.Edit {
		return native.Change(p.snap.cfg, allowed, p.snap.m)
	})
	typed := edit.Commands(p.snap.cfg)
	p.changes = drivers.WithOthers(changes, p.have, after, "comes with the policies of the switch")
	p.touched = touches(edit)
	p.judge()
	if len(typed) == 0 {
		return nil
	}
	var err error
	what := fmt.Sprintf("configure %s: %s", words.Count(len(typed), "line"), p.touched)
	if out.Items, err = p.machine.Step("ssh", what, edit, typed, p.changes); err != nil {
		return err
	}
	p.tell()
	p.notes = append(p.notes, native.Doubts(edit, p.snap.cfg)...)
	p.notes = append(p.notes, lines.LossNotes(native.Losses(edit, p.snap.cfg, p.snap.m))...)
	return nil
}

// block marks what NX-OS, or this tool on NX-OS, cannot do.
func (p *planner) block() {
	lines.BlockPorts(p.changes, "port-channels")
	for _, r := range append(native.Refusals(p.desired), p.snap.m.Refusals(p.desired)...) {
		drivers.Block(p.changes, r.Place, r.Why)
	}
}

// judge gives every change its impact. A policy in force that changes costs
// packets (Nexus 9000 NX-OS QoS Configuration Guide, Configuring Queuing and
// Scheduling); PFC on a port flaps nothing (Configuring Priority Flow Control).
func (p *planner) judge() {
	for i := range p.changes {
		if c := &p.changes[i]; c.Blocked == "" {
			c.Impact = max(c.Impact, p.impact(c.Field.Kind))
		}
	}
}

func (p *planner) impact(kind qos.Kind) qos.Impact {
	switch {
	case kind == qos.KindAdminUp:
		return qos.ImpactPortFlap
	case kind == qos.KindWatchdog || kind == qos.KindWatchdogPoll:
		return qos.ImpactNone
	case kind == qos.KindMap || kind.Of() == qos.OfQueue:
		return qos.ImpactLoss
	case p.touched.network && (kind == qos.KindPFC || kind == qos.KindMTU):
		return qos.ImpactLoss
	}
	return qos.ImpactCounters
}

// tell notes what else the batch does.
func (p *planner) tell() {
	t := p.touched
	var outside []string
	for name := range p.have.Ports {
		if p.desired.Ports[name] == nil {
			outside = append(outside, name)
		}
	}
	if t.network {
		p.note("a new network-qos policy has the switch rebuild its buffers: all ports may lose packets for a moment")
	}
	if len(t.queuing) > 0 {
		p.note("a queuing policy that changes costs packets for a moment, on all ports of its kind")
	}
	var wide []string
	if t.network {
		wide = append(wide, "network-qos policy")
	}
	if t.watchdog {
		wide = append(wide, "PFC watchdog")
	}
	if t.override {
		wide = append(wide, "override of PFC")
	}
	if len(wide) > 0 && len(outside) > 0 {
		p.notes = append(p.notes, p.machine.WideNote(wide, outside))
	}
	if len(t.timers) > 0 {
		p.note("no public source shows that every release knows %s; a switch that does not refuses the plan as a whole", strings.Join(t.timers, ", "))
	}
	if p.snap.guessed {
		p.note("the switch does not tell which names its network-qos and queuing classes have; the plan has those of %s, and a switch that has others refuses it", p.snap.m)
	}
}

// touched is what a batch is about.
type touched struct {
	network, watchdog bool
	override          bool     // what turns PFC off on all ports
	qos, queuing      []string // policies and class-maps
	timers            []string // lines of the watchdog's timers
	ports             []string
}

func touches(edit native.Edit) touched {
	var t touched
	for _, s := range edit {
		name := s.Section[strings.LastIndexByte(s.Section, ' ')+1:]
		switch words := strings.Fields(s.Section); {
		case strings.HasPrefix(s.Key, "priority-flow-control override-interface"):
			t.override = true
		case len(words) == 0:
			t.watchdog = true
			if s.Line != "" && strings.HasPrefix(s.Line, "priority-flow-control ") && !strings.HasPrefix(s.Line, "priority-flow-control watch-dog-interval") {
				t.timers = append(t.timers, strings.TrimSpace(s.Line))
			}
		case words[0] == "interface":
			t.ports = append(t.ports, name)
		case words[0] == "system", strings.Contains(s.Section, " type network-qos "):
			t.network = true
		case strings.Contains(s.Section, " type queuing "):
			t.queuing = append(t.queuing, name)
		default:
			t.qos = append(t.qos, name)
		}
	}
	for _, l := range []*[]string{&t.qos, &t.queuing, &t.ports} {
		*l = slices.Compact(natural.Sorted(*l))
	}
	return t
}

// String says it to a person.
func (t touched) String() string {
	var parts []string
	if t.network {
		parts = append(parts, "network-qos policy")
	}
	parts = append(append(parts, t.qos...), t.queuing...)
	if len(t.ports) > 0 {
		parts = append(parts, words.Count(len(t.ports), "interface"))
	}
	if t.watchdog {
		parts = append(parts, "PFC watchdog")
	}
	if t.override {
		parts = append(parts, "override of PFC")
	}
	return strings.Join(parts, ", ")
}
