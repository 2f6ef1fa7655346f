package prove

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic/perftest"
)

// Options say what to plan.
type Options struct {
	// For is the most time that the rounds may take; Each is how long each measures bandwidth.
	For, Each time.Duration
	Tool      string
	Now       time.Time
}

// Limits of [Options].
const (
	LeastEach, MostEach = 4 * time.Second, 10 * time.Minute
	MostFor             = 7 * 24 * time.Hour
)

// What a round costs besides its load, in seconds: perftest waits one to exchange its versions, and
// the programs are started over SSH. It is an estimate, as is the time of a round of latency.
const (
	overhead       = 5
	latencySeconds = 1
)

const (
	latencyIterations = 5000
	latencySize       = 2
	// pairQPs spread the packets of a pair over equal paths, which switches choose by the UDP source
	// port of the queue pair.
	pairQPs = 8
	// usualFanIn is the largest incast where the intent states no fan-in.
	usualFanIn = 8
)

// Plan is which rounds are run.
type Plan struct {
	Tool    string    `json:"tool"`
	Fabric  string    `json:"fabric"`
	Intent  string    `json:"intent" doc:"SHA-256 of the files of the intent."`
	Created time.Time `json:"created"`
	Budget  int       `json:"budget_s" doc:"Most seconds that the rounds may take, as asked."`
	Seconds int       `json:"seconds" doc:"Seconds that all rounds take, as an estimate."`
	Hosts   []string  `json:"hosts"`
	NICs    int       `json:"nics"`
	Rails   int       `json:"rails"`
	// Stages are run in this order.
	Stages     []Stage  `json:"stages"`
	Needs      []string `json:"needs"`
	Left       []Left   `json:"left_out,omitempty" doc:"NICs that take no part."`
	NotCovered []string `json:"not_covered" doc:"What these rounds do not show."`

	net *network
}

// Left are NICs that take no part.
type Left struct {
	Why  string   `json:"why"`
	NICs []string `json:"nics"`
}

// Stage is a number of rounds of one kind.
type Stage struct {
	Pattern Pattern `json:"pattern" enum:"within leaves,across leaves,incast,outcast,all to all"`
	Test    string  `json:"test" enum:"bandwidth,latency"`
	K       int     `json:"k,omitempty" doc:"NICs that send to one, or receive from one."`
	// Classes are loaded at the same time; the last is a lossy one if Background is set.
	Classes    []string `json:"classes"`
	Background bool     `json:"background,omitempty" doc:"Set if the last class carries no RDMA by the intent: it is loaded to disturb the others."`
	Size       int64    `json:"message_bytes"`
	Rounds     int      `json:"rounds"`
	Of         int      `json:"of" doc:"Rounds that the pattern has in all."`
	Seconds    int      `json:"seconds" doc:"Seconds that one round takes, as an estimate."`
	Measure    int      `json:"measure_s,omitempty" doc:"Seconds for which bandwidth is measured in a round."`
	Pairs      int      `json:"pairs" doc:"Pairs of NICs in these rounds."`
	OfPairs    int      `json:"of_pairs" doc:"Pairs of the pattern in all."`
	Most       float64  `json:"most_load" doc:"Largest load that NICs offer to one of their links, as a multiple of its speed."`

	rank int // of those that get more rounds first; 0 is the first
}

// Name returns what the rounds of a stage do, such as "latency within leaves" or "4:1 incast".
func (s Stage) Name() string {
	switch {
	case s.Pattern == Incast:
		return fmt.Sprintf("%d:1 incast", s.K)
	case s.Pattern == Outcast:
		return fmt.Sprintf("1:%d outcast", s.K)
	case s.Test == "latency":
		return "latency " + string(s.Pattern)
	case s.Pattern == AllToAll:
		return string(s.Pattern)
	}
	return "pairs " + string(s.Pattern)
}

// NewPlan plans rounds for an intent that fit into the time.
func NewPlan(f *intent.Fabric, o Options) (*Plan, error) {
	n, err := newNetwork(f)
	if err != nil {
		return nil, err
	}
	p := &Plan{Tool: o.Tool, Fabric: f.Name, Intent: f.Hash, Created: o.Now.UTC().Truncate(time.Second), Budget: int(o.For.Seconds()), Hosts: n.hosts, NICs: n.ends, Rails: len(n.rails), net: n}
	for _, why := range natural.Keys(n.left) {
		p.Left = append(p.Left, Left{why, n.left[why]})
	}
	p.Stages = n.stages(int(o.Each.Seconds()))
	if err := p.fit(); err != nil {
		return nil, err
	}
	for i := range p.Stages {
		n.count(&p.Stages[i])
	}
	p.Needs = p.needs()
	p.NotCovered = p.notCovered()
	return p, nil
}

// stages returns all stages that an intent has, with one round each.
func (n *network) stages(each int) (out []Stage) {
	add := func(s Stage) {
		if s.Of = n.rounds(s.Pattern, s.K); s.Of == 0 {
			return
		}
		s.Rounds = 1
		if s.Test = "latency"; s.Size != latencySize {
			s.Test, s.Measure = "bandwidth", each
		}
		s.Seconds = overhead + max(s.Measure, latencySeconds)
		out = append(out, s)
	}
	names := func(l ...*intent.Class) (names []string) {
		for _, k := range l {
			names = append(names, k.Name)
		}
		return names
	}
	const small, large = 64 << 10, 1 << 20
	each1 := func(pattern Pattern, k int, size int64, rank int) {
		for _, c := range n.rdma {
			add(Stage{Pattern: pattern, K: k, Classes: names(c), Size: size, rank: rank})
		}
		if len(n.rdma) > 1 && size != latencySize {
			add(Stage{Pattern: pattern, K: k, Classes: names(n.rdma...), Size: size, rank: rank + 1})
		}
	}
	each1(Within, 0, latencySize, 6)
	each1(Across, 0, latencySize, 6)
	each1(Within, 0, small, 0)
	each1(Across, 0, small, 4)
	each1(Within, 0, large, 8)
	each1(Across, 0, large, 8)
	pattern := Across
	if n.rounds(Across, 0) == 0 {
		pattern = Within
	}
	if n.background != nil {
		add(Stage{Pattern: pattern, Classes: append(names(n.rdma...), n.background.Name), Background: true, Size: small, rank: 8})
	}
	for _, k := range n.fanIns() {
		each1(Incast, k, small, 2)
	}
	for _, k := range n.fanIns() {
		each1(Outcast, k, small, 2)
	}
	each1(AllToAll, 0, small, 2)
	return out
}

// fanIns are the numbers of senders of the incasts: powers of two up to the fan-in that the intent
// states, and that itself.
func (n *network) fanIns() (out []int) {
	most := 0
	for _, r := range n.rails {
		most = max(most, len(r.ends)-1)
	}
	most = min(most, cmp.Or(n.fabric.Settings.Buffers.FanIn.V, usualFanIn))
	for k := 2; k < most; k *= 2 {
		out = append(out, k)
	}
	if most >= 2 {
		out = append(out, most)
	}
	return out
}

// fit gives the stages as many rounds as the time allows, those of the lowest rank first.
func (p *Plan) fit() error {
	for _, s := range p.Stages {
		p.Seconds += s.Seconds
	}
	if p.Seconds > p.Budget {
		return fmt.Errorf("one round of each kind takes %s, more than the %s allowed", Span(p.Seconds), Span(p.Budget))
	}
	order := make([]int, len(p.Stages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return p.Stages[a].rank - p.Stages[b].rank })
	for _, i := range order {
		s := &p.Stages[i]
		more := min(s.Of-s.Rounds, (p.Budget-p.Seconds)/s.Seconds)
		s.Rounds += more
		p.Seconds += more * s.Seconds
	}
	return nil
}

// count counts the pairs of a stage, and finds the largest load of a link.
func (n *network) count(s *Stage) {
	for round := range s.Of {
		for range n.pairs(s.Pattern, s.K, round) {
			s.OfPairs++
			if round < s.Rounds {
				s.Pairs++
			}
		}
	}
	if s.Test != "latency" {
		s.Most = n.load(s.Pattern, s.K)
	}
}

// load returns the largest load that the first round of a pattern offers to the link of a receiver.
// A NIC divides its speed over those that it sends to.
func (n *network) load(p Pattern, k int) (most float64) {
	sends, gets := map[*End]float64{}, map[*End]float64{}
	for x := range n.pairs(p, k, 0) {
		sends[x.from]++
		if !x.oneWay {
			sends[x.to]++
		}
	}
	add := func(from, to *End) {
		gets[to] += float64(from.Speed) / float64(to.Speed) / sends[from]
		most = max(most, gets[to])
	}
	for x := range n.pairs(p, k, 0) {
		add(x.from, x.to)
		if !x.oneWay {
			add(x.to, x.from)
		}
	}
	return most
}

func (p *Plan) needs() []string {
	most, programs := 0, 0
	for _, s := range p.Stages {
		servers, clients := map[string]int{}, map[string]int{}
		for f := range p.Flows(s, 0) {
			servers[f.To.Host]++
			clients[f.From.Host]++
			most = max(most, servers[f.To.Host])
			programs = max(programs, servers[f.To.Host]+clients[f.To.Host], servers[f.From.Host]+clients[f.From.Host])
		}
	}
	return []string{
		"perftest 4.1 (2017) or later on every host: ib_write_bw and ib_write_lat",
		fmt.Sprintf("TCP from host to host, ports %d to %d, at the addresses of the intent", perftest.FirstPort, perftest.FirstPort+most-1),
		fmt.Sprintf("up to %s at a time on a host, each of which keeps a core busy", words.Count(programs, "program")),
	}
}

func (p *Plan) notCovered() (out []string) {
	for _, s := range p.Stages {
		if s.Pairs < s.OfPairs {
			out = append(out, fmt.Sprintf("%s, %s, %s: %d of %d pairs", s.Name(), strings.Join(s.Classes, " + "), Bytes(s.Size), s.OfPairs-s.Pairs, s.OfPairs))
		}
	}
	for _, r := range p.net.rails {
		for _, pod := range r.pods {
			if len(pod) > mostTogether {
				return append(out, fmt.Sprintf("all to all among more than %d NICs of a rail at a time", mostTogether), "collectives: nccl-tests and rccl-tests are not run")
			}
		}
	}
	return append(out, "collectives: nccl-tests and rccl-tests are not run")
}

// Flow is a program that sends and the one that receives.
type Flow struct {
	From, To *End
	Class    *intent.Class
	Options  perftest.Options // of the receiver; GID, device and address are those of the hosts
}

// Flows yields the flows of one round of a stage.
func (p *Plan) Flows(s Stage, round int) iter.Seq[Flow] {
	return func(yield func(Flow) bool) {
		ports := map[string]int{}
		flow := func(from, to *End, k *intent.Class) bool {
			o := perftest.Options{Test: perftest.WriteBW, TClass: p.net.tclass(from, k), Size: s.Size, QPs: 1, Seconds: s.Measure, Port: perftest.FirstPort + ports[to.Host]}
			if s.Pattern == Within || s.Pattern == Across {
				o.QPs = pairQPs
			}
			if s.Test == "latency" {
				o.Test, o.QPs, o.Seconds, o.Iterations = perftest.WriteLat, 0, 0, latencyIterations
			}
			ports[to.Host]++
			return yield(Flow{from, to, k, o})
		}
		for x := range p.net.pairs(s.Pattern, s.K, round) {
			for _, name := range s.Classes {
				k := p.net.fabric.Settings.Class(name)
				// Latency is half a round trip, so one way says it for both.
				if !flow(x.from, x.to, k) || !x.oneWay && s.Test != "latency" && !flow(x.to, x.from, k) {
					return
				}
			}
		}
	}
}

// Commands returns the command lines of a flow, with words in capitals for what only the hosts know.
func (p *Plan) Commands(f Flow) (server, client string) {
	o := f.Options
	text := func(e *End, to string) string {
		o.Device, o.Server = "DEVICE", to
		if h := p.net.fabric.Host(e.Host); h != nil && h.NIC(e.NIC) != nil {
			o.Device = cmp.Or(h.NIC(e.NIC).RDMA.V, o.Device)
		}
		return strings.Replace(o.String(), " -x 0 ", " -x GID ", 1)
	}
	return text(f.To, ""), text(f.From, "ADDRESS")
}

// Span formats seconds as "90s", "12m", "1h30m".
func Span(seconds int) string {
	switch d := time.Duration(seconds) * time.Second; {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", seconds)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Round(time.Minute).Minutes()))
	default:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// Bytes formats the size of a message.
func Bytes(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// Times returns a load, as in "2.5 times its speed" or "full".
func (s Stage) Times() string {
	switch {
	case s.Test == "latency":
		return "little"
	case s.Most <= 1:
		return "full"
	}
	return fmt.Sprintf("%.3gx", s.Most)
}

// Total returns the number of rounds.
func (p *Plan) Total() (n int) {
	for _, s := range p.Stages {
		n += s.Rounds
	}
	return n
}

// Title says in one line what a plan is.
func (p *Plan) Title() string {
	return fmt.Sprintf("%s: %s, about %s, on %s with %s", p.Fabric, words.Count(p.Total(), "round"), Span(p.Seconds), words.Count(len(p.Hosts), "host"), words.Count(p.NICs, "NIC"))
}
