package operator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// runner carries out approved plans in the background, so that a rollout of hours does not
// occupy a worker of a controller. The progress of a run is in its journal alone: when this
// replica ends, the runner of another one resumes the run from there.
type runner struct {
	// run carries out a plan.
	run func(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) (*fleet.Result, error)
	// interrupted records that this replica ended in the middle of a run.
	interrupted func(ctx context.Context, p *v1alpha1.FabricPlan) error
	// ended receives each plan whose run has ended.
	ended chan event.GenericEvent

	// finalizers is locked while a finalizer is added or removed, because a run that starts would
	// otherwise rely on one that is just being removed.
	finalizers sync.Mutex

	mu     sync.Mutex
	ctx    context.Context // ends with this replica; nil before it is elected
	closed bool            // no further run may start
	runs   map[types.NamespacedName]*planRun
	wg     sync.WaitGroup
}

// planRun is a run of a plan, in progress or ended.
type planRun struct {
	plan   *v1alpha1.FabricPlan
	fabric types.NamespacedName
	stop   context.CancelCauseFunc // reverts the device being changed, and ends the run

	ended bool
	res   *fleet.Result
	err   error
}

// newRunner returns a runner without runs.
func newRunner() *runner {
	return &runner{ended: make(chan event.GenericEvent), runs: map[types.NamespacedName]*planRun{}}
}

// Start implements the manager's runnable. When ctx ends, each run reverts the device that it is
// changing; Start waits for that.
func (r *runner) Start(ctx context.Context) error {
	r.mu.Lock()
	r.ctx = ctx
	r.mu.Unlock()
	<-ctx.Done()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.wg.Wait()
	return nil
}

// start starts the run of a plan, unless it has one. It returns false if this replica is not
// ready to start runs.
func (r *runner) start(f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(p)
	if r.ctx == nil || r.closed {
		return false
	}
	if r.runs[key] != nil {
		return true
	}
	ctx, stop := context.WithCancelCause(log.IntoContext(r.ctx, log.FromContext(r.ctx).WithValues("plan", key)))
	one := &planRun{plan: p.DeepCopy(), fabric: client.ObjectKeyFromObject(f), stop: stop}
	r.runs[key] = one
	f = f.DeepCopy()
	r.wg.Go(func() { r.carryOut(ctx, f, one) })
	return true
}

// carryOut carries out a plan and keeps the result for [runner.take].
func (r *runner) carryOut(ctx context.Context, f *v1alpha1.Fabric, one *planRun) {
	defer one.stop(nil)
	res, err := r.recovered(ctx, f, one.plan)
	if r.ctx.Err() != nil {
		if errors.Is(err, store.ErrLost) {
			return // the new holder of the lock writes the status
		}
		if err := r.interrupted(ctx, one.plan); err != nil {
			log.FromContext(ctx).Error(err, "record that a run was interrupted")
		}
		return
	}
	r.mu.Lock()
	one.res, one.err, one.ended = res, err, true
	r.mu.Unlock()
	select {
	case r.ended <- event.GenericEvent{Object: one.plan}:
	case <-r.ctx.Done():
	}
}

// recovered carries out a plan and returns a panic as an error, as controllers do.
func (r *runner) recovered(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) (res *fleet.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			log.FromContext(ctx).Info("panic in a run", "panic", v, "stack", string(debug.Stack()))
			res, err = nil, fmt.Errorf("panic: %v", v)
		}
	}()
	return r.run(ctx, f, p)
}

// take returns the run of a plan; nil if there is none. It forgets a run that has ended.
func (r *runner) take(plan types.NamespacedName) (one *planRun, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one = r.runs[plan]
	if one == nil || !one.ended {
		return one, false
	}
	delete(r.runs, plan)
	return one, true
}

// busy reports whether a fabric has a run.
func (r *runner) busy(fabric types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.runs {
		if one.fabric == fabric {
			return true
		}
	}
	return false
}
