package deadlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// TestProofAgainstSearch checks that the full search finds nothing in proven fabrics, with or
// without failures, and that both say the same links carry traffic.
func TestProofAgainstSearch(t *testing.T) {
	texts := map[string]string{"pods": clos(64, ""), "uneven": strings.Replace(strings.Replace(clos(64, ""), "leaf[17-32]/u[1-16]\", b: \"spine[17-32]/d[1-16]", "leaf[17-31]/u[1-16]\", b: \"spine[17-32]/d[1-15]", 1),
		"spine[1-64]: {os: sonic, role: spine}", "spine[1-64]: {os: sonic, role: spine, ports: {d3: {classes: {rdma: {lossless: false}}}}}", 1)}
	for seed := range *fabrics {
		text, _, _ := strings.Cut(randomFabric(rand.New(rand.NewPCG(uint64(seed), 11))), "routing:\n")
		texts[fmt.Sprintf("random %d", seed)] = text
	}
	proven, idle := 0, 0
	for name, text := range texts {
		a, err := Of(context.Background(), topology.New(load(t, text)))
		if err != nil {
			t.Fatal(err)
		}
		if !a.proven {
			continue
		}
		proven++
		if a.nominal != nil {
			t.Errorf("%s: turns are computed without need", name)
		}
		got, err := a.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		paths, carried := a.Paths(), a.carried()
		want, err := a.run(context.Background(), true, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Cycles)+len(got.Failures)+len(got.Turns) > 0 || len(want.Cycles)+len(want.Failures)+len(want.Turns) > 0 || len(a.nominalTurns()) > 0 {
			t.Errorf("%s: the proof says %+v, the search %+v\n%s", name, got, want, text)
		}
		a.proven = false
		if full := a.carried(); !slices.Equal(carried, full) {
			t.Errorf("%s: arcs carry %v, by their turns %v\n%s", name, carried, full, text)
		}
		if diff := cmp.Diff(a.Paths(), paths); diff != "" {
			t.Errorf("%s: -by turns +by proof\n%s", name, diff)
		}
		if slices.Contains(carried, 0) && slices.Contains(carried, 1) {
			idle++
		}
	}
	if proven < len(texts)/4 || idle < len(texts)/20 {
		t.Errorf("of %d fabrics only %d are proven, and %d have idle links: the test shows little", len(texts), proven, idle)
	}
}

// TestModelIsChosenByPairs checks that the model with fewer unreachable pairs of destinations
// is chosen.
func TestModelIsChosenByPairs(t *testing.T) {
	other := 0
	for seed := range *fabrics {
		text, _, _ := strings.Cut(randomFabric(rand.New(rand.NewPCG(uint64(seed), 12))), "routing:\n")
		a, err := Of(context.Background(), topology.New(load(t, text)))
		if err != nil {
			t.Fatal(err)
		}
		best, lost := "", 0
		for _, model := range []string{"up-down", "shortest"} {
			n, err := compile(a.Graph, model)
			if err != nil {
				t.Fatal(err)
			}
			unrouted := 0
			for _, d := range n.dests {
				st := newRoutes(n).to(d)
				for _, x := range n.dests {
					if st[x]&distance == none && n.sends(x, d) != 0 {
						unrouted++
					}
				}
			}
			if best == "" || unrouted < lost {
				best, lost = model, unrouted
			}
		}
		if a.Model != best || a.unrouted != lost {
			t.Errorf("seed %d: model %s with %d pairs without a path, want %s with %d\n%s", seed, a.Model, a.unrouted, best, lost, text)
		}
		if best != "up-down" {
			other++
		}
	}
	if other == 0 {
		t.Error("no fabric needs the shortest paths: the test shows nothing")
	}
}
