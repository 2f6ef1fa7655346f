package fleet

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// approver answers as a test tells it, and records the requests.
type approver struct {
	asked  []ApprovalRequest
	answer func() error
}

func (a *approver) Approve(_ context.Context, r ApprovalRequest) error {
	a.asked = append(a.asked, r)
	return a.answer()
}

func (a *approver) String() string { return "the board" }

// The approver is asked after the operator and before the first write, also for a rollback,
// and again before each further wave.
func TestApproval(t *testing.T) {
	g := newRig(t, "leaf1", "leaf2")
	var order []string
	by := &approver{answer: func() error {
		if order = append(order, "approve"); slices.Contains(g.wrote(), true) != (len(order) > 2) {
			t.Error("not asked before the first write, and between the waves")
		}
		return nil
	}}
	g.run.Approver, g.run.Confirm = by, func() error { order = append(order, "confirm"); return nil }
	g.set(23, 0)
	if r, err := g.apply(t); err != nil || r.Outcomes[1].State != Applied {
		t.Fatalf("%+v, %v", r, err)
	}
	if !slices.Equal(order, []string{"confirm", "approve", "approve"}) {
		t.Errorf("asked %v", order)
	}
	q := by.asked[0]
	if q.Fabric != "pod1" || q.Digest == "" || q.Of != "" || q.Devices != 2 || q.Impact != "port-flap" || q.User == "" ||
		!slices.Equal(q.Changes, []ApprovalChange{{"leaf1", "port-flap"}, {"leaf2", "port-flap"}}) {
		t.Errorf("%+v", q)
	}
	if q := by.asked[1]; q.Wave != 2 || q.Waves != 2 || q.Digest != by.asked[0].Digest || !slices.Equal(q.Changes, []ApprovalChange{{"leaf2", "port-flap"}}) {
		t.Errorf("between the waves: %+v", q)
	}
	u, err := Find(t.Context(), g.devices, FindOptions{Store: g.run.Store})
	if err != nil {
		t.Fatal(err)
	}
	by.answer = func() error { return errors.New("frozen") }
	_, err = Rollback(t.Context(), g.devices, u, RollbackOptions{g.run.RunOptions, qos.ImpactLoss})
	wantRefused(t, err)
	by.answer = func() error { return nil }
	if r, err := Rollback(t.Context(), g.devices, u, RollbackOptions{g.run.RunOptions, qos.ImpactLoss}); err != nil || r.Outcomes[0].State != Restored {
		t.Fatalf("%+v, %v", r, err)
	}
	if back := by.asked[3]; back.Of != u.ID || back.Digest != by.asked[2].Digest || back.Digest == "" || back.Devices != 2 || back.Impact != "port-flap" {
		t.Errorf("%+v", back)
	}
}

// If the approver says no between two waves, the run stops.
func TestApprovalOfAWave(t *testing.T) {
	g := newRig(t, "leaf1", "leaf2")
	asks := 0
	g.run.Approver = &approver{answer: func() error {
		if asks++; asks == 2 {
			return errors.New("frozen")
		}
		return nil
	}}
	g.set(23, 0)
	r, err := g.apply(t)
	if err != nil || r.Outcomes[0].State != Applied || r.Outcomes[1].State != Skipped || r.Outcomes[1].Error == nil || r.Outcomes[1].Error.Text != "wave 2 is not approved by the board: frozen" {
		t.Errorf("%+v, %v", r, err)
	}
}

func wantRefused(t *testing.T, err error) {
	t.Helper()
	if e := NewError("", OpJudge, err); err == nil || e.Kind != KindRefused || e.Text != "not approved by the board: frozen; nothing was written" {
		t.Fatalf("%v (%+v)", err, e)
	}
}

// A no, an answer after the window has closed, and Ctrl-C all leave everything unchanged.
func TestNotApproved(t *testing.T) {
	g := newRig(t, "leaf1")
	by := &approver{answer: func() error { return errors.New("frozen") }}
	g.run.Approver = by
	g.set(3, 59)
	_, err := g.apply(t)
	wantRefused(t, err)
	by.answer = func() error { g.set(4, 0); return nil }
	_, err = g.apply(t)
	wantClosed(t, err, "outside the maintenance windows (fabric.yaml:7:5); the next one opens Tue 2026-11-24 22:00 UTC (in 18h0m); nothing was written")
	ctx, cancel := context.WithCancel(t.Context())
	by.answer = func() error { cancel(); return ctx.Err() }
	g.set(3, 59)
	if _, err = g.applyIn(ctx, t); err == nil || err.Error() != "nothing was written" {
		t.Errorf("interrupted: %v", err)
	}
	if g.wrote()[0] {
		t.Error("it was written to")
	}
	if runs, err := g.run.Store.Journals(t.Context()); err != nil || len(runs) > 0 {
		t.Errorf("journals %v, %v", runs, err)
	}
}

// A plan has the same digest before and after it is saved.
func TestPreparedDigest(t *testing.T) {
	g := newRig(t, "leaf1", "leaf2")
	path := filepath.Join(t.TempDir(), "p.plan")
	plan, err := Prepare(t.Context(), g.devices, PlanOptions{Fabric: g.run.Fabric})
	if err := errors.Join(err, plan.Save(path, nil), plan.Close()); err != nil {
		t.Fatal(err)
	}
	saved, err := OpenPlan(path)
	if err := errors.Join(err, saved.Close()); err != nil || plan.Digest != saved.Digest {
		t.Errorf("%s, saved %s, %v", plan.Digest, saved.Digest, err)
	}
}
