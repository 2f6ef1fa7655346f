package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Wire is the state of a link as a port shows it.
type Wire struct {
	Known, Up, Autoneg bool
	Speed              units.Rate
	FEC, AdminFEC      string
	Said               bool // PRT-04 reports that the FEC is not the intent's
}

// Links is what the checks of links know about all of them.
type Links struct {
	Intent    *intent.Fabric
	Outcomes  Outcomes
	Miscabled map[intent.Endpoint]string // what LLDP shows in place of the link's other end
	Memo      *Memo
	// groups holds the findings of the current check on links of a switch with the same values.
	groups ordered.Groups[linkCause, linkEnds]
}

// Link is what one check sees of one link.
type Link struct {
	*Links
	Check  *Check
	Stated *intent.Link // in the intent
	A, B   *End
	// Roots are the [Finding.Roots] of the next finding; nil for its attributes.
	Roots []string
	// About is the attribute that the next finding is about if it gives none: another finding reports
	// its difference from the intent.
	About *qos.Attr
	// From returns where the settings of a port state the values that the check compares.
	From func(*intent.Settings) []intent.Origin
	// Second is set if the second end is to blame where the intent does not tell.
	Second bool
}

// linkCause is what grouped findings share; what has three %v, as in [Link.Found].
type linkCause struct {
	severity           Severity
	device, where, fix string
	what, here, there  string
	miscabled          string
	roots              string // of the finding, separated by commas
	assumed            bool   // the other switch was not read
	unknown            bool   // the values cannot be compared
}

type linkEnds struct{ here, there intent.Endpoint }

// Run makes a check on each link, and passes on one finding for each cause and switch.
func (all *Links) Run(c *Check, known []Link, add func(f Finding, port string)) {
	all.groups = ordered.Groups[linkCause, linkEnds]{}
	one := &Link{}
	for _, l := range known {
		*one = Link{Links: all, Check: c, Stated: l.Stated, A: l.A, B: l.B}
		if !one.isOpen(c.Compares) {
			c.Link(one)
		}
	}
	for k, ends := range all.groups.All() {
		if k.unknown {
			all.addOpen(c, k, ends, add)
			continue
		}
		var others []string
		for _, e := range ends {
			others = append(others, e.there.Device)
		}
		there := natural.Fold(slices.Compact(natural.Sorted(others)))
		if k.assumed {
			there += " (by the intent)"
		}
		f := Finding{ID: c.ID, Severity: k.severity, Device: k.device, Where: k.where, Fix: k.fix,
			Roots: strings.FieldsFunc(k.roots, func(r rune) bool { return r == ',' }),
			What:  fmt.Sprintf(k.what, k.here, there, k.there) + k.miscabled}
		for _, e := range ends {
			f.Peers = []string{e.there.String()}
			add(f, e.here.Port)
		}
	}
}

// PortAt returns the switch port at an end of a link; nil if a host is there.
func PortAt(f *intent.Fabric, e intent.Endpoint) *intent.Port {
	if sw := f.Switch(e.Device); sw != nil {
		return sw.Port(e.Port)
	}
	return nil
}

// Found adds a finding about a difference between the two ends. what has three %v: the value
// here, the other switch, and its value; other links of the switch with the same values are
// part of the same finding. The finding is on the end that breaks the intent, so that one fault of a
// switch is one finding: see [Link.departs]. attrs are the attributes that it is about.
func (r *Link) Found(s Severity, fix, what string, a, b any, attrs ...qos.Attr) {
	r.Check.MayFind(s)
	here, there, assumed, where := r.Stated.A, r.Stated.B, r.B.Assumed, r.Stated.Pos.String()
	second, from := r.departs(attrs)
	if second {
		here, there, assumed, a, b = there, here, r.A.Assumed, b, a
	}
	if from != "" {
		where = from
	}
	for _, e := range []intent.Endpoint{here, there} {
		r.Outcomes[e.Device].MarkReported(e.Port, attrs...)
	}
	roots := r.Roots
	if roots == nil {
		roots = r.Outcomes[here.Device].RootsOf(here.Port, attrs...)
	}
	k := linkCause{s, here.Device, where, fix, what, fmt.Sprint(a), fmt.Sprint(b), r.cabledElsewhere(), strings.Join(roots, ","), assumed, false}
	r.groups.Add(k, linkEnds{here, there})
}

// isOpen reports whether an end does not show the value that a check compares, which leaves open
// whether the two ends differ, and adds that.
func (r *Link) isOpen(kind qos.Kind) bool {
	for _, e := range []struct {
		end         *End
		here, there intent.Endpoint
	}{{r.A, r.Stated.A, r.Stated.B}, {r.B, r.Stated.B, r.Stated.A}} {
		if e.end.NotKnown.Has(kind) {
			r.groups.Add(linkCause{severity: Info, device: e.here.Device, where: r.Stated.Pos.String(), what: kind.Attr().Words(), unknown: true}, linkEnds{e.here, e.there})
			return true
		}
	}
	return false
}

// addOpen adds that a check of links was not made, because a switch does not show the value.
func (all *Links) addOpen(c *Check, k linkCause, ends []linkEnds, add func(f Finding, port string)) {
	f := Finding{ID: drift, Severity: Info, Device: k.device, Where: k.where, NotMade: []string{c.ID}, Unchecked: k.what + " of both ends of links", Because: unknownValue,
		What: fmt.Sprintf("whether %s is the same at both ends of the link is not known: the switch does not show it", k.what), Fix: "look at the value on the switch"}
	for _, e := range ends {
		f.Peers = []string{e.there.String()}
		add(f, e.here.Port)
	}
}

// departs reports whether the second end is the one to blame for a difference: the only one that
// differs from the intent in the attributes, or else in About. If the intent itself contradicts, it is the end whose value an inner layer of the intent states, for example the port's
// own and not the role's; from is the place of that value.
func (r *Link) departs(attrs []qos.Attr) (second bool, from string) {
	if len(attrs) == 0 && r.About != nil {
		attrs = []qos.Attr{*r.About}
	}
	a, b := r.Outcomes[r.Stated.A.Device].Differs(r.Stated.A.Port, attrs...), r.Outcomes[r.Stated.B.Device].Differs(r.Stated.B.Port, attrs...)
	if a || b {
		return b && !a, ""
	}
	inA, atA := r.layer(r.Stated.A)
	inB, atB := r.layer(r.Stated.B)
	switch {
	case inA > inB:
		return false, atA
	case inB > inA:
		return true, atB
	}
	return r.Second, ""
}

// The layers of the intent that can state a value of a port.
const (
	layerFabric = iota
	layerRole
	layerSwitch
	layerPort
)

// layer returns the innermost layer of the intent that states a value of From for an end, and where.
func (r *Link) layer(e intent.Endpoint) (layer int, at string) {
	p := PortAt(r.Intent, e)
	if p == nil || r.From == nil {
		return layerFabric, ""
	}
	layers := r.Intent.Layers(p.Switch)
	for _, o := range r.From(p.Settings) {
		n := layerPort
		switch i := slices.IndexFunc(layers, func(s *intent.Settings) bool { return slices.Contains(r.From(s), o) }); {
		case i == 0:
			n = layerFabric
		case i == len(layers)-1:
			n = layerSwitch
		case i > 0:
			n = layerRole
		}
		if n > layer {
			layer, at = n, o.String()
		}
	}
	return layer, at
}

// FixOf returns the fix for two ends that differ in an attribute: to apply the intent if an end
// differs from it, otherwise the fix of the check.
func (r *Link) FixOf(attr qos.Attr) string {
	devices := r.Outcomes.differing(attr, r.Stated.A, r.Stated.B)
	if len(devices) == 0 {
		return r.Check.Fix
	}
	return ApplyIntent + " to " + strings.Join(devices, " and ")
}

// cabledElsewhere says that LLDP shows the two ends on different cables; "" if it does not.
func (r *Link) cabledElsewhere() string {
	for _, at := range []intent.Endpoint{r.Stated.A, r.Stated.B} {
		if seen := r.Links.Miscabled[at]; seen != "" {
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

	Source   Source
	Assumed  bool   // the switch was not read
	Intended bool   // the settings are as intended
	PFCSaid  string // root of the finding that explains why PFC is not as intended; "" if none does
	MTUSaid  bool   // MTU-05 explains why the MTU is not as intended
	Wire     Wire
	PFCRead  bool   // PFC was read from the port
	NotKnown Kinds  // values that the switch does not show
	Bare     bool   // PRT-01 reports that it has no configuration to compare
	HashSeed string // [qos.Device.HashSeed] of the switch
}

// Judged reports whether the checks of the intent cover the end as it is, so that the checks of
// a saved configuration need not repeat them.
func (e End) Judged() bool { return e.Assumed || e.Source == Saved && e.Intended }

// EndOf returns the settings of a port.
func EndOf(d *qos.Device, port string) End {
	p := d.Ports[port]
	if p == nil {
		return End{}
	}
	e := End{PFC: p.PFC.Or(0), MTU: p.MTU.Or(0), Trust: p.Trust.Or(""), Asymmetric: p.PFCAsymmetric, Known: true}
	for at := range d.NotKnown {
		if at.Port == port {
			e.NotKnown |= 1 << at.Field.Kind
		}
	}
	return e
}

// Kinds is a set of kinds of attributes.
type Kinds uint64

// Has reports whether a kind is in the set.
func (k Kinds) Has(kind qos.Kind) bool { return k&(1<<kind) != 0 }

// Shows reports whether the settings of the end are known, with the value of a kind.
func (e End) Shows(kind qos.Kind) bool { return e.Known && !e.NotKnown.Has(kind) }
