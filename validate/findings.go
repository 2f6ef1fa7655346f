package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Findings compares everything that was added and returns all findings, sorted. Findings that
// the intent accepts at the time now are marked as suppressed.
func (r *Run) Findings(now time.Time) []checks.Finding {
	r.found, r.others = checks.Collector{}, slices.Clip(r.others)
	r.cabling()
	r.linked()
	r.links()
	r.reportOutliers()
	r.drift()
	all := fold(append(r.others, r.found.List...))
	r.alike.compact(all)
	for i := range all {
		if s := r.seen[all[i].Device]; s != nil && s.undoes != "" && all[i].ID != checks.OwnState && strings.Contains(all[i].Fix, checks.ApplyIntent) {
			all[i].Fix = s.undoes
		}
	}
	return checks.Sort(Accept(r.fabric, all, now))
}

// reportOutliers finds members whose value differs from that of most of their group; members
// with a value as intended count before all others. Of two equally frequent values, the usual one is the
// one from the outer layer of the intent, then the one that sorts last. Assumed values are not
// compared with each other.
func (r *Run) reportOutliers() {
	groups := ordered.Sorted(maps.Keys(r.traits), func(a, b traitGroup) int {
		return cmp.Or(cmp.Compare(a.check.ID, b.check.ID), natural.Compare(a.group, b.group))
	})
	for _, g := range groups {
		values := r.traits[g]
		if len(values) < 2 {
			continue
		}
		usual, of := "", 0
		for _, v := range natural.Keys(values) {
			of += values[v].n
			if usual == "" || cmp.Or(cmp.Compare(values[v].sound, values[usual].sound), cmp.Compare(values[v].n, values[usual].n), cmp.Compare(values[usual].layer, values[v].layer)) >= 0 {
				usual = v
			}
		}
		for _, v := range natural.Keys(values) {
			if v == usual || values[v].assumed != "" && values[usual].assumed != "" {
				continue
			}
			for _, dev := range natural.Keys(values[v].devices) {
				g.check.Outliers(&checks.Outlier{Check: g.check, Group: g.group, Device: dev, Ports: values[v].devices[dev],
					Value: v + values[v].assumed, Usual: usual + values[usual].assumed, Share: values[usual].n, Of: of, Where: values[v].where[dev],
					Outcome: r.outcomes[dev], Add: r.found.Add})
			}
		}
	}
}

// drift reports the differences from the intent that no other finding reports.
func (r *Run) drift() {
	for _, name := range natural.Keys(r.outcomes) {
		s := r.outcomes[name]
		for i, ch := range s.Drift.Changes {
			if s.Reported[i] {
				continue
			}
			f := checks.Finding{ID: "DRIFT", Severity: checks.Error, Device: name, Where: render.Reason(r.fabric.Switch(name), ch.Place()),
				What: fmt.Sprintf("%s is %s, the intent says %s", ch.Field, ch.Old, ch.New),
				Fix:  "apply the intent, or change the intent", Roots: []string{ch.Field.String()}}
			if ch.Field.Kind == qos.KindPort {
				f.What, f.Fix = "the device has no such port", "correct the name in the intent, or break the port out on the device"
			}
			r.found.Add(f, ch.Port)
		}
	}
}
