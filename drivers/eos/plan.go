package eos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// Planner returns the EOS part of planning. On EOS a plan takes effect as a whole.
func (d *Driver) Planner(s *drivers.Snapshot, draft *lines.Draft) lines.Planner {
	snap := nativeOf(s)
	return &planner{Draft: draft, snap: snap, way: d.way, kw: cmp.Or(snap.kw, native.UCTxQueue)}
}

type planner struct {
	*lines.Draft
	snap *snapshot
	way  way
	kw   native.Keyword
	// kept lists the shared settings that stay unchanged for the sake of other ports.
	kept   native.Shared
	others []string
	// unsure is set if a change may cause packet loss.
	unsure bool
}

func (p *planner) Open() {
	if p.snap.open != nil {
		p.Notes = append(p.Notes, p.snap.open.notes(p.way.timed())...)
	}
	p.NoteModel()
	if slices.ContainsFunc(p.Changes, func(c qos.Change) bool { return c.Field.Kind == qos.KindMTU }) {
		p.Notes = append(p.Notes, native.Warnings(p.Desired)...)
	}
}

func (p *planner) Change(allowed *qos.Device) native.Edit {
	return native.ChangeWithin(p.snap.cfg, allowed, p.kw, p.kept)
}

// Scope finds the shared settings that cannot change because ports outside the intent are up and
// use them, and removes from desired the shared settings that the ports of the intent do not
// need.
func (p *planner) Scope() {
	less := *p.Desired
	if p.Desired.Empty() {
		less.GlobalMaps, less.WatchdogPoll = qos.Opt[*qos.Maps]{}, qos.Opt[time.Duration]{}
		p.Desired = &less
		return
	}
	after := func(kept native.Shared) *qos.Device {
		d, _ := native.Decode(native.ChangeWithin(p.snap.cfg, p.Desired, p.kw, kept).Apply(p.snap.cfg))
		return d
	}
	if p.others = qos.Others(p.Have, after(0), p.Desired); len(p.others) == 0 {
		return
	}
	every := native.Shared(0)
	for _, part := range native.SharedParts {
		every |= part.Part
	}
	spared := native.Shared(0)
	for _, part := range native.SharedParts {
		if len(qos.Others(p.Have, after(every&^part.Part), p.Desired)) == 0 {
			continue
		}
		p.kept |= part.Part
		if part.Part == native.SharedWatchdog {
			// The ports of the intent get their own timers.
			less.WatchdogPoll = qos.Opt[time.Duration]{}
			spared |= part.Part
		}
		if part.Maps && !p.needs(part.Table) {
			maps := *less.GlobalMaps.V
			maps.Unmanage(part.Table)
			less.GlobalMaps = qos.Of(&maps)
			spared |= part.Part
		}
	}
	p.Desired = &less
	if spared != 0 {
		p.Note("the %s of the switch stays: the ports of the intent do not need it, and %s, not in the intent, would behave otherwise; with globals: own the plan changes it", spared, lines.Few(p.others))
	}
}

// needs reports whether a port of the intent classifies with the table.
func (p *planner) needs(table qos.Table) bool {
	by := map[qos.Table]qos.Trust{qos.DSCPToTC: qos.TrustDSCP, qos.PCPToTC: qos.TrustPCP}[table]
	for name, want := range p.Desired.Ports {
		trust := want.Trust
		if have := p.Have.Ports[name]; !trust.Set && have != nil {
			trust = have.Trust
		}
		if by == "" || trust.V == by || !trust.Set {
			return true
		}
	}
	return false
}

// blockShared blocks the changes of shared settings that stay unchanged for other ports.
func (p *planner) blockShared() {
	why := func(part string) string {
		return lines.NeedsShared(part, lines.Few(p.others))
	}
	for _, part := range native.SharedParts {
		switch {
		case p.kept&part.Part == 0:
		case part.Maps:
			drivers.Block(p.Changes, qos.Place{Field: qos.KindGlobalMap.Table(part.Table)}, why(part.Name))
		case part.Part == native.SharedPFC:
			for _, c := range p.Changes {
				if c.Field.Kind == qos.KindPFC || c.Field.Kind == qos.KindWatchdog {
					drivers.Block(p.Changes, c.Place(), why(part.Name))
				}
			}
		}
	}
}

func (p *planner) Tell() (via, what string) {
	if p.unsure {
		p.Note("Arista does not document whether the hardware drops a few packets while it loads new maps, trust, PFC or queues")
	}
	if p.snap.kw == "" && slices.ContainsFunc(p.Lines, func(l string) bool { return strings.Contains(l, string(p.kw)) }) {
		p.Note("neither the configuration nor the model of the switch shows the keyword of its unicast queues; the plan uses %s, and a switch that does not know it refuses the whole plan", p.kw)
	}
	p.noteSwitchWide()
	p.NoteLosses(native.Losses(p.Edit, p.snap.cfg))
	p.noteMovedQueues()
	if !p.way.timed() && !persists(p.snap.cfg) {
		p.Note("the switch does not save what comes over gNMI (management api gnmi has no line %q): the change is lost in a restart unless someone runs \"write memory\"", persistence)
	}
	return p.way.name(), commitText(p.Edit, p.Lines)
}

func (p *planner) Block() {
	p.BlockPorts("port channels")
	for i := range p.Changes {
		c := &p.Changes[i]
		if port := p.Have.Ports[c.Port]; c.Field.Kind == qos.KindMTU && port != nil && port.LAG.V != "" {
			c.Blocked = fmt.Sprintf("a member has the MTU of its port channel; set that of %s on the switch", port.LAG.V)
		}
	}
	for _, r := range native.Refusals(p.Desired) {
		drivers.Block(p.Changes, r.Place, r.Why)
	}
	p.blockShared()
}

// Impact returns an estimate that holds for any switch, because Arista documents no impacts.
func (p *planner) Impact(kind qos.Kind) qos.Impact {
	switch kind {
	case qos.KindAdminUp:
		return qos.ImpactPortFlap
	case qos.KindMTU, qos.KindWatchdog, qos.KindWatchdogPoll, qos.KindECN:
		return qos.ImpactNone
	}
	p.unsure = true
	return qos.ImpactCounters
}

// noteSwitchWide notes the ports outside the intent that a switch-wide line affects. If the line
// moves the traffic of such a port to another queue, packets may be lost: it is not known what
// that port carries.
func (p *planner) noteSwitchWide() {
	var kinds []string
	for _, s := range p.Edit {
		if s.Section == "" {
			kinds = append(kinds, kind(s.Key))
		}
	}
	concerned := map[string][]string{} // kinds of lines, keyed by the folded port names
	named := map[string][]string{}     // port names, with the same keys
	for _, k := range compact(kinds) {
		var outside []string
		for name, port := range p.Have.Ports {
			if p.Desired.Ports[name] == nil && uses(port, k) {
				outside = append(outside, name)
			}
		}
		if len(outside) == 0 {
			continue
		}
		ports := natural.Fold(outside)
		concerned[ports], named[ports] = append(concerned[ports], k), outside
		up := func(name string) bool { return p.Have.Ports[name].AdminUp.Or(true) }
		for i := range p.Changes {
			c := &p.Changes[i]
			if table, ok := mapOf[k]; ok && c.Blocked == "" && c.Field == qos.KindGlobalMap.Table(table) && slices.ContainsFunc(outside, up) {
				c.Takes(qos.ImpactLoss)
			}
		}
	}
	for _, ports := range natural.Keys(concerned) {
		p.NoteWide("EOS", concerned[ports], named[ports])
	}
}

// mapOf maps a kind of line to the map in the model.
var mapOf = map[string]qos.Table{kindDSCP: qos.DSCPToTC, kindCOS: qos.PCPToTC, kindTC: qos.TCToQueue}

// uses reports whether a port depends on this kind of line.
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

// noteMovedQueues notes the lossless classes whose queue number differs from the priority.
func (p *planner) noteMovedQueues() {
	for _, c := range p.Desired.Classes {
		if c.Lossless && c.Queue != c.Priority {
			p.Note("Arista does not document which queue a received pause of priority %d stops; the intent puts class %s into queue %d", c.Priority, c.Name, c.Queue)
		}
	}
}

// Kinds of global lines.
const (
	kindDSCP     = "dscp map"
	kindCOS      = "cos map"
	kindTC       = "traffic-class map"
	kindWatchdog = "pfc watchdog"
)

// kind returns the kind of a global line.
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

// commitText describes a commit for users.
func commitText(edit native.Edit, typed []string) string {
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
