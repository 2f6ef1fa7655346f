package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// pod is a fabric of two switches, with placeholders for their addresses and the CA.
const pod = `
apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%%, ecn: auto}
  default: {priority: 0, dscp: rest, bandwidth: 40%%}
switches:
  leaf1: {os: sonic, role: leaf, address: %q, model: Force10-S6000}
  leaf2: {os: sonic, role: leaf, address: %q, model: Force10-S6000}
links:
  - {a: leaf1/Ethernet0, b: leaf2/Ethernet0, cable: 5m, speed: 40G}
credentials:
  switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, tls: {ca: %s}}
`

// TestProgram builds the program and runs it against switches in factory state.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(fmt.Sprintf(pod, "192.0.2.1", "192.0.2.2", "ca.pem"))})
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(f, dir, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	program, file := filepath.Join(dir, "program"), filepath.Join(dir, "fabric.yaml")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := fmt.Sprintf(pod, l.Devices["leaf1"].GNMI, l.Devices["leaf2"].GNMI, l.CA)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, file)
	cmd.Env = append(os.Environ(), "FABRIC_USER="+l.Username, "FABRIC_PASSWORD="+l.Password)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 || len(exit.Stderr) > 0 {
		t.Errorf("the program ended with %v", err)
	}
	for _, want := range []string{"error CLS-02 leaf1 Ethernet0: ", "error CLS-02 leaf2 Ethernet0: "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
