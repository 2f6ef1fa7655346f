package derive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// running returns a switch with lossless ports.
func running(name string, ports ...string) Switch {
	m := qos.UnmappedMaps()
	for i := range m.DSCPToTC {
		m.DSCPToTC[i] = 0
	}
	m.DSCPToTC[26] = 3
	for i := range m.TCToQueue {
		m.TCToQueue[i] = int8(i)
	}
	s := Switch{Name: name, OS: "sonic", Running: &qos.Device{Name: name, Ports: map[string]*qos.Port{}}, Neighbors: map[string][]qos.Neighbor{}, Aliases: map[string]string{}}
	for _, p := range ports {
		s.Running.Ports[p] = &qos.Port{Trust: qos.Of(qos.TrustDSCP), Maps: qos.Of(m), PFC: qos.Of(qos.Priorities(3)), MTU: qos.Of(9100), Speed: qos.Of(units.Rate(400e9)), Cable: qos.Of(units.Length(5))}
	}
	return s
}

func (s Switch) sees(port, device, remote string) Switch {
	s.Neighbors[port] = append(s.Neighbors[port], qos.Neighbor{Device: device, Port: remote})
	return s
}

func derived(t *testing.T, in Input) *Result {
	t.Helper()
	if in.Name == "" {
		in.Name = "test"
	}
	r, err := Derive(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// differing lists the differences between the derived intent and the running state of the
// switches.
func differing(in Input, r *Result) (out []qos.Change) {
	for _, s := range in.Switches {
		if !s.Planned {
			out = append(out, qos.Diff(s.Running, r.Desired[s.Name])...)
		}
	}
	return out
}

// linksOf returns the links of an intent, sorted.
func linksOf(r *Result) string {
	var out []string
	for _, l := range r.Fabric.Links {
		out = append(out, fmt.Sprintf("%s-%s", l.A, l.B))
	}
	return strings.Join(natural.Sorted(out), " ")
}

func notes(l []Note) string {
	var out []string
	for _, n := range l {
		out = append(out, n.Where+": "+n.What)
	}
	return strings.Join(out, "\n")
}

func TestLinksByLLDP(t *testing.T) {
	const e0, e8 = "Ethernet0", "Ethernet8"
	for name, c := range map[string]struct {
		in          Input
		links, left string
	}{
		"both ends see each other, by names with a domain and in other letters": {
			Input{Switches: []Switch{running("leaf1", e0).sees(e0, "SPINE1.example.net", e8), running("spine1", e8).sees(e8, "leaf1.example.net", e0)}},
			"leaf1/Ethernet0-spine1/Ethernet8", "",
		},
		"one end sees the other": {
			Input{Switches: []Switch{running("leaf1", e0), running("spine1", e8).sees(e8, "leaf1", e0)}},
			"leaf1/Ethernet0-spine1/Ethernet8", "",
		},
		"by the hostname that the switch has": {
			Input{Switches: []Switch{renamedTo(running("leaf1", e0), "rack7"), running("spine1", e8).sees(e8, "rack7", e0)}},
			"leaf1/Ethernet0-spine1/Ethernet8", "",
		},
		"by an alias and by short names": {
			Input{Switches: []Switch{
				aliased(running("leaf1", e0, e8), map[string]string{e0: "etp1", e8: "etp2"}),
				running("spine1", "Ethernet1/1", "Ethernet1/2").sees("Ethernet1/1", "leaf1", "etp2"),
				running("spine2", "Ethernet1/1").sees("Ethernet1/1", "spine1", "Eth1/2"),
			}},
			"leaf1/Ethernet8-spine1/Ethernet1/1 spine1/Ethernet1/2-spine2/Ethernet1/1", "leaf1 Ethernet0: 1 port carries QoS but has no known neighbour",
		},
		"by the other end where the name of the port is not known": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e8, "spine1", "hu-1"), running("spine1", "port1").sees("port1", "leaf1", e8)}},
			"leaf1/Ethernet8-spine1/port1", "leaf1 Ethernet0: 1 port carries QoS but has no known neighbour",
		},
		"a port that the switch does not have": {
			Input{Switches: []Switch{running("leaf1", e0).sees(e0, "spine1", "hu-1"), running("spine1", e8)}},
			"", `leaf1 Ethernet0: LLDP sees spine1 "hu-1" there, and spine1 has no port of that name`,
		},
		"a switch that was not read": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e0, "spine9", "Ethernet1/1").sees(e8, "gpu1", "eth0")}},
			"leaf1/Ethernet8-gpu1/eth0", "leaf1 Ethernet0: joined to a switch that is not among those read: no link is written",
		},
		"a stale neighbour": {
			Input{Switches: []Switch{
				running("leaf1", e0).sees(e0, "spine1", e8), running("leaf2", e0).sees(e0, "spine1", e8), running("spine1", e8).sees(e8, "leaf1", e0),
			}},
			"leaf1/Ethernet0-spine1/Ethernet8", "spine1 Ethernet8: LLDP also links leaf2/Ethernet0 and spine1/Ethernet8; the link between leaf1/Ethernet0 and spine1/Ethernet8 is used",
		},
		"a switch before a phone": {
			Input{Switches: []Switch{running("leaf1", e0).sees(e0, "phone", "eth0").sees(e0, "spine1", e8), running("spine1", e8)}},
			"leaf1/Ethernet0-spine1/Ethernet8", "",
		},
		"itself": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e0, "leaf1", e8)}}, "", "",
		},
		"hosts of two domains": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e0, "gpu1.a.example", "eth0").sees(e8, "gpu1.b.example", "eth0")}},
			"leaf1/Ethernet0-gpu1/eth0 leaf1/Ethernet8-gpu1.b.example/eth0", "",
		},
		"a cable that is known comes before LLDP": {
			Input{
				Switches: []Switch{running("leaf1", e0).sees(e0, "gpu1", "eth0")},
				Cables:   []Cable{{A: End{Device: "gpu7", Port: "eth1"}, B: End{Device: "leaf1", Port: e0}, Length: 3}},
			},
			"leaf1/Ethernet0-gpu7/eth1", `leaf1 Ethernet0: LLDP shows "gpu1/eth0" there; the link between leaf1/Ethernet0 and gpu7/eth1 is used`,
		},
		"another port of the right switch than the cable that is known": {
			Input{
				Switches: []Switch{running("leaf1", e0).sees(e0, "spine1", "Eth1/2"), running("spine1", "Ethernet1/1", "Ethernet1/2").sees("Ethernet1/1", "leaf1", e0)},
				Cables:   []Cable{{A: End{Device: "leaf1", Port: e0}, B: End{Device: "spine1", Port: "Ethernet1/1"}}},
			},
			"leaf1/Ethernet0-spine1/Ethernet1/1", `leaf1 Ethernet0: LLDP shows "spine1/Eth1/2" there; the link between leaf1/Ethernet0 and spine1/Ethernet1/1 is used`,
		},
		"a port that the right switch does not have": {
			Input{
				Switches: []Switch{running("leaf1", e0).sees(e0, "spine1", "Ethernet60/1"), running("spine1", "Ethernet1/1")},
				Cables:   []Cable{{A: End{Device: "leaf1", Port: e0}, B: End{Device: "spine1", Port: "Ethernet1/1"}}},
			},
			"leaf1/Ethernet0-spine1/Ethernet1/1", `leaf1 Ethernet0: LLDP shows "spine1/Ethernet60/1" there`,
		},
		"a switch that gives its MAC address for its name, by the ports of the cable": {
			Input{
				Switches: []Switch{
					running("leaf1", e0, e8, "Ethernet16").sees(e0, "0c:42:a1:00:00:01", "Eth1/1").sees(e8, "0c42.a100.0001", "etp2").sees("Ethernet16", "0c:42:a1:00:00:01", "513"),
					aliased(running("spine1", "Ethernet1/1", "Ethernet1/2", "Ethernet1/3"), map[string]string{"Ethernet1/2": "etp2"}),
				},
				Cables: []Cable{
					{A: End{Device: "leaf1", Port: e0}, B: End{Device: "spine1", Port: "Ethernet1/1"}},
					{A: End{Device: "leaf1", Port: e8}, B: End{Device: "spine1", Port: "Ethernet1/2"}},
					{A: End{Device: "leaf1", Port: "Ethernet16"}, B: End{Device: "spine1", Port: "Ethernet1/3"}},
				},
			},
			"leaf1/Ethernet0-spine1/Ethernet1/1 leaf1/Ethernet8-spine1/Ethernet1/2 leaf1/Ethernet16-spine1/Ethernet1/3", "",
		},
		"a switch that gives its MAC address for its name, at another port than the cable": {
			Input{
				Switches: []Switch{running("leaf1", e0).sees(e0, "0c:42:a1:00:00:01", "Ethernet1/2"), running("spine1", "Ethernet1/1")},
				Cables:   []Cable{{A: End{Device: "leaf1", Port: e0}, B: End{Device: "spine1", Port: "Ethernet1/1"}}},
			},
			"leaf1/Ethernet0-spine1/Ethernet1/1", `leaf1 Ethernet0: LLDP shows "0c:42:a1:00:00:01/Ethernet1/2" there; the link between leaf1/Ethernet0 and spine1/Ethernet1/1 is used`,
		},
		"another interface of the right host": {
			Input{
				Switches: []Switch{running("leaf1", e0).sees(e0, "gpu1.example.net", "eth1")},
				Cables:   []Cable{{A: End{Device: "gpu1", Port: "eth0"}, B: End{Device: "leaf1", Port: e0}}},
			},
			"leaf1/Ethernet0-gpu1/eth0", `leaf1 Ethernet0: LLDP shows "gpu1.example.net/eth1" there; the link between leaf1/Ethernet0 and gpu1/eth0 is used`,
		},
		"the cables that are known, in the words of LLDP": {
			Input{
				Switches: []Switch{
					aliased(running("leaf1", e0, e8, "Ethernet16"), map[string]string{e0: "etp1"}).sees(e0, "phone", "7").sees(e0, "spine1", "Eth1/1").sees(e8, "0c:42:a1:00:00:01", "0c:42:a1:00:00:01").sees("Ethernet16", "gpu2.example.net", "mlx5_0"),
					running("spine1", "Ethernet1/1").sees("Ethernet1/1", "leaf1", "etp1"),
				},
				Hosts: []Host{{Name: "gpu2", NICs: []NIC{{Name: "eth0", RDMA: "mlx5_0"}}}},
				Cables: []Cable{
					{A: End{Device: "leaf1", Port: e0}, B: End{Device: "spine1", Port: "Ethernet1/1"}},
					{A: End{Device: "leaf1", Port: e8}, B: End{Device: "gpu1", Port: "eth0"}},
					{A: End{Device: "leaf1", Port: "Ethernet16"}, B: End{Device: "gpu2", Port: "eth0"}},
				},
			},
			"leaf1/Ethernet0-spine1/Ethernet1/1 leaf1/Ethernet8-gpu1/eth0 leaf1/Ethernet16-gpu2/eth0", "",
		},
		"the two ends of a cable disagree": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e0, "spine1", e8), running("spine1", e8).sees(e8, "leaf1", e8)}},
			"leaf1/Ethernet0-spine1/Ethernet8", `spine1 Ethernet8: LLDP shows "leaf1/Ethernet8" there; the link between leaf1/Ethernet0 and spine1/Ethernet8 is used`,
		},
		"a cable to nowhere": {
			Input{
				Switches: []Switch{running("leaf1", e0)},
				Cables:   []Cable{{A: End{Device: "gpu7", Port: "eth1"}, B: End{Device: "leaf1", Port: "Ethernet99"}}, {A: End{Device: "x", Port: "y"}, B: End{Device: "z", Port: "y"}}},
			},
			"", "leaf1 Ethernet99: the topology names the port, and the switch has none of that name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := derived(t, c.in)
			if got := linksOf(r); got != c.links {
				t.Errorf("links %s, want %s", got, c.links)
			}
			if c.left == "" && len(r.LeftOut) > 0 || !strings.Contains(notes(r.LeftOut), c.left) {
				t.Errorf("left out:\n%s\nwant\n%s", notes(r.LeftOut), c.left)
			}
		})
	}
}

func renamedTo(s Switch, hostname string) Switch {
	s.Running.Name = hostname
	return s
}

func aliased(s Switch, aliases map[string]string) Switch {
	s.Aliases = aliases
	return s
}

func TestNICsThatLLDPNamesOtherwise(t *testing.T) {
	in := Input{
		Switches: []Switch{running("leaf1", "Ethernet0", "Ethernet8", "Ethernet16").
			sees("Ethernet0", "gpu1", "rail0").sees("Ethernet8", "gpu1", "0c:42:a1:00:00:02").sees("Ethernet16", "gpu1", "a name of more than fifteen letters")},
		Hosts: []Host{{Name: "gpu1", NICs: []NIC{{Name: "rail0", RDMA: "mlx5_0"}, {Name: "spare", RDMA: "mlx5_9"}}}},
	}
	r := derived(t, in)
	if got := linksOf(r); got != "leaf1/Ethernet0-gpu1/rail0 leaf1/Ethernet8-gpu1/0c42a1000002 leaf1/Ethernet16-gpu1/a-name-of-more" {
		t.Error(got)
	}
	if h := r.Fabric.Host("gpu1"); len(h.NICs) != 4 || h.NIC("rail0").RDMA.V != "mlx5_0" || h.NIC("spare").Link != nil {
		t.Errorf("%s", r.Text)
	}
	if len(r.Assumed) != 2 || !strings.Contains(notes(r.Assumed), `called 0c42a1000002: LLDP names it "0c:42:a1:00:00:02"`) {
		t.Errorf("assumed:\n%s", notes(r.Assumed))
	}
}

// Both ends of a link get one cable length: a length from which both configured ones follow,
// else the longer one.
func TestCableOfALink(t *testing.T) {
	pair := func(a, b units.Length) Input {
		table, plain := running("leaf1", "Ethernet0").sees("Ethernet0", "spine1", "Ethernet0"), running("spine1", "Ethernet0")
		table.Model = "DellEMC-Z9332f-O32" // looks headroom up at 5m, 40m and 300m
		table.Running.Ports["Ethernet0"].Cable, plain.Running.Ports["Ethernet0"].Cable = qos.Of(a), qos.Of(b)
		return Input{Switches: []Switch{table, plain}}
	}
	for _, c := range []struct{ table, plain, want units.Length }{
		{40, 12, 12}, {40, 40, 40}, {5, 5, 5}, {300, 12, 300}, {5, 12, 12}, {0, 7, 7}, {0, 0, 40},
	} {
		r := derived(t, pair(c.table, c.plain))
		if got := r.Fabric.Links[0].Cable.V; got != c.want {
			t.Errorf("a cable of %s at one end and %s at the other is %s, want %s", c.table, c.plain, got, c.want)
		}
		assumed := c.table == 0 && c.plain == 0
		if (len(r.Assumed) > 0) != assumed || strings.Contains(string(r.Text), "ASSUMED: cable;") != assumed {
			t.Errorf("%s, %s: %v\n%s", c.table, c.plain, r.Assumed, r.Text)
		}
	}
}

// Values that no intent can express are left to the switch if the intent can say so. Otherwise a
// plan would change them, and the import reports it.
func TestSettingsThatNoIntentExpresses(t *testing.T) {
	edit := func(do func(*qos.Port)) Input {
		s := running("leaf1", "Ethernet0", "Ethernet8")
		do(s.Running.Ports["Ethernet8"])
		return Input{Switches: []Switch{s}}
	}
	weights := func(p *qos.Port, a, b int) {
		p.Queues[0].Scheduler, p.Queues[3].Scheduler = qos.Of(qos.Scheduler{Weight: a}), qos.Of(qos.Scheduler{Weight: b})
	}
	for name, c := range map[string]struct {
		do    func(*qos.Port)
		field string
		kept  bool
	}{
		"two classes in a queue": {func(p *qos.Port) {
			m := *p.Maps.V
			m.TCToQueue[3] = 0
			p.Maps = qos.Of(&m)
		}, "maps.tc_to_queue", true},
		"a weight of 0":     {func(p *qos.Port) { weights(p, 0, 50) }, "queues[0].scheduler", true},
		"an MTU of nothing": {func(p *qos.Port) { p.MTU = qos.Of(68) }, "mtu", false},
		"a watchdog of 1ns": {func(p *qos.Port) {
			p.Watchdog = qos.Of(qos.Watchdog{Enabled: true, Priorities: qos.Priorities(3), Action: "drop", Detect: 1, Restore: 1})
		}, "watchdog", true},
		"a watchdog of its own kind": {func(p *qos.Port) {
			p.Watchdog = qos.Of(qos.Watchdog{Enabled: true, Priorities: qos.Priorities(3), Action: "reboot", Detect: 4e8, Restore: 4e8})
		}, "watchdog", true},
	} {
		t.Run(name, func(t *testing.T) {
			in := edit(c.do)
			r := derived(t, in)
			var field qos.Attr
			if err := field.UnmarshalText([]byte(c.field)); err != nil {
				t.Fatal(err)
			}
			changes := false
			for _, change := range differing(in, r) {
				changes = changes || change.Port == "Ethernet8" && change.Field == field
			}
			if kept := !r.Desired["leaf1"].Holds("Ethernet8", field); kept != c.kept || changes == c.kept {
				t.Errorf("%s of Ethernet8 is kept: %v, and changes: %v\n%s", c.field, kept, changes, r.Text)
			}
		})
	}
}

// A port that classifies nothing keeps that, whether the system states it or has everything in
// class 0.
func TestNoClassificationIsStated(t *testing.T) {
	for name, do := range map[string]func(*qos.Port){
		"stated": func(p *qos.Port) {
			m := *p.Maps.V
			for i := range m.DSCPToTC {
				m.DSCPToTC[i] = qos.Unmapped
			}
			p.Trust, p.Maps = qos.Of(qos.TrustNone), qos.Of(&m)
		},
		"everything in class 0": func(p *qos.Port) {
			m := *p.Maps.V
			m.DSCPToTC[26] = 0
			p.Trust, p.Maps = qos.Opt[qos.Trust]{}, qos.Of(&m)
		},
	} {
		s := running("leaf1", "Ethernet0", "Ethernet8")
		do(s.Running.Ports["Ethernet8"])
		r := derived(t, Input{Switches: []Switch{s}})
		leaf := r.Fabric.Switch("leaf1")
		if one, other := leaf.Port("Ethernet0"), leaf.Port("Ethernet8"); one.Settings.Trust.V != qos.TrustDSCP || other == nil || other.Settings.Trust.V != qos.TrustNone {
			t.Errorf("%s: trust is not none on Ethernet8 alone:\n%s", name, r.Text)
		}
		if want := r.Desired["leaf1"]; want.GlobalMaps.Set || want.Ports["Ethernet8"].Maps.V.Classes() != qos.Priorities(0) {
			t.Errorf("%s: the switch would classify on Ethernet8: %v %v", name, want.GlobalMaps, want.Ports["Ethernet8"].Maps.V)
		}
	}
}

// Thresholds keep the unit that the switch uses.
func TestMarkingInUnitsOfTheSwitch(t *testing.T) {
	for said, curve := range map[string]qos.ECN{
		"{min: 320 segments, max: 3000 segments, probability: 90%}": {Enabled: true, Min: 320, Max: 3000, Unit: qos.UnitSegments, Probability: 90},
		"{min: 100 cells, max: 200 cells, probability: 7%}":         {Enabled: true, Min: 100, Max: 200, Unit: qos.UnitCells, Probability: 7},
		"{min: 100 cells, max: 200 segments, probability: 7%}":      {Enabled: true, Min: 100, Max: 200, Unit: "cells/segments", Probability: 7},
		"{min: 10%, max: 40%, probability: 7%}":                     {Enabled: true, Min: 10, Max: 40, Unit: qos.UnitPercent, Probability: 7},
	} {
		s := running("leaf1", "Ethernet0", "Ethernet8")
		for _, p := range s.Running.Ports {
			p.Queues[3].ECN = qos.Of(curve)
		}
		in := Input{Switches: []Switch{s}}
		r := derived(t, in)
		if !strings.Contains(string(r.Text), "ecn: "+said) {
			t.Errorf("no %s in\n%s", said, r.Text)
		}
		for _, change := range differing(in, r) {
			if change.Field == qos.KindECN.At(3) {
				t.Errorf("a plan would change it: %+v\n%s", change, r.Text)
			}
		}
	}
}

// Marking that no intent can express is not removed: the intent leaves it to the switch, by
// class, role, switch or port, and the import reports it.
func TestMarkingThatNoIntentSays(t *testing.T) {
	for name, c := range map[string]struct {
		curve qos.ECN
		said  string
	}{
		"thresholds of the chip": {qos.ECN{Enabled: true, Other: "burst-optimized"}, "on (burst-optimized)"},
		"an average":             {qos.ECN{Enabled: true, Min: 1e5, Max: 1e6, Probability: 5, Weight: 7}, "100KB..1MB 5% weight 7"},
		"another of one colour":  {qos.ECN{Enabled: true, Min: 1e5, Max: 1e6, Probability: 5, Other: "red"}, "100KB..1MB 5% (red)"},
		"a curve that is inert":  {qos.ECN{Other: "ecn_yellow"}, "not marking (ecn_yellow)"},
		"drops":                  {qos.ECN{Drops: true}, "drops at random"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ports := range [][]string{{"Ethernet0", "Ethernet8", "Ethernet16"}, {"Ethernet8"}} {
				s := running("leaf1", "Ethernet0", "Ethernet8", "Ethernet16")
				for n, p := range s.Running.Ports {
					p.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: 150_000, Max: 1_500_000, Probability: 7})
					if slices.Contains(ports, n) {
						p.Queues[3].ECN.V = c.curve
					}
				}
				in := Input{Switches: []Switch{s}}
				r := derived(t, in)
				for _, change := range differing(in, r) {
					if change.Field == qos.KindECN.At(3) {
						t.Errorf("a plan would change it: %+v\n%s", change, r.Text)
					}
				}
				for n, p := range r.Fabric.Switch("leaf1").Ports {
					keeps := p.Settings.Class("rdma").ECN.Mode.V == intent.ECNKeep
					if keeps != slices.Contains(ports, p.Name) {
						t.Errorf("port %d keeps its curve: %v\n%s", n, keeps, r.Text)
					}
				}
				want := "leaf1 " + shown(ports) + ": the ECN of class rdma is " + c.said + ", which no intent can state"
				if got := notes(r.LeftOut); !strings.Contains(got, want) {
					t.Errorf("left out:\n%s\nwant %s", got, want)
				}
			}
		})
	}
}

// A code point that a map does not list is in traffic class 0, and in no lossless class.
func TestCodePointsThatNoMapLists(t *testing.T) {
	s := running("leaf1", "Ethernet0", "Ethernet8")
	m := qos.UnmappedMaps()
	m.DSCPToTC[26], m.DSCPToTC[48] = 3, 6
	for _, p := range s.Running.Ports {
		p.Maps = qos.Of(m)
	}
	r := derived(t, Input{Switches: []Switch{s}})
	for _, k := range r.Fabric.Settings.Classes {
		if want := k.Priority.V == 0; k.Rest != want || k.Lossless.V != (k.Priority.V == 3) {
			t.Errorf("class %s: rest %v, lossless %v\n%s", k.Name, k.Rest, k.Lossless.V, r.Text)
		}
	}
}

// An intent has one map: the map of most pausing ports, however many other ports there are. A
// port with another map is left out if it has no link; with a link, it shows up in the changes
// of a plan. Ports with one class are not managed, whatever curve their queues have.
func TestPortsThatClassifyOtherwise(t *testing.T) {
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("Ethernet%d", i*8))
	}
	s := running("leaf1", names...)
	plain := qos.UnmappedMaps()
	for i := range plain.DSCPToTC {
		plain.DSCPToTC[i] = 0
	}
	another := *s.Running.Ports["Ethernet0"].Maps.V
	another.DSCPToTC[30] = 3
	for i, n := range names {
		p := s.Running.Ports[n]
		switch {
		case i == 3:
			p.Maps = qos.Of(&another)
		case i > 3:
			p.Maps, p.PFC = qos.Of(plain), qos.Of(qos.PrioritySet(0))
			p.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: 1e5, Max: 1e6, Probability: 5}) // switch-wide
		}
	}
	r := derived(t, Input{Switches: []Switch{s}})
	if k := r.Fabric.Settings.Class("rdma"); k == nil || !slices.Equal(k.DSCP.V, []int{26}) || len(r.Fabric.Switch("leaf1").Ports) != 3 {
		t.Fatalf("%s", r.Text)
	}
	want := "leaf1 Ethernet24: 1 port classifies differently from the intent"
	if got := notes(r.LeftOut); !strings.Contains(got, want) {
		t.Errorf("left out:\n%s", got)
	}
	s = running("leaf1", names...)
	s.Running.Ports["Ethernet24"].Maps = qos.Of(&another)
	for i, n := range names {
		s.sees(n, "gpu1", fmt.Sprintf("eth%d", i))
	}
	in := Input{Switches: []Switch{s}}
	r = derived(t, in)
	found := false
	for _, c := range differing(in, r) {
		found = found || c.Port == "Ethernet24" && c.Field == qos.KindMap.Table(qos.DSCPToTC) && c.Old == "30:3" && c.New == "30:0" && c.Impact == qos.ImpactLoss
	}
	if !found || len(r.Fabric.Switch("leaf1").Ports) != 12 {
		t.Errorf("%+v\n%s", differing(in, r), r.Text)
	}
}

// A switch without managed ports is named in the report.
func TestSwitchWithNothing(t *testing.T) {
	s := running("leaf1", "Ethernet0", "Ethernet8")
	for _, p := range s.Running.Ports {
		p.PFC, p.Maps = qos.Of(qos.PrioritySet(0)), qos.Opt[*qos.Maps]{}
	}
	r := derived(t, Input{Switches: []Switch{s, running("leaf2", "Ethernet0")}})
	if got := notes(r.LeftOut); !strings.Contains(got, "leaf1: the intent manages none of its 2 ports") || strings.Contains(got, "leaf2") {
		t.Errorf("left out:\n%s", got)
	}
}

func TestInvalidInput(t *testing.T) {
	for _, in := range []Input{
		{Name: "x"},
		{Name: "x", Switches: []Switch{{Name: "leaf1", OS: "sonic"}}},
		{Name: "x", Switches: []Switch{running("leaf1", "Ethernet0"), running("leaf1", "Ethernet0")}},
		{Name: "x", Switches: []Switch{running("leaf 1", "Ethernet0")}},
		{Name: "", Switches: []Switch{running("leaf1", "Ethernet0")}},
		{Name: "x", Switches: []Switch{running("leaf1", "Ethernet0")}, Hosts: []Host{{Name: "leaf1"}}},
	} {
		if r, err := Derive(in); !errors.Is(err, ErrInput) {
			t.Errorf("%+v gives %v, %v", in, r, err)
		}
	}
}

// Ports with names that no intent can have, and names that look like YAML.
func TestStrangeNames(t *testing.T) {
	s := running("on", "Ethernet0", "null", "a: b", "12", "\"}", "#x")
	s.Model, s.Role, s.Release = "1e3", "", "yes"
	for _, p := range natural.Keys(s.Running.Ports) {
		s.sees(p, "true"+fmt.Sprint(len(s.Neighbors)), "~")
	}
	r, err := Derive(Input{Name: "007", Switches: []Switch{s}})
	if err != nil {
		var faults intent.Errors
		if errors.As(err, &faults) {
			t.Fatalf("the derived text does not load: %v", err)
		}
		t.Fatal(err)
	}
	sw := r.Fabric.Switch("on")
	if r.Fabric.Name != "007" || sw.Model.V != "1e3" || sw.Release.V != "yes" || sw.Port("null") == nil || sw.Port("12") == nil {
		t.Errorf("%s", r.Text)
	}
	if sw.Port("a: b") != nil || !strings.Contains(notes(r.LeftOut), "a: b") {
		t.Errorf("left out:\n%s\n%s", notes(r.LeftOut), r.Text)
	}
}
