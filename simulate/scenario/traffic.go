package scenario

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/simulate"
)

// Pattern is who sends to whom.
type Pattern struct {
	Kind string      // "incast", "pairs", "alltoall", "ring", "allreduce" or "file"
	From int         // senders of an incast; 0 for all others
	To   int         // receivers of an incast
	Size units.Bytes // of one message; 0 for no end
	File *FlowFile   // of the kind "file"
}

// String returns the pattern as it is written.
func (p Pattern) String() string {
	switch {
	case p.File != nil:
		return p.File.Name
	case p.Kind == "incast" && p.From == 0:
		return "incast"
	case p.Kind == "incast":
		return fmt.Sprintf("incast:%d:%d", p.From, p.To)
	case p.Size > 0:
		return p.Kind + ":" + p.Size.String()
	}
	return p.Kind
}

// PatternForms lists how patterns are written.
const PatternForms = "incast, incast:8:1, pairs, alltoall, alltoall:1MB, ring, allreduce:64MB or flows.csv"

// ParsePattern reads a pattern.
func ParsePattern(text string) (Pattern, error) {
	kind, rest, more := strings.Cut(text, ":")
	p := Pattern{Kind: kind, To: 1}
	var err error
	switch {
	case kind == "incast" && more:
		from, to, _ := strings.Cut(rest, ":")
		if p.From, err = strconv.Atoi(from); err == nil && to != "" {
			p.To, err = strconv.Atoi(to)
		}
		if err != nil || p.From < 1 || p.To < 1 {
			return p, fmt.Errorf("%q is not a number of senders and receivers, as in incast:8:1", text)
		}
	case kind == "alltoall" && more, kind == "allreduce" && more:
		if p.Size, err = units.ParseBytes(rest); err != nil || p.Size <= 0 {
			return p, fmt.Errorf("%q does not end in a size such as 64MB", text)
		}
	case kind == "allreduce":
		return p, fmt.Errorf("allreduce needs a size, as in allreduce:64MB")
	case more || kind != "incast" && kind != "pairs" && kind != "alltoall" && kind != "ring":
		return p, fmt.Errorf("%q is not a traffic pattern", text)
	}
	return p, nil
}

// mostFlows bounds the memory of a run.
const mostFlows = 200_000

// jitter is within which time flows start.
const jitter = int64(simulate.Microsecond)

// load adds the flows of a pattern in a class.
func (f *fabric) load(p Pattern, class int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 1))
	f.Flows = nil
	switch p.Kind {
	case "file":
		return f.listed(p.File, class, r)
	case "incast":
		return f.incast(p, class, r)
	case "pairs":
		half := len(f.hosts) / 2
		for i := range half {
			if err := f.flow(f.hosts[i], f.hosts[i+half], class, 0, r); err != nil {
				return err
			}
		}
		return nil
	}
	for _, rail := range f.rails() {
		if err := f.collective(p, rail, class, r); err != nil {
			return err
		}
	}
	if len(f.Flows) == 0 {
		return fmt.Errorf("%s needs two hosts, or two NICs of the same name", p)
	}
	return nil
}

// incast makes many hosts send to few. The receivers are the first ones, and the senders those after
// them, so that the switch of the receiver has as many senders of its own as it can.
func (f *fabric) incast(p Pattern, class int, r *rand.Rand) error {
	from := p.From
	if from == 0 {
		from = len(f.hosts) - p.To
	}
	if from < 1 || from+p.To > len(f.hosts) {
		return fmt.Errorf("%s needs %d NICs, the fabric has %d", p, max(from, 1)+p.To, len(f.hosts))
	}
	for i := range from {
		for to := range p.To {
			if err := f.flow(f.hosts[p.To+i], f.hosts[to], class, 0, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// rails returns the groups of hosts that talk to each other in collectives: NICs of the same name
// where hosts have several, else all hosts.
func (f *fabric) rails() (out [][]int) {
	at := map[string]int{}
	for _, n := range f.hosts {
		name := ""
		if x := f.nics[n]; x != nil && len(x.Host.NICs) > 1 {
			name = x.Name
		}
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], n)
	}
	return out
}

func (f *fabric) collective(p Pattern, rail []int, class int, r *rand.Rand) error {
	n := len(rail)
	if n < 2 {
		return nil
	}
	if p.Kind == "alltoall" {
		if len(f.Flows)+n*(n-1) > mostFlows {
			return fmt.Errorf("%s of %d NICs has more than %d flows", p, len(f.hosts), mostFlows)
		}
		for i := range n {
			for j := 1; j < n; j++ { // each begins with another receiver
				if err := f.flow(rail[i], rail[(i+j)%n], class, int64(p.Size), r); err != nil {
					return err
				}
			}
		}
		return nil
	}
	first := len(f.Flows)
	for i := range n {
		if err := f.flow(rail[i], rail[(i+1)%n], class, 0, r); err != nil {
			return err
		}
		if p.Kind == "allreduce" {
			// A ring of 2 (n - 1) steps: in each, a NIC passes on what it has received before.
			l := &f.Flows[len(f.Flows)-1]
			l.Chunk = max(1, int64(p.Size)/int64(n))
			l.Size = 2 * int64(n-1) * l.Chunk
			l.After = first + (i+n-1)%n
		}
	}
	return nil
}

// flow adds a flow between two hosts.
func (f *fabric) flow(from, to, class int, size int64, r *rand.Rand) error {
	there, ok1 := f.path(from, to, r)
	back, ok2 := f.path(to, from, r)
	if !ok1 || !ok2 {
		return fmt.Errorf("no path from %s to %s", f.Nodes[from].Name, f.Nodes[to].Name)
	}
	l := simulate.Flow{
		Name: f.Nodes[from].Name + " > " + f.Nodes[to].Name, Class: class, From: from, To: to, Path: there, Back: back,
		Start: simulate.Time(r.Int64N(jitter)), Size: size, Payload: int64(f.intent.Settings.MTU.RDMA.V), Header: headerBytes,
		ECT: f.classes[class].RDMA(), Ack: 16, AckClass: class, CNPClass: f.cnp, Timeout: 67 * simulate.Millisecond,
	}
	if l.ECT {
		l.Control = f.control(f.nics[from])
	}
	f.Flows = append(f.Flows, l)
	return nil
}

// control returns the parameters of a NIC: the defaults of mlx5, and what the intent states by the
// names of its driver.
func (f *fabric) control(n *intent.NIC) *simulate.DCQCN {
	d := simulate.Mlx5()
	if n == nil {
		return &d
	}
	us := func(v int) simulate.Time { return simulate.Time(v) * simulate.Microsecond }
	set := map[string]func(v int){
		"np_min_time_between_cnps":      func(v int) { d.CNPInterval = us(v) },
		"rp_time_reset":                 func(v int) { d.RateTimer = us(max(v, 1)) },
		"rp_byte_reset":                 func(v int) { d.ByteCounter = int64(v) * 64 },
		"rp_threshold":                  func(v int) { d.FastSteps = v },
		"rp_ai_rate":                    func(v int) { d.Additive = float64(v) * 1e6 },
		"rp_hai_rate":                   func(v int) { d.Hyper = float64(v) * 1e6 },
		"rp_min_rate":                   func(v int) { d.MinRate = float64(max(v, 1)) * 1e6 },
		"rp_dce_tcp_g":                  func(v int) { d.G = 1 - float64(min(v, 1023))/1024 },
		"rp_dce_tcp_rtt":                func(v int) { d.AlphaTimer = us(max(v, 1)) },
		"rp_initial_alpha_value":        func(v int) { d.Alpha = min(float64(v)/1023, 1) },
		"rp_rate_reduce_monitor_period": func(v int) { d.Monitor = us(v) },
		"rp_clamp_tgt_rate":             func(v int) { d.KeepTarget = v == 0 },
	}
	for name, v := range n.DCQCN.V {
		if to := set[name]; to != nil {
			to(v)
			continue
		}
		f.assume("no effect of "+name+", which the model of congestion control does not have", n.Host.Name)
	}
	return &d
}

// path returns the ports along a shortest path between two hosts, one of the equal ones by chance,
// as the hash of a flow picks it.
func (f *fabric) path(from, to int, r *rand.Rand) (out []int32, ok bool) {
	near := f.distances(to)
	for at := from; at != to; {
		var next []int
		for _, p := range f.out[at] {
			if n := f.Ports[f.Ports[p].Peer].Node; near[n] == near[at]-1 && near[n] >= 0 {
				next = append(next, p)
			}
		}
		if len(next) == 0 {
			return nil, false
		}
		p := next[r.IntN(len(next))]
		out = append(out, int32(p))
		at = f.Ports[f.Ports[p].Peer].Node
	}
	return out, true
}

// distances returns the number of links from each node to a host; -1 if there is no path. Hosts do
// not forward.
func (f *fabric) distances(to int) []int {
	if l := f.near[to]; l != nil {
		return l
	}
	l := make([]int, len(f.Nodes))
	for i := range l {
		l[i] = -1
	}
	l[to] = 0
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if f.Nodes[at].Host && at != to {
			continue
		}
		for _, p := range f.out[at] {
			if n := f.Ports[f.Ports[p].Peer].Node; l[n] < 0 {
				l[n] = l[at] + 1
				queue = append(queue, n)
			}
		}
	}
	f.near[to] = l
	return l
}
