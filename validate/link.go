package validate

import (
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

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
