package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/nicctl"
	"github.com/roce-fabric/roce-fabric/nic/nicctl/nicctltest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

func ionic() localtest.Port {
	return localtest.Port{Name: ens0, RDMA: "ionic_0", PCI: "0000:09:00.0", Driver: nic.DriverIonic, MAC: "04:90:81:32:5d:00"}
}

// amd returns a host with two AMD cards, the first of which has the port ens0.
func amd(t *testing.T) (*localtest.Host, *nicctltest.Host) {
	h := newHost(t, ionic())
	cards := nicctltest.New("ionic_0", "ionic_1")
	h.SetAMD(cards)
	return h, cards
}

// held returns what the cards hold. It shows the schedule of a new card without its share of 100%,
// because a revert writes that share out.
func held(cards *nicctltest.Host) (out []string) {
	cards.Edit(func(cs []*nicctltest.Card, trust *qos.Trust) {
		for _, c := range cs {
			p := *c.Ports[0]
			if p.Schedule == (nicctl.Scheduling{0: {Shown: true, Percent: 100}}) {
				p.Schedule[0].Percent = 0
			}
			out = append(out, string(*trust), cmp.Diff(nicctltest.Port{}, p), cmp.Diff(false, c.Devices[0].Enabled))
		}
	})
	return out
}

func findStep(t *testing.T, steps []local.Step, field string) local.Step {
	t.Helper()
	i := slices.IndexFunc(steps, func(s local.Step) bool { return s.Field == field })
	if i < 0 {
		t.Fatalf("no step of %s in %q", field, fields(steps))
	}
	return steps[i]
}

func findChange(t *testing.T, h, want *nic.Host, field string) nic.Change {
	t.Helper()
	for _, c := range nic.Diff(h, want) {
		if c.Field == field {
			return c
		}
	}
	t.Fatalf("no change of %s", field)
	return nic.Change{}
}

func TestIonicApplyAndRevert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, cards := amd(t)
		m, want := h.Machine(), desired(ens0)
		before := held(cards)
		running := read(t, m)
		for _, f := range []string{"dcbx", "cable", "cnp_priority", "traffic_class"} {
			if running.Ports[ens0].Missing[f] != nic.NotInDriver {
				t.Errorf("%s is %q", f, running.Ports[ens0].Missing[f])
			}
		}
		steps := overJSON(t, m.Plan(running, want, local.Options{}))
		if diff := cmp.Diff([]string{"dscp", "ets", "pfc", "ecn", "mode", "tos", "mtu"}, fields(steps)); diff != "" {
			t.Fatalf("steps (-want +got):\n%s", diff)
		}
		u := apply(t, m, steps)
		writes := cards.Writes()
		if len(writes) == 0 || h.Writes() == nil {
			t.Fatal("nothing was written")
		}
		for _, w := range writes {
			if !strings.Contains(w, "-4242-4242-000011010000 ") && !strings.Contains(w, "-r ionic_0 ") {
				t.Errorf("not of this port: %s", w)
			}
		}
		cards.Edit(func(cs []*nicctltest.Card, _ *qos.Trust) {
			p := cs[0].Ports[0]
			if p.PFC != qos.Priorities(3) || p.Pause != (nicctl.Pause{Type: "PFC", RX: true, TX: true}) || p.DSCP[26] != 3 || p.Schedule[6] != (nicctl.Share{Shown: true, Strict: true, Gbps: 10}) || p.Schedule[3].Percent != 60 {
				t.Errorf("port %+v", p)
			}
			if d := cs[0].Devices[0]; !d.Enabled || d.CNPDSCP != 48 {
				t.Errorf("device %+v", d)
			}
			if p := cs[1].Ports[0]; p.PFC != 0 || p.DSCP[26] != 0 {
				t.Errorf("the other card: %+v", p)
			}
		})
		if left := m.Plan(read(t, m), want, local.Options{}); left != nil {
			t.Errorf("left: %q", fields(left))
		}
		if again, err := m.Apply(t.Context(), steps, nil); err != nil || len(again.Steps) > 0 || cards.Writes() != nil {
			t.Errorf("again: %+v, %v", again, err)
		}
		if err := m.Revert(t.Context(), overJSON(t, u)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, held(cards)); diff != "" {
			t.Errorf("after the revert (-before +now):\n%s", diff)
		}
		cards.Writes()
		if err := m.Revert(t.Context(), u); err != nil || cards.Writes() != nil {
			t.Errorf("the second revert: %v", err)
		}
	})
}

// nicctl is run once for all ports of a host, and each port gets the state of its own card.
func TestIonicPortsAreReadAtOnce(t *testing.T) {
	h, cards := amd(t)
	h.Add(localtest.Port{Name: ens1, RDMA: "ionic_1", PCI: "0000:19:00.0", Driver: nic.DriverIonic})
	cards.Edit(func(cs []*nicctltest.Card, _ *qos.Trust) { cs[1].Ports[0].DSCP[26] = 5 })
	asked, answer := 0, h.Programs["nicctl"]
	h.Programs["nicctl"] = func(ctx context.Context, args []string) (runner.Result, error) {
		asked++
		return answer(ctx, args)
	}
	host := read(t, h.Machine())
	if asked != 3 || host.Ports[ens0].DSCP.V[26] != 0 || host.Ports[ens1].DSCP.V[26] != 5 {
		t.Errorf("%d runs, DSCP 26 has priority %d and %d", asked, host.Ports[ens0].DSCP.V[26], host.Ports[ens1].DSCP.V[26])
	}
}

// On ionic, ethtool takes PFC for link pause and would turn PFC off.
func TestIonicPauseOnlyThroughNicctl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, cards := amd(t)
		m, want := h.Machine(), desired(ens0)
		cards.Edit(func(cs []*nicctltest.Card, _ *qos.Trust) {
			cs[0].Ports[0].Pause = nicctl.Pause{Type: "LINK", RX: true, TX: true}
			cs[0].Ports[0].PFC = qos.Priorities(3)
		})
		running := read(t, m)
		if p := running.Ports[ens0]; p.PFC != qos.Of(qos.PrioritySet(0)) || p.LinkPause != qos.Of(true) {
			t.Errorf("a port that pauses its link: PFC %v, link pause %v", p.PFC, p.LinkPause)
		}
		s := findStep(t, m.Plan(running, want, local.Options{}), "pfc")
		if len(s.Changes) != 2 {
			t.Errorf("changes %+v", s.Changes)
		}
		u, err := m.Apply(t.Context(), []local.Step{s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p := read(t, m).Ports[ens0]; p.PFC != qos.Of(qos.Priorities(3)) || p.LinkPause != qos.Of(false) {
			t.Errorf("PFC %v, link pause %v", p.PFC, p.LinkPause)
		}
		if w := h.Writes(); slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, "pause") }) {
			t.Errorf("by ethtool: %q", w)
		}
		if err := m.Revert(t.Context(), overJSON(t, u)); err != nil {
			t.Fatal(err)
		}
		cards.Edit(func(cs []*nicctltest.Card, _ *qos.Trust) {
			if p := cs[0].Ports[0]; p.Pause != (nicctl.Pause{Type: "LINK", RX: true, TX: true}) || p.PFC != qos.Priorities(3) {
				t.Errorf("after the revert %+v", p)
			}
		})
	})
}

func TestIonicClassificationIsOfAllCards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, cards := amd(t)
		m, want := h.Machine(), desired(ens0)
		apply(t, m, m.Plan(read(t, m), want, local.Options{}))
		cards.Edit(func(_ []*nicctltest.Card, trust *qos.Trust) { *trust = qos.TrustPCP })
		steps := m.Plan(read(t, m), want, local.Options{})
		if len(steps) != 1 || steps[0].Field != "dscp" || !strings.Contains(steps[0].What, "all AMD cards of the host") {
			t.Fatalf("%+v", steps)
		}
		u := apply(t, m, steps)
		if left := m.Plan(read(t, m), want, local.Options{}); left != nil {
			t.Errorf("left: %q", fields(left))
		}
		if err := m.Revert(t.Context(), overJSON(t, u)); err != nil {
			t.Fatal(err)
		}
		if p := read(t, m).Ports[ens0]; p.Trust != qos.Of(qos.TrustPCP) {
			t.Errorf("after the revert %v", p.Trust)
		}
	})
}

// A value that nicctl does not show is unknown, with the reason, and is not written.
func TestIonicNotReadable(t *testing.T) {
	for name, tt := range map[string]struct {
		edit    func(*localtest.Host, *nicctltest.Host)
		unknown []string
		why     string
	}{
		"no tool":   {func(h *localtest.Host, _ *nicctltest.Host) { delete(h.Programs, "nicctl") }, []string{"ets", "pfc", "dscp", "trust", "link_pause", "ecn", "cnp_dscp"}, "no nicctl"},
		"no access": {func(_ *localtest.Host, c *nicctltest.Host) { c.SetFaults(nicctltest.Faults{NoCards: true}) }, []string{"ets", "pfc", "dscp", "trust", "link_pause", "ecn", "cnp_dscp"}, "needs root"},
		"a schedule of another form": {func(_ *localtest.Host, c *nicctltest.Host) {
			c.SetFaults(nicctltest.Faults{Garble: func(_, s string) string { return strings.ReplaceAll(s, "DWRR", "SHAPED") }})
		}, []string{"ets"}, "SHAPED"},
		"PFC in two forms": {func(_ *localtest.Host, c *nicctltest.Host) {
			c.Edit(func(cs []*nicctltest.Card, _ *qos.Trust) { cs[0].Ports[0].PFCListed = "5" })
		}, []string{"pfc"}, "{5}"},
		"a device of no card": {func(h *localtest.Host, c *nicctltest.Host) {
			c.Edit(func(cs []*nicctltest.Card, _ *qos.Trust) { cs[0].Devices[0].Name = "rocep9s0" })
		}, []string{"ets", "pfc", "dscp", "trust", "link_pause", "ecn", "cnp_dscp"}, "no RDMA device"},
	} {
		t.Run(name, func(t *testing.T) {
			h, cards := amd(t)
			tt.edit(h, cards)
			m, want := h.Machine(), desired(ens0)
			running := read(t, m)
			for _, field := range tt.unknown {
				if c := findChange(t, running, want, field); c.Kind != nic.KindUnknown || !strings.Contains(c.Blocked, tt.why) {
					t.Errorf("%s: %+v", field, c)
				}
			}
			steps := m.Plan(running, want, local.Options{})
			for _, s := range steps {
				if slices.Contains(tt.unknown, s.Field) {
					t.Errorf("a step of %s: %s", s.Field, s.What)
				}
			}
			findStep(t, steps, "mtu") // settings that the kernel handles are still written
		})
	}
}

func TestIonicSaysWhatTheCardDoesNotTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			faults nicctltest.Faults
			err    error
		}{
			"ignored":         {nicctltest.Faults{Ignore: true}, local.ErrIgnored},
			"stays off":       {nicctltest.Faults{StaysOff: true}, local.ErrIgnored},
			"a schedule":      {nicctltest.Faults{Refuse: "scheduling"}, nicctl.ErrRefused},
			"no card anymore": {nicctltest.Faults{NoCards: true}, nicctl.ErrAccess},
		} {
			h, cards := amd(t)
			m := h.Machine()
			before := held(cards)
			steps := m.Plan(read(t, m), desired(ens0), local.Options{})
			cards.SetFaults(tt.faults)
			u, err := m.Apply(t.Context(), steps, nil)
			if !errors.Is(err, tt.err) {
				t.Errorf("%s: %v", name, err)
			}
			cards.SetFaults(nicctltest.Faults{})
			if err := m.Revert(t.Context(), u); err != nil {
				t.Errorf("%s: revert: %v", name, err)
			}
			if diff := cmp.Diff(before, held(cards)); diff != "" {
				t.Errorf("%s: after the revert (-before +now):\n%s", name, diff)
			}
		}
	})
}

// DCQCN cannot be turned on without a DSCP for its notifications.
func TestIonicWithoutNotificationClass(t *testing.T) {
	h, _ := amd(t)
	m, want := h.Machine(), desired(ens0)
	want.Ports[ens0].CNPDSCP = qos.Opt[int]{}
	running := read(t, m)
	if c := findChange(t, running, want, "ecn"); c.Blocked == "" || c.Writable() {
		t.Errorf("%+v", c)
	}
	if f := fields(m.Plan(running, want, local.Options{})); slices.Contains(f, "ecn") {
		t.Errorf("steps %q", f)
	}
}
