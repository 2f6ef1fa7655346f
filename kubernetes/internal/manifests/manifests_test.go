// Package manifests_test checks the chart and the manifests for kustomize. The chart is the
// source: what is in config/operator and in config/components is made of it, by
//
//	go test ./internal/manifests -run Generated -update
//
// The chart, for its part, has the roles of config/rbac and the CRDs of config/crd.
package manifests_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	yamlout "sigs.k8s.io/yaml"

	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
)

var update = flag.Bool("update", false, "make the manifests that are made of the chart")

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelWarn) // helm tells of each symbolic link
	os.Exit(rig.Stop(m.Run()))
}

const namespace = "roce-fabric" // of the manifests

type values = map[string]any

// The options that the manifests have.
var (
	plain   = values{"crds": values{"install": false}, "rbac": values{"roles": false}}
	manager = values{"webhook": values{"certificate": "cert-manager"}}
	monitor = values{"metrics": values{"serviceMonitor": values{"enabled": true}}}
)

func with(all ...values) values {
	out := values{}
	for _, v := range all {
		out = loader.MergeMaps(out, v)
	}
	return out
}

// chart renders the chart, as helm does.
func chart(t *testing.T, ns string, v values) ([]*unstructured.Unstructured, error) {
	t.Helper()
	c, err := loader.LoadDir("../../chart")
	if err != nil {
		t.Fatal(err)
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	all, err := util.ToRenderValues(c, v, common.ReleaseOptions{Name: "test", Namespace: ns, IsInstall: true}, caps)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) == ".yaml" {
			out = append(out, decode(t, name, files[name])...)
		}
	}
	return out, nil
}

func rendered(t *testing.T, ns string, v values) []*unstructured.Unstructured {
	t.Helper()
	out, err := chart(t, ns, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// kustomized builds a folder of config, as kustomize does.
func kustomized(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("../../config", dir))
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, dir, string(text))
}

func decode(t *testing.T, name, text string) (out []*unstructured.Unstructured) {
	t.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if o.Object != nil {
			out = append(out, o)
		}
	}
}

func key(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", o.GroupVersionKind(), o.GetNamespace(), o.GetName())
}

func byKey(t *testing.T, all []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	t.Helper()
	out := map[string]*unstructured.Unstructured{}
	for _, o := range all {
		if out[key(o)] != nil {
			t.Errorf("%s is there twice", key(o))
		}
		out[key(o)] = o
	}
	return out
}

// What config has of the chart is what the chart is now.
func TestGenerated(t *testing.T) {
	base := rendered(t, namespace, plain)
	golden(t, "operator/operator.yaml", base)
	was := byKey(t, base)
	for dir, option := range map[string]values{"cert-manager": manager, "service-monitor": monitor} {
		var resources, patches []*unstructured.Unstructured
		for _, o := range rendered(t, namespace, with(plain, option)) {
			switch old := was[key(o)]; {
			case old == nil:
				resources = append(resources, o)
			case !reflect.DeepEqual(old, o):
				patches = append(patches, o)
			}
		}
		golden(t, "components/"+dir+"/resources.yaml", resources)
		if patches != nil {
			golden(t, "components/"+dir+"/patches.yaml", patches)
		}
	}
}

func golden(t *testing.T, name string, all []*unstructured.Unstructured) {
	t.Helper()
	b := bytes.NewBufferString("# Made of the chart, by go test ./internal/manifests -run Generated -update.\n")
	for i, o := range all {
		text, err := yamlout.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	name = filepath.Join("../../config", name)
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(name); err != nil || !bytes.Equal(is, b.Bytes()) {
		t.Errorf("%s is not what the chart makes now: %v", name, err)
	}
}

// keep is the chart's alone.
func keep(o *unstructured.Unstructured) *unstructured.Unstructured {
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "helm.sh/resource-policy")
	return o
}

// kustomize makes of the manifests what helm makes of the chart.
func TestSame(t *testing.T) {
	for dir, option := range map[string]values{"default": {}, "full": with(manager, monitor)} {
		want, got := byKey(t, rendered(t, namespace, option)), byKey(t, kustomized(t, dir))
		if ns := got["/v1, Kind=Namespace /"+namespace]; ns == nil {
			t.Errorf("%s has no namespace", dir)
		}
		delete(got, "/v1, Kind=Namespace /"+namespace)
		if len(want) < 14 {
			t.Errorf("the chart has %d objects, and there are more", len(want))
		}
		for k, o := range want {
			switch {
			case got[k] == nil:
				t.Errorf("%s has no %s", dir, k)
			case !reflect.DeepEqual(keep(o).Object, got[k].Object):
				a, _ := yamlout.Marshal(o.Object)
				b, _ := yamlout.Marshal(got[k].Object)
				t.Errorf("%s: %s differs. The chart has\n%s\nkustomize\n%s", dir, k, a, b)
			}
			delete(got, k)
		}
		for k := range got {
			t.Errorf("the chart has no %s", k)
		}
	}
}

// The chart refuses what it cannot do.
func TestValues(t *testing.T) {
	for want, v := range map[string]values{
		"webhook.caBundle is the CA": {"webhook": values{"certificate": "secret"}},
		"/webhook/certificate":       {"webhook": values{"certificate": "self"}},
		"additional properties":      {"operator": values{"replica": 3}},
		"/operator/watchNamespaces":  {"operator": values{"watchNamespaces": []any{"A_B"}}},
		"/image/digest":              {"image": values{"digest": "latest"}},
	} {
		if _, err := chart(t, namespace, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", v, err, want)
		}
	}
}

// others are kinds of others, which the API server here does not know: their own types do.
var others = map[string]func() any{
	"Certificate.cert-manager.io":          func() any { return &certmanagerv1.Certificate{} },
	"Issuer.cert-manager.io":               func() any { return &certmanagerv1.Issuer{} },
	"ServiceMonitor.monitoring.coreos.com": func() any { return &monitoringv1.ServiceMonitor{} },
}

// apply has the API server apply objects, and write nothing.
func apply(t *testing.T, r *rig.Rig, all []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range all {
		if known := others[o.GroupVersionKind().GroupKind().String()]; known != nil {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, known(), true); err != nil {
				t.Errorf("%s: %v", key(o), err)
			}
			continue
		}
		opts := &client.ApplyOptions{}
		client.ForceOwnership.ApplyToApply(opts)
		opts.FieldManager, opts.DryRun = "test", []string{metav1.DryRunAll}
		if err := r.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o.DeepCopy()), opts); err != nil {
			t.Errorf("%s: %v", key(o), err)
		}
	}
}

// The API server takes what helm and kustomize make, and its strictest rules for Pods hold.
func TestApply(t *testing.T) {
	r := rig.Start(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if err := r.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	elsewhere := r.Namespace(t)
	busy := values{
		"operator": values{
			"watchNamespaces": []any{elsewhere}, "args": []any{"--parallel=32"}, "nodeSelector": values{"a": "b"}, "priorityClassName": "system-cluster-critical",
			"tolerations": []any{values{"operator": "Exists"}}, "affinity": values{"nodeAffinity": values{}},
		},
		"imagePullSecrets": []any{values{"name": "login"}}, "image": values{"digest": "sha256:" + strings.Repeat("0", 64)},
		"webhook":       values{"certificate": "secret", "caBundle": "Cg==", "failurePolicy": "Ignore"},
		"networkPolicy": values{"egress": []any{"192.0.2.0/24", "2001:db8::/32"}},
	}
	for name, all := range map[string][]*unstructured.Unstructured{
		"chart": rendered(t, namespace, nil), "busy": rendered(t, namespace, busy),
		"monitored": rendered(t, namespace, with(manager, monitor)),
		"default":   kustomized(t, "default"), "full": kustomized(t, "full"),
	} {
		t.Run(name, func(t *testing.T) {
			apply(t, r, all)
			admitted(t, r, all)
		})
	}
}

// admitted has the API server admit a Pod of each workload.
func admitted(t *testing.T, r *rig.Rig, all []*unstructured.Unstructured) {
	t.Helper()
	some := false
	for _, o := range all {
		if o.GetKind() != "Deployment" {
			continue
		}
		some = true
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, d, true); err != nil {
			t.Fatal(err)
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}, Spec: d.Spec.Template.Spec}
		if err := r.Client.Create(t.Context(), p, client.DryRunAll); err != nil {
			t.Errorf("a Pod of %s: %v", d.Name, err)
		}
		c := p.Spec.Containers[0].SecurityContext
		if !*c.ReadOnlyRootFilesystem || len(c.Capabilities.Add) > 0 || p.Spec.HostNetwork {
			t.Errorf("%s may do more than it has to: %+v", d.Name, c)
		}
	}
	if !some {
		t.Error("there is no Deployment")
	}
}
