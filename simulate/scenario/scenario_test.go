package scenario

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
)

// compiled loads an example of the repository, with changes.
func compiled(t *testing.T, example string, edit func(string) string, set ...string) *render.Compiler {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples", example, "fabric.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		text = []byte(edit(string(text)))
	}
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(string(text)), Set: set})
	if err != nil {
		t.Fatal(err)
	}
	c, err := render.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func predict(t *testing.T, c *render.Compiler, o Options) *Prediction {
	t.Helper()
	if o.For == 0 {
		o.For = 300 * time.Microsecond
	}
	if o.Seeds == 0 {
		o.Seeds = 1
	}
	if o.Traffic == nil {
		o.Traffic = []Pattern{{Kind: "incast", To: 1}}
	}
	p, err := Predict(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The worst incast of a small fabric marks at its receiver's port and delivers nearly all of what
// the link carries, in the class that carries RDMA.
func TestPredictsAnIncast(t *testing.T) {
	p := predict(t, compiled(t, "quickstart", nil), Options{Seeds: 3, For: 2 * time.Millisecond})
	if len(p.Runs) != 1 || p.Runs[0].Class != "rdma" || p.Runs[0].Traffic != "incast:3:1" || len(p.Runs[0].Seeds) != 3 {
		t.Fatalf("runs %+v", p.Runs)
	}
	r := p.Runs[0]
	if r.Mark == nil || r.Mark.Port != "leaf1/Ethernet0" || r.Loss != nil || r.Seeds[0].Marks == 0 || r.Seeds[0].Goodput < 150 || r.Seeds[0].Goodput > 400 {
		t.Errorf("first mark %+v, loss %+v, %+v", r.Mark, r.Loss, r.Seeds[0])
	}
	if r.Seeds[0] == r.Seeds[1] || len(r.Queues.Ports) == 0 || len(r.Queues.Queues[0]) != samples {
		t.Errorf("seeds %+v, queues of %v", r.Seeds, r.Queues.Ports)
	}
	if again := predict(t, compiled(t, "quickstart", nil), Options{Seeds: 3, For: 2 * time.Millisecond}); again.Runs[0].Seeds[2] != r.Seeds[2] {
		t.Errorf("again %+v, then %+v", r.Seeds[2], again.Runs[0].Seeds[2])
	}
}

// Without marking the same incast is held by pauses alone, and nothing is lost.
func TestPausesWithoutMarking(t *testing.T) {
	c := compiled(t, "quickstart", nil, "classes.rdma.ecn=off")
	r := predict(t, c, Options{For: time.Millisecond}).Runs[0]
	if r.Mark != nil || r.Pause == nil || r.Seeds[0].Lost > 0 || r.Seeds[0].Headroom <= 0 || r.Seeds[0].Headroom > 1 {
		t.Errorf("mark %+v, pause %+v, %+v", r.Mark, r.Pause, r.Seeds[0])
	}
	if r.Seeds[0].Goodput < 380 { // of 400 Gb/s, less headers
		t.Errorf("goodput %v Gb/s", r.Seeds[0].Goodput)
	}
}

// A lossy class loses packets and sends them again.
func TestLossyClassLoses(t *testing.T) {
	c := compiled(t, "quickstart", nil, "classes.rdma.ecn=off")
	r := predict(t, c, Options{Class: "default", For: time.Millisecond}).Runs[0]
	if r.Pause != nil || r.Loss == nil || r.Seeds[0].Lost == 0 {
		t.Errorf("pause %+v, loss %+v", r.Pause, r.Loss)
	}
}

// Collectives finish, over the rails of hosts with several NICs, and every pattern makes its flows.
func TestPatterns(t *testing.T) {
	c := compiled(t, "quickstart", nil)
	for text, want := range map[string]struct{ flows, finished int }{
		"incast:2:1": {2, 0}, "incast:2:2": {4, 0}, "pairs": {2, 0}, "ring": {4, 0}, "alltoall": {12, 0}, "alltoall:40KB": {12, 12}, "allreduce:1MB": {4, 4},
	} {
		p, err := ParsePattern(text)
		if err != nil || p.String() != text {
			t.Errorf("%s is read as %s: %v", text, p, err)
		}
		r := predict(t, c, Options{Traffic: []Pattern{p}}).Runs[0]
		if r.Flows != want.flows || r.Seeds[0].Finished != want.finished || r.Seeds[0].Lost > 0 {
			t.Errorf("%s: %d flows, %+v; want %+v", text, r.Flows, r.Seeds[0], want)
		}
	}
	f, err := build(compiled(t, "rail-512", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.load(Pattern{Kind: "ring"}, 1, 1); err != nil || len(f.Flows) != 512 || len(f.rails()) != 8 {
		t.Errorf("%d flows in %d rails: %v", len(f.Flows), len(f.rails()), err)
	}
	for _, bad := range []string{"", "incest", "incast:0:1", "incast:x", "incast:1:2:3", "ring:4", "allreduce", "alltoall:0B", "pairs:1"} {
		if p, err := ParsePattern(bad); err == nil {
			t.Errorf("%q is read as %s", bad, p)
		}
	}
}

// A slow host pauses its switch, a storm stops its flow, a broken link loses packets.
func TestDisturbances(t *testing.T) {
	c := compiled(t, "quickstart", nil)
	pairs := []Pattern{{Kind: "pairs"}}
	const span = 2 * time.Millisecond
	calm := predict(t, c, Options{For: span, Traffic: pairs}).Runs[0].Seeds[0]
	slow := predict(t, c, Options{For: span, Traffic: pairs, Slow: map[string]float64{"gpu3": 0.1}})
	if s := slow.Runs[0].Seeds[0]; calm.Pauses != 0 || s.Pauses == 0 || s.Goodput > 0.7*calm.Goodput {
		t.Errorf("slow host: %+v, without it %+v", s, calm)
	}
	if !strings.Contains(slow.Assumed[len(slow.Assumed)-1].What+slow.Assumed[0].What, "receive buffer") {
		t.Errorf("assumed %+v", slow.Assumed)
	}
	storm := predict(t, c, Options{For: span, Traffic: pairs, Storm: []string{"gpu3"}}).Runs[0]
	if storm.Slowest[0].Goodput > 1 || storm.Deadlock != nil {
		t.Errorf("storm: %+v, deadlock %v", storm.Slowest, storm.Deadlock)
	}
	broken := predict(t, c, Options{For: span, Traffic: pairs, Fail: []Failure{{"leaf1/Ethernet0", 100 * time.Microsecond}}}).Runs[0]
	if broken.Slowest[0].Goodput > 0.2*calm.Goodput/2 {
		t.Errorf("broken link: %+v, without it %+v", broken.Slowest, calm)
	}
	for _, o := range []Options{
		{Slow: map[string]float64{"gpu9": 0.1}}, {Storm: []string{"gpu9"}}, {Fail: []Failure{{Port: "leaf1/Ethernet4"}}}, {Class: "gold"},
	} {
		o.For, o.Seeds, o.Traffic = time.Microsecond, 1, pairs
		var unknown *UnknownError
		if _, err := Predict(context.Background(), c, o); !errors.As(err, &unknown) || len(unknown.Known) == 0 {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// Memory that nobody knows is assumed, and said; a model of the catalogue needs no such assumption.
func TestAssumptionsAreSaid(t *testing.T) {
	has := func(p *Prediction, what, device string) bool {
		for _, a := range p.Assumed {
			for _, d := range a.Devices {
				if strings.Contains(a.What, what) && d == device {
					return true
				}
			}
		}
		return false
	}
	p := predict(t, compiled(t, "mixed", nil), Options{For: 10 * time.Microsecond})
	if !has(p, "shared memory", "spine1") || has(p, "shared memory", "leaf1") || len(p.NotModelled) == 0 {
		t.Errorf("assumed %+v", p.Assumed)
	}
	if l := p.Guessed(); !slices.Contains(l, "spine1") || slices.Contains(l, "leaf1") {
		t.Errorf("guessed memory of %q", l)
	}
}

// An expectation that holds or fails because of a memory that nobody knows is neither met nor not
// met; one that fails at a switch whose memory is known is not met.
func TestExpectationsWithAssumedMemory(t *testing.T) {
	for _, c := range []struct{ expect, traffic, set, met string }{
		{"noPause: always", "incast:2:1", "classes.rdma.ecn=auto", "unknown"},
		{"noPause: always", "incast", "classes.rdma.ecn=off", "no"},
		{"p99: 10ms", "allreduce:100KB", "classes.rdma.ecn=auto", "unknown"},
	} {
		f := compiled(t, "mixed", func(s string) string { return s + "\nsimulation: {" + c.expect + "}\n" }, c.set)
		pattern, err := ParsePattern(c.traffic)
		if err != nil {
			t.Fatal(err)
		}
		p := predict(t, f, Options{Traffic: []Pattern{pattern}, For: 300 * time.Microsecond})
		if len(p.Expectations) != 1 || p.Expectations[0].Met != c.met || c.met == "unknown" && !strings.Contains(p.Expectations[0].Why, "spine1") {
			t.Errorf("%+v: %+v", c, p.Expectations)
		}
	}
}

// Expectations of the intent are met, not met, or not shown by what was simulated.
func TestExpectations(t *testing.T) {
	for _, c := range []struct {
		simulation string
		set        []string
		traffic    string
		met        string
	}{
		{"noPause: incast:3:1", nil, "incast:3:1", "yes"},
		{"noPause: incast:3:1", []string{"classes.rdma.ecn=off"}, "incast:3:1", "no"},
		{"noPause: incast:3:1", []string{"classes.rdma.ecn=off"}, "pairs", "unknown"},
		{"noLoss: always", nil, "incast:3:1", "yes"},
		{"p99: 250us", nil, "allreduce:1MB", "yes"},
		{"p99: 5us", nil, "allreduce:1MB", "no"},
		{"p99: 100us", nil, "allreduce:1GB", "no"},
		{"p99: 1s", nil, "allreduce:1GB", "unknown"},
		{"p99: 1s", nil, "pairs", "unknown"},
	} {
		pattern, err := ParsePattern(c.traffic)
		if err != nil {
			t.Fatal(err)
		}
		f := compiled(t, "quickstart", func(s string) string { return s + "\nsimulation: {" + c.simulation + "}\n" }, c.set...)
		p := predict(t, f, Options{Traffic: []Pattern{pattern}, For: 400 * time.Microsecond})
		if len(p.Expectations) != 1 || p.Expectations[0].Met != c.met || p.Failed() != (c.met == "no") || p.Expectations[0].Place == "" {
			t.Errorf("%+v: %+v", c, p.Expectations)
		}
	}
	s := intent.Simulation{NoPause: intent.Value[string]{V: "incast:2:1"}, NoLoss: intent.Value[string]{V: intent.Always}}
	if l, err := Default(s); err != nil || len(l) != 2 || l[1].String() != "incast:2:1" {
		t.Errorf("simulated by default: %v, %v", l, err)
	}
}

// One run that contradicts an expectation decides, then one that does not show it, in any order.
func TestExpectationsOfSeveralRuns(t *testing.T) {
	ms := 1e3
	done := Run{Traffic: "allreduce:1MB", Class: "rdma", limited: true, Until: 2 * ms, Flows: 100, Seeds: []Seed{{Finished: 99, P99: 0.9 * ms}}}
	slow, short, late, stopped, other := done, done, done, done, done
	slow.Seeds = []Seed{{Finished: 100, P99: 1.1 * ms}}
	short.Until, short.Seeds = 0.5*ms, []Seed{{Finished: 98}}
	late.Seeds = []Seed{{Finished: 98}}
	stopped.Stopped = true
	other.limited, other.Seeds = false, []Seed{{}}
	for _, c := range []struct {
		runs []Run
		met  string
	}{
		{[]Run{done}, "yes"}, {[]Run{done, other}, "yes"}, {[]Run{other}, "unknown"}, {nil, "unknown"},
		{[]Run{done, short}, "unknown"}, {[]Run{short, done}, "unknown"}, {[]Run{short, slow}, "no"}, {[]Run{slow, short}, "no"},
		{[]Run{done, late}, "no"}, {[]Run{stopped, done}, "unknown"},
	} {
		p := Prediction{Runs: c.runs}
		p.judge(intent.Simulation{P99: intent.Value[time.Duration]{V: time.Millisecond}})
		if len(p.Expectations) != 1 || p.Expectations[0].Met != c.met || (c.met == "yes") != (p.Expectations[0].Why == "") {
			t.Errorf("%d runs, want %s: %+v", len(c.runs), c.met, p.Expectations)
		}
	}
	p := Prediction{Runs: []Run{done}, Stopped: true}
	p.judge(intent.Simulation{P99: intent.Value[time.Duration]{V: time.Millisecond}})
	if p.Expectations[0].Met != "unknown" {
		t.Errorf("interrupted: %+v", p.Expectations)
	}
}

// A pause or a loss contradicts an expectation at a switch whose memory is known, whatever was assumed
// of others.
func TestContradictionsAtAssumedMemory(t *testing.T) {
	for _, c := range []struct{ device, guessed, met string }{{"leaf1", "spine1", "no"}, {"spine1", "spine1", "unknown"}, {"spine1", "", "no"}} {
		p := Prediction{Runs: []Run{{Seeds: []Seed{{Pauses: 1, Lost: 1}}, Ports: []Port{{Port: c.device + " Ethernet0", Pauses: 1, Lost: 1}}}}}
		if c.guessed != "" {
			p.Assumed = []Assumption{{Decides: true, Devices: []string{c.guessed}}}
		}
		always := intent.Value[string]{V: intent.Always}
		p.judge(intent.Simulation{NoPause: always, NoLoss: always})
		if len(p.Expectations) != 2 || p.Expectations[0].Met != c.met || p.Expectations[1].Met != c.met {
			t.Errorf("%+v: %+v", c, p.Expectations)
		}
	}
}

// A simulation that is stopped says what it knows, and nothing that it does not.
func TestStopped(t *testing.T) {
	f := compiled(t, "quickstart", func(s string) string { return s + "\nsimulation: {noPause: always}\n" })
	ctx, stop := context.WithCancel(context.Background())
	p, err := Predict(ctx, f, Options{Traffic: []Pattern{{Kind: "incast", To: 1}, {Kind: "pairs"}}, For: 100 * time.Millisecond, Seeds: 1, Progress: func(float64) { stop() }})
	if err != nil || !p.Stopped || len(p.Runs) != 1 || p.Runs[0].Until <= 0 || p.Runs[0].Until >= 100_000 || p.Expectations[0].Met != "unknown" {
		t.Errorf("%v: %+v", err, p)
	}
}

// NICs send at the rate that the parameters of the intent allow.
func TestParametersOfTheNIC(t *testing.T) {
	c := compiled(t, "quickstart", func(s string) string {
		return strings.Replace(s, "rdma: mlx5_0", "rdma: mlx5_0, dcqcn: {rp_time_reset: 50, rp_ai_rate: 500, rp_min_dec_fac: 50}", 1)
	})
	p := predict(t, c, Options{For: 2 * time.Millisecond})
	usual := predict(t, compiled(t, "quickstart", nil), Options{For: 2 * time.Millisecond})
	if fast, slow := p.Runs[0].Seeds[0].Goodput, usual.Runs[0].Seeds[0].Goodput; fast < slow+20 {
		t.Errorf("goodput %.1f with faster increases, %.1f with the defaults", fast, slow)
	}
	if !strings.Contains(p.Assumed[0].What+p.Assumed[len(p.Assumed)-1].What, "rp_min_dec_fac") {
		t.Errorf("assumed %+v", p.Assumed)
	}
}
