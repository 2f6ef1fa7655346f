package lab

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/testlab/sim/systems"
)

// up starts a lab with switches of every system, and hosts.
func up(t *testing.T) *Lab {
	t.Helper()
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(`apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
switches:
  s: {os: sonic, address: 192.0.2.1, model: DellEMC-Z9332f-O32}
  e: {os: eos, address: 192.0.2.2, model: DCS-7060DX5-64S}
  n: {os: nxos, address: 192.0.2.3, model: N9K-C9332D-GX2B}
  c: {os: cumulus, address: 192.0.2.4, model: SN5600}
hosts:
  gpu1: {nics: {ens1f0np0: {rdma: mlx5_0}}}
links:
  - {a: s/Ethernet0, b: gpu1/ens1f0np0, cable: 5m, speed: 400G}
  - {a: e/Ethernet1/1, b: s/Ethernet8, cable: 5m, speed: 400G}
  - {a: n/Ethernet1/1, b: s/Ethernet16, cable: 5m, speed: 400G}
  - {a: c/swp1, b: s/Ethernet24, cable: 5m, speed: 400G}
`)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Start(f, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// An invalid value for a fault is an error that leaves the device unchanged and the lab running.
func TestFaultValues(t *testing.T) {
	l := up(t)
	values := []string{
		"x", "-1", "1 2", "3 foo 1", "9 pfc-tx 1", "-1 pfc-tx 1", "3 pfc-tx -1", "3 pfc-tx", "3 pfc-tx 1 1", "3 pfc-tx 18446744073709551616",
		"../../../../tmp/out 1", "rx_discards_phy -1", "rx_discards_phy x", "64", "256", "1e3", "0x10", "99999999999999999999", "a b c", "é",
	}
	for _, f := range Faults() {
		if f.Value == "" {
			continue
		}
		for _, device := range slices.Concat(l.Names(), l.HostNames()) {
			if _, _, err := l.resolve(Request{Fault: f.Name, Device: device}); err != nil {
				continue // this system cannot have the fault
			}
			if _, err := l.control.do(Request{Fault: f.Name, Device: device}); err != nil {
				t.Errorf("%s on %s with its own value: %v", f.Name, device, err)
			}
			for _, v := range values {
				before := len(l.control.faults)
				_, err := l.control.do(Request{Fault: f.Name, Device: device, Value: v})
				if took := len(l.control.faults) - before; (err == nil) != (took == 1) || err != nil && took != 0 {
					t.Errorf("%s %q on %s: error %v, and %d faults more", f.Name, v, device, err, took)
				}
				if number := v == "x" || v == "a b c" || v == "é" || v == "-1"; number && err == nil {
					t.Errorf("%s takes %q on %s", f.Name, v, device)
				}
			}
			if _, err := l.control.do(Request{Clear: true}); err != nil {
				t.Errorf("clear %s on %s: %v", f.Name, device, err)
			}
		}
	}
	if entries, err := os.ReadDir(os.TempDir()); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "out" }) {
		t.Errorf("a value wrote outside of the device: %v", err)
	}
}

// Any two faults on a device, one after the other, are injected or rejected without a panic.
func TestFaultsAfterFaults(t *testing.T) {
	l := up(t)
	for _, device := range slices.Concat(l.Names(), l.HostNames()) {
		for _, first := range Faults() {
			if _, _, err := l.resolve(Request{Fault: first.Name, Device: device}); err != nil {
				continue
			}
			for _, second := range Faults() {
				func() {
					defer func() {
						if e := recover(); e != nil {
							t.Errorf("%s: %s after %s: %v", device, second.Name, first.Name, e)
						}
					}()
					for _, f := range []string{first.Name, second.Name} {
						_, _ = l.control.do(Request{Fault: f, Device: device})
					}
					if _, err := l.control.do(Request{Clear: true}); err != nil {
						t.Errorf("%s: clear %s and %s: %v", device, first.Name, second.Name, err)
					}
				}()
			}
		}
	}
}

// The record of a system has statements only for faults that the catalogue has.
func TestFaultsOfSystems(t *testing.T) {
	for _, s := range systems.All {
		for name := range s.Faults {
			if !slices.ContainsFunc(Faults(), func(f Fault) bool { return f.Name == name }) {
				t.Errorf("%s: the catalogue has no fault %q", s.Name, name)
			}
		}
	}
	for _, f := range Faults() {
		if len(f.On()) == 0 {
			t.Errorf("no system can have fault %s", f.Name)
		}
	}
}
