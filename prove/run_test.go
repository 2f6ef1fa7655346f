package prove

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/perftest"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// fake answers for all hosts: each client reaches what reached says.
type fake struct {
	reached func(host string, l local.Load) local.Loaded
	down    string // a host that cannot be reached
}

func (f fake) Address(host string) (string, error) { return host, nil }

func (f fake) Load(_ context.Context, host string, loads []local.Load) (out []local.Loaded, err error) {
	if host == f.down {
		return nil, errors.New("no route to host")
	}
	for _, l := range loads {
		out = append(out, f.reached(host, l))
	}
	return out, nil
}

// good returns hosts whose clients reach 98 % of what they can; one of them reaches only a part.
func good(p *Plan, s Stage, round int, bad string, factor float64) fake {
	want := map[string]float64{}
	flows := []Flow{}
	for f := range p.Flows(s, round) {
		flows = append(flows, f)
	}
	for i, g := range p.net.shares(s, flows) {
		want[fmt.Sprint(flows[i].From.Host, flows[i].To.Host, flows[i].Options.TClass)] = g * 0.98
	}
	return fake{reached: func(host string, l local.Load) local.Loaded {
		r := perftest.Result{Size: l.Test.Size, Iterations: 1000, Typical: 2}
		if l.Test.Test == perftest.WriteBW {
			r = perftest.Result{Size: l.Test.Size, Iterations: 1000, Gbps: want[fmt.Sprint(host, l.Test.Server, l.Test.TClass)]}
		}
		if host == bad {
			r.Gbps *= factor
			r.Typical /= factor
		}
		return local.Loaded{Result: r}
	}}
}

// Hosts that cannot run the rounds are named once for each reason, whatever their addresses are.
func TestReady(t *testing.T) {
	on := unready{}
	names := []string{"gpu1", "gpu2", "gpu3", "gpu4"}
	err := ready(t.Context(), on, names, 4)
	if want := "3 of 4 hosts cannot run the rounds: gpu1,gpu2: connect: no user name for; gpu4: host gpu4 has no address"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := ready(t.Context(), on, names[2:3], 1); err != nil {
		t.Error(err)
	}
}

// unready are hosts of which only gpu3 can run the rounds.
type unready struct{}

func (unready) Address(host string) (string, error) {
	if host == "gpu4" {
		return "", errors.New("host gpu4 has no address")
	}
	return "192.0.2.10" + host[3:], nil
}

func (u unready) Load(_ context.Context, host string, loads []local.Load) ([]local.Loaded, error) {
	address, err := u.Address(host)
	if host == "gpu3" || err != nil || len(loads) > 0 {
		return nil, err
	}
	return nil, fmt.Errorf("connect %s:22: no user name for %s:22", address, address)
}

// certify runs one round of each stage against hosts of which one is bad.
func certify(t *testing.T, p *Plan, bad string, factor float64, down string, findings ...checks.Finding) *Certificate {
	t.Helper()
	c := newCertificate(&Saved{Plan: p}, RunOptions{})
	for _, s := range p.Stages {
		on := good(p, s, 0, bad, factor)
		on.down = down
		one := *p
		s.Rounds = 1
		one.Stages = []Stage{s}
		if err := one.run(t.Context(), on, RunOptions{Run: "run-1"}, c); err != nil {
			t.Fatal(err)
		}
	}
	c.judge(p.net, findings)
	return c
}

func TestVerdict(t *testing.T) {
	p := planOf(t, fabric(t, []int{4, 4}, 1, false, ""), time.Hour)
	if c := certify(t, p, "", 1, ""); c.Verdict != Passed || len(c.Why) > 0 {
		t.Errorf("a good fabric %s: %q", c.Verdict, c.Why)
	}
	slot := checks.Finding{ID: "NIC-15", Severity: checks.Warning, Device: "gpu2", Ports: []string{"rail0"}, What: "4 of 16 lanes"}
	unit := checks.Finding{ID: "NIC-05", Severity: checks.Warning, Device: "gpu2", What: "no boot unit"}
	other := checks.Finding{ID: "NIC-15", Severity: checks.Warning, Device: "gpu9", Ports: []string{"rail0"}, What: "8 of 16 lanes"}
	for _, tt := range []struct {
		findings []checks.Finding
		want     string
	}{
		{nil, "not explained"}, {[]checks.Finding{unit, other}, "not explained"}, {[]checks.Finding{unit, other, slot}, "NIC-15 gpu2"},
		{[]checks.Finding{{ID: "PRT-04", Severity: checks.Warning, Device: "leaf1", Ports: []string{"Ethernet2"}, What: "200G"}}, "PRT-04 leaf1"},
	} {
		c := certify(t, p, "gpu2", 0.5, "", tt.findings...)
		if c.Verdict != Failed {
			t.Errorf("a slow NIC: %s", c.Verdict)
		}
		slow := 0
		for _, r := range c.Results {
			for _, m := range r.Measures {
				if !m.Slow {
					continue
				}
				slow++
				if !strings.HasPrefix(m.From, "gpu2/") && r.Stage.Test != "latency" {
					t.Errorf("%s > %s is slow in %s", m.From, m.To, r.Stage.Name())
				}
				if strings.HasPrefix(m.From, "gpu2/") && !strings.HasPrefix(m.Cause, tt.want) {
					t.Errorf("%s > %s: cause %q, want %q", m.From, m.To, m.Cause, tt.want)
				}
			}
		}
		if slow < len(p.Stages)-4 {
			t.Errorf("%d slow flows in %d stages", slow, len(p.Stages))
		}
	}
}

// What was not measured, or could not be checked, is never passed.
func TestInconclusive(t *testing.T) {
	p := planOf(t, fabric(t, []int{4, 4}, 1, false, ""), time.Hour)
	c := certify(t, p, "", 1, "gpu3")
	missing := 0
	for _, r := range c.Results {
		missing += r.Missing
		for _, m := range r.Measures {
			if m.Error != "" && m.Error != "no route to host" {
				t.Errorf("%s > %s: %s", m.From, m.To, m.Error)
			}
		}
	}
	if c.Verdict != Inconclusive || missing == 0 {
		t.Errorf("a host that is down: %s, %d flows missing", c.Verdict, missing)
	}
	if c := certify(t, p, "", 1, "", checks.Finding{ID: "x", Severity: checks.Warning, Unchecked: "losses"}); c.Verdict != Inconclusive {
		t.Errorf("losses not checked: %s", c.Verdict)
	}
	if c := certify(t, p, "", 1, "", checks.Finding{ID: "gate:lossless-drop", Severity: checks.Error, Device: "leaf1"}); c.Verdict != Failed {
		t.Errorf("a loss: %s", c.Verdict)
	}
	if c := certify(t, p, "", 1, "", checks.Finding{ID: "gate:lossless-drop", Severity: checks.Error, Device: "leaf1", Suppressed: &checks.Suppressed{}}); c.Verdict != Passed {
		t.Errorf("an accepted finding: %s", c.Verdict)
	}
}

// An incast divides the link of its receiver, classes divide it by weight, and uplinks limit what
// crosses them.
func TestShares(t *testing.T) {
	p := planOf(t, fabric(t, []int{4, 4}, 1, false, ""), time.Hour)
	for _, s := range p.Stages {
		if s.Test == "latency" {
			continue
		}
		var flows []Flow
		for f := range p.Flows(s, 0) {
			flows = append(flows, f)
		}
		for i, got := range p.net.shares(s, flows) {
			want := map[Pattern]float64{Within: 400, Across: 100, Incast: 400 / float64(max(s.K, 1)), Outcast: 400 / float64(max(s.K, 1))}[s.Pattern]
			if s.Background {
				want *= float64(flows[i].Class.Bandwidth.V) / 100
			}
			if s.Pattern != AllToAll && flows[i].From.Leaf == flows[i].To.Leaf && math.Abs(got-want) > 1e-9 || s.Pattern == Across && math.Abs(got-want) > 1e-9 {
				t.Errorf("%s, %s: %.1f Gb/s, want %.1f", s.Name(), flows[i].Class.Name, got, want)
			}
		}
	}
}

func TestCeiling(t *testing.T) {
	for _, tt := range []struct {
		got  []float64
		want float64
	}{
		{[]float64{2, 2, 2, 2}, 2.2}, {[]float64{1, 2, 3, 4, 5}, 3 + 3*1}, {nil, 0},
	} {
		if got := ceilingOf(tt.got); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v: %.3f, want %.3f", tt.got, got, tt.want)
		}
	}
}

// Rounds are not begun beside other traffic, nor where a switch or all counters are unknown.
func TestOthers(t *testing.T) {
	f := fabric(t, []int{2, 2}, 1, false, "")
	port := gate.PortWindow{Device: "leaf1", Port: "Ethernet1", Span: time.Second, Growth: drivers.PortCounters{{Metric: drivers.QueueBytes}: 1000}}
	unread := checks.Finding{ID: fleet.Unread, Severity: checks.Error, Device: "leaf2"}
	host := checks.Finding{ID: fleet.Unread, Severity: checks.Info, Device: "gpu1"}
	busy := port
	busy.Growth = drivers.PortCounters{{Metric: drivers.QueueBytes}: 10_000_000_000}
	for want, x := range map[string]struct {
		ports []gate.PortWindow
		found []checks.Finding
	}{
		"":                                       {[]gate.PortWindow{port}, []checks.Finding{host}},
		"others use the fabric: leaf1/Ethernet1": {[]gate.PortWindow{busy}, []checks.Finding{unread}},
		"nobody knows whether others use the fabric: cannot read leaf2": {[]gate.PortWindow{port}, []checks.Finding{unread}},
		"no counter shows whether others use the fabric":                {nil, nil},
	} {
		if got, hint := Others(f, x.ports, x.found); got != want || (hint == "") != (want == "") {
			t.Errorf("%q with the hint %q, want %q", got, hint, want)
		}
	}
}
