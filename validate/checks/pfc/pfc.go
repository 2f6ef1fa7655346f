package pfc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/class"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// Checks are the checks of PFC and of its watchdog.
var Checks = slices.Concat(pauseChecks, watchdogChecks)

var pauseChecks = []checks.Check{
	{
		ID: "PFC-01", Title: "the two ends of a link pause different priorities",
		Rules: []checks.Rule{{Severity: checks.Error, When: "by the intent"}, {Severity: checks.Warning, When: "between configurations without an intent"}}, Scope: checks.ScopeLink, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:      "one side pauses and the other ignores it, and packets are lost",
		Fix:      "make the same classes lossless on both ends",
		FoldedIn: []string{"PFC-10"},
		Link:     pfcOfEnds, Compares: qos.KindPFC,
		AloneFix: "if the two are linked, pause the same priorities on both ends",
		ByText:   true,
	},
	{
		ID: "PFC-02", Title: "a NIC and its switch port pause different priorities",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeNIC, Reads: checks.ReadsRunning | checks.ReadsNIC,
		Why: "one side pauses and the other ignores it, and packets are lost",
		Fix: "make both ends pause the same priorities", FoldedIn: []string{"PFC-10"},
		Switch: checks.EachPort(pfcTowardsHost),
	},
	{
		ID: "PFC-03", Title: "PFC is on for a priority without a lossless priority group",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the switch shows it"}, {Severity: checks.Warning, When: "where the file may lack what gives it one"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why: "pause is sent late or never, and packets are dropped first",
		Fix: "give the priority group a lossless buffer profile", FoldedIn: []string{"PFC-01", "PFC-02", "PFC-13"},
		Switch:   checks.OnlyObserved(checks.EachPort(pausedWithoutGroup)),
		Alone:    checks.InEachPausingPort(pausedWithLossyProfile),
		AloneFix: "give the priority group headroom: a lossless profile, or what the switch derives one from, such as a cable length that the platform's table has",
	},
	{
		ID: "PFC-04", Title: "a lossless priority group has no PFC",
		FoldedIn: []string{"PFC-01", "PFC-02"},
		Rules:    []checks.Rule{{Severity: checks.Error, When: "where other ports have PFC, or the intent wants it"}, {Severity: checks.Warning, When: "where no port has: the file may be a part"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "its headroom is wasted, and packets are dropped",
		Fix:    "switch PFC on for its priority, or make the group lossy",
		Switch: checks.OnlyObserved(checks.EachPort(groupWithoutPause)),
		Alone:  eachStatedGroup(statedGroupWithoutPause),
	},
	{
		ID: "PFC-05", Title: "link pause is on together with PFC",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeNIC, Reads: checks.ReadsRunning | checks.ReadsNIC,
		Why:     "it stops all classes, including congestion notifications and routing",
		Fix:     "turn link pause off",
		Sources: []string{"IEEE 802.1Q, 36.1.1: PFC and PAUSE are not used together"},
		Port:    LinkPause,
	},
	{
		ID: "PFC-06", Title: "more than two lossless classes",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the switch can have no more than two, which is published"}, {Severity: checks.Warning, When: "else"}}, Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "headroom multiplies and the shared buffer shrinks",
		Fix:     "make all but two classes lossy, or accept a smaller shared buffer",
		Sources: []string{"sonic-net/SONiC doc/qos/tunnel_dscp_remapping.md: two more between switches", "Broadcom HLD RoCEv2 support, Dell sonic_roce: at most two with roce enable"},
		Switch:  checks.EachPort(losslessClasses),
		Alone:   checks.InEachPausingPort(pausedClasses),
	},
	{
		ID: "PFC-08", Title: "only one end of a link obeys pause on every priority",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeLink, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:  "pause on a lossy priority works in one direction only",
		Fix:  "set pfc.asymmetric on both ends or on none",
		Link: asymmetry, Compares: qos.KindPFCAsymmetric,
	},
	{
		ID: "PFC-09", Title: "PFC is on at a port without RDMA",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent,
		Why:    "any device attached there can pause the fabric",
		Fix:    "make the classes lossy on these ports, or add their links to the intent",
		Switch: checks.OnlyIntended(checks.EachPort(pfcWithoutRDMA)),
	},
	{
		ID: "PFC-10", Title: "PFC is configured but not operational",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the difference is visible"}, {Severity: checks.Info, When: "where the switch's output is ambiguous"}}, Scope: checks.ScopeNIC, Reads: checks.ReadsRunning | checks.ReadsApplied,
		Why:   "the port is lossless on paper only",
		Fix:   "turn PFC on without negotiation, and check the other end",
		Needs: checks.StateInForce, State: pfcInOperation,
	},
	{
		ID: "PFC-11", Title: "a lossless priority group resumes at the level where it paused, or above it",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:     "the port flaps between pause and resume",
		Fix:     "give the profile an xon offset of two frames or more",
		Sources: []string{"sonic-buffer-profile.yang, xon_offset"},
		Switch:  checks.OnlyObserved(checks.EachPort(hysteresis)),
		Alone:   eachStatedGroup(statedGroupWithoutXON),
	},
	{
		ID: "PFC-12", Title: "priority 6 or 7 is lossless",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "control traffic and congestion notifications can be paused",
		Fix:    "use priorities 1 to 5 for lossless classes",
		Switch: pausedControlClass,
		Alone:  checks.InEachPausingPort(pausedControl),
	},
	{
		ID: "PFC-15", Title: "PFC is only half configured",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where a port has PFC or a no-drop priority without the other"}, {Severity: checks.Warning, When: "where it is left to what each neighbor negotiates, or to a policy that is not in the file, or is on in one direction alone"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "a port pauses only with PFC on and a priority to pause: until then all its traffic is lossy",
		Fix:    "switch PFC on at the port, and make the class of the traffic no-drop there{how}",
		ByText: true,
	},
	{
		ID: "PFC-16", Title: "RDMA runs without PFC, and the intent does not say mode: lossy",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent,
		Why:    "RDMA loses packets under load, and NICs whose congestion control does not expect that become slow",
		Fix:    "set mode: lossy for the class of RDMA if that is intended, or lossless: true",
		Fabric: lossyWithoutMode,
	},
}

func pfcOfEnds(r *checks.Link) {
	if r.A.PFC != r.B.PFC {
		if by := cmp.Or(r.A.PFCSaid, r.B.PFCSaid); by != "" {
			r.Roots = []string{by}
		}
		differ := r.A.PFC ^ r.B.PFC
		r.From = func(s *intent.Settings) (out []intent.Origin) {
			for _, k := range s.Classes {
				if differ.Has(k.Priority.V) {
					out = append(out, k.Lossless.From, k.Priority.From)
				}
			}
			return out
		}
		r.Found(checks.Error, r.FixOf(qos.KindPFC.Attr()), "PFC is %v; on %v it is %v", onFor(r.A.PFC), onFor(r.B.PFC), qos.KindPFC.Attr())
	}
}

// onFor says which priorities PFC is on for: "off", "on for priority 3".
func onFor(set qos.PrioritySet) string {
	if set == 0 {
		return "off"
	}
	return "on for " + set.Words()
}

func pfcTowardsHost(r *checks.Switch, p *intent.Port, q *qos.Port) {
	peer, linked := p.Peer()
	if !linked || p.Uplink() {
		return
	}
	if _, differs := r.Differs(p.Name, qos.KindPFC.Attr()); differs {
		r.FoundTowards(peer, checks.Finding{Severity: checks.Error, Roots: ExplainedBy(r, p, q), What: fmt.Sprintf("PFC is %s; the intent has it %s at both ends of the link", onFor(q.PFC.Or(0)), onFor(r.Lossless(p.Settings))), Fix: "apply the intent to the switch"},
			p.Name, qos.KindPFC.Attr())
	}
}

// pausedGroup reports whether a port pauses any priority of a group.
func pausedGroup(m *qos.Maps, q *qos.Port, g int) bool {
	return slices.ContainsFunc(q.PFC.Or(0).List(), func(prio int) bool { return group(m, prio) == g })
}

// ExplainedBy returns the roots of another finding that explains why a port does not pause the
// intended priorities: the driver knows the missing condition, or no DSCP reaches the class. It
// returns nil if there is none.
func ExplainedBy(r *checks.Switch, p *intent.Port, q *qos.Port) []string {
	if q.PFC.Or(0)&^p.Settings.Lossless() != 0 {
		return nil // a missing condition does not add a priority
	}
	lost := class.DSCPDriftOf(r, p).Lost
	off := p.Settings.Lossless() ^ q.PFC.Or(0)
	switch {
	case r.CureOf(p.Name, qos.KindPFC.Attr()) != "":
		return []string{qos.KindPFC.Attr().String()}
	case r.CureOf(p.Name, class.DSCPField) != "" && len(lost) == 0:
		return []string{class.DSCPField.String()}
	case r.CureOf(p.Name, class.DSCPField) != "", off != 0 && off&^unreached(r, p) == 0:
		return class.DSCPRoots(lost[:1])
	}
	return nil
}

// unreached returns the priorities of lossless classes whose DSCPs are all in lossy classes.
func unreached(r *checks.Switch, p *intent.Port) qos.PrioritySet {
	var out qos.PrioritySet
	lost := class.DSCPDriftOf(r, p).Lost
	for _, k := range p.Settings.Classes {
		if k.Lossless.V && len(k.DSCP.V) > 0 && !slices.ContainsFunc(k.DSCP.V, func(d int) bool { return !slices.Contains(lost, d) }) {
			out |= qos.Priorities(k.Priority.V)
		}
	}
	return out
}

// group returns the priority group of a paused priority; -1 if it is not known.
func group(m *qos.Maps, prio int) int {
	if m == nil {
		return -1
	}
	for _, g := range []int8{m.PFCToGroup[prio], m.TCToGroup[prio]} {
		if g >= 0 && int(g) < qos.NumPriorities {
			return int(g)
		}
	}
	return -1
}

// WithGroup returns the priorities of a set that are not known to be in a lossy group.
func WithGroup(m *qos.Maps, q *qos.Port, set qos.PrioritySet) qos.PrioritySet {
	for _, prio := range set.List() {
		if g := group(m, prio); g >= 0 && q.Groups[g].Lossless.Set && !q.Groups[g].Lossless.V {
			set &^= qos.Priorities(prio)
		}
	}
	return set
}

func pausedWithoutGroup(r *checks.Switch, p *intent.Port, q *qos.Port) {
	for _, prio := range (q.PFC.Or(0) & r.Lossless(p.Settings)).List() {
		g := group(r.Config.ClassifiedBy(p.Name), prio)
		if g < 0 {
			continue
		}
		have := q.Groups[g].Lossless
		want := r.Device.Desired.Ports[p.Name].Groups[g]
		made := r.Seen.MayDerive && (want.DerivedFrom.Set || !want.Lossless.Set) && !q.Groups[g].DerivedFrom.Set && !q.Groups[g].Headroom.Set && !q.Groups[g].Buffer.Set
		if !have.Set && !want.Lossless.Set || have.V || made || r.Outcome.IsReported(p.Name, qos.KindLossless.At(g)) {
			continue
		}
		r.Found(lossyGroup(r, prio, g, want), p.Name, append(GroupFields(g), qos.KindMap.Table(qos.TCToGroup), qos.KindMap.Table(qos.PFCToGroup))...)
	}
	pausedBeyondIntent(r, p, q)
}

// lossyGroup describes a paused priority without a lossless group. It is a warning, as without an
// intent, where the intent keeps the buffers and the file has none.
func lossyGroup(r *checks.Switch, prio, g int, want qos.Group) checks.Finding {
	f := checks.Finding{Severity: checks.Error, What: fmt.Sprintf("PFC is on for priority %d, and priority group %d is not lossless", prio, g)}
	if r.Source == checks.Saved && len(r.Config.Pools) == 0 && !want.Lossless.Set {
		f.Severity, f.What = checks.Warning, f.What+"; the file has no buffer pools"
	}
	return f
}

// pausedBeyondIntent finds priorities that a port pauses, and that have neither a lossless group nor a
// lossless class by the intent.
func pausedBeyondIntent(r *checks.Switch, p *intent.Port, q *qos.Port) {
	for _, prio := range (q.PFC.Or(0) &^ r.Lossless(p.Settings)).List() {
		if g := group(r.Config.ClassifiedBy(p.Name), prio); g >= 0 && q.Groups[g].Lossless.Set && !q.Groups[g].Lossless.V {
			r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("PFC is on for priority %d, and priority group %d is not lossless", prio, g)}, p.Name, qos.KindPFC.Attr())
		}
	}
}

// GroupFields returns the fields of a priority group, lossless first.
func GroupFields(g int) []qos.Attr {
	return []qos.Attr{qos.KindLossless.At(g), qos.KindDerivedFrom.At(g), qos.KindGroupBuffer.At(g), qos.KindHeadroom.At(g)}
}

// groupWithoutPause finds lossless groups whose priorities are not paused. If the group is as
// intended, PFC is not.
func groupWithoutPause(r *checks.Switch, p *intent.Port, q *qos.Port) {
	m := r.Config.ClassifiedBy(p.Name)
	for g := range q.Groups {
		_, drifted := r.Differs(p.Name, qos.KindLossless.At(g))
		_, pfc := r.Differs(p.Name, qos.KindPFC.Attr())
		f := checks.Finding{Severity: checks.Error, What: fmt.Sprintf("priority group %d is lossless, but PFC is off for all its priorities", g)}
		switch {
		case !q.Groups[g].Lossless.V:
		case drifted && pfc && q.Groups[g].DerivedFrom.Set:
			r.Outcome.MarkReported(p.Name, qos.KindLossless.At(g)) // the switch made the group for the priorities
		case pausedGroup(m, q, g) || !q.PFC.Set:
		case drifted:
			r.Found(f, p.Name, GroupFields(g)...)
		case pfc:
			f.Roots = ExplainedBy(r, p, q)
			r.Found(f, p.Name, qos.KindPFC.Attr())
		}
	}
}

// Hole returns the lossless priorities that a linked port does not pause although it should.
func Hole(r *checks.Switch, p *intent.Port, q *qos.Port) qos.PrioritySet {
	if _, differs := r.Differs(p.Name, qos.KindPFC.Attr()); !differs || p.Link == nil {
		return 0
	}
	return r.Lossless(p.Settings) &^ q.PFC.Or(0)
}

// UnpausedHop finds a port that does not pause a priority that is lossless on the rest of the path.
func UnpausedHop(r *checks.Switch, p *intent.Port, q *qos.Port) {
	if hole := Hole(r, p, q); hole != 0 {
		r.Found(checks.Finding{Severity: checks.Error, Roots: ExplainedBy(r, p, q), What: fmt.Sprintf("PFC is off for priorities %s, which are lossless on the rest of the path", hole)}, p.Name, qos.KindPFC.Attr())
	}
}

// LinkPause finds a port that stops the whole link although it has lossless priorities.
func LinkPause(p *checks.Port) {
	if !p.LinkPause || p.Lossless == 0 {
		return
	}
	f := checks.Finding{Severity: checks.Error, What: "IEEE 802.3x link pause is on"}
	if !p.ByIntent {
		f.What += fmt.Sprintf(" together with PFC %s", p.Lossless)
	}
	p.Found(f, qos.KindLinkPause.Attr())
}

// usualClasses is the usual limit of lossless classes. Switches may have as many again between
// themselves, for remapped traffic (sonic-net/SONiC doc/qos/tunnel_dscp_remapping.md).
const usualClasses = 2

// losslessClasses counts the lossless classes of a port, without those that only switches use
// between themselves. A priority without a lossless group is left to PFC-03.
func losslessClasses(r *checks.Switch, p *intent.Port, q *qos.Port) {
	set := q.PFC.Or(0)
	if set.Len() <= usualClasses {
		return
	}
	if most := r.Config.Platform.MostLossless(); most > 0 && set.Len() > most {
		r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("PFC is on for %s, and the switch can have %d lossless classes", set.Words(), most), Fix: r.FixOf("make all but two classes lossy", p.Name, qos.KindPFC.Attr())}, p.Name, qos.KindPFC.Attr())
		return
	}
	set = WithGroup(r.Config.ClassifiedBy(p.Name), q, set)
	of := set
	if hosts := r.Device.Fabric.LosslessAtHosts(); hosts != 0 && set.Len() <= 2*usualClasses {
		of &^= r.Lossless(p.Settings) &^ hosts
	}
	if of.Len() > usualClasses {
		r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("%d lossless classes: priorities %s", of.Len(), of), Fix: r.FixOf(r.Check.Fix, p.Name, qos.KindPFC.Attr())}, p.Name, qos.KindPFC.Attr())
	}
}

// pausedControlClass finds priorities of control traffic that are lossless: by the intent, or paused
// by the switch alone.
func pausedControlClass(r *checks.Switch) {
	if r.Source == checks.Intended {
		checks.EachLossless(losslessControl)(r)
		return
	}
	for p, q := range r.Ports() {
		if high := q.PFC.Or(0) & qos.Priorities(6, 7) &^ r.Lossless(p.Settings); high != 0 {
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the switch pauses priorities %s, which control traffic uses and the intent has lossy", high)}, p.Name, qos.KindPFC.Attr())
		}
	}
}

// dualToR returns the priorities among those of a port that switches with two ToRs a rack use
// between themselves for bounced traffic: 2 and 6 for the 3 and 4 of hosts
// (sonic-net/SONiC doc/qos/tunnel_dscp_remapping.md).
func dualToR(set, hosts qos.PrioritySet) qos.PrioritySet {
	if bounced := qos.Priorities(2, 6); hosts == qos.Priorities(3, 4) && set == hosts|bounced {
		return bounced
	}
	return 0
}

func losslessControl(r *checks.Switch, p *intent.Port, _ *qos.Port, k *intent.Class) {
	bounced := topology.Bounced(r.Device.Fabric) | dualToR(p.Settings.Lossless(), r.Device.Fabric.LosslessAtHosts())
	if k.Priority.V >= 6 && !bounced.Has(k.Priority.V) {
		r.Found(checks.Finding{Severity: checks.Warning, Where: k.Lossless.From.String(),
			What: fmt.Sprintf("class %s makes priority %d lossless", k.Name, k.Priority.V)}, p.Name)
	}
}

func asymmetry(r *checks.Link) {
	if a, b := r.A.Asymmetric, r.B.Asymmetric; a.Set && b.Set && a.V != b.V {
		on := map[bool]string{true: "on", false: "off"}
		r.From = func(s *intent.Settings) []intent.Origin { return []intent.Origin{s.PFCAsymmetric.From} }
		r.Found(checks.Warning, r.FixOf(qos.KindPFCAsymmetric.Attr()), "asymmetric PFC is %v, on %v %v", on[a.V], on[b.V], qos.KindPFCAsymmetric.Attr())
	}
}

func pfcWithoutRDMA(r *checks.Switch, p *intent.Port, q *qos.Port) {
	if q.PFC.Or(0) == 0 {
		return
	}
	peer, linked := p.Peer()
	switch {
	case !linked:
		r.Found(checks.Finding{Severity: checks.Warning, Where: p.Pos.String(), What: "PFC is on for ports that no link of the intent uses"}, p.Name)
	case !p.Uplink() && topology.RDMAAt(r.Device.Fabric, peer) == topology.NoRDMA:
		r.Found(checks.Finding{Severity: checks.Warning, Where: p.Link.Pos.String(), What: "PFC is on towards NICs that have no RDMA device in the intent", Fix: "state rdma of the NIC: its device, or none"}, p.Name)
	}
}

// Live reports whether a mismatch is about PFC in operation: its state, or the
// classification that it needs if the driver knows the fix.
func Live(m drivers.Mismatch) bool {
	return m.Field.Kind == qos.KindPFC || m.Field == class.DSCPField && m.Fix != ""
}

func pfcInOperation(r *checks.Switch) {
	lost := map[string]bool{} // CLS-02 has the line that fixes it
	for p := range r.Ports() {
		lost[p.Name] = len(class.DSCPDriftOf(r, p).Lost) > 0
	}
	for _, m := range r.Seen.InForce {
		if !Live(m) || m.Field == class.DSCPField && lost[m.Port] {
			continue
		}
		f, ok := r.NotInForce(m)
		if !ok {
			continue
		}
		if m.Fix != "" && !m.Unsure {
			f.What = fmt.Sprintf("pfc: %s is not in force: %s", m.Want, m.Have)
		}
		var also []qos.Attr
		if m.Field == qos.KindPFC.Attr() {
			// NX-OS does not show the queue of a priority that does not pause.
			also = append(also, qos.KindMap.Table(qos.PFCToQueue))
		}
		if m.Field == qos.KindPFC.Attr() {
			f.Roots = []string{m.Field.String()}
		}
		r.Found(f, m.Port, also...)
	}
}

// noXON is the text for a group that resumes when it is empty.
const noXON = "the profile of lossless priority group %d has neither xon nor an xon offset"

func hysteresis(r *checks.Switch, p *intent.Port, q *qos.Port) {
	for g := range q.Groups {
		h := q.Groups[g].Headroom
		switch {
		case !q.Groups[g].Lossless.V || !h.Set || h.V.XOFF == 0 || h.V.XONOffset > 0:
		case h.V.Static && h.V.XON > h.V.Threshold:
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("priority group %d pauses at %d B and resumes at %d B, which is more", g, h.V.Threshold, h.V.XON), Fix: "let it resume two frames or more below the level of its pause"}, p.Name, qos.KindHeadroom.At(g))
		case h.V.Static && h.V.XON == h.V.Threshold:
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("priority group %d pauses and resumes at %d B", g, h.V.XON), Fix: "let it resume two frames or more below the level of its pause"}, p.Name, qos.KindHeadroom.At(g))
		case h.V.XON == 0:
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf(noXON, g)}, p.Name, qos.KindHeadroom.At(g))
		}
	}
}

// lossyWithoutMode finds an intent for RDMA without any lossless class in which no class is
// declared as lossy RDMA.
func lossyWithoutMode(r *checks.Fabric) {
	f := r.Intent
	said := func(s *intent.Settings) bool { return slices.ContainsFunc(s.Classes, (*intent.Class).RDMA) }
	if said(f.Settings) || slices.ContainsFunc(f.Switches, func(sw *intent.Switch) bool {
		return said(sw.Settings) || slices.ContainsFunc(sw.Ports, func(p *intent.Port) bool { return said(p.Settings) })
	}) {
		return
	}
	for _, k := range f.Settings.Classes {
		if !k.Rest && !k.Lossless.IsDefault() {
			r.Found(checks.Finding{Severity: checks.Warning, Where: k.Lossless.From.String(), What: fmt.Sprintf("class %s is not lossless, and no other class is: RDMA has no PFC", k.Name)})
			return
		}
	}
	for _, h := range f.Hosts {
		for _, n := range h.NICs {
			if n.RDMA.V != "" {
				r.Found(checks.Finding{Severity: checks.Warning, Device: h.Name, Where: n.Pos.String(), What: fmt.Sprintf("the host has the RDMA device %s, and no class is lossless: RDMA has no PFC", n.RDMA.V)}, n.Name)
				return
			}
		}
	}
}
