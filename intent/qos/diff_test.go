package qos

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

func full() *Device {
	m := UnmappedMaps()
	for i := range m.DSCPToTC {
		m.DSCPToTC[i] = 0
	}
	m.DSCPToTC[26] = 3
	d := &Device{Ports: map[string]*Port{}, WatchdogPoll: Of(200 * time.Millisecond), GlobalMaps: Of(m)}
	for i := range 12 {
		p := &Port{
			AdminUp: Of(true), Speed: Of(units.Rate(400e9)), FEC: Of("rs"), MTU: Of(9100), Cable: Of(units.Length(5)),
			Trust: Of(TrustDSCP), Maps: Of(m), PFC: Of(Priorities(3)), PFCAsymmetric: Of(false),
			Watchdog: Of(Watchdog{Enabled: true, Priorities: Priorities(3), Action: ActionDrop, Detect: time.Second, Restore: time.Second}),
		}
		for q := range p.Queues {
			p.Queues[q] = Queue{Scheduler: Of(Scheduler{Weight: q + 1}), ECN: Of(ECN{}), Buffer: Of("b")}
			p.Groups[q] = Group{Lossless: Of(q == 3)}
		}
		d.Ports[fmt.Sprintf("Ethernet%d", i*8)] = p
	}
	return d
}

func TestDiffFindsEachValueAndNothingElse(t *testing.T) {
	if cs := Diff(full(), full()); len(cs) > 0 {
		t.Fatalf("equal devices differ: %v", cs)
	}
	for path, c := range map[string]struct {
		edit     func(*Port)
		old, new string
	}{
		"admin_up":               {func(p *Port) { p.AdminUp.V = false }, "true", "false"},
		"speed":                  {func(p *Port) { p.Speed.V = 100e9 }, "400G", "100G"},
		"fec":                    {func(p *Port) { p.FEC.V = "" }, "rs", `""`},
		"mtu":                    {func(p *Port) { p.MTU.V = 1500 }, "9100", "1500"},
		"cable":                  {func(p *Port) { p.Cable.V = 40 }, "5m", "40m"},
		"trust":                  {func(p *Port) { p.Trust.V = TrustPCP }, "dscp", "pcp"},
		"pfc":                    {func(p *Port) { p.PFC.V = Priorities(3, 4) }, "{3}", "{3,4}"},
		"pfc_asymmetric":         {func(p *Port) { p.PFCAsymmetric.V = true }, "false", "true"},
		"link_pause":             {func(p *Port) { p.LinkPause = Of(false) }, Absent, "false"},
		"lag":                    {func(p *Port) { p.LAG = Of("PortChannel1") }, Absent, "PortChannel1"},
		"breakout":               {func(p *Port) { p.Breakout = Of("4x100G") }, Absent, "4x100G"},
		"ingress_profiles":       {func(p *Port) { p.IngressProfiles = Of("a,b") }, Absent, "a,b"},
		"egress_profiles":        {func(p *Port) { p.EgressProfiles = Of("a,b") }, Absent, "a,b"},
		"watchdog":               {func(p *Port) { p.Watchdog.V = Watchdog{} }, "drop {3} detect 1s restore 1s", "off"},
		"queues[2].scheduler":    {func(p *Port) { p.Queues[2].Scheduler.V = Scheduler{Strict: true} }, "weight 3", "strict"},
		"queues[3].ecn":          {func(p *Port) { p.Queues[3].ECN.V = ECN{Enabled: true, Min: 150e3, Max: 1500e3, Probability: 10} }, "off", "150KB..1500KB 10%"},
		"queues[7].buffer":       {func(p *Port) { p.Queues[7].Buffer.V = "c" }, "b", "c"},
		"groups[3].lossless":     {func(p *Port) { p.Groups[3].Lossless.V = false }, "true", "false"},
		"groups[3].headroom":     {func(p *Port) { p.Groups[3].Headroom = Of(Headroom{XOFF: 1024, Threshold: -2}) }, Absent, "size 0B xon 0B xoff 1KiB dynamic_th -2"},
		"groups[3].derived_from": {func(p *Port) { p.Groups[3].DerivedFrom = Of("400G 5m") }, Absent, "400G 5m"},
		"groups[0].buffer":       {func(p *Port) { p.Groups[0].Buffer = Of("lossy") }, Absent, "lossy"},
		"maps.dscp_to_tc": {func(p *Port) {
			m := *p.Maps.V
			m.DSCPToTC[26], m.DSCPToTC[27], m.DSCPToTC[28], m.DSCPToTC[48] = Unmapped, 4, 4, 6
			p.Maps.V = &m
		}, "26:3 27-28,48:0", "26:- 27-28:4 48:6"},
		"maps.tc_to_dscp": {func(p *Port) { m := *p.Maps.V; m.TCToDSCP[3] = 26; p.Maps.V = &m }, "3:-", "3:26"},
	} {
		want := full()
		c.edit(want.Ports["Ethernet16"])
		cs := Diff(full(), want)
		if len(cs) != 1 || cs[0].Path() != "ports[Ethernet16]."+path || cs[0].Old != c.old || cs[0].New != c.new {
			t.Errorf("%s: %+v", path, cs)
		}
	}
}

func TestDiffLeavesAloneWhatIsNotManaged(t *testing.T) {
	running := full()
	running.Ports["Ethernet999"] = &Port{PFC: Of(Priorities(0, 1))}
	if cs := Diff(running, &Device{Ports: map[string]*Port{"Ethernet0": {}}}); len(cs) > 0 {
		t.Errorf("an empty wish changes %v", cs)
	}
	// PCP and PFC-to-group maps count only where they are managed.
	want := full()
	m := *want.Ports["Ethernet0"].Maps.V
	Unmanage(&m.PCPToTC, &m.PFCToGroup)
	want.Ports["Ethernet0"].Maps.V = &m
	if cs := Diff(running, want); len(cs) > 0 {
		t.Errorf("unmanaged maps change %v", cs)
	}
	m.PCPToTC[1], m.PFCToGroup[3] = 1, 3
	if cs := Diff(running, want); len(cs) != 2 {
		t.Errorf("managed maps change %v", cs)
	}
}

// bare has the ports of d and nothing on them.
func bare(d *Device) *Device {
	out := &Device{Ports: map[string]*Port{}}
	for name := range d.Ports {
		out.Ports[name] = &Port{}
	}
	return out
}

func TestAPortThatIsNotThereIsOneChange(t *testing.T) {
	running := full()
	delete(running.Ports, "Ethernet16")
	cs := Diff(running, full())
	if len(cs) != 1 || cs[0].Path() != "ports[Ethernet16].port" || cs[0].Old != Absent || cs[0].New != "present" {
		t.Errorf("%v", cs)
	}
}

func TestDiffOrder(t *testing.T) {
	cs := Diff(bare(full()), full())
	var ports []string
	for _, c := range cs {
		if len(ports) == 0 || ports[len(ports)-1] != c.Port {
			ports = append(ports, c.Port)
		}
	}
	want := []string{""}
	for i := range 12 {
		want = append(want, fmt.Sprintf("Ethernet%d", i*8))
	}
	if !slices.Equal(ports, want) {
		t.Errorf("ports in the order %v", ports)
	}
	if cs[2].Field != "speed" || cs[len(cs)-1].Field != "watchdog" {
		t.Errorf("fields begin with %s and end with %s", cs[2].Field, cs[len(cs)-1].Field)
	}
}

func TestNormalizeMakesEqualWhatMeansTheSame(t *testing.T) {
	a, b := full(), full()
	p := a.Ports["Ethernet0"]
	p.Queues[0].ECN.V = ECN{Min: 5, Max: 9, Probability: 3}
	p.Queues[1].Scheduler.V = Scheduler{Strict: true, Weight: 7}
	p.Watchdog.V = Watchdog{Enabled: true, Action: ActionDrop, Detect: time.Hour}
	b.Ports["Ethernet0"].Queues[1].Scheduler.V = Scheduler{Strict: true}
	b.Ports["Ethernet0"].Watchdog.V = Watchdog{}
	Normalize(a)
	Normalize(b)
	if cs := Diff(a, b); len(cs) > 0 {
		t.Errorf("%v", cs)
	}
	// A profile that is bound and inert is not the same as none.
	a.Ports["Ethernet0"].Queues[0].ECN.V = ECN{Other: "ecn_none"}
	Normalize(a)
	if cs := Diff(a, b); len(cs) != 1 {
		t.Errorf("an inert profile passes for none: %v", cs)
	}
}

func TestImpactText(t *testing.T) {
	for i := ImpactNone; i <= ImpactReload; i++ {
		b, err := i.MarshalText()
		var back Impact
		if err != nil || back.UnmarshalText(b) != nil || back != i {
			t.Errorf("%d -> %s -> %d", i, b, back)
		}
	}
	var i Impact
	if err := i.UnmarshalText([]byte("huge")); err == nil {
		t.Error("an unknown impact passes")
	}
}
