package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// retry is the delay before something that waits for others is tried again.
const retry = 10 * time.Second

// byPolicy is the approver of plans that the policy approves.
const byPolicy = "policy apply"

// planEnded passes events in which a plan reaches its end.
var planEnded = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		p, ok := e.ObjectNew.(*v1alpha1.FabricPlan)
		return ok && final(p.Status.Phase) && !final(e.ObjectOld.(*v1alpha1.FabricPlan).Status.Phase)
	},
}

// phaseChanged passes plans that are new, deleted, or in another phase, but not those whose
// message has changed, because that would try again at once what a plan waits for.
var phaseChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*v1alpha1.FabricPlan), e.ObjectNew.(*v1alpha1.FabricPlan)
		return was.Status.Phase != is.Status.Phase || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
	},
}

// approvalsByPlan is the index of approvals by the plan that they name.
const approvalsByPlan = "spec.plan"

// planNamed returns the plan that an approval names, as the values of the index.
func planNamed(o client.Object) []string {
	if a, ok := o.(*v1alpha1.FabricPlanApproval); ok {
		return []string{a.Spec.Plan}
	}
	return nil
}

// planOf returns the plan that an approval names, as a request.
func planOf(_ context.Context, o client.Object) (out []reconcile.Request) {
	for _, name := range planNamed(o) {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	return out
}

// plansToStop returns the plans of a deleted Fabric that are being carried out.
func (r *planReconciler) plansToStop(ctx context.Context, o client.Object) (out []reconcile.Request) {
	f, ok := o.(*v1alpha1.Fabric)
	if !ok || f.DeletionTimestamp.IsZero() {
		return nil
	}
	all, err := r.plans(ctx, f)
	if err != nil {
		log.FromContext(ctx).Error(err, "list the plans of a Fabric")
	}
	for _, p := range all {
		if p.Status.Phase == v1alpha1.Applying {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&p)})
		}
	}
	return out
}

// planReconciler starts the runs of approved plans and writes their results.
type planReconciler struct{ deps }

// Reconcile implements the controller.
func (r *planReconciler) Reconcile(ctx context.Context, req ctrl.Request) (out ctrl.Result, err error) {
	p, f := &v1alpha1.FabricPlan{}, &v1alpha1.Fabric{}
	// Bypass the cache, so that a finished plan is not mistaken for a running one.
	if err := r.direct.Get(ctx, req.NamespacedName, p); apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.deleted(ctx, req.NamespacedName)
	} else if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.direct.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.Fabric}, f); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !p.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(p, f) {
		return ctrl.Result{}, nil // ignore plans that the operator did not make
	}
	before := p.DeepCopy()
	defer func() {
		if err = errors.Join(err, r.patch(ctx, f, before, p)); err != nil {
			out = ctrl.Result{}
		}
	}()
	switch phase := p.Status.Phase; {
	case final(phase):
		_, err := r.answer(ctx, p)
		if controllerutil.ContainsFinalizer(f, v1alpha1.Finalizer) {
			err = errors.Join(err, r.release(ctx, client.ObjectKeyFromObject(f)))
		}
		return ctrl.Result{}, err
	case phase == v1alpha1.Pending && f.DeletionTimestamp.IsZero():
		return r.start(ctx, f, p)
	case phase == v1alpha1.Applying:
		return r.carryOut(ctx, f, p)
	}
	return ctrl.Result{}, nil
}

// patch writes the status of a plan if it has changed. It fails if someone else has changed the
// plan, because this replica may have been stalled while another one continued.
func (r *planReconciler) patch(ctx context.Context, f *v1alpha1.Fabric, before, p *v1alpha1.FabricPlan) error {
	setPlanConditions(p)
	if equality.Semantic.DeepEqual(before.Status, p.Status) {
		return nil
	}
	phase, message := p.Status.Phase, p.Status.Message
	if err := r.Status().Patch(ctx, p, ifUnchanged(before)); apierrors.IsNotFound(err) {
		log.FromContext(ctx).Info("the plan was deleted while it was carried out", "phase", phase, "message", message, "states", p.Status.States)
		return nil
	} else if err != nil {
		return err
	}
	kind := corev1.EventTypeNormal
	switch {
	case before.Status.Phase == phase:
		return nil
	case phase != v1alpha1.Applying && phase != v1alpha1.Applied:
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(f, p, kind, string(phase), "Apply", "%s: %s, digest %s", p.Name, shorten(message), p.Spec.Digest)
	return nil
}

// ifUnchanged returns a patch that fails if the plan has changed.
func ifUnchanged(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// deleted stops the run of a deleted plan, and refuses the approvals that name it.
func (r *planReconciler) deleted(ctx context.Context, plan types.NamespacedName) error {
	run, ended := r.runs.take(plan)
	if run != nil && !ended {
		run.stop(planDeleted(plan.Name))
	}
	all, err := r.approvals(ctx, plan)
	if ended {
		log.FromContext(ctx).Info("the plan was deleted while it was carried out; the journal has the state of the devices", "plan", plan, "result", fmt.Sprint(run.err))
		err = errors.Join(err, r.release(ctx, run.fabric))
	}
	for i := range all {
		err = errors.Join(err, r.refuse(ctx, &all[i], v1alpha1.ReasonNoPlan, "there is no FabricPlan "+plan.Name))
	}
	return err
}

// approvals returns the unanswered approvals that name a plan.
func (r *planReconciler) approvals(ctx context.Context, plan types.NamespacedName) (out []v1alpha1.FabricPlanApproval, _ error) {
	var l v1alpha1.FabricPlanApprovalList
	if err := r.List(ctx, &l, client.InNamespace(plan.Namespace), client.MatchingFields{approvalsByPlan: plan.Name}); err != nil {
		return nil, err
	}
	for _, a := range l.Items {
		if a.Status.Phase == "" {
			out = append(out, a)
		}
	}
	return out, nil
}

// answer answers the approvals of a plan: it refuses those for another digest or of an ended
// plan, and accepts the others once the plan is carried out. Until then, it returns the name of
// the first of them.
func (r *planReconciler) answer(ctx context.Context, p *v1alpha1.FabricPlan) (first string, _ error) {
	all, err := r.approvals(ctx, client.ObjectKeyFromObject(p))
	for i := range all {
		a := &all[i]
		switch {
		case final(p.Status.Phase):
			err = errors.Join(err, r.refuse(ctx, a, v1alpha1.ReasonPlanEnded, fmt.Sprintf("the plan is %s: %s", p.Status.Phase, p.Status.Message)))
		case a.Spec.Digest != p.Spec.Digest:
			err = errors.Join(err, r.refuse(ctx, a, v1alpha1.ReasonOtherDigest, fmt.Sprintf("the approval is for digest %s, but the plan has digest %s", a.Spec.Digest, p.Spec.Digest)))
		case p.Status.Phase == v1alpha1.Applying:
			err = errors.Join(err, r.reply(ctx, a, v1alpha1.ApprovalAccepted, v1alpha1.ReasonAccepted, "the plan is being carried out"))
		case first == "":
			first = a.Name
		}
	}
	return first, err
}

// refuse refuses an approval.
func (r *planReconciler) refuse(ctx context.Context, a *v1alpha1.FabricPlanApproval, reason, message string) error {
	return r.reply(ctx, a, v1alpha1.ApprovalRefused, reason, message)
}

// reply writes the answer to an approval.
func (r *planReconciler) reply(ctx context.Context, a *v1alpha1.FabricPlanApproval, phase v1alpha1.ApprovalPhase, reason, message string) error {
	before := a.DeepCopy()
	a.Status.Phase, a.Status.Message = phase, shorten(message)
	accepted, kind := metav1.ConditionTrue, corev1.EventTypeNormal
	if phase == v1alpha1.ApprovalRefused {
		accepted, kind = metav1.ConditionFalse, corev1.EventTypeWarning
	}
	setCondition(&a.Status.Conditions, a.Generation, v1alpha1.Accepted, accepted, reason, message)
	err := r.Status().Patch(ctx, a, client.MergeFrom(before))
	if err == nil {
		r.events.Eventf(a, nil, kind, "Approval"+string(phase), "Approve", "%s", a.Status.Message)
	}
	return client.IgnoreNotFound(err)
}

// start sets a pending plan to Applying once it is approved and its Fabric is not on hold.
func (r *planReconciler) start(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) (ctrl.Result, error) {
	by, err := r.answer(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	if by == "" && policyApproves(f, p) {
		by = byPolicy
	}
	switch {
	case by == "":
		p.Status.Message = unapproved // set it again if the approval was deleted
		return ctrl.Result{}, nil
	case onHold(f):
		p.Status.Message = "approved; " + whyHeld
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	st, err := r.store(f)
	if err != nil {
		return ctrl.Result{}, err
	}
	newest, err := newestRun(ctx, st)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := metav1.Now()
	p.Status.Phase, p.Status.ApprovedBy, p.Status.Started, p.Status.After = v1alpha1.Applying, by, &now, int64(newest.Number)
	p.Status.Message = "approved by " + by
	return ctrl.Result{}, nil
}

// policyApproves reports whether the policy of a Fabric approves a plan.
func policyApproves(f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) bool {
	allow := qos.ImpactCounters
	if f.Spec.Allow != "" {
		allow = impactOf(f.Spec.Allow)
	}
	return f.Spec.Policy == v1alpha1.Apply && impactOf(p.Spec.Impact) <= allow
}

// onHold reports whether no run may start.
func onHold(f *v1alpha1.Fabric) bool {
	return f.Spec.Suspend || f.Spec.Policy != v1alpha1.Plan && f.Spec.Policy != v1alpha1.Apply
}

const whyHeld = "waits until the Fabric is not suspended and its policy is plan or apply"

// newestRun returns the newest journal of a store; its number is 0 if there is none.
func newestRun(ctx context.Context, s store.Store) (store.ID, error) {
	ids, err := s.Journals(ctx)
	if err != nil || len(ids) == 0 {
		return store.ID{}, err
	}
	return ids[len(ids)-1], nil
}

// carryOut starts the run of a plan, or resumes it after a replica was interrupted, and writes
// the result to the status once the run has ended. If the Fabric is deleted, it stops the run.
func (r *planReconciler) carryOut(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) (ctrl.Result, error) {
	if _, err := r.answer(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	run, ended := r.runs.take(client.ObjectKeyFromObject(p))
	mine := run != nil && run.plan.UID == p.UID // otherwise an earlier plan had the name
	switch {
	case ended && mine:
		return r.finish(ctx, f, p, run)
	case run != nil && !ended:
		if !mine {
			run.stop(planDeleted(p.Name))
		} else if !f.DeletionTimestamp.IsZero() {
			run.stop(errFabricDeleted)
		}
		return ctrl.Result{}, nil // the end of the run calls this again
	}
	if err := r.hold(ctx, f); err != nil {
		return ctrl.Result{}, err
	}
	if !r.runs.start(f, p) {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	return ctrl.Result{}, nil
}

// errFabricDeleted stops the run of a deleted Fabric.
var errFabricDeleted = wrong("the Fabric was deleted")

// planDeleted returns the error that stops the run of a deleted plan.
func planDeleted(name string) error { return wrong("FabricPlan %s was deleted", name) }

// finish writes the result of a run to the status of its plan, or what the run waits for.
func (r *planReconciler) finish(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan, run *planRun) (ctrl.Result, error) {
	err, waits := run.err, (*wait)(nil)
	switch {
	case errors.As(err, &waits):
		p.Status.Message = "approved by " + p.Status.ApprovedBy + "; " + waits.what
		return ctrl.Result{RequeueAfter: retry}, nil
	case errors.Is(err, store.ErrLost), err != nil && run.res == nil && !errors.As(err, new(*fleet.Error)) && !errors.As(err, new(*intentError)):
		return ctrl.Result{}, err // nothing is known; the next attempt resumes the run
	}
	st, e := r.store(f)
	if e != nil {
		return ctrl.Result{}, errors.Join(err, e)
	}
	all, runs, e := states(ctx, st, p, run.res)
	if e != nil {
		return ctrl.Result{}, errors.Join(err, e)
	}
	now := metav1.Now()
	p.Status.Ended, p.Status.Runs, p.Status.Interrupted = &now, runs, false
	outcome(p, all, err)
	return ctrl.Result{}, nil
}

// interrupted records that this replica is shutting down during a run, so that another one
// resumes it.
func (r *planReconciler) interrupted(ctx context.Context, run *v1alpha1.FabricPlan) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retry)
	defer cancel()
	for {
		p := &v1alpha1.FabricPlan{}
		if err := r.direct.Get(ctx, client.ObjectKeyFromObject(run), p); err != nil {
			return client.IgnoreNotFound(err)
		}
		if p.UID != run.UID || p.Status.Phase != v1alpha1.Applying {
			return nil
		}
		before := p.DeepCopy()
		p.Status.Interrupted, p.Status.Message = true, "a replica ended; another one resumes"
		setPlanConditions(p)
		if err := r.Status().Patch(ctx, p, ifUnchanged(before)); !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
}

// hold reads a Fabric again and adds the finalizer, so that its intent and its credentials exist
// until the run has ended.
func (r *planReconciler) hold(ctx context.Context, f *v1alpha1.Fabric) error {
	r.runs.finalizers.Lock()
	defer r.runs.finalizers.Unlock()
	uid := f.UID
	if err := r.direct.Get(ctx, client.ObjectKeyFromObject(f), f); err != nil {
		return err
	}
	if f.UID != uid {
		return fmt.Errorf("the Fabric %s is another one now", f.Name)
	}
	before := f.DeepCopy()
	if !f.DeletionTimestamp.IsZero() || !controllerutil.AddFinalizer(f, v1alpha1.Finalizer) {
		return nil
	}
	return r.Patch(ctx, f, ifUnchanged(before))
}

// release removes the finalizer of a Fabric, unless one of its plans is being carried out.
func (d *deps) release(ctx context.Context, fabric types.NamespacedName) error {
	d.runs.finalizers.Lock()
	defer d.runs.finalizers.Unlock()
	f, l := &v1alpha1.Fabric{}, &v1alpha1.FabricPlanList{}
	if err := d.direct.Get(ctx, fabric, f); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := f.DeepCopy()
	if d.runs.busy(fabric) || !controllerutil.RemoveFinalizer(f, v1alpha1.Finalizer) {
		return nil
	}
	if err := d.direct.List(ctx, l, client.InNamespace(f.Namespace), client.MatchingLabels{labelFabric: f.Name}); err != nil {
		return err
	}
	for _, p := range l.Items {
		if p.Status.Phase == v1alpha1.Applying && metav1.IsControlledBy(&p, f) {
			return nil
		}
	}
	return client.IgnoreNotFound(d.direct.Patch(ctx, f, ifUnchanged(before)))
}
