package deadlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlastRadius(t *testing.T) {
	a, _ := analyse(t, twoTier(", ports: {h: {classes: {bounce: {lossless: false}}}}", "", "islands:\n  a: {hosts: [gpu1, gpu2]}\n"))
	r, err := a.BlastRadius("gpu1", "n0")
	if err != nil {
		t.Fatal(err)
	}
	// Spine ports to the other leaves are not paused: their traffic does not go to leaf1. Nor are
	// ports of leaves 3 and 4, whose hosts are in no island.
	want := `gpu1/n0 can pause 5 switch ports of 20 and 1 of the other 3 NICs, classes rdma
  tier 0 (leaf): 3 ports on 2 of 4 switches
  tier 1 (spine): 2 ports on 2 of 2 switches
  0 paused NICs outside island a
  distance 0: 1 port of leaf1
  distance 1: 2 ports of spine1,spine2
  distance 2: 2 ports of leaf2
  distance 3: 1 NIC of gpu2`
	if diff := cmp.Diff(want, strings.Join(r.Lines(), "\n")); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ host, nic, want string }{
		{"nobody", "n0", `no host "nobody"`},
		{"gpu1", "n1", `no NIC "n1" at host "gpu1"`},
	} {
		if _, err := a.BlastRadius(c.host, c.nic); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestBlastRadiusAgainstBruteForce checks that a storm reaches the same ports, at the same
// distance, as an exhaustive search against the dependencies finds.
func TestBlastRadiusAgainstBruteForce(t *testing.T) {
	reachedMany := 0
	for seed := range 150 {
		text := randomFabric(rand.New(rand.NewPCG(uint64(seed), 2)))
		if strings.Contains(text, "tunnels:") {
			continue // only the search follows what a tunnel delivers
		}
		a, err := New(context.Background(), load(t, text))
		if err != nil {
			t.Fatal(err)
		}
		b := newBrute(a)
		waits := b.waits()
		for _, h := range a.Graph.Fabric.Hosts {
			r, err := a.BlastRadius(h.Name, "n0")
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, p := range r.Ports[len(r.Classes):] {
				for _, c := range strings.Split(p.Class, ", ") {
					got[p.Switch+"/"+p.Port+" "+c] = p.Distance
				}
			}
			want := b.storm(a, h.Name, waits)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %s: -exhaustive +search\n%s\n%s", seed, h.Name, diff, text)
			}
			if len(want) > 4 {
				reachedMany++
			}
		}
	}
	if reachedMany < 50 {
		t.Errorf("only %d storms reach more than four ports: the test shows little", reachedMany)
	}
}

// storm returns the paused ports, with their class and distance.
func (b *brute) storm(a *Analysis, host string, waits map[wait]bool) map[string]int {
	h := b.f.Host(host).NICs[0]
	leaf := h.Link.A.Device
	if leaf == host {
		leaf = h.Link.B.Device
	}
	paused := b.f.Switch(leaf).Port("h").Settings.Lossless()
	// Begin with packets from every host switch.
	var begin []packet
	for _, s := range b.f.Switches {
		for _, c := range b.sends(s.Name, leaf).List() {
			begin = append(begin, packet{s.Name, nil, c})
		}
	}
	dist := map[buffer]int{}
	var queue []buffer
	for p := range b.walk(b.routes(leaf), begin, map[wait]bool{}) {
		if p.at == leaf && p.link != nil && paused.Has(p.class) && b.lossless(p.link, p.class) {
			v := buffer(p)
			dist[v] = 1
			queue = append(queue, v)
		}
	}
	for i := 0; i < len(queue); i++ {
		for w := range waits {
			if _, ok := dist[w.u]; !ok && w.v == queue[i] {
				dist[w.u] = dist[queue[i]] + 1
				queue = append(queue, w.u)
			}
		}
	}
	out := map[string]int{}
	for v, d := range dist {
		e := v.link.A
		if e.Device == v.at {
			e = v.link.B
		}
		name := ""
		for _, c := range a.Graph.Fabric.Settings.Classes {
			if c.Priority.V == v.class {
				name = c.Name
			}
		}
		out[fmt.Sprintf("%s %s", e, name)] = d
	}
	return out
}
