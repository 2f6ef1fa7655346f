package deadlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRepair checks that routes repaired after a failure equal routes computed from scratch,
// and that no traffic takes a new path if the repair says so.
func TestRepair(t *testing.T) {
	repaired, newWays := 0, 0
	for seed := range 2 * *fabrics {
		text := randomFabric(rand.New(rand.NewPCG(uint64(seed), 3)))
		a, err := New(context.Background(), load(t, text))
		if err != nil {
			t.Fatal(err)
		}
		n, w := a.n, a.worker()
		w.prepare(a)
		whole := make([]uint16, len(n.g.Switches))
		var fs []failure
		for i := range n.g.Bundles {
			fs = append(fs, lostLink(int32(i)))
		}
		for i := range n.g.Switches {
			fs = append(fs, lostSwitch(int32(i)))
		}
		for _, i := range n.defaulters {
			fs = append(fs, lostHost(i))
		}
		for _, f := range fs {
			for i, d := range n.dests {
				if d == f.sw {
					continue
				}
				copy(w.st, w.before(d))
				newWay := w.repair(d, f, w.st)
				if f.sw >= 0 {
					w.st[f.sw] = none
				}
				n.route(d, f, w.before(d), whole, w)
				flags := uint16(reached)
				if n.shortest { // who announces a route does not matter with this model
					flags |= announced
				}
				for s := range whole {
					if x, y := w.st[s]&^flags, whole[s]&^flags; x != y && !(x&distance == none && y&distance == none) {
						t.Fatalf("seed %d, %v, to %s: %s has %x, from nothing %x\n%s", seed, f, n.g.Name(d), n.g.Name(int32(s)), x, y, text)
					}
				}
				if len(w.lost) > 0 {
					repaired++
				}
				if newWay {
					newWays++
					continue
				}
				w.reset()
				w.follow(i, whole, f)
				for _, s := range w.touched {
					if more := w.beyond(a, s, d); more != "" {
						t.Fatalf("seed %d, %v, to %s: no new ways, and yet %s\n%s", seed, f, n.g.Name(d), more, text)
					}
				}
			}
		}
	}
	if repaired < 1000 || newWays < 300 {
		t.Errorf("only %d routes were repaired, %d with new ways: the test shows little", repaired, newWays)
	}
}

// beyond describes a turn at switch s under the failure that traffic to d does not take without
// it.
func (w *worker) beyond(a *Analysis, s, d int32) string {
	n := w.n
	fresh := a.worker()
	fresh.prepare(a)
	fresh.fromHosts(d, w.before(d), nothing)
	fresh.turns(fresh.seen, w.before(d), nothing, d, true)
	arcs := n.g.Out(s)
	for plane := range n.numPlanes {
		for in := range len(arcs) + 1 {
			x, y := w.seen.at(int8(plane), s, int32(in)), fresh.seen.at(int8(plane), s, int32(in))
			for i := range x {
				if x[i]&^y[i] != 0 {
					return fmt.Sprintf("%s turns from %d to %b", n.g.Name(s), in, x[i]&^y[i])
				}
			}
		}
	}
	return ""
}

// TestAlike checks that switches and links share an orbit only if they are the same in every
// respect.
func TestAlike(t *testing.T) {
	count := func(more string) (links, switches int) {
		a, err := New(context.Background(), load(t, twoTier("", "", more)))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range a.n.orbits(false) {
			switch {
			case len(o.bundles) > 0:
				links++
			case len(o.sws) > 0:
				switches++
			}
		}
		return links, switches
	}
	for _, c := range []struct {
		more            string
		links, switches int
	}{
		{"", 1, 2},
		{"routing: {exceptions: [{kind: up-again, switches: [leaf1]}]}\n", 2, 3},
		{"routing: {exceptions: [{kind: default-up, switches: [leaf1, leaf2]}]}\n", 2, 3},
		{"routing: {exceptions: [{kind: up-again, switches: [leaf1]}, {kind: up-again, switches: [leaf2], remap: [{class: rdma, as: bounce}]}]}\n", 3, 4},
		{"routing: {tunnels: [{from: leaf1, to: leaf2}]}\n", 3, 4},
	} {
		if l, s := count(c.more); l != c.links || s != c.switches {
			t.Errorf("%s%d kinds of links and %d of switches, want %d and %d", c.more, l, s, c.links, c.switches)
		}
	}
	// A leaf whose uplink does not pause differs from its neighbours.
	a, err := New(context.Background(), load(t, twoTier(", ports: {u1: {classes: {rdma: {lossless: false}}}}", "", "")))
	if err != nil {
		t.Fatal(err)
	}
	if o := a.n.orbits(false); len(o) != 2+3 || !slices.ContainsFunc(o, func(o orbit) bool { return len(o.sws) == 4 }) {
		t.Errorf("%+v", o)
	}
}
