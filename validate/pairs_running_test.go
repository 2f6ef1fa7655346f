package validate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// runningPairs are faults of a running switch, for checks whose fault in the intent is in
// another table: a check of both has a pair of each.
var runningPairs = []pair{
	{id: "CLS-09", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[6].Scheduler.V = qos.Scheduler{Weight: 1} }), place: "leaf1 Ethernet0", says: "class cnp of congestion notifications", fix: "apply"},
	{id: "CLS-14", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Trust.V = qos.TrustPCP }), place: "leaf1 Ethernet240", says: "the port trusts pcp, on spine1 dscp", fix: "apply", also: []string{"CLS-04"}},
	{id: "ECN-01", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[3].ECN.V = qos.ECN{} }), place: "leaf1 Ethernet0", says: "lossless class rdma has no ECN", fix: "apply"},
	{id: "ECN-02", severity: checks.Error, config: "leaf1", old: `"green_min_threshold": "150000"`, new: `"green_min_threshold": "1500000"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "min = max = 1500KB with a probability of 10 %", fix: "apply", also: []string{"ECN-05"}},
	{id: "ECN-05", severity: checks.Warning, config: "leaf1", old: `"green_min_threshold": "150000"`, new: `"green_min_threshold": "140000"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "ecn is 140KB..1500KB 10%", fix: "apply"},
	{id: "OPS-05", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) { d.Platform.Release = "202505" }, place: "leaf1", says: "the release is 202505", fix: "one release"},
	{id: "OPS-06", severity: checks.Error, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		s.Own = []drivers.State{{Port: "Ethernet0", Stopped: true, What: "the PFC watchdog has stopped queue 3", Fix: "look at the other end", Fields: []qos.Attr{qos.KindPFC.Attr()}}}
		s.InForce = []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindPFC.Attr(), Want: "{3}", Have: "{}"}}
	}, place: "leaf1 Ethernet0", says: "stopped queue 3", fix: "other end"},
	{id: "OPS-06", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, s *checks.State) {
		s.Own = []drivers.State{{Reverts: true, What: "the commit timer runs for another 3 min", Fix: "confirm it"}}
	}, place: "leaf1", says: "commit timer", fix: "confirm"},
	{id: "PFC-01", severity: checks.Error, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.PFC.V = 0 }), place: "leaf1 Ethernet240", says: "PFC is off; on spine1 it is on for priority 3", fix: "apply", also: []string{"PFC-04"}},
	{id: "PFC-07", severity: checks.Error, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.PFC.V = 0 }), place: "leaf1 Ethernet240", says: "PFC is off; on spine1 it is on for priority 3", fix: "apply", also: []string{"PFC-01"}},
	{id: "PFC-07", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.PFC.V = 0 }), place: "leaf1 Ethernet0", says: "PFC is off; the intent has it on for priority 3 at both ends", fix: "apply", also: []string{"PFC-02"}},
	{id: "PFC-12", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.PFC.V |= qos.Priorities(7) }), place: "leaf1 Ethernet240", says: "PFC is on for priorities 3 and 7; on spine1 it is on for priority 3", fix: "apply"},
	{id: "PFC-08", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.PFCAsymmetric.V = true }), place: "leaf1 Ethernet240", says: "asymmetric PFC is on, on spine1 off", fix: "apply"},
	{id: "TOP-05", severity: checks.Error, base: "dual tor", config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.PFC.V |= qos.Priorities(0) }), place: "leaf1", says: "class default keeps its priority in the tunnel to leaf2", fix: "apply", also: []string{"PFC-02"}},
	{id: "WD-01", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Watchdog.V = qos.Watchdog{} }), place: "leaf1 Ethernet0", says: "off on lossless ports towards hosts", fix: "apply"},
	{id: "WD-02", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Watchdog.V = qos.Watchdog{} }), place: "leaf1 Ethernet240", says: "off on lossless ports towards switches", fix: "apply"},
	{id: "WD-05", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Watchdog.V.Detect *= 2 }), place: "leaf1 Ethernet240", says: "detect 800ms restore 400ms, the intent says", fix: "apply"},
}

// TestOwnStates checks that a switch that will undo its configuration gets no advice to write it, and
// that one that has not settled is not compared with what is in force.
func TestOwnStates(t *testing.T) {
	for _, own := range []drivers.State{{}, {Reverts: true, What: "a commit timer", Fix: "wait"}, {Settling: true, What: "a warm restart", Fix: "wait"}} {
		c := compile(t, closBase)
		d := c.Device(c.Fabric().Switch("leaf1"))
		have := decoded(t, saved(d))
		have.Ports["Ethernet0"].MTU.V = 8999
		state := &checks.State{InForce: []drivers.Mismatch{{Port: "Ethernet240", Field: qos.KindPFC.Attr(), Want: "{3}", Have: "{}"}}}
		if own.What != "" {
			state.Own = []drivers.State{own}
		}
		run := NewRun(c.Fabric())
		run.Add(Switch(d, have, checks.Running, state))
		fs := run.Findings(today)
		if first := fs[0].ID == "OPS-06"; first != (own.What != "") {
			t.Errorf("%+v: the first finding is %s", own, fs[0].ID)
		}
		for _, f := range fs {
			if f.ID == "MTU-03" && (f.Fix == "wait") != own.Reverts {
				t.Errorf("%+v: the fix of the MTU is %q", own, f.Fix)
			}
		}
		if ids := idsOf(fs); slices.Contains(ids, "PFC-10") == own.Settling {
			t.Errorf("%+v: findings %q", own, ids)
		}
	}
}

// TestRunningAggregate checks that members of an aggregate are compared as they run. SONiC's
// rows of the aggregate belong to the operator, so a rendered configuration has none.
func TestRunningAggregate(t *testing.T) {
	for mtu, want := range map[int][]string{9100: nil, 9050: {"PRT-02"}} {
		c := compile(t, bases["lag"])
		d := c.Device(c.Fabric().Switch("leaf1"))
		have := decoded(t, saved(d))
		for _, name := range []string{"Ethernet240", "Ethernet248"} {
			have.Ports[name].LAG = qos.Of("PortChannel1")
		}
		have.Ports["Ethernet248"].MTU.V = mtu
		run := NewRun(c.Fabric())
		run.Add(Switch(d, have, checks.Running, nil))
		if got := idsOf(run.Findings(today)); !slices.Equal(got, want) {
			t.Errorf("MTU %d: %v, want %v", mtu, got, want)
		}
	}
}

// TestHeadroomFallingWithCableLength checks that BUF-06 finds a table of the catalogue whose
// headroom falls with the length of the cable.
func TestHeadroomFallingWithCableLength(t *testing.T) {
	for _, falls := range []bool{false, true} {
		c := compile(t, closBase)
		d := c.Device(c.Fabric().Switch("leaf1"))
		m := *d.Model
		m.Headroom = slices.Clone(m.Headroom)
		i := slices.IndexFunc(m.Headroom, func(h catalog.HeadroomRow) bool { return h.Speed == 400e9 && h.Cable == 40 })
		var want []string
		if falls {
			m.Headroom[i].XOFF, want = 170000, []string{"BUF-06"}
		}
		dd := render.Device{Fabric: d.Fabric, Switch: d.Switch, Desired: d.Desired, Model: &m}
		run := NewRun(c.Fabric())
		run.Add(Switch(&dd, d.Desired, checks.Intended, nil))
		if got := idsOf(run.Findings(today)); !slices.Equal(got, want) {
			t.Errorf("falls %v: %v, want %v", falls, got, want)
		}
	}
}

// idsOf returns the IDs of checks with findings above info.
func idsOf(fs []checks.Finding) (out []string) {
	for _, f := range fs {
		if f.Severity != checks.Info && !slices.Contains(out, f.ID) {
			out = append(out, f.ID)
		}
	}
	return out
}

// TestDeadlocksInRunningState checks that the cycles, turns and tunnels of running switches are
// reported like those of an equivalent intent, with the same text, and that the fix is to apply
// the intent.
func TestDeadlocksInRunningState(t *testing.T) {
	lossy := strings.NewReplacer("dscp: [26], lossless: true", "dscp: [26], mode: lossy", "role:superspine", "role:spine").Replace(threeTiers)
	for name, c := range map[string]struct {
		intent, paused string // the intent, and an intent for the running state
		hosts          bool   // pause only on host ports of switches where a tunnel begins
		priority       int
		ids            []string
		to             string // switches of the fix
	}{
		"tunnel": {dualToR, strings.Replace(dualToR, "lossless: false", "lossless: true", 1), true, 2, []string{"TOP-01"}, " to leaf1,leaf2"},
		"turn":   {lossy, strings.Replace(lossy, "mode: lossy", "lossless: true", 1), false, 3, []string{"TOP-02", "TOP-03"}, " to "},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(fs []checks.Finding, fix string) (out []string) {
				for _, f := range fs {
					if slices.Contains([]string{"TOP-01", "TOP-02", "TOP-03", "TOP-05"}, f.ID) {
						out = append(out, fmt.Sprint(f.ID, " ", f.Severity, " ", f.Place(), " ", f.What))
						if !strings.HasPrefix(f.Fix, fix) {
							t.Errorf("%s: the fix is %q", f.ID, f.Fix)
						}
					}
				}
				return out
			}
			running := func(pausing bool) []checks.Finding {
				comp := compile(t, c.intent)
				run := NewRun(comp.Fabric())
				for _, sw := range comp.Fabric().Switches {
					d := comp.Device(sw)
					have := decoded(t, saved(d))
					for port, q := range have.Ports {
						host := strings.HasPrefix(sw.Name, "leaf") && sw.Name != "leaf3" && port == "Ethernet0"
						if pausing && (!c.hosts || host) {
							q.PFC = qos.Of(q.PFC.Or(0) | qos.Priorities(c.priority))
						}
					}
					run.Add(Switch(d, have, checks.Running, nil))
				}
				if err := run.Deadlocks(context.Background()); err != nil {
					t.Fatal(err)
				}
				return run.Findings(today)
			}
			if got := of(running(false), ""); got != nil {
				t.Errorf("as the intent says: %q", got)
			}
			asIntent, err := Intent(context.Background(), compile(t, c.paused), today, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, got := of(asIntent, ""), of(running(true), checks.ApplyIntent+c.to)
			if !slices.Equal(got, want) {
				t.Errorf("running:\n%q\nthe intent:\n%q", got, want)
			}
			for _, id := range c.ids {
				if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, id) }) {
					t.Errorf("%s is not among %q", id, got)
				}
			}
		})
	}
}

// TestDeadlocksOnlyOfSwitchesRead checks that a cycle of the intent is not reported if none of its
// switches was read.
func TestDeadlocksOnlyOfSwitchesRead(t *testing.T) {
	comp := compile(t, strings.Replace(dualToR, "as: bounce", "as: rdma", 1))
	for name, want := range map[string]bool{"leaf1": true, "leaf3": false} {
		run := NewRun(comp.Fabric())
		d := comp.Device(comp.Fabric().Switch(name))
		run.Add(Switch(d, decoded(t, saved(d)), checks.Running, nil))
		if err := run.Deadlocks(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(idsOf(run.Findings(today)), "TOP-01"); got != want {
			t.Errorf("only %s was read: TOP-01 %v", name, got)
		}
	}
}
