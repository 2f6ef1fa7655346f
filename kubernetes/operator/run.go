package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/approval"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
)

// wait is an error that says what a plan is waiting for.
type wait struct{ what string }

func (w *wait) Error() string { return w.what }

// run starts or resumes the run of a plan.
func (r *planReconciler) run(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) (_ *fleet.Result, err error) {
	st, err := r.store(f)
	if err != nil {
		return nil, err
	}
	l, err := r.o.load(ctx, r.direct, f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	resumes, err := r.mayRun(ctx, f, p, l, st)
	if err != nil {
		return nil, err
	}
	saved, err := openBody(ctx, st, p, l.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, saved.Close()) }()
	opts := r.runOptions(f, p, l, st)
	l.Hosts, _ = opts.Gate.Access.Reachable(l.Hosts)
	devices, _ := l.Devices(opts.Gate.Access)
	var res *fleet.Result
	if resumes {
		res, err = r.resume(ctx, f, p, l, devices, saved, opts)
	} else {
		res, err = fleet.Apply(ctx, devices, saved, opts)
	}
	if errors.Is(err, store.ErrHeld) {
		return nil, &wait{"waits: " + err.Error()}
	}
	return res, err
}

// mayRun returns an error if the run of a plan must not start or resume, or not yet. resumes
// reports whether it has started before.
func (r *planReconciler) mayRun(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan, l *loaded, st *journal.Secrets) (resumes bool, err error) {
	in := l.Fabric.Fabric()
	if in.Hash != p.Spec.Intent {
		return false, wrong("the intent has changed since the plan was made")
	}
	if resumes, err = begun(ctx, st, p); err == nil && !resumes {
		err = r.stillApproved(ctx, f, p)
	}
	if err != nil {
		return false, err
	}
	switch _, busy, err := fleet.AtWork(st); {
	case err != nil:
		return false, err
	case busy != nil:
		return false, &wait{"waits: " + busy.Error()}
	}
	switch err := fleet.InWindow(in, time.Now()); {
	case err != nil && !f.DeletionTimestamp.IsZero():
		return false, errors.Join(errFabricDeleted, err) // do not keep the Fabric until the next window
	case err != nil:
		return false, &wait{"waits: " + err.Error()}
	}
	// Check again, because another replica may have worked until the locks were free.
	return begun(ctx, st, p)
}

// runOptions returns the options of a plan's run.
func (r *planReconciler) runOptions(f *v1alpha1.Fabric, p *v1alpha1.FabricPlan, l *loaded, st *journal.Secrets) fleet.ApplyOptions {
	in := l.Fabric.Fabric()
	return fleet.ApplyOptions{
		RunOptions: fleet.RunOptions{
			Fabric: in, Store: st.Of(in.Name), Workers: r.o.Parallel, Writers: r.o.Parallel, Approver: approval.Of(in.Rollout.Approval, l.policy, "roce-fabric/"+r.o.Version),
			Gate: &fleet.Gate{Mode: gateOf(f), Fabric: l.Fabric, Access: r.o.access(l)},
			DeviceLock: func(ctx context.Context, device string) (store.Lock, error) {
				return r.lockDevice(ctx, f, l, device, p.Name)
			},
		},
		Allow: impactOf(p.Spec.Impact), SkipUnreachable: true,
	}
}

// begun reports whether the run of a plan has started.
func begun(ctx context.Context, s store.Store, p *v1alpha1.FabricPlan) (bool, error) {
	newest, err := newestRun(ctx, s)
	return int64(newest.Number) > p.Status.After, err
}

// stillApproved returns an error if a run must not start, or not yet, because its approval has
// been withdrawn or the Fabric is on hold.
func (r *planReconciler) stillApproved(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan) error {
	by := p.Status.ApprovedBy
	if !f.DeletionTimestamp.IsZero() {
		return errFabricDeleted
	}
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
// impact. If the Fabric is deleted, it continues only on the latter, and returns an error besides
// the result.
func (r *planReconciler) resume(ctx context.Context, f *v1alpha1.Fabric, p *v1alpha1.FabricPlan, l *loaded, devices []fleet.Device, saved *fleet.PlanFile, opts fleet.ApplyOptions) (res *fleet.Result, err error) {
	in := l.Fabric.Fabric()
	past, left, err := fleet.Unfinished(opts.Store, in)
	if errors.As(err, new(*fleet.Error)) || err == nil && past.Ended && !p.Status.Interrupted {
		return nil, nil // the run has ended: its journal has the state of the devices
	}
	if err != nil {
		return nil, err
	}
	cutOff := map[string]bool{}
	for _, d := range past.Devices {
		cutOff[d.Name] = d.State == ""
	}
	devices = slices.DeleteFunc(devices, func(d fleet.Device) bool {
		return !slices.Contains(left, d.Name) || !f.DeletionTimestamp.IsZero() && !cutOff[d.Name]
	})
	if len(devices) == 0 {
		return nil, errFabricDeleted
	}
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
	for _, name := range natural.Keys(now) {
		if now[name] != "" && now[name] != approved[name] && !cutOff[name] {
			return nil, wrong("run %s was interrupted and %s has changed since the plan was made, so its plan is no longer valid", past.ID, name)
		}
	}
	if res, err = fleet.Apply(ctx, devices, fresh, opts); err == nil && !f.DeletionTimestamp.IsZero() {
		err = errFabricDeleted
	}
	return res, err
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
