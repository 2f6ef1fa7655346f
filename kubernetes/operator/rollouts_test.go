package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// alone returns an intent with one of the switches, which has one port and no links.
func alone(in, device string) string {
	var out strings.Builder
	for line := range strings.Lines(in) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		isDevice := strings.HasPrefix(line, "  leaf") || strings.HasPrefix(line, "  spine")
		if isDevice && name != device || strings.HasPrefix(line, "links:") || strings.HasPrefix(line, "  - {a:") {
			continue
		}
		if isDevice {
			line = strings.TrimSuffix(line, "}\n") + ", ports: {Ethernet0: {speed: 400G, cable: 40m}}}\n"
		}
		out.WriteString(line)
	}
	return out.String()
}

// untilGone waits until an object does not exist.
func (b *bench) untilGone(o client.Object) {
	b.Helper()
	end := time.Now().Add(patience)
	for tick := time.NewTicker(100 * time.Millisecond); ; <-tick.C {
		err := b.r.Client.Get(b.Context(), client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("%s still exists after %s: %+v, %v", o.GetName(), patience, o.GetFinalizers(), err)
		}
	}
}

// Five fabrics have rollouts in progress whose gates take many minutes, and the operator works
// on four fabrics in parallel. Approvals are answered at once all the same, and the plan of a
// sixth fabric is carried out. Deleting one of the five, or the plan of one, reverts its switch.
func TestLongRollouts(t *testing.T) {
	const long = 5
	b := newBench(t)
	in := b.start(long + 1)
	o := options()
	o.Access = func() *fleet.Access { return &fleet.Access{Scale: 5} } // 400 s for the quick gate
	stop := b.operate(o)
	fabrics, plans := make([]*v1alpha1.Fabric, long+1), make([]*v1alpha1.FabricPlan, long+1)
	for i := range fabrics {
		gate := "quick"
		if i == long {
			gate = "off"
		}
		fabrics[i] = b.fabricNamed(fmt.Sprintf("pod%d", i+1), alone(in, fmt.Sprintf("leaf%d", i+1)), v1alpha1.Plan, gate)
	}
	for i, f := range fabrics {
		plans[i] = b.plan(f)
	}
	var slowest time.Duration
	answered := func(name, digest string, p *v1alpha1.FabricPlan, want v1alpha1.ApprovalPhase) {
		t.Helper()
		begun := time.Now()
		a := b.approve(name, p.Name, digest)
		b.until(a, "an answer", func() bool { return a.Status.Phase != "" })
		if a.Status.Phase != want {
			t.Errorf("the answer to %s is %+v", name, a.Status)
		}
		slowest = max(slowest, time.Since(begun))
	}
	inProgress := func() {
		t.Helper()
		for _, p := range plans[:long] {
			b.until(p, "its state", func() bool { return true })
			if p.Status.Phase != v1alpha1.Applying {
				t.Errorf("%s is %s: %s", p.Name, p.Status.Phase, p.Status.Message)
			}
		}
	}
	for _, p := range plans[:long] {
		answered("yes-"+p.Name, p.Spec.Digest, p, v1alpha1.ApprovalAccepted)
	}
	b.until(fabrics[0], "five switches are written to", func() bool {
		n := 0
		for i := range long {
			n += min(1, len(b.writes(fmt.Sprintf("leaf%d", i+1))))
		}
		return n == long
	})
	answered("wrong", strings.Repeat("0", 64), plans[long], v1alpha1.ApprovalRefused)
	answered("late", strings.Repeat("0", 64), plans[0], v1alpha1.ApprovalRefused)
	answered("yes", plans[long].Spec.Digest, plans[long], v1alpha1.ApprovalAccepted)
	b.ends(plans[long], v1alpha1.Applied)
	inProgress()

	first := fabrics[0]
	if err := b.r.Client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	b.ends(plans[0], v1alpha1.Reverted)
	if s := plans[0].Status; s.States["reverted"] != 1 || !strings.Contains(s.Message, "the Fabric was deleted") {
		t.Errorf("the status of the plan of the deleted Fabric is %+v", s)
	}
	b.untilGone(first)

	deleted := time.Now()
	if err := b.r.Client.Delete(t.Context(), plans[1]); err != nil {
		t.Fatal(err)
	}
	b.until(fabrics[1], "the run of the deleted plan has ended", func() bool { return len(fabrics[1].Finalizers) == 0 })
	if !slices.ContainsFunc(b.writes("leaf2"), func(s sim.Session) bool { return s.Wrote.After(deleted) }) {
		t.Error("the run of the deleted plan did not revert its switch")
	}

	stop()
	for _, p := range plans[2:long] {
		b.until(p, "it is interrupted", func() bool { return p.Status.Interrupted && p.Status.Phase == v1alpha1.Applying })
	}
	t.Logf("%d rollouts in progress: the slowest answer to an approval took %s", long, slowest.Round(time.Millisecond))
}

// The active replica is killed in the middle of a run, and then the Fabric is deleted. The
// Fabric exists until another replica has brought the switches that were being changed to their
// intended state; the others are left alone.
func TestDeletedWithoutReplica(t *testing.T) {
	b := newBench(t)
	f := b.fabric(b.start(7), v1alpha1.Plan)
	first := b.startReplica()
	p := b.plan(f)
	b.strike(first, syscall.SIGKILL, p)
	if err := b.r.Client.Delete(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	b.until(f, "it waits for its run", func() bool { return !f.DeletionTimestamp.IsZero() && len(f.Finalizers) == 1 })
	b.startReplica()
	b.ends(p, v1alpha1.Partial)
	if s := p.Status; s.States["applied"] == 0 || s.States["skipped"] == 0 || int(s.States["applied"]+s.States["skipped"]) != len(b.lab.Switches) || !strings.Contains(s.Message, "the Fabric was deleted") {
		t.Errorf("the status of the plan is %+v", s)
	}
	b.untilGone(f)
}
