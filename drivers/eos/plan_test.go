package eos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	native "github.com/roce-fabric/roce-fabric/render/eos"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

func manyVLANs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "vlan %d\n   name v%d\n", i+2, i)
	}
	return b.String()
}

func notes(st *drivers.Steps) string { return strings.Join(st.Notes, "\n") }

func TestPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}, setup: "interface Ethernet2/1\nshutdown\n"})
		up := *b.Desired.Ports[ports[1]]
		up.AdminUp = qos.Of(true)
		down := *b.Desired.Ports[ports[0]]
		down.AdminUp = qos.Of(false)
		b.Desired.Ports[ports[0]], b.Desired.Ports[ports[1]] = &down, &up
		b.Desired.Platform.Model = "DCS-7050CX3-32S"
		d := b.Open()
		facts, err := d.Probe(t.Context())
		if err != nil || facts.OS != "eos" || facts.Model != strata || facts.Release != "4.34.2F" || facts.ASIC != "strata" ||
			!slices.Equal(facts.Caps.Writes, []string{"ssh"}) || !facts.Caps.AppliedState || !strings.Contains(facts.Caps.Undo, "after 5m unless it is confirmed") {
			t.Errorf("%+v %v", facts, err)
		}
		snap, st := b.Plan(d)
		if len(st.Items) != 1 || len(st.Blocked()) > 0 {
			t.Fatalf("steps %v, blocked %v", st.Items, st.Blocked())
		}
		s := st.Items[0]
		if s.Via != "ssh" || !strings.HasPrefix(s.What, fmt.Sprintf("commit %d lines: qos profile ROCE-FABRIC", len(s.Lines))) ||
			!strings.Contains(s.What, "4 interfaces") || !strings.Contains(s.What, "dscp map") || !strings.Contains(s.What, "pfc watchdog") {
			t.Errorf("step %q of %d lines", s.What, len(s.Lines))
		}
		if !slices.Equal(s.Down, ports[:1]) || !slices.Equal(s.Up, ports[1:2]) {
			t.Errorf("down %v up %v", s.Down, s.Up)
		}
		for path, want := range map[string]qos.Impact{
			"ports[Ethernet1/1].admin_up": qos.ImpactPortFlap, "ports[Ethernet1/1].mtu": qos.ImpactNone, "ports[Ethernet1/1].pfc": qos.ImpactCounters,
			"ports[Ethernet1/1].queues[3].ecn": qos.ImpactNone, "ports[Ethernet1/1].queues[3].scheduler": qos.ImpactCounters,
			"ports[Ethernet1/1].watchdog": qos.ImpactNone, "global_maps.dscp_to_tc": qos.ImpactLoss,
		} {
			if c := drivertest.Find(st, path); c == nil || c.Impact != want {
				t.Errorf("%s: %+v, want impact %s", path, c, want)
			}
		}
		for _, say := range []string{"the intent says model DCS-7050CX3-32S", "Arista does not document", "4 ports that the intent does not name: Ethernet[5-8]/1", "one dscp map"} {
			if !strings.Contains(notes(st), say) && !strings.Contains(notes(st), strings.ReplaceAll(say, "Ethernet[5-8]/1", "Ethernet5/1,Ethernet6/1,Ethernet7/1,Ethernet8/1")) {
				t.Errorf("notes do not say %q: %s", say, notes(st))
			}
		}
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := b.PortsDown(); !slices.Equal(got, ports[:1]) {
			t.Errorf("down: %v", got)
		}
		b.Settled(d)
	})
}

// A switch-wide line also affects ports outside the intent that use it: the plan names them, and
// moving their traffic must be allowed explicitly.
func TestPlanNamesPortsOfGlobalLines(t *testing.T) {
	// With these lines, the change of the DSCP map moves only lossy traffic.
	const lossless = "qos map dscp 24 25 27 28 29 30 31 to traffic-class 0\n"
	const trust = "interface Ethernet5/1\nqos trust cos\ninterface Ethernet6/1\nqos trust cos\ninterface Ethernet8/1\nqos trust cos\n"
	for _, c := range []struct {
		name, setup string
		say, not    []string
		impact      qos.Impact
	}{
		{"carries traffic", "interface Ethernet6/1\nshutdown\n", []string{"one dscp map for the whole switch: the change also concerns 4 ports"}, []string{"cos map", "pfc watchdog"}, qos.ImpactLoss},
		{"one trusts DSCP", trust, []string{"one dscp map for the whole switch: the change also concerns 1 port that the intent does not name: Ethernet7/1"}, []string{"Ethernet5/1"}, qos.ImpactLoss},
		{"none trusts DSCP", trust + "interface Ethernet7/1\nno qos trust\n", nil, []string{"whole switch"}, qos.ImpactCounters},
		{"shut", trust + "interface Ethernet7/1\nshutdown\n", []string{"Ethernet7/1"}, nil, qos.ImpactCounters},
		{"another user's PFC", trust + "interface Ethernet7/1\npriority-flow-control on\npriority-flow-control priority 4 no-drop\n",
			[]string{"one dscp map and one pfc watchdog for the whole switch: the change also concerns 1 port that the intent does not name: Ethernet7/1"}, nil, qos.ImpactLoss},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}, setup: lossless + c.setup})
				_, st := b.Plan(b.Open())
				for _, say := range c.say {
					if !strings.Contains(notes(st), say) {
						t.Errorf("notes do not say %q: %s", say, notes(st))
					}
				}
				for _, say := range c.not {
					if strings.Contains(notes(st), say) {
						t.Errorf("notes say %q: %s", say, notes(st))
					}
				}
				if ch := drivertest.Find(st, "global_maps.dscp_to_tc"); ch == nil || ch.Impact != c.impact {
					t.Errorf("%+v, want impact %s", ch, c.impact)
				}
			})
		})
	}
}

// The plan notes that a port leaving a shared profile loses settings that the intent does not
// name, and that it is not documented which priority pauses a queue with another number.
func TestPlanSaysWhatItCannotKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{
			Options: simeos.Options{Model: strata}, intent: []string{"rdma: {priority: 3,", "rdma: {priority: 3, queue: 5,"},
			setup: "qos profile OPS\nshape rate 5000000 kbps\nqos cos 3\ninterface Ethernet1/1\nservice-profile OPS\ninterface Ethernet2/1\nservice-profile OPS\n",
		})
		d := b.Open()
		_, st := b.Plan(d)
		for _, say := range []string{"qos profile OPS is removed from Ethernet1/1,Ethernet2/1, and with it settings that the intent does not name: ", "qos cos 3", "shape rate 5000000 kbps",
			"which queue a received pause of priority 3 stops; the intent puts class rdma into queue 5"} {
			if !strings.Contains(notes(st), say) {
				t.Errorf("notes do not say %q: %s", say, notes(st))
			}
		}
		if err := d.Confirm(t.Context(), b.Apply(d)); err != nil {
			t.Fatal(err)
		}
		if _, st := b.Plan(d); len(st.Notes) > 0 {
			t.Errorf("with nothing to do: %q", st.Notes)
		}
	})
}

// A switch that does not show its sessions can be read, and Keep does nothing.
func TestSessionsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		d := b.Open()
		b.Apply(d)
		d.way = hidesSessions{d.way}
		b.Settled(d)
		if kept, err := d.Keep(t.Context()); kept || err != nil {
			t.Errorf("kept %v, %v", kept, err)
		}
	})
}

type hidesSessions struct{ way }

func (w hidesSessions) showJSON(ctx context.Context, cmd string) ([]byte, error) {
	if cmd == "show configuration sessions" {
		return nil, &ssh.LineError{Number: 1, Line: cmd, Words: "% Invalid input"}
	}
	return w.way.showJSON(ctx, cmd)
}

func TestBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		lag := *b.Desired.Ports[ports[0]]
		lag.LAG = qos.Of("Port-Channel7")
		asym := *b.Desired.Ports[ports[1]]
		asym.PFCAsymmetric = qos.Of(true)
		b.Desired.Ports[ports[0]], b.Desired.Ports[ports[1]] = &lag, &asym
		b.Desired.Ports["Ethernet99/1"] = b.Desired.Ports[ports[2]]
		d := b.Open()
		_, st := b.Plan(d)
		for path, say := range map[string]string{
			"ports[Ethernet99/1].port":          "no such port",
			"ports[Ethernet1/1].lag":            "channel-group",
			"ports[Ethernet2/1].pfc_asymmetric": "",
		} {
			if c := drivertest.Find(st, path); c == nil || c.Blocked == "" || !strings.Contains(c.Blocked, say) {
				t.Errorf("%s: %+v", path, c)
			}
		}
		if n := len(st.Blocked()); n != 3 {
			t.Errorf("blocked: %v", st.Blocked())
		}
		// The remaining changes can be made without it.
		if _, err := d.Apply(t.Context(), &drivers.Snapshot{Native: &snapshot{cfg: b.config()}}, st, drivers.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		b.Settled(d)
	})
}

func (b *box) config() *native.Config {
	cfg, err := native.Parse([]byte(b.Running()))
	if err != nil {
		b.T.Fatal(err)
	}
	return cfg
}

// A switch need not print a port line that equals the "interface defaults" line.
func TestDefaultsOfAllPorts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, printed := range []bool{false, true} {
			b := newBox(t, boxOptions{Options: simeos.Options{Model: strata, PrintDefaults: printed},
				setup: "interface defaults\nmtu 9100\nethernet\nshutdown\ninterface Ethernet1/1\nno shutdown\ninterface Ethernet3/1\nmtu 1500\n"})
			b.Save()
			for i, up := range []bool{false, true} {
				p := *b.Desired.Ports[ports[i]]
				p.AdminUp = qos.Of(up)
				b.Desired.Ports[ports[i]] = &p
			}
			d, was := b.Open(), b.State()
			_, st := b.Plan(d)
			// The intent wants 9100 on all ports.
			for path, want := range map[string]string{
				"ports[Ethernet3/1].mtu": "1500 -> 9100", "ports[Ethernet4/1].mtu": "",
				"ports[Ethernet1/1].admin_up": "true -> false", "ports[Ethernet2/1].admin_up": "false -> true", "ports[Ethernet3/1].admin_up": "",
			} {
				got := ""
				if c := drivertest.Find(st, path); c != nil {
					got = c.Old + " -> " + c.New
				}
				if got != want {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
			tok := b.Apply(d)
			b.Settled(d)
			if got, want := b.PortsDown(), append([]string{ports[0]}, ports[2:]...); !slices.Equal(got, want) {
				t.Errorf("down: %v, want %v", got, want)
			}
			if err := d.Confirm(t.Context(), tok); err != nil {
				t.Fatal(err)
			}
			// After the timer has expired, each changed line is reverted with a line.
			if err := d.Revert(t.Context(), tok); err != nil || b.State() != was {
				t.Errorf("revert: %v\n%s", err, b.State())
			}
		}
	})
}

// TestQueueKeyword covers switches whose model does not determine the keyword of their queues.
func TestQueueKeyword(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, gnmi := range []bool{false, true} {
			b := newBox(t, boxOptions{gnmi: gnmi, Options: simeos.Options{Model: unknown, QueueKeyword: "tx-queue", Persist: true}})
			d := b.Open()
			snap, st := b.Plan(d)
			if got := nativeOf(snap).kw; got != native.TxQueue {
				t.Errorf("keyword %q", got)
			}
			if f, err := d.Probe(t.Context()); err != nil || f.ASIC != "" || len(st.Items) != 1 {
				t.Errorf("%+v %v", f, err)
			}
			// If asking the switch fails too, the plan notes that the keyword is a guess.
			d = b.Open()
			asked := &refusesAll{way: d.way}
			d.way = asked
			b.Plan(d)
			if snap, st = b.Plan(d); nativeOf(snap).kw != "" || asked.n != 2 || !strings.Contains(notes(st), "the plan uses uc-tx-queue") {
				t.Errorf("keyword %q, asked %d times, notes %s", nativeOf(snap).kw, asked.n, notes(st))
			}
			d = b.Open()
			was := b.State()
			if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{}); err == nil || b.State() != was {
				t.Errorf("the wrong keyword: %v", err)
			}
			b.Apply(d)
			b.Settled(d)
			// A plan without queue lines has no such note.
			b.Set("interface Ethernet1/1\nmtu 4000\n")
			snap, _ = b.Plan(d)
			nativeOf(snap).kw = ""
			facts, err := d.Probe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if st, err := d.Plan(facts, snap, b.Desired, b.Policy); err != nil || len(st.Items) != 1 || strings.Contains(notes(st), "uc-tx-queue") {
				t.Errorf("%v, notes %s", err, notes(st))
			}
		}
	})
}

// refusesAll is a transport to a switch that does not print the defaults of a port.
type refusesAll struct {
	way
	n int
}

func (w *refusesAll) Show(ctx context.Context, cmd string) (string, error) {
	if strings.HasPrefix(cmd, lines.Running+" ") {
		w.n++
		return "", &ssh.LineError{Number: 1, Line: cmd, Words: "% Invalid input"}
	}
	return w.way.Show(ctx, cmd)
}

func TestWithoutPersistence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true, Options: simeos.Options{Model: strata}})
		d := b.Open()
		_, st := b.Plan(d)
		if !strings.Contains(notes(st), "operation set persistence") || !strings.Contains(notes(st), "lost in a restart") {
			t.Errorf("notes %q", notes(st))
		}
		was := b.State()
		tok := b.Apply(d)
		if err := d.Confirm(t.Context(), tok); !errors.Is(err, drivers.ErrNoSave) || b.Saved() != was {
			t.Errorf("confirm: %v", err)
		}
		if err := d.Revert(t.Context(), tok); err != nil || b.State() != was {
			t.Errorf("revert: %v", err)
		}
		f, err := d.Probe(t.Context())
		if err != nil || !strings.Contains(f.Caps.Undo, "configure ssh") || !slices.Equal(f.Caps.Writes, []string{"gnmi"}) {
			t.Errorf("%+v %v", f, err)
		}
	})
}

func TestTheBoxKnowsItsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		b.Target.Model, b.Target.Release = sand, "4.30.1F"
		f, err := b.Open().Probe(t.Context())
		// The model comes from the switch; the intent may override the release.
		if err != nil || f.Model != strata || f.ASIC != "strata" || f.Release != "4.30.1F" || f.Version != "4.34.2F" {
			t.Errorf("%+v %v", f, err)
		}
	})
}

func TestLargeConfiguration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var big strings.Builder
		lines := 50_000
		if testing.Short() {
			lines = 5_000
		}
		for i := range lines {
			fmt.Fprintf(&big, "ip route 10.%d.%d.%d/32 Null0\n", i>>16, i>>8&255, i&255)
		}
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}, setup: big.String()})
		d, was := b.Open(), b.State()
		tok := b.Apply(d)
		if err := d.Revert(t.Context(), tok); err != nil || b.State() != was {
			t.Errorf("revert: %v", err)
		}
	})
}

func TestApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, gnmi := range []bool{false, true} {
			b := newBox(t, boxOptions{gnmi: gnmi, Options: simeos.Options{Model: strata, Persist: true}, setup: "interface Ethernet4/1\nswitchport\n"})
			d := b.Open()
			for name := range b.Desired.Ports {
				p := *b.Desired.Ports[name]
				p.AdminUp = qos.Of(name != "Ethernet3/1")
				b.Desired.Ports[name] = &p
			}
			var got []string
			ms, err := d.Applied(t.Context(), b.Desired)
			for _, m := range sure(ms) {
				got = append(got, m.Port+" "+m.What()+" "+m.Want+" "+m.Have)
			}
			want := []string{"Ethernet1/1 mtu 9100 1500", "Ethernet2/1 mtu 9100 1500", "Ethernet3/1 admin_up false true", "Ethernet3/1 mtu 9100 1500"}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q %v", d.way.name(), got, err)
			}
			b.Apply(d)
			if ms, err := d.Applied(t.Context(), b.Desired); err != nil || len(sure(ms)) > 0 {
				t.Errorf("%s: after the apply: %v %v", d.way.name(), ms, err)
			}
			o, err := d.Observe(t.Context())
			if err != nil || !o.Ports["Ethernet1/1"].AdminUp.V || o.Ports["Ethernet3/1"].AdminUp != qos.Of(false) {
				t.Errorf("%s: %+v %v", d.way.name(), o, err)
			}
		}
	})
}

// sure returns the mismatches that are not Unsure, because the simulator does not show PFC.
func sure(ms []drivers.Mismatch) []drivers.Mismatch {
	return slices.DeleteFunc(slices.Clone(ms), func(m drivers.Mismatch) bool { return m.Unsure })
}

// The MTU of a port channel member follows from the channel's configuration, so the MTU that the
// member shows is ignored.
func TestAppliedOfMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{
			Options: simeos.Options{Model: strata},
			setup:   "interface Port-Channel1\nno switchport\nmtu 9100\ninterface Ethernet1/1\nchannel-group 1 mode active\ninterface Ethernet2/1\nchannel-group 1 mode active\n",
		})
		for _, name := range ports[:2] {
			p := *b.Desired.Ports[name]
			p.LAG = qos.Of("Port-Channel1")
			b.Desired.Ports[name] = &p
		}
		d := b.Open()
		b.Apply(d)
		b.Settled(d)
		if ms, err := d.Applied(t.Context(), b.Desired); err != nil || len(sure(ms)) > 0 {
			t.Errorf("%v %v", ms, err)
		}
	})
}

func TestPFCMismatches(t *testing.T) {
	cfg, err := native.Parse([]byte("priority-flow-control pause watchdog default timeout 0.40\npriority-flow-control pause watchdog default recovery-time 0.4\n"))
	if err != nil {
		t.Fatal(err)
	}
	desired := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1": {PFC: qos.Of(qos.Priorities(3))}}}
	for text, want := range map[string][]string{
		"": {"pfc?"}, "nothing of it\n": {"pfc?"},
		"Global PFC : Enabled\nThe PFC watchdog timeout is 0.4 second(s)\nThe PFC watchdog recovery-time is 0.40 second(s) (auto)\n": nil,
		"Global PFC : Disabled\nThe PFC watchdog timeout is 0.0 second(s) (default)\n":                                               {"pfc", "watchdog default timeout"},
		"The PFC watchdog timeout is 0.5 second(s)\nThe PFC watchdog recovery-time is 0.41 second(s)\n":                              {"pfc?", "watchdog default timeout", "watchdog default recovery-time"},
		"The PFC watchdog timeout is 0 second(s)\nThe PFC watchdog recovery-time is 0.400 second(s)\n":                               {"pfc?"},
		"The PFC watchdog timeout is 1.2.3 second(s)\n The PFC watchdog recovery-time is 9 second(s)\n":                              {"pfc?"},
	} {
		var got []string
		for _, m := range pfcMismatches(text, cfg, desired) {
			if m.Unsure {
				m.Part = m.What() + "?"
			}
			got = append(got, m.What())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
