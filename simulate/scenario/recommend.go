package scenario

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/simulate"
)

// Recommendations are ECN curves that a search by simulation found.
type Recommendations struct {
	Fabric  string   `json:"fabric"`
	For     string   `json:"for" doc:"Simulated time of each run. Rates and means are measured in its second half."`
	Seeds   int      `json:"seeds"`
	Running []string `json:"running,omitempty" doc:"Switches whose configuration was read; the others are as the intent says."`
	Stopped bool     `json:"stopped,omitempty" doc:"Set if the search was interrupted."`
	Found   []Advice `json:"found"`
	// Curves are those of the intent that follows, for each switch and speed of its ports.
	Curves      []Curve      `json:"curves"`
	Assumed     []Assumption `json:"assumed,omitempty"`
	NotModelled []string     `json:"not_modelled"`
}

// Advice is the result of a search for the switches of one model with hosts of one speed.
type Advice struct {
	Class    string   `json:"class"`
	Switches []string `json:"switches"`
	Model    string   `json:"model,omitempty"`
	Speed    string   `json:"speed"`
	Traffic  string   `json:"traffic"`
	To       string   `json:"to" doc:"The NIC that receives."`
	Now      Trial    `json:"now" doc:"With the curves of the intent."`
	Without  Trial    `json:"without_marking"`
	Trials   []Trial  `json:"trials" doc:"With curves of the same drain time on all switches, the earliest first."`
	// Best is the number of the trial that is recommended; -1 if all of them pause or lose packets.
	Best int `json:"best" doc:"Which of the trials is recommended, from 0; -1 if all pause or lose packets."`
	// Kept is the part of the goodput without marking that the recommended trial keeps.
	Kept float64 `json:"kept,omitempty" doc:"Part of the goodput without marking that the recommended trial keeps."`
	// FanIn is set if Best is -1.
	FanIn int `json:"fan_in,omitempty" doc:"If all trials pause or lose packets: how many senders the earliest curve holds without; found by halving."`
}

// Trial is what was simulated with one curve, over all seeds.
type Trial struct {
	Min         int64   `json:"min_bytes" doc:"At the port to the receiver; 0 and 0 for no marking."`
	Max         int64   `json:"max_bytes"`
	Probability float64 `json:"probability" doc:"At max, 0 to 1."`
	Pauses      int64   `json:"pauses" doc:"Of all ports and seeds."`
	Pause       float64 `json:"first_pause_us,omitempty" doc:"The earliest of all seeds."`
	Lost        int64   `json:"lost"`
	Mean        float64 `json:"mean_queue_bytes" doc:"Of the port to the receiver."`
	Goodput     float64 `json:"goodput_gbps" doc:"The lowest of all seeds."`
}

// Clean reports whether nothing paused and nothing was lost.
func (t Trial) Clean() bool { return t.Pauses == 0 && t.Lost == 0 }

// Curve is what a search recommends for ports of one speed.
type Curve struct {
	Class       string   `json:"class"`
	Switches    []string `json:"switches"`
	Ports       []string `json:"ports,omitempty" doc:"Empty for all ports of the class."`
	Min         int64    `json:"min_bytes"`
	Max         int64    `json:"max_bytes"`
	Probability float64  `json:"probability"`
}

// enough is the part of the goodput without marking that a curve has to keep, if any does.
const enough = 0.99

// The drain times of a queue at min that are tried, in microseconds: from the shortest that ecn: auto
// allows to a multiple of all published values.
var drainTimes = func() (out []float64) {
	for t := 2.0; t < 100; t *= math.Sqrt2 {
		out = append(out, t)
	}
	return out
}()

// curve returns the curve with a drain time at min, with two significant digits.
func (s *search) curve(drain float64, rate int64) simulate.ECN {
	round := func(bytes float64) int64 {
		unit := math.Pow(10, max(3, math.Floor(math.Log10(max(bytes, 1)))-1))
		return int64(max(1, math.Round(bytes/unit)) * unit)
	}
	bytes := drain * 1e-6 * float64(rate) / 8
	return simulate.ECN{Min: round(bytes), Max: max(round(bytes*s.ratio), round(bytes)+1000), Probability: s.probability}
}

// search looks for curves of one class.
type search struct {
	*fabric
	ctx                context.Context
	opt                Options
	class              int
	ratio, probability float64 // max through min, and the probability at max
	original           []simulate.ECN
	done, parts        int
	progress           func(part float64) // of this class
}

// group is the switches of one model whose hosts have one speed.
type group struct {
	model    string
	rate     int64
	switches []int
	hosts    []int // on the first of the switches with the most
	fan      int
}

// Recommend searches, for each model of switch and speed of its hosts, the ECN curve with the shortest
// queue that neither pauses nor loses packets while so many NICs send to one as the intent or the
// traffic states, and that keeps nearly all of the goodput. All switches get curves of the same drain
// time, with the ratio of max to min and the probability of the intent.
func Recommend(ctx context.Context, c *render.Compiler, o Options) (*Recommendations, error) {
	if err := oneIncast(o.Traffic); err != nil {
		return nil, err
	}
	f, classes, err := prepare(c, o)
	if err != nil {
		return nil, err
	}
	out := &Recommendations{Fabric: f.intent.Name, Running: natural.Keys(o.Running), For: Span(micros(simulate.TimeOf(o.For))), Seeds: o.Seeds, Found: []Advice{}, Curves: []Curve{}, NotModelled: NotModelled}
	for i, class := range classes {
		s := &search{fabric: f, ctx: ctx, opt: o, class: class, progress: func(part float64) {
			if o.Progress != nil {
				o.Progress((float64(i) + min(part, 1)) / float64(len(classes)))
			}
		}}
		s.start()
		groups := s.groups(c)
		s.parts = len(groups) * (len(drainTimes) + 2)
		found, err := s.all(groups)
		if err != nil {
			return nil, err
		}
		out.Found = append(out.Found, found...)
		if out.Stopped = ctx.Err() != nil; out.Stopped {
			break
		}
		out.Curves = append(out.Curves, s.curves(groups, found)...)
	}
	out.Assumed = f.assumptions()
	return out, nil
}

// oneIncast returns an error if the traffic is not an incast to one NIC, or nothing.
func oneIncast(traffic []Pattern) error {
	switch {
	case len(traffic) > 1:
		return fmt.Errorf("%d traffic patterns: a search takes one", len(traffic))
	case len(traffic) == 1 && (traffic[0].Kind != "incast" || traffic[0].To != 1):
		return fmt.Errorf("%s: a search takes an incast to one NIC, such as incast:8:1", traffic[0])
	}
	return nil
}

// all searches for each group, until the context ends.
func (s *search) all(groups []group) (out []Advice, err error) {
	for _, g := range groups {
		a, err := s.advise(g)
		if err != nil || s.ctx.Err() != nil {
			return out, err
		}
		out = append(out, a)
	}
	return out, nil
}

// start notes the curves of the intent, and takes the form of the searched ones from the class.
func (s *search) start() {
	s.ratio, s.probability = 10, 0.1 // as ecn: auto has them
	stated := false
	for i := range s.Ports {
		e := s.Ports[i].Classes[s.class].ECN
		s.original = append(s.original, e)
		if !stated && e.Min > 0 {
			stated = true
			s.ratio, s.probability = float64(e.Max)/float64(e.Min), e.Probability
		}
	}
}

// groups returns the groups of switches with hosts, in the order of their first switch.
func (s *search) groups(c *render.Compiler) (out []group) {
	at := map[string]int{}
	for _, sw := range s.intent.Switches {
		n, ok := s.nodes[sw.Name]
		if !ok {
			continue
		}
		model := sw.OS
		if m := c.Device(sw).Model; m != nil {
			model = m.Name
		}
		here := s.groupsOf(sw, n)
		for _, rate := range sortedInts(here) {
			key := fmt.Sprint(model, rate)
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, group{model: model, rate: rate})
			}
			g, x := &out[i], here[rate]
			g.switches, g.fan = append(g.switches, n), max(g.fan, x.fan)
			if len(x.hosts) > len(g.hosts) {
				g.hosts = x.hosts
			}
		}
	}
	return out
}

// groupsOf returns the hosts of one switch and their fan-in, by the speed of their ports.
func (s *search) groupsOf(sw *intent.Switch, n int) map[int64]group {
	class := s.intent.Settings.Class(s.Classes[s.class])
	out := map[int64]group{}
	for _, p := range s.out[n] {
		peer := s.Ports[s.Ports[p].Peer].Node
		if !s.Nodes[peer].Host {
			continue
		}
		g := out[s.Ports[p].Rate]
		g.hosts, g.fan = append(g.hosts, peer), max(g.fan, render.FanOf(sw.Port(s.portName(p)), class).In.V)
		out[s.Ports[p].Rate] = g
	}
	return out
}

// portName returns the name of a port on its switch.
func (s *search) portName(p int) string {
	_, name, _ := strings.Cut(s.Ports[p].Name, "/")
	return name
}

func sortedInts[V any](m map[int64]V) []int64 { return slices.Sorted(maps.Keys(m)) }

// advise searches for one group. The receiver is its first host; the senders are those after it.
func (s *search) advise(g group) (Advice, error) {
	to := g.hosts[0]
	first := slices.Index(s.hosts, to)
	rotated := slices.Concat(s.hosts[first:], s.hosts[:first])
	before := s.hosts
	s.hosts = rotated
	defer func() { s.hosts = before }()

	p := Pattern{Kind: "incast", From: min(max(g.fan, 1), len(s.hosts)-1), To: 1}
	if len(s.opt.Traffic) > 0 {
		p = s.opt.Traffic[0]
	}
	if p.From == 0 {
		p.From = len(s.hosts) - 1
	}
	a := Advice{Class: s.Classes[s.class], Model: g.model, Speed: units.Rate(g.rate).String(), Traffic: p.String(), To: s.Nodes[to].Name, Best: -1}
	for _, n := range g.switches {
		a.Switches = append(a.Switches, s.Nodes[n].Name)
	}
	queue := s.Ports[s.out[to][0]].Peer // the port to the receiver
	var err error
	if a.Now, err = s.try(p, queue, func(i int) simulate.ECN { return s.original[i] }); err != nil {
		return a, err
	}
	if a.Without, err = s.try(p, queue, func(int) simulate.ECN { return simulate.ECN{} }); err != nil {
		return a, err
	}
	for _, drain := range drainTimes {
		t, err := s.try(p, queue, s.drain(drain))
		if err != nil {
			return a, err
		}
		a.Trials = append(a.Trials, t)
	}
	a.choose()
	if a.Best < 0 {
		a.FanIn, err = s.fanIn(p, queue)
	}
	return a, err
}

// choose takes the clean trial with the earliest curve that keeps enough of the goodput without
// marking or, if none does, of the most that a clean trial has.
func (a *Advice) choose() {
	most := 0.0
	for _, t := range a.Trials {
		if t.Clean() {
			most = max(most, t.Goodput)
		}
	}
	a.Best = slices.IndexFunc(a.Trials, func(t Trial) bool {
		return t.Clean() && t.Goodput >= enough*min(most, a.Without.Goodput)
	})
	if a.Best >= 0 && a.Without.Goodput > 0 {
		a.Kept = a.Trials[a.Best].Goodput / a.Without.Goodput
	}
}

// drain gives each port of a switch the curve with a drain time.
func (s *search) drain(t float64) func(int) simulate.ECN {
	return func(i int) simulate.ECN { return s.curve(t, s.Ports[i].Rate) }
}

// try simulates with the curve of each port of a switch.
func (s *search) try(p Pattern, queue int, curve func(port int) simulate.ECN) (Trial, error) {
	for i := range s.Ports {
		if !s.Nodes[s.Ports[i].Node].Host {
			s.Ports[i].Classes[s.class].ECN = curve(i)
		}
	}
	e := s.Ports[queue].Classes[s.class].ECN
	results, err := s.measure(s.ctx, p, s.class, s.opt, simulate.TimeOf(s.opt.For)/2, func(part float64) {
		s.progress((float64(s.done) + part) / float64(max(s.parts, 1)))
	})
	for i := range s.Ports {
		s.Ports[i].Classes[s.class].ECN = s.original[i]
	}
	s.done++
	t := Trial{Min: e.Min, Max: e.Max, Probability: e.Probability, Goodput: math.Inf(1)}
	for _, r := range results {
		t.add(r, queue, s.class)
	}
	return t, err
}

// add counts what one run did.
func (t *Trial) add(r *simulate.Result, queue, class int) {
	goodput := 0.0
	for _, l := range r.Flows {
		goodput += l.Rate / 1e9
	}
	t.Goodput = min(t.Goodput, goodput)
	t.Mean = max(t.Mean, r.Ports[queue][class].Mean)
	for _, port := range r.Ports {
		t.Pauses += port[class].PausedTimes
		t.Lost += port[class].Lost
	}
	if m := r.ByClass[class].Pause; m.At >= 0 && (t.Pause == 0 || micros(m.At) < t.Pause) {
		t.Pause = micros(m.At)
	}
}

// fanIn returns how many senders the earliest curve holds without a pause or a loss, fewer than those
// of the pattern; 0 if not even one.
func (s *search) fanIn(p Pattern, queue int) (int, error) {
	holds, fails := 0, p.From
	for fails-holds > 1 && s.ctx.Err() == nil {
		p.From = (holds + fails) / 2
		t, err := s.try(p, queue, s.drain(drainTimes[0]))
		if err != nil {
			return 0, err
		}
		if t.Clean() {
			holds = p.From
		} else {
			fails = p.From
		}
	}
	return holds, nil
}

// curves returns what each switch gets: the shortest drain time of its groups, or of all groups if
// it has no hosts. It returns nothing if a group has no curve.
func (s *search) curves(groups []group, found []Advice) (out []Curve) {
	times, shortest := map[int]float64{}, math.Inf(1)
	for i, a := range found {
		if a.Best < 0 {
			return nil
		}
		t := drainTimes[a.Best]
		shortest = min(shortest, t)
		for _, n := range groups[i].switches {
			if before, ok := times[n]; !ok || t < before {
				times[n] = t
			}
		}
	}
	at := map[string]int{}
	for _, sw := range s.intent.Switches {
		n, ok := s.nodes[sw.Name]
		if !ok {
			continue
		}
		t, ok := times[n]
		if !ok {
			t = shortest
		}
		for _, c := range s.curvesOf(n, t) {
			key := fmt.Sprint(c)
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, c)
			}
			out[i].Switches = append(out[i].Switches, sw.Name)
		}
	}
	return out
}

// curvesOf returns the curves of one switch for a drain time: one for all ports if they have one
// speed, else one for the ports of each speed.
func (s *search) curvesOf(n int, t float64) (out []Curve) {
	ports := map[int64][]string{}
	for _, p := range s.out[n] {
		ports[s.Ports[p].Rate] = append(ports[s.Ports[p].Rate], s.portName(p))
	}
	for _, rate := range sortedInts(ports) {
		e := s.curve(t, rate)
		c := Curve{Class: s.Classes[s.class], Min: e.Min, Max: e.Max, Probability: e.Probability}
		if len(ports) > 1 {
			c.Ports = natural.Sorted(ports[rate])
		}
		out = append(out, c)
	}
	return out
}
