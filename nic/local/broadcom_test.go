package local_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

func bnxt(cc string) localtest.Port {
	return localtest.Port{Name: ens0, RDMA: "bnxt_re0", PCI: pci0, Driver: nic.DriverBNXT, CC: cc}
}

func TestBNXTApplyAndRevert(t *testing.T) {
	for _, cc := range []string{localtest.CCConfigFS, localtest.CCDebugFS} {
		t.Run(cc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, bnxt(cc))
				m, want := h.Machine(), desired(ens0)
				want.Ports[ens0].RoCEApp = qos.Of(3)
				h.Corrupt(ens0, func(s *dcb.State) {
					s.Apps = []dcb.App{{Selector: dcb.SelectorDatagram, Priority: 5, Protocol: 4791}, {Selector: dcb.SelectorStream, Priority: 1, Protocol: 3260}}
				})
				before, files := h.State(ens0), tree(t, h)
				running := read(t, m)
				steps := overJSON(t, m.Plan(running, want, local.Options{}))
				if diff := cmp.Diff([]string{"link_pause", "ets", "pfc", "dscp", "roce_app", "ecn", "cnp_dscp", "cnp_priority", "mode", "tos", "mtu"}, fields(steps)); diff != "" {
					t.Fatalf("steps (-want +got):\n%s", diff)
				}
				u := apply(t, m, steps)
				got := read(t, m)
				p := got.Ports[ens0]
				if p.RoCEApp != qos.Of(3) || p.CNPDSCP != qos.Of(48) || p.CNPPriority != qos.Of(6) || p.ECN != qos.Of(qos.PrioritySet(0xff)) {
					t.Errorf("app %v, cnp %v %v, ecn %v", p.RoCEApp, p.CNPDSCP, p.CNPPriority, p.ECN)
				}
				if cc == localtest.CCDebugFS {
					for _, name := range []string{"enable_cc", "tos_ecn"} {
						if b, err := m.FS.ReadFile(filepath.Join(h.Roots.DebugFS, "bnxt_re", pci0, "cc_config", name)); err != nil || strings.TrimSpace(string(b)) != "1" {
							t.Errorf("%s is %q, %v", name, b, err)
						}
					}
				}
				apps := h.State(ens0).Apps
				for _, a := range []dcb.App{{Selector: dcb.SelectorDatagram, Priority: 3, Protocol: 4791}, {Selector: dcb.SelectorStream, Priority: 1, Protocol: 3260}} {
					if !slices.Contains(apps, a) {
						t.Errorf("%s is not listed", a)
					}
				}
				if left := m.Plan(got, want, local.Options{}); left != nil {
					t.Errorf("left: %q", fields(left))
				}
				h.Writes()
				if again, err := m.Apply(t.Context(), steps, nil); err != nil || len(again.Steps) > 0 || h.Writes() != nil {
					t.Errorf("again: %+v, %v", again, err)
				}
				if err := m.Revert(t.Context(), overJSON(t, u)); err != nil {
					t.Fatal(err)
				}
				after := h.State(ens0)
				slices.SortFunc(after.Apps, func(a, b dcb.App) int { return int(b.Priority) - int(a.Priority) })
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("after the revert (-before +now):\n%s", diff)
				}
				if diff := cmp.Diff(files, tree(t, h)); diff != "" {
					t.Errorf("files after the revert (-before +now):\n%s", diff)
				}
				if p := read(t, m).Ports[ens0]; p.CNPDSCP != qos.Of(0) || p.ECN != qos.Of(qos.PrioritySet(0)) {
					t.Errorf("congestion control after the revert: %v %v", p.CNPDSCP, p.ECN)
				}
				if l, err := m.FS.ReadDir(filepath.Join(h.Roots.ConfigFS, "bnxt_re")); cc == localtest.CCConfigFS && (err != nil || len(l) > 0) {
					t.Errorf("left in configfs: %v, %v", l, err)
				}
			})
		})
	}
}

// debugfs reports success even if the firmware rejects the value.
func TestBNXTFirmwareThatRefusesInDebugFS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, bnxt(localtest.CCDebugFS))
		m, want := h.Machine(), desired(ens0)
		s := findStep(t, m.Plan(read(t, m), want, local.Options{}), "cnp_dscp")
		h.SetFaults(localtest.Faults{Ignore: true})
		if _, err := m.Apply(t.Context(), []local.Step{s}, nil); !errors.Is(err, local.ErrIgnored) {
			t.Errorf("%v", err)
		}
	})
}

// Kernels up to 6.12 have no congestion control settings for bnxt; from later ones only root can
// read them.
func TestBNXTWithoutCongestionControl(t *testing.T) {
	p := read(t, newHost(t, bnxt("")).Machine()).Ports[ens0]
	if p.Missing["ecn"] != nic.NotInDriver || p.Missing["cnp_dscp"] != nic.NotInDriver {
		t.Errorf("missing %q", p.Missing)
	}
	for _, cc := range []string{localtest.CCConfigFS, localtest.CCDebugFS} {
		h := newHost(t, bnxt(cc))
		h.SetFaults(localtest.Faults{NotRoot: true})
		if p := read(t, h.Machine()).Ports[ens0]; p.Missing["ecn"] != "needs root" || p.Missing["cnp_priority"] != "needs root" {
			t.Errorf("%s: missing %q", cc, p.Missing)
		}
	}
}

// More lossless classes than the card supports block the change in the plan, and a rejection by the
// driver is explained.
func TestBNXTLosslessClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, bnxt(""))
		m, want := h.Machine(), desired(ens0)
		w := want.Ports[ens0]
		w.PFC = qos.Of(qos.Priorities(0, 3, 6))
		running := read(t, m)
		if c := findChange(t, running, want, "pfc"); c.Writable() || !strings.Contains(c.Blocked, "3 traffic classes") || !strings.Contains(c.Blocked, "only 2 lossless") {
			t.Errorf("%+v", c)
		}
		if f := fields(m.Plan(running, want, local.Options{})); slices.Contains(f, "pfc") {
			t.Errorf("steps %q", f)
		}
		// As on a kernel that does not report the limit.
		running.Ports[ens0].PFCClasses = qos.Opt[int]{}
		_, err := m.Apply(t.Context(), m.Plan(running, want, local.Options{}), nil)
		var hinted interface{ Hint() string }
		if !errors.Is(err, dcb.ErrRefused) || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "2 lossless ones") {
			t.Errorf("%v", err)
		}
	})
}

// For an agent in Intel's firmware, the step names the flag that turns it off; for one in
// Broadcom's firmware, the change says where to turn it off.
func TestAgentsOfTheFirmwareAreNamed(t *testing.T) {
	h := newHost(t, localtest.Port{Name: ens0, RDMA: "irdma0", PCI: pci0, Driver: nic.DriverICE})
	m := h.Machine()
	s := findStep(t, m.Plan(read(t, m), desired(ens0), local.Options{}), "dcbx")
	if !strings.Contains(s.What, "ethtool --set-priv-flags "+ens0+" fw-lldp-agent off") {
		t.Errorf("%s", s.What)
	}
	h = newHost(t, bnxt(""))
	h.Corrupt(ens0, func(s *dcb.State) { *s.DCBX = dcb.DCBXManaged | dcb.DCBXIEEE })
	m = h.Machine()
	running := read(t, m)
	if c := findChange(t, running, desired(ens0), "dcbx"); c.Writable() || !strings.Contains(c.Blocked, "NVM") {
		t.Errorf("%+v", c)
	}
}
