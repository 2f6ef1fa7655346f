package operator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
	"github.com/roce-fabric/roce-fabric/report"
)

// Limits of a FabricPlan, as in its schema.
const (
	maxPlanned  = 500
	maxChanges  = 20
	maxPlanText = 64 << 10
)

// unapproved is the message of a plan without an approval.
const unapproved = "waits for a FabricPlanApproval that names it and its digest"

// final reports whether a plan has ended.
func final(p v1alpha1.PlanPhase) bool {
	return p != "" && p != v1alpha1.Pending && p != v1alpha1.Applying
}

// plans returns the plans of a fabric.
func (d *deps) plans(ctx context.Context, f *v1alpha1.Fabric) ([]v1alpha1.FabricPlan, error) {
	var l v1alpha1.FabricPlanList
	err := d.List(ctx, &l, client.InNamespace(f.Namespace), client.MatchingLabels{labelFabric: f.Name})
	return l.Items, err
}

// planFor makes the plan that brings a fabric to its intent, as its policy says. Because
// planning reads the devices, it plans only if the devices or their wanted configuration have
// changed since the last plan.
func (r *fabricReconciler) planFor(ctx context.Context, f *v1alpha1.Fabric, l *inUse, s *seen, all []v1alpha1.FabricPlan) (err error) {
	if slices.ContainsFunc(all, func(p v1alpha1.FabricPlan) bool { return p.Status.Phase == v1alpha1.Applying }) {
		return nil // a plan made during a run would be outdated
	}
	if f.Spec.Policy == v1alpha1.Observe || f.Spec.Policy == "" {
		f.Status.Plan = nil
		return r.supersede(ctx, f, all, "", "the policy is observe")
	}
	of := plannedOf(f, l, s)
	if r.isPlanned(f, of, all) {
		return nil
	}
	defer func() {
		if err == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.planned[client.ObjectKeyFromObject(f)] = of
		}
	}()
	st, err := r.store(f)
	if err != nil {
		return err
	}
	in := l.Fabric.Fabric()
	past, _, err := fleet.OpenHistory(st.Of(in.Name))
	if err != nil {
		return err
	}
	a := r.o.access(l.loaded)
	devices, _ := l.Devices(a)
	devices = slices.DeleteFunc(devices, func(d fleet.Device) bool { h := in.Host(d.Name); return h != nil && a.Lacks(h) != "" })
	p, err := fleet.Prepare(ctx, devices, fleet.PlanOptions{Fabric: in, History: past, Workers: r.o.Parallel, Gate: gateOf(f), Tool: r.o.Version})
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	spec, faults, err := planSpec(f, l.loaded, p)
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		set(f, v1alpha1.Planned, metav1.ConditionFalse, v1alpha1.ReasonNotPlanned, faults[0]+more(len(faults)-1))
		f.Status.Plan = nil
		return r.supersede(ctx, f, all, "", "a device cannot be planned any more")
	case spec.Changes == 0:
		set(f, v1alpha1.Planned, metav1.ConditionTrue, v1alpha1.ReasonNothingToDo, "the fabric is as intended")
		f.Status.Plan = nil
		return r.supersede(ctx, f, all, "", "the fabric is as intended")
	}
	kept, err := r.keepPlan(ctx, f, l.loaded, spec, p, st, all)
	if err != nil {
		return err
	}
	f.Status.Plan = &v1alpha1.PlanReference{Name: kept.Name, Digest: kept.Spec.Digest, Impact: kept.Spec.Impact, Changes: kept.Spec.Changes}
	set(f, v1alpha1.Planned, metav1.ConditionTrue, v1alpha1.ReasonPlanned, fmt.Sprintf("%s changes %s, impact %s, digest %s", kept.Name, words.Count(int(kept.Spec.Changes), "device"), kept.Spec.Impact, kept.Spec.Digest))
	return r.supersede(ctx, f, all, kept.Name, "a newer plan is "+kept.Name)
}

// plannedOf identifies the inputs of a plan.
func plannedOf(f *v1alpha1.Fabric, l *inUse, s *seen) string {
	ended := ""
	if run := f.Status.LastRun; run != nil {
		ended = run.Ended.String()
	}
	return fmt.Sprint(f.UID, f.Generation, l.Fabric.Fabric().Hash, s.state, ended)
}

// isPlanned reports whether a fabric's current state has been planned for, and the plan, if any,
// is still pending.
func (r *fabricReconciler) isPlanned(f *v1alpha1.Fabric, of string, all []v1alpha1.FabricPlan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.planned[client.ObjectKeyFromObject(f)] == of && (f.Status.Plan == nil ||
		slices.ContainsFunc(all, func(p v1alpha1.FabricPlan) bool {
			return p.Name == f.Status.Plan.Name && p.Status.Phase == v1alpha1.Pending
		}))
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d more)", n)
}

// lastRun returns the status of the plan that ended last after it had started.
func lastRun(all []v1alpha1.FabricPlan) (out *v1alpha1.RunStatus) {
	for _, p := range all {
		if s := p.Status; s.Started != nil && s.Ended != nil && (out == nil || out.Ended.Before(s.Ended)) {
			out = &v1alpha1.RunStatus{Plan: p.Name, Phase: s.Phase, Ended: s.Ended}
			if n := len(s.Runs); n > 0 {
				out.Run = s.Runs[n-1]
			}
		}
	}
	return out
}

// planSpec converts a plan to the spec of a FabricPlan, without its body. faults lists the
// devices that prevent the plan; unreachable devices are left out instead.
func planSpec(f *v1alpha1.Fabric, l *loaded, p *fleet.PlanFile) (spec v1alpha1.FabricPlanSpec, faults []string, _ error) {
	spec = v1alpha1.FabricPlanSpec{Fabric: f.Name, Intent: p.Intent, Digest: p.Digest, Waves: int32(len(p.Rollout.Waves))}
	most := p.Rollout.Impact()
	for d, err := range p.Devices() {
		switch {
		case err != nil:
			return spec, nil, err
		case d.Error != nil && d.Kind != fleet.KindUnreachable:
			faults = append(faults, l.withoutFolder(d.Name+": "+d.Text))
			continue
		case d.Error != nil || len(d.Steps) == 0:
			continue
		}
		spec.Changes++
		most = max(most, d.Impact())
		if len(spec.Devices) == maxPlanned {
			continue
		}
		one := v1alpha1.PlannedDevice{Name: d.Name, Impact: v1alpha1.Impact(d.Impact().String()), Count: int32(len(d.Changes)), Steps: int32(len(d.Steps))}
		for _, g := range d.Changes {
			if g.Blocked != "" && !g.Open && one.Blocked == "" {
				one.Blocked = shorten(l.withoutFolder(g.Blocked))
			}
			if len(one.Changes) < maxChanges {
				one.Changes = append(one.Changes, shorten(l.withoutFolder(changeText(g))))
			}
		}
		spec.Devices = append(spec.Devices, one)
	}
	spec.Impact = v1alpha1.Impact(most.String())
	return spec, faults, nil
}

// changeText formats a change as "Ethernet[0-8:8] pfc: {3} -> {3,4}".
func changeText(g fleet.Group) string {
	text := fmt.Sprintf("%s: %s -> %s", g.Title(), g.Old, g.New)
	if len(g.Ports) > 0 {
		text = natural.Fold(g.Ports) + " " + text
	}
	return text
}

// planText returns a plan as 'roce-fabric plan show' prints it. A text that is too long ends
// with a line that says so.
func planText(l *loaded, p *fleet.PlanFile) (string, error) {
	var out bytes.Buffer
	c := report.Console{Out: &out, Err: io.Discard, Getenv: func(string) string { return "" }, Output: "text"}
	if _, err := c.Plan(report.ShownPlan(p), report.PlanView{}); err != nil {
		return "", err
	}
	return cutLines(l.withoutFolder(out.String()), maxPlanText), nil
}

// cutLines removes the last lines of a text that has more than most bytes, and appends a line
// with their number.
func cutLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const cut = "... %d more lines\n"
	end := strings.LastIndexByte(text[:most-len(cut)-16], '\n') + 1
	return text[:end] + fmt.Sprintf(cut, strings.Count(text[end:], "\n"))
}

// keepPlan returns the FabricPlan of a plan: the pending one with the same digest, or a new one
// with its body in Secrets.
func (r *fabricReconciler) keepPlan(ctx context.Context, f *v1alpha1.Fabric, l *loaded, spec v1alpha1.FabricPlanSpec, p *fleet.PlanFile, store *journal.Secrets, all []v1alpha1.FabricPlan) (*v1alpha1.FabricPlan, error) {
	names := map[string]bool{}
	for i := range all {
		have := &all[i]
		names[have.Name] = true
		if have.Spec.Digest != spec.Digest || have.Spec.Intent != spec.Intent {
			continue
		}
		switch have.Status.Phase {
		case v1alpha1.Pending:
			return have, nil
		case "": // its body may be incomplete
			if err := r.Delete(ctx, have); client.IgnoreNotFound(err) != nil {
				return nil, err
			}
		}
	}
	text, err := planText(l, p)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(r.o.Dir, fmt.Sprintf("plan-%s-%s", f.UID, spec.Digest[:16]))
	if r.o.Dir == "" {
		path = filepath.Join(os.TempDir(), filepath.Base(path))
	}
	if err := p.Save(path, nil); err != nil {
		return nil, err
	}
	body, err := os.ReadFile(path)
	if err := errors.Join(err, os.Remove(path)); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	base := f.Name + "-" + spec.Digest[:12]
	name := base
	for n := 2; names[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	spec.Body = v1alpha1.PlanBody{Name: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(body)), Parts: int32(journal.Parts(body))}
	out := &v1alpha1.FabricPlan{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name, Labels: map[string]string{labelFabric: f.Name}}, Spec: spec}
	if err := controllerutil.SetControllerReference(f, out, r.Scheme()); err != nil {
		return nil, err
	}
	if err := r.Create(ctx, out); err != nil {
		return nil, err
	}
	owner := *metav1.NewControllerRef(out, v1alpha1.GroupVersion.WithKind("FabricPlan"))
	if _, err := store.SaveBody(ctx, name, body, owner); err != nil {
		return nil, err
	}
	before := out.DeepCopy()
	out.Status.Phase, out.Status.Message, out.Status.Text = v1alpha1.Pending, unapproved, text
	setPlanConditions(out)
	if err := r.Status().Patch(ctx, out, client.MergeFrom(before)); err != nil {
		return nil, err
	}
	r.events.Eventf(f, out, corev1.EventTypeNormal, "Planned", "Plan", "%s changes %s, impact %s, digest %s", name, words.Count(int(spec.Changes), "device"), spec.Impact, spec.Digest)
	return out, nil
}

// supersede ends all pending plans except but, and deletes the oldest ended ones.
func (r *fabricReconciler) supersede(ctx context.Context, f *v1alpha1.Fabric, all []v1alpha1.FabricPlan, but, why string) error {
	var errs []error
	var over []v1alpha1.FabricPlan
	for i := range all {
		p := &all[i]
		if final(p.Status.Phase) {
			over = append(over, *p)
		}
		if p.Name == but {
			continue
		}
		if p.Status.Phase == "" { // its creation was interrupted
			errs = append(errs, client.IgnoreNotFound(r.Delete(ctx, p)))
		}
		if p.Status.Phase != v1alpha1.Pending {
			continue
		}
		// This fails if the plan has been approved since it was read, because it is then in
		// progress.
		p.Status.Phase, p.Status.Message = v1alpha1.Superseded, why
		now := metav1.Now()
		p.Status.Ended = &now
		setPlanConditions(p)
		if err := r.Status().Update(ctx, p); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	slices.SortFunc(over, func(a, b v1alpha1.FabricPlan) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for i := range over[:max(0, len(over)-keptPlans)] {
		errs = append(errs, client.IgnoreNotFound(r.Delete(ctx, &over[i])))
	}
	return errors.Join(errs...)
}

// keptPlans is the number of ended plans kept per fabric.
const keptPlans = 20

// impactOf parses an impact; an unknown value counts as no impact.
func impactOf(i v1alpha1.Impact) (out qos.Impact) {
	_ = out.UnmarshalText([]byte(i))
	return out
}
