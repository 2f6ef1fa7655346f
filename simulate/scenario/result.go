package scenario

import (
	"cmp"
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/simulate"
)

// Prediction is what was simulated, and what it says.
type Prediction struct {
	Fabric  string   `json:"fabric"`
	For     string   `json:"for" doc:"Simulated time."`
	Seeds   int      `json:"seeds"`
	Running []string `json:"running,omitempty" doc:"Switches whose configuration was read; the others are as the intent says."`
	Stopped bool     `json:"stopped,omitempty" doc:"Set if the simulation was interrupted; the results cover the time until then."`
	Runs    []Run    `json:"runs"`
	// Expectations are those of the intent, judged.
	Expectations []Expectation `json:"expectations,omitempty"`
	Assumed      []Assumption  `json:"assumed,omitempty"`
	NotModelled  []string      `json:"not_modelled"`
}

// Guessed returns the switches whose memory or headroom was assumed, in natural order.
func (p *Prediction) Guessed() []string { return guessed(p.Assumed) }

// Guessed returns the switches whose memory or headroom was assumed, in natural order.
func (r *Recommendations) Guessed() []string { return guessed(r.Assumed) }

func guessed(assumed []Assumption) (out []string) {
	for _, a := range assumed {
		if a.Decides {
			out = append(out, a.Devices...)
		}
	}
	return slices.Compact(natural.Sorted(out))
}

// Run is one pattern in one class. Tables and moments are those of the first seed, in microseconds
// and bytes; Seeds has the figures of each.
type Run struct {
	Traffic string  `json:"traffic"`
	Class   string  `json:"class"`
	Flows   int     `json:"flows"`
	Until   float64 `json:"until_us" doc:"Simulated time of the first seed."`
	Stopped bool    `json:"stopped,omitempty"`
	Seeds   []Seed  `json:"seeds"`
	// First events; nil for none.
	Mark     *Moment   `json:"first_mark,omitempty"`
	Pause    *Moment   `json:"first_pause,omitempty"`
	Loss     *Moment   `json:"first_loss,omitempty"`
	Deadlock *Deadlock `json:"deadlock,omitempty"`
	Ports    []Port    `json:"ports" doc:"Ports that paused, marked, lost or queued most."`
	Slowest  []Flow    `json:"slowest_flows"`
	Queues   Series    `json:"queues"`

	asked   string // the pattern as it was asked for
	limited bool   // the flows have sizes
}

// Seed holds the figures of one seed.
type Seed struct {
	Seed     int     `json:"seed"`
	Marks    int64   `json:"marks"`
	Pauses   int64   `json:"pauses"`
	Paused   float64 `json:"paused_us" doc:"Time that all ports together were paused."`
	Lost     int64   `json:"lost"`
	Headroom float64 `json:"headroom" doc:"Largest used part of the headroom of a group, 0 to 1."`
	At       string  `json:"headroom_at,omitempty"`
	Goodput  float64 `json:"goodput_gbps" doc:"Of all flows together."`
	Fairness float64 `json:"fairness" doc:"Jain's index over the goodput of the flows."`
	Finished int     `json:"finished_flows"`
	P50      float64 `json:"p50_us,omitempty" doc:"Completion time of the flows that finished."`
	P99      float64 `json:"p99_us,omitempty"`
	Hops     uint64  `json:"packet_hops"`
	Stuck    bool    `json:"deadlock,omitempty"`
}

// Moment is when and where something happened first.
type Moment struct {
	At   float64 `json:"at_us"`
	Port string  `json:"port"`
}

// Deadlock is a cycle of pauses.
type Deadlock struct {
	Since float64  `json:"since_us"`
	Ports []string `json:"ports"`
}

// Port is what one port of a switch or NIC did with the class.
type Port struct {
	Port   string  `json:"port"`
	Peer   string  `json:"peer"`
	Sent   int64   `json:"sent_bytes"`
	Queue  int64   `json:"longest_queue_bytes"`
	Mean   float64 `json:"mean_queue_bytes"`
	Marks  int64   `json:"marks"`
	Lost   int64   `json:"lost"`
	Paused float64 `json:"paused_us" doc:"Time that the peer paused this port."`
	Times  int64   `json:"paused_times"`
	Pauses int64   `json:"pauses_sent" doc:"Pauses of the peer that this port began."`
	Used   int64   `json:"headroom_used_bytes"`
	Of     int64   `json:"headroom_bytes"`
	Group  int64   `json:"group_bytes" doc:"Most that the group of this port held."`
}

// Flow is one flow.
type Flow struct {
	Flow    string  `json:"flow"`
	Goodput float64 `json:"goodput_gbps"`
	Took    float64 `json:"took_us,omitempty"`
	CNPs    int64   `json:"cnps"`
	Resent  int64   `json:"resent_bytes"`
}

// Series holds the lengths of the longest queues over time.
type Series struct {
	Every  float64   `json:"every_us"`
	Ports  []string  `json:"ports"`
	Queues [][]int32 `json:"bytes"`
}

func micros(t simulate.Time) float64 { return float64(t) / float64(simulate.Microsecond) }

// summary says what the flows of a class and its queues did.
func (f *fabric) summary(p Pattern, class int, results []*simulate.Result) *Run {
	first := results[0]
	r := &Run{Traffic: p.String(), Class: f.Classes[class], Until: micros(first.End), asked: p.String(), limited: true}
	for _, l := range f.Flows {
		if l.Class == class {
			r.Flows++
			r.limited = r.limited && l.Size > 0
		}
	}
	if p.Kind == "incast" && p.From == 0 {
		r.Traffic = Pattern{Kind: "incast", From: r.Flows / p.To, To: p.To}.String()
	}
	for i, x := range results {
		r.Stopped = r.Stopped || x.Stopped
		r.Seeds = append(r.Seeds, f.seed(i+1, class, x))
	}
	moment := func(m simulate.Moment) *Moment {
		if m.At < 0 {
			return nil
		}
		return &Moment{micros(m.At), f.Ports[m.Port].Name}
	}
	happened := first.ByClass[class]
	r.Mark, r.Pause, r.Loss = moment(happened.Mark), moment(happened.Pause), moment(happened.Drop)
	if d := first.Stuck; d != nil {
		r.Deadlock = &Deadlock{Since: micros(d.Since)}
		for _, at := range d.Ports {
			r.Deadlock.Ports = append(r.Deadlock.Ports, f.Ports[at].Name)
		}
	}
	r.Ports, r.Slowest, r.Queues = f.portTable(class, first), f.slowest(class, first), f.series(class, first)
	return r
}

func (f *fabric) seed(number, class int, x *simulate.Result) Seed {
	s := Seed{Seed: number, Hops: x.Hops, Stuck: x.Stuck != nil}
	for i, p := range x.Ports {
		c := p[class]
		s.Marks += c.Marks
		s.Pauses += c.PausedTimes
		s.Paused += micros(c.Paused)
		s.Lost += c.Lost
		if used := f.headroomUsed(i, class, c); used > s.Headroom {
			s.Headroom, s.At = used, f.Ports[i].Name
		}
	}
	var sum, square float64
	var took []float64
	n := 0
	for i, l := range x.Flows {
		if f.Flows[i].Class != class {
			continue
		}
		n++
		sum += l.Rate
		square += l.Rate * l.Rate
		if l.End >= 0 {
			took = append(took, micros(l.End-l.Start))
		}
	}
	s.Goodput, s.Finished = sum/1e9, len(took)
	if square > 0 {
		s.Fairness = sum * sum / float64(n) / square
	}
	if slices.Sort(took); len(took) > 0 {
		s.P50, s.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	return s
}

// headroomUsed returns the part of the headroom of a switch's group that was used.
func (f *fabric) headroomUsed(i, class int, c simulate.ClassResult) float64 {
	of := f.Ports[i].Classes[class].Group.Headroom
	if of == 0 || f.Nodes[f.Ports[i].Node].Host {
		return 0
	}
	return float64(c.Headroom) / float64(of)
}

// mostRows is how many ports and flows a run lists.
const mostRows = 64

func (f *fabric) portTable(class int, x *simulate.Result) []Port {
	out := []Port{}
	for i, p := range x.Ports {
		c := p[class]
		d := f.Nodes[f.Ports[i].Node]
		if c.Packets == 0 && c.Paused == 0 && c.Pauses == 0 && c.Lost == 0 {
			continue
		}
		row := Port{
			Port: f.Ports[i].Name, Peer: f.Ports[f.Ports[i].Peer].Name, Sent: c.Bytes, Queue: c.Queue, Mean: c.Mean, Marks: c.Marks, Lost: c.Lost,
			Paused: micros(c.Paused), Times: c.PausedTimes, Pauses: c.Pauses,
		}
		if !d.Host {
			row.Used, row.Of, row.Group = c.Headroom*d.Cell, f.Ports[i].Classes[class].Group.Headroom*d.Cell, c.Held*d.Cell
		}
		out = append(out, row)
	}
	slices.SortStableFunc(out, func(a, b Port) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(b.Paused, a.Paused), cmp.Compare(b.Queue, a.Queue), natural.Compare(a.Port, b.Port))
	})
	return out[:min(len(out), mostRows)]
}

func (f *fabric) slowest(class int, x *simulate.Result) []Flow {
	out := []Flow{}
	for i, l := range x.Flows {
		if f.Flows[i].Class != class {
			continue
		}
		row := Flow{Flow: f.Flows[i].Name, Goodput: l.Rate / 1e9, CNPs: l.CNPs, Resent: l.Resent}
		if l.End >= 0 {
			row.Took = micros(l.End - l.Start)
		}
		out = append(out, row)
	}
	slices.SortStableFunc(out, func(a, b Flow) int { return cmp.Compare(a.Goodput, b.Goodput) })
	return out[:min(len(out), mostRows)]
}

// series returns the samples of the queues that became longest.
func (f *fabric) series(class int, x *simulate.Result) Series {
	s := Series{Every: micros(x.Series.Every), Ports: []string{}, Queues: [][]int32{}}
	var order []int
	peak := func(i int) int32 { return slices.Max(append([]int32{0}, x.Series.Queues[i]...)) }
	for i, c := range x.Series.Classes {
		if c == class {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(peak(b), peak(a)) })
	for _, i := range order[:min(len(order), 16)] {
		if peak(i) > 0 {
			s.Ports = append(s.Ports, f.Ports[x.Series.Ports[i]].Name)
			s.Queues = append(s.Queues, x.Series.Queues[i])
		}
	}
	return s
}

// Expectation is what the intent expects of the simulation.
type Expectation struct {
	Key   string `json:"key"`
	Want  string `json:"want"`
	Place string `json:"place"`
	// Met is "unknown" if nothing was simulated that shows it, or it rests on an assumed memory.
	Met string `json:"met" enum:"yes,no,unknown"`
	Why string `json:"why,omitempty"`
}

// Failed reports whether an expectation was not met.
func (p *Prediction) Failed() bool {
	return slices.ContainsFunc(p.Expectations, func(e Expectation) bool { return e.Met == "no" })
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), natural.Compare)
}
