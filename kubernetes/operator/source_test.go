package operator_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// An intent in a ConfigMap with several files is read like a folder.
func TestConfigMap(t *testing.T) {
	b := newBench(t)
	in := b.start(1)
	head, links, _ := strings.Cut(in, "links:\n")
	links, credentials, _ := strings.Cut(links, "credentials:\n")
	const start = "apiVersion: roce-fabric/v1\nkind: Fabric\n"
	m := &corev1.ConfigMap{ObjectMeta: b.meta("intent"), Data: map[string]string{
		"a.yaml": head, "b.yml": start + "links:\n" + links, "c.yaml": start + "credentials:\n" + strings.ReplaceAll(credentials, "env:FABRIC_PASSWORD", "env:MISSING"), "README": "none",
	}}
	b.create(m)
	f := &v1alpha1.Fabric{ObjectMeta: b.meta("pod1"), Spec: v1alpha1.FabricSpec{
		Intent: v1alpha1.IntentSource{ConfigMap: &v1alpha1.LocalReference{Name: "intent"}}, CredentialsSecret: &v1alpha1.LocalReference{Name: "login"},
	}}
	b.create(f)
	b.operate(options())
	invalid := func(want string) {
		t.Helper()
		b.until(f, want, func() bool {
			c := condition(f, v1alpha1.IntentValid)
			return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, want)
		})
	}
	invalid("c.yaml:4:51: Secret login has no key MISSING")
	for _, c := range []struct{ from, to, want string }{
		{"env:MISSING", "keyring:x/y", "the operator has no keyring"},
		{"keyring:x/y", "file:/var/run/secrets/kubernetes.io/serviceaccount/token", "Secret login has no key token"},
	} {
		m.Data["c.yaml"] = strings.Replace(m.Data["c.yaml"], c.from, c.to, 1)
		if err := b.r.Client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		b.change(f, func() { f.Annotations = map[string]string{"changed": c.to} })
		invalid(c.want)
	}
	// The Secret limits where its keys may be sent.
	var login corev1.Secret
	limit := func(to string) {
		t.Helper()
		if err := b.r.Client.Get(t.Context(), types.NamespacedName{Namespace: f.Namespace, Name: "login"}, &login); err != nil {
			t.Fatal(err)
		}
		login.Annotations = map[string]string{"roce-fabric.io/addresses": to}
		if err := b.r.Client.Update(t.Context(), &login); err != nil {
			t.Fatal(err)
		}
	}
	limit("198.51.100.0/24, *.example.net")
	m.Data["c.yaml"] = start + "credentials:\n" + credentials
	if err := b.r.Client.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	b.change(f, func() { f.Annotations = map[string]string{"changed": "limit"} })
	invalid("is not an address that an intent may have credentials sent to")
	limit("127.0.0.0/8 192.0.2.0/24")
	m.Data["c.yaml"] = start + "credentials:\n" + credentials
	if err := b.r.Client.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	b.change(f, func() { f.Annotations = map[string]string{"changed": "all"} })
	b.until(f, "all devices", func() bool { return f.Status.Reachable == 2 })
	b.noSecret()
}
