package deadlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSwaps checks that the turns of a few destinations, mapped by swaps, are the turns of all
// destinations.
func TestSwaps(t *testing.T) {
	texts := map[string]string{
		"pods": clos(64, ""), "shortest": clos(48, "routing: {model: shortest}\n"),
		"up again":       clos(48, "routing: {exceptions: [{kind: up-again, switches: [role:leaf], remap: [{class: rdma, as: bounce}]}]}\n"),
		"one odd switch": clos(48, "routing: {exceptions: [{kind: up-again, switches: [spine3, leaf20]}]}\n"),
		"two tiers":      twoTier("", "", ""), "tunnels": twoTier("", "", fmt.Sprintf(dualToR, "")), "ring": ring,
		// The second pod lacks a link, and the third has a lossy one.
		"uneven": strings.Replace(strings.Replace(clos(64, ""), "leaf[17-32]/u[1-16]\", b: \"spine[17-32]/d[1-16]", "leaf[17-31]/u[1-16]\", b: \"spine[17-32]/d[1-15]", 1),
			"spine[1-64]: {os: sonic, role: spine}", "spine[1-64]: {os: sonic, role: spine, ports: {d3: {classes: {rdma: {lossless: false}}}}}", 1),
	}
	for seed := range *fabrics {
		texts[fmt.Sprintf("random %d", seed)] = randomFabric(rand.New(rand.NewPCG(uint64(seed), 9)))
	}
	shared := 0
	for name, text := range texts {
		a, err := New(context.Background(), load(t, text))
		if err != nil {
			t.Fatal(err)
		}
		n, w, want := a.n, a.worker(), newMatrix(a.n)
		unrouted := 0
		for _, d := range n.dests {
			st := newRoutes(n).compute(d, w)
			w.turns(want, st, nothing, d, true)
			for _, x := range n.dests {
				if st[x]&distance == none && n.sends(x, d) != 0 {
					unrouted++
				}
			}
		}
		for i := range n.tunnels {
			x := &n.tunnels[i]
			w.tunnel(want, x, w.before(x.from), w.before(x.to), nothing)
		}
		if !slices.Equal(want.bits, a.nominal.bits) || unrouted != a.unrouted {
			t.Errorf("%s: not the turns of each destination, or %d pairs without a route and not %d\n%s", name, a.unrouted, unrouted, text)
		}
		if fams, _ := n.families(); len(fams) < len(n.dests) {
			shared++
		}
	}
	if shared < len(texts)/16 { // about a tenth of the random ones
		t.Errorf("only %d of %d fabrics have destinations that are alike: the test shows little", shared, len(texts))
	}
}

// TestFamilies checks that equal pods form one family, so that the work grows only with the
// links.
func TestFamilies(t *testing.T) {
	for _, leaves := range []int{64, 256} {
		a, err := New(context.Background(), load(t, clos(leaves, "")))
		if err != nil {
			t.Fatal(err)
		}
		if fams, swaps := a.n.families(); len(fams) != 1 || len(swaps) != leaves-1 {
			t.Errorf("%d leaves are %d families, with %d swaps", leaves, len(fams), len(swaps))
		}
	}
}
