package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// The playbook of examples/ansible plans in check mode without writing, applies its plan, then
// finds nothing left to do, and fails if an apply is rejected.
func TestAnsiblePlaybook(t *testing.T) {
	ansible, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Skip("ansible-playbook (Debian package ansible-core) is not installed")
	}
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "fabric.yaml")
	text := strings.Replace(threeSystems, "file:/run/secret", "env:FABRIC_PASSWORD", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(f, filepath.Join(dir, "lab"), lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	playbook, err := filepath.Abs("../../examples/ansible/roce-fabric.yml")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), ansible, append([]string{"-i", "localhost,", playbook, "-e", "intent=" + file, "-e", "plan_file=" + filepath.Join(dir, "plan")}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "ANSIBLE_LOCAL_TEMP="+dir, "ROCE_FABRIC_LAB="+lab.Path(filepath.Join(dir, "lab")), "ROCE_FABRIC_GATE=off", "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	said := func(what, want string, fails bool, args ...string) {
		t.Helper()
		out, err := run(args...)
		if (err != nil) != fails || !strings.Contains(out, want) {
			t.Fatalf("%s: %v, want %q:\n%s", what, err, want, out)
		}
	}
	before, _ := held(l.Switches["leaf1"])
	said("check mode", "changed=1 ", false, "--check")
	if after, writes := held(l.Switches["leaf1"]); writes != 0 {
		t.Errorf("check mode wrote %d times: %v, %v", writes, before, after)
	}
	said("a change that is not allowed", "failed=1 ", true)
	said("apply", "changed=2 ", false, "-e", "allow=traffic-loss")
	said("nothing to do", "changed=0 ", false)
}
