package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

const hostBase = `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: auto}
  cnp: {priority: 6, dscp: [48, 56], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
baseline:
  nvidia: {driver: {min: 24.10}, firmware: {exact: 1}}
  ConnectX-7: {firmware: {min: 28.39.1002}}
switches:
  leaf1: {os: sonic, address: "192.0.2.1:8080"}
hosts:
  gpu1: {address: 192.0.2.101, nics: {eth0: {rdma: mlx5_0}, eth1: {rdma: mlx5_1}}}
links:
  - {a: "leaf1/Ethernet[0,8]", b: "gpu1/eth[0,1]", cable: 10m, speed: 100G}
`

// hostCase is a host with NVIDIA's own driver that runs as intended, on switches that do too.
type hostCase struct {
	fabric           *intent.Fabric
	running, desired *nic.Host
	ends             map[string]checks.End
}

func newHostCase(t *testing.T, text string) *hostCase {
	t.Helper()
	f := compile(t, text).Fabric()
	want, problems := nic.Desired(f, f.Host("gpu1"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	have := &nic.Host{Name: "gpu1", Unit: want.Unit, Ports: map[string]*nic.Port{}}
	for name, w := range want.Ports {
		p := *w
		p.From = nil
		p.Driver, p.Vendor, p.Device, p.Card, p.CardPort, p.PCI = nic.DriverMLX5, "15b3", "1021", "ConnectX7", 1, "0000:3b:00.0"
		p.Firmware, p.DriverVersion = "28.39.1002", "24.10"
		p.Carrier, p.Willing, p.StallPrevention = qos.Of(true), qos.Of(false), qos.Of("auto")
		p.Buffers = qos.Of(nic.Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{130944, 131072}})
		p.DCQCN = map[string]uint64{"rp_ai_rate": 5, "rp_hai_rate": 50}
		p.Transport, p.RDMAState = qos.Of(nic.TransportRoCE), qos.Of(nic.RDMAActive)
		p.GIDs, p.PCIe = qos.Of(nic.GIDs{V2: []string{"fe80::1", "10.0.0.1"}, V1: 2}), qos.Of(nic.PCIe{Transfers: 16000, MaxTransfers: 16000, Lanes: 16, MaxLanes: 16})
		p.NV = map[string]nic.NV{}
		for _, s := range []string{"ROCE_CC_PRIO_MASK_P1 255", "CNP_DSCP_P1 48", "CNP_802P_PRIO_P1 6", "LLDP_NB_DCBX_P1 0", "LLDP_NB_RX_MODE_P1 OFF(0)", "LLDP_NB_TX_MODE_P1 OFF(0)"} {
			name, v, _ := strings.Cut(s, " ")
			p.NV[name] = nic.NV{Default: v, Current: v, Next: v}
		}
		p.Missing = map[string]string{}
		have.Ports[name] = &p
	}
	if p := have.Ports["eth1"]; p != nil {
		p.GIDs.V.V2 = []string{"fe80::1", "10.0.1.1"}
	}
	for name, w := range want.Uppers {
		u := *w
		u.From = nil
		for i, pcp := range u.Egress.V {
			u.Egress.V[i] = max(0, pcp)
		}
		if have.Uppers == nil {
			have.Uppers = map[string]*nic.Upper{}
		}
		have.Uppers[name] = &u
	}
	end := checks.End{PFC: qos.Priorities(3), MTU: 9100, Known: true}
	return &hostCase{f, have, want, map[string]checks.End{"leaf1/Ethernet0": end, "leaf1/Ethernet8": end}}
}

// over adds a device on top of NICs.
func (h *hostCase) over(u nic.Upper) {
	if h.running.Uppers == nil {
		h.running.Uppers = map[string]*nic.Upper{}
	}
	h.running.Uppers[u.Name] = &u
}

func (h *hostCase) findings() []checks.Finding {
	return Host(h.fabric, h.fabric.Host("gpu1"), h.running, h.desired, func(e intent.Endpoint) checks.End { return h.ends[e.String()] })
}

// oldBNXT turns a port into one of a Thor2 whose driver does not show congestion control.
func oldBNXT(p *nic.Port) {
	p.Driver, p.Vendor, p.Device, p.Card, p.NV, p.DCQCN = nic.DriverBNXT, "14e4", "1760", "", nil, nil
	p.ECN.Set, p.CNPDSCP.Set, p.CNPPriority.Set, p.ETS = false, false, false, p.ETSFor(p)
	for _, f := range []string{nic.FieldECN, nic.FieldCNPDSCP, nic.FieldCNPPriority} {
		p.Missing[f] = nic.NotInDriver
	}
}

// TestHost checks that each fault has exactly the finding of its check, and that the host as
// intended has none.
func TestHost(t *testing.T) {
	if fs := newHostCase(t, hostBase).findings(); len(fs) > 0 {
		t.Fatalf("the sound host has findings: %v", fs)
	}
	for _, c := range hostCases() {
		h := newHostCase(t, hostBase)
		c.edit(h)
		fs := h.findings()
		if c.id != "NIC-23" { // which a bridge always has
			fs = slices.DeleteFunc(fs, func(f checks.Finding) bool { return f.ID == "NIC-23" && f.Severity == checks.Info })
		}
		if len(fs) != 1 || severityOf(fs[0], c.id) != c.severity || fs[0].Device != "gpu1" || !strings.Contains(fs[0].What, c.says) || !strings.Contains(fs[0].Fix, c.fix) {
			t.Errorf("%s %s, %q: %+v", c.id, c.severity, c.says, fs)
		}
	}
}

// TestBondsThatSpread checks that a bond is not said to use one member where it uses several, where
// one is active by design, or where its driver is not known to follow the policy of the bond.
func TestBondsThatSpread(t *testing.T) {
	for _, c := range []struct {
		mode, hash, driver string
		on                 []string
	}{
		{"802.3ad", "layer3+4", nic.DriverMLX5, []string{"eth0", "eth1"}},
		{"802.3ad", "layer2+3", nic.DriverMLX5, []string{"eth0", "eth1"}},
		{"802.3ad", "", nic.DriverMLX5, []string{"eth0", "eth1"}},
		{"active-backup", "layer2", nic.DriverMLX5, []string{"eth0", "eth1"}},
		{"802.3ad", "layer2", nic.DriverMLX5, []string{"eth0"}},
		{"802.3ad", "layer2", nic.DriverMLX5, []string{"eth7", "eth8"}},
		{"802.3ad", "layer2", "qede", []string{"eth0", "eth1"}},
	} {
		h := newHostCase(t, hostBase)
		for _, p := range h.running.Ports {
			p.Driver = c.driver
		}
		h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: c.on, Mode: c.mode, Hash: c.hash, MTU: qos.Of(9000)})
		for _, f := range h.findings() {
			if f.ID == "NIC-20" {
				t.Errorf("%+v: %+v", c, f)
			}
		}
	}
}

// brokenHost is a host with one fault, and the expected finding.
type brokenHost struct {
	id        string
	severity  checks.Severity
	edit      func(*hostCase)
	says, fix string
}

func hostCases() []brokenHost {
	port := func(edit func(*nic.Port)) func(*hostCase) { return func(h *hostCase) { edit(h.running.Ports["eth0"]) } }
	nv := func(name, current, next string) func(*hostCase) {
		return port(func(p *nic.Port) { p.NV[name] = nic.NV{Current: current, Next: next} })
	}
	upstream := func(p *nic.Port) { // the kernel's own driver shows none of these
		p.ECN.Set, p.CNPDSCP.Set, p.CNPPriority.Set = false, false, false
		for _, f := range []string{nic.FieldECN, nic.FieldCNPDSCP, nic.FieldCNPPriority} {
			p.Missing[f] = nic.NotInDriver
		}
	}
	writes := func(who, place, field string, value func(*nic.Port)) func(*hostCase) {
		return func(h *hostCase) {
			w := nic.Writer{Who: who, Place: place, Ports: []string{"eth0"}, Field: field}
			if value != nil {
				w.Sets = &nic.Port{}
				value(w.Sets)
			}
			h.running.Writers = append(h.running.Writers, w)
		}
	}
	gpus := func(others ...nic.GPU) func(*hostCase) { // GPUs of the host; eth1 is next to the first one
		return func(h *hostCase) {
			h.running.GPUs = others
			h.running.Ports["eth0"].Seat = qos.Of(nic.Seat{Root: "pci0000:37", Node: qos.Of(0)})
			h.running.Ports["eth1"].Seat = qos.Of(others[0].Seat)
		}
	}
	bonded := func(mode, hash string) func(*hostCase) {
		return func(h *hostCase) {
			h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: []string{"eth0", "eth1"}, Mode: mode, Hash: hash, MTU: qos.Of(9000)})
		}
	}
	return []brokenHost{
		{"NIC-01", checks.Error, port(func(p *nic.Port) { p.Trust.V = qos.TrustPCP }), "trust is pcp, the intent says dscp (layer driver)", "apply"},
		{"NIC-01", checks.Error, port(func(p *nic.Port) { // as mlx5 shows it
			p.Trust.V = qos.TrustPCP
			for i := range p.DSCP.V {
				p.DSCP.V[i] = qos.Unmapped
			}
		}), "trust is pcp", "apply"},
		{"NIC-02", checks.Error, port(func(p *nic.Port) { p.DSCP.V[26] = 0 }), "dscp is 26:0, the intent says 26:3 (layer driver)", "apply"},
		{"NIC-02", checks.Error, port(func(p *nic.Port) { p.DSCP.V[48] = qos.Unmapped }), "dscp is 48:-, the intent says 48:6", "apply"},
		{"NIC-02", checks.Warning, port(func(p *nic.Port) { p.DSCP.V[27] = 3 }), "dscp is 27:3, the intent says 27:0", "apply"},
		{"NIC-03", checks.Error, port(func(p *nic.Port) { p.ToS.V = 0 }), "tos is 0 (DSCP 0), the intent says 106 (DSCP 26) (layer rdma)", "apply"},
		{"NIC-03", checks.Error, port(func(p *nic.Port) { p.TrafficClass.V = 96 }), "traffic_class is 96 (DSCP 24)", "apply"},
		{"NIC-04", checks.Error, func(h *hostCase) { delete(h.running.Ports, "eth1") }, "no such interface", "look for the card"},
		{"NIC-04", checks.Info, func(h *hostCase) {
			h.running.Ports["eth2"] = &nic.Port{Name: "eth2", RDMA: "mlx5_2", Carrier: qos.Of(true)}
		}, "mlx5_2 has a link but is not in the intent", "nics"},
		{"NIC-04", checks.Error, func(h *hostCase) {
			p := h.running.Ports["eth1"]
			delete(h.running.Ports, "eth1")
			p.Name, p.Carrier.V = "eth9", false
			h.running.Ports["eth9"] = p
		}, "its RDMA device mlx5_1 belongs to eth9", "correct its name"},
		{"NIC-04", checks.Error, func(h *hostCase) {
			delete(h.running.Ports, "eth1")
			h.running.Away = []string{"mlx5_1", "mlx5_7"}
		}, "no such interface; mlx5_1 has no interface in this network namespace", "container"},
		{"NIC-04", checks.Error, func(h *hostCase) {
			delete(h.running.Ports, "eth1")
			h.running.Away = []string{"mlx5_1"}
			h.running.Elsewhere = []nic.Elsewhere{{Interface: "net1", PCI: "0000:5e:00.2", Owner: "container 1"}, {Interface: "net1", PCI: "0000:5e:00.0", RDMA: "mlx5_1", Owner: "pod 0f3c"}}
		}, "no such interface: interface net1 of RDMA device mlx5_1, on 0000:5e:00.0, is in the network namespace of pod 0f3c", "validate from there"},
		{"NIC-13", checks.Error, port(func(p *nic.Port) { p.RDMA = "" }), "the NIC has no RDMA device", "module mlx5_ib"},
		{"NIC-13", checks.Warning, func(h *hostCase) {
			for _, n := range h.fabric.Host("gpu1").NICs {
				n.RDMA.V = ""
			}
			h.desired.Ports["eth0"].RDMA, h.running.Ports["eth0"].RDMA, h.running.Ports["eth0"].Driver = "", "", "qede"
		}, "the NIC has no RDMA device", "the module that makes the RDMA device"},
		{"NIC-13", checks.Error, port(func(p *nic.Port) { p.Transport.V, p.Driver = nic.TransportIWARP, nic.DriverICE }), "speaks iWARP", "enable_roce"},
		{"NIC-13", checks.Error, port(func(p *nic.Port) { p.Transport.V = nic.TransportInfiniBand }), "set to InfiniBand", "LINK_TYPE"},
		{"NIC-13", checks.Error, port(func(p *nic.Port) { p.Transport.V = nic.TransportOther }), "speaks another transport", "RoCE v2"},
		{"NIC-13", checks.Error, port(func(p *nic.Port) { p.RDMAState.V = "DOWN" }), "the RDMA port is DOWN although", "rdma link"},
		{"NIC-14", checks.Error, port(func(p *nic.Port) { p.GIDs.V = nic.GIDs{} }), "no address for RoCE v2", "IP address"},
		{"NIC-14", checks.Error, port(func(p *nic.Port) { p.GIDs.V.V2 = nil }), "for RoCE v1 alone", "RoCE v2 on"},
		{"NIC-14", checks.Warning, port(func(p *nic.Port) { p.GIDs.V.V2 = p.GIDs.V.V2[:1] }), "link-local addresses alone", "IP address"},
		{"NIC-15", checks.Warning, port(func(p *nic.Port) { p.PCIe.V.Transfers, p.PCIe.V.Lanes = 8000, 8 }), "the slot gives the card 8 GT/s on 8 lanes, 63 Gb/s, and the link runs at 100G", "slot"},
		{"NIC-15", checks.Info, port(func(p *nic.Port) { p.PCIe.V.Transfers = 8000 }), "8 GT/s on 16 lanes, 126 Gb/s; the card can do 16 GT/s on 16", "slot"},
		{"NIC-18", checks.Info, port(func(p *nic.Port) { p.Received = qos.Of(nic.Received{Errors: 50, Frames: 1000000}) }),
			"since its driver was loaded, the NIC has received 50 frames with errors among 1000000 packets, one in 20000", "--window"},
		{"NIC-18", checks.Info, port(func(p *nic.Port) { p.Received = qos.Of(nic.Received{Errors: 20, LostWords: 3}) }),
			"20 frames with errors, and 3 code words that forward error correction could not correct", "transceivers"},
		{"PRT-06", checks.Warning, func(h *hostCase) {
			e := h.ends["leaf1/Ethernet0"]
			e.Wire = checks.Wire{Known: true, Up: true, FEC: "rs"}
			h.ends["leaf1/Ethernet0"], h.running.Ports["eth0"].FEC = e, qos.Of("none")
		}, "the NIC runs with FEC none, the switch port with rs", "this tool does not set that of NICs"},
		{"PRT-04", checks.Warning, func(h *hostCase) {
			port := *h.fabric.Switch("leaf1").Port("Ethernet0").PortLine
			port.FEC.V = "rs"
			h.fabric.Switch("leaf1").Port("Ethernet0").PortLine = &port
			h.running.Ports["eth0"].FEC = qos.Of("fc")
		}, "the link runs with FEC fc, the intent says rs", "ethtool --set-fec"},
		{"NIC-17", checks.Warning, gpus(nic.GPU{PCI: "0000:9b:00.0", Seat: nic.Seat{Root: "pci0000:97", Node: qos.Of(1)}}),
			"no GPU of the host is on the PCIe root complex of the NIC, pci0000:37: they are on other NUMA nodes", "next to a GPU"},
		{"NIC-17", checks.Info, gpus(nic.GPU{PCI: "0000:17:00.0", Seat: nic.Seat{Root: "pci0000:15", Node: qos.Of(0)}}), ": they are on its NUMA node", "next to a GPU"},
		{"NIC-17", checks.Info, gpus(nic.GPU{PCI: "0000:9b:00.0", Seat: nic.Seat{Root: "pci0000:97", Node: qos.Of(1)}}, nic.GPU{PCI: "0000:17:00.0", Seat: nic.Seat{Root: "pci0000:15", Node: qos.Of(0)}}),
			": some are on its NUMA node", "next to a GPU"},
		{"NIC-17", checks.Info, gpus(nic.GPU{PCI: "0000:9b:00.0", Seat: nic.Seat{Root: "pci0000:97"}}), "does not show their NUMA nodes", "next to a GPU"},
		{"NIC-19", checks.Warning, port(func(p *nic.Port) { p.Firmware = "28.9.3000" }), "the firmware is 28.9.3000, the baseline is 28.39.1002 or newer (layer firmware)", "install firmware 28.39.1002 or newer"},
		{"NIC-19", checks.Warning, port(func(p *nic.Port) { p.DriverVersion = "6.12.0" }), "the driver is 6.12.0, the baseline is 24.10 or newer (layer driver)", "install driver 24.10"},
		{"NIC-19", checks.Warning, func(h *hostCase) {
			h.fabric.Baselines[1].Firmware = &intent.Versions{Exact: "28.39.1001"}
			h.running.Ports["eth1"].Firmware = "28.39.1001"
		}, "the firmware is 28.39.1002, the baseline is 28.39.1001 (layer firmware)", "install firmware 28.39.1001:"},
		{"NIC-19", checks.Warning, func(h *hostCase) { // the vendor's entry also covers cards of another model
			h.running.Ports["eth0"].Device = "1023"
		}, "the firmware is 28.39.1002, the baseline is 1 (layer firmware)", "install firmware 1:"},
		{"NIC-19", checks.Info, port(func(p *nic.Port) { p.Firmware = "" }), "the host does not show a version of the firmware, the baseline is 28.39.1002 or newer", "load the RDMA driver"},
		{"NIC-20", checks.Warning, bonded("802.3ad", "layer2"), "the bond chooses one of its 2 members by MAC addresses: all RDMA through one router takes the same one (xmit_hash_policy layer2, mode 802.3ad)", "layer3+4"},
		{"NIC-20", checks.Warning, bonded("balance-xor", "vlan+srcmac"), "all RDMA of a VLAN takes the same one", "layer3+4"},
		{"NIC-23", checks.Warning, func(h *hostCase) { // no RoCE LAG: each port has its RDMA device
			h.running.Ports["eth1"].GIDs = h.running.Ports["eth0"].GIDs
			h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: []string{"eth0", "eth1"}, Mode: "802.3ad", Hash: "layer2", MTU: qos.Of(9000)})
		}, "mlx5_0, mlx5_1 all have address 10.0.0.1 of the bond: each uses its own port only", "active-backup, 802.3ad, balance-xor"},
		{"NIC-23", checks.Warning, func(h *hostCase) {
			h.running.Ports["eth1"].GIDs = h.running.Ports["eth0"].GIDs
			h.over(nic.Upper{Name: "br0", Kind: nic.UpperBridge, On: []string{"eth0", "eth1"}, MTU: qos.Of(9000)})
		}, "mlx5_0, mlx5_1 all have address 10.0.0.1 of the bridge", "its own address"},
		{"NIC-23", checks.Info, func(h *hostCase) {
			h.over(nic.Upper{Name: "br0", Kind: nic.UpperBridge, On: []string{"eth0", "tap0"}, MTU: qos.Of(9000)})
		}, "does not pass the bridge", "out of the bridge"},
		{"NIC-16", checks.Warning, port(func(p *nic.Port) {
			p.Pairs = qos.Of([]nic.PairUse{{Program: "fio", DSCP: 26, Read: 2, Of: 2}, {Program: "python3", DSCP: 0, Read: 1, Of: 64}})
		}), "python3 sends RDMA with DSCP 0 (priority 0), seen on 1 of its 64 queue pairs; the intent says DSCP 26", "NCCL_IB_TC=106, UCX_IB_TRAFFIC_CLASS=106 or the like in python3"},
		{"NIC-16", checks.Warning, func(h *hostCase) {
			e := h.ends["leaf1/Ethernet0"]
			e.Trust = qos.TrustPCP
			h.ends["leaf1/Ethernet0"] = e
			h.over(nic.Upper{Name: "eth0.100", Kind: nic.UpperVLAN, On: []string{"eth0"}, MTU: qos.Of(9000), VLAN: qos.Of(100), Egress: qos.Of(nic.PCPs{2: 3})})
			h.running.Ports["eth0"].Pairs = qos.Of([]nic.PairUse{{Program: "python3", DSCP: 26, Over: "eth0.100", Read: 1, Of: 4}, {Program: "fio", DSCP: 26, PCP: 3, Over: "eth0.100", Read: 1, Of: 1}, {Program: "dd", DSCP: 26, Over: "eth0", Read: 1, Of: 1}})
		}, "python3 sends RDMA over VLAN eth0.100 with PCP 0, seen on 1 of its 4 queue pairs; the intent says 3", "NCCL_IB_SL=3"},
		{"NIC-16", checks.Info, port(func(p *nic.Port) {
			p.Pairs = qos.Of([]nic.PairUse{{Program: "python3", Of: 4, Unread: "needs root"}})
		}), "not checked: how python3 sends RDMA on its 4 queue pairs: needs root", "as root"},
		{"NIC-16", checks.Info, port(func(p *nic.Port) {
			p.Missing[nic.FieldPairs] = "rdma: not found"
		}), "the queue pairs could not be listed: rdma: not found", "rdma of iproute2"},
		{"NIC-24", checks.Warning, port(func(p *nic.Port) {
			p.Each = []nic.VF{{Number: 0, Down: true}, {Number: 1}, {Number: 2, Down: true}}
		}), "VF 0,2 is shut by the host", "state auto"},
		{"NIC-24", checks.Info, port(func(p *nic.Port) { p.Each = []nic.VF{{Number: 1, MaxRate: 10000}} }), "VF 1 sends at most 10G (max_tx_rate)", "max_tx_rate 0"},
		{"NIC-24", checks.Warning, port(func(p *nic.Port) {
			p.Each = []nic.VF{{Number: 0, Interface: "eth0v0", MTU: 1500, Up: true}, {Number: 1, Interface: "eth0v1", MTU: 1500}, {Number: 2, Interface: "eth0v2", MTU: 9000, Up: true}}
		}), "VF 0 has an MTU of 1500 B, so that its RDMA MTU is at most 1024 B, the intent says 4096 B", "raise the MTU"},
		{"NIC-24", checks.Warning, func(h *hostCase) {
			e := h.ends["leaf1/Ethernet0"]
			e.Trust = qos.TrustPCP
			h.ends["leaf1/Ethernet0"] = e
			p := h.running.Ports["eth0"]
			p.VFs = qos.Of(3)
			p.Each = []nic.VF{{Tag: nic.Tag{VLAN: 100}}, {Number: 1, Tag: nic.Tag{VLAN: 100, Priority: 3}}, {Number: 2}}
		}, "VF 0 sends all frames with VLAN 100 and priority 0, the intent says 3 for RDMA", "vfs: {vlan: 100}"},
		{"NIC-21", checks.Warning, port(func(p *nic.Port) {
			p.GIDs.V.Slot = qos.Of(3)
			p.Pairs = qos.Of([]nic.PairUse{{Program: "python3", Source: "10.0.0.1", V1: true, Read: 2, Of: 4}})
		}), "python3 sends RoCE v1, seen on 2 of its 4 queue pairs: its packets have no DSCP", "NCCL_IB_GID_INDEX=3"},
		{"NIC-21", checks.Info, port(func(p *nic.Port) {
			p.Pairs = qos.Of([]nic.PairUse{{Program: "python3", DSCP: 26, Source: "fe80::1", Read: 1, Of: 4}})
		}), "python3 sends RDMA from the link-local address fe80::1, seen on 1 of its 4 queue pairs", "IP address"},
		{"NIC-22", checks.Info, port(func(p *nic.Port) {
			p.SharedPorts = []nic.SharedPort{{Program: "python3", Peer: "10.0.0.2", UDPPort: 49152, Read: 4}}
		}), "python3 sends to 10.0.0.2 from UDP port 49152 on all 4 queue pairs that were read", "flow labels"},
		{"NIC-11", checks.Error, port(func(p *nic.Port) { p.Carrier.V = false }), "the NIC has no carrier", "cable"},
		{"NIC-11", checks.Info, port(func(p *nic.Port) { p.Carrier.Set = false }), "does not show whether", "on the host"},
		{"PRT-04", checks.Warning, port(func(p *nic.Port) { p.Speed = qos.Of(units.Rate(50e9)) }), "the link runs at 50G, the intent says", "repair the link"},
		{"NIC-05", checks.Warning, func(h *hostCase) { h.running.Unit = nic.UnitState{} }, "no boot unit is installed: the settings of the layers driver and rdma are lost", "install"},
		{"NIC-05", checks.Warning, func(h *hostCase) { h.running.Unit.Digest = "old" }, "applies settings that differ", "again"},
		{"NIC-05", checks.Warning, func(h *hostCase) { h.running.Unit.Digest, h.running.Unit.Stale = "", "the service was edited" }, "the boot unit is incomplete: the service was edited: the settings", "again"},
		{"NIC-05", checks.Warning, func(h *hostCase) {
			h.running.Unit.Masked = "/etc/systemd/system/roce-fabric-nic@eth0.service"
		}, "the boot unit does not start for each device: masked by /etc/systemd/system/roce-fabric-nic@eth0.service: the settings", "remove /etc/systemd/system/roce-fabric-nic@eth0.service"},
		{"NIC-05", checks.Warning, func(h *hostCase) {
			h.running.Unit.Failed = "roce-fabric-nic@eth0.service"
		}, "the last run of the boot unit failed: roce-fabric-nic@eth0.service: the settings", "'journalctl -u roce-fabric-nic@*' shows why"},
		{"NIC-06", checks.Warning, port(func(p *nic.Port) { p.TrafficClass.V = -1 }), "traffic_class is unset", "apply"},
		{"NIC-06", checks.Info, port(func(p *nic.Port) {
			p.TrafficClass.Set = false
			p.Missing[nic.FieldTrafficClass] = nic.NotInDriver
		}), "ToS 106 applies only to RDMA-CM (layer rdma)", "NCCL_IB_TC=106"},
		{"NIC-07", checks.Warning, port(func(p *nic.Port) { p.StallPrevention.V = "default" }), "is default, 8s, but the watchdog of the switch port acts after 400ms", "stallPrevention: auto"},
		{"NIC-09", checks.Info, port(func(p *nic.Port) { p.CNPPriority.V = 7 }), "cnp_priority is 7, the intent says 6; both ends classify by DSCP", "apply"},
		{"NIC-09", checks.Info, port(func(p *nic.Port) {
			upstream(p)
			p.NV["CNP_802P_PRIO_P1"] = nic.NV{Current: "7", Next: "6"}
		}), "CNP_802P_PRIO_P1 is 7 in force and 6 at the next boot", "reset"},
		{"DRIFT", checks.Warning, nv("CNP_802P_PRIO_P1", "7", "6"), "CNP_802P_PRIO_P1 is 7 in force", "reset the card"}, // the driver shows 6 in use
		{"DCB-01", checks.Info, port(func(p *nic.Port) { p.Willing.V = true }), "willing, so the NIC accepts the peer's settings, and no DCBX agent was found", "willing: off"},
		{"DCB-02", checks.Warning, func(h *hostCase) { h.running.Agents = []string{"lldpad"} }, "lldpad is active and writes the same DCB settings", "stop and disable lldpad"},
		{"DCB-02", checks.Error, func(h *hostCase) {
			h.running.Agents = []string{"lldpad"}
			h.running.Ports["eth0"].DCBX.V = nic.OwnerFirmware
		}, "lldpad is active on the host, and the firmware runs its own agent: it owns DCBX", "firmware's agents off"},
		{"DCB-02", checks.Error, func(h *hostCase) {
			h.running.Agents = []string{"lldpad"}
			h.running.Ports["eth0"].NV["LLDP_NB_RX_MODE_P1"] = nic.NV{Current: "ALL(2)", Next: "ALL(2)"}
		}, "LLDP_NB_RX_MODE_P1 is ALL(2)", "firmware's agents off"},
		{"NIC-12", checks.Warning, writes("NetworkManager", "/etc/NetworkManager/system-connections/ens1.nmconnection:9", nic.FieldMTU, func(p *nic.Port) { p.MTU = qos.Of(1500) }),
			"NetworkManager (/etc/NetworkManager/system-connections/ens1.nmconnection:9) sets mtu to 1500, the intent says 9000 (layer driver)", "or write 9000 there"},
		{"NIC-12", checks.Info, writes("netplan", "/etc/netplan/50-cloud-init.yaml:7", nic.FieldMTU, func(p *nic.Port) { p.MTU = qos.Of(9000) }),
			"netplan (/etc/netplan/50-cloud-init.yaml:7) sets mtu as well, to the value of the intent", "one writer"},
		{"NIC-12", checks.Warning, writes("mlnx_qos", "/etc/cron.d/roce:3", nic.FieldPFC, func(p *nic.Port) { p.PFC = qos.Of(qos.Priorities(4)) }),
			"mlnx_qos (/etc/cron.d/roce:3) sets pfc to 0x10 {4}, the intent says 0x08 {3}", "remove the setting from /etc/cron.d/roce:3"},
		{"NIC-12", checks.Warning, writes("mlnx_qos", "process 812", nic.FieldDSCP, func(p *nic.Port) {
			m := [qos.NumDSCP]int8{}
			for i := range m {
				m[i] = qos.Unmanaged
			}
			m[26] = 0
			p.DSCP = qos.Of(m)
		}), "mlnx_qos (process 812) sets dscp to 26:0, the intent says 26:3", "or write 26:3 there"},
		{"NIC-12", checks.Warning, writes("mlnx_qos", "/etc/rc.local:2", nic.FieldETS, func(p *nic.Port) {
			e := nic.ETS{TSA: [8]nic.TSA{6: nic.TSAETS}, Bandwidth: [8]int{-1, -1, -1, -1, -1, -1, -1, -1}, PriorityToTC: [8]int8{-1, -1, -1, -1, -1, -1, -1, -1}}
			p.ETS = qos.Of(e)
		}), "mlnx_qos (/etc/rc.local:2) sets ets to {0} ets 40%", "remove"},
		{"NIC-12", checks.Info, writes("ethtool", "/opt/up.sh:4, run by /etc/rc.local:2", nic.FieldLinkPause, nil),
			"ethtool (/opt/up.sh:4, run by /etc/rc.local:2) sets link_pause as well, to a value that is not known before it runs", "one writer"},
		{"NIC-12", checks.Info, func(h *hostCase) {
			writes("systemd-networkd", "/etc/systemd/network/10-ens1.network:6", nic.FieldMTU, func(p *nic.Port) { p.MTU = qos.Of(1500) })(h)
			h.running.Writers[0].Idle = "systemd-networkd does not run"
		}, "sets mtu to 1500, the intent says 9000; systemd-networkd does not run", "or write 9000 there"},
		{"NIC-12", checks.Info, func(h *hostCase) {
			h.running.Writers = []nic.Writer{{Who: "dmsd of NVIDIA's DOCA management service", Place: "process 44", Daemon: true}}
		}, "dmsd of NVIDIA's DOCA management service (process 44) writes NIC settings; this tool cannot tell which", "stop it"},
		{"READ", checks.Info, func(h *hostCase) {
			h.running.Missing = map[string]string{nic.FieldWriters: "needs root"}
		}, "could not be read: writers: needs root", "as root"},
		{"CLS-09", checks.Error, port(func(p *nic.Port) { p.CNPDSCP.V = 8 }), "cnp_dscp is 8", "apply"},
		{"CLS-10", checks.Error, port(func(p *nic.Port) { p.CNPDSCP.V = 26 }), "DSCP 26, which is in lossless class rdma", "apply"},
		{"CLS-05", checks.Error, port(func(p *nic.Port) { p.ETS.V.PriorityToTC[0] = p.ETS.V.PriorityToTC[3] }), "priority 0 shares traffic class 3 with lossless priority 3: pause of that priority stops it", "apply"},
		{"DCB-03", checks.Warning, port(func(p *nic.Port) { p.DCBX.V = nic.OwnerFirmware }), "DCBX belongs to the firmware", "host own DCBX"},
		{"BUF-13", checks.Warning, port(func(p *nic.Port) { p.Cable.V = 7 }), "cable is 7m, the intent says 10m", "apply"},
		{"BUF-13", checks.Warning, port(func(p *nic.Port) { p.Buffers.V.PriorityToBuffer[3] = 0 }), "lossless priority 3 is received into buffer 0, with 7 lossy priorities: 0-2,4-7 (layer driver)", "buffers: auto"},
		// xoff is (301+21)*100 + 272*9000/100; a packet of 9216 B and a cell of 128 B must fit
		// above it.
		{"BUF-13", checks.Warning, port(func(p *nic.Port) { p.Buffers.V.Size[1] = 66023 }), "buffer 1 of lossless priority 3 has 66023 B, at 100G over 10m it needs 66024 B", "buffers: auto"},
		{"ECN-11", checks.Error, port(func(p *nic.Port) {
			p.ECN.V, p.NotificationPoint, p.ReactionPoint = 0, qos.Of(qos.Priorities(3)), qos.Of(qos.PrioritySet(0))
		}), "the notification point is on for priority 3 and the reaction point for no priority, the intent says priority 3 for both", "apply"},
		{"ECN-11", checks.Error, port(func(p *nic.Port) { p.ECN.V = 0 }), "ecn is 0x00 none, the intent says 0x08 {3} (layer driver)", "apply"},
		{"ECN-11", checks.Error, port(func(p *nic.Port) {
			upstream(p)
			p.NV["ROCE_CC_PRIO_MASK_P1"] = nic.NV{Current: "1", Next: "1"}
		}), "ROCE_CC_PRIO_MASK_P1 is 1 at the next boot and 1 in force, the intent says 8 (layer firmware, not programmed)", "program it"},
		{"ECN-11", checks.Warning, nv("ROCE_CC_PRIO_MASK_P1", "1", "255"), "is 1 in force and 255 at the next boot, the intent says 255 (layer firmware, reset pending)", "reset the card"},
		{"ECN-13", checks.Warning, port(func(p *nic.Port) { p.ToS.V, p.Driver, p.NV = 104, nic.DriverBNXT, nil; p.ETS = p.ETSFor(p) }), "ToS 104 has the ECN bits of Not-ECT, and it is not known whether bnxt_en sets them", "set ToS 106"},
		{"ECN-13", checks.Warning, port(func(p *nic.Port) { p.ToS.V, p.Driver, p.NV = 107, nic.DriverICE, nil }), "ToS 107 has the ECN bits of CE", "set ToS 106"},
		{"NIC-03", checks.Error, port(func(p *nic.Port) { p.ToS.V, p.Driver, p.NV = 96, nic.DriverBNXT, nil; p.ETS = p.ETSFor(p) }), "tos is 96 (DSCP 24)", "apply"},
		{"CLS-08", checks.Error, port(func(p *nic.Port) { p.CNPDSCP.V = 4 }), "cnp_dscp is 4, the intent says 48 (layer driver); NVIDIA's nic-configuration-operator writes 4 with roceOptimized, up to Network Operator 26.7", "apply"},
		{"CLS-08", checks.Error, port(func(p *nic.Port) { p.CNPDSCP.V = 8 }), "cnp_dscp is 8, the intent says 48 (layer driver)", "apply"},
		{"ECN-11", checks.Info, port(oldBNXT), "bnxt_re does not show whether congestion control is on, and how its notifications are marked; from the factory a Thor2 marks them with DSCP 48 and priority 7, the intent says 48 and 6 (layer driver)", "Linux 6.13 or newer"},
		{"ECN-11", checks.Info, port(func(p *nic.Port) {
			oldBNXT(p)
			p.Device = "1750"
		}), "how its notifications are marked (layer driver)", "accept this"},
		{"CLS-08", checks.Error, port(func(p *nic.Port) {
			upstream(p)
			p.NV["CNP_DSCP_P1"] = nic.NV{Current: "4", Next: "48"}
		}), "CNP_DSCP_P1 is 4 in force and 48 at the next boot, the intent says 48 (layer firmware, reset pending); NVIDIA's nic-configuration-operator", "reset the card"},
		{"MTU-03", checks.Error, port(func(p *nic.Port) { p.MTU.V = 9200 }), "up to 9200 B, the switch port runs 9100 B", "apply"},
		{"MTU-03", checks.Error, func(h *hostCase) { h.running.Ports["eth0"].MTU.V = 9200; h.ends = nil }, "the switch port by the intent has 9100 B", "apply"},
		{"MTU-04", checks.Warning, port(func(p *nic.Port) { p.MTU.V, p.ActiveMTU.V = 1500, 1024 }), "the RDMA MTU is 1024 B, the intent says 4096 B", "apply the intent to the host: the MTU of the interface rises from 1500 to 9000 B"},
		// RoCE LAG: the RDMA device has the MTU of the bond.
		{"MTU-04", checks.Warning, func(h *hostCase) {
			h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: []string{"eth0", "eth1"}, MTU: qos.Of(1500)})
			h.running.Ports["eth0"].ActiveMTU.V, h.running.Ports["eth1"].ActiveMTU.V = 1024, 1024
		}, "the RDMA MTU is 1024 B, the intent says 4096 B (bond bond0 over it has an MTU of 1500 B, layer driver)", "write bonds: {bond0: {members: [eth0, eth1]}} for the host into the intent, and apply it: its MTU rises from 1500 to 9000 B"},
		{"MTU-04", checks.Warning, func(h *hostCase) {
			h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: []string{"eth0"}, MTU: qos.Of(1500)})
			h.running.Ports["eth0"].MTU.V, h.running.Ports["eth0"].ActiveMTU.V = 1500, 1024
		}, "over it has an MTU of 1500 B", "apply the intent to the host: the MTU of the interface rises from 1500 to 9000 B; then write bonds: {bond0: {members: [eth0]}}"},
		{"MTU-04", checks.Warning, func(h *hostCase) { // one byte less than 4096 B of payload and 96 B of headers
			h.over(nic.Upper{Name: "br0", Kind: nic.UpperBridge, On: []string{"eth0"}, MTU: qos.Of(4191)})
		}, "over it RDMA has an MTU of at most 2048 B, the intent says 4096 B (bridge br0 over it has an MTU of 4191 B", "raise the MTU of br0 from 4191 to 9000 B, there and in the network"},
		{"MTU-04", checks.Info, func(h *hostCase) {
			h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: []string{"eth0", "eth1"}, MTU: qos.Of(9000)})
			h.over(nic.Upper{Name: "bond0.100", Kind: nic.UpperVLAN, On: []string{"bond0"}, MTU: qos.Of(1500), VLAN: qos.Of(100)})
		}, "at most 1024 B, the intent says 4096 B (VLAN bond0.100 over it has an MTU of 1500 B", "write bonds: {bond0: {members: [eth0, eth1]}}, vlans: {bond0.100: {on: bond0, id: 100}} for the host into the intent, and apply it: its MTU rises from 1500 to 9000 B"},
		{"MTU-04", checks.Info, func(h *hostCase) {
			h.over(nic.Upper{Name: "eth0.100", Kind: nic.UpperVLAN, On: []string{"eth0"}, MTU: qos.Of(1500), VLAN: qos.Of(100)})
		}, "VLAN eth0.100 over it", "write vlans: {eth0.100: {on: eth0, id: 100}} for the host"},
		{"MTU-04", checks.Warning, func(h *hostCase) { // one member is not in the intent
			h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: []string{"eth0", "eth2"}, MTU: qos.Of(1500)})
		}, "bond bond0 over it", "list eth2 in nics of the host in the intent, write bonds: {bond0: {members: [eth0, eth2]}} there, and apply it"},
		{"MTU-04", checks.Info, func(h *hostCase) { // this tool cannot change it
			h.over(nic.Upper{Name: "br0", Kind: nic.UpperBridge, On: []string{"eth0"}, MTU: qos.Of(9000)})
			h.over(nic.Upper{Name: "br0.5", Kind: nic.UpperVLAN, On: []string{"br0"}, MTU: qos.Of(1500), VLAN: qos.Of(5)})
		}, "VLAN br0.5 over it", "raise the MTU of br0.5 from 1500 to 9000 B, there and in the network configuration of the host: this tool sets bonds and VLANs alone"},
		{"READ", checks.Info, func(h *hostCase) {
			h.running.Missing = map[string]string{nic.FieldUppers: "more than 256 devices are over the NICs"}
		}, "could not be read: uppers: more than 256", ""},
		{"PFC-02", checks.Error, port(func(p *nic.Port) { p.PFC.V = 0 }), "the NIC pauses no priority, the switch port pauses priority 3 (layer driver)", "host"},
		{"PFC-02", checks.Error, func(h *hostCase) { h.running.Ports["eth0"].PFC.V = qos.Priorities(3, 4); h.ends = nil }, "the NIC pauses priorities 3 and 4, the intent says priority 3 for both ends", "host"},
		{"PFC-02", checks.Error, port(func(p *nic.Port) { p.PFC.V, p.Buffers.V.PriorityToBuffer[3] = 0, 0 }), "the NIC pauses no priority", "host"}, // without PFC it needs no buffer of its own
		{"PFC-05", checks.Error, port(func(p *nic.Port) { p.LinkPause.V = true }), "link_pause is on, the intent says off", "apply"},
		{"SCH-04", checks.Warning, port(func(p *nic.Port) { p.ETS.V.TSA[6] = nic.TSAETS }), "ets is ", "apply"},

		{"DRIFT", checks.Error, func(h *hostCase) {
			h.running.Ports["eth0"].PFC.V = 0
			h.ends["leaf1/Ethernet0"] = checks.End{MTU: 9100, Known: true}
		}, "the NIC and the switch port pause no priority, the intent says priority 3", "both"},
		{"DRIFT", checks.Warning, port(func(p *nic.Port) { p.CNPDSCP.V = 56 }), "cnp_dscp is 56, the intent says 48", "apply"},
		{"DRIFT", checks.Warning, port(func(p *nic.Port) { p.MTU.V = 8000 }), "mtu is 8000, the intent says 9000", "apply"},
		{"DRIFT", checks.Error, port(func(p *nic.Port) { p.Mode.V = "IB/RoCE v1" }), "mode is IB/RoCE v1, the intent says RoCE v2 (layer rdma)", "apply"},
		{"DRIFT", checks.Warning, nv("LLDP_NB_TX_MODE_P1", "ALL(2)", "ALL(2)"), "LLDP_NB_TX_MODE_P1 is ALL(2) at the next boot and ALL(2) in force, the intent says 0 (layer firmware, not programmed)", "a warm reboot of the host loads them"},
		{"DRIFT", checks.Warning, nv("CNP_DSCP_P1", "4", "48"), "CNP_DSCP_P1 is 4 in force and 48 at the next boot", "reset the card"}, // the driver shows 48 in use
		{"DRIFT", checks.Warning, port(func(p *nic.Port) {
			oldBNXT(p)
			p.ECN = qos.Of(qos.Priorities(0, 1, 2, 3, 4, 5, 6, 7)) // of a newer driver
			p.NV = map[string]nic.NV{"support_rdma": {Current: "True", Next: "False"}}
		}), "support_rdma is False at the next boot and True(1) in force, the intent says True (layer firmware, not programmed)", "program it: apply the intent to the host; a reboot"},
		{"NIC-10", checks.Error, port(func(p *nic.Port) {
			p.PFC.Set, p.ETS.Set, p.Cable.Set = false, false, false
			p.Missing[nic.FieldPFC], p.Missing[nic.FieldETS], p.Missing[nic.FieldCable] = "needs root", "needs root", "needs root"
		}), "could not be read: ets, cable, pfc: needs root", "as root"},
		{"NIC-10", checks.Error, port(func(p *nic.Port) {
			p.ToS.Set = false
			p.Missing[nic.FieldToS] = "needs root"
		}), "could not be read: tos: needs root", "as root"},
		{"NIC-10", checks.Error, port(func(p *nic.Port) { p.MTU.Set = false }), "could not be read: mtu: not read", ""},
		{"NIC-10", checks.Error, port(func(p *nic.Port) {
			for _, f := range []string{nic.FieldDCB, nic.FieldDCBX, nic.FieldTrust, nic.FieldDSCP, nic.FieldPFC, nic.FieldCable, nic.FieldETS} {
				p.Missing[f] = "the device has no DCB operations"
			}
			p.DCBX.Set, p.Trust.Set, p.DSCP.Set, p.PFC.Set, p.Cable.Set, p.ETS.Set = false, false, false, false, false, false
		}), "could not be read: dcbx, ets, cable, pfc, dscp, trust: the device has no DCB operations", "CONFIG_DCB"},
		{"NIC-10", checks.Error, port(func(p *nic.Port) {
			p.Driver = nic.DriverIonic
			for _, f := range []string{nic.FieldDCB, nic.FieldPFC} {
				p.Missing[f] = "needs root"
			}
			p.PFC.Set = false
		}), "could not be read: pfc: needs root", "nicctl"},
		{"NIC-10", checks.Warning, port(func(p *nic.Port) {
			p.VF, p.TrafficClass.Set = true, false
			p.Missing[nic.FieldTrafficClass] = nic.NotInDriver
		}), "could not be read: pfc, trust, dscp, ets: a VF or a restricted function", "physical function"},
		{"READ", checks.Info, port(func(p *nic.Port) {
			p.CNPDSCP.Set, p.LinkPause.Set = false, false
			p.Missing[nic.FieldCNPDSCP], p.Missing[nic.FieldLinkPause] = "needs root", "needs root"
		}), "could not be read: link_pause, cnp_dscp: needs root", ""},
		{"READ", checks.Info, func(h *hostCase) {
			h.running.Unit = nic.UnitState{}
			h.running.Missing = map[string]string{nic.FieldUnit: "permission denied"}
		}, "could not be read: unit: permission denied", ""},
	}
}

// TestSoundHostHasNoFindings checks that a state that is no fault, or not known to be one, is
// not reported.
func TestSoundHostHasNoFindings(t *testing.T) {
	for name, edit := range map[string]func(*hostCase){
		"the other ToS of the DSCP on mlx5": func(h *hostCase) { h.running.Ports["eth0"].ToS.V = 104 },
		"ECT(1) where the card may not set it": func(h *hostCase) {
			p := h.running.Ports["eth0"]
			p.Driver, p.NV, p.ToS.V = nic.DriverICE, nil, 105
		},
		"a writer of what the intent leaves alone": func(h *hostCase) {
			h.running.Writers = []nic.Writer{{Who: "ethtool", Place: "/etc/rc.local:2", Field: nic.FieldRings, Sets: &nic.Port{Rings: qos.Of(nic.Rings{RX: 512})}}}
		},
		"a writer of another port": func(h *hostCase) {
			h.running.Writers = []nic.Writer{{Who: "ip", Place: "/etc/rc.local:2", Ports: []string{"eth9"}, Field: nic.FieldMTU, Sets: &nic.Port{MTU: qos.Of(1500)}}}
		},
		"ends that were not read": func(h *hostCase) { h.ends = nil },
		"a large enough buffer":   func(h *hostCase) { h.running.Ports["eth0"].Buffers.V.Size[1] = 66024 },
		"buffers of another driver": func(h *hostCase) {
			p := h.running.Ports["eth0"]
			p.Driver, p.NV, p.Buffers.V.Size[1] = nic.DriverICE, nil, 1000
		},
		"a small buffer at a speed that is not known": func(h *hostCase) {
			h.fabric.Host("gpu1").NIC("eth0").Link.Speed.V = 0
			h.running.Ports["eth0"].Buffers.V.Size[1] = 1000
		},
		"a small buffer at a cable that is not known": func(h *hostCase) {
			h.running.Ports["eth0"].Buffers.V.Size[1] = 1000
			h.running.Ports["eth0"].Cable.Set, h.desired.Ports["eth0"].Cable.Set = false, false
		},
		"an RDMA port without a link": func(h *hostCase) {
			h.running.Ports["eth2"] = &nic.Port{RDMA: "mlx5_2", Carrier: qos.Of(false)}
		},
		"a VF that the intent does not list": func(h *hostCase) {
			h.running.Ports["eth2"] = &nic.Port{RDMA: "mlx5_2", VF: true, Carrier: qos.Of(true)}
		},
		"a bond and a VLAN that carry all": func(h *hostCase) {
			h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: []string{"eth0", "eth1"}, MTU: qos.Of(9000)})
			h.over(nic.Upper{Name: "bond0.100", Kind: nic.UpperVLAN, On: []string{"bond0"}, MTU: qos.Of(4192), Egress: qos.Of(nic.PCPs{})})
		},
		"a bond over other devices": func(h *hostCase) {
			h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: []string{"eth2"}, MTU: qos.Of(1500)})
		},
		"a GPU on another root complex than one of two": func(h *hostCase) {
			h.running.GPUs = []nic.GPU{{PCI: "0000:9b:00.0", Seat: nic.Seat{Root: "pci0000:97"}}, {PCI: "0000:3a:00.0", Seat: nic.Seat{Root: "pci0000:37"}}}
			h.running.Ports["eth0"].Seat, h.running.Ports["eth1"].Seat = qos.Of(nic.Seat{Root: "pci0000:37"}), qos.Of(nic.Seat{Root: "pci0000:97"})
		},
		"few broken frames among many": func(h *hostCase) {
			h.running.Ports["eth0"].Received = qos.Of(nic.Received{Errors: 50, Frames: 1 << 40})
			h.running.Ports["eth1"].Received = qos.Of(nic.Received{Errors: 9})
		},
		"the FEC of the other end": func(h *hostCase) {
			e := h.ends["leaf1/Ethernet0"]
			e.Wire = checks.Wire{Known: true, Up: true, FEC: "rs"}
			h.ends["leaf1/Ethernet0"], h.running.Ports["eth0"].FEC = e, qos.Of("rs")
		},
		"a NIC on no PCIe": func(h *hostCase) {
			h.running.GPUs = []nic.GPU{{PCI: "0000:9b:00.0", Seat: nic.Seat{Root: "pci0000:97"}}}
		},
		"versions that the baseline leaves open": func(h *hostCase) {
			h.running.Ports["eth0"].Vendor, h.running.Ports["eth0"].Firmware = "14e4", "1.0"
		},
		"newer versions than those of the baseline": func(h *hostCase) {
			h.running.Ports["eth0"].Firmware, h.running.Ports["eth0"].DriverVersion = "28.100.1", "25.01-0.6.0"
		},
		"willing that is not known": func(h *hostCase) { h.running.Ports["eth0"].Willing.Set = false },
	} {
		h := newHostCase(t, hostBase)
		edit(h)
		if fs := h.findings(); len(fs) > 0 {
			t.Errorf("%s: %v", name, fs)
		}
	}
	for _, watchdog := range []string{"off", "{detect: 9s}"} {
		h := newHostCase(t, strings.Replace(hostBase, "links:", "pfc: {watchdog: "+watchdog+"}\nlinks:", 1))
		h.running.Ports["eth0"].StallPrevention.V = "default"
		if fs := h.findings(); len(fs) > 0 {
			t.Errorf("stall prevention with watchdog %s: %v", watchdog, fs)
		}
	}
}

// TestWriterOfATag checks that a program that will give a VLAN another PCP is found if the PCP
// decides the class.
func TestWriterOfATag(t *testing.T) {
	for _, tt := range []struct {
		trust    qos.Trust
		to       int8
		severity checks.Severity
		says     string // "" for nothing
	}{
		{qos.TrustPCP, 0, checks.Warning, "NetworkManager (/nm:8) sets egress_qos_map to 2:0, the intent says 2:3 (layer driver)"},
		{qos.TrustPCP, 3, checks.Info, "sets egress_qos_map as well, to the value of the intent"},
		{qos.TrustPCP, -1, "", ""},
		{qos.TrustDSCP, 0, "", ""},
	} {
		h := newHostCase(t, hostBase)
		for at, e := range h.ends {
			e.Trust = tt.trust
			h.ends[at] = e
		}
		h.running.Writers = []nic.Writer{{Who: "NetworkManager", Place: "/nm:8", Ports: []string{"eth0"}, Field: nic.FieldEgress, Egress: &nic.PCPs{2: tt.to}}}
		fs := slices.DeleteFunc(h.findings(), func(f checks.Finding) bool { return f.ID != "NIC-12" })
		switch {
		case tt.says == "" && len(fs) > 0:
			t.Errorf("%+v: %v", tt, fs)
		case tt.says != "" && (len(fs) != 1 || fs[0].Severity != tt.severity || !strings.Contains(fs[0].What, tt.says)):
			t.Errorf("%+v: %v", tt, fs)
		}
	}
}

// TestDaemonThatMayHaveWritten checks that a daemon that runs is a warning only while settings that
// it can write differ from the intent.
func TestDaemonThatMayHaveWritten(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*nic.Port)
		may  []string
		says string
	}{
		"as intended":    {func(*nic.Port) {}, nil, "info NIC-12: dmsd (process 44) writes NIC settings; this tool cannot tell which"},
		"PFC differs":    {func(p *nic.Port) { p.PFC.V, p.ToS.V = 0, 0 }, nil, "warning NIC-12 eth0: dmsd (process 44) runs, and may have set what differs from the intent: pfc, tos"},
		"not its field":  {func(p *nic.Port) { p.ToS.V = 0 }, []string{nic.FieldPFC}, "info NIC-12: dmsd (process 44) writes"},
		"its field only": {func(p *nic.Port) { p.PFC.V, p.ToS.V = 0, 0 }, []string{nic.FieldPFC}, "may have set what differs from the intent: pfc"},
	} {
		h := newHostCase(t, hostBase)
		c.edit(h.running.Ports["eth0"])
		h.running.Writers = []nic.Writer{{Who: "dmsd", Place: "process 44", Daemon: true, May: c.may}}
		i := slices.IndexFunc(h.findings(), func(f checks.Finding) bool { return f.ID == "NIC-12" })
		if i < 0 {
			t.Errorf("%s: none", name)
			continue
		}
		f := h.findings()[i]
		text := strings.TrimSpace(string(f.Severity)+" NIC-12 "+strings.Join(f.Ports, ",")) + ": " + f.What
		if !strings.Contains(text, c.says) || strings.HasSuffix(c.says, "pfc") && !strings.HasSuffix(text, "pfc") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestTagOfAVLAN checks that a VLAN that sends RDMA with another PCP is found if the PCP
// decides the class: RDMA-CM uses the PCP of kernel priority 2, which the kernel assigns to a
// ToS of 106.
func TestTagOfAVLAN(t *testing.T) {
	right, byClass := nic.PCPs{2: 3, 3: 3, 6: 6}, nic.PCPs{3: 3, 6: 6}
	for name, tt := range map[string]struct {
		trust qos.Trust // of the switch port
		pcp   string    // of the class
		m     nic.PCPs
		found string
	}{
		"right":                        {qos.TrustPCP, "", right, ""},
		"no map":                       {qos.TrustPCP, "", nic.PCPs{}, "VLAN bond0.100 over it sends RDMA-CM with PCP 0, the intent says 3: the kernel has priority 2 for ToS 106 (layer driver)"},
		"the priority of the class":    {qos.TrustPCP, "", byClass, "with PCP 0, the intent says 3"},
		"another PCP":                  {qos.TrustPCP, "pcp: [5], ", right, "with PCP 3, the intent says 5"},
		"both ends classify by a DSCP": {qos.TrustDSCP, "", nic.PCPs{}, ""},
	} {
		h := newHostCase(t, strings.Replace(hostBase, "lossless: true", tt.pcp+"lossless: true", 1))
		h.over(nic.Upper{Name: "bond0", Kind: nic.UpperBond, On: []string{"eth0"}, MTU: qos.Of(9000)})
		h.over(nic.Upper{Name: "bond0.100", Kind: nic.UpperVLAN, On: []string{"bond0"}, MTU: qos.Of(9000), VLAN: qos.Of(100), Egress: qos.Of(tt.m)})
		for at, end := range h.ends {
			end.Trust = tt.trust
			h.ends[at] = end
		}
		fs := h.findings()
		switch {
		case tt.found == "" && len(fs) > 0:
			t.Errorf("%s: %+v", name, fs)
		case tt.found != "" && (len(fs) != 1 || fs[0].ID != "NIC-02" || fs[0].Severity != checks.Error || !strings.Contains(fs[0].What, tt.found) || !strings.Contains(fs[0].Fix, "write bonds: {bond0: {members: [eth0]}}, vlans: {bond0.100: {on: bond0, id: 100}} for the host into the intent, and apply it")):
			t.Errorf("%s: %+v", name, fs)
		}
	}
}

// TestUppersOfTheIntent checks that each fault of a bond or VLAN of the intent is one finding.
func TestUppersOfTheIntent(t *testing.T) {
	const stack = "bonds: {bond0: {members: [eth0, eth1]}}, vlans: {bond0.100: {on: bond0, id: 100}}, "
	text := strings.Replace(hostBase, "nics: {", stack+"nics: {", 1)
	if fs := newHostCase(t, text).findings(); len(fs) > 0 {
		t.Fatalf("the sound host has findings: %v", fs)
	}
	rdma := func(h *hostCase, mtu int) {
		for _, p := range h.running.Ports {
			p.ActiveMTU.V = mtu
		}
	}
	pcp := func(h *hostCase) {
		for at, end := range h.ends {
			end.Trust = qos.TrustPCP
			h.ends[at] = end
		}
	}
	for name, tt := range map[string]struct {
		edit      func(h *hostCase, bond, vlan *nic.Upper)
		id        string
		severity  checks.Severity
		says, fix string
	}{
		"the bond is low": {func(h *hostCase, b, _ *nic.Upper) { b.MTU.V = 1500; rdma(h, 1024) }, "MTU-04", checks.Warning,
			"the RDMA MTU is 1024 B, the intent says 4096 B (bond bond0 over it has an MTU of 1500 B", "apply the intent to the host: the MTU of bond0 rises from 1500 to 9000 B"},
		"the VLAN is low": {func(_ *hostCase, _, v *nic.Upper) { v.MTU.V = 1500 }, "MTU-04", checks.Warning,
			"VLAN bond0.100 over it has an MTU of 1500 B", "the MTU of bond0.100 rises from 1500"},
		"a bond that is low enough": {func(_ *hostCase, b, _ *nic.Upper) { b.MTU.V = 8000 }, "DRIFT", checks.Warning, "mtu is 8000, the intent says 9000 (layer driver)", fixOfHost},
		"a map without effect": {func(h *hostCase, _, v *nic.Upper) {
			v.Egress.V[2] = 0
			for at, end := range h.ends {
				end.Trust = qos.TrustDSCP
				h.ends[at] = end
			}
		}, "NIC-02", checks.Info, "egress_qos_map is 0,2:0 3:3 6:6, the intent says 0:0 2-3:3 6:6; both ends classify by DSCP, so that it has no effect (layer driver)", fixOfHost},
		"a map": {func(h *hostCase, _, v *nic.Upper) { v.Egress.V[2] = 0; pcp(h) }, "NIC-02", checks.Error, "egress_qos_map is 0,2:0", fixOfHost},
		"no VLAN": {func(h *hostCase, _, _ *nic.Upper) { delete(h.running.Uppers, "bond0.100") }, "NIC-04", checks.Error,
			"the host has no VLAN of that name over the NICs of the intent", "network configuration"},
		"another member": {func(_ *hostCase, b, _ *nic.Upper) { b.On = append(slices.Clone(b.On), "eth2") }, "DRIFT", checks.Error, "on is eth0, eth1, eth2, the intent says eth0, eth1", "network configuration"},
		"another id":     {func(_ *hostCase, _, v *nic.Upper) { v.VLAN.V = 101 }, "DRIFT", checks.Error, "vlan_id is 101, the intent says 100", "network configuration"},
		"an MTU that is not known": {func(_ *hostCase, b, _ *nic.Upper) {
			b.MTU.Set, b.Missing = false, map[string]string{nic.FieldMTU: "why"}
		}, "NIC-10", checks.Error, "could not be read: mtu: why", "as root"},
		"a map that is not known": {func(_ *hostCase, _, v *nic.Upper) { v.Egress.Set = false }, "READ", checks.Info, "could not be read: egress_qos_map: not read", ""},
	} {
		h := newHostCase(t, text)
		tt.edit(h, h.running.Uppers["bond0"], h.running.Uppers["bond0.100"])
		if fs := h.findings(); len(fs) != 1 || fs[0].ID != tt.id || fs[0].Severity != tt.severity || !strings.Contains(fs[0].What, tt.says) || !strings.Contains(fs[0].Fix, tt.fix) {
			t.Errorf("%s: %+v", name, fs)
		}
	}
	// The VLAN is as intended, but its PCP is still of another class, which no map can fix.
	h := newHostCase(t, strings.Replace(text, "dscp: [26]", "dscp: [24]", 1))
	pcp(h)
	if fs := h.findings(); len(fs) != 1 || fs[0].ID != "NIC-02" || !strings.Contains(fs[0].What, "with PCP 0, the intent says 3: the kernel has priority 0 for ToS 98") || !strings.Contains(fs[0].Fix, "such as 26") {
		t.Errorf("%+v", fs)
	}
}

// TestStatedSettings checks that a wrong setting that the intent states for a NIC is one
// finding, which apply fixes.
func TestStatedSettings(t *testing.T) {
	for name, tt := range map[string]struct {
		edit          func(p *nic.Port)
		id, what, fix string
	}{
		"small buffer":     {func(p *nic.Port) { p.Buffers.V.Size[1] = 1000 }, "BUF-13", "has 1000 B, at 100G over 10m it needs 66024 B", fixOfHost},
		"buffers of bnxt":  {func(p *nic.Port) { p.Driver, p.NV, p.RoCEApp = nic.DriverBNXT, nil, qos.Of(3) }, "BUF-13", "the intent says auto", "only mlx5 supports"},
		"willing":          {func(p *nic.Port) { p.Willing.V = true }, "DCB-01", "ETS is willing", fixOfHost},
		"stall prevention": {func(p *nic.Port) { p.StallPrevention.V = "default" }, "NIC-07", "is default, 8s", fixOfHost},
		"no stall prevention": {func(p *nic.Port) {
			p.StallPrevention.Set = false
			p.Missing[nic.FieldStallPrevention] = nic.NotInDriver
		}, "NIC-07", "stall_prevention is -, the intent says auto", "NVIDIA's own driver"},
	} {
		h := newHostCase(t, strings.Replace(hostBase, "rdma: mlx5_0", "rdma: mlx5_0, buffers: auto, willing: off, stallPrevention: auto", 1))
		p := h.running.Ports["eth0"]
		p.Buffers.V.Total = 262016
		tt.edit(p)
		fs := slices.DeleteFunc(h.findings(), func(f checks.Finding) bool { return tt.id == "BUF-13" && f.ID != "BUF-13" && name != "small buffer" })
		if len(fs) != 1 || fs[0].ID != tt.id || !strings.Contains(fs[0].What, tt.what) || !strings.Contains(fs[0].Fix, tt.fix) {
			t.Errorf("%s: %+v", name, fs)
		}
	}
}

// TestBufferOfASlowPort checks that the smallest buffer for mlx5 is computed for at least 40G.
func TestBufferOfASlowPort(t *testing.T) {
	h := newHostCase(t, strings.Replace(hostBase, "100G", "25G", 1))
	h.running.Ports["eth0"].Buffers.V.Size[1] = 322*40 + 24480 + 9216 + 128 - 1
	if fs := h.findings(); len(fs) != 1 || fs[0].ID != "BUF-13" || !strings.Contains(fs[0].What, "needs 46704 B") {
		t.Errorf("findings %v", fs)
	}
}

// TestRailWithoutConfiguration checks that each wrong setting of a rail without any
// configuration is reported.
func TestRailWithoutConfiguration(t *testing.T) {
	h := newHostCase(t, hostBase)
	p := h.running.Ports["eth0"]
	p.PFC.V, p.Trust.V, p.ToS.V, p.MTU.V = 0, qos.TrustPCP, 0, 9200
	p.NV["CNP_DSCP_P1"] = nic.NV{Current: "48", Next: "4"}
	var got []string
	for _, f := range h.findings() {
		got = append(got, f.ID)
	}
	if !slices.Equal(got, []string{"PFC-02", "NIC-01", "NIC-03", "MTU-03", "DRIFT"}) {
		t.Errorf("findings %q", got)
	}
}

// TestUnknownCongestionControlIsNotECT checks that a card that shows nothing of its congestion
// control is not assumed to set the ECN bits itself.
func TestUnknownCongestionControlIsNotECT(t *testing.T) {
	h := newHostCase(t, hostBase)
	p := h.running.Ports["eth0"]
	p.ToS.V, p.ECN.Set, p.NV = 104, false, nil
	p.Missing[nic.FieldECN], p.Missing[nic.FieldNV] = nic.NotInDriver, nic.NotInDriver
	if fs := h.findings(); len(fs) != 1 || fs[0].ID != "ECN-13" {
		t.Errorf("findings %v", fs)
	}
}

// TestHostWithPCP checks that the PCP of congestion notifications matters if an end trusts PCP.
func TestHostWithPCP(t *testing.T) {
	h := newHostCase(t, strings.Replace(hostBase, "classes:", "trust: pcp\nclasses:", 1))
	if fs := h.findings(); len(fs) > 0 {
		t.Fatalf("the sound host has findings: %v", fs)
	}
	h.running.Ports["eth0"].CNPPriority.V = 7
	if fs := h.findings(); len(fs) != 1 || fs[0].ID != "NIC-09" || fs[0].Severity != checks.Error {
		t.Errorf("findings %v", fs)
	}
	// The running trust decides.
	h = newHostCase(t, hostBase)
	h.running.Ports["eth0"].CNPPriority.V = 7
	for at, e := range h.ends {
		e.Trust = qos.TrustPCP
		h.ends[at] = e
	}
	if fs := h.findings(); len(fs) != 1 || fs[0].ID != "NIC-09" || fs[0].Severity != checks.Error {
		t.Errorf("findings %v", fs)
	}
}

// TestNotificationsAtAnUnknownEnd checks that an end whose trust is unknown may trust PCP.
func TestNotificationsAtAnUnknownEnd(t *testing.T) {
	for want, trust := range map[checks.Severity]qos.Opt[qos.Trust]{checks.Info: qos.Of(qos.TrustDSCP), checks.Warning: {}} {
		h := newHostCase(t, hostBase)
		h.running.Ports["eth0"].CNPPriority.V = 7
		h.running.Ports["eth0"].Trust = trust
		fs := slices.DeleteFunc(h.findings(), func(f checks.Finding) bool { return f.ID != "NIC-09" })
		if len(fs) != 1 || fs[0].Severity != want {
			t.Errorf("trust %v: findings %v", trust, fs)
		}
	}
}

// TestWillingWithAnAgent checks that a willing port is more severe if an agent runs.
func TestWillingWithAnAgent(t *testing.T) {
	h := newHostCase(t, hostBase)
	h.running.Agents = []string{"lldpad"}
	h.running.Ports["eth0"].Willing.V = true
	says := func(text string) func(checks.Finding) bool {
		return func(f checks.Finding) bool {
			return f.ID == "DCB-01" && f.Severity == checks.Warning && strings.Contains(f.What, text)
		}
	}
	if fs := h.findings(); len(fs) != 2 || !slices.ContainsFunc(fs, says("lldpad is active on the host")) {
		t.Errorf("findings %v", fs)
	}
	h.running.Agents, h.running.Ports["eth0"].DCBX.V = nil, nic.OwnerFirmware
	if fs := h.findings(); len(fs) != 2 || !slices.ContainsFunc(fs, says("the firmware owns DCBX of this port")) {
		t.Errorf("findings %v", fs)
	}
}

// TestFixOfABlockedChange checks that a fix does not recommend what apply rejects: two NICs
// differ from the intent in the same way, and the driver of one does not support the setting.
func TestFixOfABlockedChange(t *testing.T) {
	classes := func(p *nic.Port, n int) { p.ETS.V.Classes = n }
	for name, tt := range map[string]struct {
		id      string
		edit    func(p *nic.Port)
		blocked func(p *nic.Port)
		why     string
	}{
		"trust":   {"NIC-01", func(p *nic.Port) { p.Trust.V = qos.TrustPCP }, func(p *nic.Port) { p.Driver = nic.DriverICE; classes(p, 3) }, "DSCP 26 has priority 3 and the card has traffic classes 0 to 2"},
		"dscp":    {"NIC-02", func(p *nic.Port) { p.DSCP.V[26] = 0 }, func(p *nic.Port) { p.Driver = nic.DriverICE; classes(p, 3) }, "DSCP 26 has priority 3"},
		"pfc":     {"PFC-02", func(p *nic.Port) { p.PFC.V = 0 }, func(p *nic.Port) { p.Driver, p.PFCClasses = nic.DriverBNXT, qos.Of(0) }, "no lossless traffic class"},
		"dcbx":    {"DCB-03", func(p *nic.Port) { p.DCBX.V = nic.OwnerFirmware }, func(p *nic.Port) { p.Driver, p.Agent = nic.DriverBNXT, nic.AgentManaged }, "turn its LLDP and DCBX agents off"},
		"both":    {"DRIFT", func(p *nic.Port) { p.PFC.V = qos.Priorities(4) }, func(p *nic.Port) { p.Driver, p.PFCClasses = nic.DriverBNXT, qos.Of(0) }, "no lossless traffic class"},
		"buffers": {"BUF-13", func(p *nic.Port) { p.Buffers.V.Size[1] = 1000 }, func(p *nic.Port) { p.Buffers.V.Total = 2000 }, "B more than there is"},
	} {
		for _, blocked := range []bool{false, true} {
			h := newHostCase(t, strings.Replace(hostBase, "rdma: mlx5_0", "rdma: mlx5_0, buffers: auto", 1))
			p := h.running.Ports["eth0"]
			p.Buffers.V.Total = 262016
			tt.edit(p)
			if blocked {
				tt.blocked(p)
			}
			if name == "both" {
				h.ends["leaf1/Ethernet0"] = checks.End{PFC: qos.Priorities(4), MTU: 9100, Known: true}
			}
			fs := h.findings()
			i := slices.IndexFunc(fs, func(f checks.Finding) bool { return f.ID == tt.id && slices.Equal(f.Ports, []string{"eth0"}) })
			switch {
			case i < 0:
				t.Errorf("%s: %v", name, fs)
			case blocked != strings.Contains(fs[i].Fix, tt.why), !blocked && !strings.Contains(fs[i].Fix, "apply the intent to"):
				t.Errorf("%s, blocked %v: fix %q", name, blocked, fs[i].Fix)
			}
		}
	}
}

// TestHostFoldsPorts checks that one cause on two ports is one finding, also on a host without
// any configuration.
func TestHostFoldsPorts(t *testing.T) {
	h := newHostCase(t, hostBase)
	for _, p := range h.running.Ports {
		p.PFC.V, p.Trust.V, p.ToS.V = 0, qos.TrustPCP, 0
	}
	fs := checks.Sort(h.findings())
	var got []string
	for _, f := range fs {
		got = append(got, f.ID+" "+f.Place())
	}
	if want := []string{"NIC-01 gpu1 eth0,eth1", "NIC-03 gpu1 eth0,eth1", "PFC-02 gpu1 eth0,eth1"}; !slices.Equal(got, want) {
		t.Errorf("findings %q", got)
	}
}

func TestHosts(t *testing.T) {
	hosts := func(edit func(hs []*nic.Host)) []checks.Finding {
		var hs []*nic.Host
		for _, name := range []string{"gpu1", "gpu2", "gpu10"} {
			h := newHostCase(t, hostBase).running
			h.Name = name
			hs = append(hs, h)
		}
		edit(hs)
		return Hosts(nil, hs, nil)
	}
	for name, c := range map[string]struct {
		edit  func(*nic.Port)
		id    string // "" for nothing
		says  string
		ports int
	}{
		"alike":            {func(*nic.Port) {}, "", "", 0},
		"firmware":         {func(p *nic.Port) { p.Firmware = "28.39.900" }, "NIC-08", "firmware is 28.39.900, 4 other NICs have 28.39.1002 (layer firmware)", 2},
		"driver":           {func(p *nic.Port) { p.DriverVersion = "23.7" }, "NIC-08", "the driver version is 23.7", 2},
		"dcqcn":            {func(p *nic.Port) { p.DCQCN["rp_ai_rate"] = 10 }, "ECN-12", "DCQCN parameter rp_ai_rate is 10, 4 other NICs have 5", 2},
		"mtu":              {func(p *nic.Port) { p.ActiveMTU.V = 1024 }, "MTU-04", "the RDMA MTU is 1024 B, 4 other NICs have 4096 B", 2},
		"another card":     {func(p *nic.Port) { p.Device, p.Firmware = "101d", "22.1" }, "", "", 0},
		"not read":         {func(p *nic.Port) { p.Firmware, p.DCQCN, p.ActiveMTU.Set = "", nil, false }, "", "", 0},
		"a virtual one":    {func(p *nic.Port) { p.VF, p.Firmware = true, "1" }, "", "", 0},
		"not an RDMA port": {func(p *nic.Port) { p.RDMA, p.Firmware = "", "1" }, "", "", 0},
	} {
		fs := hosts(func(hs []*nic.Host) {
			for _, p := range hs[1].Ports {
				c.edit(p)
			}
		})
		switch {
		case c.id == "" && len(fs) > 0:
			t.Errorf("%s: %v", name, fs)
		case c.id != "" && (len(fs) != 1 || fs[0].ID != c.id || fs[0].Severity != checks.Warning || fs[0].Device != "gpu2" || len(fs[0].Ports) != c.ports || !strings.Contains(fs[0].What, c.says)):
			t.Errorf("%s: %+v", name, fs)
		}
	}
	// If as many NICs have one value as another, neither is the usual one.
	for want, edit := range map[string]func(hs []*nic.Host){
		"NIC-08 gpu1: firmware differs: 28.39.900 on 1 NIC (gpu1/eth0), 28.39.1002 on 1 NIC (gpu1/eth1) (layer firmware)": func(hs []*nic.Host) {
			hs[0].Ports["eth0"].Firmware = "28.39.900"
			hs[1].Ports, hs[2].Ports = nil, nil
		},
		"ECN-12 DCQCN parameter rp_ai_rate differs: 5 on 2 NICs (gpu1/eth0,gpu1/eth1), 10 on 2 NICs (gpu2/eth0,gpu2/eth1) (layer driver)": func(hs []*nic.Host) {
			for _, p := range hs[1].Ports {
				p.DCQCN["rp_ai_rate"] = 10
			}
			hs[2].Ports = nil
		},
		"NIC-08 firmware differs: 1 on 1 NIC (gpu1/eth0), 2 on 1 NIC (gpu1/eth1), 3 on 1 NIC (gpu2/eth0), 4 on 1 NIC (gpu2/eth1), 2 more values (layer firmware)": func(hs []*nic.Host) {
			for i, h := range hs {
				h.Ports["eth0"].Firmware, h.Ports["eth1"].Firmware = fmt.Sprint(2*i+1), fmt.Sprint(2*i+2)
			}
		},
	} {
		if fs := hosts(edit); len(fs) != 1 || fs[0].ID+" "+fs[0].Told() != want || fs[0].Severity != checks.Warning {
			t.Errorf("a tie: %+v", fs)
		}
	}
	// The fix states the value.
	for fix, edit := range map[string]func(*nic.Port){
		"write dcqcn: {rp_ai_rate: 5} for these NICs into the intent, and apply it to their hosts": func(p *nic.Port) { p.DCQCN["rp_ai_rate"] = 10 },
		"give all of them the MTU of mtu.host and mtu.rdma in the intent: apply it to these hosts": func(p *nic.Port) { p.ActiveMTU.V = 1024 },
	} {
		if fs := hosts(func(hs []*nic.Host) { edit(hs[1].Ports["eth0"]) }); len(fs) != 1 || fs[0].Fix != fix {
			t.Errorf("a fix: %+v", fs)
		}
	}
	// A port that the intent does not manage is not compared.
	h := newHostCase(t, hostBase).running
	h.Ports["eth1"].Firmware = "1"
	if fs := Hosts(nil, []*nic.Host{h}, func(_, port string) bool { return port == "eth0" }); len(fs) > 0 {
		t.Errorf("an unmanaged port: %v", fs)
	}
}

// TestHostPrintsSafely checks that control characters in text from a host do not reach the
// terminal.
func TestHostPrintsSafely(t *testing.T) {
	const evil = "a\x1b[2J\nb"
	h := newHostCase(t, hostBase)
	h.running.Name, h.running.Agents = evil, []string{evil}
	h.running.Ports[evil] = &nic.Port{RDMA: evil, Carrier: qos.Of(true), Driver: evil, Firmware: evil, DCQCN: map[string]uint64{evil: 1}}
	p := h.running.Ports["eth0"]
	p.RDMA, p.Mode.V, p.DCBX.V, p.ETS.V.TSA[0], p.NV["CNP_DSCP_P1"] = evil, evil, evil, evil, nic.NV{Current: evil, Next: evil}
	p.PFC.Set, p.Missing[nic.FieldPFC] = false, evil
	q := h.running.Ports["eth1"]
	q.Driver, q.NV, q.ToS.V, q.Firmware, q.DCQCN[evil] = evil, nil, 104, evil, 1
	p.Pairs, q.Seat = qos.Of([]nic.PairUse{{Program: evil, Read: 1, Of: 1, Over: evil}, {Program: evil, V1: true, Read: 1, Of: 1}, {Program: evil, Of: 1, Unread: evil}}), qos.Of(nic.Seat{Root: evil})
	p.Each = []nic.VF{{Interface: evil, User: evil, MTU: 1500, Up: true}}
	p.SharedPorts = []nic.SharedPort{{Program: evil, Peer: evil}}
	h.running.GPUs = []nic.GPU{{PCI: evil, Seat: nic.Seat{Root: "pci0000:97"}}}
	h.over(nic.Upper{Name: evil, Kind: nic.UpperBond, On: []string{"eth0"}, MTU: qos.Of(1500)})
	h.over(nic.Upper{Name: "loop", On: []string{"loop", evil}})
	other := newHostCase(t, hostBase).running
	other.Ports["eth0"].Driver, other.Ports["eth0"].DCQCN[evil] = evil, 2
	fs := append(h.findings(), Hosts(nil, []*nic.Host{h.running, other}, nil)...)
	if len(fs) < 10 {
		t.Fatalf("only %d findings", len(fs))
	}
	for _, f := range fs {
		for _, text := range append([]string{f.Device, f.What, f.Fix, f.Where}, f.Ports...) {
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
				t.Errorf("%s prints %q", f.ID, text)
			}
		}
	}
}

// fixOfHost is the fix of a finding that an apply removes.
const fixOfHost = "apply the intent to the host"
