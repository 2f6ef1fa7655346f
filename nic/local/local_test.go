package local_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
)

func TestMain(m *testing.M) {
	sharedtest.TempInMemory(32 << 20)
	goleak.VerifyTestMain(m)
}

const (
	ens0 = "ens1f0np0"
	ens1 = "ens1f1np1"
	pci0 = "0000:3b:00.0"
	pci1 = "0000:3b:00.1"
)

func mlx5(ofed bool) localtest.Port {
	return localtest.Port{Name: ens0, RDMA: "mlx5_0", PCI: pci0, Driver: nic.DriverMLX5, OFED: ofed}
}

func newHost(t *testing.T, ports ...localtest.Port) *localtest.Host {
	t.Helper()
	h := localtest.New(t.TempDir())
	for _, p := range ports {
		h.Add(p)
	}
	return h
}

// desired returns a host with one lossless priority, 3 with DSCP 26, and CNPs in priority 6.
func desired(names ...string) *nic.Host {
	h := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{}}
	for _, name := range names {
		var e nic.ETS
		var m [qos.NumDSCP]int8
		for i := range e.TSA {
			e.TSA[i], e.PriorityToTC[i] = nic.TSAETS, int8(i)
		}
		e.TSA[6], e.Bandwidth[0], e.Bandwidth[3] = nic.TSAStrict, 40, 60
		for d := range m {
			m[d] = int8(d >> 3)
		}
		m[0] = 1
		h.Ports[name] = &nic.Port{
			Name: name, DCBX: qos.Of(nic.OwnerHost), LinkPause: qos.Of(false), ETS: qos.Of(e), PFC: qos.Of(qos.Priorities(3)),
			Trust: qos.Of(qos.TrustDSCP), DSCP: qos.Of(m), ECN: qos.Of(qos.Priorities(3)), CNPDSCP: qos.Of(48), CNPPriority: qos.Of(6),
			Mode: qos.Of(nic.ModeRoCEv2), ToS: qos.Of(106), TrafficClass: qos.Of(106), MTU: qos.Of(9000),
		}
		h.Ports[name].Cable.V, h.Ports[name].Cable.Set = 10, true
	}
	return h
}

func read(t *testing.T, m *local.Machine, names ...string) *nic.Host {
	t.Helper()
	h, err := m.Read(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func fields(steps []local.Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.Field)
	}
	return out
}

func apply(t *testing.T, m *local.Machine, steps []local.Step) local.Undo {
	t.Helper()
	for _, s := range steps {
		if s.Blocked != "" {
			t.Fatalf("%s is blocked: %s", s.What, s.Blocked)
		}
	}
	u, err := m.Apply(t.Context(), steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// overJSON returns a value after a JSON round trip, as if sent to another process.
func overJSON[T any](t *testing.T, v T) T {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// tree returns the files of a host, with the values that its configfs files show.
func tree(t *testing.T, h *localtest.Host) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, root := range []string{h.Roots.Sys, h.Roots.DebugFS} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || d.Name() == "carrier_changes" {
				return err
			}
			b, err := os.ReadFile(name)
			out[name] = string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// rdmaDefaults returns the RDMA-CM defaults that the kernel keeps.
func rdmaDefaults(t *testing.T, m *local.Machine) (tos int, mode string) {
	t.Helper()
	p := read(t, m, ens0).Ports[ens0]
	return p.ToS.V, p.Mode.V
}

func TestReadReports(t *testing.T) {
	h := newHost(t, mlx5(true), localtest.Port{Name: ens1, RDMA: "mlx5_1", PCI: pci1, Driver: nic.DriverMLX5, VF: true})
	h.Process(77, "lldpad")
	h.Put("class/net/"+ens0+"/settings/pfc_stall_prevention", "auto\n")
	h.Put("module/mlx5_core/version", "24.10-1.1.4\n")
	h.SetCard(mlxconfigtest.New("mstconfig", pci0))
	m := h.Machine()
	got := read(t, m)
	if got.Name != "gpu1" || got.Kernel != "6.12.117" || !slices.Equal(got.Agents, []string{"lldpad"}) {
		t.Errorf("host: %q %q %q", got.Name, got.Kernel, got.Agents)
	}
	p := got.Ports[ens0]
	want := nic.Port{
		Name: ens0, RDMA: "mlx5_0", RDMAPort: 1, PCI: pci0, Driver: "mlx5_core", DriverVersion: "24.10-1.1.4", Functions: nic.Functions{Representors: qos.Of(false), SFs: qos.Of(0)}, Vendor: "15b3", Device: "1021",
		Firmware: "28.40.1000", Card: "ConnectX7", CardPort: 1,
		DCBX: qos.Of(nic.OwnerHost), Trust: qos.Of(qos.TrustPCP), PFC: qos.Of(qos.PrioritySet(0)), Willing: qos.Of(false),
		LinkPause: qos.Of(true), MTU: qos.Of(1500), Carrier: qos.Of(true), CarrierChanges: qos.Of(uint64(2)),
		ECN: qos.Of(qos.PrioritySet(0)), NotificationPoint: qos.Of(qos.PrioritySet(0)), ReactionPoint: qos.Of(qos.PrioritySet(0)), CNPDSCP: qos.Of(0), CNPPriority: qos.Of(0), StallPrevention: qos.Of("auto"), MaxReadRequest: qos.Of(512),
		DCQCN: map[string]uint64{"rp_ai_rate": 5},
		ToS:   qos.Of(0), TrafficClass: qos.Of(-1), Mode: qos.Of("IB/RoCE v1"), ActiveMTU: qos.Of(1024),
		Rings: qos.Of(nic.Rings{RX: 1024, TX: 1024, MaxRX: 8192, MaxTX: 8192}), PFCClasses: qos.Of(8),
		Missing: map[string]string{nic.FieldReceived: nic.NotInDriver, nic.FieldFEC: nic.NotInDriver},
	}
	want.Cable.V, want.Cable.Set = 7, true
	if nv := p.NV["CNP_DSCP_P1"]; nv != (nic.NV{Default: "48", Current: "48", Next: "48"}) {
		t.Errorf("CNP_DSCP_P1: %+v", nv)
	}
	if p.ETS.V.PriorityToTC != [8]int8{1, 0, 2, 3, 4, 5, 6, 7} || p.ETS.V.TSA[0] != nic.TSAVendor || p.ETS.V.Classes != 8 || p.Buffers.V.Size[0] != 262016 {
		t.Errorf("ETS %+v, buffers %+v", p.ETS, p.Buffers)
	}
	if p.DSCP.V[26] != qos.Unmapped {
		t.Errorf("DSCP 26 is listed: %d", p.DSCP.V[26])
	}
	flat := *p
	flat.Transport, flat.RDMAState, flat.GIDs, flat.PCIe, flat.Reach = qos.Opt[nic.Transport]{}, qos.Opt[string]{}, qos.Opt[nic.GIDs]{}, qos.Opt[nic.PCIe]{}, qos.Opt[nic.Reach]{} // checked in TestReady and TestReach
	flat.Pairs, flat.Seat = qos.Opt[[]nic.PairUse]{}, qos.Opt[nic.Seat]{}
	flat.NV, flat.ETS, flat.Buffers, flat.DSCP = nil, qos.Opt[nic.ETS]{}, qos.Opt[nic.Buffers]{}, qos.Opt[[64]int8]{}
	if diff := cmp.Diff(want, flat); diff != "" {
		t.Errorf("port (-want +got):\n%s", diff)
	}
	// A VF has no DCB, and the reason says so.
	vf := got.Ports[ens1]
	if !vf.VF || vf.PFC.Set || !strings.Contains(vf.Missing["dcb"], "VF") || !strings.Contains(vf.Missing["nv"], "physical function") || vf.ToS != qos.Of(0) {
		t.Errorf("VF: %+v", vf)
	}
	for _, s := range m.Plan(got, desired(ens1), local.Options{}) {
		if s.Layer == nic.LayerDriver && s.Field != "mtu" {
			t.Errorf("a VF gets %s", s.What)
		}
	}
	if _, is := read(t, m, "eth9", "../../etc").Ports["eth9"]; is {
		t.Error("a port that is not there was read")
	}
}

func TestReadLeavesNoTrace(t *testing.T) {
	h := newHost(t, mlx5(false))
	read(t, h.Machine())
	if l, err := os.ReadDir(filepath.Join(h.Roots.ConfigFS, "rdma_cm")); err != nil || len(l) > 0 {
		t.Errorf("left in configfs: %v, %v", l, err)
	}
}
