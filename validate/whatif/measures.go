package whatif

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// measure compares the paths and the load of two versions of a fabric.
func (c *Comparison) measure(before, after *intent.Fabric) {
	a, b := topology.New(before), topology.New(after)
	was, now := loads(a), maps.Collect(loads(b).All())
	c.Measures = []Measure{}
	for what, old := range was.All() {
		if load, ok := now[what]; ok {
			c.Measures = append(c.Measures, Measure{What: what, Before: old.worst, After: load.worst, Ratio: load.ratio, Worse: load.worst > old.worst})
		}
	}
	up := before.Routing.Model.V != intent.Shortest
	old := pathsOf(a, up)
	if up && len(old.none) > 0 {
		// Some switches are joined over peer links or other paths.
		up = false
		old = pathsOf(a, up)
	}
	left := pathsOf(b, up)
	for _, pair := range left.none {
		if !slices.Contains(old.none, pair) {
			c.Unreachable = append(c.Unreachable, pair)
		}
	}
	if old.fewest > 0 && left.fewest > 0 {
		c.Measures = append(c.Measures, Measure{What: "fewest shortest paths between two switches with hosts", Before: float64(old.fewest), After: float64(left.fewest), Worse: left.fewest < old.fewest})
	}
}

// load is the highest load that the topology allows, of all switches of a role.
type load struct {
	worst float64
	ratio bool
}

// loads returns, by what was counted, the ratio of the speeds of links downward and upward, and the
// number of ports that can send into one queue of a lossless class.
func loads(g *topology.Graph) *ordered.Map[string, load] {
	var out ordered.Map[string, load]
	add := func(what string, n float64, ratio bool) {
		l := out.At(what)
		l.worst, l.ratio = max(l.worst, n), ratio
	}
	for i := range g.Switches {
		s := &g.Switches[i]
		role := cmp.Or(s.Switch.Role, fmt.Sprintf("tier %d", s.Tier))
		down, up := 0.0, 0.0
		for _, p := range s.Switch.Ports {
			if p.Link == nil {
				continue
			}
			to := "hosts"
			if peer, _ := p.Peer(); p.Uplink() {
				switch at := g.Switches[g.Index(g.Fabric.Switch(peer.Device))].Tier; {
				case at > s.Tier:
					to = "switches above"
				case at < s.Tier:
					to = "switches below"
				default:
					to = "peers"
				}
			}
			switch speed := float64(p.Speed.V); to {
			case "switches above":
				up += speed
			case "hosts", "switches below":
				down += speed
			}
			for _, k := range p.Settings.Classes {
				if k.Lossless.V {
					add(fmt.Sprintf("fan-in of %s at %s, ports to %s", k.Name, role, to), float64(render.FanOf(p, k).In.V), false)
				}
			}
		}
		if up > 0 && down > 0 {
			add("oversubscription at "+role, down/up, true)
		}
	}
	return &out
}

// paths says how switches with hosts are joined.
type paths struct {
	fewest float64  // least number of shortest paths between two of them that a path joins; 0 without such
	none   []string // pairs that no path joins: "leaf1 and leaf2"
}

// pathsOf counts the shortest paths between switches with hosts, each of parallel links as a path of
// its own. With up, paths go up, then down, and never up again.
func pathsOf(g *topology.Graph, up bool) (out paths) {
	n := len(g.Switches)
	f := finder{g: g, up: up, dist: make([]int32, 2*n), count: make([]float64, 2*n)}
	for from := range g.Switches {
		if len(g.Switches[from].Hosts) == 0 {
			continue
		}
		f.search(int32(from))
		for to := from + 1; to < n; to++ {
			if len(g.Switches[to].Hosts) == 0 {
				continue
			}
			switch c := f.to(to); {
			case c == 0:
				out.none = append(out.none, g.Name(int32(from))+" and "+g.Name(int32(to)))
			case out.fewest == 0 || c < out.fewest:
				out.fewest = c
			}
		}
	}
	return out
}

// finder searches breadth first, over the states of [topology.Arc.Step].
type finder struct {
	g     *topology.Graph
	up    bool
	dist  []int32
	count []float64
	queue []int32
}

func (f *finder) search(from int32) {
	for i := range f.dist {
		f.dist[i], f.count[i] = math.MaxInt32, 0
	}
	f.dist[2*from], f.count[2*from] = 0, 1
	f.queue = append(f.queue[:0], 2*from)
	for n := 0; n < len(f.queue); n++ {
		at := f.queue[n]
		for _, arc := range f.g.Out(at / 2) {
			next, ok := arc.Step(at, f.up)
			if !ok {
				continue
			}
			if f.dist[next] == math.MaxInt32 {
				f.dist[next] = f.dist[at] + 1
				f.queue = append(f.queue, next)
			}
			if f.dist[next] == f.dist[at]+1 {
				f.count[next] += f.count[at] * float64(len(f.g.Bundles[arc.Bundle].Links))
			}
		}
	}
}

// to returns the number of shortest paths to a switch; 0 if there is none.
func (f *finder) to(i int) float64 {
	a, b := 2*i, 2*i+1
	switch {
	case f.dist[a] == f.dist[b]:
		return f.count[a] + f.count[b]
	case f.dist[a] < f.dist[b]:
		return f.count[a]
	}
	return f.count[b]
}
