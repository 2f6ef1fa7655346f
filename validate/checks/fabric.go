package checks

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/validate/deadlock"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// Fabric is what one check sees of the whole intent.
type Fabric struct {
	Check  *Check
	Intent *intent.Fabric
	Paths  *Paths
	// Added reports whether a switch is checked, and not only assumed to be as intended.
	Added    func(name string) bool
	Outcomes Outcomes
	Note     func(...Finding) // receives findings
}

// Paths holds the results of following the fabric's routes.
type Paths struct {
	Graph   *topology.Graph
	Search  *deadlock.Result
	Treated deadlock.Paths
	Islands deadlock.Islands
}

// FixOf returns the fix for the PFC settings of some ports: to apply the intent if they differ
// from it.
func (r *Fabric) FixOf(ports ...intent.Endpoint) string {
	devices := r.Outcomes.differing(qos.KindPFC.Attr(), ports...)
	if len(devices) == 0 {
		return r.Check.Fix
	}
	return ApplyIntent + " to " + natural.Fold(devices)
}

// Found adds a finding on a switch and its ports, which are in natural order.
func (r *Fabric) Found(f Finding, ports ...string) {
	r.Check.MayFind(f.Severity)
	f.ID, f.Ports, f.Fix = r.Check.ID, ports, cmp.Or(f.Fix, r.Check.Fix)
	r.Note(f)
}
