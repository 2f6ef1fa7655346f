package validate

import (
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// TestEffectsOfAlphaAndPool checks that what only an odd alpha or a small pool causes is reported once,
// by BUF-09, with the checks that fail: at each port for alpha, for the whole switch for a pool. Without
// BUF-09, the effects have findings of their own.
func TestEffectsOfAlphaAndPool(t *testing.T) {
	for name, e := range map[string]struct {
		edit  func(*qos.Device, *checks.State)
		ports int // of the finding
		ids   []string
	}{
		"alpha": {alphaIs(-7, "Ethernet0"), 1, []string{"ECN-03", "ECN-04"}},
		"pool":  {poolOf(func(p *qos.Pool) { p.Size /= 100 }), 0, []string{"BUF-10", "ECN-03", "ECN-04"}},
	} {
		for _, hidden := range []bool{false, true} {
			c := compile(t, closBase)
			d := c.Device(c.Fabric().Switch("leaf1"))
			have, st := decoded(t, saved(d)), &checks.State{}
			e.edit(have, st)
			r := Switch(d, have, checks.Running, st)
			if hidden {
				r.outcome.Findings.List = slices.DeleteFunc(r.outcome.Findings.List, func(f checks.Finding) bool { return f.ID == "BUF-09" })
			}
			run := NewRun(c.Fabric())
			run.Add(r)
			fs := run.Findings(today)
			for _, id := range e.ids {
				own := slices.ContainsFunc(fs, func(f checks.Finding) bool { return f.About(id) && !f.About("BUF-09") })
				by := slices.ContainsFunc(fs, func(f checks.Finding) bool { return f.ID == "BUF-09" && len(f.Ports) == e.ports && f.About(id) })
				if own != hidden || by == hidden {
					t.Errorf("%s, without BUF-09 %v: %s has a finding of its own: %v, is covered: %v", name, hidden, id, own, by)
				}
			}
		}
	}
}
