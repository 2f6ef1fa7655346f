package operator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// An intent comes from a ConfigMap of several files as from a folder.
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
	m.Data["c.yaml"] = start + "credentials:\n" + credentials
	if err := b.r.Client.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	b.change(f, func() { f.Annotations = map[string]string{"changed": "all"} })
	b.until(f, "all devices", func() bool { return f.Status.Reachable == 2 })
	b.noSecret()
}

// An intent comes from a commit of a repository.
func TestGit(t *testing.T) {
	b := newBench(t)
	in := b.start(1)
	repo := t.TempDir()
	git := func(arg ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=t", "-c", "user.email=t@example"}, arg...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", arg, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(repo, "pods"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repo, "pods", "pod1.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "--quiet", "-m", "x")
		return git("rev-parse", "HEAD")
	}
	git("init", "--quiet", "--initial-branch=main")
	first := commit(strings.Replace(in, "classes:", "clases:", 1))
	f := &v1alpha1.Fabric{ObjectMeta: b.meta("pod1"), Spec: v1alpha1.FabricSpec{
		Intent:            v1alpha1.IntentSource{Git: &v1alpha1.GitSource{URL: "file://" + repo, Ref: "main", Path: "pods/pod1.yaml"}},
		CredentialsSecret: &v1alpha1.LocalReference{Name: "login"},
	}}
	b.create(f)
	b.operate(options())
	says := func(want string) {
		t.Helper()
		b.until(f, want, func() bool { return strings.Contains(condition(f, v1alpha1.IntentValid).Message, want) })
	}
	says(`pods/pod1.yaml:4:1: unknown key "clases"`)
	second := commit(in)
	b.change(f, func() { f.Spec.Intent.Git.Revision = first })
	says("main of file://" + repo + " is at " + second + ", not at the revision " + first)
	b.change(f, func() { f.Spec.Intent.Git.Revision = second })
	b.until(f, "all devices", func() bool { return f.Status.Reachable == 2 && f.Status.Intent.Revision == second })
	b.change(f, func() { f.Spec.Intent.Git.Path = "pods/none.yaml" })
	says("has no pods/none.yaml at " + second)
	b.change(f, func() { f.Spec.Intent.Git.URL = "https://127.0.0.1:1/x.git" })
	says("transport 'https' not allowed")
}
