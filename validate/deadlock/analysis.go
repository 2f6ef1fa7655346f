package deadlock

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// Analysis holds a fabric with its routes and buffer dependencies without failures. It is safe
// for concurrent use.
type Analysis struct {
	Graph *topology.Graph
	// Model is [intent.UpDown] or [intent.Shortest].
	Model string
	// proven is set if no set of failures can create a cycle; otherwise cycles must be searched
	// for.
	proven bool

	n        *network
	routes   *routes
	families []family
	swaps    []swap
	unrouted int     // pairs of destinations without a path
	carries  []uint8 // by arc: the tags of its packets; only if proven

	// The results of follow. A proven fabric needs them only for a blast radius.
	mu      sync.Mutex
	nominal *matrix
	// component is by node, numbered as by tarjan.
	component []int32
	cyclic    [][]node // components with a cycle
}

// New computes all routes and dependencies. It fails if ctx ends, or if the fabric exceeds the
// limits of the analysis (a million switches).
func New(ctx context.Context, f *intent.Fabric) (*Analysis, error) {
	a, err := Of(ctx, topology.New(f))
	if err != nil {
		return nil, err
	}
	return a, a.follow(ctx)
}

// Of is like [New], but takes a graph, whose ports may pause other priorities than the intent
// says. If a proof makes the search unnecessary, dependencies are computed only when needed.
func Of(ctx context.Context, g *topology.Graph) (*Analysis, error) {
	f := g.Fabric
	stated := f.Routing.Model.V
	a, err := build(ctx, g, cmp.Or(stated, intent.UpDown))
	if err != nil {
		return nil, err
	}
	if stated == "" && a.unrouted > 0 {
		b, err := build(ctx, g, intent.Shortest)
		if err != nil {
			return nil, err
		}
		if b.unrouted < a.unrouted {
			a = b
		}
	}
	if a.proven {
		return a, nil
	}
	return a, a.follow(ctx)
}

// build computes the routes of one model to one destination of each family.
func build(ctx context.Context, g *topology.Graph, model string) (*Analysis, error) {
	n, err := compile(g, model)
	if err != nil {
		return nil, err
	}
	a := &Analysis{Graph: g, Model: model, n: n, routes: newRoutes(n)}
	// Traffic goes up, then down. With T tiers, number the packets that a switch of tier t
	// receives: t if they come from below, 2T-t if they come from above. Every packet goes from
	// lower to higher numbers, so buffers cannot wait for each other in a cycle, whatever
	// fails.
	a.proven = model == intent.UpDown && len(g.Fabric.Routing.Exceptions) == 0 && len(g.Fabric.Routing.Tunnels) == 0
	if a.proven {
		a.carries = make([]uint8, len(g.Arcs))
	}
	a.families, a.swaps = n.families()
	var mu sync.Mutex
	err = parallel(ctx, len(a.families), func() func(int) {
		w, carries := a.worker(), make([]uint8, len(a.carries))
		return func(i int) {
			if i < 0 {
				mu.Lock()
				defer mu.Unlock()
				for arc, tags := range carries {
					a.carries[arc] |= tags
				}
				return
			}
			d := a.families[i].first
			st := a.routes.compute(d, w)
			unrouted := 0
			for _, x := range n.dests {
				if st[x]&distance == none && n.sends(x, d) != 0 {
					unrouted += a.families[i].size
				}
			}
			if a.proven {
				w.carry(carries, st)
			}
			mu.Lock()
			defer mu.Unlock()
			a.unrouted += unrouted
		}
	})
	if err != nil {
		return nil, err
	}
	if a.proven {
		n.spread(a.carries, a.swaps)
	}
	return a, nil
}

// follow computes the turns that traffic takes, and from them which buffers wait for which.
func (a *Analysis) follow(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.nominal != nil {
		return nil
	}
	n := a.n
	nominal := newMatrix(n)
	var mu sync.Mutex
	err := parallel(ctx, len(a.families), func() func(int) {
		w, m := a.worker(), newMatrix(n)
		return func(i int) {
			if i < 0 {
				mu.Lock()
				defer mu.Unlock()
				or(nominal.bits, m.bits)
				return
			}
			d := a.families[i].first
			st := w.before(d)
			w.fromHosts(d, st, nothing)
			w.turns(m, st, nothing, d, true)
		}
	})
	if err != nil {
		return err
	}
	nominal.spread(n, a.swaps)
	w := a.worker()
	for i := range n.tunnels {
		t := &n.tunnels[i]
		w.tunnel(nominal, t, w.before(t.from), w.before(t.to), nothing)
	}
	a.nominal = nominal
	a.dependencies()
	return nil
}

// dependencies finds the strongly connected components of the dependencies without failures.
func (a *Analysis) dependencies() {
	n := a.n
	g := &graph{n: n, m: a.nominal, f: nothing}
	t := newTarjan(n.numNodes())
	t.begin()
	for v := range n.numNodes() {
		if g.has(node(v)) {
			t.from(g, node(v), nil, func(nodes []node) {
				if len(nodes) > 1 {
					a.cyclic = append(a.cyclic, append([]node(nil), nodes...))
				}
			})
		}
	}
	a.component = t.of
}

// parallel calls worker once per goroutine and passes each number below count to one of the
// functions that it returned; at the end it calls each function with -1. It stops early if ctx
// ends.
func parallel(ctx context.Context, count int, worker func() func(int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(1, min(runtime.GOMAXPROCS(0), count)) {
		wg.Go(func() {
			do := worker()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= count {
					break
				}
				do(i)
			}
			do(-1)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("search for deadlocks: %w", err)
	}
	return nil
}
