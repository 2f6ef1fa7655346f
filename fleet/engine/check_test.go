package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine/enginetest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// check finds before the first write what the read right before a write would find, and
// writes nothing.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		mask  qos.PrioritySet
		open  error
		state State
		err   error
		kind  Kind
		steps string
		most  qos.Impact
	}{
		"as planned":    {mask: qos.Priorities(3, 4), state: Skipped},
		"other steps":   {mask: qos.Priorities(3, 4), state: Refused, kind: KindPlan, steps: StepsDigest(nil)},
		"more impact":   {mask: qos.Priorities(3, 4), state: Refused, kind: KindImpact, most: qos.ImpactCounters},
		"moved on":      {mask: qos.Priorities(5), state: Refused, err: drivers.ErrStale, kind: KindStale},
		"not reachable": {open: drivers.ErrUnreachable, state: Failed, err: drivers.ErrUnreachable, kind: KindUnreachable},
	} {
		b := enginetest.Box{Mask: c.mask}
		j := job("leaf1", &b)
		j.Open = func(ctx context.Context) (drivers.Driver, error) {
			if _, ok := ctx.Deadline(); !ok {
				t.Errorf("%s: no deadline", name)
			}
			return &b, c.open
		}
		j.Steps = cmp.Or(c.steps, j.Steps)
		r := Run{Options: Options{Allow: cmp.Or(c.most, qos.ImpactPortFlap)}}
		got := r.Check(t.Context(), j, false)
		if got.Error != nil && got.Error.Kind != c.kind || (got.Error == nil) != (c.kind == "") {
			t.Errorf("%s: %+v", name, got.Error)
		}
		if got.State != c.state || c.err != nil && !errors.Is(got.Error, c.err) || b.Mask != c.mask {
			t.Errorf("%s: %+v, mask %s; want %s, %v", name, got, b.Mask, c.state, c.err)
		}
		if calls := strings.Join(b.Calls, " "); c.open == nil && calls != "close" {
			t.Errorf("%s: calls %s", name, calls)
		}
	}
}
