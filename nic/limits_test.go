package nic

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// bnxt gets as many traffic classes as there are priorities in use, and no ETS class without a
// share.
func TestETSForDrivers(t *testing.T) {
	h, _ := desired(t, base)
	p := h.Ports["ens1f0np0"]
	for driver, want := range map[string]string{
		DriverMLX5:  "{0,3} ets 50%, {1,2,4,5,7} ets 0%, {6} strict",
		DriverICE:   "{0,3} ets 50%, {1,2,4,5,7} ets 0%, {6} strict",
		DriverIonic: "{0,3} ets 50%, {1,2,4,5,7} ets 0%, {6} strict",
		DriverBNXT:  "{0,1} ets 50%, {2,3,4,5,6,7} strict; priorities in classes 0-2,4-5,7:0 3:1 6:2",
	} {
		if got := p.ETSFor(&Port{Driver: driver}).V.String(); got != want {
			t.Errorf("%s: %s", driver, got)
		}
	}
	// Without a weighted class all classes are strict, and strict classes without a DSCP are
	// omitted.
	strict, _ := desired(t, edit(t, "bandwidth: 50%, ecn: auto", "strict: true, ecn: auto", "dscp: rest, bandwidth: 50%", "dscp: rest, strict: true"))
	p = strict.Ports["ens1f0np0"]
	if got := p.ETSFor(&Port{Driver: DriverIonic}).V.String(); got != "{0,3,6} strict, {1,2,4,5,7} ets 0%" {
		t.Errorf("all strict: %s", got)
	}
	if p.ETSFor(&Port{Driver: DriverMLX5}) != p.ETS || p.ETSFor(nil) != p.ETS {
		t.Error("mlx5 gets another ETS than the intent's")
	}
}

// A change is blocked if the card's state shows that it would be rejected, and not if the state
// shows nothing about it.
func TestLimits(t *testing.T) {
	two := edit(t, "  cnp:", "  more: {priority: 4, dscp: [30], lossless: true, bandwidth: 10%}\n  cnp:", "dscp: rest, bandwidth: 50%", "dscp: rest, bandwidth: 40%")
	for name, c := range map[string]struct {
		text    string
		field   string
		edit    func(*Port)
		blocked string
	}{
		"lossless classes": {two, FieldPFC, func(p *Port) { p.Driver, p.PFC.V, p.PFCClasses = DriverBNXT, 0, qos.Of(1) }, "{3,4} are lossless in 2 traffic classes, but the card supports only 1"},
		"enough of them":   {two, FieldPFC, func(p *Port) { p.Driver, p.PFC.V, p.PFCClasses = DriverBNXT, 0, qos.Of(2) }, ""},
		"not told":         {two, FieldPFC, func(p *Port) { p.Driver, p.PFC.V = DriverBNXT, 0 }, ""},
		"none at all":      {base, FieldPFC, func(p *Port) { p.Driver, p.PFC.V, p.PFCClasses = DriverBNXT, 0, qos.Of(0) }, "no lossless traffic class"},
		"mlx5 has no such": {two, FieldPFC, func(p *Port) { p.PFC.V, p.PFCClasses = 0, qos.Of(1) }, ""},
		"traffic classes":  {two, FieldETS, func(p *Port) { p.Driver, p.ETS.V.Classes = DriverBNXT, 3 }, "4 priorities and the card has 3"},
		"ice":              {base, FieldDSCP, func(p *Port) { p.Driver, p.ETS.V.Classes, p.DSCP.V[48] = DriverICE, 4, 0 }, "DSCP 48 has priority 6 and the card has traffic classes 0 to 3"},
		"ice without any":  {base, FieldTrust, func(p *Port) { p.Driver, p.ETS.V.Classes, p.Trust.V = DriverICE, 4, qos.TrustPCP }, "traffic classes 0 to 3"},
		"pfc after ets":    {two, FieldPFC, func(p *Port) { p.Driver, p.ETS.V.Classes, p.PFC.V = DriverBNXT, 3, 0 }, "ETS first"},
		"ice with eight":   {base, FieldDSCP, func(p *Port) { p.Driver, p.ETS.V.Classes, p.DSCP.V[48] = DriverICE, 8, 0 }, ""},
	} {
		h, _ := desired(t, c.text)
		running := *h.Ports["ens1f0np0"]
		running.Driver, running.From, running.Missing = DriverMLX5, nil, map[string]string{}
		c.edit(&running)
		h.Unit = UnitState{}
		found := false
		for _, ch := range Diff(&Host{Ports: map[string]*Port{"ens1f0np0": &running}}, h) {
			if ch.Port != "ens1f0np0" || ch.Field != c.field {
				continue
			}
			found = true
			if (c.blocked == "") != ch.Writable() || !strings.Contains(ch.Blocked, c.blocked) {
				t.Errorf("%s: %+v", name, ch)
			}
		}
		if !found {
			t.Errorf("%s: no change", name)
		}
	}
}

const withRings = "{rdma: mlx5_0, rings: {rx: 8192}}"

func TestRingsOfTheIntent(t *testing.T) {
	h, _ := desired(t, edit(t, "{rdma: mlx5_0}", withRings))
	p := h.Ports["ens1f0np0"]
	if p.Rings != qos.Of(Rings{RX: 8192}) || !strings.Contains(p.From[FieldRings], "fabric.yaml:11:") {
		t.Errorf("%v from %q", p.Rings, p.From[FieldRings])
	}
	if h.Ports["ens2f0np0"].Rings.Set {
		t.Error("rings that the intent does not state")
	}
	running := *p
	running.Rings = qos.Of(Rings{RX: 1024, TX: 512, MaxRX: 8192, MaxTX: 8192})
	running.Driver, running.Missing = DriverMLX5, map[string]string{FieldNV: NotInDriver}
	one := &Host{Ports: map[string]*Port{"ens1f0np0": p}}
	changes := func() (out []Change) {
		for _, c := range Diff(&Host{Ports: map[string]*Port{"ens1f0np0": &running}}, one) {
			if c.Field == FieldRings {
				out = append(out, c)
			}
		}
		return out
	}
	if cs := changes(); len(cs) != 1 || cs[0].Old != "rx 1024" || cs[0].New != "rx 8192" || cs[0].Impact != qos.ImpactPortFlap || cs[0].Layer != LayerDriver || !cs[0].Writable() {
		t.Errorf("%+v", cs)
	}
	running.Rings.V.RX = 8192
	if cs := changes(); cs != nil {
		t.Errorf("as stated: %+v", cs)
	}
	running.Rings, running.Missing[FieldRings] = qos.Opt[Rings]{}, NotInDriver
	if cs := changes(); len(cs) != 1 || cs[0].Kind != KindUnknown {
		t.Errorf("a driver without rings: %+v", cs)
	}
}

// The storage location is given for the driver of the card at hand.
func TestExplainByDriver(t *testing.T) {
	for device, c := range map[string]struct{ has, hasNot []string }{
		"ionic_0":  {[]string{"nicctl update qos pfc", "nicctl update dcqcn --cnp-dscp", "until it loses power", "rx 8192", "all AMD cards"}, []string{"ROCE_CC_PRIO_MASK", "mlx5", "DCBX owner", "CNP priority"}},
		"bnxt_re0": {[]string{"UDP port 4791", "bnxt_re/bnxt_re0/ports/1/cc", "priority 3 -> traffic class 1", "rx 8192"}, []string{"ROCE_CC_PRIO_MASK", "mlx5", "nicctl"}},
		"irdma0":   {[]string{"fw-lldp-agent", "rx 8192"}, []string{"CNP_DSCP_Pn", "mlx5", "nicctl"}},
		"mlx5_0":   {[]string{"ROCE_CC_PRIO_MASK", "rings: rx 8192", "driver, by ethtool"}, []string{"nicctl", "bnxt"}},
		"rocep9s0": {[]string{"ROCE_CC_PRIO_MASK"}, nil},
	} {
		f := load(t, edit(t, "{rdma: mlx5_0}", strings.Replace(withRings, "mlx5_0", device, 1)))
		text := explained(t, f)
		for _, s := range c.has {
			if !strings.Contains(text, s) {
				t.Errorf("%s: no %q in\n%s", device, s, text)
			}
		}
		for _, s := range c.hasNot {
			if strings.Contains(text, s) {
				t.Errorf("%s: %q in\n%s", device, s, text)
			}
		}
	}
}

func explained(t *testing.T, f *intent.Fabric) string {
	t.Helper()
	e, err := Explain(f, f.Host("gpu1"), "ens1f0np0")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(e.Lines(), "\n")
}
