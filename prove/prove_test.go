package prove

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/intent"
)

// fabric loads the intent of a fabric with leaves of these numbers of hosts, each with so many NICs,
// one spine, and more text. NIC r of a host is linked to its leaf, or with rails to leaf r of its
// group.
func fabric(t testing.TB, leaves []int, nics int, rails bool, more string) *intent.Fabric {
	t.Helper()
	var b strings.Builder
	b.WriteString("apiVersion: roce-fabric/v1\nkind: Fabric\nname: lab\nmtu: {fabric: 9100, host: 9000, rdma: 4096}\n")
	if !strings.Contains(more, "classes:") {
		b.WriteString("classes:\n  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%}\n  cnp: {priority: 6, dscp: [48], strict: true}\n  default: {priority: 0, dscp: rest, bandwidth: 40%}\n")
	}
	b.WriteString(more + "switches:\n  spine1: {os: eos, role: spine, address: 192.0.2.1}\n")
	var hosts, links strings.Builder
	n, h, up := 1, 0, 1
	for _, m := range leaves {
		many := 1
		if rails {
			many = nics
		}
		for i := range many {
			fmt.Fprintf(&b, "  leaf%d: {os: eos, role: leaf, address: 192.0.%d.%d}\n", n+i, 3+(n+i)/250, (n+i)%250+1)
			fmt.Fprintf(&links, "  - {a: leaf%d/Ethernet1000, b: spine1/Ethernet%d, speed: 400G, cable: 5m}\n", n+i, up)
			up++
		}
		for j := range m {
			h++
			fmt.Fprintf(&hosts, "  gpu%d: {address: 198.51.%d.%d, nics: {", h, h/250, h%250+1)
			for r := range nics {
				leaf, port := n, j*nics+r+1
				if rails {
					leaf, port = n+r, j+1
				}
				fmt.Fprintf(&hosts, "rail%d: {rdma: mlx5_%d}, ", r, r)
				fmt.Fprintf(&links, "  - {a: leaf%d/Ethernet%d, b: gpu%d/rail%d, speed: 400G, cable: 5m}\n", leaf, port, h, r)
			}
			hosts.WriteString("}}\n")
		}
		n += many
	}
	b.WriteString("hosts:\n" + hosts.String() + "links:\n" + links.String())
	path := filepath.Join(t.TempDir(), "fabric.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(path, intent.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return f
}

func network4(t testing.TB, f *intent.Fabric) *network {
	t.Helper()
	n, err := newNetwork(f)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Whatever the numbers of hosts are, all rounds of within and across together have each pair of
// NICs of a rail once, and in a round each NIC has one partner.
func TestTournament(t *testing.T) {
	for _, tt := range []struct {
		leaves []int
		nics   int
		rails  bool
	}{
		{[]int{2}, 1, false}, {[]int{2, 2}, 1, false}, {[]int{5, 3, 1}, 1, false}, {[]int{4, 4, 4}, 2, false}, {[]int{1, 1}, 1, false},
		{[]int{4, 3}, 3, true}, {[]int{6}, 2, true}, {[]int{7, 2, 9, 4, 1}, 1, false},
	} {
		n := network4(t, fabric(t, tt.leaves, tt.nics, tt.rails, ""))
		hosts := 0
		for _, m := range tt.leaves {
			hosts += m
		}
		met := map[string]int{}
		for _, p := range []Pattern{Within, Across} {
			for round := range n.rounds(p, 0) {
				busy := map[*End]bool{}
				for x := range n.pairs(p, 0, round) {
					if busy[x.from] || busy[x.to] || x.from == x.to {
						t.Errorf("%v: %s, round %d: %s or %s has two partners", tt, p, round, x.from, x.to)
					}
					if (x.from.Leaf == x.to.Leaf) != (p == Within) {
						t.Errorf("%v: %s has %s and %s, at %s and %s", tt, p, x.from, x.to, x.from.Leaf, x.to.Leaf)
					}
					busy[x.from], busy[x.to] = true, true
					l := []string{x.from.String(), x.to.String()}
					slices.Sort(l)
					met[strings.Join(l, " ")]++
				}
			}
		}
		if want := tt.nics * hosts * (hosts - 1) / 2; len(met) != want {
			t.Errorf("%v: %d pairs, want %d", tt, len(met), want)
		}
		for l, times := range met {
			if times != 1 {
				t.Errorf("%v: %s met %d times", tt, l, times)
			}
		}
	}
}

// In an incast each receiver has k senders, which send to no other, and each leaf has its turn.
func TestFans(t *testing.T) {
	n := network4(t, fabric(t, []int{4, 4, 3, 5}, 1, false, ""))
	for _, p := range []Pattern{Incast, Outcast} {
		for _, k := range []int{2, 3, 7, 15} {
			leaves := map[string]bool{}
			for round := range n.rounds(p, k) {
				one, many := map[*End]int{}, map[*End]bool{}
				for x := range n.pairs(p, k, round) {
					hub, other := x.to, x.from
					if p == Outcast {
						hub, other = x.from, x.to
					}
					if many[other] || !x.oneWay {
						t.Errorf("%d %s, round %d: %s has two tasks", k, p, round, other)
					}
					one[hub]++
					many[other] = true
					leaves[hub.Leaf] = true
				}
				for hub, got := range one {
					if got != k || many[hub] {
						t.Errorf("%d %s, round %d: %s has %d partners", k, p, round, hub, got)
					}
				}
			}
			if len(leaves) != 4 {
				t.Errorf("%d %s: at %d of 4 leaves", k, p, len(leaves))
			}
		}
	}
	if got := n.rounds(Incast, 16); got != 0 {
		t.Errorf("%d rounds of an incast of all 16 NICs at one", got)
	}
}

func TestAllToAll(t *testing.T) {
	n := network4(t, fabric(t, []int{10, 10}, 1, false, ""))
	partners := map[*End]int{}
	leaves := map[string]bool{}
	for x := range n.pairs(AllToAll, 0, 0) {
		partners[x.from]++
		partners[x.to]++
		leaves[x.from.Leaf+" "+x.to.Leaf] = true
	}
	if len(partners) != 20 || !leaves["leaf1 leaf2"] {
		t.Errorf("%d of 20 NICs take part, between leaves: %v", len(partners), leaves)
	}
	for e, m := range partners {
		if m >= mostTogether || m < 5 {
			t.Errorf("%s has %d partners", e, m)
		}
	}
}

func planOf(t testing.TB, f *intent.Fabric, total time.Duration) *Plan {
	t.Helper()
	p, err := NewPlan(f, Options{For: total, Each: 10 * time.Second, Tool: "test", Now: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A plan never takes longer than asked, has each kind of round, and says what it lacks.
func TestBudget(t *testing.T) {
	f := fabric(t, []int{8, 8, 8}, 1, false, "")
	all := planOf(t, f, 24*time.Hour)
	for _, s := range all.Stages {
		if s.Rounds != s.Of || s.Pairs != s.OfPairs {
			t.Errorf("%s: %d of %d rounds, %d of %d pairs, in a day", s.Name(), s.Rounds, s.Of, s.Pairs, s.OfPairs)
		}
	}
	for _, total := range []time.Duration{4 * time.Minute, 10 * time.Minute, 20 * time.Minute} {
		p := planOf(t, f, total)
		if p.Seconds > int(total.Seconds()) || len(p.Stages) != len(all.Stages) {
			t.Errorf("%s: %d s, %d of %d stages", total, p.Seconds, len(p.Stages), len(all.Stages))
		}
		lacks := 0
		for _, s := range p.Stages {
			if s.Rounds < 1 {
				t.Errorf("%s: %s has no round", total, s.Name())
			}
			if s.Rounds < s.Of {
				lacks++
			}
		}
		if got := len(p.NotCovered) - 2; got != lacks {
			t.Errorf("%s: %d stages lack rounds, %d are said: %q", total, lacks, got, p.NotCovered)
		}
		within := p.Stages[slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Pattern == Within && s.Measure > 0 })]
		if within.Rounds == 1 && p.Stages[1].Rounds > 1 {
			t.Errorf("%s: latency across leaves comes before pairs within leaves", total)
		}
	}
	if _, err := NewPlan(f, Options{For: time.Minute, Each: 10 * time.Second}); err == nil || !strings.Contains(err.Error(), "60s allowed") {
		t.Errorf("a minute: %v", err)
	}
}

// Classes are loaded alone, together, and beside a lossy one, with the DSCP of the hosts; the fan-in is
// what the intent states.
func TestStages(t *testing.T) {
	p := planOf(t, fabric(t, []int{4, 4}, 1, false, `buffers: {fanIn: 5}
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 40%}
  storage: {priority: 4, dscp: [28, 29], lossless: true, bandwidth: 20%}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
roles: {leaf: {classes: {storage: {hostDSCP: 29}}}}
`), time.Hour)
	var got []string
	fans := map[int]bool{}
	for _, s := range p.Stages {
		if s.Pattern == Across && s.Size == 64<<10 {
			got = append(got, strings.Join(s.Classes, "+"))
		}
		fans[s.K] = true
	}
	if want := []string{"rdma", "storage", "rdma+storage", "rdma+storage+default"}; !slices.Equal(got, want) {
		t.Errorf("classes %q, want %q", got, want)
	}
	if !fans[2] || !fans[4] || !fans[5] || fans[7] || fans[8] {
		t.Errorf("incasts of %v, and the intent states 5", fans)
	}
	together := p.Stages[slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Background })]
	marks, ports := map[int]int{}, map[string]bool{}
	for f := range p.Flows(together, 0) {
		marks[f.Options.TClass]++
		if at := fmt.Sprint(f.To.Host, f.Options.Port); ports[at] {
			t.Errorf("two servers at %s", at)
		} else {
			ports[at] = true
		}
		f.Options.Device = "mlx5_0"
		if err := f.Options.Check(); err != nil {
			t.Error(err)
		}
	}
	if len(marks) != 3 || marks[26<<2|2] != 8 || marks[29<<2|2] != 8 || marks[2] != 8 {
		t.Errorf("flows by traffic class: %v", marks)
	}
}

func TestNothingToProve(t *testing.T) {
	for more, want := range map[string]string{
		"classes: {default: {priority: 0, dscp: rest, bandwidth: 100%}}\n": "no class of lab carries RDMA",
	} {
		if _, err := NewPlan(fabric(t, []int{2}, 1, false, more), Options{For: time.Hour, Each: 10 * time.Second}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", more, err)
		}
	}
	if _, err := NewPlan(fabric(t, []int{1}, 1, false, ""), Options{For: time.Hour, Each: 10 * time.Second}); err == nil || !strings.Contains(err.Error(), "no two NICs") {
		t.Errorf("one host: %v", err)
	}
}

// A saved plan is bound to its intent, and shows each edit.
func TestSaved(t *testing.T) {
	f := fabric(t, []int{3, 2}, 1, false, "")
	p := planOf(t, f, time.Hour)
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.json")
	ring, err := keys.Open(filepath.Join(dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := p.Save(path, ring)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenPlan(path)
	if err != nil || s.Digest != digest || s.SignedBy == "" || s.Verify(ring) != nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := s.Verify(keys.None()); !errors.Is(err, keys.ErrUnknown) {
		t.Errorf("a ring that trusts nobody: %v", err)
	}
	if err := s.Bind(f); err != nil {
		t.Error(err)
	}
	flows := 0
	for _, st := range s.Stages {
		for range s.Flows(st, 0) {
			flows++
		}
	}
	if flows == 0 {
		t.Error("a plan that was read has no flows")
	}
	for name, other := range map[string]*intent.Fabric{"an edit": fabric(t, []int{3, 3}, 1, false, "")} {
		if err := s.Bind(other); err == nil {
			t.Errorf("bound to the intent after %s", name)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(text); i += 5 {
		for _, edited := range [][]byte{slices.Concat(text[:i], []byte{text[i] ^ 1}, text[i+1:]), text[:i]} {
			if err := os.WriteFile(path, edited, 0o600); err != nil {
				t.Fatal(err)
			}
			if s, err := OpenPlan(path); err == nil && s.Verify(ring) == nil && (s.Digest != digest || len(edited) != len(text)-1 && len(edited) != len(text)) {
				t.Fatalf("byte %d of %d can be changed or the rest cut off", i, len(text))
			}
		}
	}
	unsigned := filepath.Join(dir, "unsigned.json")
	if _, err := p.Save(unsigned, nil); err != nil {
		t.Fatal(err)
	}
	if s, err := OpenPlan(unsigned); err != nil || !errors.Is(s.Verify(ring), keys.ErrUnsigned) {
		t.Errorf("an unsigned plan: %v", err)
	}
	// A plan that asks for rounds that this version does not make.
	s.Stages[0].Rounds = s.Stages[0].Of + 1
	if s.Bind(f) == nil {
		t.Error("bound with more rounds than there are")
	}
}

// BenchmarkPlan plans 512 hosts with 8 NICs each, against the time to load that intent.
func BenchmarkPlan(b *testing.B) {
	leaves := slices.Repeat([]int{16}, 32)
	f := fabric(b, leaves, 8, true, "")
	b.ReportAllocs()
	for b.Loop() {
		planOf(b, f, 30*time.Minute)
	}
}
