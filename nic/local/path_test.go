package local_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

// routes returns 10.0.0.0/24 and the default route in the format of /proc/net/route on a
// little-endian machine.
func routes(dev string) []string {
	return []string{dev + "\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0", dev + "\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0"}
}

func TestManagementPath(t *testing.T) {
	eth := localtest.Port{Name: "eth0", PCI: "0000:01:00.0", Driver: "igb"}
	two := []localtest.Port{
		{Name: ens0, RDMA: "mlx5_bond_0", PCI: pci0, Driver: nic.DriverMLX5, Bond: "bond0"},
		{Name: ens1, PCI: pci1, Driver: nic.DriverMLX5, Bond: "bond0"},
	}
	peer := netip.MustParseAddr("10.0.0.9")
	for _, tt := range []struct {
		name    string
		ports   []localtest.Port
		route   string
		o       local.Options
		down    string // port without a link
		blocked string // part of the reason; "" if the step is not blocked
	}{
		{"managed over another port", []localtest.Port{mlx5(false), eth}, "eth0", local.Options{}, "", ""},
		{"the default route", []localtest.Port{mlx5(false)}, ens0, local.Options{}, "", "only path of the default route"},
		{"the peer", []localtest.Port{mlx5(false)}, ens0, local.Options{Peer: peer}, "", "only path to 10.0.0.9"},
		{"unless told", []localtest.Port{mlx5(false)}, ens0, local.Options{CutOff: true, Peer: peer}, "", ""},
		{"a bond with two links", two, "bond0", local.Options{}, "", ""},
		{"a bond with one link left", two, "bond0", local.Options{}, ens1, "only path of the default route (by bond0)"},
		{"the member without a link may bounce", two, "bond0", local.Options{}, ens0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, tt.ports...)
				h.Routes(routes(tt.route)...)
				if tt.down != "" {
					h.Put("class/net/"+tt.down+"/carrier", "0\n")
				}
				m := h.Machine()
				steps := m.Plan(read(t, m), desired(ens0), tt.o)
				for _, s := range steps {
					switch {
					case s.Field != "pfc" && s.Blocked != "":
						t.Errorf("%s is blocked: %s", s.What, s.Blocked)
					case s.Field == "pfc" && (tt.blocked == "") != (s.Blocked == ""), s.Field == "pfc" && !strings.Contains(s.Blocked, tt.blocked):
						t.Errorf("pfc is blocked: %q", s.Blocked)
					}
				}
				if _, err := m.Apply(t.Context(), steps, nil); err != nil {
					t.Fatal(err)
				}
				if done := h.State(ens0).PFC.Enabled != 0; done != (tt.blocked == "") {
					t.Errorf("PFC written: %t", done)
				}
			})
		})
	}
	h := newHost(t, mlx5(false))
	if err := os.Remove(filepath.Join(h.Roots.Proc, "net", "route")); err != nil {
		t.Fatal(err)
	}
	m := h.Machine()
	steps := m.Plan(read(t, m), desired(ens0), local.Options{})
	if s := steps[slices.Index(fields(steps), "pfc")]; !strings.Contains(s.Blocked, "not known") {
		t.Errorf("without routes: %q", s.Blocked)
	}
}

func TestBond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t,
			localtest.Port{Name: ens0, RDMA: "mlx5_bond_0", PCI: pci0, Driver: nic.DriverMLX5, OFED: true, Bond: "bond0"},
			localtest.Port{Name: ens1, PCI: pci1, Driver: nic.DriverMLX5, Bond: "bond0"})
		h.Routes(routes("bond0")...)
		m := h.Machine()
		running := read(t, m)
		if len(running.Ports) != 2 || running.Ports[ens1] == nil || running.Ports[ens1].RDMA != "mlx5_bond_0" {
			t.Fatalf("%+v", running.Ports)
		}
		want := desired(ens0, ens1)
		steps := m.Plan(running, want, local.Options{})
		var pfc []local.Step
		tos := 0
		for _, s := range steps {
			if s.Field == "pfc" {
				pfc = append(pfc, s)
			}
			if s.Field == "tos" {
				tos++
			}
		}
		if len(pfc) != 2 || pfc[0].Bond != "bond0" || !slices.Equal(pfc[0].Others, []string{ens1}) || !strings.Contains(pfc[1].What, "bond0 with "+ens0) {
			t.Errorf("pfc: %+v", pfc)
		}
		if tos != 1 {
			t.Errorf("the ToS of one RDMA device is set %d times", tos)
		}
		// Ports are changed one after the other: when the second link goes down, the first is up again
		// and used by the bond.
		h.SetFaults(localtest.Faults{LinkSlow: 3})
		_, err := m.Apply(t.Context(), steps, func(_, _ int, s local.Step) {
			if s.Field == "pfc" && s.Port == ens1 {
				if p := read(t, m, ens0).Ports[ens0]; p.Carrier != qos.Of(true) {
					t.Error("both links are down at once")
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if left := m.Plan(read(t, m), want, local.Options{}); left != nil {
			t.Errorf("left: %q", fields(left))
		}
	})
}

func TestFirmware(t *testing.T) {
	want := desired(ens0)
	want.Ports[ens0].Wanted = qos.Of(mlxconfig.Settings{CCPriorities: qos.Priorities(3), CNPDSCP: 48, CNPPriority: 6, FirmwareLLDPOff: true})
	firmware := func(steps []local.Step) []local.Step {
		return slices.DeleteFunc(steps, func(s local.Step) bool { return s.Field != nic.FieldNV })
	}
	t.Run("stored, pending, reset, reverted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(false))
			card := mlxconfigtest.New("mstconfig", pci0)
			card.Change("CNP_DSCP_P1", func(p *mlxconfigtest.Param) { p.Current, p.Next = 4, 4 })
			h.SetCard(card)
			m := h.Machine()
			steps := overJSON(t, firmware(m.Plan(read(t, m), want, local.Options{})))
			if len(steps) != 1 || steps[0].Layer != nic.LayerFirmware || len(steps[0].Want.NV) != 4 {
				t.Fatalf("%+v", steps)
			}
			u := apply(t, m, steps)
			if p := card.Get("CNP_DSCP_P1"); p.Next != 48 || p.Current != 4 {
				t.Errorf("CNP_DSCP_P1 %+v", p)
			}
			running := read(t, m)
			if left := firmware(m.Plan(running, want, local.Options{})); len(left) > 0 {
				t.Errorf("staged settings are planned again: %+v", left)
			}
			pending := 0
			for _, c := range nic.Diff(running, want) {
				if c.Kind == nic.KindResetPending {
					pending++
				}
			}
			if pending != 4 {
				t.Errorf("%d settings wait for a reset, want 4", pending)
			}
			if err := m.Revert(t.Context(), overJSON(t, u)); err != nil {
				t.Fatal(err)
			}
			if p := card.Get("LLDP_NB_RX_MODE_P1"); p.Next != 2 || card.Get("CNP_DSCP_P1").Next != 4 {
				t.Errorf("not restored: %+v", p)
			}
		})
	})
	t.Run("the second port of a card", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(false), localtest.Port{Name: ens1, RDMA: "mlx5_1", PCI: pci1, Driver: nic.DriverMLX5})
			card := mlxconfigtest.New("mstconfig", pci0)
			h.SetCard(card)
			running := read(t, h.Machine())
			if running.Ports[ens1].CardPort != 2 || running.Ports[ens1].NV == nil {
				t.Errorf("%+v", running.Ports[ens1])
			}
			queries := 0
			for _, c := range card.Calls() {
				if strings.Contains(c, "query") {
					queries++
				}
			}
			if queries != 1 {
				t.Errorf("the card was asked %d times: %q", queries, card.Calls())
			}
		})
	})
	t.Run("no tool", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newHost(t, mlx5(false)).Machine()
			running := read(t, m)
			if why := running.Ports[ens0].Missing["nv"]; !strings.Contains(why, "mlxconfig") {
				t.Errorf("nv: %q", why)
			}
			if s := firmware(m.Plan(running, want, local.Options{})); len(s) > 0 {
				t.Errorf("%+v", s)
			}
		})
	})
	t.Run("the tool fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(false))
			card := mlxconfigtest.New("mstconfig", pci0)
			card.SetFaults(mlxconfigtest.Faults{Closed: true})
			h.SetCard(card)
			m := h.Machine()
			if why := read(t, m).Ports[ens0].Missing["nv"]; !strings.Contains(why, "Failed to open the device (") || !strings.Contains(why, "root") {
				t.Errorf("nv: %q", why)
			}
			h.Programs["mstconfig"] = runnertest.Prints("", "segmentation fault\n", 139)
			if why := read(t, m).Ports[ens0].Missing["nv"]; !strings.Contains(why, "exit status 139") {
				t.Errorf("nv: %q", why)
			}
		})
	})
	t.Run("not read where not wanted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(false))
			card := mlxconfigtest.New("mstconfig", pci0)
			h.SetCard(card)
			m := h.Machine()
			m.NoFirmware = true
			if read(t, m); len(card.Calls()) > 0 {
				t.Errorf("calls %q", card.Calls())
			}
		})
	})
}

func TestCounters(t *testing.T) {
	h := newHost(t, mlx5(true))
	m := h.Machine()
	host := read(t, m)
	if err := m.Counters(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	want := &nic.Counters{Pauses: true, Durations: true, Bytes: true, Named: map[string]uint64{
		"np_cnp_sent": 17, "port_xmit_wait": 4, "rx_discards_phy": 5, "tx_pause_storm_warning_events": 1, "rx_prio9_pause": 1,
	}}
	// The driver's own count of sent pause frames takes precedence over dcbnl's.
	want.Priority[3] = nic.PriorityCounters{RxBytes: 4096, TxPause: 12, RxPause: 7, RxPauseDuration: 900, RxBufDiscards: 2}
	if diff := cmp.Diff(want, host.Ports[ens0].Counters); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	// Either dcbnl or the driver counts pauses; the RDMA device does not.
	for _, without := range []func(*local.Machine){
		func(m *local.Machine) { m.DCB = nil },
		func(m *local.Machine) { m.Ethtool = nil },
		func(m *local.Machine) { m.DCB, m.Ethtool = nil, nil },
	} {
		m := h.Machine()
		without(m)
		if err := m.Counters(t.Context(), host); err != nil {
			t.Fatal(err)
		}
		c := host.Ports[ens0].Counters
		if want := m.DCB != nil || m.Ethtool != nil; c.Pauses != want || c.Priority[3].RxPause+c.Priority[3].TxPause > 0 != want || c.Named["np_cnp_sent"] != 17 {
			t.Errorf("by dcbnl %v, by the driver %v: %+v", m.DCB != nil, m.Ethtool != nil, c)
		}
	}
	// Each driver uses its own names.
	for stat, field := range map[string]func(*nic.Counters) (uint64, bool){
		"tx_bytes_pri3":           func(c *nic.Counters) (uint64, bool) { return c.Priority[3].TxBytes, c.Bytes },
		"frames_rx_pri_3":         func(c *nic.Counters) (uint64, bool) { return c.Priority[3].RxPackets, c.Packets },
		"pfc_pri3_tx_duration_us": func(c *nic.Counters) (uint64, bool) { return c.Priority[3].TxPauseDuration, c.Durations },
		"rx_pripause_3_1us_count": func(c *nic.Counters) (uint64, bool) { return c.Priority[3].RxPauseDuration, c.Durations },
		"tx_vport_rdma_unicast_bytes": func(c *nic.Counters) (uint64, bool) {
			return c.Named["tx_vport_rdma_unicast_bytes"], c.Named["tx_vport_rdma_unicast_bytes"] > 0
		},
	} {
		m := h.Machine()
		m.DCB, m.Ethtool = nil, stats{m.Ethtool, map[string]uint64{stat: 77}}
		if err := m.Counters(t.Context(), host); err != nil {
			t.Fatal(err)
		}
		if n, ok := field(host.Ports[ens0].Counters); n != 77 || !ok {
			t.Errorf("%s: %d, %v: %+v", stat, n, ok, host.Ports[ens0].Counters)
		}
	}
	if r, err := m.Ethtool.Ring(ens0); err != nil || r.MaxRX != 8192 {
		t.Errorf("ring %+v, %v", r, err)
	}
}

func TestHostileSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, mlx5(true))
		m := h.Machine()
		big := 1 << 20
		before := h.State(ens0)
		for _, s := range []local.Step{
			{Port: ens0, Field: "pfc"},
			{Port: ens0, Field: "shell"},
			{Port: ens0, Field: "nv"},
			{Port: "../../etc", Field: "mtu", Want: local.Value{Number: &big}},
			{Port: ens0, Field: "mtu", Want: local.Value{Number: &big}},
			{Port: ens0, Field: "ets", Want: local.Value{ETS: &nic.ETS{PriorityToTC: [8]int8{-1}}}},
			{Port: ens0, Field: "buffers", Want: local.Value{Buffers: &nic.Buffers{PriorityToBuffer: [8]int8{9}}}},
		} {
			if u, err := m.Apply(t.Context(), []local.Step{s}, nil); err == nil || len(u.Steps) > 0 {
				t.Errorf("%s of %s: %v", s.Field, s.Port, err)
			}
		}
		if err := m.Revert(t.Context(), local.Undo{Steps: []local.UndoStep{{Port: ens0, Field: "shell"}}}); !errors.Is(err, local.ErrUnsupported) {
			t.Errorf("undo of nothing known: %v", err)
		}
		if w := h.Writes(); w != nil || !cmp.Equal(before, h.State(ens0)) {
			t.Errorf("written: %q", w)
		}
	})
}

// stats is a driver that reports the given statistics.
type stats struct {
	local.Ethtool
	of map[string]uint64
}

func (s stats) Stats(string) (map[string]uint64, error) { return s.of, nil }
