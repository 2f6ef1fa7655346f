package derive

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// planned returns a switch that was not read.
func planned(name string, ports ...string) Switch {
	s := Switch{Name: name, OS: "sonic", Planned: true, Running: &qos.Device{Name: name, Ports: map[string]*qos.Port{}}}
	for _, p := range ports {
		s.Running.Ports[p] = &qos.Port{Speed: qos.Of(units.Rate(400e9))}
	}
	return s
}

func between(a, port, b, remote string) Cable {
	return Cable{A: End{Device: a, Port: port}, B: End{Device: b, Port: remote}, Source: "cables.json:7"}
}

func TestRecordedCables(t *testing.T) {
	const e0, e8 = "Ethernet0", "Ethernet8"
	known := map[string]string{"leaf1": "devices.json:1", "spine1": "devices.json:2", "gpu1": "devices.json:3", "gpu2": "devices.json:4"}
	long := between("leaf1", e0, "gpu1", "eth0")
	long.Length, long.Stated = 30, 100e9
	for name, c := range map[string]struct {
		in             Input
		links, differs string
		cables         Recorded
		unrecorded     string
	}{
		"LLDP sees what is recorded": {
			Input{Switches: []Switch{running("leaf1", e0).sees(e0, "gpu1", "eth0")}, Cables: []Cable{between("leaf1", e0, "gpu1", "eth0")}},
			"leaf1/Ethernet0-gpu1/eth0", "", Recorded{Cables: 1, Confirmed: 1}, "",
		},
		"LLDP sees nothing there": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e8, "gpu2", "eth0")}, Cables: []Cable{between("leaf1", e0, "gpu1", "eth0"), between("leaf1", e8, "gpu2", "eth0")}},
			"leaf1/Ethernet0-gpu1/eth0 leaf1/Ethernet8-gpu2/eth0", "", Recorded{Cables: 2, Confirmed: 1, Unseen: 1}, "",
		},
		"cables are swapped": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e0, "gpu2", "eth0").sees(e8, "gpu1", "eth0")}, Cables: []Cable{between("leaf1", e0, "gpu1", "eth0"), between("leaf1", e8, "gpu2", "eth0")}},
			"leaf1/Ethernet0-gpu1/eth0 leaf1/Ethernet8-gpu2/eth0",
			"leaf1/Ethernet0: cables.json:7 says gpu1/eth0; LLDP of leaf1 says gpu2/eth0; the intent has gpu1/eth0\nleaf1/Ethernet8: cables.json:7 says gpu2/eth0; LLDP of leaf1 says gpu1/eth0; the intent has gpu2/eth0",
			Recorded{Cables: 2, Contradicted: 2}, "",
		},
		"both ends see a cable in another place": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e0, "spine2", e0).sees(e8, "spine1", e0), running("spine1", e0).sees(e0, "leaf1", e8), running("spine2", e0).sees(e0, "leaf1", e0)},
				Cables: []Cable{between("leaf1", e0, "spine1", e0), between("leaf1", e8, "spine2", e0)}},
			"leaf1/Ethernet0-spine1/Ethernet0 leaf1/Ethernet8-spine2/Ethernet0",
			"leaf1/Ethernet0: cables.json:7 says spine1/Ethernet0, and leaf1/Ethernet8 for spine2/Ethernet0 (cables.json:7); LLDP of leaf1 and spine2 says spine2/Ethernet0; the intent has spine1/Ethernet0\n" +
				"leaf1/Ethernet8: cables.json:7 says spine2/Ethernet0, and leaf1/Ethernet0 for spine1/Ethernet0 (cables.json:7); LLDP of leaf1 and spine1 says spine1/Ethernet0; the intent has spine2/Ethernet0",
			Recorded{Cables: 2, Contradicted: 2}, "",
		},
		"a host's own LLDP contradicts": {
			Input{Switches: []Switch{running("leaf1", e0, e8)}, Cables: []Cable{between("leaf1", e0, "gpu1", "eth0"), {A: End{Device: "gpu1", Port: "eth0"}, B: End{Device: "leaf1", Port: e8}, LLDP: "gpu1"}}},
			"leaf1/Ethernet0-gpu1/eth0", "gpu1/eth0: cables.json:7 says leaf1/Ethernet0; LLDP says a link of leaf1/Ethernet8 and gpu1/eth0; the intent has leaf1/Ethernet0", Recorded{Cables: 1, Contradicted: 1}, "",
		},
		"a link that is stated comes first": {
			Input{Switches: []Switch{running("leaf1", e0)}, Cables: []Cable{{A: End{Device: "leaf1", Port: e0}, B: End{Device: "gpu2", Port: "eth0"}}, between("leaf1", e0, "gpu1", "eth0")}},
			"leaf1/Ethernet0-gpu2/eth0", "leaf1/Ethernet0: cables.json:7 says leaf1/Ethernet0 and gpu1/eth0; a link that is stated says leaf1/Ethernet0 and gpu2/eth0; the intent has leaf1/Ethernet0 and gpu2/eth0", Recorded{}, "",
		},
		"LLDP sees a cable between devices that are recorded": {
			Input{Switches: []Switch{running("leaf1", e0).sees(e0, "gpu1.example.net", "eth0")}},
			"leaf1/Ethernet0-gpu1/eth0", "leaf1/Ethernet0: the inventory says no cable; LLDP says gpu1/eth0; the intent has gpu1/eth0", Recorded{}, "",
		},
		"LLDP sees a cable that the inventory does not tell apart": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e0, "gpu1", "eth0").sees(e8, "gpu2", "eth0")}, Unclear: map[string]bool{"gpu1 leaf1": true, "leaf1/Ethernet8": true}},
			"leaf1/Ethernet0-gpu1/eth0 leaf1/Ethernet8-gpu2/eth0", "", Recorded{}, "",
		},
		"LLDP sees devices that are not": {
			Input{Switches: []Switch{running("leaf1", e0, e8).sees(e0, "gpu8", "eth0").sees(e8, "gpu9", "eth0")}},
			"leaf1/Ethernet0-gpu8/eth0 leaf1/Ethernet8-gpu9/eth0", "", Recorded{}, "leaf1: LLDP sees gpu[8-9], which the inventory does not have",
		},
		"length and speed are others": {
			Input{Switches: []Switch{running("leaf1", e0)}, Cables: []Cable{long}},
			"leaf1/Ethernet0-gpu1/eth0",
			"leaf1/Ethernet0: cables.json:7 says a cable of 30m; the switch says one of 5m; the intent has 30m\nleaf1/Ethernet0: cables.json:7 says speed 100G; the switch says 400G; the intent has 400G",
			Recorded{Cables: 1, Unseen: 1}, "",
		},
		"a port that the switch does not have": {
			Input{Switches: []Switch{running("leaf1", e0)}, Cables: []Cable{between("leaf1", "port8", "gpu1", "eth0"), between("leaf1", "swp0", "gpu2", "eth0")}},
			"", "leaf1: cables.json:7 says port8; leaf1 itself says no port of that name; the intent has no link there\nleaf1: cables.json:7 says swp0; leaf1 itself says no port of that name (near is Ethernet0; ports in the file of --map says which is meant); the intent has no link there",
			Recorded{Cables: 2, Contradicted: 2}, "",
		},
		"a switch that was not read is heard by one that was": {
			Input{Switches: []Switch{running("leaf1", e0).sees(e0, "spine1", e8), planned("spine1", e0, e8)}, Cables: []Cable{between("leaf1", e0, "spine1", e8)}},
			"leaf1/Ethernet0-spine1/Ethernet8", "", Recorded{Cables: 1, Confirmed: 1}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Recorded = known
			r := derived(t, c.in)
			var found []string
			for _, d := range r.Contradictions {
				found = append(found, d.String())
			}
			if got := strings.Join(found, "\n"); got != c.differs {
				t.Errorf("contradictions:\n%s", got)
			}
			if got := linksOf(r); got != c.links {
				t.Errorf("links: %s", got)
			}
			if r.Cables != c.cables || notes(r.Unrecorded) != c.unrecorded {
				t.Errorf("cables: %+v, not recorded: %s", r.Cables, notes(r.Unrecorded))
			}
			if marked := strings.Count(string(r.Text), "# CONTRADICTED: "); marked == 0 && c.cables.Contradicted > 0 && c.links != "" {
				t.Errorf("the intent marks none:\n%s", r.Text)
			}
		})
	}
}

// Switches that were not read get the classes of those that were, or the classes of a new fabric
// if none was read. Speed and cable length come from the inventory.
func TestPlannedSwitches(t *testing.T) {
	c := between("leaf1", "Ethernet0", "gpu1", "eth0")
	c.Length, c.Likely = 3, 100e9
	r := derived(t, Input{Switches: []Switch{planned("leaf1", "Ethernet0", "Ethernet8")}, Cables: []Cable{c}, Recorded: map[string]string{"leaf1": "x"}})
	for _, want := range []string{
		"  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: auto}\n  cnp: {priority: 6, dscp: [48], strict: true}\n  default: {priority: 0, dscp: rest, bandwidth: 40%}\n",
		"  - {a: leaf1/Ethernet0, b: gpu1/eth0, cable: 3m, speed: 100G}\n",
	} {
		if !strings.Contains(string(r.Text), want) {
			t.Errorf("the intent lacks %s:\n%s", want, r.Text)
		}
	}
	if r.Cables.Unchecked != 1 || !strings.Contains(notes(r.Assumed), "classes: those that init writes") {
		t.Errorf("%+v, %s", r.Cables, notes(r.Assumed))
	}
	r = derived(t, Input{Switches: []Switch{running("leaf1", "Ethernet0"), planned("leaf2", "Ethernet0")}, Cables: []Cable{between("leaf1", "Ethernet0", "leaf2", "Ethernet0")}, Recorded: map[string]string{"leaf1": "x"}})
	if text := string(r.Text); strings.Contains(text, "cnp") || !strings.Contains(text, "rdma: {priority: 3, dscp: [26], lossless: true") || strings.Count(text, "lossless") != 1 {
		t.Errorf("the intent:\n%s", text)
	}
}
