package class

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// NotificationsElsewhere is the check of the maps of switches in CLS-08.
var NotificationsElsewhere = checks.OnlyObserved(checks.EachPort(notificationsElsewhere("CLS-08")))

// Checks are the checks of classes and of their queues.
var Checks = slices.Concat(classificationChecks, schedulerChecks)

var classificationChecks = []checks.Check{
	{
		ID: "CLS-01", Title: "a DSCP belongs to different classes on two switches",
		FoldedIn: []string{"CLS-02", "CLS-08", "CLS-09", "CLS-10"},
		Rules:    []checks.Rule{{Severity: checks.Error, When: "by the intent"}, {Severity: checks.Warning, When: "between configurations without an intent"}}, Scope: checks.ScopeFabric, Reads: checks.ReadsRunning,
		Why:    "the class changes in the middle of a path, and lossless forwarding ends there",
		Fix:    "give the DSCP one class everywhere: apply the intent",
		Switch: checks.OnlyObserved(checks.EachPort(classOfDSCP)), Outliers: otherClass,
		AloneFix: "if the two are in one fabric, give each DSCP one class everywhere",
		ByText:   true,
	},
	{
		ID: "CLS-02", Title: "a DSCP of a lossless class is mapped to a lossy one",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why: "it is dropped under load; the map that a switch ships with may make DSCP 26 lossy",
		Fix: "map the DSCP to the lossless class: apply the intent", FoldedIn: []string{"CLS-04"},
		Sources: []string{"sonic-buildimage files/build_templates/qos_config.j2"},
		Switch:  checks.OnlyObserved(checks.EachPort(losslessInLossy)),
	},
	{
		ID: "CLS-03", Title: "DSCPs of other traffic are mapped to a lossless class",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "traffic that does not slow down fills the lossless buffer and triggers PFC",
		Fix:    "list the DSCPs of the class, and leave the rest to a lossy one",
		Switch: checks.EachPort(foreignInLossless),
		Alone:  eachClassified(defaultAlone),
	},
	{
		ID: "CLS-04", Title: "a port does not trust DSCP",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the intent has it trust DSCP"}, {Severity: checks.Warning, When: "where the intent says PCP: routed and untagged frames have none"}},
		Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:    "routed and untagged frames fall into the default class",
		Fix:    "trust dscp",
		Switch: checks.EachPort(trustOfPorts),
		Alone:  checks.InEachPausingPort(trustAlone),
	},
	{
		ID: "CLS-05", Title: "the traffic of a lossless class and its pause are in different queues",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning | checks.ReadsNIC,
		Why:  "the peer's pause stops the wrong queue",
		Fix:  "map traffic class and PFC priority to one queue",
		Port: mapsAgree("queue", qos.TCToQueue, qos.PFCToQueue),
	},
	{
		ID: "CLS-06", Title: "the traffic of a lossless class and its pause are in different priority groups",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:  "pause is sent for a different priority than the one whose buffer fills",
		Fix:  "map traffic class and PFC priority to one priority group",
		Port: mapsAgree("priority group", qos.TCToGroup, qos.PFCToGroup),
	},
	{
		ID: "CLS-07", Title: "a switch rewrites the DSCP of a class",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the class carries RDMA or its notifications, or the other end is a switch"}, {Severity: checks.Warning, When: "where the other end of the link is not known to read the DSCP"}}, Scope: checks.ScopeFabric, Reads: checks.ReadsRunning,
		Why:    "the next hop puts the packets into another class",
		Fix:    "remove the rewrite",
		Switch: checks.OnlyObserved(checks.EachClass(rewrites)),
		Alone:  eachClassified(rewrittenAlone),
	},
	{
		ID: "CLS-09", Title: "congestion notifications are not served first",
		Rules: []checks.Rule{{Severity: checks.Error, When: "for a share below 10 %"}, {Severity: checks.Warning, When: "for a larger share, with the rest, and where only the usual DSCP shows their class"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning | checks.ReadsNIC,
		Why:      "they queue behind data, and senders slow down late",
		Fix:      "make their class strict",
		Sources:  []string{"DCQCN, SIGCOMM 2015, section 3"},
		Switch:   checks.EachPort(notificationsServed),
		FoldedIn: []string{"CLS-10", "CLS-08"},
	},
	{
		ID: "CLS-10", Title: "congestion notifications share a lossless class",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the switch has them in another class than the intent"}, {Severity: checks.Warning, When: "by the intent"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning | checks.ReadsNIC,
		Why:    "the congestion that they report can pause them",
		Fix:    "give them their own class, strict and lossy",
		Switch: notificationsPaused,
	},
	{
		ID: "CLS-11", Title: "traffic that must not be dropped is in a lossy class",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeFabric, Reads: checks.ReadsIntent,
		Why:    "a lost acknowledgement or control message stalls the connection",
		Fix:    "put the DSCP into a lossless class, or set lossless: false for the traffic",
		Switch: checks.OnlyIntended(checks.EachPort(companions)),
	},
	{
		ID: "CLS-12", Title: "a classifier cannot match",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why: "the traffic stays in the default class", Fix: "match any, or reorder the classes",
		State:  failingLines,
		ByText: true,
	},
	{
		ID: "CLS-13", Title: "DSCPs are left to the platform's own map",
		Rules: checks.Always(checks.Info), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why: "an upgrade or another platform treats them differently", Fix: "add a class with dscp: rest",
		Absent: "an intent that leaves a DSCP out is refused when it is read",
	},
	{
		ID: "CLS-14", Title: "one end of a link classifies by DSCP, the other by PCP",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeLink, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:  "the PFC priority of a frame changes along its path",
		Fix:  "trust dscp on both ends",
		Link: trustOfEnds, Compares: qos.KindTrust,
	},
	{
		ID: "CLS-15", Title: "the switch's own map differs from that of its ports",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "traffic from the CPU, a tunnel or a new port is classified differently",
		Fix:    "apply the intent",
		Switch: globalMap,
	},
	{
		ID: "CLS-16", Title: "an internal port, a subinterface or a VLAN lacks the classification of its ports",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why: "its traffic falls into queue 0, or into a lossy class", Fix: "let it classify as the ports do",
		Sources: []string{"sonic-buildimage issue 20652", "Arista TOI, QoS trust on subinterfaces", "Cisco Nexus 9000 NX-OS QoS Configuration Guide, attaching a QoS policy action"},
		Switch:  checks.OnlyObserved(insidePorts),
	},
	{
		ID: "CLS-17", Title: "a DSCP rewrite is used where classification was meant",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "a rewrite marks packets but does not classify them: the traffic stays in the class that it was in",
		Fix:    "classify by DSCP{how}, and remove the rewrite",
		State:  failingLines,
		ByText: true,
	},
	{
		ID: "CLS-18", Title: "a lossless class holds control traffic",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent,
		Why:     "BGP, LACP or OSPF can be paused: they are marked CS6 or CS7",
		Fix:     "keep DSCP 48 and 56 out of lossless classes",
		Sources: []string{"RFC 4594, section 3.2"},
		Switch:  checks.OnlyIntended(checks.EachLossless(controlInLossless)),
		Alone:   eachClassified(controlAlone),
	},
	{
		ID: "CLS-19", Title: "no code point reaches a lossless priority",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the port is lossless for nothing else"}, {Severity: checks.Warning, When: "where another priority is in use, a policy is not in the file, or the intent says so"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why: "the traffic that should be lossless is in a lossy class", Fix: "classify the DSCP of the traffic into the class that is paused",
		Switch: checks.OnlyIntended(checks.EachPort(unclassified)),
		Alone: func(r *checks.File) {
			eachClassified(unusedAlone)(r)
			checks.InEachPausingPort(unclassifiedAlone)(r)
		},
	},
}

// failingLines finds lines of the running configuration that fail a check by themselves,
// whatever the intent says.
func failingLines(r *checks.Switch) {
	lines := r.Lines()
	seen := map[[2]string]bool{}
	for i := range lines {
		l := &lines[i]
		if l.Check != r.Check.ID || seen[[2]string{l.Where, l.Why}] {
			continue
		}
		seen[[2]string{l.Where, l.Why}] = true
		where := strings.Trim(l.Where+": "+l.Text, ": ")
		r.Found(checks.Finding{Severity: r.Check.Worst(), What: fmt.Sprintf("%s: %s", term.CleanLine(where), cmp.Or(l.Why, r.Check.Title))}, "")
	}
}

// insidePorts finds ports inside the switch that traffic passes through and that do not
// classify it, and overlays that classify it differently.
func insidePorts(r *checks.Switch) {
	for _, name := range natural.Keys(r.Config.Ports) {
		if q := r.Config.Ports[name]; q.Inside && q.Trust.V == qos.TrustNone {
			r.Found(checks.Finding{Severity: checks.Warning, What: "the port is internal to the switch and has no DSCP map: traffic through it goes to queue 0", Fix: "attach the DSCP map of the other ports to it"}, term.CleanLine(name))
		}
	}
	for _, name := range natural.Keys(r.Config.Overlays) {
		o := r.Config.Overlays[name]
		for _, p := range r.LosslessOf(o.Ports) {
			overlay(r, term.CleanLine(name), o, p)
		}
	}
}

// overlay finds lossless traffic that is classified differently because it comes in by a
// subinterface or in a VLAN.
func overlay(r *checks.Switch, name string, o qos.Overlay, p *intent.Port) {
	if want := p.Settings.Trust.V; o.Trust.Set && want == qos.TrustDSCP && o.Trust.V != want {
		how := "classifies by " + string(o.Trust.V)
		if o.Trust.V == qos.TrustNone {
			how = "trusts nothing that packets carry"
		}
		r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("%s %s %s, its port by %s", o.Kind, name, how, want), Fix: "remove its line of trust, or trust dscp there"}, p.Name)
	}
	if !o.Maps.Set || o.Maps.V == nil {
		return
	}
	for _, k := range p.Settings.Classes {
		var lost []int
		for _, d := range k.DSCP.V {
			if tc := int(o.Maps.V.DSCPToTC[d]); k.Lossless.V && tc != k.Priority.V {
				lost = append(lost, d)
			}
		}
		if len(lost) > 0 {
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the policy of %s puts DSCP %s of lossless class %s into traffic class %d", name, qos.FoldInts(lost), k.Name, o.Maps.V.DSCPToTC[lost[0]]),
				Fix: "classify in the VLAN as on the ports, or remove its policy"}, p.Name)
		}
	}
}

// classMemo keeps the differences of maps, which most ports share.
type classMemo struct{ moves map[movesKey]DSCPDrift }

// movesKey identifies the moves of a port: its running map, the intended map, and the settings
// with the classes.
type movesKey struct {
	have, want *qos.Maps
	settings   *intent.Settings
}

// DSCPDrift holds the differences between a running DSCP map and the intended one.
type DSCPDrift struct {
	Lost, foreign []int // DSCPs that left or entered lossless classes
	paused        []int // DSCPs of notifications that are in a lossless class
	others        bool  // DSCPs that no class names moved between lossy classes
	tc            map[int]int8
}

// trustOf returns the field that a port classifies by: the running value, or the intended one
// on systems without a trust mode.
func trustOf(p *intent.Port, q *qos.Port) qos.Trust { return q.Trust.Or(p.Settings.Trust.V) }

// DSCPDriftOf compares the map of a port with the intended one: which DSCPs of lossless classes are
// in a lossy class, and which foreign DSCPs are in a lossless one. Any other DSCP that moved
// belongs to a class that names it, which is CLS-01, or to none.
func DSCPDriftOf(r *checks.Switch, p *intent.Port) DSCPDrift {
	have, want := r.Config.ClassifiedBy(p.Name), r.Device.Desired.MapsOf(p.Name)
	if have == nil || want == nil || have == want {
		return DSCPDrift{}
	}
	return checks.Cached(&checks.Kept[classMemo](&r.Memo).moves, movesKey{have, want, p.Settings}, func() DSCPDrift { return findDSCPDrift(have, want, p.Settings) })
}

func findDSCPDrift(have, want *qos.Maps, s *intent.Settings) DSCPDrift {
	out := DSCPDrift{tc: map[int]int8{}}
	lossless := s.Lossless()
	cnp, _ := notificationsOf(s)
	named := map[int]bool{}
	for _, k := range s.Classes {
		if !k.Rest {
			for _, d := range k.DSCP.V {
				named[d] = true
			}
		}
	}
	for d := range have.DSCPToTC {
		h, w := have.DSCPToTC[d], want.DSCPToTC[d]
		if h == w || w == qos.Unmanaged {
			continue
		}
		out.tc[d] = h
		switch {
		case w >= 0 && lossless.Has(int(w)) && (h < 0 || !lossless.Has(int(h))):
			out.Lost = append(out.Lost, d)
		case h >= 0 && lossless.Has(int(h)) && cnp != nil && !cnp.Rest && slices.Contains(cnp.DSCP.V, d):
			out.paused = append(out.paused, d)
		case h >= 0 && lossless.Has(int(h)) && !named[d]:
			out.foreign = append(out.foreign, d)
		case !named[d]:
			out.others = true
		}
	}
	return out
}

// fields returns the fields that findings about a DSCP map explain, if they explain all its
// differences.
func (m DSCPDrift) fields() []qos.Attr {
	if m.others {
		return nil
	}
	return []qos.Attr{DSCPField}
}

// dscpRoot is the root of findings about one DSCP of a map, before its number.
const dscpRoot = "dscp "

// DSCPRoots returns the roots of a finding about DSCPs of a map.
func DSCPRoots(dscps []int) (roots []string) {
	for _, d := range dscps {
		roots = append(roots, dscpRoot+strconv.Itoa(d))
	}
	return roots
}

// classOfDSCP records the class of each DSCP that a class names.
func classOfDSCP(r *checks.Switch, p *intent.Port, q *qos.Port) {
	m := r.Config.ClassifiedBy(p.Name)
	if m == nil || trustOf(p, q) != qos.TrustDSCP {
		return // the port does not classify by DSCP: CLS-04 and CLS-14
	}
	want := r.Device.Desired.ClassifiedBy(p.Name)
	for _, k := range p.Settings.Classes {
		if k.Rest {
			continue
		}
		for _, d := range k.DSCP.V {
			r.Member(checks.Trait{Group: strconv.Itoa(d), Value: strconv.Itoa(int(m.DSCPToTC[d])), Port: p.Name, Where: k.DSCP.From.String(), Sound: want == nil || want.DSCPToTC[d] == m.DSCPToTC[d]})
		}
	}
}

func otherClass(o *checks.Outlier) {
	have := "traffic class " + o.Value
	if o.Value == strconv.Itoa(qos.Unmapped) {
		have = "no class"
	}
	o.Found(checks.Finding{Severity: checks.Error, Roots: []string{dscpRoot + o.Group}, What: fmt.Sprintf("DSCP %s is in %s, on %d of %d ports in traffic class %s", o.Group, have, o.Share, o.Of, o.Usual)},
		DSCPField, globalDSCP)
}

// notLookedAt finds the DSCPs of lossless classes on a port that does not trust DSCP.
func notLookedAt(r *checks.Switch, p *intent.Port, q *qos.Port) {
	if _, differs := r.Differs(p.Name, qos.KindTrust.Attr()); !differs || q.Trust.V == qos.TrustDSCP {
		return
	}
	for _, k := range p.Settings.Classes {
		if k.Lossless.V && !k.Rest {
			r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("the port trusts %s: DSCP %s of lossless class %s does not count there", q.Trust.V, qos.FoldInts(k.DSCP.V), k.Name)}, p.Name, qos.KindTrust.Attr())
		}
	}
}

func losslessInLossy(r *checks.Switch, p *intent.Port, q *qos.Port) {
	m := DSCPDriftOf(r, p)
	notLookedAt(r, p, q)
	for _, d := range m.Lost {
		where := "traffic class " + strconv.Itoa(int(m.tc[d]))
		if m.tc[d] < 0 {
			where = "the default class"
		}
		f, class := checks.Finding{Severity: checks.Error, Roots: DSCPRoots([]int{d}), Fix: r.CureOf(p.Name, DSCPField)}, "none"
		if k := classOf(p.Settings, d); k != nil {
			f.Where, class = k.DSCP.From.String(), k.Name
		}
		is := "which is lossy"
		if tc := int(m.tc[d]); tc >= 0 && q.PFC.Or(0).Has(tc) {
			is = "which the switch pauses, but which is lossy by the intent"
		}
		f.What = fmt.Sprintf("DSCP %d of lossless class %s is in %s, %s", d, class, where, is)
		r.Found(f, p.Name, m.fields()...)
	}
	if len(m.Lost) > 0 && !m.others {
		r.Outcome.MarkReported("", globalDSCP)
	}
}

func foreignInLossless(r *checks.Switch, p *intent.Port, _ *qos.Port) {
	if r.Source == checks.Intended {
		for _, k := range p.Settings.Classes {
			if k.Lossless.V && k.Rest {
				r.Found(checks.Finding{Severity: checks.Warning, Where: k.DSCP.From.String(),
					What: fmt.Sprintf("lossless class %s takes every DSCP that no other class names: %s", k.Name, qos.FoldInts(k.DSCP.V))}, p.Name)
			}
		}
		return
	}
	if m := DSCPDriftOf(r, p); len(m.foreign) > 0 {
		r.Found(checks.Finding{Severity: checks.Warning, Roots: DSCPRoots(m.foreign), What: fmt.Sprintf("DSCP %s is mapped to a lossless class, but not by the intent", qos.FoldInts(m.foreign)), Fix: "apply the intent"},
			p.Name, m.fields()...)
		if !m.others {
			r.Outcome.MarkReported("", globalDSCP)
		}
	}
}

func trustOfPorts(r *checks.Switch, p *intent.Port, q *qos.Port) {
	want := p.Settings.Trust
	switch {
	case r.Lossless(p.Settings) == 0 || !q.Trust.Set || q.Trust.V == qos.TrustDSCP:
	case want.V == qos.TrustDSCP:
		r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("the port trusts %s, the intent says dscp", q.Trust.V), Fix: "apply the intent"}, p.Name, qos.KindTrust.Attr())
	case r.Source == checks.Intended && want.V == qos.TrustPCP:
		r.Found(checks.Finding{Severity: checks.Warning, Where: want.From.String(), What: fmt.Sprintf("lossless traffic is classified by %s, which routed and untagged frames do not carry", want.V)}, p.Name)
	}
}

// unclassified finds ports that pause a class by the intent, and let no packet into it.
func unclassified(r *checks.Switch, p *intent.Port, _ *qos.Port) {
	if want, lossless := p.Settings.Trust, r.Lossless(p.Settings); want.V == qos.TrustNone && lossless != 0 {
		r.Found(checks.Finding{Severity: checks.Warning, Where: want.From.String(), What: fmt.Sprintf("trust is none: packets that enter the port are in the switch's default class, and priorities %s, lossless there, get none of them", lossless), Fix: "trust dscp"}, p.Name)
	}
}

func rewrites(r *checks.Switch, p *intent.Port, _ *qos.Port, k *intent.Class) {
	m := r.Config.ClassifiedBy(p.Name)
	if m == nil || k.Rest {
		return
	}
	if to := int(m.TCToDSCP[k.Priority.V]); to >= 0 && !slices.Contains(k.DSCP.V, to) {
		f := checks.Finding{Severity: checks.Error, What: fmt.Sprintf("packets of class %s leave with DSCP %d, which does not belong to the class", k.Name, to)}
		cnp, _, _ := nic.CNPClass(p.Settings)
		if peer, _ := p.Peer(); !k.RDMA() && k != cnp && r.Device.Fabric.Switch(peer.Device) == nil {
			f.Severity, f.Fix = checks.Warning, "remove the rewrite, unless the other end of the link wants it"
		}
		r.Found(f, p.Name, qos.KindMap.Table(qos.TCToDSCP))
	}
}

func trustOfEnds(r *checks.Link) {
	if a, b := r.A.Trust, r.B.Trust; a != b && a != "" && b != "" {
		r.About = new(qos.KindTrust.Attr())
		r.From = func(s *intent.Settings) []intent.Origin { return []intent.Origin{s.Trust.From} }
		r.Found(checks.Warning, r.FixOf(qos.KindTrust.Attr()), "the port trusts %v, on %v %v", a, b)
	}
}

func globalMap(r *checks.Switch) {
	if r.Source == checks.Intended || !r.Config.GlobalMaps.Set || r.Config.GlobalMaps.V == nil {
		return
	}
	ch, ok := r.Differs("", globalDSCP)
	if !ok {
		return
	}
	g := r.Config.GlobalMaps.V
	for _, q := range r.Ports() {
		// If ports have no map of their own, the finding is on the ports.
		if m := q.Maps.V; q.Maps.Set && m != nil && m != g && m.DSCPToTC != g.DSCPToTC {
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the DSCP map of the switch is %s, that of its ports is %s", ch.Old, ch.New)}, "", globalDSCP)
			return
		}
	}
}

var controlDSCPs = []int{48, 56}

func controlInLossless(r *checks.Switch, p *intent.Port, _ *qos.Port, k *intent.Class) {
	for _, d := range controlDSCPs {
		if slices.Contains(k.DSCP.V, d) {
			r.Found(checks.Finding{Severity: checks.Warning, Where: k.DSCP.From.String(), What: fmt.Sprintf("lossless class %s has DSCP %d, which control protocols use", k.Name, d)}, p.Name)
		}
	}
}

// companions compares the traffic that hosts send by the intent with the classes of their
// switch ports.
func companions(r *checks.Switch, p *intent.Port, _ *qos.Port) {
	if _, linked := p.Peer(); !linked || p.Uplink() {
		return
	}
	for _, t := range r.Device.Fabric.Traffic {
		for _, d := range t.DSCP {
			k := classOf(p.Settings, d)
			if t.Lossless.V && k != nil && !k.Lossless.V && !(k.RDMA() && t.Lossless.IsDefault()) {
				r.Found(checks.Finding{Severity: checks.Error, Where: t.Pos.String(), What: fmt.Sprintf("DSCP %d of traffic %s is in class %s, which is lossy", d, t.Name, k.Name)}, p.Name)
			}
		}
	}
}

// classOf returns the class of a DSCP, or nil.
func classOf(s *intent.Settings, dscp int) *intent.Class {
	for _, k := range s.Classes {
		if slices.Contains(k.DSCP.V, dscp) {
			return k
		}
	}
	return nil
}

// DSCPField is the DSCP map of a port, globalDSCP the DSCP map of the switch.
var (
	DSCPField  = qos.KindMap.Table(qos.DSCPToTC)
	globalDSCP = qos.KindGlobalMap.Table(qos.DSCPToTC)
)
