package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/approval"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
)

// retry is the delay before something that waits for others is tried again.
const retry = 10 * time.Second

// byPolicy is the approver of plans that the policy approves.
const byPolicy = "policy apply"

// maxOutcomes is the schema's limit for the list of devices.
const maxOutcomes = 100

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

// planOf returns the plan that an approval names.
func planOf(_ context.Context, o client.Object) []reconcile.Request {
	a, ok := o.(*v1alpha1.FabricPlanApproval)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: a.Namespace, Name: a.Spec.Plan}}}
}

// planReconciler carries out approved plans.
type planReconciler struct{ deps }

// Reconcile implements the controller.
func (r *planReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p, f := &v1alpha1.FabricPlan{}, &v1alpha1.Fabric{}
	// Bypass the cache, so that a finished plan is not mistaken for a running one.
	if err := r.direct.Get(ctx, req.NamespacedName, p); err != nil {
		if client.IgnoreNotFound(err) == nil {
			err = r.answerAll(ctx, req.Namespace, req.Name, "there is no FabricPlan "+req.Name)
		}
		return ctrl.Result{}, err
	}
	if err := r.direct.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.Fabric}, f); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !p.DeletionTimestamp.IsZero() || !f.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(p, f) {
		return ctrl.Result{}, nil // ignore plans that the operator did not make
	}
	switch phase := p.Status.Phase; {
	case final(phase):
		why := fmt.Sprintf("the plan is %s: %s", phase, p.Status.Message)
		return ctrl.Result{}, r.answerAll(ctx, p.Namespace, p.Name, why)
	case phase == v1alpha1.Pending:
		return r.start(ctx, f, p)
	case phase == v1alpha1.Applying:
		return r.carryOut(ctx, f, p)
	}
	return ctrl.Result{}, nil
}

// approvals returns the unanswered approvals of a plan.
func (r *planReconciler) approvals(ctx context.Context, namespace, plan string) (out []v1alpha1.FabricPlanApproval, _ error) {
	var l v1alpha1.FabricPlanApprovalList
	if err := r.List(ctx, &l, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(l.Items, func(a v1alpha1.FabricPlanApproval) bool { return a.Spec.Plan != plan || a.Status.Phase != "" }), nil
}

func (r *planReconciler) answer(ctx context.Context, a *v1alpha1.FabricPlanApproval, phase, message string) error {
	before := a.DeepCopy()
	a.Status.Phase, a.Status.Message = phase, shorten(message)
	kind := corev1.EventTypeNormal
	if phase == "Refused" {
		kind = corev1.EventTypeWarning
	}
	err := r.Status().Patch(ctx, a, client.MergeFrom(before))
	if err == nil {
		r.events.Eventf(a, nil, kind, "Approval"+phase, "Approve", "%s", a.Status.Message)
	}
	return client.IgnoreNotFound(err)
}

// answerAll rejects the unanswered approvals of a plan.
func (r *planReconciler) answerAll(ctx context.Context, namespace, plan, why string) error {
	all, err := r.approvals(ctx, namespace, plan)
	for i := range all {
		err = errors.Join(err, r.answer(ctx, &all[i], "Refused", why))
	}
	return err
}

// start starts an approved plan.
func (r *planReconciler) start(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) (ctrl.Result, error) {
	all, err := r.approvals(ctx, p.Namespace, p.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	by := ""
	for i := range all {
		a := &all[i]
		switch {
		case a.Spec.Digest != p.Spec.Digest:
			err = errors.Join(err, r.answer(ctx, a, "Refused", fmt.Sprintf("the approval is for digest %s, but the plan has digest %s", a.Spec.Digest, p.Spec.Digest)))
		case by == "":
			by = a.Name
		}
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if by == "" && f.Spec.Policy == v1alpha1.Apply {
		allow := qos.ImpactCounters
		if f.Spec.Allow != "" {
			allow = impactOf(f.Spec.Allow)
		}
		if impactOf(p.Spec.Impact) <= allow {
			by = byPolicy
		}
	}
	if by == "" {
		return ctrl.Result{}, r.say(ctx, p, unapproved) // set it again if the approval was deleted
	}
	if onHold(f) {
		return ctrl.Result{RequeueAfter: retry}, r.say(ctx, p, "approved; "+whyHeld)
	}
	store, err := r.store(f)
	if err != nil {
		return ctrl.Result{}, err
	}
	newest, err := newestRun(ctx, store)
	if err != nil {
		return ctrl.Result{}, err
	}
	// This fails if the plan has changed since it was read, for example if it was superseded.
	now := metav1.Now()
	p.Status.Phase, p.Status.ApprovedBy, p.Status.Started, p.Status.After = v1alpha1.Applying, by, &now, int64(newest.Number)
	p.Status.Message = "approved by " + by
	if err := r.Status().Update(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	for i := range all {
		if all[i].Spec.Digest == p.Spec.Digest {
			err = errors.Join(err, r.answer(ctx, &all[i], "Accepted", "the plan is being carried out"))
		}
	}
	r.events.Eventf(f, p, corev1.EventTypeNormal, "Applying", "Apply", "%s, approved by %s, digest %s", p.Name, by, p.Spec.Digest)
	return ctrl.Result{}, err
}

// onHold reports whether no run may start.
func onHold(f *v1alpha1.Fabric) bool {
	return f.Spec.Suspend || f.Spec.Policy != v1alpha1.Plan && f.Spec.Policy != v1alpha1.Apply
}

const whyHeld = "waits until the Fabric is not suspended and its policy is plan or apply"

// say updates the message of a plan.
func (r *planReconciler) say(ctx context.Context, p *v1alpha1.FabricPlan, message string) error {
	if p.Status.Message == message {
		return nil
	}
	before := p.DeepCopy()
	p.Status.Message = message
	return r.Status().Patch(ctx, p, client.MergeFrom(before))
}

// newestRun returns the newest journal of a store; its number is 0 if there is none.
func newestRun(ctx context.Context, s store.Store) (store.ID, error) {
	ids, err := s.Journals(ctx)
	if err != nil || len(ids) == 0 {
		return store.ID{}, err
	}
	return ids[len(ids)-1], nil
}

// wait is an error that says what a plan is waiting for.
type wait struct{ what string }

func (w *wait) Error() string { return w.what }

// carryOut carries out a plan, or resumes it if a replica was interrupted, and writes the result
// to its status. A replica that shuts down reverts the device being changed and leaves the rest
// to another replica.
func (r *planReconciler) carryOut(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) (ctrl.Result, error) {
	st, err := r.store(f)
	if err != nil {
		return ctrl.Result{}, err
	}
	res, err := r.run(ctx, f, p, st)
	waits := (*wait)(nil)
	switch {
	case errors.Is(err, store.ErrLost):
		return ctrl.Result{}, err // the new holder of the lock continues, and reports the result
	case ctx.Err() != nil:
		return ctrl.Result{}, r.interrupted(ctx, p)
	case errors.As(err, &waits):
		return ctrl.Result{RequeueAfter: retry}, r.say(ctx, p, "approved by "+p.Status.ApprovedBy+"; "+waits.what)
	case err != nil && res == nil && !errors.As(err, new(*fleet.Error)) && !errors.As(err, new(*intentError)):
		return ctrl.Result{}, err // nothing is known; the next attempt may succeed
	}
	all, runs, e := states(ctx, st, p, res)
	if e != nil {
		return ctrl.Result{}, errors.Join(err, e)
	}
	before := p.DeepCopy()
	now := metav1.Now()
	p.Status.Ended, p.Status.Runs, p.Status.Interrupted = &now, runs, false
	outcome(p, all, err)
	if err := r.Status().Patch(ctx, p, ifUnchanged(before)); apierrors.IsNotFound(err) {
		// The plan was probably deleted with its Fabric. The result is in the journal and in
		// this log line.
		log.FromContext(ctx).Info("the plan was deleted while it was carried out", "phase", p.Status.Phase, "message", p.Status.Message, "states", p.Status.States)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	kind := corev1.EventTypeNormal
	if p.Status.Phase != v1alpha1.Applied {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(f, p, kind, string(p.Status.Phase), "Apply", "%s: %s", p.Name, shorten(p.Status.Message))
	return ctrl.Result{}, nil
}

// ifUnchanged returns a patch that fails if the plan has changed, because this replica may have
// been stalled while another one continued.
func ifUnchanged(before *v1alpha1.FabricPlan) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// interrupted records that this replica is shutting down during a run, so that another one
// resumes it.
func (r *planReconciler) interrupted(ctx context.Context, p *v1alpha1.FabricPlan) error {
	why := context.Cause(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retry)
	defer cancel()
	before := p.DeepCopy()
	p.Status.Interrupted, p.Status.Message = true, "a replica ended; another one resumes"
	return errors.Join(why, r.Status().Patch(ctx, p, ifUnchanged(before)))
}

// run starts or resumes the run of a plan.
func (r *planReconciler) run(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan, st *journal.Secrets) (_ *fleet.Result, err error) {
	l, err := r.o.load(ctx, r.direct, f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	in := l.Fabric.Fabric()
	if in.Hash != p.Spec.Intent {
		return nil, wrong("the intent has changed since the plan was made")
	}
	switch begun, err := begun(ctx, st, p); {
	case err != nil:
		return nil, err
	case !begun:
		if err := r.stillApproved(ctx, f, p); err != nil {
			return nil, err
		}
	}
	switch _, busy, err := fleet.AtWork(st); {
	case err != nil:
		return nil, err
	case busy != nil:
		return nil, &wait{"waits: " + busy.Error()}
	}
	if err := fleet.InWindow(in, time.Now()); err != nil {
		return nil, &wait{"waits: " + err.Error()}
	}
	saved, err := openBody(ctx, st, p, l.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, saved.Close()) }()
	a := r.o.access(l)
	l.Hosts, _ = a.Reachable(l.Hosts)
	devices, _ := l.Devices(a)
	opts := fleet.ApplyOptions{
		RunOptions: fleet.RunOptions{
			Fabric: in, Store: st.Of(in.Name), Workers: r.o.Parallel, Writers: r.o.Parallel, Approver: approval.Of(in.Rollout.Approval, l.policy, "roce-fabric/"+r.o.Version),
			Gate: &fleet.Gate{Mode: gateOf(f), Fabric: l.Fabric, Access: a},
			DeviceLock: func(ctx context.Context, device string) (store.Lock, error) {
				return r.lockDevice(ctx, f, l, device, p.Name)
			},
		},
		Allow: impactOf(p.Spec.Impact), SkipUnreachable: true,
	}
	// Check again, because another replica may have worked until the locks were free.
	resumes, err := begun(ctx, st, p)
	if err != nil {
		return nil, err
	}
	var res *fleet.Result
	if resumes {
		res, err = r.resume(ctx, p, l, devices, saved, opts)
	} else {
		res, err = fleet.Apply(ctx, devices, saved, opts)
	}
	if errors.Is(err, store.ErrHeld) {
		return nil, &wait{"waits: " + err.Error()}
	}
	return res, err
}

// begun reports whether the run of a plan has started.
func begun(ctx context.Context, s store.Store, p *v1alpha1.FabricPlan) (bool, error) {
	newest, err := newestRun(ctx, s)
	return int64(newest.Number) > p.Status.After, err
}

// stillApproved returns an error if a run must not start, or not yet, because its approval has been
// withdrawn or the Fabric is on hold.
func (r *planReconciler) stillApproved(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) error {
	by := p.Status.ApprovedBy
	if by == byPolicy {
		if f.Spec.Policy == v1alpha1.Plan {
			return wrong("the policy is not apply any more")
		}
	} else if err := r.direct.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: by}, &v1alpha1.FabricPlanApproval{}); apierrors.IsNotFound(err) {
		return wrong("FabricPlanApproval %s was deleted before the run began", by)
	} else if err != nil {
		return err
	}
	if onHold(f) {
		return &wait{whyHeld}
	}
	return nil
}

func gateOf(f *v1alpha1.Fabric) fleet.GateMode {
	return cmp.Or(fleet.GateMode(f.Spec.Rollout.Gate), fleet.GateFull)
}

// openBody reads the body of a FabricPlan, which must be the approved one.
func openBody(ctx context.Context, st *journal.Secrets, p *v1alpha1.FabricPlan, dir string) (*fleet.PlanFile, error) {
	body, err := st.Body(ctx, p.Spec.Body.Name, int(p.Spec.Body.Parts), p.Spec.Body.SHA256)
	if err != nil {
		return nil, &intentError{err.Error()}
	}
	path := filepath.Join(dir, "plan")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		return nil, err
	}
	saved, err := fleet.OpenPlan(path)
	if err != nil {
		return nil, &intentError{err.Error()}
	}
	if saved.Digest != p.Spec.Digest {
		return nil, errors.Join(wrong("the plan in the Secrets has digest %s, but the approved digest is %s", saved.Digest, p.Spec.Digest), saved.Close())
	}
	return saved, nil
}

// resume continues an interrupted run: on devices that it had not reached, with exactly the
// approved steps; on devices that it was changing, with the remaining steps, within the approved
// impact.
func (r *planReconciler) resume(ctx context.Context, p *v1alpha1.FabricPlan, l *loaded, devices []fleet.Device, saved *fleet.PlanFile, opts fleet.ApplyOptions) (res *fleet.Result, err error) {
	in := l.Fabric.Fabric()
	past, left, err := fleet.Unfinished(opts.Store, in)
	if errors.As(err, new(*fleet.Error)) || err == nil && past.Ended && !p.Status.Interrupted {
		return nil, nil // the run has ended: its journal has the state of the devices
	}
	if err != nil {
		return nil, err
	}
	devices = slices.DeleteFunc(devices, func(d fleet.Device) bool { return !slices.Contains(left, d.Name) })
	history, _, err := fleet.OpenHistory(opts.Store)
	if err != nil {
		return nil, err
	}
	fresh, err := fleet.Prepare(ctx, devices, fleet.PlanOptions{Fabric: in, History: history, Workers: r.o.Parallel, Gate: opts.Gate.Mode, Tool: r.o.Version})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fresh.Close()) }()
	approved, err := stepsOf(saved)
	if err != nil {
		return nil, err
	}
	now, err := stepsOf(fresh)
	if err != nil {
		return nil, err
	}
	cutOff := map[string]bool{}
	for _, d := range past.Devices {
		cutOff[d.Name] = d.State == ""
	}
	for _, name := range natural.Keys(now) {
		if now[name] != "" && now[name] != approved[name] && !cutOff[name] {
			return nil, wrong("run %s was interrupted and %s has changed since the plan was made, so its plan is no longer valid", past.ID, name)
		}
	}
	return fleet.Apply(ctx, devices, fresh, opts)
}

// stepsOf returns the state and the steps of each device in a plan; "" for a device without
// steps.
func stepsOf(p *fleet.PlanFile) (map[string]string, error) {
	out := map[string]string{}
	for d, err := range p.Devices() {
		if err != nil {
			return nil, err
		}
		out[d.Name] = ""
		if len(d.Steps) == 0 {
			continue
		}
		b, err := json.Marshal(d.Steps)
		if err != nil {
			return nil, err
		}
		out[d.Name] = d.Base + "\n" + string(b)
	}
	return out, nil
}

// states returns the outcomes of a plan's devices, from the journals of its runs and from the
// last result, and the IDs of the runs.
func states(ctx context.Context, st *journal.Secrets, p *v1alpha1.FabricPlan, last *fleet.Result) (_ map[string]fleet.Outcome, runs []string, _ error) {
	ids, err := st.Journals(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		if int64(id.Number) > p.Status.After {
			runs = append(runs, id.Run)
		}
	}
	out := map[string]fleet.Outcome{}
	for past, err := range fleet.Runs(st) { // newest first
		if past == nil || !slices.Contains(runs, past.ID) {
			break
		}
		if err != nil && !errors.Is(err, store.ErrCutOff) { // ErrCutOff: the run wrote nothing
			return nil, nil, err
		}
		for _, d := range past.Devices {
			if _, ok := out[d.Name]; !ok {
				out[d.Name] = fleet.Outcome{Device: d.Name, State: d.State}
			}
		}
	}
	if last == nil {
		return out, runs, nil
	}
	for _, o := range last.Outcomes {
		if _, ok := out[o.Device]; !ok || o.State != fleet.Skipped {
			out[o.Device] = o
		}
	}
	return out, runs, nil
}

// outcome writes the result of a plan to its status.
func outcome(p *v1alpha1.FabricPlan, all map[string]fleet.Outcome, err error) {
	s := &p.Status
	s.States, s.Devices = map[string]int32{}, nil
	for _, name := range natural.Keys(all) {
		o := all[name]
		state := string(o.State)
		if state == "" {
			state = "cut-off"
		}
		s.States[state]++
		if o.State == fleet.Applied || o.State == fleet.Unchanged || len(s.Devices) == maxOutcomes {
			continue
		}
		out := v1alpha1.DeviceOutcome{Name: name, State: state}
		if o.Error != nil {
			out.Message = shorten(o.Error.Text)
		}
		s.Devices = append(s.Devices, out)
	}
	n := func(states ...fleet.State) (sum int32) {
		for _, state := range states {
			sum += s.States[string(state)]
		}
		return sum
	}
	good := n(fleet.Applied, fleet.Unchanged)
	bad := int32(len(all)) - good
	switch {
	case err == nil && bad == 0:
		s.Phase, s.Message = v1alpha1.Applied, "all devices are as intended"
	case n(fleet.Applied, fleet.Partial, fleet.Unsaved)+s.States["cut-off"] > 0:
		s.Phase, s.Message = v1alpha1.Partial, fmt.Sprintf("%d of %d devices are as intended", good, len(all))
	case n(fleet.Reverted) > 0:
		s.Phase, s.Message = v1alpha1.Reverted, "all devices are as they were before"
	case len(s.Runs) == 0 || n(fleet.Refused) > 0:
		s.Phase, s.Message = v1alpha1.Refused, "nothing was written"
	default:
		s.Phase, s.Message = v1alpha1.Failed, "nothing was written"
	}
	for _, o := range s.Devices {
		if o.Message != "" {
			s.Message += "; " + o.Name + ": " + o.Message
			break
		}
	}
	if err != nil {
		s.Message += "; " + err.Error()
	}
	s.Message = shorten(s.Message)
}
