package eos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

func TestFit(t *testing.T) {
	most, odd, global := qos.UnmappedMaps(), qos.UnmappedMaps(), qos.UnmappedMaps()
	for i := range qos.NumPriorities {
		most.TCToQueue[i], most.TCToGroup[i], most.PFCToQueue[i] = int8(i), 0, int8(i)
		odd.TCToQueue[i] = 0
	}
	most.DSCPToTC[26], odd.DSCPToTC[26] = 3, 4
	global.DSCPToTC[26] = 4
	same := *most // another pointer, equal maps
	w := qos.Watchdog{Enabled: true, Priorities: 8, Action: qos.ActionDrop, Detect: 300 * time.Millisecond, Restore: 450 * time.Millisecond}
	port := func(m *qos.Maps) *qos.Port {
		p := &qos.Port{Maps: qos.Of(m), Speed: qos.Of(units.Rate(400e9)), FEC: qos.Of("rs"), Cable: qos.Of(units.Length(5)), Breakout: qos.Of(""),
			PFC: qos.Of(qos.Priorities(3)), PFCAsymmetric: qos.Of(false), Watchdog: qos.Of(w), IngressProfiles: qos.Of("a"), EgressProfiles: qos.Of("b")}
		p.Groups[3].Lossless = qos.Of(true)
		p.Queues[3] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: 60}), Buffer: qos.Of("q")}
		return p
	}
	d := &qos.Device{GlobalMaps: qos.Of(global), WatchdogPoll: qos.Of(200 * time.Millisecond), HeadroomModel: qos.Of(qos.HeadroomModel{}),
		Pools: map[string]qos.Pool{"p": {}}, Profiles: map[string]qos.BufferProfile{"p": {}},
		Ports: map[string]*qos.Port{"Ethernet1": port(odd), "Ethernet2": port(most), "Ethernet10": port(&same)}}
	d.Ports["Ethernet10"].PFCAsymmetric.V = true
	for range 2 { // fitting again changes nothing
		Fit(d)
		g := d.GlobalMaps.V
		if g.DSCPToTC[26] != 3 || g.DSCPToTC[27] != qos.Unmanaged || g.PCPToTC[0] != qos.Unmanaged || g.TCToQueue[5] != 5 || g.TCToGroup[0] != qos.Unmanaged || g.PFCToQueue[1] != qos.Unmanaged || g.TCToDSCP[2] != qos.Unmanaged {
			t.Fatalf("maps %+v", g)
		}
		if d.WatchdogPoll.V != 150*time.Millisecond {
			t.Errorf("polling interval %s", d.WatchdogPoll.V)
		}
		bare := &qos.Port{PFC: qos.Of(qos.Priorities(3)), Watchdog: qos.Of(w)}
		bare.Queues[3].Scheduler = qos.Of(qos.Scheduler{Weight: 60})
		if diff := cmp.Diff(bare, d.Ports["Ethernet2"]); diff != "" {
			t.Error(diff)
		}
		if d.HeadroomModel.Set || d.Pools != nil || d.Profiles != nil {
			t.Error("buffers are left")
		}
		var got []string
		for _, r := range Refusals(d) {
			got = append(got, r.Port+" "+r.Field.String())
		}
		if want := []string{"Ethernet1 maps", "Ethernet10 pfc_asymmetric"}; !slices.Equal(got, want) {
			t.Errorf("refused %v, want %v", got, want)
		}
	}
	if most.TCToGroup[0] != 0 || global.DSCPToTC[0] != qos.Unmapped {
		t.Error("shared maps were changed")
	}
	// Refused values are not written; the others are.
	text := Encode(d, TxQueue).String()
	if !strings.Contains(text, "bandwidth percent 60") || strings.Contains(text, "traffic-class 4") {
		t.Error(text)
	}
}

// A switch has a DSCP map and a CoS map, and each port trusts one of them; a contradicting queue
// map is refused.
func TestPortsOfBothTrustsShareTheMaps(t *testing.T) {
	dscp, pcp, odd := qos.UnmappedMaps(), qos.UnmappedMaps(), qos.UnmappedMaps()
	dscp.DSCPToTC[26], dscp.TCToQueue[3] = 3, 3
	pcp.PCPToTC[4], pcp.TCToQueue[3], pcp.TCToQueue[4] = 3, 3, 4
	odd.PCPToTC[4], odd.TCToQueue[3] = 5, 3
	d := &qos.Device{Ports: map[string]*qos.Port{
		"Ethernet1": {Maps: qos.Of(pcp), Trust: qos.Of(qos.TrustPCP)}, "Ethernet2": {Maps: qos.Of(dscp), Trust: qos.Of(qos.TrustDSCP)},
		"Ethernet3": {Maps: qos.Of(dscp), Trust: qos.Of(qos.TrustDSCP)}, "Ethernet4": {Maps: qos.Of(odd)}}}
	for range 2 { // fitting again changes nothing
		Fit(d)
		g := d.GlobalMaps.V
		if g.DSCPToTC[26] != 3 || g.DSCPToTC[27] != qos.Unmanaged || g.PCPToTC[4] != 3 || g.PCPToTC[5] != qos.Unmanaged || g.TCToQueue[3] != 3 || g.TCToQueue[4] != 4 {
			t.Errorf("maps %+v", g)
		}
		if r := Refusals(d); len(r) != 1 || r[0].Port != "Ethernet4" || r[0].Field != qos.KindMap.All() {
			t.Errorf("refused %v", r)
		}
	}
	if dscp.PCPToTC[4] != qos.Unmapped {
		t.Error("shared maps were changed")
	}
}

func TestRefusals(t *testing.T) {
	good := func() *qos.Port {
		p := &qos.Port{MTU: qos.Of(9214), Trust: qos.Of(qos.TrustDSCP), PFC: qos.Of(qos.Priorities(3)),
			Watchdog: qos.Of(qos.Watchdog{Enabled: true, Priorities: 8, Action: qos.ActionDrop, Detect: 200 * time.Millisecond, Restore: 400 * time.Millisecond})}
		p.Queues[3] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: 60, MaxRate: 1e9}), ECN: qos.Of(qos.ECN{Enabled: true, Min: 1, Max: 2, Probability: 10})}
		return p
	}
	cases := map[string]func(d *qos.Device, p *qos.Port){
		"":                                                   func(*qos.Device, *qos.Port) {},
		" watchdog_poll: at most half":                       func(d *qos.Device, _ *qos.Port) { d.WatchdogPoll = qos.Of(101 * time.Millisecond) },
		" watchdog_poll: 5ms to 30s":                         func(d *qos.Device, _ *qos.Port) { d.WatchdogPoll = qos.Of(4 * time.Millisecond) },
		" watchdog_poll: in steps":                           func(d *qos.Device, _ *qos.Port) { d.WatchdogPoll = qos.Of(5500 * time.Microsecond) },
		" global_maps: 0 to 7":                               func(d *qos.Device, _ *qos.Port) { m := defaultMaps(); m.TCToQueue[1] = 9; d.GlobalMaps = qos.Of(m) },
		"Ethernet1 mtu: 68 to 65535":                         func(_ *qos.Device, p *qos.Port) { p.MTU.V = 67 },
		"Ethernet1 trust: does not":                          func(_ *qos.Device, p *qos.Port) { p.Trust.V = "exp" },
		"Ethernet1 watchdog: not forward":                    func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Action = qos.ActionForward },
		"Ethernet1 watchdog: not 205ms":                      func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Detect = 205 * time.Millisecond },
		"Ethernet1 watchdog: not 1m1s":                       func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Restore = 61 * time.Second },
		"Ethernet1 watchdog: {3}, not {3,4}":                 func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Priorities = 0x18 },
		"Ethernet1 queues[3].scheduler: weight of 1 to 100":  func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.Weight = 101 },
		"Ethernet1 queues[3].scheduler: whole kbps":          func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.MaxRate = 1500 },
		"Ethernet1 queues[3].scheduler: EOS has no packets":  func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.Other = "packets" },
		"Ethernet1 queues[3].ecn: min not above max":         func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Min = 3 },
		"Ethernet1 queues[3].ecn: 1% to 100%, not 0%":        func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Probability = 0 },
		"Ethernet1 queues[3].ecn: weight of 0 to 15, not 16": func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Weight = 16 },
		"Ethernet1 queues[3].ecn: no thresholds in cells":    func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Unit = qos.UnitCells },
		"Ethernet1 queues[3].ecn: no such curve":             func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Other = "yellow" },
		"swp1 port: no port of that name":                    func(d *qos.Device, p *qos.Port) { d.Ports = map[string]*qos.Port{"swp1": p} },
		"Ethernet1\nmtu 5 port: no port":                     func(d *qos.Device, p *qos.Port) { d.Ports = map[string]*qos.Port{"Ethernet1\nmtu 5": p} },
	}
	for _, want := range slices.Sorted(maps.Keys(cases)) {
		p := good()
		d := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1": p}, WatchdogPoll: qos.Of(100 * time.Millisecond), GlobalMaps: qos.Of(defaultMaps())}
		cases[want](d, p)
		got := Refusals(d)
		if want == "" {
			if len(got) > 0 {
				t.Errorf("refused %v", got)
			}
			continue
		}
		where, why, _ := strings.Cut(want, ": ")
		if len(got) != 1 || got[0].Port+" "+got[0].Field.String() != where || !strings.Contains(got[0].Why, why) {
			t.Errorf("refused %v, want %s", got, want)
			continue
		}
		// A change writes everything else, and a second change is empty.
		have := mustParse(t, "interface Ethernet1\n")
		e := Change(have, d, TxQueue)
		after := e.Apply(have)
		if again := Change(after, d, TxQueue); len(again) > 0 {
			t.Errorf("%s: a second change wants %v", want, again)
		}
		running, _ := Decode(after)
		for _, c := range qos.Diff(running, d) {
			if where != strings.TrimPrefix(fmt.Sprint(c.Port, " ", c.Field), " ") && !strings.HasPrefix(fmt.Sprint(c.Port, " ", c.Field), where) {
				t.Errorf("%s: %s is left as well", want, c.Path())
			}
		}
	}
}

func defaultMaps() *qos.Maps {
	g := defaultGlobals()
	m := fitOne(g.maps())
	return &m
}

func TestModels(t *testing.T) {
	for model, want := range map[string]struct {
		f  string
		kw Keyword
		ok bool
	}{
		"DCS-7060DX5-64S-R": {familyStrata, UCTxQueue, true}, "7388X5": {familyStrata, UCTxQueue, true}, "DCS-7280CR3-32P4": {familySand, TxQueue, true},
		"dcs-7800R4": {familySand, TxQueue, true}, "DCS-7260CX3-64": {familyStrata, UCTxQueue, false}, "cEOSLab": {}, "": {}, "DCS-": {},
	} {
		f, known := FamilyOf(model)
		kw, ok := KeywordForModel(model)
		if f != want.f || known != (want.f != "") || ok != want.ok || ok && kw != want.kw {
			t.Errorf("%q: %q %v, %q %v", model, f, known, kw, ok)
		}
	}
	for text, want := range map[string]Keyword{
		"qos map traffic-class 3 to tx-queue 4\n": TxQueue, "interface Ethernet1\n   !\n   uc-tx-queue 3\n      no priority\n": UCTxQueue,
		"interface Ethernet1\n   mc-tx-queue 1\n": UCTxQueue, "qos map traffic-class 3 to cos 4\nqos tx-queue 3 name a\n": "", "router bgp 1\n": "",
	} {
		if kw, ok := KeywordOf(mustParse(t, text)); kw != want || ok != (want != "") {
			t.Errorf("%q: %q %v", text, kw, ok)
		}
	}
}

func TestDigestCoversDesiredAttributes(t *testing.T) {
	base := golden(t, "strata.cfg")
	desired := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1/1": {}}}
	digest := func(text string) string { return Digest(mustParse(t, text), desired) }
	was := digest(base)
	for what, c := range map[string]struct {
		old, new string
		same     bool
	}{
		"another port":          {"interface Ethernet2/1\n", "interface Ethernet2/1\n   shutdown\n", true},
		"a description":         {"gpu-node01", "gpu-node77", true},
		"an address":            {"10.10.1.0/31", "10.10.9.0/31", true},
		"a profile of others":   {"qos profile ROCE-400G\n", "qos profile OTHER\n   qos trust cos\n!\nqos profile ROCE-400G\n", true},
		"what is usual":         {"   priority-flow-control pause watchdog\n", "", true},
		"the order":             {"   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n", "   priority-flow-control priority 3 no-drop\n   priority-flow-control on\n", true},
		"the profile":           {"bandwidth percent 55", "bandwidth percent 54", false},
		"the queue":             {"uc-tx-queue 5", "uc-tx-queue 7", false},
		"the port":              {"mtu 9214", "mtu 9000", false},
		"the port's mode":       {"   no switchport\n", "", false},
		"the maps":              {"qos map dscp 24 25", "qos map dscp 24", false},
		"the switch's watchdog": {"timeout 0.2", "timeout 0.3", false},
		"PFC is off everywhere": {"priority-flow-control pause watchdog action", "priority-flow-control all off\npriority-flow-control pause watchdog action", false},
		"the port is gone":      {"interface Ethernet1/1", "interface Ethernet1/9", false},
	} {
		text := strings.Replace(base, c.old, c.new, 1)
		if text == base {
			t.Fatalf("%s: nothing replaced", what)
		}
		if got := digest(text); (got == was) != c.same {
			t.Errorf("%s: the same digest: %v", what, got == was)
		}
	}
}

// Watchdogs that differ from the switch-wide one get their own timer and action lines.
func TestPortSpecificWatchdogs(t *testing.T) {
	port := func(action qos.WatchdogAction, detect time.Duration) *qos.Port {
		return &qos.Port{PFC: qos.Of(qos.Priorities(3)), Watchdog: qos.Of(qos.Watchdog{Enabled: true, Priorities: 8, Action: action, Detect: detect, Restore: time.Second})}
	}
	off := &qos.Port{PFC: qos.Of(qos.Priorities(3)), Watchdog: qos.Of(qos.Watchdog{})}
	d := &qos.Device{WatchdogPoll: qos.Of(100 * time.Millisecond), Ports: map[string]*qos.Port{
		"Ethernet1": port(qos.ActionDrop, 200*time.Millisecond), "Ethernet2": port(qos.ActionDrop, 200*time.Millisecond),
		"Ethernet3": port(qos.ActionAlert, 120*time.Millisecond), "Ethernet4": off}}
	got := Encode(d, TxQueue).String()
	want := golden(t, "watchdogs.cfg")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Common hardware accepts an MTU of at most 9214; a larger one causes a warning, not a refusal.
func TestWarnings(t *testing.T) {
	d := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1": {MTU: qos.Of(9214)}, "Ethernet2": {MTU: qos.Of(9216)}}}
	if got := Warnings(d); len(got) != 1 || got[0] != "the MTU of 9216 on Ethernet2 is above 9214, the most that common EOS hardware takes" || len(Refusals(d)) > 0 {
		t.Errorf("%q, %v", got, Refusals(d))
	}
	delete(d.Ports, "Ethernet2")
	if got := Warnings(d); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
