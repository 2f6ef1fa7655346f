package deadlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/roce-fabric/roce-fabric/intent"
)

func analyse(t *testing.T, text string) (*Analysis, *Result) {
	t.Helper()
	a, err := New(context.Background(), load(t, text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return a, r
}

// twoTier returns a fabric of four leaves with a host each and two spines.
func twoTier(leaf, spine, more string) string {
	return head + `switches:
  leaf[1-4]: {os: sonic, role: leaf` + leaf + `}
  spine[1-2]: {os: sonic, role: spine` + spine + `}
hosts:
  gpu[1-4]: {nics: {n0: {}}}
links:
  - {a: "leaf[1-4]/h", b: "gpu[1-4]/n0", cable: 5m, speed: 400G}
  - {a: "leaf[1-4]/u[1-2]", b: "spine[1-2]/d[1-4]", pattern: mesh, cable: 30m, speed: 400G}
` + more
}

const ring = head + `switches:
  s[1-5]: {os: sonic}
hosts:
  gpu[1-5]: {nics: {n0: {}}}
links:
  - {a: "s[1-5]/h", b: "gpu[1-5]/n0", cable: 5m, speed: 400G}
  - {a: "s[1-5]/right", b: "s[2-5,1]/left", cable: 30m, speed: 400G}
`

// TestProof checks that a Clos fabric needs no search, whatever fails.
func TestProof(t *testing.T) {
	a, r := analyse(t, twoTier("", "", ""))
	if a.Model != intent.UpDown || !a.proven || r.Searched != 0 || len(r.Cycles)+len(r.Failures)+len(r.Turns) > 0 {
		t.Errorf("%+v", r)
	}
	s, err := a.run(context.Background(), true, true)
	if err != nil || len(s.Failures) > 0 || s.Searched != 8+6 {
		t.Errorf("the search does not agree with the proof: %+v, %v", s, err)
	}
}

// TestRing checks that the shortest paths of a ring, which is no Clos fabric, form cycles, and
// that each hop names the destination that it waits for.
func TestRing(t *testing.T) {
	a, r := analyse(t, ring)
	if a.Model != intent.Shortest {
		t.Errorf("model %s", a.Model)
	}
	if len(r.Cycles) != 2 || len(r.Cycles[0].Hops) != 5 || len(r.Cycles[1].Hops) != 5 {
		t.Fatalf("a ring has a circle each way: %+v", r.Cycles)
	}
	for _, c := range r.Cycles {
		for i, h := range c.Hops {
			before := c.Hops[(i+4)%5].Switch
			at, to := h.Switch[1]-'0', h.Destination[1]-'0'
			from := before[1] - '0'
			step := (int(at) - int(from) + 5) % 5 // 1 to the right, 4 to the left
			if (int(to)-int(at)+5)%5 != step {
				t.Errorf("%+v: traffic to %s does not go on from %s to %s over %s", h, h.Destination, before, h.Next, h.Switch)
			}
			if h.Class != "bounce, rdma" && h.Class != "rdma, bounce" || h.Link.Line != 14 || len(h.Hosts) != 1 {
				t.Errorf("%+v", h)
			}
		}
	}
}

// TestDefaultUp checks that a spine that sends up what it cannot send down forms a cycle with
// its own leaves when a link fails. The failures are one group with one example, and the
// finding names the exception that allows the turn.
func TestDefaultUp(t *testing.T) {
	a, r := analyse(t, clos(32, "routing:\n  exceptions:\n    - {kind: default-up, switches: [role:spine]}\n"))
	if len(r.Cycles) != 0 || a.proven {
		t.Fatalf("nothing has failed: %+v", r.Cycles)
	}
	var what []string
	for _, g := range r.Failures {
		what = append(what, g.What)
		if len(g.Links) > 0 && len(g.Cycle.Hops) != 2 {
			t.Errorf("%s: %s", g.What, g.Cycle)
		}
	}
	if want := []string{"any of 512 links between leaf[1-32] and spine[1-32]"}; !cmp.Equal(what, want) {
		t.Errorf("got %q, want %q", what, want)
	}
	if len(r.Turns) != 32 || r.Turns[0].Switch != "spine1" || !strings.HasPrefix(r.Turns[0].Failure, "the link leaf") || r.Turns[0].Declared.Line == 0 || r.Turns[0].Destination != "leaf1" {
		t.Errorf("%d turns, first %+v", len(r.Turns), r.Turns[:min(1, len(r.Turns))])
	}
}

// TestDefaultUpAtLeaves checks that a leaf with a default route sends packets for a lost host
// back to its spines, which return them: a cycle of two buffers. A separate class for bounced
// packets does not break it, because looping packets bounce again.
func TestDefaultUpAtLeaves(t *testing.T) {
	const routes = "routing: {exceptions: [{kind: default-up, switches: [role:leaf]%s}]}\n"
	_, r := analyse(t, twoTier("", "", fmt.Sprintf(routes, "")))
	if len(r.Cycles) != 0 || len(r.Failures) != 1 || r.Failures[0].What != "any of 4 links to hosts of leaf[1-4]" || len(r.Failures[0].Cycle.Hops) != 2 {
		t.Errorf("%+v %+v", r.Cycles, r.Failures)
	}
	if len(r.Turns) != 4 || r.Turns[0].Switch != "leaf1" || r.Turns[0].Failure != "the link leaf1/h - gpu1/n0" || r.Turns[0].Declared.Line == 0 {
		t.Errorf("%+v", r.Turns)
	}
	only := ", ports: {h: {classes: {bounce: {lossless: false}}}}"
	_, r = analyse(t, twoTier(only, "", fmt.Sprintf(routes, ", remap: [{class: rdma, as: bounce}]")))
	if len(r.Failures) != 1 || r.Failures[0].Cycle.Class() != "bounce" {
		t.Errorf("what loops bounces again, in the class it has by then: %+v", r.Failures)
	}
}

const dualToR = `routing:
  tunnels: [{from: "leaf[1,2]", to: "leaf[2,1]"%s}]
`

// TestDualToR checks that the tunnel of a dual ToR, which turns traffic from above up again,
// forms a cycle if it keeps the class, and none if it remaps it.
func TestDualToR(t *testing.T) {
	a, r := analyse(t, twoTier("", "", fmt.Sprintf(dualToR, "")))
	if len(r.Cycles) == 0 || len(r.Cycles[0].Hops) != 4 {
		t.Errorf("%+v", r.Cycles)
	}
	if got := a.Paths().Kept; len(got) != 4 || got[0].Switch != "leaf1" || got[0].To != "leaf2" || got[0].Pos.Line == 0 {
		t.Errorf("%+v", got)
	}
	// The bounce class is lossless only between switches, at both ends.
	only := ", ports: {h: {classes: {bounce: {lossless: false}}}}"
	a, r = analyse(t, twoTier(only, "", fmt.Sprintf(dualToR, ", remap: [{class: rdma, as: bounce}]")))
	if len(r.Cycles) != 0 || len(r.Failures) != 0 {
		t.Errorf("%+v %+v", r.Cycles, r.Failures)
	}
	p := a.Paths()
	if len(p.Kept) != 0 {
		t.Errorf("%+v", p.Kept)
	}
	// Leaves 3 and 4 have no tunnel, so no traffic of the class goes there.
	var idle []string
	for _, h := range p.Idle {
		idle = append(idle, fmt.Sprintf("%s %s %v", h.Class, h.Switch, h.Ports))
	}
	slices.Sort(idle)
	if want := []string{"bounce leaf3 [u1 u2]", "bounce leaf4 [u1 u2]", "bounce spine1 [d3 d4]", "bounce spine2 [d3 d4]"}; !cmp.Equal(idle, want) {
		t.Errorf("got %q", idle)
	}
	if len(p.Lossy) != 0 {
		t.Errorf("%+v", p.Lossy)
	}
	// A port that a tunnel uses is not idle, whichever direction it carries.
	one := strings.NewReplacer("leaf[1,2]", "leaf1", "leaf[2,1]", "leaf2").Replace(fmt.Sprintf(dualToR, ", remap: [{class: rdma, as: bounce}]"))
	a, _ = analyse(t, twoTier(only, "", one))
	for _, h := range a.Paths().Idle {
		if h.Switch == "leaf1" || h.Switch == "leaf2" || slices.Contains(h.Ports, "d1") || slices.Contains(h.Ports, "d2") {
			t.Errorf("idle: %+v", h)
		}
	}
}

// TestCycleClasses checks that a cycle shows the class of each buffer if the classes differ.
func TestCycleClasses(t *testing.T) {
	c := Cycle{Hops: []Hop{{Switch: "a", In: "p0", Class: "rdma", Next: "b", Destination: "c", Out: "p1"}, {Switch: "b", In: "p2", Class: "rdma", Next: "a", Destination: "c", Out: "p3"}}}
	const one = "a p0 waits for b, which traffic to c leaves by p1; b p2 waits for a, which traffic to c leaves by p3"
	if c.Class() != "rdma" || c.String() != one {
		t.Errorf("class %q: %s", c.Class(), c)
	}
	c.Hops[1].Class = "bounce"
	const two = "a p0 (class rdma) waits for b, which traffic to c leaves by p1; b p2 (class bounce) waits for a, which traffic to c leaves by p3"
	if c.Class() != "" || c.String() != two {
		t.Errorf("class %q: %s", c.Class(), c)
	}
}

// TestPaths checks that a port without PFC or ECN on a path is found, with the line that
// configures it.
func TestPaths(t *testing.T) {
	a, _ := analyse(t, twoTier("", ", ports: {d2: {classes: {rdma: {lossless: false, ecn: auto}}}}, classes: {bounce: {ecn: off}}", ""))
	p := a.Paths()
	if len(p.Lossy) != 2 || p.Lossy[0].Class != "rdma" || p.Lossy[0].Switch != "spine1" || !cmp.Equal(p.Lossy[0].Ports, []string{"d2"}) || p.Lossy[0].From.Pos.Line != 10 || p.Lossy[0].Others != 18 {
		t.Errorf("%+v", p.Lossy)
	}
	if len(p.Unmarked) != 2 || p.Unmarked[0].Class != "bounce" || !cmp.Equal(p.Unmarked[0].Ports, []string{"d1", "d2", "d3", "d4"}) || p.Unmarked[0].Others != 12 || p.Unmarked[1].Switch != "spine2" {
		t.Errorf("%+v", p.Unmarked)
	}
	a, _ = analyse(t, twoTier("", "", ""))
	if p := a.Paths(); len(p.Lossy)+len(p.Unmarked)+len(p.Idle)+len(p.Kept) > 0 {
		t.Errorf("%+v", p)
	}
}

// TestIslands checks that islands that share no switch do not leak, and that two over the same
// spines do.
func TestIslands(t *testing.T) {
	const islands = "islands:\n  a: {hosts: [\"gpu[1-2]\"], switches: [\"leaf[1-2]\", spine1]}\n  b: {hosts: [gpu3, gpu4]%s}\n"
	a, _ := analyse(t, twoTier("", "", fmt.Sprintf(islands, "")))
	got, err := a.Islands(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := Islands{Crossings: []Leak{{Island: "a", Pos: intent.Pos{File: "<stdin>", Line: 17, Column: 3}, Switch: "spine2", Ports: []string{"d1", "d2"}, Classes: "bounce, rdma"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The traffic of gpu1 and gpu4 meets that of other hosts on every uplink.
	a, _ = analyse(t, twoTier("", "", "islands:\n  a: {hosts: [gpu1, gpu2], classes: [rdma]}\n"))
	if got, err = a.Islands(context.Background()); err != nil || len(got.Crossings)+len(got.Sharings) > 0 {
		t.Errorf("%+v %v", got, err)
	}
	shared := strings.Replace(twoTier("", "", "islands:\n  a: {hosts: [gpu1, gpu2], classes: [rdma]}\n  b: {hosts: [gpu3, gpu4]}\n"), "\"leaf[1-4]/h\"", "\"leaf[1,2,1,2]/h[1-4]\"", 1)
	shared = strings.Replace(shared, "leaf[1,2,1,2]/h[1-4]\", b: \"gpu[1-4]/n0\"", "leaf[1-2]/h[1-2]\", b: \"gpu[1,3,2,4]/n0\"", 1)
	a, _ = analyse(t, shared)
	if got, err = a.Islands(context.Background()); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range got.Sharings {
		lines = append(lines, fmt.Sprintf("%s %s %s %v %s", s.Island, s.Other, s.Switch, s.Ports, s.Classes))
	}
	if want := []string{"a b leaf1 [u1 u2] rdma", "a b leaf2 [u1 u2] rdma", "a b spine1 [d1 d2] rdma", "a b spine2 [d1 d2] rdma"}; !cmp.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}

// TestCancel checks that a search stops with an error when its context is cancelled.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	a, err := New(ctx, load(t, ring))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := a.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := New(ctx, load(t, ring)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestWithoutHosts checks that a fabric without hosts in the intent has destinations at its
// leaves.
func TestWithoutHosts(t *testing.T) {
	text := strings.Replace(twoTier("", "", ""), "  - {a: \"leaf[1-4]/h\", b: \"gpu[1-4]/n0\", cable: 5m, speed: 400G}\n", "", 1)
	a, _ := analyse(t, text)
	if len(a.n.dests) != 4 || a.Model != intent.UpDown || a.unrouted != 0 {
		t.Errorf("%d destinations, model %s, %d pairs without a path", len(a.n.dests), a.Model, a.unrouted)
	}
}
