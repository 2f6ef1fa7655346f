package manifests_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/manifests"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
)

const gitops = "../../../examples/gitops-kubernetes"

// templated renders an object through a template of the example, like kubectl -o
// go-template-file.
func templated(t *testing.T, name string, o any) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(gitops, name))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var data any
	if err := json.Unmarshal(b, &data); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := template.Must(template.New(name).Parse(string(text))).Execute(&out, data); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The API server accepts the objects of the example, its intent is valid, and its templates turn
// a plan into an approval of exactly that plan and into a text that describes it.
func TestGitOps(t *testing.T) {
	r := rig.Start(t)
	if err := r.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "fabrics"}}); err != nil {
		t.Fatal(err)
	}
	all := kustomized(t, gitops+"/fabrics")
	apply(t, r, all)
	for _, o := range all {
		if o.GetKind() != "ConfigMap" {
			continue
		}
		text, _, _ := unstructured.NestedString(o.Object, "data", "fabric.yaml")
		if _, err := fleet.Load(t.Context(), "-", fleet.LoadOptions{Stdin: strings.NewReader(text), Take: fleet.TakeAll}); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"flux/fabrics.yaml", "argocd/projects.yaml", "argocd/applications.yaml"} {
		text, err := os.ReadFile(filepath.Join(gitops, name))
		if err != nil {
			t.Fatal(err)
		}
		all, err := manifests.Decode(string(text))
		if err != nil || len(all) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		for _, o := range all {
			if g := o.GroupVersionKind().Group; g == "" || strings.HasSuffix(g, ".k8s.io") {
				apply(t, r, []*unstructured.Unstructured{o})
			}
		}
	}

	digest := strings.Repeat("ab", 32)
	plan := &v1alpha1.FabricPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "fabrics", Name: "pod1-abababababab"}, Spec: v1alpha1.FabricPlanSpec{
		Fabric: "pod1", Digest: digest, Impact: "traffic-loss", Changes: 1, Waves: 1,
	}, Status: v1alpha1.FabricPlanStatus{Text: "  wave 1: leaf1\nleaf1  1 change\n"}}
	made, err := manifests.Decode(templated(t, "approval.gotmpl", plan))
	if err != nil || len(made) != 1 {
		t.Fatalf("%d approvals, %v", len(made), err)
	}
	a := &v1alpha1.FabricPlanApproval{}
	convert(t, made[0], a)
	if err := r.Client.Create(t.Context(), a, client.DryRunAll); err != nil || a.Namespace != "fabrics" || a.Spec.Plan != plan.Name || a.Spec.Digest != digest {
		t.Errorf("%+v, %v", a, err)
	}
	text := templated(t, "comment.gotmpl", plan)
	for _, want := range []string{"## pod1: 1 devices change, impact traffic-loss\n", "`" + digest + "`", "\n~~~~~~text\n  wave 1: leaf1\nleaf1  1 change\n~~~~~~\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
}
