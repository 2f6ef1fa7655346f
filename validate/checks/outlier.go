package checks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Outlier is one switch of a group whose value differs from most of the group.
type Outlier struct {
	Check        *Check
	Group        string
	Device       string
	Ports        []string // ports of the switch; "" for the whole switch
	Value, Usual string
	Share, Of    int // members with the usual value, and all members
	Where        string
	Outcome      *Outcome              // of the switch; nil without drift
	Add          func(Finding, string) // receives findings, each with its port
}

// Found adds the finding. attrs are the attributes of the ports or the switch that it is about.
func (o *Outlier) Found(f Finding, attrs ...qos.Attr) {
	f.ID, f.Device = o.Check.ID, o.Device
	f.Where = cmp.Or(f.Where, o.Where)
	f.Fix = o.Check.Fix
	if !strings.Contains(f.Fix, ApplyIntent) && slices.ContainsFunc(o.Ports, func(p string) bool { return o.Outcome.Differs(p, attrs...) }) {
		f.Fix = ApplyIntent
	}
	for _, p := range o.Ports {
		g := f
		if g.Roots == nil {
			g.Roots = o.Outcome.RootsOf(p, attrs...)
		}
		o.Add(g, p)
		// The severity must not depend on how many devices are read: a difference from the
		// intent is reported as drift, even if most others are as intended.
		if f.Severity != Error && o.Outcome.Differs(p, attrs...) {
			continue
		}
		o.Outcome.MarkReported(p, attrs...)
		o.Outcome.MarkReported("", attrs...)
	}
}
