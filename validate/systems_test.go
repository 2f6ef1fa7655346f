package validate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/eos"
	"github.com/roce-fabric/roce-fabric/drivers/nxos"
	driver "github.com/roce-fabric/roce-fabric/drivers/sonic"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var allSystems = drivers.Systems{driver.System, eos.System, nxos.System}

// onSystem converts the Clos to switches of another system, whose ports are named Ethernet1/1
// and up.
func onSystem(text, system string) string {
	if system == driver.System.Name {
		return text
	}
	return strings.NewReplacer("os: sonic", "os: "+system, ", model: DellEMC-Z9332f-O32", "", ", release: 202511", "", ":8080", "", ", poll: 200ms", "",
		"Ethernet[240,248]", "Ethernet1/[31,32]", "Ethernet[0,8,16]", "Ethernet1/[1,2,3]", "Ethernet0", "Ethernet1/1").Replace(text)
}

func compileAll(t *testing.T, text string) *render.Compiler {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := render.New(f, allSystems.Fits())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// applied returns the findings for switches that run the intent, as decoded from their own
// configuration. edit changes the configuration of leaf1.
func applied(t *testing.T, text, system string, edit func(config string) string, change func(*qos.Device)) []checks.Finding {
	t.Helper()
	c := compileAll(t, onSystem(text, system))
	sys, _ := allSystems.Find(system)
	run := NewRun(c.Fabric())
	for _, sw := range c.Fabric().Switches {
		d := c.Device(sw)
		_, config := sys.Encode(d)
		if sw.Name == "leaf1" && edit != nil {
			changed := edit(string(config))
			if changed == string(config) {
				t.Fatalf("%s: the edit changes nothing of\n%s", system, config)
			}
			config = []byte(changed)
		}
		saved, err := sys.Saved(config, drivers.Target{})
		if err != nil {
			t.Fatalf("%s: %v", system, err)
		}
		have, _ := saved.Decode(saved.Snapshot)
		have.Platform.Release = d.Desired.Platform.Release
		st := checks.State{Ports: map[string]*drivers.PortState{}}
		for name, want := range d.Desired.Ports {
			st.Ports[name] = &drivers.PortState{AdminUp: qos.Of(true), OperUp: qos.Of(true)}
			if q := have.Ports[name]; q != nil {
				q.AdminUp = qos.Of(true)
				for g := range q.Groups { // the switch creates the groups itself
					if want.Groups[g].DerivedFrom.Set {
						q.Groups[g] = want.Groups[g]
					}
				}
			}
		}
		if sw.Name == "leaf1" && change != nil {
			change(have)
		}
		run.Add(Switch(d, have, checks.Running, &st))
	}
	return slices.DeleteFunc(run.Findings(today), func(f checks.Finding) bool { return f.Severity == checks.Info })
}

// TestFaultsOnAllSystems checks faults that every system can have; the twin is the intent
// without the change.
func TestFaultsOnAllSystems(t *testing.T) {
	voice := replaced(t, closBase, "  default:", "  voice: {priority: 2, dscp: [46], strict: true}\n  default:")
	for _, c := range []struct {
		want, text string
		change     func(*qos.Device)
		not        string // system without the fault
	}{
		{want: "CLS-10", text: closBase, change: edited(func(d *qos.Device) { d.MapsOf(leafPort(d)).DSCPToTC[48] = 3 })},
		{want: "CLS-02", text: closBase, change: edited(func(d *qos.Device) { d.MapsOf(leafPort(d)).DSCPToTC[26] = 0 })},
		{want: "CLS-09", text: closBase, change: edited(func(d *qos.Device) { d.Ports[leafPort(d)].Queues[6].Scheduler.V = qos.Scheduler{Weight: 5} })},
		// No source says that a strict queue of EOS starves a queue with a higher number.
		{want: "SCH-02", text: voice, not: "eos"},
	} {
		for _, system := range allSystems.Names() {
			fs := applied(t, c.text, system, nil, c.change)
			if c.change == nil {
				var err error
				if fs, err = Intent(t.Context(), compileAll(t, onSystem(c.text, system)), today, nil); err != nil {
					t.Fatal(err)
				}
			}
			has := slices.ContainsFunc(fs, func(f checks.Finding) bool { return f.ID == c.want && f.Severity == checks.Error })
			if has == (system == c.not) {
				t.Errorf("%s on %s is found: %t: %v", c.want, system, has, fs)
			}
		}
	}
}

// leafPort returns the port to a host.
func leafPort(d *qos.Device) string {
	if d.Ports["Ethernet0"] != nil {
		return "Ethernet0"
	}
	return "Ethernet1/1"
}

// edited gives the ports a map that they do not share with other switches before it edits them.
func edited(edit func(*qos.Device)) func(*qos.Device) {
	return func(d *qos.Device) {
		own := *d.MapsOf(leafPort(d))
		for name, p := range d.Ports {
			if d.MapsOf(name) != nil {
				p.Maps = qos.Of(&own)
			}
		}
		edit(d)
	}
}

// TestAppliedIntentHasNoFindings checks that a healthy intent has no finding after it was
// applied, on any system.
func TestAppliedIntentHasNoFindings(t *testing.T) {
	for name, old := range map[string][2]string{
		"as it is": {},
		// Hosts that tag frames, as the intent says for one port.
		"PCP towards a host": {`"192.0.2.11:8080", `, `"192.0.2.11:8080", ports: {Ethernet0: {trust: pcp}}, `},
		"PCP everywhere":     {"trust: dscp\n", "trust: pcp\n"},
		"equal shares":       {"bandwidth: 60%", "bandwidth: 40%"},
	} {
		for _, system := range allSystems.Names() {
			text := replaced(t, closBase, old[0], old[1])
			for _, f := range applied(t, text, system, nil, nil) {
				if (f.ID == "CLS-04" || f.ID == "CLS-14") && f.Severity == checks.Warning && strings.Contains(old[1], "pcp") {
					continue // they warn about the intent itself
				}
				t.Errorf("%s, %s: %s %s at %s: %s", name, system, f.Severity, f.ID, f.Place(), f.What)
			}
		}
	}
}

// TestTunnelsOfTwoKinds checks that tunnel ends that differ from most are reported, whatever
// order they are read in.
func TestTunnelsOfTwoKinds(t *testing.T) {
	c := compile(t, closBase)
	for _, odd := range []qos.DSCPMode{qos.DSCPUniform, qos.DSCPPipe} {
		run := NewRun(c.Fabric())
		for _, sw := range c.Fabric().Switches {
			d := c.Device(sw)
			mode := qos.DSCPUniform
			if sw.Name == "leaf2" {
				mode = odd
			}
			have := *d.Desired
			have.Tunnels = map[string]qos.Tunnel{"nve1": {Kind: "vxlan", Decap: qos.Of(mode)}}
			run.Add(Switch(d, &have, checks.Running, nil))
		}
		var got []string
		for _, f := range run.Findings(today) {
			if f.ID == "TUN-03" {
				got = append(got, f.Place()+": "+f.What)
			}
		}
		want := ""
		if odd == qos.DSCPPipe {
			want = "leaf2: the DSCP mode at decapsulation of vxlan tunnels is pipe, that of 4 of 5 is uniform"
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q", got)
		}
	}
}

// TestTunnelsNeedRoom checks that links between equal ends are reported if packets in tunnels do not
// fit, and only where tunnels pass.
func TestTunnelsNeedRoom(t *testing.T) {
	text := strings.Replace(bases["vxlan"], "ends: [\"leaf[1-3]\"]", "ends: [\"leaf[1-2]\"]", 1)
	for _, x := range []struct {
		text, want string
		mtu        int
	}{
		{text, "", 9100},
		{text, "leaf1 Ethernet240; leaf1 Ethernet248; leaf2 Ethernet240; leaf2 Ethernet248", 9099},
		{strings.Replace(text, "ends: [\"leaf[1-2]\"]", "ends: [leaf1, spine1]", 1), "leaf1 Ethernet240", 9099},
		// Peer links carry tunnels where the model lets them.
		{strings.Replace(text, "links:\n", "routing: {model: shortest}\nlinks:\n  - {a: leaf1/Ethernet232, b: leaf2/Ethernet232, cable: 5m, speed: 400G}\n", 1), "leaf1 Ethernet232", 9099},
	} {
		c := compile(t, x.text)
		run := NewRun(c.Fabric())
		for _, sw := range c.Fabric().Switches {
			d := c.Device(sw)
			have := c.Device(sw).Desired
			for _, p := range have.Ports {
				p.MTU = qos.Of(x.mtu)
			}
			run.Add(Switch(d, have, checks.Running, nil))
		}
		var got []string
		for _, f := range run.Findings(today) {
			if f.ID == "MTU-06" {
				got = append(got, f.Place())
			}
		}
		if strings.Join(got, "; ") != x.want {
			t.Errorf("%d: %q, not %q", x.mtu, got, x.want)
		}
	}
}

// TestStrayBounces checks that a tunnel class paused at both ends of a link where the intent
// has it lossy is reported as PFC-13, and at one end as PFC-01.
func TestStrayBounces(t *testing.T) {
	c := compile(t, dualToR)
	for _, x := range []struct {
		ends map[string]string // ports, by switch
		want string
	}{
		{nil, ""},
		{map[string]string{"leaf3": "Ethernet240"}, "PFC-01 leaf3 Ethernet240"},
		{map[string]string{"leaf3": "Ethernet240", "spine1": "Ethernet16"}, "PFC-13 leaf3 Ethernet240, PFC-13 spine1 Ethernet16"},
	} {
		run := NewRun(c.Fabric())
		for _, sw := range c.Fabric().Switches {
			d := c.Device(sw)
			have := c.Device(sw).Desired
			if p := have.Ports[x.ends[sw.Name]]; p != nil {
				p.PFC.V |= qos.Priorities(2)
			}
			run.Add(Switch(d, have, checks.Running, nil))
		}
		var got []string
		for _, f := range run.Findings(today) {
			if f.Severity == checks.Error {
				got = append(got, f.ID+" "+f.Place())
			}
		}
		if strings.Join(got, ", ") != x.want {
			t.Errorf("%v: %q", x.ends, got)
		}
	}
}

// TestUnpausedHop checks that a link that should pause but does not, at either end, is a hole
// in a lossless path, with and without lossless groups.
func TestUnpausedHop(t *testing.T) {
	c := compile(t, closBase)
	for _, x := range []struct {
		off, groups bool
		want        string
	}{
		{false, true, ""},
		{true, true, "PFC-04 [PFC-07] leaf1 Ethernet240, PFC-04 [PFC-07] spine1 Ethernet0"},
		{true, false, "PFC-07 [] leaf1 Ethernet240, PFC-07 [] spine1 Ethernet0"},
	} {
		run := NewRun(c.Fabric())
		for sw, port := range map[string]string{"leaf1": "Ethernet240", "spine1": "Ethernet0"} {
			d := c.Device(c.Fabric().Switch(sw))
			have := c.Device(d.Switch).Desired
			if x.off {
				have.Ports[port].PFC.V = 0
			}
			if !x.groups {
				have.Ports[port].Groups[3] = qos.Group{}
			}
			run.Add(Switch(d, have, checks.Running, nil))
		}
		var got []string
		for _, f := range run.Findings(today) {
			if f.About("PFC-04") || f.About("PFC-07") {
				got = append(got, fmt.Sprint(f.ID, " ", f.Covers, " ", f.Place()))
			}
		}
		if strings.Join(got, ", ") != x.want {
			t.Errorf("off %v, groups %v: %q", x.off, x.groups, got)
		}
	}
}
