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
		t.Errorf("an empty desired state changes %v", cs)
	}
	// PCP and PFC-to-group maps are compared only if they are managed.
	want := full()
	m := *want.Ports["Ethernet0"].Maps.V
	m.Unmanage(PCPToTC, PFCToGroup)
	want.Ports["Ethernet0"].Maps.V = &m
	if cs := Diff(running, want); len(cs) > 0 {
		t.Errorf("unmanaged maps change %v", cs)
	}
	m.PCPToTC[1], m.PFCToGroup[3] = 1, 3
	if cs := Diff(running, want); len(cs) != 2 {
		t.Errorf("managed maps change %v", cs)
	}
}

// bare returns a device with the ports of d but no settings.
func bare(d *Device) *Device {
	out := &Device{Ports: map[string]*Port{}}
	for name := range d.Ports {
		out.Ports[name] = &Port{}
	}
	return out
}

func TestMissingPortIsOneChange(t *testing.T) {
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
	if cs[2].Field != KindSpeed.Attr() || cs[len(cs)-1].Field != KindWatchdog.Attr() {
		t.Errorf("fields begin with %s and end with %s", cs[2].Field, cs[len(cs)-1].Field)
	}
}

func TestNormalizeEquatesEquivalentDevices(t *testing.T) {
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
	// A bound profile that does nothing differs from no profile.
	a.Ports["Ethernet0"].Queues[0].ECN.V = ECN{Other: "ecn_none"}
	Normalize(a)
	if cs := Diff(a, b); len(cs) != 1 {
		t.Errorf("an inert profile passes for none: %v", cs)
	}
}

// The effect of a difference on lossless traffic sets its minimum impact, on every port and in
// every table.
func TestLeastImpact(t *testing.T) {
	dscp := func(code, tc int) func(*Device) {
		return func(d *Device) {
			m := *d.GlobalMaps.V
			m.DSCPToTC[code] = int8(tc)
			for _, p := range d.Ports {
				p.Maps = Of(&m)
			}
		}
	}
	table := func(of func(*Maps) *[NumPriorities]int8, key, to int) func(*Device) {
		return func(d *Device) {
			m := *d.GlobalMaps.V
			of(&m)[key] = int8(to)
			for _, p := range d.Ports {
				p.Maps = Of(&m)
			}
		}
	}
	toQueue := func(m *Maps) *[NumPriorities]int8 { return &m.TCToQueue }
	rewrite := func(m *Maps) *[NumPriorities]int8 { return &m.TCToDSCP }
	pcp := func(m *Maps) *[NumPriorities]int8 { return &m.PCPToTC }
	port := func(edit func(*Port)) func(*Device) { return func(d *Device) { edit(d.Ports["Ethernet8"]) } }
	marks := port(func(p *Port) {
		p.Queues[3].ECN.V = ECN{Enabled: true, Min: 320, Max: 3000, Unit: UnitSegments, Probability: 90}
	})
	both := func(edits ...func(*Device)) func(*Device) {
		return func(d *Device) {
			for _, e := range edits {
				e(d)
			}
		}
	}
	none := func(*Device) {}
	for name, c := range map[string]struct {
		have, want func(*Device)
		least      Impact
	}{
		"into the lossless class":              {none, dscp(0, 3), ImpactLoss},
		"out of the lossless class":            {none, dscp(26, 0), ImpactLoss},
		"among lossy classes":                  {none, dscp(0, 5), ImpactNone},
		"from no class into a lossy one":       {dscp(0, Unmapped), none, ImpactNone},
		"from no class into the lossless one":  {dscp(26, Unmapped), none, ImpactLoss},
		"into a class that becomes lossless":   {port(func(p *Port) { p.PFC.V = 0 }), dscp(0, 3), ImpactLoss},
		"no marking of a queue to be lossless": {both(marks, port(func(p *Port) { p.PFC.V = 0 })), none, ImpactLoss},
		"a priority into the lossless class":   {none, table(pcp, 5, 3), ImpactLoss},
		"a priority into a lossy class":        {none, table(pcp, 5, 5), ImpactNone},
		"another queue of the lossless class":  {none, table(toQueue, 3, 4), ImpactLoss},
		"another queue of a lossy class":       {none, table(toQueue, 0, 2), ImpactNone},
		"another DSCP of the lossless class":   {none, table(rewrite, 3, 10), ImpactLoss},
		"trust of a port that pauses":          {none, port(func(p *Port) { p.Trust.V = TrustPCP }), ImpactLoss},
		"a class that is lossless no more":     {none, port(func(p *Port) { p.PFC.V = 0 }), ImpactLoss},
		"one more lossless class":              {none, port(func(p *Port) { p.PFC.V = Priorities(3, 4) }), ImpactNone},
		"no marking of the lossless queue":     {marks, none, ImpactLoss},
		"marking of the lossless queue":        {none, marks, ImpactNone},
		"drops in place of marks":              {marks, port(func(p *Port) { p.Queues[3].ECN.V = ECN{Drops: true} }), ImpactLoss},
		"drops in the lossless queue":          {none, port(func(p *Port) { p.Queues[3].ECN.V = ECN{Drops: true} }), ImpactLoss},
		"other thresholds":                     {marks, port(func(p *Port) { p.Queues[3].ECN.V = ECN{Enabled: true, Min: 1e5, Max: 1e6, Probability: 5} }), ImpactNone},
		"no marking of a lossy queue":          {port(func(p *Port) { p.Queues[1].ECN.V = ECN{Enabled: true, Min: 1e5, Max: 1e6, Probability: 5} }), none, ImpactNone},
		"a smaller MTU":                        {none, port(func(p *Port) { p.MTU.V = 1600 }), ImpactLoss},
		"a larger MTU":                         {none, port(func(p *Port) { p.MTU.V = 10000 }), ImpactNone},
		"an MTU that is not known":             {port(func(p *Port) { p.MTU = Opt[int]{} }), none, ImpactNone},
		"no marking where the class has moved": {both(table(toQueue, 3, 1), port(func(p *Port) { p.Queues[1].ECN.V = ECN{Enabled: true, Min: 1, Max: 2} })), table(toQueue, 3, 1), ImpactLoss},
	} {
		have, want := full(), full()
		c.have(have)
		c.want(want)
		cs := Diff(have, want)
		least := ImpactNone
		for _, ch := range cs {
			least = max(least, ch.Impact)
		}
		if len(cs) == 0 || least != c.least {
			t.Errorf("%s: impact %s, want %s: %+v", name, least, c.least, cs)
		}
	}
	// The global maps classify the traffic of all ports.
	have, want := full(), full()
	m := *want.GlobalMaps.V
	m.DSCPToTC[26] = 0
	want.GlobalMaps.V = &m
	want.Ports = map[string]*Port{"Ethernet0": {}}
	if cs := Diff(have, want); len(cs) != 1 || cs[0].Field != KindGlobalMap.Table(DSCPToTC) || cs[0].Impact != ImpactLoss {
		t.Errorf("the maps of the switch: %+v", cs)
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

// Weights are shares of the link: proportional weights are equal.
func TestWeightsInProportion(t *testing.T) {
	port := func(weights ...int) *Port {
		p := &Port{Maps: Of(UnmappedMaps())}
		for i, w := range weights {
			if w > 0 {
				p.Queues[i].Scheduler = Of(Scheduler{Weight: w})
			}
		}
		return p
	}
	for _, c := range []struct {
		have, want *Port
		changes    int
	}{
		{port(10, 10, 20), port(25, 25, 50), 0},
		{port(60, 60, 60), port(33, 33, 33), 0},
		{port(100, 50, 1), port(66, 33, 1), 0},
		{port(50, 50), port(51, 49), 2},
		{port(10, 10, 20), port(25, 25, 51), 3},
		{port(60), port(61), 1},
		// Percentages are whole numbers.
		{port(1, 1, 1), port(33, 33, 34), 0},
		{port(2, 1), port(67, 33), 0},
		{port(20, 20), port(50, 50), 0},
		{port(41, 60), port(40, 60), 1},
		{port(1, 1, 2), port(33, 33, 34), 3},
		{port(10, 10, 20), port(25, 30, 50), 3},
		{port(10, 0, 20), port(25, 25, 50), 3},
		// The intent does not state queue 3, and no traffic is sent to it.
		{port(10, 10, 20, 40), port(25, 25, 50), 0},
	} {
		d := &Device{Ports: map[string]*Port{"Ethernet0": c.have}}
		if cs := Diff(d, &Device{Ports: map[string]*Port{"Ethernet0": c.want}}); len(cs) != c.changes {
			t.Errorf("%v", cs)
		}
	}
	have := port(10, 10, 20, 40)
	m := UnmappedMaps()
	m.DSCPToTC[26], m.TCToQueue[3] = 3, 3
	have.Maps = Of(m)
	d := &Device{Ports: map[string]*Port{"Ethernet0": have}}
	want := port(25, 25, 50)
	want.Maps = Opt[*Maps]{}
	if cs := Diff(d, &Device{Ports: map[string]*Port{"Ethernet0": want}}); len(cs) != 3 {
		t.Errorf("the share of a queue that is not spoken of changes: %v", cs)
	}
}

// A priority that only the switch pauses is checked in the queue that it pauses on the switch.
func TestPriorityPausedOnlyBySwitch(t *testing.T) {
	want, running := full(), full()
	maps := *running.GlobalMaps.V
	maps.PFCToQueue[4] = 3
	for _, p := range running.Ports {
		p.PFC, p.Maps = Of(Priorities(4)), Of(&maps)
	}
	for _, p := range want.Ports {
		own := *want.GlobalMaps.V
		p.PFC, p.Maps = Of(Priorities(3)), Of(&own)
	}
	for name, p := range want.AndPaused(running).Ports {
		if p.PFC.V != Priorities(3, 4) || p.Maps.V.PFCToQueue[4] != 3 {
			t.Errorf("%s: %s, queues %v", name, p.PFC.V, p.Maps.V.PFCToQueue)
		}
		if want.Ports[name].Maps.V.PFCToQueue[4] == 3 {
			t.Errorf("%s: what is wanted has changed", name)
		}
	}
}

// Diff ignores map entries that no packet and no pause frame uses.
func TestEntriesThatNothingMeets(t *testing.T) {
	have, want := full(), full()
	m := *want.GlobalMaps.V
	m.TCToQueue[5], m.TCToGroup[5], m.PFCToQueue[5] = 1, 1, 1
	for _, p := range want.Ports {
		p.Maps = Of(&m)
	}
	if cs := Diff(have, want); len(cs) > 0 {
		t.Errorf("%v", cs)
	}
	n := m
	n.DSCPToTC[40] = 5
	for _, p := range want.Ports {
		p.Maps = Of(&n)
	}
	if cs := Diff(have, want); len(cs) == 0 || cs[0].Field.String() != "maps.dscp_to_tc" || len(cs) != 3*len(want.Ports) {
		t.Errorf("%v", cs)
	}
}

// AsRun returns the running weights if the desired ones give the same shares.
func TestDesiredInRunningForm(t *testing.T) {
	have, want := full(), full()
	h, w := have.Ports["Ethernet0"], want.Ports["Ethernet0"]
	for i, weights := range [][2]int{{10, 25}, {10, 25}, {20, 50}} {
		h.Queues[i].Scheduler, w.Queues[i].Scheduler = Of(Scheduler{Weight: weights[0]}), Of(Scheduler{Weight: weights[1]})
	}
	for i := 3; i < NumPriorities; i++ {
		h.Queues[i].Scheduler, w.Queues[i].Scheduler = Opt[Scheduler]{}, Opt[Scheduler]{}
	}
	h.Queues[3].ECN, w.Queues[3].ECN = Of(ECN{Enabled: true, Min: 150, Max: 1500, Unit: UnitKBytes, Probability: 5}), Of(ECN{Enabled: true, Min: 150_000, Max: 1_500_000, Probability: 5})
	m := *w.Maps.V
	m.TCToQueue[5], m.DSCPToTC[40], m.DSCPToTC[41] = 1, 3, Unmanaged
	w.Maps = Of(&m)
	got := want.AsRun(have).Ports["Ethernet0"]
	if got.Queues[1].Scheduler.V.Weight != 10 || got.Queues[3].ECN.V.Unit != UnitKBytes || got.Maps.V.TCToQueue[5] != h.Maps.V.TCToQueue[5] {
		t.Errorf("what means the same is not as it runs: %+v", got)
	}
	if got.Maps.V.DSCPToTC[40] != 3 || got.Maps.V.DSCPToTC[41] != Unmanaged || w.Queues[1].Scheduler.V.Weight != 25 {
		t.Errorf("what differs, or is not managed, is taken from what runs: %+v", got.Maps.V)
	}
}

// A system that writes whole tables keeps the running entries that the intent does not manage.
func TestCompletedTables(t *testing.T) {
	have, want := full(), full()
	m := UnmappedMaps()
	m.DSCPToTC[26] = 3
	m.KeepUnmapped()
	want.Ports["Ethernet0"].Maps = Of(m)
	got := want.Completed(have).Ports["Ethernet0"].Maps.V
	expected := have.Ports["Ethernet0"].Maps.V.DSCPToTC
	expected[26] = 3
	if got.DSCPToTC != expected || got.PCPToTC[0] != Unmanaged || m.DSCPToTC[0] != Unmanaged {
		t.Errorf("%v", got)
	}
}
