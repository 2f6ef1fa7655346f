package simulate

import (
	"context"
	"fmt"
	"testing"

	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// lab builds networks as the public simulators do, whose results are in shared/data/oracle: one
// byte is one cell, thresholds are per ingress port.
type lab struct {
	Network
	out [][]int // by node: its ports
}

// setup holds what the scenarios of the oracle share.
type setup struct {
	rate    int64 // bits per second
	delay   Time
	wire    int64 // bytes of a packet
	payload int64
	group   headroom.GroupSize
	shared  int64
	ecn     ECN
	control *DCQCN
	ack     bool
	// slow lists links by name with another speed.
	slow map[string]int64
}

const (
	bulk = 0 // the class of data
	acks = 1 // the strict class of acknowledgements
)

func (l *lab) node(name string, host bool, shared int64) int {
	d := Node{Name: name, Host: host, Cell: 1}
	if !host {
		d.Slices = []SliceSize{{Shared: shared}}
	}
	l.Nodes = append(l.Nodes, d)
	l.out = append(l.out, nil)
	return len(l.Nodes) - 1
}

func (l *lab) link(a, b int, s setup) {
	name := fmt.Sprintf("%s-%s", l.Nodes[a].Name, l.Nodes[b].Name)
	rate := s.rate
	if n, ok := s.slow[name]; ok {
		rate = n
	}
	i := len(l.Ports)
	for n, of := range []int{a, b} {
		p := Port{Name: fmt.Sprint(name, n), Node: of, Peer: i + 1 - n, Rate: rate, Delay: s.delay}
		p.Classes[bulk] = PortClass{Lossless: true, Group: s.group, Weight: 1, ECN: s.ecn}
		p.Classes[acks] = PortClass{Group: headroom.GroupSize{Fixed: 1 << 40, Min: 1 << 20}, Strict: true}
		l.Ports = append(l.Ports, p)
		l.out[of] = append(l.out[of], i+n)
	}
}

// via returns the ports along a list of nodes.
func (l *lab) via(nodes ...int) (out []int32) {
	for i, n := range nodes[:len(nodes)-1] {
		for _, p := range l.out[n] {
			if l.Ports[l.Ports[p].Peer].Node == nodes[i+1] {
				out = append(out, int32(p))
				break
			}
		}
	}
	return out
}

// flow adds an endless flow along a list of nodes.
func (l *lab) flow(s setup, nodes ...int) *Flow {
	back := make([]int, len(nodes))
	for i, n := range nodes {
		back[len(nodes)-1-i] = n
	}
	f := Flow{
		Name: fmt.Sprintf("%s-%s", l.Nodes[nodes[0]].Name, l.Nodes[nodes[len(nodes)-1]].Name), Class: bulk, From: nodes[0], To: nodes[len(nodes)-1],
		Path: l.via(nodes...), Back: l.via(back...), Payload: s.payload, Header: s.wire - s.payload, ECT: true, Control: s.control,
		AckClass: acks, CNPClass: acks,
	}
	if s.ack {
		f.Ack = 1
	}
	l.Flows = append(l.Flows, f)
	return &l.Flows[len(l.Flows)-1]
}

// star has n senders at one switch that all send to one receiver. The port of the switch to the
// receiver is the last but one.
func star(n int, s setup) *lab {
	l := &lab{Network: Network{Classes: []string{"data", "acks"}}}
	sw := l.node("switch", false, s.shared)
	for i := range n {
		l.link(l.node(fmt.Sprint("s", i), true, 0), sw, s)
	}
	to := l.node("receiver", true, 0)
	l.link(sw, to, s)
	for i := range n {
		l.flow(s, sw+1+i, sw, to)
	}
	return l
}

// egress returns the port of a star to the receiver.
func (l *lab) egress() int { return len(l.Ports) - 2 }

func (l *lab) run(t testing.TB, opt Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), &l.Network, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ring has n switches with one host each, and flows from each host over hops links of the ring.
func ring(n, hops int, s setup) *lab {
	l := &lab{Network: Network{Classes: []string{"data", "acks"}}}
	for i := range n {
		l.node(fmt.Sprint("w", i), false, s.shared)
	}
	for i := range n {
		l.link(l.node(fmt.Sprint("h", i), true, 0), i, s)
	}
	for i := range n {
		l.link(i, (i+1)%n, s)
	}
	for i := range n {
		path := []int{n + i}
		for h := range hops + 1 {
			path = append(path, (i+h)%n)
		}
		l.flow(s, append(path, n+(i+hops)%n)...)
	}
	return l
}

// static returns the scenarios' fixed threshold, or with alpha 0 none.
func static(rate int64, wire, payload, headroomSize int64) setup {
	return setup{
		rate: rate, delay: Microsecond, wire: wire, payload: payload, shared: 1 << 40, ack: true,
		group: headroom.GroupSize{Fixed: 132_088, Headroom: headroomSize, Resume: 3072},
	}
}

// dynamic returns the scenarios' dynamic threshold: alpha times what is free of 32 MiB less
// headroom and reserve of n ports, and 4,096 B in reserve for each.
func dynamic(n int, alpha headroom.Alpha, rate int64, wire, payload, headroomSize int64) setup {
	s := static(rate, wire, payload, headroomSize)
	s.shared = 33_554_432 - int64(n)*(headroomSize+4096)
	s.group = headroom.GroupSize{Min: 4096, Alpha: alpha, Headroom: headroomSize, Resume: 3072}
	return s
}

// near fails unless got is within the relative tolerance of want.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if d := got - want; d > tolerance*want || d < -tolerance*want {
		t.Errorf("%s: %.6g, the oracle says %.6g +- %.3g %% (%+.3g %%)", what, got, want, tolerance*100, d/want*100)
	}
}

// within fails unless got is within the absolute tolerance of want.
func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if d := got - want; d > tolerance || d < -tolerance {
		t.Errorf("%s: %.6g, the oracle says %.6g +- %.3g (%+.3g)", what, got, want, tolerance, d)
	}
}

func micros(t Time) float64 { return float64(t) / float64(Microsecond) }
