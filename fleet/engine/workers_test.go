package engine

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet/engine/enginetest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Devices of a wave are changed in parallel, and their outcomes come in order. If one fails,
// those in progress are finished and no further one is started.
func TestWorkers(t *testing.T) {
	const workers = 3
	names := []string{"leaf1", "leaf2", "leaf3", "leaf4", "leaf5"}
	for _, fails := range []bool{false, true} {
		var together sync.WaitGroup // makes the first devices wait in Apply for each other
		together.Add(workers)
		var jobs []Task
		var boxes []*enginetest.Box
		for i, name := range names {
			b := &enginetest.Box{Mask: qos.Priorities(3, 4)}
			if i < workers {
				b.During = func() { together.Done(); together.Wait() }
			}
			if fails && i < workers {
				b.ApplyErr = errors.New("boom")
			}
			boxes, jobs = append(boxes, b), append(jobs, job(name, b))
		}
		outs, err := Run{Options: Options{Allow: qos.ImpactReload, Writers: workers}}.work(t.Context(), jobs...)
		if fails != errors.Is(err, errStopped) {
			t.Errorf("fails %v: %v", fails, err)
		}
		var got []string
		for i, o := range outs {
			got = append(got, o.Device)
			want := Applied
			switch {
			case fails && i < workers:
				want = Reverted
			case fails:
				want = Skipped
			}
			if o.State != want || want == Skipped && boxes[i].Calls != nil {
				t.Errorf("fails %v: %s is %s after %v, want %s", fails, o.Device, o.State, boxes[i].Calls, want)
			}
		}
		if !slices.Equal(got, names) {
			t.Errorf("order %v", got)
		}
	}
}

// A device that is not as intended for reasons that a run cannot fix is reported, and the run
// continues.
func TestUnfit(t *testing.T) {
	j := job("leaf1", &enginetest.Box{Mask: qos.Priorities(3, 4)})
	j.nothing()
	j.Plan.Left, j.Plan.Unfit = []string{"port of ens1"}, "not as intended: port of ens1"
	outs, err := Run{Options: Options{Allow: qos.ImpactReload}}.work(t.Context(), j, job("leaf2", &enginetest.Box{Mask: qos.Priorities(3, 4)}))
	if err != nil || outs[0].State != Blocked || outs[0].Error.Text != "not as intended: port of ens1" || outs[0].Error.Kind != KindUnfit || len(outs[0].Left) != 1 || outs[1].State != Applied {
		t.Errorf("%v %+v", err, outs)
	}
}
