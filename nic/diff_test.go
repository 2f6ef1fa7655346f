package nic

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// machine returns a host with NVIDIA's own driver that already runs the settings of base.
func machine(t testing.TB) (running, want *Host) {
	t.Helper()
	want, _ = desired(t, base)
	running = &Host{Name: "gpu1", Kernel: "6.12.1", Unit: want.Unit, Ports: map[string]*Port{}}
	for name, w := range want.Ports {
		p := *w
		p.From, p.Wanted = nil, qos.Opt[mlxconfig.Settings]{}
		p.RDMAPort, p.Driver, p.Vendor, p.PCI, p.Card, p.CardPort = 1, DriverMLX5, "15b3", "0000:3b:00.0", "ConnectX7", 1
		p.NV = map[string]NV{
			"ROCE_CC_PRIO_MASK_P1": {"255", "255", "255", false},
			"CNP_DSCP_P1":          {"48", "48", "48", false},
			"CNP_802P_PRIO_P1":     {"6", "6", "6", false},
			"LLDP_NB_DCBX_P1":      {"False(0)", "False(0)", "False(0)", false},
			"LLDP_NB_RX_MODE_P1":   {"OFF(0)", "OFF(0)", "OFF(0)", false},
			"LLDP_NB_TX_MODE_P1":   {"OFF(0)", "OFF(0)", "OFF(0)", false},
		}
		p.Missing = map[string]string{}
		running.Ports[name] = &p
	}
	return running, want
}

func TestDiffOfTheSame(t *testing.T) {
	running, want := machine(t)
	if cs := Diff(running, want); len(cs) > 0 {
		t.Errorf("a host as desired differs: %+v", cs)
	}
	if cs := Diff(want, want); len(cs) > 0 {
		t.Errorf("a host differs from itself: %+v", cs)
	}
	if cs := Diff(running, &Host{}); len(cs) > 0 {
		t.Errorf("nothing is desired and something differs: %+v", cs)
	}
}

// Each differing value yields exactly one change, with its layer, kind and port.
func TestDiffFindsEachValueAndNothingElse(t *testing.T) {
	nv := func(name string, v NV) func(*Port) { return func(p *Port) { p.NV[name] = v } }
	missing := func(field, why string, clear func(*Port)) func(*Port) {
		return func(p *Port) { clear(p); p.Missing[field] = why }
	}
	for name, c := range map[string]struct {
		edit     func(*Port)
		field    string
		layer    Layer
		kind     Kind
		impact   qos.Impact
		old, new string
	}{
		"dcbx":           {func(p *Port) { p.DCBX.V = OwnerFirmware }, FieldDCBX, LayerDriver, KindConflict, 0, "firmware", "os"},
		"link pause":     {func(p *Port) { p.LinkPause.V = true }, FieldLinkPause, LayerDriver, KindDrift, 0, "on", "off"},
		"algorithm":      {func(p *Port) { p.ETS.V.TSA[6] = TSAVendor }, FieldETS, LayerDriver, KindDrift, 0, "{0,3} ets 50%, {1,2,4,5,7} ets 0%, {6} vendor", "{0,3} ets 50%, {1,2,4,5,7} ets 0%, {6} strict"},
		"share":          {func(p *Port) { p.ETS.V.Bandwidth = [8]int{40, 0, 0, 60} }, FieldETS, LayerDriver, KindDrift, 0, "{0} ets 40%, {1,2,4,5,7} ets 0%, {3} ets 60%, {6} strict", "{0,3} ets 50%, {1,2,4,5,7} ets 0%, {6} strict"},
		"priority map":   {func(p *Port) { p.ETS.V.PriorityToTC[0] = 1 }, FieldETS, LayerDriver, KindDrift, 0, "{0,3} ets 50%, {1,2,4,5,7} ets 0%, {6} strict; priorities in classes 0-1:1 2:2 3:3 4:4 5:5 6:6 7:7", "{0,3} ets 50%, {1,2,4,5,7} ets 0%, {6} strict"},
		"ice ets":        {func(p *Port) { p.Driver = DriverICE; p.NV = nil; p.ETS.V.TSA[6] = TSAETS }, FieldETS, LayerDriver, KindDrift, qos.ImpactPortFlap, "{0,3} ets 50%, {1,2,4,5,6,7} ets 0%", "{0,3} ets 50%, {1,2,4,5,7} ets 0%, {6} strict"},
		"ice trust":      {func(p *Port) { p.Driver = DriverICE; p.NV = nil; p.Trust.V = qos.TrustPCP }, FieldTrust, LayerDriver, KindDrift, qos.ImpactPortFlap, "pcp", "dscp"},
		"ice dscp":       {func(p *Port) { p.Driver = DriverICE; p.NV = nil; p.DSCP.V[26] = 0 }, FieldDSCP, LayerDriver, KindDrift, qos.ImpactPortFlap, "26:0", "26:3"},
		"rdma_cm":        {missing(FieldToS, NoCM, func(p *Port) { p.ToS.Set = false }), FieldToS, LayerRDMA, KindDrift, 0, "unset: the module rdma_cm is not loaded", "106 (DSCP 26)"},
		"willing":        {func(p *Port) { p.Willing.V = true }, FieldWilling, LayerDriver, KindDrift, 0, "on", "off"},
		"ice willing":    {func(p *Port) { p.Driver, p.NV, p.Willing.V = DriverICE, nil, true }, FieldWilling, LayerDriver, KindDrift, qos.ImpactPortFlap, "on", "off"},
		"stall":          {func(p *Port) { p.StallPrevention.V = StallDefault }, FieldStallPrevention, LayerDriver, KindDrift, 0, "default", "auto"},
		"stall not read": {missing(FieldStallPrevention, "needs root", func(p *Port) { p.StallPrevention.Set = false }), FieldStallPrevention, LayerDriver, KindUnknown, 0, "-", "auto"},
		"no rdma device": {func(p *Port) { p.RDMA = "" }, FieldRDMA, "", KindDrift, 0, "-", "mlx5_0"},
		"no such port":   {func(p *Port) { p.CardPort = 99 }, FieldNV, LayerFirmware, KindUnknown, 0, "-", "as the intent says"},
		"cable":          {func(p *Port) { p.Cable.V = 7 }, FieldCable, LayerDriver, KindDrift, 0, "7m", "10m"},
		"pfc":            {func(p *Port) { p.PFC.V = 0 }, FieldPFC, LayerDriver, KindDrift, qos.ImpactPortFlap, "0x00 {}", "0x08 {3}"},
		"dscp":           {func(p *Port) { p.DSCP.V[26] = 0; p.DSCP.V[27] = 3; p.DSCP.V[48] = qos.Unmapped }, FieldDSCP, LayerDriver, KindDrift, 0, "26:0 27:3 48:-", "26:3 27:0 48:6"},
		"trust":          {func(p *Port) { p.Trust.V = qos.TrustPCP }, FieldTrust, LayerDriver, KindDrift, 0, "pcp", "dscp"},
		"mode":           {func(p *Port) { p.Mode.V = "IB/RoCE v1" }, FieldMode, LayerRDMA, KindDrift, 0, "IB/RoCE v1", "RoCE v2"},
		"tos":            {func(p *Port) { p.ToS.V = 0 }, FieldToS, LayerRDMA, KindDrift, 0, "0 (DSCP 0)", "106 (DSCP 26)"},
		"tos and ECN":    {func(p *Port) { p.Driver, p.NV, p.ToS.V = DriverICE, nil, 104 }, FieldToS, LayerRDMA, KindDrift, 0, "104 (DSCP 26)", "106 (DSCP 26)"},
		"ice link pause": {func(p *Port) { p.Driver, p.NV, p.LinkPause.V = DriverICE, nil, true }, FieldLinkPause, LayerDriver, KindDrift, qos.ImpactPortFlap, "on", "off"},
		"traffic class":  {func(p *Port) { p.TrafficClass.V = -1 }, FieldTrafficClass, LayerRDMA, KindDrift, 0, "unset", "106 (DSCP 26)"},
		"ecn":            {func(p *Port) { p.ECN.V = qos.Priorities(0) }, FieldECN, LayerDriver, KindDrift, 0, "0x01 {0}", "0x08 {3}"},
		"cnp dscp":       {func(p *Port) { p.CNPDSCP.V = 4 }, FieldCNPDSCP, LayerDriver, KindDrift, 0, "4", "48"},
		"cnp priority":   {func(p *Port) { p.CNPPriority.V = 7 }, FieldCNPPriority, LayerDriver, KindDrift, 0, "7", "6"},
		"mtu":            {func(p *Port) { p.MTU.V = 1500 }, FieldMTU, LayerDriver, KindDrift, qos.ImpactLoss, "1500", "9000"},
		"rdma device":    {func(p *Port) { p.RDMA = "mlx5_7" }, FieldRDMA, "", KindDrift, 0, "mlx5_7", "mlx5_0"},

		"not programmed":          {nv("CNP_DSCP_P1", NV{"48", "4", "4", false}), "nv[CNP_DSCP_P1]", LayerFirmware, KindNotProgrammed, 0, "4", "48"},
		"reset pending":           {nv("CNP_DSCP_P1", NV{"48", "4", "48", false}), "nv[CNP_DSCP_P1]", LayerFirmware, KindResetPending, 0, "4", "48"},
		"firmware agent":          {nv("LLDP_NB_TX_MODE_P1", NV{"ALL(2)", "ALL(2)", "ALL(2)", false}), "nv[LLDP_NB_TX_MODE_P1]", LayerFirmware, KindNotProgrammed, 0, "ALL(2)", "0"},
		"mask without priority 3": {nv("ROCE_CC_PRIO_MASK_P1", NV{"255", "1", "1", false}), "nv[ROCE_CC_PRIO_MASK_P1]", LayerFirmware, KindNotProgrammed, 0, "1", "8"},
		"wide mask pending":       {nv("ROCE_CC_PRIO_MASK_P1", NV{"255", "0", "255", false}), "nv[ROCE_CC_PRIO_MASK_P1]", LayerFirmware, KindResetPending, 0, "0", "255"},
		"no such setting":         {func(p *Port) { delete(p.NV, "LLDP_NB_DCBX_P1") }, "nv[LLDP_NB_DCBX_P1]", LayerFirmware, KindUnknown, 0, "-", "0"},
		"firmware not read":       {missing(FieldNV, "needs root", func(p *Port) { p.NV = nil }), FieldNV, LayerFirmware, KindUnknown, 0, "-", "as the intent says"},
		"which port of the card":  {func(p *Port) { p.CardPort = 0 }, FieldNV, LayerFirmware, KindUnknown, 0, "-", "as the intent says"},

		"pfc not read":      {missing(FieldPFC, "needs root", func(p *Port) { p.PFC.Set = false }), FieldPFC, LayerDriver, KindUnknown, 0, "-", "0x08 {3}"},
		"driver has no pfc": {missing(FieldPFC, NotInDriver, func(p *Port) { p.PFC.Set = false }), FieldPFC, LayerDriver, KindUnknown, 0, "-", "0x08 {3}"},
		"dscp not read":     {func(p *Port) { p.DSCP.Set = false }, FieldDSCP, LayerDriver, KindUnknown, 0, "-", "0-25,27-47,49-63:0 26:3 48:6"},
		"a VF":              {func(p *Port) { p.VF = true; p.DCBX.Set, p.PFC.Set, p.ECN.Set = false, false, false }, FieldDCB, LayerDriver, KindUnknown, 0, "-", "settings of the physical function"},
	} {
		running, want := machine(t)
		for _, h := range []*Host{running, want} { // the intent may state these
			h.Ports["ens1f0np0"].Willing, h.Ports["ens1f0np0"].StallPrevention = qos.Of(false), qos.Of(StallAuto)
		}
		c.edit(running.Ports["ens1f0np0"])
		cs := Diff(running, want)
		if len(cs) != 1 {
			t.Errorf("%s: %d changes: %+v", name, len(cs), cs)
			continue
		}
		got := cs[0]
		if got.Port != "ens1f0np0" || got.Field != c.field || got.Layer != c.layer || got.Kind != c.kind || got.Impact != c.impact || got.Old != c.old || got.New != c.new {
			t.Errorf("%s: %+v", name, got)
		}
		if (c.kind == KindUnknown) == (got.Blocked == "") && c.field != FieldRDMA {
			t.Errorf("%s: blocked %q", name, got.Blocked)
		}
		if firmware := c.kind == KindNotProgrammed || c.kind == KindResetPending; firmware != (got.After != "") {
			t.Errorf("%s: afterwards %q", name, got.After)
		}
		if writable := c.kind == KindDrift && c.field != FieldRDMA || c.kind == KindConflict || c.kind == KindNotProgrammed; got.Writable() != writable {
			t.Errorf("%s: writable %v", name, got.Writable())
		}
		if !strings.Contains(got.Reason, "fabric.yaml:") && got.Reason != "default" {
			t.Errorf("%s: reason %q", name, got.Reason)
		}
	}
}

// A value that means the same, goes beyond what is wanted or does not exist in the driver is no
// difference.
func TestDiffLeavesAlone(t *testing.T) {
	for name, edit := range map[string]func(*Port){
		"the other ToS of the DSCP":       func(p *Port) { p.ToS.V, p.TrafficClass.V = 104, 104 },
		"ECT(1)":                          func(p *Port) { p.Driver, p.NV, p.ToS.V = DriverICE, nil, 105 },
		"congestion control on more":      func(p *Port) { p.ECN.V = 0xff },
		"the share of a strict class":     func(p *Port) { p.ETS.V.Bandwidth[6] = 12 },
		"classes that the port lacks":     func(p *Port) { p.ETS.V.Classes = 7; p.ETS.V.TSA[7] = TSAVendor },
		"a mask of its own":               func(p *Port) { p.NV["ROCE_CC_PRIO_MASK_P1"] = NV{"255", "8", "24", false} },
		"a firmware setting nobody wants": func(p *Port) { p.NV["SRIOV_EN"] = NV{"0", "0", "1", false} },
		"what OFED alone has": func(p *Port) {
			p.ECN.Set, p.TrafficClass.Set, p.CNPDSCP.Set, p.CNPPriority.Set, p.Cable.Set = false, false, false, false, false
			for _, f := range []string{FieldECN, FieldTrafficClass, FieldCNPDSCP, FieldCNPPriority, FieldCable} {
				p.Missing[f] = NotInDriver
			}
		},
		"a mask that is not shown":       func(p *Port) { p.NV["ROCE_CC_PRIO_MASK_P1"] = NV{Next: "255"} },
		"the firmware of another vendor": func(p *Port) { p.Driver, p.NV = DriverBNXT, nil; p.ETS = p.ETSFor(p) },
		"state":                          func(p *Port) { p.Carrier, p.ActiveMTU, p.Willing = qos.Of(false), qos.Of(256), qos.Of(true) },
	} {
		running, want := machine(t)
		edit(running.Ports["ens2f0np0"])
		if cs := Diff(running, want); len(cs) > 0 {
			t.Errorf("%s: %+v", name, cs)
		}
	}
}

func TestDiffLeavesAloneWhatIsNotDesired(t *testing.T) {
	running, want := machine(t)
	h, w := running.Ports["ens1f0np0"], want.Ports["ens1f0np0"]
	w.DSCP.V[26], h.DSCP.V[26] = qos.Unmanaged, 0
	want.Unit.Digest, running.Unit.Digest = "", "x"
	w.MTU, h.MTU.V = qos.Opt[int]{}, 1500
	if cs := Diff(running, want); len(cs) > 0 {
		t.Errorf("%+v", cs)
	}
	// Without an RDMA device, the RDMA stack has no defaults to compare.
	w.RDMA, h.RDMA, h.ToS.V, h.Mode.Set = "", "", 0, false
	if cs := Diff(running, want); len(cs) > 0 {
		t.Errorf("without an RDMA device: %+v", cs)
	}
	h.RDMA = "mlx5_0"
	if cs := Diff(running, want); len(cs) != 2 {
		t.Errorf("an RDMA device that the intent does not name: %+v", cs)
	}
	h.Driver = DriverBNXT
	if nv, err := w.WantedNV(h); err != nil || nv != nil {
		t.Errorf("another vendor's card: %v %v", nv, err)
	}
}

// A setting that the card does not let this host change is reported as a blocked difference.
func TestDiffOfAReadOnlySetting(t *testing.T) {
	running, want := machine(t)
	running.Ports["ens1f0np0"].NV["CNP_DSCP_P1"] = NV{"48", "4", "4", true}
	if cs := Diff(running, want); len(cs) != 1 || cs[0].Kind != KindNotProgrammed || !strings.Contains(cs[0].Blocked, "not change it") || cs[0].Writable() {
		t.Errorf("%+v", cs)
	}
}

// A function without DCB reports its own reason.
func TestDiffOfAVF(t *testing.T) {
	running, want := machine(t)
	p := running.Ports["ens1f0np0"]
	p.VF, p.Missing[FieldDCB], p.ToS.V = true, strings.Repeat("long ", 100), 0
	cs := Diff(running, want)
	if len(cs) != 2 || cs[0].Field != FieldDCB || len(cs[0].Blocked) > 300 || !strings.HasPrefix(cs[0].Blocked, "long long") || cs[1].Field != FieldToS {
		t.Errorf("%+v", cs)
	}
}

func TestDiffOfTheHost(t *testing.T) {
	for name, c := range map[string]struct {
		edit     func(*Host)
		field    string
		kind     Kind
		old, new string
	}{
		"lldpad":        {func(h *Host) { h.Agents = []string{"lldpad"} }, FieldAgents, KindConflict, "lldpad", "-"},
		"hidden agents": {func(h *Host) { h.Missing = map[string]string{FieldAgents: "no /proc"} }, FieldAgents, KindUnknown, "-", "-"},
		"no unit":       {func(h *Host) { h.Unit = UnitState{} }, FieldUnit, KindNotPersistent, "-", "installed"},
		"stale unit":    {func(h *Host) { h.Unit.Digest = "0" }, FieldUnit, KindNotPersistent, "with other settings", "installed"},
		"broken unit":   {func(h *Host) { h.Unit.Digest, h.Unit.Stale = "", "/etc/x\nis missing" }, FieldUnit, KindNotPersistent, "/etc/x is missing", "installed"},
		"hidden unit":   {func(h *Host) { h.Unit = UnitState{}; h.Missing = map[string]string{FieldUnit: "needs root"} }, FieldUnit, KindUnknown, "-", "installed"},
		"no port":       {func(h *Host) { delete(h.Ports, "ens2f0np0") }, FieldPort, KindMissing, "-", "present"},
	} {
		running, want := machine(t)
		c.edit(running)
		cs := Diff(running, want)
		if len(cs) != 1 || cs[0].Field != c.field || cs[0].Kind != c.kind || cs[0].Old != c.old || cs[0].New != c.new || cs[0].Layer != "" || cs[0].Writable() {
			t.Errorf("%s: %+v", name, cs)
		}
	}
}

// Conflicting agents come first, then the ports, each in the order in which its settings are
// written, then the boot unit.
func TestDiffOrder(t *testing.T) {
	running, want := machine(t)
	running.Agents, running.Unit = []string{"lldpad"}, UnitState{}
	p := running.Ports["ens2f0np0"]
	p.DCBX.V, p.LinkPause.V, p.ETS.V.TSA[0], p.PFC.V, p.DSCP.V[26] = OwnerFirmware, true, TSAVendor, 0, 0
	p.Trust.V, p.ToS.V, p.ECN.V, p.MTU.V = qos.TrustPCP, 0, 0, 1500
	p.NV["CNP_DSCP_P1"] = NV{Next: "4"}
	running.Ports["ens1f0np0"].MTU.V = 1500
	var got []string
	for _, c := range Diff(running, want) {
		got = append(got, strings.TrimPrefix(c.Path(), "ports[ens2f0np0]."))
	}
	if want := []string{"agents", "ports[ens1f0np0].mtu", "dcbx", "link_pause", "ets", "pfc", "dscp", "trust", "tos", "ecn", "mtu", "nv[CNP_DSCP_P1]", "unit"}; !slices.Equal(got, want) {
		t.Errorf("order %q", got)
	}
}

// A running host survives a JSON round trip unchanged.
func TestHostAsJSON(t *testing.T) {
	running, want := machine(t)
	running.Ports["ens1f0np0"].PFC = qos.Opt[qos.PrioritySet]{}
	running.Ports["ens1f0np0"].Missing[FieldPFC] = "needs root"
	running.Ports["ens2f0np0"].DSCP.V[26] = qos.Unmapped
	before := Diff(running, want)
	b, err := json.Marshal(running)
	if err != nil {
		t.Fatal(err)
	}
	var back Host
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if after := Diff(&back, want); len(before) != 2 || !slices.Equal(before, after) {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	if b, err = json.Marshal(want); err != nil {
		t.Fatal(err)
	}
	var wanted Host
	if err := json.Unmarshal(b, &wanted); err != nil || Digest(&wanted) != want.Unit.Digest {
		t.Errorf("the digest changes on the way: %v", err)
	}
}

func TestLayers(t *testing.T) {
	for field, want := range map[string]Layer{FieldPFC: LayerDriver, FieldToS: LayerRDMA, nvField("CNP_DSCP_P1"): LayerFirmware, "dcqcn[rp_gd]": LayerDriver, FieldUnit: "", "nv[": "", "": ""} {
		if got := LayerOf(field); got != want {
			t.Errorf("%q is in layer %q", field, got)
		}
	}
	if name, ok := NVName("nv[A[0]]"); !ok || name != "A[0]" {
		t.Errorf("name %q %v", name, ok)
	}
}

// Any host state is compared without a panic, and every text made from it is safe to print.
func FuzzDiff(f *testing.F) {
	running, want := machine(f)
	b, err := json.Marshal(running)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"ports":{"ens1f0np0":{"ets":{"V":{"tsa":["\u001b[2J"],"priority_to_tc":[-128,127],"classes":99},"Set":true},"dscp":{"V":[-9,99],"Set":true},"driver":"mlx5_core","card_port":99,"nv":{"X":{"next":"\u0007"}}},"ens2f0np0":null},"agents":["\n"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Host
		if json.Unmarshal(b, &h) != nil {
			return
		}
		for _, c := range Diff(&h, want) {
			for _, s := range []string{c.Old, c.New, c.Blocked, c.After} {
				if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Errorf("%s prints %q", c.Path(), s)
				}
			}
		}
	})
}

// Ports are listed in natural order, independent of map order.
func TestDiffPortsInOrder(t *testing.T) {
	want := &Host{Ports: map[string]*Port{"eth10": {}, "eth2": {}, "eth1": {}}}
	var got []string
	for _, c := range Diff(&Host{}, want) {
		got = append(got, c.Port)
	}
	if !slices.Equal(got, []string{"eth1", "eth2", "eth10"}) {
		t.Errorf("ports %q", got)
	}
}
