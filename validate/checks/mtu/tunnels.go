package mtu

import (
	"math"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// inTunnels returns the largest packets, without outer headers, that enter the VXLAN tunnels of the
// intent, by the links that the tunnels pass.
func inTunnels(f *intent.Fabric) map[*intent.Link]senders {
	out := map[*intent.Link]senders{}
	if f.VXLAN == nil {
		return out
	}
	g := topology.New(f)
	w := walker{g: g, upDown: f.Routing.Model.V != intent.Shortest, dist: make([]int32, 2*len(g.Switches)), leads: make([]bool, 2*len(g.Switches))}
	if slices.ContainsFunc(f.Routing.Exceptions, func(x *intent.Exception) bool { return x.Kind == intent.PeerLinks }) {
		w.upDown = false
	}
	for _, from := range f.VXLAN.Ends {
		s := sentBy(from)
		w.paths(from, func(b *topology.Bundle) {
			for _, l := range b.Links {
				out[l] = senders{max(out[l].packet, s.packet), max(out[l].payload, s.payload)}
			}
		})
	}
	return out
}

// walker follows the shortest paths between the ends of tunnels, over the states of
// [topology.Arc.Step].
type walker struct {
	g      *topology.Graph
	upDown bool
	dist   []int32
	leads  []bool // states from which a shortest path leads on to an end
	order  []int32
}

// paths calls found with each bundle of links on a shortest path from an end to another one.
func (w *walker) paths(from *intent.Switch, found func(*topology.Bundle)) {
	left := w.follow(from, w.upDown, w.g.Fabric.VXLAN.Ends, found)
	if w.upDown && len(left) > 0 { // they are joined by other paths than up and down
		w.follow(from, false, left, found)
	}
}

// follow calls found with each bundle on a path to one of the switches, and returns those that no
// path reaches.
func (w *walker) follow(from *intent.Switch, upDown bool, to []*intent.Switch, found func(*topology.Bundle)) (left []*intent.Switch) {
	start := 2 * w.g.Index(from)
	for i := range w.dist {
		w.dist[i], w.leads[i] = math.MaxInt32, false
	}
	w.dist[start] = 0
	w.order = append(w.order[:0], start)
	for n := 0; n < len(w.order); n++ {
		for _, arc := range w.g.Out(w.order[n] / 2) {
			if next, ok := arc.Step(w.order[n], upDown); ok && w.dist[next] == math.MaxInt32 {
				w.dist[next] = w.dist[w.order[n]] + 1
				w.order = append(w.order, next)
			}
		}
	}
	for _, s := range to {
		up, down := 2*w.g.Index(s), 2*w.g.Index(s)+1
		least := min(w.dist[up], w.dist[down])
		if least == math.MaxInt32 {
			left = append(left, s)
			continue
		}
		w.leads[up], w.leads[down] = w.dist[up] == least, w.dist[down] == least
	}
	for _, at := range slices.Backward(w.order) {
		for _, arc := range w.g.Out(at / 2) {
			if next, ok := arc.Step(at, upDown); ok && w.leads[next] && w.dist[next] == w.dist[at]+1 {
				w.leads[at] = true
				found(&w.g.Bundles[arc.Bundle])
			}
		}
	}
	return left
}

// need holds the sizes of packets on a link, in bytes, with the outer headers of tunnels.
type need struct {
	packet int // the largest packet
	rdma   int // the packet with a full RDMA payload
	// inner is the size of the largest packet before it enters a tunnel; 0 if packets in tunnels are
	// not the largest.
	inner int
	// with says of what rdma consists besides the payload.
	with string
}

// needOn returns the sizes of the packets on a link.
func needOn(r *checks.Link) need {
	s := sendersOn(r)
	n := need{packet: max(s.packet, s.largestPacket()), rdma: s.largestPacket(), with: "headers"}
	in, ok := tunnelsOn(r)[r.Stated]
	if !ok {
		return n
	}
	overhead := r.Intent.VXLAN.Overhead()
	if outer := in.largestPacket() + overhead; outer > n.rdma {
		n.rdma, n.with = outer, "headers and VXLAN"
	}
	if inner := max(in.packet, in.largestPacket()); inner+overhead > n.packet {
		n.packet, n.inner = inner+overhead, inner
	}
	return n
}

// tunnelsOn returns the result of inTunnels, computed once.
func tunnelsOn(r *checks.Link) map[*intent.Link]senders {
	m := checks.Kept[mtuMemo](r.Memo)
	if m.tunnels == nil {
		m.tunnels = inTunnels(r.Intent)
	}
	return m.tunnels
}
