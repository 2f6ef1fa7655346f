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

// Planner returns the NX-OS part of planning.
func (d *Driver) Planner(s *drivers.Snapshot, draft *lines.Draft) lines.Planner {
	return &planner{Draft: draft, snap: nativeOf(s)}
}

type planner struct {
	*lines.Draft
	snap    *snapshot
	touched touched
	// kept lists the switch-wide settings that stay unchanged because ports outside the intent
	// use them.
	kept native.Shared
}

func (p *planner) Open() {
	for _, n := range natural.Keys(p.snap.theirs) {
		p.Note("%s (checkpoint %s). If it was cut off on this machine, an apply that finds nothing to change confirms it; otherwise \"no checkpoint %s\" on the switch removes the checkpoint", drivers.AtWork(p.snap.theirs[n]), n, n)
	}
	for _, n := range p.snap.left {
		p.Note("an earlier run was cut off before it was confirmed or reverted, and left checkpoint %s; its change may be in force and unsaved. An apply that finds nothing to change confirms it and removes the checkpoint; so does \"no checkpoint %s\" on the switch", n, n)
	}
	p.NoteModel()
	p.Notes = slices.Concat(p.Notes, native.FilledIn(p.Desired, p.snap.m), native.Warnings(p.Desired, p.snap.m))
}

func (p *planner) Change(allowed *qos.Device) native.Edit {
	e := native.ChangeWithin(p.snap.cfg, allowed, p.snap.m, p.kept)
	p.touched = touches(e)
	return e
}

func (p *planner) Block() {
	p.BlockPorts("port-channels")
	for _, r := range append(native.Refusals(p.Desired), p.snap.m.Refusals(p.Desired)...) {
		drivers.Block(p.Changes, r.Place, r.Why)
	}
	p.scope()
}

// scope keeps shared settings unchanged if active ports outside the intent would behave
// differently. Changes that need these settings are blocked.
func (p *planner) scope() {
	after := func(kept native.Shared) *qos.Device {
		e := native.ChangeWithin(p.snap.cfg, p.Desired, p.snap.m, kept)
		d, _ := native.Decode(e.Apply(p.snap.cfg), p.snap.m)
		return d
	}
	full := after(0)
	others := qos.Others(p.Have, full, p.Desired)
	if len(others) == 0 {
		return
	}
	var less *qos.Device
	const pauses, network, watchdog = native.SharedPauses, native.SharedNetwork, native.SharedWatchdog
	for _, p.kept = range []native.Shared{pauses, watchdog, pauses | watchdog, network, network | watchdog} {
		if less = after(p.kept); len(qos.Others(p.Have, less, p.Desired)) == 0 {
			break
		}
	}
	possible := map[qos.Place]bool{}
	for _, c := range qos.Diff(p.Have, p.Desired) {
		possible[c.Place()] = true
	}
	for _, c := range qos.Diff(full, p.Desired) {
		delete(possible, c.Place())
	}
	blocked := false
	for _, c := range qos.Diff(less, p.Desired) {
		if possible[c.Place()] {
			blocked = true
			drivers.Block(p.Changes, c.Place(), lines.NeedsShared(p.kept.String(), natural.Fold(others)))
		}
	}
	if !blocked {
		p.Note("the %s of the switch: what %s, not in the intent, needs of it stays; with globals: own the plan changes that as well", p.kept, natural.Fold(others))
	}
}

// Impact returns the impact of a change. Changing an active policy drops packets (Nexus 9000
// NX-OS QoS Configuration Guide, Configuring Queuing and Scheduling); PFC on a port does not flap
// the link (Configuring Priority Flow Control).
func (p *planner) Impact(kind qos.Kind) qos.Impact {
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

// disturbs returns the impact of an edit: a new network-qos policy makes the switch rebuild its
// buffers, and changing an active queuing policy drops packets on all ports of its kind (Nexus
// 9000 NX-OS QoS Configuration Guide, Configuring Queuing and Scheduling).
func disturbs(edit native.Edit) qos.Impact {
	if t := touches(edit); t.network || len(t.queuing) > 0 {
		return qos.ImpactLoss
	}
	return qos.ImpactNone
}

// mostCheckpoints is the maximum number of checkpoints according to users; no public Cisco
// document states it for every release.
const mostCheckpoints = 10

func (p *planner) Tell() (via, what string) {
	t := p.touched
	if n := p.snap.checkpoints; n >= mostCheckpoints {
		p.Note("the switch has %d checkpoints, and %d are reported to be the most. If it keeps no more, a machine with another state folder does not see this run, and a release without confirmed commits refuses the plan; show checkpoint summary lists them", n, mostCheckpoints)
	}
	var outside []string
	for name := range p.Have.Ports {
		if p.Desired.Ports[name] == nil {
			outside = append(outside, name)
		}
	}
	if t.network {
		p.Note("with a new network-qos policy the switch rebuilds its buffers: all ports may lose packets for a moment")
	}
	if len(t.queuing) > 0 {
		p.Note("changing a queuing policy drops packets for a moment, on all ports of its kind")
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
		p.NoteWide("NX-OS", wide, outside)
	}
	if len(t.timers) > 0 {
		p.Note("no public source shows that every release knows %s; a switch that does not refuses the plan as a whole", strings.Join(t.timers, ", "))
	}
	if p.snap.guessed {
		p.Note("the switch does not show the names of its network-qos and queuing classes; the plan uses those of %s, and a switch with other names refuses it", p.snap.m)
	}
	p.Notes = append(p.Notes, native.Doubts(p.Edit, p.snap.cfg)...)
	p.NoteLosses(native.Losses(p.Edit, p.snap.cfg, p.snap.m))
	return "ssh", fmt.Sprintf("configure %s: %s", words.Count(len(p.Lines), "line"), t)
}

// touched describes what a batch changes.
type touched struct {
	network, watchdog bool
	override          bool     // turns PFC off on all ports
	qos, queuing      []string // names of policies and class-maps
	timers            []string // lines that set watchdog timers
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

// String describes the batch for users.
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
