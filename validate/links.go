package validate

import (
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// linked reports that an intent without links leaves the checks of two ends inconclusive.
func (r *Run) linked() {
	if len(r.fabric.Links) > 0 {
		return
	}
	c := Lookup("TOP-09")
	f := checks.Finding{ID: c.ID, Severity: checks.Info, What: "the intent states no links: the two ends of cables, paths and deadlocks are not checked", Fix: c.Fix, Unchecked: "both ends of links, paths and deadlocks", Because: "the intent states no links"}
	for _, other := range registry {
		if other.Made() && (other.Link != nil || other.Fabric != nil) {
			f.NotMade = append(f.NotMade, other.ID)
		}
	}
	r.found.Add(f, "")
}

// links compares the two ends of each link.
func (r *Run) links() {
	var known []checks.Link
	for _, l := range r.fabric.Links {
		a, b := r.end(l.A), r.end(l.B)
		if a == nil || b == nil || !a.Known || !b.Known || a.Bare || b.Bare || a.Judged() && b.Judged() {
			continue
		}
		known = append(known, checks.Link{Stated: l, A: a, B: b})
	}
	all := &checks.Links{Intent: r.fabric, Outcomes: r.outcomes, Miscabled: r.miscabled, Memo: &r.memo}
	for _, c := range registry {
		if c.Link != nil {
			all.Run(c, known, r.found.Add)
		}
	}
}
