package fleet

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine/enginetest"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// clock is a clock set by a test.
type clock struct{ at atomic.Pointer[time.Time] }

func (c *clock) set(hour, minute int) {
	t := time.Date(2026, 11, 24, hour, minute, 0, 0, time.UTC)
	c.at.Store(&t)
}

func (c *clock) now() time.Time { return *c.at.Load() }

// windowed returns a fabric with a maintenance window from 22:00 to 04:00 UTC.
func windowed() *intent.Fabric {
	w := intent.Window{Pos: intent.Pos{File: "fabric.yaml", Line: 7, Column: 5}, From: 22 * 60, To: 4 * 60, Zone: time.UTC}
	for i := range w.Days {
		w.Days[i] = true
	}
	return &intent.Fabric{Name: "pod1", Rollout: intent.Rollout{Windows: intent.Windows{w}}}
}

// rig is an apply to boxes, with a clock.
type rig struct {
	clock
	boxes   []*enginetest.Box
	devices []Device
	run     ApplyOptions
}

func newRig(t *testing.T, names ...string) *rig {
	g := &rig{}
	for _, name := range names {
		b := &enginetest.Box{Mask: qos.Priorities(3, 4)}
		d := Device{Name: name, Open: func(context.Context) (drivers.Driver, error) { return b, nil }}
		d.Desired = func() drivers.Desired { return enginetest.Holding(qos.Priorities(3)) }
		g.boxes, g.devices = append(g.boxes, b), append(g.devices, d)
	}
	g.run = ApplyOptions{Allow: qos.ImpactReload, RunOptions: RunOptions{Fabric: windowed(), Store: store.Dir(t.TempDir()), Now: g.now, AppliedTimeout: time.Millisecond}}
	return g
}

// apply plans the devices and applies the plan.
func (g *rig) apply(t *testing.T) (*Result, error) {
	t.Helper()
	return g.applyIn(t.Context(), t)
}

func (g *rig) applyIn(ctx context.Context, t *testing.T) (*Result, error) {
	t.Helper()
	plan, err := Prepare(t.Context(), g.devices, PlanOptions{Fabric: g.run.Fabric})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plan.Close() })
	return Apply(ctx, g.devices, plan, g.run)
}

// wrote reports for each box whether it was written to.
func (g *rig) wrote() (out []bool) {
	for _, b := range g.boxes {
		out = append(out, slices.Contains(b.Calls, "apply"))
	}
	return out
}

func wantClosed(t *testing.T, err error, text string) {
	t.Helper()
	e := NewError("", OpJudge, err)
	if err == nil || e.Kind != KindWindow || e.Text != text || !strings.Contains(e.Hint, "--outside-window") {
		t.Fatalf("%v (%+v)", err, e)
	}
}

// Outside the maintenance windows an apply is refused before the operator is asked, and after
// an answer that took too long.
func TestApplyOutsideWindow(t *testing.T) {
	asked := 0
	g := newRig(t, "leaf1")
	g.run.Confirm = func() error { asked++; g.set(4, 0); return nil }
	g.set(21, 19)
	_, err := g.apply(t)
	wantClosed(t, err, "outside the maintenance windows (fabric.yaml:7:5); the next one opens Tue 2026-11-24 22:00 UTC (in 41m); nothing was written")
	if asked != 0 {
		t.Error("asked")
	}
	g.set(3, 59)
	_, err = g.apply(t)
	wantClosed(t, err, "outside the maintenance windows (fabric.yaml:7:5); the next one opens Tue 2026-11-24 22:00 UTC (in 18h0m); nothing was written")
	if asked != 1 || g.wrote()[0] {
		t.Errorf("asked %d times, wrote %v", asked, g.wrote())
	}
	g.run.OutsideWindow = true
	if r, err := g.apply(t); err != nil || r.Outcomes[0].State != Applied {
		t.Fatalf("allowed outside: %+v, %v", r, err)
	}
}

// When the window closes during a run, the current device is finished and no further one is
// started.
func TestWindowCloses(t *testing.T) {
	g := newRig(t, "leaf1", "leaf2", "leaf3")
	g.boxes[0].During = func() { g.set(4, 0) }
	g.set(3, 59)
	r, err := g.apply(t)
	if err != nil {
		t.Fatal(err)
	}
	var states []State
	for _, o := range r.Outcomes {
		states = append(states, o.State)
	}
	if !slices.Equal(states, []State{Applied, Skipped, Skipped}) || !slices.Equal(g.wrote(), []bool{true, false, false}) || !r.InPart() {
		t.Fatalf("%v, wrote %v", states, g.wrote())
	}
	if e := r.Outcomes[1].Error; e == nil || e.Kind != KindWindow || e.Text != "the maintenance window has closed (fabric.yaml:7:5); the next one opens Tue 2026-11-24 22:00 UTC (in 18h0m)" {
		t.Errorf("%+v", e)
	}
	if r.Outcomes[2].Error != nil {
		t.Errorf("said again: %v", r.Outcomes[2].Error)
	}
}

// A rollback keeps to the maintenance windows too.
func TestRollbackOutsideWindow(t *testing.T) {
	g := newRig(t, "leaf1", "leaf2")
	g.set(23, 0)
	if _, err := g.apply(t); err != nil {
		t.Fatal(err)
	}
	u, err := Find(t.Context(), g.devices, FindOptions{Store: g.run.Store})
	if err != nil {
		t.Fatal(err)
	}
	g.set(12, 0)
	_, err = Rollback(t.Context(), g.devices, u, RollbackOptions{g.run.RunOptions, qos.ImpactLoss})
	wantClosed(t, err, "outside the maintenance windows (fabric.yaml:7:5); the next one opens Tue 2026-11-24 22:00 UTC (in 10h0m); nothing was written")
	g.set(22, 0)
	g.run.Progress = func(e Event) {
		if e.Kind == StepBegins {
			g.set(4, 0)
		}
	}
	r, err := Rollback(t.Context(), g.devices, u, RollbackOptions{g.run.RunOptions, qos.ImpactLoss})
	if err != nil || r.Outcomes[0].State != Restored || r.Outcomes[1].State != Skipped || r.Outcomes[1].Kind != KindWindow {
		t.Fatalf("%+v, %v", r, err)
	}
}

// No boot unit is changed outside the maintenance windows.
func TestUnitsOutsideWindow(t *testing.T) {
	var c clock
	c.set(12, 0)
	f, err := Load(context.Background(), "-", LoadOptions{Take: TakeHosts, Stdin: strings.NewReader(`apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes: {default: {priority: 0, dscp: rest}}
hosts: {gpu1: {address: 192.0.2.1, nics: {ens1: {}}}}
rollout: {windows: [{from: 22:00, to: 04:00}]}
`)})
	if err != nil {
		t.Fatal(err)
	}
	err = f.Units(t.Context(), &Access{}, UnitOptions{Now: c.now}, nil, nil)
	wantClosed(t, err, "outside the maintenance windows (<stdin>:6:21); the next one opens Tue 2026-11-24 22:00 UTC (in 10h0m); nothing was written")
}
