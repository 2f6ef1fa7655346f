package nxos

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/drivers/nxos/show"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

func notes(st *drivers.Steps) string { return strings.Join(st.Notes, "\n") }

// with changes the desired state of a port.
func (b *box) with(port string, change func(*qos.Port)) {
	p := *b.Desired.Ports[port]
	change(&p)
	b.Desired.Ports[port] = &p
}

func TestPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{setup: "interface Ethernet1/2\n  shutdown\n", intent: []string{"priority: 7", "priority: 6"}})
		b.with(ports[1], func(p *qos.Port) { p.AdminUp = qos.Of(true) })
		b.with(ports[0], func(p *qos.Port) { p.AdminUp = qos.Of(false) })
		b.Desired.Platform.Model = "N9K-C9364D-GX2A"
		d := b.Open()
		facts, err := d.Probe(t.Context())
		if err != nil || facts.OS != "nxos" || facts.Model != "N9K-C9332D-GX2B" || facts.Release != "10.4(3)" ||
			!slices.Equal(facts.Caps.Writes, []string{"ssh"}) || !facts.Caps.AppliedState || !strings.Contains(facts.Caps.Undo, "after 5m unless it is confirmed") {
			t.Errorf("%+v %v", facts, err)
		}
		snap, st := b.Plan(d)
		if len(st.Items) != 1 || len(st.Blocked()) > 0 {
			t.Fatalf("steps %v, blocked %v", st.Items, st.Blocked())
		}
		s := st.Items[0]
		for _, say := range []string{"configure ", "network-qos policy", "ROCE-FABRIC-IN", "ROCE-FABRIC-OUT", "4 interfaces", "PFC watchdog"} {
			if !strings.Contains(s.What, say) {
				t.Errorf("step %q does not say %q", s.What, say)
			}
		}
		if s.Via != "ssh" || len(s.Lines) < 50 || !slices.Equal(s.Down, ports[:1]) || !slices.Equal(s.Up, ports[1:2]) {
			t.Errorf("via %s, %d lines, down %v up %v", s.Via, len(s.Lines), s.Down, s.Up)
		}
		for path, want := range map[string]qos.Impact{
			"ports[Ethernet1/1].admin_up": qos.ImpactPortFlap, "ports[Ethernet1/1].pfc": qos.ImpactLoss, "ports[Ethernet1/1].maps.dscp_to_tc": qos.ImpactLoss,
			"ports[Ethernet1/1].queues[3].ecn": qos.ImpactLoss, "ports[Ethernet1/1].queues[3].scheduler": qos.ImpactLoss,
			"ports[Ethernet1/1].watchdog": qos.ImpactNone, "watchdog_poll": qos.ImpactNone,
		} {
			if c := drivertest.Find(st, path); c == nil || c.Impact != want {
				t.Errorf("%s: %+v, want impact %s", path, c, want)
			}
		}
		for _, say := range []string{"the intent says model N9K-C9364D-GX2A", "queue 7 is strict as well", "rebuilds its buffers", "changing a queuing policy", "one network-qos policy and one PFC watchdog",
			"4 ports that the intent does not name: Ethernet1/[5-8]", "no public source shows that every release knows priority-flow-control watch-dog interval 200"} {
			if !strings.Contains(notes(st), say) {
				t.Errorf("notes do not say %q: %s", say, notes(st))
			}
		}
		tok, err := d.Apply(t.Context(), snap, st, applyOptions)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.PortsDown(); !slices.Equal(got, ports[:1]) {
			t.Errorf("down: %v", got)
		}
		b.Settled(d)
		if err := d.Confirm(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		// Turn PFC on for one more port, with an existing network-qos policy.
		b.Set("interface Ethernet1/2\n  no priority-flow-control mode on\n")
		_, st = b.Plan(d)
		if c := drivertest.Find(st, "ports[Ethernet1/2].pfc"); c == nil || c.Impact != qos.ImpactCounters || strings.Contains(notes(st), "buffers") {
			t.Errorf("%+v, notes %s", c, notes(st))
		}
	})
}

func TestBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		b.with(ports[0], func(p *qos.Port) { p.LAG = qos.Of("port-channel7") })
		b.with(ports[1], func(p *qos.Port) { p.PFCAsymmetric = qos.Of(true) })
		b.Desired.Ports["Ethernet1/99"] = b.Desired.Ports[ports[2]]
		d := b.Open()
		snap, st := b.Plan(d)
		for path, say := range map[string]string{
			"ports[Ethernet1/99].port":          "no such port",
			"ports[Ethernet1/1].lag":            "channel-group",
			"ports[Ethernet1/2].pfc_asymmetric": "no asymmetric PFC",
		} {
			if c := drivertest.Find(st, path); c == nil || !strings.Contains(c.Blocked, say) {
				t.Errorf("%s: %+v", path, c)
			}
		}
		if n := len(st.Blocked()); n != 3 {
			t.Errorf("blocked: %v", st.Blocked())
		}
		// The remaining changes can be made without it.
		if _, err := d.Apply(t.Context(), snap, st, applyOptions); err != nil {
			t.Fatal(err)
		}
		b.Settled(d)
	})
}

// Values that a switch with four queues does not support are blocked in the plan.
func TestBlockedByTheClassModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simnxos.Options{FourQueue: true}})
		b.Desired = compile(t, fabric())
		d := b.Open()
		_, st := b.Plan(d)
		for _, path := range []string{"ports[Ethernet1/1].maps.dscp_to_tc", "ports[Ethernet1/4].maps.dscp_to_tc"} {
			if c := drivertest.Find(st, path); c == nil || !strings.HasPrefix(c.Blocked, "the switch has queues 0 to 3, and no 7") {
				t.Errorf("%s: %+v", path, c)
			}
		}
		// Values that depend on the map are blocked as well.
		for _, path := range []string{"ports[Ethernet1/1].pfc", "ports[Ethernet1/1].maps.pfc_to_queue", "ports[Ethernet1/1].watchdog"} {
			if c := drivertest.Find(st, path); c == nil || !strings.Contains(c.Blocked, "the port's map of DSCPs is refused: the switch has queues 0 to 3, and no 7") {
				t.Errorf("%s: %+v", path, c)
			}
		}
		b.Apply(d)
		b.Settled(d)
		// Queue 3 is the highest queue of this switch.
		b = newBox(t, boxOptions{Options: simnxos.Options{FourQueue: true}})
		if _, st := b.Plan(b.Open()); strings.Contains(notes(st), "strict") || len(st.Blocked()) > 0 {
			t.Errorf("notes %s, blocked %v", notes(st), st.Blocked())
		}
	})
}

func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simnxos.Options{Version: "9.3(10)"}})
		f, err := b.Open().Probe(t.Context())
		if err != nil || strings.Contains(f.Caps.Undo, "by the switch itself") || f.Version != "9.3(10)" {
			t.Errorf("%+v %v", f, err)
		}
		b.Target.Release = "10.4(3)"
		f, err = b.Open().Probe(t.Context())
		if err != nil || f.Release != "10.4(3)" || f.Version != "9.3(10)" {
			t.Errorf("%+v %v", f, err)
		}
		for release, want := range map[string]bool{"9.3(10)": false, "10.1(2)": false, "10.2(1)F": true, "10.4(3)": true, "11.1(1)": true, "7.0(3)I7(6)": false, "": true, "nightly": true} {
			if got := dualStage(release); got != want {
				t.Errorf("%q: %v", release, got)
			}
		}
	})
}

func (b *box) mismatches(d *Driver) (out []string) {
	b.T.Helper()
	ms, err := d.Applied(b.T.Context(), b.Desired)
	if err != nil {
		b.T.Fatal(err)
	}
	for _, m := range ms {
		said := strings.Join([]string{m.Port, m.What(), m.Want, m.Have, m.Fix}, "|")
		if m.Unsure {
			said += "|unsure"
		}
		out = append(out, said)
	}
	return out
}

// TestConditions breaks each condition of operational PFC separately, on switches with different
// output.
func TestConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []simnxos.Options{{}, {DecimalBitmap: true}, {PolicyBitmap: true}} {
			b := newBox(t, boxOptions{Options: o})
			d := b.Open()
			if err := d.Confirm(t.Context(), b.Apply(d)); err != nil {
				t.Fatal(err)
			}
			if got := b.mismatches(d); len(got) > 0 {
				t.Fatalf("after the apply: %q", got)
			}
			const allPorts = 4
			for _, tc := range []struct {
				name, breaks, fix string
				n                 int
				says              string
			}{
				{"the mode", "interface Ethernet1/2\n  priority-flow-control mode auto\n", "interface Ethernet1/2\n  priority-flow-control mode on\n", 1,
					"Ethernet1/2|pfc|priority 3 paused|the PFC mode is auto|interface Ethernet1/2 / priority-flow-control mode on"},
				{"the policy in force", "system qos\n  no service-policy type network-qos ROCE-FABRIC-NQ\n", "system qos\n  service-policy type network-qos ROCE-FABRIC-NQ\n", allPorts,
					"is not attached under system qos; the switch's own policy is in force|system qos / service-policy type network-qos ROCE-FABRIC-NQ"},
				{"the pause", "policy-map type network-qos ROCE-FABRIC-NQ\n  class type network-qos c-8q-nq3\n    no pause pfc-cos 3\n",
					"policy-map type network-qos ROCE-FABRIC-NQ\n  class type network-qos c-8q-nq3\n    pause pfc-cos 3\n", allPorts, "does not pause priority 3|policy-map type network-qos ROCE-FABRIC-NQ / class type network-qos c-8q-nq3 / pause pfc-cos 3"},
				{"the classification", "interface Ethernet1/3\n  no service-policy type qos input ROCE-FABRIC-IN\n", "interface Ethernet1/3\n  service-policy type qos input ROCE-FABRIC-IN\n", 1,
					"DSCP 26 goes to qos-group 0, not 3|interface Ethernet1/3 / service-policy type qos input ROCE-FABRIC-IN"},
			} {
				b.Set(tc.breaks)
				got := b.mismatches(d)
				if len(got) != tc.n || !strings.Contains(got[0], tc.says) {
					t.Errorf("%s: %q", tc.name, got)
				}
				b.Set(tc.fix)
				if got := b.mismatches(d); len(got) > 0 {
					t.Errorf("%s mended: %q", tc.name, got)
				}
			}
			// A pause without any traffic in its priority need not appear on the port.
			b.Set("policy-map type network-qos ROCE-FABRIC-NQ\n  class type network-qos c-8q-nq5\n    pause pfc-cos 5\n")
			if got := b.mismatches(d); o.PolicyBitmap && (len(got) != allPorts || got[0] != "Ethernet1/1|pfc|{3}|PFC is in operation for the bitmap (28)||unsure") || !o.PolicyBitmap && len(got) > 0 {
				t.Errorf("another pause: %q", got)
			}
			b.Set("policy-map type network-qos ROCE-FABRIC-NQ\n  no class type network-qos c-8q-nq5\n")
			// A class with a small MTU is reported.
			b.Set("policy-map type network-qos ROCE-FABRIC-NQ\n  class type network-qos c-8q-nq7\n    mtu 1500\n")
			if got := b.mismatches(d); len(got) != allPorts || got[0] != "Ethernet1/1|mtu|9100|class c-8q-nq7 of network-qos policy ROCE-FABRIC-NQ has room for 1500 bytes|policy-map type network-qos ROCE-FABRIC-NQ / class type network-qos c-8q-nq7 / mtu 9216" {
				t.Errorf("a small class: %q", got)
			}
			b.Set("policy-map type network-qos ROCE-FABRIC-NQ\n  class type network-qos c-8q-nq7\n    mtu 9216\n")
			// A port that is down has no operational PFC, and that is not reported.
			b.Set("interface Ethernet1/1\n  shutdown\n")
			if got := b.mismatches(d); len(got) > 0 {
				t.Errorf("down: %q", got)
			}
			b.with(ports[0], func(p *qos.Port) { p.AdminUp = qos.Of(true) })
			b.Set("interface Ethernet1/2\n  mtu 4000\n")
			want := []string{"Ethernet1/1|admin_up|true|false|", "Ethernet1/2|mtu|9100|4000|"}
			if got := b.mismatches(d); !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
		}
	})
}

// A plan notes the settings that ports lose although the intent does not name them.
func TestPlanReportsLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{setup: `
policy-map type queuing SITE
  class type queuing c-out-8q-q3
    bandwidth remaining percent 20
    queue-limit 200 kbytes
interface Ethernet1/1
  service-policy type queuing output SITE
interface Ethernet1/8
  service-policy type queuing output SITE
`})
		_, st := b.Plan(b.Open())
		if text := notes(st); !strings.Contains(text, "policy-map type queuing SITE is removed from Ethernet1/1, and with it settings that the intent does not name: class type queuing c-out-8q-q3 queue-limit 200 kbytes") {
			t.Error(text)
		}
	})
}

// The step and the notes name the override of PFC that a plan removes, not the watchdog.
func TestPlanReportsTheOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d := b.Open()
		b.Apply(d)
		b.Set("priority-flow-control override-interface mode off\n")
		_, st := b.Plan(b.Open())
		if len(st.Items) != 1 || !strings.HasSuffix(st.Items[0].What, ": override of PFC") || !strings.Contains(notes(st), "one override of PFC for the whole switch") {
			t.Errorf("%v, notes %s", st.Items, notes(st))
		}
	})
}

// With mode auto, the peer may turn PFC on; that is not reported.
func TestPFCByThePeer(t *testing.T) {
	want := &qos.Port{PFC: qos.Of(qos.Priorities(3))}
	auto := native.Condition{Port: "Ethernet1/1", Priority: 3, Broken: "the PFC mode is auto", Fix: "fix", Auto: true}
	class := native.Condition{Port: "Ethernet1/1", Priority: 3, Broken: "no class", Fix: "fix"}
	for _, tc := range []struct {
		state  show.PFC
		broken []native.Condition
		says   string
	}{
		{show.PFC{Mode: "Auto", On: true, Bitmap: "8"}, []native.Condition{auto}, ""},
		{show.PFC{Mode: "Auto", On: true}, []native.Condition{auto}, ""},
		{show.PFC{Mode: "Auto", On: true, Bitmap: "0"}, []native.Condition{auto}, "the PFC mode is auto"},
		{show.PFC{Mode: "Auto"}, []native.Condition{auto}, "the PFC mode is auto"},
		{show.PFC{Mode: "Auto", On: true, Bitmap: "8"}, []native.Condition{auto, class}, "no class"},
	} {
		a := applier{observed: &drivers.Observation{}, pfc: map[string]show.PFC{"Ethernet1/1": tc.state}, broken: map[string][]native.Condition{"Ethernet1/1": tc.broken}}
		a.port("Ethernet1/1", want, want)
		if tc.says == "" && len(a.out) > 0 || tc.says != "" && (len(a.out) != 1 || a.out[0].Have != tc.says) {
			t.Errorf("%+v, %d broken: %+v", tc.state, len(tc.broken), a.out)
		}
	}
}

// PFC that the switch does not show cannot be confirmed. A port that does not exist is not
// reported.
func TestPFCNotShown(t *testing.T) {
	want := &qos.Port{PFC: qos.Of(qos.Priorities(3))}
	a := applier{observed: &drivers.Observation{}}
	a.port("Ethernet1/9", nil, want)
	a.port("Ethernet1/1", want, want)
	if len(a.out) != 1 || a.out[0].Port != "Ethernet1/1" || a.out[0].Field.Kind != qos.KindPFC || !a.out[0].Unsure {
		t.Errorf("%+v", a.out)
	}
}
