package operator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// A run in the background is started once, stopped alone, and its result is taken once. When
// the replica ends, the other runs are interrupted.
func TestRunner(t *testing.T) {
	f := &v1alpha1.Fabric{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod1"}}
	plan := func(name string) *v1alpha1.FabricPlan {
		return &v1alpha1.FabricPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	}
	began, interrupted := make(chan string, 10), make(chan string, 10)
	r := newRunner()
	r.run = func(ctx context.Context, _ *v1alpha1.Fabric, p *v1alpha1.FabricPlan) (*fleet.Result, error) {
		began <- p.Name
		if p.Name == "faulty" {
			panic("a fault")
		}
		<-ctx.Done()
		if p.Name == "lost" {
			return nil, store.ErrLost
		}
		return &fleet.Result{Journal: p.Name}, context.Cause(ctx)
	}
	r.interrupted = func(_ context.Context, p *v1alpha1.FabricPlan) error {
		interrupted <- p.Name
		return nil
	}
	if r.start(f, plan("early")) {
		t.Error("a run starts before the replica is elected")
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- r.Start(ctx) }()
	for !r.start(f, plan("a")) {
		runtime.Gosched() // until Start has begun
	}
	<-began
	key := client.ObjectKeyFromObject(plan("a"))
	if !r.start(f, plan("a")) || len(began) > 0 || !r.busy(client.ObjectKeyFromObject(f)) {
		t.Error("the run is not in progress, or started twice")
	}
	one, ended := r.take(key)
	if one == nil || ended {
		t.Fatalf("the run in progress is %+v", one)
	}
	why := errors.New("stopped")
	one.stop(why)
	if e := <-r.ended; e.Object.GetName() != "a" {
		t.Errorf("the ended run is of %s", e.Object.GetName())
	}
	if one, ended = r.take(key); !ended || !errors.Is(one.err, why) || one.res.Journal != "a" {
		t.Errorf("the result is %+v", one)
	}
	if one, _ = r.take(key); one != nil || r.busy(client.ObjectKeyFromObject(f)) {
		t.Error("the run exists after its result was taken")
	}
	r.start(f, plan("faulty"))
	<-r.ended
	if one, ended = r.take(client.ObjectKeyFromObject(plan("faulty"))); !ended || one.err == nil || one.res != nil {
		t.Errorf("the result of a panic is %+v", one)
	}
	r.start(f, plan("b"))
	r.start(f, plan("lost"))
	for range 3 {
		<-began
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if len(interrupted) != 1 || <-interrupted != "b" {
		t.Error("not exactly the run that did not lose its lock is interrupted")
	}
	if r.start(f, plan("late")) {
		t.Error("a run starts after the end of the replica")
	}
}

func TestCutLines(t *testing.T) {
	const most = 100
	whole := strings.Repeat("123456789\n", 10)
	if got := cutLines(whole, most); got != whole {
		t.Errorf("a text of %d bytes is cut to %q", most, got)
	}
	got := cutLines(whole+"the last line\n", most)
	kept := strings.Count(got, "123456789\n")
	if want := fmt.Sprintf("\n... %d more lines\n", 11-kept); len(got) > most || kept == 0 || !strings.HasSuffix(got, want) {
		t.Errorf("a text that is too long is cut to %q", got)
	}
}
