package operator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
)

// A Fabric has its finalizer during a run, even if the run starts while the finalizer of an
// earlier run is being removed.
func TestFinalizerOfNextRun(t *testing.T) {
	g := rig.Start(t)
	f := &v1alpha1.Fabric{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace(t), Name: "pod1", Finalizers: []string{v1alpha1.Finalizer}},
		Spec:       v1alpha1.FabricSpec{Intent: v1alpha1.IntentSource{Inline: "x"}},
	}
	if err := g.Client.Create(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(g.Config, client.Options{Scheme: g.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	r := &planReconciler{deps{Client: c, runs: newRunner()}}
	held := make(chan error, 1)
	r.direct = interceptor.NewClient(c, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
		err := c.List(ctx, l, opts...)
		next, ended := f.DeepCopy(), make(chan struct{})
		go func() {
			defer close(ended)
			held <- r.hold(ctx, next)
		}()
		select {
		case <-ended:
		case <-time.After(time.Second): // it waits for the removal
		}
		return err
	}})
	if err := errors.Join(r.release(t.Context(), client.ObjectKeyFromObject(f)), <-held); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(f), f); err != nil || !controllerutil.ContainsFinalizer(f, v1alpha1.Finalizer) {
		t.Errorf("the finalizers are %v, %v", f.Finalizers, err)
	}
}

// The run of a deleted plan is stopped before the run of a new plan with the same name starts.
func TestRunOfEarlierPlan(t *testing.T) {
	g := rig.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f := &v1alpha1.Fabric{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace(t), Name: "pod1"},
		Spec:       v1alpha1.FabricSpec{Intent: v1alpha1.IntentSource{Inline: "x"}},
	}
	if err := g.Client.Create(ctx, f); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(g.Config, client.Options{Scheme: g.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	noApprovals := interceptor.NewClient(c, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil }})
	r := &planReconciler{deps{Client: noApprovals, direct: c, runs: newRunner()}}
	causes := make(chan error, 2)
	r.runs.run = func(ctx context.Context, _ *v1alpha1.Fabric, _ *v1alpha1.FabricPlan) (*fleet.Result, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}
	r.runs.interrupted = func(context.Context, *v1alpha1.FabricPlan) error { return nil }
	over := make(chan error)
	go func() { over <- r.runs.Start(ctx) }()
	plan := func(uid types.UID) *v1alpha1.FabricPlan {
		return &v1alpha1.FabricPlan{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "plan", UID: uid}}
	}
	for !r.runs.start(f, plan("old")) {
		runtime.Gosched() // until Start has begun
	}
	carryOut := func() {
		t.Helper()
		if _, err := r.carryOut(ctx, f, plan("new")); err != nil {
			t.Fatal(err)
		}
	}
	carryOut()
	if err := <-causes; err == nil || err.Error() != planDeleted("plan").Error() {
		t.Fatalf("the run of the earlier plan ended because of %v", err)
	}
	<-r.runs.ended
	carryOut()
	if run, ended := r.runs.take(client.ObjectKeyFromObject(plan("new"))); run == nil || ended || run.plan.UID != "new" {
		t.Errorf("the run of the new plan is %+v", run)
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// An interrupted run waits for the next maintenance window, but ends if its Fabric is deleted.
func TestInterruptedOutsideWindow(t *testing.T) {
	g, ctx := rig.Start(t), t.Context()
	day := strings.ToLower(time.Now().UTC().AddDate(0, 0, 3).Weekday().String()[:3])
	in, err := loadText(ctx, fmt.Sprintf(`apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  default: {priority: 0, dscp: rest}
switches:
  leaf1: {os: sonic, role: leaf, address: "192.0.2.1:8080"}
rollout: {windows: [{days: [%s], from: "02:00", to: "03:00", timezone: UTC}]}
`, day))
	if err != nil {
		t.Fatal(err)
	}
	ns := g.Namespace(t)
	st, err := journal.Open(g.Client, ns, "pod1", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	l, err := st.Lock(ctx, store.Self("run", ""))
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Create(ctx, "run")
	if err == nil {
		err = j.Append(ctx, []byte(`{"event":"begin","time":"2026-01-01T00:00:00Z"}`))
	}
	if err := errors.Join(err, l.Release()); err != nil {
		t.Fatal(err)
	}
	f := &v1alpha1.Fabric{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pod1"}}
	p := &v1alpha1.FabricPlan{Spec: v1alpha1.FabricPlanSpec{Intent: in.Fabric().Hash}}
	r := &planReconciler{}
	if _, err := r.mayRun(ctx, f, p, &loaded{Fabric: in}, st); !errors.As(err, new(*wait)) {
		t.Errorf("the run does not wait: %v", err)
	}
	now := metav1.Now()
	f.DeletionTimestamp = &now
	if _, err := r.mayRun(ctx, f, p, &loaded{Fabric: in}, st); !errors.Is(err, errFabricDeleted) {
		t.Errorf("the run does not end: %v", err)
	}
}
