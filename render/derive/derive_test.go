package derive

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/eos"
	"github.com/roce-fabric/roce-fabric/render/nxos"
	"github.com/roce-fabric/roce-fabric/render/sonic"
)

var fits = render.Fits{"sonic": sonic.Fit, "eos": eos.Fit, "nxos": nxos.Fit}

func compiler(t testing.TB, text []byte) *render.Compiler {
	t.Helper()
	f, err := intent.Load("-", intent.Options{Stdin: bytes.NewReader(text)})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, err := render.New(f, fits)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// inputOf returns an input in which the switches run what an intent asks for. Only the cables
// are known in addition.
func inputOf(c *render.Compiler) Input {
	f := c.Fabric()
	in := Input{Name: f.Name, Fits: fits}
	for _, s := range f.Switches {
		run := c.Device(s).Desired
		run.Classes = nil
		in.Switches = append(in.Switches, Switch{Name: s.Name, OS: s.OS, Model: s.Model.V, Release: s.Release.V, Address: s.Address.V, Access: s.Access, Running: run})
	}
	for _, l := range f.Links {
		in.Cables = append(in.Cables, Cable{A: End{Device: l.B.Device, Port: l.B.Port}, B: End{Device: l.A.Device, Port: l.A.Port}})
	}
	return in
}

// same describes the differences between the compiled states of two intents.
func same(a, b *render.Compiler) string {
	var out strings.Builder
	if x, y := len(a.Fabric().Switches), len(b.Fabric().Switches); x != y {
		return fmt.Sprintf("%d and %d switches", x, y)
	}
	for _, s := range a.Fabric().Switches {
		t := b.Fabric().Switch(s.Name)
		if t == nil {
			return "no switch " + s.Name
		}
		x, y := a.Device(s).Desired, b.Device(t).Desired
		for _, c := range append(qos.Diff(x, y), qos.Diff(y, x)...) {
			fmt.Fprintf(&out, "%s %s: %s -> %s\n", s.Name, c.Path(), c.Old, c.New)
		}
	}
	return out.String()
}

func TestExamplesComeBack(t *testing.T) {
	for _, name := range examples.Names() {
		t.Run(name, func(t *testing.T) {
			text, err := examples.Intent(name)
			if err != nil {
				t.Fatal(err)
			}
			c := compiler(t, text)
			r, err := Derive(inputOf(c))
			if err != nil {
				t.Fatal(err)
			}
			if os.Getenv("SHOW") != "" {
				t.Logf("\n%s\n%+v\n%+v\n%+v", r.Text, r.Assumed, r.LeftOut, differing(inputOf(c), r))
			}
			if diff := same(c, compiler(t, r.Text)); diff != "" {
				t.Errorf("the derived intent means something else:\n%s\n%s", diff, r.Text)
			}
			if cs := differing(inputOf(c), r); len(cs) > 0 {
				t.Errorf("a plan would change %+v", cs)
			}
		})
	}
}

// Ports that the model's default layout lacks are split ports. Without their breakout mode the
// intent would not compile.
func TestSplitPorts(t *testing.T) {
	s := running("leaf1", "Ethernet0", "Ethernet4", "Ethernet8", "Ethernet16")
	s.Model = "DellEMC-Z9332f-O32"
	s.Running.Ports["Ethernet4"].Speed.V = 200e9
	for i, p := range []string{"Ethernet0", "Ethernet4", "Ethernet8"} {
		s.sees(p, fmt.Sprintf("gpu%d", i+1), "eth0")
	}
	r := derived(t, Input{Switches: []Switch{s}})
	if sw := r.Fabric.Switch("leaf1"); sw.Port("Ethernet4").Breakout.V != "2x200G" || sw.Port("Ethernet0").Breakout.V != "" {
		t.Errorf("%s", r.Text)
	}
}

// A fabric without QoS becomes an intent with links only.
func TestFactoryFabric(t *testing.T) {
	bare := func(name string) Switch {
		s := running(name, "Ethernet0", "Ethernet8")
		for _, p := range s.Running.Ports {
			p.PFC, p.Maps = qos.Of(qos.PrioritySet(0)), qos.Opt[*qos.Maps]{}
		}
		return s
	}
	r := derived(t, Input{Switches: []Switch{bare("a1").sees("Ethernet0", "b1", "Ethernet8"), bare("b1").sees("Ethernet0", "gpu1", "eth0")}})
	if got := linksOf(r); got != "b1/Ethernet0-gpu1/eth0 b1/Ethernet8-a1/Ethernet0" {
		t.Error(got)
	}
	// Names do not tell the roles, so the switch with hosts is the leaf.
	if r.Fabric.Switch("a1").Role != "spine" || r.Fabric.Switch("b1").Role != "leaf" || len(r.Fabric.Settings.Classes) != 1 {
		t.Errorf("%s", r.Text)
	}
}

// If link pause is on at a port, the intent keeps it; otherwise the intent does not mention it.
func TestLinkPauseIsKept(t *testing.T) {
	for on, want := range map[bool]int{true: 1, false: 0} {
		s := running("leaf1", "Ethernet0", "Ethernet8").sees("Ethernet0", "gpu1", "eth0").sees("Ethernet8", "gpu2", "eth0")
		s.Running.Ports["Ethernet8"].LinkPause = qos.Of(on)
		r := derived(t, Input{Switches: []Switch{s}})
		if n := strings.Count(string(r.Text), "linkPause: keep"); n != want || strings.Count(string(r.Text), "linkPause") != n {
			t.Errorf("pause %t: %d lines, want %d\n%s", on, n, want, r.Text)
		}
	}
}

func TestPortsWithoutNeighbours(t *testing.T) {
	in := Input{Switches: []Switch{running("leaf1", "Ethernet0", "Ethernet8", "Ethernet16").sees("Ethernet0", "gpu1", "eth0")}}
	r := derived(t, in)
	if n := len(r.Fabric.Switch("leaf1").Ports); n != 1 || notes(r.LeftOut) != "leaf1 Ethernet[8,16]: 2 ports carry QoS but have no known neighbour" {
		t.Errorf("%d ports, left out: %s", n, notes(r.LeftOut))
	}
	in.AllPorts = true
	r = derived(t, in)
	if p := r.Fabric.Switch("leaf1").Port("Ethernet16"); p == nil || p.Speed.V != 400e9 || p.Cable.V != 5 || len(r.LeftOut) > 0 {
		t.Errorf("left out: %s\n%s", notes(r.LeftOut), r.Text)
	}
}

func TestBuffersOfTheSwitch(t *testing.T) {
	s := running("leaf1", "Ethernet0").sees("Ethernet0", "gpu1", "eth0")
	s.Model = "ACS-MSN4700" // computes headroom by default
	s.Running.Platform.DynamicBuffers = true
	s.Running.HeadroomModel = qos.Of(qos.HeadroomModel{LosslessMTU: render.DefaultLosslessMTU, SmallPacketPercent: render.DefaultSmallPackets, Alpha: -3})
	r := derived(t, Input{Switches: []Switch{s}})
	if a := r.Fabric.Switch("leaf1").Settings.Buffers.Alpha.V; a == nil || *a != -3 || r.Fabric.Switch("leaf1").Dynamic.V != nil {
		t.Errorf("%s", r.Text)
	}
	s.Running.Platform.DynamicBuffers = false
	r = derived(t, Input{Switches: []Switch{s}})
	if d := r.Fabric.Switch("leaf1").Dynamic.V; d == nil || *d || r.Fabric.Switch("leaf1").Settings.Buffers.Alpha.V != nil {
		t.Errorf("%s", r.Text)
	}
}

// Every speed that can be derived for a link is valid in an intent.
func TestSpeeds(t *testing.T) {
	for _, v := range []units.Rate{1e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9, 1600e9} {
		s := running("leaf1", "Ethernet0").sees("Ethernet0", "gpu1", "eth0")
		s.Running.Ports["Ethernet0"].Speed.V = v
		if r := derived(t, Input{Switches: []Switch{s}}); r.Fabric.Links[0].Speed.V != v {
			t.Errorf("%s has become\n%s", v, r.Text)
		}
	}
	s := running("leaf1", "Ethernet0").sees("Ethernet0", "gpu1", "eth0")
	s.Running.Ports["Ethernet0"].Speed.V = 2_500_000_000
	in := Input{Switches: []Switch{s}}
	r := derived(t, in)
	if len(r.Assumed) != 1 || !slices.ContainsFunc(differing(in, r), func(c qos.Change) bool { return c.Field.Kind == qos.KindSpeed && c.Old == "2500M" }) {
		t.Errorf("assumed %v, differs %v", r.Assumed, differing(in, r))
	}
}

// Credentials appear in the intent once for most devices; other devices state only the
// differences.
func TestCredentialsComeBack(t *testing.T) {
	text := `apiVersion: roce-fabric/v1
kind: Fabric
name: pod
classes: {rdma: {priority: 3, dscp: rest, lossless: true}}
switches:
  leaf[1-3]: {os: eos, address: "192.0.2.[1-3]"}
  leaf4: {os: eos, address: "192.0.2.4:1234", access: {username: other, tls: {serverName: "y.example"}, ssh: {address: "192.0.2.4:2222", key: /id}}}
hosts:
  gpu[1-4]: {address: "198.51.100.[1-4]", nics: {eth0: {rdma: mlx5_0}}}
links:
  - {a: "leaf[1-4]/Ethernet1", b: "gpu[1-4]/eth0", cable: 5m, speed: 400G}
credentials:
  switches: {username: env:U, password: file:/p, tls: {serverName: "x.example"}, ssh: {username: env:S, knownHosts: kh, jump: "a@b:22"}}
  hosts: {username: env:H, ssh: {agent: true}}
`
	c := compiler(t, []byte(text))
	in := inputOf(c)
	for _, h := range c.Fabric().Hosts {
		in.Hosts = append(in.Hosts, Host{Name: h.Name, Address: h.Address.V, Access: h.Access, NICs: []NIC{{Name: "eth0", RDMA: "mlx5_0"}}})
	}
	r := derived(t, in)
	values := func(a intent.Access) string {
		return fmt.Sprint(a.Username.V, a.Password.V, a.TLS.CA.V, a.TLS.ServerName.V, a.TLS.Insecure.V, a.SSH.Address.V, a.SSH.Username.V, a.SSH.Password.V, a.SSH.Key.V, a.SSH.Agent.V, a.SSH.KnownHosts.V, a.SSH.Jump.V)
	}
	for _, s := range c.Fabric().Switches {
		if have, want := values(r.Fabric.Switch(s.Name).Access), values(s.Access); have != want || r.Fabric.Switch(s.Name).Address.V != s.Address.V {
			t.Errorf("%s: %s, want %s", s.Name, have, want)
		}
	}
	for _, h := range c.Fabric().Hosts {
		if have, want := values(r.Fabric.Host(h.Name).Access), values(h.Access); have != want || r.Fabric.Host(h.Name).NICs[0].RDMA.V != "mlx5_0" {
			t.Errorf("%s: %s, want %s", h.Name, have, want)
		}
	}
	if t.Failed() {
		t.Logf("%s", r.Text)
	}
}
