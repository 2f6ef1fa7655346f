package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// fabricReconciler compares the devices of fabrics, as the readers report them, and plans
// changes. Only the elected replica runs it.
type fabricReconciler struct {
	deps
	pace pace
	// planned maps each fabric to the device state that its last plan was made for.
	mu      sync.Mutex
	planned map[types.NamespacedName]string
}

// interval returns the time between two validations.
func interval(f *v1alpha1.Fabric) time.Duration {
	if d := f.Spec.Interval.Duration; d > 0 {
		return d
	}
	return 5 * time.Minute
}

// settle is the shortest time between two comparisons of a fabric's devices, because readings
// arrive one by one.
const settle = 2 * time.Second

// pace holds when the devices of each fabric may be compared again.
type pace struct {
	mu   sync.Mutex
	next map[types.NamespacedName]time.Time
}

// wait returns how long a fabric has to wait for its next comparison.
func (p *pace) wait(key types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, time.Until(p.next[key]))
}

// ended records a comparison. The longer it took, the longer the wait for the next one.
func (p *pace) ended(key types.NamespacedName, begun time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next[key] = time.Now().Add(max(settle, 4*time.Since(begun)))
}

// Reconcile implements the controller.
func (r *fabricReconciler) Reconcile(ctx context.Context, req ctrl.Request) (out ctrl.Result, err error) {
	f := &v1alpha1.Fabric{}
	if err := r.Get(ctx, req.NamespacedName, f); err != nil {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !f.DeletionTimestamp.IsZero() {
		r.forget(req.NamespacedName)
		return r.finalize(ctx, f)
	}
	before := f.DeepCopy()
	defer func() {
		if err = errors.Join(err, r.patch(ctx, before, f)); err != nil {
			out = ctrl.Result{}
		}
	}()
	if f.Spec.Suspend {
		set(f, v1alpha1.Ready, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "spec.suspend is set: devices are left alone")
		f.Status.ObservedGeneration = f.Generation
		return ctrl.Result{}, nil
	}
	if wait := r.pace.wait(req.NamespacedName); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	begun := time.Now()
	err = r.look(ctx, f)
	r.pace.ended(req.NamespacedName, begun)
	f.Status.ObservedGeneration = f.Generation
	ready(f)
	return ctrl.Result{RequeueAfter: interval(f)}, err
}

// patch writes the status of a Fabric if it has changed, and sends the events about that.
func (r *fabricReconciler) patch(ctx context.Context, before, f *v1alpha1.Fabric) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // what was interrupted is no result
	}
	if equality.Semantic.DeepEqual(before.Status, f.Status) {
		return nil
	}
	now := f.DeepCopy()
	if err := r.Status().Patch(ctx, f, client.MergeFrom(before)); err != nil {
		return err
	}
	r.tell(before, now)
	return nil
}

// finalize removes the finalizer of a deleted Fabric once no run changes its devices; the
// controller of plans stops the run.
func (r *fabricReconciler) finalize(ctx context.Context, f *v1alpha1.Fabric) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(f, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if err := r.release(ctx, client.ObjectKeyFromObject(f)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: retry}, nil
}

// forget drops the state of a fabric.
func (r *fabricReconciler) forget(key types.NamespacedName) {
	r.pace.mu.Lock()
	delete(r.pace.next, key)
	r.pace.mu.Unlock()
	r.mu.Lock()
	delete(r.planned, key)
	r.mu.Unlock()
}

// look compares the devices of a fabric, plans for it, and writes the results to its status. It
// returns an error if another attempt may succeed.
func (r *fabricReconciler) look(ctx context.Context, f *v1alpha1.Fabric) (err error) {
	l, err := r.intents.get(ctx, f)
	if fault := (*intentError)(nil); errors.As(err, &fault) {
		set(f, v1alpha1.IntentValid, metav1.ConditionFalse, v1alpha1.ReasonInvalidIntent, fault.text)
		return nil
	}
	if err != nil {
		set(f, v1alpha1.IntentValid, metav1.ConditionUnknown, v1alpha1.ReasonNotRead, err.Error())
		return err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	in := l.Fabric.Fabric()
	f.Status.Intent = v1alpha1.IntentStatus{Fabric: in.Name, Digest: in.Hash, Revision: l.revision}
	set(f, v1alpha1.IntentValid, metav1.ConditionTrue, v1alpha1.ReasonValid, fmt.Sprintf("%s and %s", words.Plural(len(in.Switches), "switch", "switches"), words.Count(len(in.Hosts), "host")))

	plans, err := r.plans(ctx, f)
	if err != nil {
		return err
	}
	before := f.Status.LastRun
	f.Status.LastRun = lastRun(plans)
	if run := f.Status.LastRun; run != nil && (before == nil || !before.Ended.Equal(run.Ended)) {
		if err := r.prune(ctx, f); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "remove old journals", "fabric", f.Name) // the next run tries again
		}
	}
	s, err := r.observe(ctx, f, l)
	if err != nil {
		set(f, v1alpha1.Validated, metav1.ConditionFalse, v1alpha1.ReasonFailed, err.Error())
		return err
	}
	if s.waiting > 0 {
		of := len(s.devices) + s.waiting
		message := fmt.Sprintf("%d of %s compared with the intent", of-s.waiting, words.Count(of, "device"))
		if c := meta.FindStatusCondition(f.Status.Conditions, v1alpha1.Validated); c != nil && c.Reason == v1alpha1.ReasonValidating && time.Since(c.LastTransitionTime.Time) > late(f) {
			message += fmt.Sprintf("; this has taken more than %s: see the logs of the operator", late(f))
		}
		set(f, v1alpha1.Validated, metav1.ConditionFalse, v1alpha1.ReasonValidating, message)
		return nil
	}
	r.summarise(f, s)
	if err := r.report(ctx, f, l.loaded, s); err != nil {
		set(f, v1alpha1.Validated, metav1.ConditionFalse, v1alpha1.ReasonFailed, "cannot write the status of each device: "+err.Error())
		return err
	}
	if err := r.planFor(ctx, f, l, s, plans); err != nil {
		set(f, v1alpha1.Planned, metav1.ConditionFalse, v1alpha1.ReasonFailed, l.withoutFolder(err.Error()))
		return err
	}
	return nil
}

// keptRuns is the number of runs per fabric that remain available for inspection and rollback.
const keptRuns = 20

// prune removes the journals that are no longer needed.
func (r *fabricReconciler) prune(ctx context.Context, f *v1alpha1.Fabric) error {
	s, err := r.store(f)
	if err != nil {
		return err
	}
	old, err := fleet.Disposable(s, keptRuns)
	if err != nil || old == nil {
		return err
	}
	return s.Remove(ctx, old)
}

// summarise writes the results of a validation to the status.
func (r *fabricReconciler) summarise(f *v1alpha1.Fabric, s *seen) {
	st := &f.Status
	st.Verdict, st.Findings = verdict(s.findings), counts(s.findings)
	if !s.since.IsZero() {
		at := metav1.NewTime(s.since)
		st.LastValidation = &at
	}
	st.Devices, st.Reachable, st.Drifted = int32(len(s.devices)), 0, 0
	unread, why := 0, ""
	for _, name := range natural.Keys(s.devices) {
		d := s.devices[name].object.status
		if d.Message != "" {
			if unread++; why == "" {
				why = name + ": " + d.Message
			}
			continue
		}
		st.Reachable++
		if d.Drift > 0 {
			st.Drifted++
		}
	}
	switch {
	case st.Devices > 0 && st.Reachable == 0:
		st.Verdict = v1alpha1.Unreachable
		set(f, v1alpha1.Validated, metav1.ConditionFalse, v1alpha1.ReasonUnreachable, "no device answered: "+why)
	case unread > 0:
		set(f, v1alpha1.Validated, metav1.ConditionTrue, v1alpha1.ReasonInPart, fmt.Sprintf("%s could not be read: %s", words.Count(unread, "device"), why))
	default:
		set(f, v1alpha1.Validated, metav1.ConditionTrue, v1alpha1.ReasonValidated, words.Count(int(st.Devices), "device")+" compared with the intent")
	}
	switch {
	case st.Drifted > 0:
		set(f, v1alpha1.InSync, metav1.ConditionFalse, v1alpha1.ReasonDrifted, words.Plural(int(st.Drifted), "switch differs", "switches differ")+" from the intent")
	case st.Reachable < st.Devices:
		set(f, v1alpha1.InSync, metav1.ConditionUnknown, v1alpha1.ReasonNotRead, words.Count(unread, "device")+" could not be read")
	default:
		set(f, v1alpha1.InSync, metav1.ConditionTrue, v1alpha1.ReasonInSync, "no switch differs from the intent")
	}
}

// ready sets the condition Ready from the other conditions.
func ready(f *v1alpha1.Fabric) {
	for _, needed := range []struct{ kind, reason string }{
		{v1alpha1.IntentValid, v1alpha1.ReasonNotIntentValid}, {v1alpha1.Validated, v1alpha1.ReasonNotValidated}, {v1alpha1.InSync, v1alpha1.ReasonNotInSync},
	} {
		if c := meta.FindStatusCondition(f.Status.Conditions, needed.kind); c == nil || c.Status != metav1.ConditionTrue {
			why := "not checked yet"
			if c != nil {
				why = c.Message
			}
			set(f, v1alpha1.Ready, metav1.ConditionFalse, needed.reason, why)
			return
		}
	}
	if n := f.Status.Findings.Errors; n > 0 {
		set(f, v1alpha1.Ready, metav1.ConditionFalse, v1alpha1.ReasonFindings, words.Count(int(n), "finding")+" of severity error")
		return
	}
	set(f, v1alpha1.Ready, metav1.ConditionTrue, v1alpha1.ReasonReady, "the fabric runs as the intent says")
}

// set sets a condition of a Fabric.
func set(f *v1alpha1.Fabric, kind string, is metav1.ConditionStatus, reason, message string) {
	setCondition(&f.Status.Conditions, f.Generation, kind, is, reason, message)
}

// tell sends an event for each change of a condition and of the verdict.
func (r *fabricReconciler) tell(before, now *v1alpha1.Fabric) {
	for _, c := range now.Status.Conditions {
		was := meta.FindStatusCondition(before.Status.Conditions, c.Type)
		if was != nil && was.Status == c.Status && was.Reason == c.Reason {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Status != metav1.ConditionTrue {
			kind = corev1.EventTypeWarning
		}
		r.events.Eventf(now, nil, kind, c.Type+string(c.Status), "Reconcile", "%s: %s", c.Reason, shorten(c.Message))
	}
	if was, is := before.Status.Verdict, now.Status.Verdict; was != is && is != "" {
		if was == "" {
			was = v1alpha1.Unknown
		}
		r.events.Eventf(now, nil, corev1.EventTypeNormal, "Verdict", "Validate", "the verdict is %s, was %s", is, was)
	}
}
