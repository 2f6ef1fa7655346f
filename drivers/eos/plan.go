package eos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// Plan works out one commit that makes the change: on EOS all of it comes in
// force at once.
func (d *Driver) Plan(f drivers.Facts, s *drivers.Snapshot, want drivers.Desired, policy drivers.Policy) (*drivers.Steps, error) {
	desired, err := drivers.Want[*qos.Device](d.Name, want)
	if err != nil {
		return nil, err
	}
	snap := of(s)
	have, unknown := native.Decode(snap.cfg)
	out := &drivers.Steps{Device: d.Name, Policy: policy, Base: native.Digest(snap.cfg, desired), Unknown: lines.LeftAlone(unknown)}
	p := planner{snap: snap, have: have, desired: desired, machine: &d.Machine, way: d.way, changes: qos.Diff(have, desired)}
	p.notes = p.open(f)
	if len(p.changes) > 0 {
		if err := p.plan(out); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	out.Changes, out.Notes = p.changes, p.notes
	return out, nil
}

type planner struct {
	snap          *snapshot
	have, desired *qos.Device
	machine       *lines.Machine
	way           way
	changes       []qos.Change
	notes         []string
}

// open notes what is to be known before anything else.
func (p *planner) open(f drivers.Facts) []string {
	var out []string
	if p.snap.open != nil {
		out = p.snap.open.notes(p.way.timed())
	}
	return append(out, lines.ModelNotes(f, p.desired)...)
}

func (p *planner) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

func (p *planner) plan(out *drivers.Steps) error {
	kw := p.snap.kw
	if kw == "" {
		kw = native.UCTxQueue
	}
	p.block()
	changes, edit, after := p.machine.Prove(p.have, p.desired, p.changes, p.snap.cfg, 0, func(allowed *qos.Device) native.Edit {
		return native.Change(p.snap.cfg, allowed, kw)
	})
	typed := edit.Commands(p.snap.cfg)
	// A queue that the intent does not speak of may have come from the profile
	// that is replaced.
	p.changes = drivers.WithOthers(changes, p.have, after, "comes with the qos profile")
	p.judge()
	if len(typed) == 0 {
		return nil
	}
	var err error
	if out.Items, err = p.machine.Step(p.way.name(), what(edit, typed), edit, typed, p.changes); err != nil {
		return err
	}
	if p.snap.kw == "" && slices.ContainsFunc(typed, func(l string) bool { return strings.Contains(l, string(kw)) }) {
		p.note("neither the configuration nor the model of the switch tells how it calls its unicast queues; the plan says %s, and a switch that does not know that word refuses the whole plan", kw)
	}
	p.wide(edit)
	p.notes = append(p.notes, lines.LossNotes(native.Losses(edit, p.snap.cfg))...)
	p.moved()
	if !p.way.timed() && !persists(p.snap.cfg) {
		p.note("the switch does not save what comes over gNMI (management api gnmi has no line %q): the change is lost in a restart unless somebody runs \"write memory\"", persistence)
	}
	return nil
}

// block marks what EOS, or this tool on EOS, cannot do.
func (p *planner) block() {
	lines.BlockPorts(p.changes, "port channels")
	for i := range p.changes {
		c := &p.changes[i]
		if port := p.have.Ports[c.Port]; c.Field.Kind == qos.KindMTU && port != nil && port.LAG.V != "" {
			c.Blocked = fmt.Sprintf("a member has the MTU of its port channel; set that of %s on the switch", port.LAG.V)
		}
	}
	for _, r := range native.Refusals(p.desired) {
		drivers.Block(p.changes, r.Place, r.Why)
	}
}

// judge gives every change its impact. Arista documents none; what has one
// here is what is known of any switch.
func (p *planner) judge() {
	unsure := false
	for i := range p.changes {
		c := &p.changes[i]
		if c.Blocked != "" {
			continue
		}
		usual := impact(c.Field.Kind)
		c.Impact = max(c.Impact, usual)
		unsure = unsure || usual == qos.ImpactCounters
	}
	if unsure {
		p.note("Arista does not document whether the hardware drops a few packets while it takes up new maps, trust, PFC or queues")
	}
}

func impact(kind qos.Kind) qos.Impact {
	switch kind {
	case qos.KindAdminUp:
		return qos.ImpactPortFlap
	case qos.KindMTU, qos.KindWatchdog, qos.KindWatchdogPoll, qos.KindECN:
		return qos.ImpactNone
	}
	return qos.ImpactCounters
}

// wide notes the ports outside of the intent that a line for the whole switch
// concerns. Where the line moves the traffic of such a port to another queue,
// packets of it may be lost: nothing here knows what that port carries.
func (p *planner) wide(edit native.Edit) {
	var kinds []string
	for _, s := range edit {
		if s.Section == "" {
			kinds = append(kinds, kind(s.Key))
		}
	}
	concerned := map[string][]string{} // kinds by the ports, folded
	named := map[string][]string{}     // these ports
	for _, k := range compact(kinds) {
		var outside []string
		for name, port := range p.have.Ports {
			if p.desired.Ports[name] == nil && uses(port, k) {
				outside = append(outside, name)
			}
		}
		if len(outside) == 0 {
			continue
		}
		ports := natural.Fold(outside)
		concerned[ports], named[ports] = append(concerned[ports], k), outside
		up := func(name string) bool { return p.have.Ports[name].AdminUp.Or(true) }
		for i := range p.changes {
			c := &p.changes[i]
			if table, ok := mapOf[k]; ok && c.Blocked == "" && c.Field == qos.KindGlobalMap.Table(table) && slices.ContainsFunc(outside, up) {
				c.Impact = max(c.Impact, qos.ImpactLoss)
			}
		}
	}
	for _, ports := range natural.Keys(concerned) {
		p.notes = append(p.notes, p.machine.WideNote(concerned[ports], named[ports]))
	}
}

// mapOf is the model's map that a kind of line is about.
var mapOf = map[string]qos.Table{kindDSCP: qos.DSCPToTC, kindCOS: qos.PCPToTC, kindTC: qos.TCToQueue}

// uses reports whether a port depends on a kind of line.
func uses(port *qos.Port, kind string) bool {
	switch kind {
	case kindDSCP:
		return port.Trust.V == qos.TrustDSCP
	case kindCOS:
		return port.Trust.V == qos.TrustPCP
	case kindWatchdog:
		return port.PFC.V != 0
	}
	return true
}

// moved notes the lossless classes whose queue has another number.
func (p *planner) moved() {
	for _, c := range p.desired.Classes {
		if c.Lossless && c.Queue != c.Priority {
			p.note("Arista does not document which queue a received pause of priority %d stops; the intent puts class %s into queue %d", c.Priority, c.Name, c.Queue)
		}
	}
}

// What global lines are about.
const (
	kindDSCP     = "dscp map"
	kindCOS      = "cos map"
	kindTC       = "traffic-class map"
	kindWatchdog = "pfc watchdog"
)

// kind names what a global line is about.
func kind(key string) string {
	switch {
	case strings.HasPrefix(key, "qos map dscp"):
		return kindDSCP
	case strings.HasPrefix(key, "qos map cos"):
		return kindCOS
	case strings.HasPrefix(key, "qos map traffic-class"):
		return kindTC
	case strings.Contains(key, "pause watchdog"):
		return kindWatchdog
	}
	return key
}

// what says a commit to a person.
func what(edit native.Edit, typed []string) string {
	var profiles, globals []string
	ports := map[string]bool{}
	for _, s := range edit {
		switch head, name, _ := strings.Cut(s.Section, " "); {
		case s.Section == "":
			globals = append(globals, kind(s.Key))
		case head == "interface":
			ports[name] = true
		default:
			profiles = append(profiles, s.Section)
		}
	}
	parts := compact(profiles)
	if len(ports) > 0 {
		parts = append(parts, words.Count(len(ports), "interface"))
	}
	parts = append(parts, compact(globals)...)
	return fmt.Sprintf("commit %s: %s", words.Count(len(typed), "line"), strings.Join(parts, ", "))
}

func compact(s []string) []string { return slices.Compact(natural.Sorted(s)) }
