package v1alpha1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Stop(m.Run())) }

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func fabric(ns string, edit func(*v1alpha1.Fabric)) *v1alpha1.Fabric {
	f := &v1alpha1.Fabric{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pod1"}}
	f.Spec.Intent.Inline = "apiVersion: roce-fabric/v1"
	if edit != nil {
		edit(f)
	}
	return f
}

// refused checks that the API server rejected an object for the given reason.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestFabricSchema(t *testing.T) {
	r := rig.Start(t)
	ns := r.Namespace(t)
	git := func(edit func(*v1alpha1.GitSource)) func(*v1alpha1.Fabric) {
		return func(f *v1alpha1.Fabric) {
			f.Spec.Intent = v1alpha1.IntentSource{Git: &v1alpha1.GitSource{URL: "https://git.example/net.git", Ref: "main", Path: "pod1"}}
			edit(f.Spec.Intent.Git)
		}
	}
	for want, edit := range map[string]func(*v1alpha1.Fabric){
		"exactly one of inline, configMap and git":    func(f *v1alpha1.Fabric) { f.Spec.Intent.ConfigMap = &v1alpha1.LocalReference{Name: "intent"} },
		"intent comes from exactly one":               func(f *v1alpha1.Fabric) { f.Spec.Intent.Inline = "" },
		`Unsupported value: "fix"`:                    func(f *v1alpha1.Fabric) { f.Spec.Policy = "fix" },
		"allow is for policy apply":                   func(f *v1alpha1.Fabric) { f.Spec.Policy, f.Spec.Allow = v1alpha1.Plan, "reload" },
		"interval is from 10s to 24h":                 func(f *v1alpha1.Fabric) { f.Spec.Interval.Duration = time.Second },
		`Unsupported value: "loose"`:                  func(f *v1alpha1.Fabric) { f.Spec.Rollout.Gate = "loose" },
		"at most 52 characters":                       func(f *v1alpha1.Fabric) { f.Name = strings.Repeat("x", 53) },
		"path stays within the repository":            git(func(g *v1alpha1.GitSource) { g.Path = "a/../../etc" }),
		"git needs a ref or a revision":               git(func(g *v1alpha1.GitSource) { g.Ref = "" }),
		"spec.intent.git.url in body should match":    git(func(g *v1alpha1.GitSource) { g.URL = "https://ann:pa55@git.example/x" }),
		"spec.intent.git.ref in body should match":    git(func(g *v1alpha1.GitSource) { g.Ref = "--upload-pack=sh" }),
		"spec.intent.git.revision in body should mat": git(func(g *v1alpha1.GitSource) { g.Revision = "HEAD" }),
	} {
		refused(t, r.Client.Create(t.Context(), fabric(ns, edit)), want)
	}
	f := fabric(ns, nil)
	if err := r.Client.Create(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if f.Spec.Policy != v1alpha1.Observe || f.Spec.Interval.Duration != 5*time.Minute || f.Spec.Rollout.Gate != "" {
		t.Errorf("the defaults are %+v", f.Spec)
	}
	if err := r.Client.Create(t.Context(), fabric(ns, git(func(*v1alpha1.GitSource) {}))); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a Git reference: %v", err)
	}
}

func plan(ns string) *v1alpha1.FabricPlan {
	return &v1alpha1.FabricPlan{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pod1-0123"}, Spec: v1alpha1.FabricPlanSpec{
		Fabric: "pod1", Intent: digest, Digest: digest, Impact: "counters", Changes: 1, Waves: 1,
		Body: v1alpha1.PlanBody{Name: "b", SHA256: digest, Size: 1, Parts: 1},
	}}
}

// The specs of plans, approvals and device statuses cannot be changed.
func TestImmutable(t *testing.T) {
	r := rig.Start(t)
	ns := r.Namespace(t)
	p := plan(ns)
	a := &v1alpha1.FabricPlanApproval{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}, Spec: v1alpha1.FabricPlanApprovalSpec{Plan: p.Name, Digest: digest}}
	s := &v1alpha1.SwitchStatus{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}, Spec: v1alpha1.DeviceSpec{Fabric: "pod1", Device: "leaf1"}}
	h := &v1alpha1.HostStatus{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "h"}, Spec: v1alpha1.DeviceSpec{Fabric: "pod1", Device: "gpu1"}}
	for _, o := range []client.Object{p, a, s, h} {
		if err := r.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	p.Spec.Changes++
	refused(t, r.Client.Update(t.Context(), p), "a FabricPlan never changes")
	a.Spec.Digest = strings.Repeat("0", 64)
	refused(t, r.Client.Update(t.Context(), a), "a FabricPlanApproval never changes")
	s.Spec.Device = "leaf2"
	refused(t, r.Client.Update(t.Context(), s), "the device of a status never changes")
	h.Spec.Fabric = "pod2"
	refused(t, r.Client.Update(t.Context(), h), "the device of a status never changes")
	bad := plan(ns)
	bad.Name, bad.Spec.Digest = "bad", "x"
	refused(t, r.Client.Create(t.Context(), bad), "spec.digest in body should match")
}

// kubectl get prints the columns of the CRDs.
func TestColumns(t *testing.T) {
	r := rig.Start(t)
	ns := r.Namespace(t)
	f := fabric(ns, nil)
	if err := r.Client.Create(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	f.Status = v1alpha1.FabricStatus{Verdict: v1alpha1.Warnings, Findings: v1alpha1.Counts{Warnings: 8}, Devices: 48, Drifted: 3, Plan: &v1alpha1.PlanReference{Name: "pod1-0123", Digest: digest}}
	if err := r.Client.Status().Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	cfg := rest.CopyConfig(r.Config)
	cfg.GroupVersion, cfg.APIPath = &v1alpha1.GroupVersion, "/apis"
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg.NegotiatedSerializer = rig.Codecs(scheme)
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.Get().Namespace(ns).Resource("fabrics").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"name":"Verdict"`, `"name":"Drifted"`, `["pod1","observe","warnings",0,8,48,0,3,"pod1-0123",`} {
		if !strings.Contains(strings.ReplaceAll(string(raw), "null", "0"), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
}

// Every field of the CRDs has a description.
func TestDescriptions(t *testing.T) {
	files, err := filepath.Glob("../../config/crd/*_*.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct{ OpenAPIV3Schema property }
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil || len(crd.Spec.Versions) == 0 {
			t.Fatalf("%s: %+v, %v", file, crd, err)
		}
		for _, v := range crd.Spec.Versions {
			if len(v.Schema.OpenAPIV3Schema.Properties) == 0 {
				t.Errorf("%s has no fields", file)
			}
			described(t, crd.Spec.Names.Kind, v.Schema.OpenAPIV3Schema)
		}
	}
}

// property is a part of a schema.
type property struct {
	Description string
	Properties  map[string]property
	Items       *property
}

// described checks that all fields of a part of a schema have a description.
func described(t *testing.T, path string, s property) {
	t.Helper()
	for name, p := range s.Properties {
		if p.Description == "" && name != "metadata" {
			t.Errorf("%s.%s has no description", path, name)
		}
		described(t, path+"."+name, p)
	}
	if s.Items != nil {
		described(t, path+"[]", *s.Items)
	}
}
