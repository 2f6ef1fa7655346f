package fleet_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// A program that uses this package protects its secrets like the command does.
func TestAccessRefusesWhatIsNotAllowed(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("OTHER", "x")
	t.Setenv("FABRIC_PASSWORD", "x")
	f, err := fleet.Load(t.Context(), "-", fleet.LoadOptions{Name: "fabric.yaml", Take: fleet.TakeAll, Stdin: strings.NewReader(`apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes: {rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: auto}, default: {priority: 0, dscp: rest, bandwidth: 40%}}
switches:
  leaf[1-2]: {os: sonic, address: "192.0.2.[1-2]:8080", access: {password: env:OTHER}}
  leaf3: {os: sonic, address: "192.0.2.3:8080"}
hosts:
  gpu1: {address: 192.0.2.9, nics: {eth0: {rdma: mlx5_0}}, access: {username: root, ssh: {key: /root/id, jump: "ann@198.51.100.1:22"}}}
credentials: {switches: {username: admin, password: env:FABRIC_PASSWORD}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	at := &fleet.Access{}
	err = at.Permit(f.Switches, f.Hosts)
	var faults intent.Errors
	if !errors.Is(err, secret.ErrForbidden) || !errors.As(err, &faults) || len(faults) != 2 || faults[0].Pos.Line != 6 || faults[1].Pos.Line != 9 || !strings.Contains(faults[0].Hint, "env:OTHER") || !strings.Contains(faults[0].Hint, "key:/root/id") {
		t.Errorf("%v", err)
	}
	// Connecting is refused even if Permit is never called.
	for name, refused := range map[string]bool{"leaf1": true, "leaf3": false} {
		d, err := at.Switch(t.Context(), f.Fabric().Switch(name))
		if errors.Is(err, secret.ErrForbidden) != refused {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = d.Close() // nothing was sent
		}
	}
	at = &fleet.Access{Policy: &secret.Policy{Secrets: []string{"env:OTHER", "env:FABRIC_*", "key:/root/*"}, Addresses: []string{"192.0.2.0/30"}}}
	err = at.Permit(f.Switches, f.Hosts)
	if !errors.As(err, &faults) || len(faults) != 2 || !strings.Contains(err.Error(), "192.0.2.9 is not an address") || !strings.Contains(err.Error(), "198.51.100.1 is not an address") {
		t.Errorf("%v", err)
	}
	for _, lab := range []*fleet.Access{{Local: true}, {At: func(string) (fleet.Address, error) { return fleet.Address{}, nil }}} {
		if err := lab.Permit(f.Switches, f.Hosts); err != nil {
			t.Errorf("without the intent: %v", err)
		}
	}
}
