package manifests_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	yamlout "sigs.k8s.io/yaml"

	"github.com/roce-fabric/roce-fabric/kubernetes/internal/manifests"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
)

var update = flag.Bool("update", false, "make the manifests that are made of the chart")

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelWarn) // helm logs each symbolic link
	os.Exit(rig.Stop(m.Run()))
}

// The namespaces of the manifests.
const (
	namespace = "roce-fabric"
	agents    = "roce-fabric-agent"
)

type values = map[string]any

// Values of the chart that correspond to the manifests.
var (
	plain   = values{"crds": values{"install": false}, "rbac": values{"roles": false}}
	manager = values{"webhook": values{"certificate": "cert-manager"}}
	agent   = values{"operator": values{"enabled": false}, "agent": values{"enabled": true}}
	monitor = values{"metrics": values{"serviceMonitor": values{"enabled": true}}}
)

func with(all ...values) values {
	out := values{}
	for _, v := range all {
		out = loader.MergeMaps(out, v)
	}
	return out
}

func rendered(t *testing.T, ns string, v values) []*unstructured.Unstructured {
	t.Helper()
	out, err := manifests.Chart(ns, v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// kustomized builds a folder as kustomize does.
func kustomized(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	out, err := manifests.Kustomize(in(dir))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func in(dir string) string {
	if strings.HasPrefix(dir, "..") {
		return dir
	}
	return filepath.Join("../../config", dir)
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

// The files in config match the chart from which they are generated.
func TestGenerated(t *testing.T) {
	base := rendered(t, namespace, plain)
	golden(t, "operator/operator.yaml", base)
	golden(t, "agent/agent.yaml", rendered(t, agents, with(plain, agent)))
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

// The trial uses the intent of the quickstart, as a copy, because kustomize accepts no files
// outside its folder.
func TestTrial(t *testing.T) {
	is, err := os.ReadFile("../../config/kind/intent.yaml")
	want, err2 := os.ReadFile("../../../examples/quickstart/fabric.yaml")
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(is, want) {
		t.Errorf("config/kind/intent.yaml is not examples/quickstart/fabric.yaml: %v", err)
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

// keep removes the annotation that only the chart has.
func keep(o *unstructured.Unstructured) *unstructured.Unstructured {
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "helm.sh/resource-policy")
	return o
}

// kustomize builds the same objects from the manifests as helm from the chart.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		dir, ns string
		option  values
		least   int
	}{
		{"default", namespace, nil, 14}, {"full", namespace, with(manager, monitor), 18}, {"agent", agents, with(plain, agent), 6},
	} {
		dir := c.dir
		want, got := byKey(t, rendered(t, c.ns, c.option)), byKey(t, kustomized(t, dir))
		if ns := got["/v1, Kind=Namespace /"+c.ns]; ns == nil {
			t.Errorf("%s has no namespace", dir)
		}
		delete(got, "/v1, Kind=Namespace /"+c.ns)
		if len(want) < c.least {
			t.Errorf("the chart has %d objects for %s, and there are more", len(want), dir)
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

// The chart rejects values that it does not support.
func TestValues(t *testing.T) {
	for want, v := range map[string]values{
		"webhook.caBundle is the CA": {"webhook": values{"certificate": "secret"}},
		"/webhook/certificate":       {"webhook": values{"certificate": "self"}},
		"additional properties":      {"operator": values{"replica": 3}},
		"/operator/watchNamespaces":  {"operator": values{"watchNamespaces": []any{"A_B"}}},
		"/image/digest":              {"image": values{"digest": "latest"}},
	} {
		if _, err := manifests.Chart(namespace, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", v, err, want)
		}
	}
}

// others are kinds of other projects that this API server does not know; they are checked
// against their Go types.
var others = map[string]func() any{
	"Certificate.cert-manager.io":          func() any { return &certmanagerv1.Certificate{} },
	"Issuer.cert-manager.io":               func() any { return &certmanagerv1.Issuer{} },
	"ServiceMonitor.monitoring.coreos.com": func() any { return &monitoringv1.ServiceMonitor{} },
}

// apply sends objects to the API server in a dry run.
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

// The API server accepts the output of helm and kustomize, and the Pods that result: the
// operator's under the strictest Pod security level, and the agent's with only the capabilities
// that it needs.
func TestApply(t *testing.T) {
	r := rig.Start(t)
	for name, level := range map[string]string{namespace: "restricted", agents: "privileged"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": level}}}
		if err := r.Client.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := r.Namespace(t)
	busy := values{
		"operator": values{
			"watchNamespaces": []any{elsewhere}, "nicDevices": elsewhere, "args": []any{"--parallel=32"}, "nodeSelector": values{"a": "b"}, "priorityClassName": "system-cluster-critical",
			"tolerations": []any{values{"operator": "Exists"}}, "affinity": values{"nodeAffinity": values{}},
		},
		"imagePullSecrets": []any{values{"name": "login"}}, "image": values{"digest": "sha256:" + strings.Repeat("0", 64)},
		"webhook":       values{"certificate": "secret", "caBundle": "Cg==", "failurePolicy": "Ignore"},
		"networkPolicy": values{"egress": []any{"192.0.2.0/24", "2001:db8::/32"}},
	}
	repair := with(plain, agent, values{"agent": values{
		"policy": "repair", "allow": "port-flap", "taint": true, "intentConfigMap": "intent", "hostPID": true, "listen": ":9601", "seLinuxType": "spc_t",
		"nodeSelector": values{"a": "b"}, "affinity": values{"nodeAffinity": values{}},
	}})
	for name, c := range map[string]struct {
		all  []*unstructured.Unstructured
		caps []corev1.Capability
	}{
		"chart": {rendered(t, namespace, nil), nil}, "busy": {rendered(t, namespace, busy), nil},
		"monitored": {rendered(t, namespace, with(manager, monitor)), nil},
		"default":   {kustomized(t, "default"), nil}, "full": {kustomized(t, "full"), nil},
		"kind":  {kustomized(t, "kind"), nil},
		"agent": {kustomized(t, "agent"), nil}, "repair": {rendered(t, agents, repair), []corev1.Capability{"NET_ADMIN"}},
	} {
		t.Run(name, func(t *testing.T) {
			apply(t, r, c.all)
			admitted(t, r, c.all, c.caps)
		})
	}
}

// admitted checks that the API server admits a Pod of the workload with exactly these
// capabilities.
func admitted(t *testing.T, r *rig.Rig, all []*unstructured.Unstructured, caps []corev1.Capability) {
	t.Helper()
	some := false
	for _, o := range all {
		var spec corev1.PodSpec
		switch o.GetKind() {
		case "Deployment":
			d := &appsv1.Deployment{}
			convert(t, o, d)
			spec = d.Spec.Template.Spec
		case "DaemonSet":
			d := &appsv1.DaemonSet{}
			convert(t, o, d)
			spec = d.Spec.Template.Spec
		default:
			continue
		}
		some = true
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}, Spec: spec}
		if err := r.Client.Create(t.Context(), p, client.DryRunAll); err != nil {
			t.Errorf("a Pod of %s: %v", o.GetName(), err)
		}
		c := p.Spec.Containers[0].SecurityContext
		if !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation || c.Privileged != nil || !slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) || !slices.Equal(c.Capabilities.Add, caps) || p.Spec.HostIPC {
			t.Errorf("%s may do more than it has to: %+v", o.GetName(), c)
		}
		for _, m := range p.Spec.Containers[0].VolumeMounts {
			if o.GetKind() == "DaemonSet" && !m.ReadOnly && caps == nil {
				t.Errorf("an agent that reports may write to %s", m.MountPath)
			}
		}
	}
	if !some {
		t.Error("there is no workload")
	}
}

func convert(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
		t.Fatal(err)
	}
}
