package operator_test

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// Each role can do its own tasks, and the other roles cannot: only approvers can approve, and
// only the operator can create plans, write device statuses or read Secrets.
func TestRights(t *testing.T) {
	b := newBench(t)
	digest := strings.Repeat("0", 64)
	plan := v1alpha1.FabricPlanSpec{Fabric: "pod1", Intent: digest, Digest: digest, Impact: "none", Body: v1alpha1.PlanBody{Name: "b", SHA256: digest}}
	approval := func() client.Object {
		return &v1alpha1.FabricPlanApproval{ObjectMeta: b.meta("new"), Spec: v1alpha1.FabricPlanApprovalSpec{Plan: "pod1", Digest: digest}}
	}
	is := func(o client.Object) func(client.Client) error {
		return func(c client.Client) error { return c.Create(t.Context(), o, client.DryRunAll) }
	}
	there := &v1alpha1.FabricPlan{ObjectMeta: b.meta("there"), Spec: plan}
	b.create(there)
	allowed := map[string]struct {
		do  func(client.Client) error
		may string
	}{
		"approve":             {is(approval()), "approver"},
		"make a plan":         {is(&v1alpha1.FabricPlan{ObjectMeta: b.meta("new"), Spec: plan}), "operator"},
		"say how a device is": {is(&v1alpha1.SwitchStatus{ObjectMeta: b.meta("new")}), "operator"},
		"make a Secret":       {is(&corev1.Secret{ObjectMeta: b.meta("new")}), "operator"},
		"make a Fabric":       {is(&v1alpha1.Fabric{ObjectMeta: b.meta("new"), Spec: v1alpha1.FabricSpec{Intent: v1alpha1.IntentSource{Inline: "x"}}}), "editor"},
		"keep a Fabric": {func(c client.Client) error {
			return client.IgnoreNotFound(c.Patch(t.Context(), &v1alpha1.Fabric{ObjectMeta: b.meta("none")}, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+v1alpha1.Finalizer+`"]}}`))))
		}, "operator editor"},
		"read Secrets": {func(c client.Client) error {
			return c.List(t.Context(), &corev1.SecretList{}, client.InNamespace(b.ns))
		}, "operator"},
		"read Secrets of others": {func(c client.Client) error { return c.List(t.Context(), &corev1.SecretList{}) }, ""},
		"delete all Secrets": {func(c client.Client) error {
			return c.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(b.ns))
		}, ""},
		"delete a Secret": {func(c client.Client) error {
			return client.IgnoreNotFound(c.Delete(t.Context(), &corev1.Secret{ObjectMeta: b.meta("none")}))
		}, "operator"},
		"delete a Lease": {func(c client.Client) error {
			return client.IgnoreNotFound(c.Delete(t.Context(), &coordinationv1.Lease{ObjectMeta: b.meta("none")}))
		}, "operator"},
		"read plans": {func(c client.Client) error {
			return c.List(t.Context(), &v1alpha1.FabricPlanList{}, client.InNamespace(b.ns))
		}, "operator approver viewer editor"},
		"say that a plan is applied": {func(c client.Client) error { return c.Status().Update(t.Context(), there.DeepCopy(), client.DryRunAll) }, "operator"},
		"change a plan":              {func(c client.Client) error { return c.Update(t.Context(), there.DeepCopy(), client.DryRunAll) }, ""},
	}
	for _, role := range []string{"operator", "approver", "viewer", "editor"} {
		cfg := b.as
		if role != "operator" {
			cfg = b.r.As(t, "roce-fabric-"+role, b.ns)
		}
		c, err := client.New(cfg, client.Options{Scheme: b.r.Scheme})
		if err != nil {
			t.Fatal(err)
		}
		b.until(there, role+" has its role", func() bool { return c.List(t.Context(), &v1alpha1.FabricPlanList{}, client.InNamespace(b.ns)) == nil })
		for what, a := range allowed {
			err := a.do(c)
			if may := strings.Contains(a.may, role); may && err != nil || !may && !apierrors.IsForbidden(err) {
				t.Errorf("%s: %s: %v, allowed is %v", role, what, err, may)
			}
		}
	}
}
