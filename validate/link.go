package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// links compares the two ends of each link.
func (r *Run) links() {
	var known []linkRun
	for _, l := range r.fabric.Links {
		a, b := r.end(l.A), r.end(l.B)
		if a == nil || b == nil || !a.Known || !b.Known || a.bare || b.bare || a.judged() && b.judged() {
			continue
		}
		known = append(known, linkRun{l: l, a: a, b: b})
	}
	all := &links{fabric: r.fabric, outcomes: r.outcomes, miscabled: r.miscabled, memo: &r.memo}
	for _, c := range registry {
		if c.link != nil {
			all.run(c, known, r.found.add)
		}
	}
}

// links is what the checks of links know about all of them.
type links struct {
	fabric    *intent.Fabric
	outcomes  outcomes
	miscabled map[intent.Endpoint]string // what LLDP shows in place of the link's other end
	memo      *memo
	// groups holds the findings of the current check on links of a switch with the same values.
	groups ordered.Groups[linkCause, linkEnds]
}

// linkRun is one check of one link.
type linkRun struct {
	*links
	check *Check
	l     *intent.Link
	a, b  *End
	// covers lists the checks that the next finding covers, separated by spaces.
	covers string
}

// linkCause is what grouped findings share; what has three %v, as in [linkRun.found].
type linkCause struct {
	severity           Severity
	device, where, fix string
	what, here, there  string
	miscabled          string
	covers             string // IDs, separated by spaces
}

type linkEnds struct{ here, there intent.Endpoint }

// run makes a check on each link, and passes on one finding for each cause and switch.
func (all *links) run(c *Check, known []linkRun, add func(f Finding, port string)) {
	all.groups = ordered.Groups[linkCause, linkEnds]{}
	one := &linkRun{}
	for _, l := range known {
		*one = linkRun{links: all, check: c, l: l.l, a: l.a, b: l.b}
		c.link(one)
	}
	for k, ends := range all.groups.All() {
		var others []string
		for _, e := range ends {
			others = append(others, e.there.Device)
		}
		f := Finding{ID: c.ID, Severity: k.severity, Device: k.device, Where: k.where, Fix: k.fix,
			Covers: strings.Fields(k.covers),
			What:   fmt.Sprintf(k.what, k.here, natural.Fold(slices.Compact(natural.Sorted(others))), k.there) + k.miscabled}
		for _, e := range ends {
			f.Peers = []string{e.there.String()}
			add(f, e.here.Port)
		}
	}
}

func end(f *intent.Fabric, e intent.Endpoint) *intent.Port {
	if sw := f.Switch(e.Device); sw != nil {
		return sw.Port(e.Port)
	}
	return nil
}

// found adds a finding about a difference between the two ends. what has three %v: the value
// here, the other switch, and its value; other links of the switch with the same values are
// part of the same finding. The finding is on the end that differs from the intent if only one
// does, so that one fault of a switch is one finding. attrs are the attributes that it is
// about.
func (r *linkRun) found(s Severity, fix, what string, a, b any, attrs ...qos.Attr) {
	r.check.mayFind(s)
	here, there := r.l.A, r.l.B
	if r.b.drifted && !r.a.drifted {
		here, there, a, b = there, here, b, a
	}
	for _, e := range []intent.Endpoint{here, there} {
		r.outcomes[e.Device].markReported(e.Port, attrs...)
	}
	k := linkCause{s, here.Device, r.l.Pos.String(), fix, what, fmt.Sprint(a), fmt.Sprint(b), r.cabledElsewhere(), r.covers}
	r.groups.Add(k, linkEnds{here, there})
}

// fixOf returns the fix for two ends that differ in an attribute: to apply the intent if an end
// differs from it, otherwise the fix of the check.
func (r *linkRun) fixOf(attr qos.Attr) string {
	devices := r.outcomes.differing(attr, r.l.A, r.l.B)
	if len(devices) == 0 {
		return r.check.Fix
	}
	return applyIntent + " to " + strings.Join(devices, " and ")
}

// cabledElsewhere says that LLDP shows the two ends on different cables; "" if it does not.
func (r *linkRun) cabledElsewhere() string {
	for _, at := range []intent.Endpoint{r.l.A, r.l.B} {
		if seen := r.links.miscabled[at]; seen != "" {
			return fmt.Sprintf("; LLDP shows %s cabled to %s, so these may not be the two ends", at, seen)
		}
	}
	return ""
}

// End holds the settings of one end of a link that the other end must share.
type End struct {
	PFC   qos.PrioritySet
	MTU   int // bytes of an IP packet; 0 if not known
	Trust qos.Trust
	// Asymmetric is set if the port obeys pause on every priority.
	Asymmetric qos.Opt[bool]
	Known      bool

	source   Source
	assumed  bool // the switch was not read
	intended bool // the settings are as intended
	drifted  bool
	unpaused bool // it has a lossless group without PFC: PFC-04
	hole     bool // PFC is off for a lossless priority: PFC-07
	pfcSaid  bool // another finding explains why PFC is not as intended
	mtuSaid  bool // MTU-05 explains why the MTU is not as intended
	wire     wire
	pfcRead  bool // PFC was read from the port
	bare     bool // PRT-01 reports that it has no configuration to compare
}

// judged reports whether the checks of the intent cover the end as it is, so that the checks of
// a saved configuration need not repeat them.
func (e End) judged() bool { return e.assumed || e.source == Saved && e.intended }

// endOf returns the settings of a port.
func endOf(d *qos.Device, port string) End {
	p := d.Ports[port]
	if p == nil {
		return End{}
	}
	return End{PFC: p.PFC.Or(0), MTU: p.MTU.Or(0), Trust: p.Trust.Or(""), Asymmetric: p.PFCAsymmetric, Known: true}
}
