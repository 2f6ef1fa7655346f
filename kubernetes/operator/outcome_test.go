package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// addRun adds a run with the given records to a store.
func addRun(t *testing.T, s store.Store, run string, records ...string) {
	t.Helper()
	l, err := s.Lock(t.Context(), store.Self(run, ""))
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Create(t.Context(), run)
	for _, record := range records {
		if err == nil {
			err = j.Append(t.Context(), fmt.Appendf(nil, `{"time":"2026-01-01T00:00:00Z",%s}`, record))
		}
	}
	if err := errors.Join(err, j.Close(), l.Release()); err != nil {
		t.Fatal(err)
	}
}

// unlisted is a store whose journals can be listed only once.
type unlisted struct {
	store.Store
	calls int
}

var errUnlisted = errors.New("no answer")

func (u *unlisted) Journals(ctx context.Context) ([]store.ID, error) {
	if u.calls++; u.calls > 1 {
		return nil, errUnlisted
	}
	return u.Store.Journals(ctx)
}

// A plan with two runs, of which the first was cut off at leaf2: devices that neither has
// reached are skipped, runs of earlier plans do not count, and a plan is not called Applied
// without a device that is as intended.
func TestStatesOfRuns(t *testing.T) {
	s := store.Dir(t.TempDir())
	addRun(t, s, "earlier", `"event":"begin","devices":["leaf9"]`, `"device":"leaf9","event":"applied"`, `"event":"end"`)
	addRun(t, s, "first", `"event":"begin","devices":["leaf1","leaf2","leaf3"]`, `"device":"leaf1","event":"applied"`, `"device":"leaf2","event":"start"`)
	p := &v1alpha1.FabricPlan{Status: v1alpha1.FabricPlanStatus{After: 1}}
	check := func(last *fleet.Result, want map[string]int32) {
		t.Helper()
		all, runs, err := states(t.Context(), s, p, last)
		if err != nil {
			t.Fatal(err)
		}
		p.Status.Runs = runs
		outcome(p, all, nil)
		if !maps.Equal(p.Status.States, want) || p.Status.Phase != v1alpha1.Partial {
			t.Errorf("the states are %v, phase %s; want %v", p.Status.States, p.Status.Phase, want)
		}
	}
	check(nil, map[string]int32{"applied": 1, "cut-off": 1, "skipped": 1})
	addRun(t, s, "second", `"event":"begin","devices":["leaf2"]`, `"device":"leaf2","event":"applied"`, `"event":"end"`)
	check(nil, map[string]int32{"applied": 2, "skipped": 1})
	check(&fleet.Result{Outcomes: []fleet.Outcome{{Device: "leaf2", State: fleet.Skipped}, {Device: "leaf3", State: fleet.Failed}}}, map[string]int32{"applied": 2, "failed": 1})

	if _, _, err := states(t.Context(), &unlisted{Store: s}, p, nil); !errors.Is(err, errUnlisted) {
		t.Errorf("runs that cannot be listed: %v", err)
	}
	outcome(p, nil, nil)
	if p.Status.Phase == v1alpha1.Applied {
		t.Errorf("a plan without outcomes is %+v", p.Status)
	}
}
