package fleet

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestJudge(t *testing.T) {
	change := func(field qos.Attr, i qos.Impact, blocked string) Group {
		return Group{Ports: []string{"Ethernet0", "Ethernet8"}, Change: qos.Change{Field: field, Impact: i, Blocked: blocked}}
	}
	for name, c := range map[string]struct {
		plan  DevicePlan
		state State
		err   string
	}{
		"as allowed":     {DevicePlan{Changes: []Group{change(qos.KindPFC.Attr(), qos.ImpactCounters, "")}}, Skipped, ""},
		"no changes":     {DevicePlan{}, Skipped, ""},
		"failed":         {DevicePlan{Error: NewError("leaf1", OpRead, errors.New("unreachable"))}, Failed, "leaf1: unreachable"},
		"failed, a file": {DevicePlan{Error: &Error{Device: "leaf1", Text: "unreachable"}}, Failed, "leaf1: no plan: unreachable"},
		"blocked":        {DevicePlan{Changes: []Group{change(qos.KindPFC.Attr(), 0, ""), change(qos.KindMTU.Attr(), 0, "no way"), change(qos.KindTrust.Attr(), 0, "nor this")}}, Blocked, "leaf1: the plan has changes that cannot be made: MTU of Ethernet0,Ethernet8: no way (1 more)"},
		"too much":       {DevicePlan{Changes: []Group{change(qos.KindPFC.Attr(), qos.ImpactPortFlap, "")}}, Refused, "leaf1: the plan disturbs more than allowed: port-flap, allowed is counters"},
	} {
		c.plan.Name = "leaf1"
		got := c.plan.summary(0, 0).outcome(qos.ImpactCounters, false)
		if got.State != c.state || (got.Error == nil) != (c.err == "") || got.Error != nil && got.Error.Error() != c.err || got.Device != "leaf1" {
			t.Errorf("%s: %+v, want %s, %q", name, got, c.state, c.err)
		}
	}
}

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
		"other steps":   {mask: qos.Priorities(3, 4), state: Refused, kind: KindPlan, steps: stepsDigest(nil)},
		"more impact":   {mask: qos.Priorities(3, 4), state: Refused, kind: KindImpact, most: qos.ImpactCounters},
		"moved on":      {mask: qos.Priorities(5), state: Refused, err: drivers.ErrStale, kind: KindStale},
		"not reachable": {open: drivers.ErrUnreachable, state: Failed, err: drivers.ErrUnreachable, kind: KindUnreachable},
	} {
		b := box{mask: c.mask}
		j := job("leaf1", &b)
		j.Open = func(ctx context.Context) (drivers.Driver, error) {
			if _, ok := ctx.Deadline(); !ok {
				t.Errorf("%s: no deadline", name)
			}
			return &b, c.open
		}
		j.steps = cmp.Or(c.steps, j.steps)
		r := run{allow: cmp.Or(c.most, qos.ImpactPortFlap)}
		got := r.checkDevice(t.Context(), j, false)
		if got.Error != nil && got.Error.Kind != c.kind || (got.Error == nil) != (c.kind == "") {
			t.Errorf("%s: %+v", name, got.Error)
		}
		if got.State != c.state || c.err != nil && !errors.Is(got.Error, c.err) || b.mask != c.mask {
			t.Errorf("%s: %+v, mask %s; want %s, %v", name, got, b.mask, c.state, c.err)
		}
		if calls := strings.Join(b.calls, " "); c.open == nil && calls != "close" {
			t.Errorf("%s: calls %s", name, calls)
		}
	}
}
