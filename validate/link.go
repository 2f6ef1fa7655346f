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

// linkRun is one link under one check.
type linkRun struct {
	check *Check
	run   *Run
	l     *intent.Link
	a, b  *End
	// covers are the checks that the next finding covers, with spaces between them.
	covers string
	// out folds findings on the links of a switch whose values are the same.
	out *ordered.Groups[linkCause, linkEnds]
}

// linkCause is what they share; what has three %v, as in [linkRun.found].
type linkCause struct {
	severity           Severity
	device, where, fix string
	what, here, there  string
	miscabled          string
	covers             string // ids, with spaces between them
}

type linkEnds struct{ here, there intent.Endpoint }

func (r *Run) links() {
	checks := slices.DeleteFunc(slices.Clone(registry), func(c *Check) bool { return c.link == nil })
	found := make([]ordered.Groups[linkCause, linkEnds], len(checks))
	one := &linkRun{}
	for _, l := range r.fabric.Links {
		a, b := r.end(l.A), r.end(l.B)
		if a == nil || b == nil || !a.Known || !b.Known || a.bare || b.bare || a.judged() && b.judged() {
			continue
		}
		for i, c := range checks {
			*one = linkRun{check: c, run: r, l: l, a: a, b: b, out: &found[i]}
			c.link(one)
		}
	}
	for i, c := range checks {
		for k, ends := range found[i].All() {
			var others []string
			for _, e := range ends {
				others = append(others, e.there.Device)
			}
			f := Finding{ID: c.ID, Severity: k.severity, Device: k.device, Where: k.where, Fix: k.fix,
				Covers: strings.Fields(k.covers),
				What:   fmt.Sprintf(k.what, k.here, natural.Fold(slices.Compact(natural.Sorted(others))), k.there) + k.miscabled}
			for _, e := range ends {
				f.Peers = []string{e.there.String()}
				r.found.add(f, e.here.Port)
			}
		}
	}
}

func end(f *intent.Fabric, e intent.Endpoint) *intent.Port {
	if sw := f.Switch(e.Device); sw != nil {
		return sw.Port(e.Port)
	}
	return nil
}

// found notes that the two ends differ. what says it with three %v: the value
// here, the other switch, its value; other links of the switch with the same
// values are one finding with it. It is reported of the end that is not as
// intended, if one is, so that what is wrong on one switch is one finding.
// attrs are what it is about.
func (r *linkRun) found(s Severity, fix, what string, a, b any, attrs ...qos.Attr) {
	r.check.mayFind(s)
	here, there := r.l.A, r.l.B
	if r.b.drifted && !r.a.drifted {
		here, there, a, b = there, here, b, a
	}
	for _, e := range []intent.Endpoint{here, there} {
		r.run.results[e.Device].explain(e.Port, attrs...)
	}
	k := linkCause{s, here.Device, r.l.Pos.String(), fix, what, fmt.Sprint(a), fmt.Sprint(b), r.miscabled(), r.covers}
	r.out.Add(k, linkEnds{here, there})
}

// fixOf is the fix of two ends that differ in an attribute: to apply the intent where
// an end is not as intended, and what the check says where both are.
func (r *linkRun) fixOf(attr qos.Attr) string {
	devices := r.run.differing(attr, r.l.A, r.l.B)
	if len(devices) == 0 {
		return r.check.Fix
	}
	return applyIntent + " to " + strings.Join(devices, " and ")
}

// differing returns the devices, in the order of the ends, of which an end has an
// attribute that is not as intended.
func (r *Run) differing(attr qos.Attr, ends ...intent.Endpoint) (devices []string) {
	for _, e := range ends {
		if r.results[e.Device].differs(e.Port, attr) && !slices.Contains(devices, e.Device) {
			devices = append(devices, e.Device)
		}
	}
	return devices
}

// miscabled says where the two may not be the ends of one cable at all.
func (r *linkRun) miscabled() string {
	for _, at := range []intent.Endpoint{r.l.A, r.l.B} {
		if seen := r.run.miscabled[at]; seen != "" {
			return fmt.Sprintf("; LLDP shows %s cabled to %s, so these may not be the two ends", at, seen)
		}
	}
	return ""
}

// End is what one end of a link is set to: the values that the other end must
// share.
type End struct {
	PFC   qos.PrioritySet
	MTU   int // bytes of an IP packet; 0 where it is not known
	Trust qos.Trust
	// Asymmetric says that pause is obeyed on every priority.
	Asymmetric qos.Opt[bool]
	Known      bool

	source   Source
	assumed  bool // nobody looked at it
	intended bool // it is set to what the intent says
	drifted  bool
	unpaused bool // it has a lossless group and PFC is off for it: PFC-04
	hole     bool // PFC is off for a lossless priority: PFC-07
	pfcSaid  bool // another finding says why PFC is not as intended
	mtuSaid  bool // MTU-05 says why the MTU is not
	wire     wire
	pfcRead  bool // PFC is what the port has
	bare     bool // PRT-01 says that it has nothing to compare
}

// judged reports whether the checks of the intent see the end as it is; the
// checks of a saved configuration run in addition to those.
func (e End) judged() bool { return e.assumed || e.source == Saved && e.intended }

// endOf returns what a port is set to.
func endOf(d *qos.Device, port string) End {
	p := d.Ports[port]
	if p == nil {
		return End{}
	}
	return End{PFC: p.PFC.Or(0), MTU: p.MTU.Or(0), Trust: p.Trust.Or(""), Asymmetric: p.PFCAsymmetric, Known: true}
}
