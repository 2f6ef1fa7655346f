package order

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// classes returns a map of code points to priorities; code points not in of get 0.
func classes(of map[int]int8) *[qos.NumDSCP]int8 {
	var v [qos.NumDSCP]int8
	for d, p := range of {
		v[d] = p
	}
	return &v
}

// random returns a random fabric of two to four devices.
func random(r *rand.Rand) ([]*Device, []*intent.Link) {
	var pool Pool
	maps := []*[qos.NumDSCP]int8{nil, classes(map[int]int8{26: 3}), classes(map[int]int8{24: 3}), classes(map[int]int8{24: 3, 26: 3}), classes(map[int]int8{26: 4})}
	sends := []uint64{1 << 26, 1 << 24, 1<<24 | 1<<26, 0}
	var devices []*Device
	for i := range 2 + r.IntN(3) {
		d := &Device{Name: fmt.Sprintf("d%d", i), Host: r.IntN(3) == 0, Kind: fmt.Sprint("kind", r.IntN(3)), Rank: r.IntN(3), First: r.IntN(6) == 0}
		for range 1 + min(r.IntN(5), 1) {
			s := State{Ports: map[string]Port{}}
			if d.Host {
				s.Sends = sends[r.IntN(len(sends))]
			}
			for p := range 4 {
				s.Ports[fmt.Sprint(p)] = Port{PFC: []qos.PrioritySet{8, 16, 24, 8, 0}[r.IntN(4+len(d.States))], MTU: []int{0, 1500, 9000, 9216}[r.IntN(4)], Classes: maps[r.IntN(len(maps))]}
			}
			d.States = append(d.States, pool.State(s))
		}
		devices = append(devices, d)
	}
	var links []*intent.Link
	for i := range devices {
		for j := range i {
			if r.IntN(3) > 0 {
				links = append(links, &intent.Link{A: intent.Endpoint{Device: devices[i].Name, Port: fmt.Sprint(j)}, B: intent.Endpoint{Device: devices[j].Name, Port: fmt.Sprint(i)}})
			}
		}
	}
	return devices, links
}

// brute evaluates a fabric by brute force, without the optimizations of the package.
type brute struct {
	devices []*Device
	links   []*intent.Link
}

func (b *brute) at(name string, pos []int) (*Device, State) {
	for i, d := range b.devices {
		if d.Name == name {
			return d, d.States[pos[i]]
		}
	}
	return nil, State{}
}

// fault is a fault of one port, or of one priority of a link.
type fault struct{ check, device, port, class string }

// faults returns the faults of one state of the fabric. pos holds the state of each device.
func (b *brute) faults(pos []int) map[fault]bool {
	out := map[fault]bool{}
	var sends [qos.NumDSCP]map[string]bool // the sending hosts, by code point
	mtu := 0
	for i, d := range b.devices {
		if !d.Host {
			continue
		}
		for code := range sends {
			if d.States[pos[i]].Sends>>code&1 == 1 {
				if sends[code] == nil {
					sends[code] = map[string]bool{}
				}
				sends[code][d.Name] = true
			}
		}
		for _, p := range d.States[pos[i]].Ports {
			mtu = max(mtu, p.MTU)
		}
	}
	for _, l := range b.links {
		da, sa := b.at(l.A.Device, pos)
		db, sb := b.at(l.B.Device, pos)
		pa, pb := sa.Ports[l.A.Port], sb.Ports[l.B.Port]
		for p := range qos.NumPriorities {
			if pa.PFC.Has(p) != pb.PFC.Has(p) {
				out[fault{"PFC", l.A.String(), l.B.String(), fmt.Sprint(p)}] = true
			}
		}
		for _, way := range []struct {
			from, to *Device
			pf, pt   Port
			e        intent.Endpoint
		}{{da, db, pa, pb, l.B}, {db, da, pb, pa, l.A}} {
			for code := range sends {
				by := sends[code]
				on := len(by) > 1 || len(by) == 1 && !by[way.to.Name]
				if way.from.Host {
					on = by[way.from.Name]
				}
				if !on || way.pf.Classes == nil || way.pt.Classes == nil {
					continue
				}
				f, t := way.pf.Classes[code], way.pt.Classes[code]
				if f != t || !way.pf.PFC.Has(int(f)) || !way.pt.PFC.Has(int(t)) {
					out[fault{"CLS", way.e.Device, way.e.Port, ""}] = true
				}
			}
			if !way.to.Host && way.pt.MTU != 0 && way.pt.MTU < mtu {
				out[fault{"MTU", way.e.Device, way.e.Port, ""}] = true
			}
		}
	}
	return out
}

func (b *brute) allowed() map[fault]bool {
	first, last := make([]int, len(b.devices)), make([]int, len(b.devices))
	for i, d := range b.devices {
		last[i] = len(d.States) - 1
	}
	out := b.faults(first)
	maps.Copy(out, b.faults(last))
	return out
}

// unused reports whether fault f affects no traffic in the state pos.
func (b *brute) unused(f fault, pos []int) bool {
	last := make([]int, len(b.devices))
	sends := uint64(0)
	for i, d := range b.devices {
		last[i] = len(d.States) - 1
		if d.Host {
			sends |= d.States[0].Sends
		}
	}
	for _, l := range b.links {
		both := func(pos []int) (p qos.PrioritySet, codes uint64) {
			_, sa := b.at(l.A.Device, pos)
			_, sb := b.at(l.B.Device, pos)
			pa, pb := sa.Ports[l.A.Port], sb.Ports[l.B.Port]
			p = pa.PFC & pb.PFC
			for code := range qos.NumDSCP {
				if pa.Classes != nil && pb.Classes != nil && pa.Classes[code] == pb.Classes[code] && p.Has(int(pa.Classes[code])) {
					codes |= 1 << code
				}
			}
			return p, codes
		}
		before, was := both(make([]int, len(b.devices)))
		after, will := both(last)
		now, _ := both(pos)
		for p := range qos.NumPriorities {
			if f == (fault{"PFC", l.A.String(), l.B.String(), fmt.Sprint(p)}) {
				return !before.Has(p) || now&before == before || now&after == after
			}
		}
		if f == (fault{"CLS", l.A.Device, l.A.Port, ""}) || f == (fault{"CLS", l.B.Device, l.B.Port, ""}) {
			return sends == 0 && was&will == 0
		}
	}
	return false
}

// lasted is a fault with the stages in which it began and ended.
type lasted struct {
	fault
	from, until int
	seconds     float64
}

// walk returns the cost of an order and its faults. It fails the test unless the order
// changes every device exactly once.
func (b *brute) walk(t *testing.T, stages []Stage) (sum Cost, all []lasted) {
	pos := make([]int, len(b.devices))
	allowed := b.allowed()
	worse := func(pos []int) map[fault]bool {
		out := b.faults(pos)
		maps.DeleteFunc(out, func(f fault, _ bool) bool { return allowed[f] || b.unused(f, pos) })
		return out
	}
	open := map[fault]lasted{}
	for n, s := range stages {
		var set uint
		for _, name := range s.Devices {
			i := slices.IndexFunc(b.devices, func(d *Device) bool { return d.Name == name })
			if pos[i] != 0 || len(b.devices[i].States) == 1 {
				t.Fatalf("%s moves out of turn in %v", name, stages)
			}
			set |= 1 << i
		}
		during := map[fault]bool{}
		for mix := set; ; mix = (mix - 1) & set {
			p := slices.Clone(pos)
			for i := range p {
				p[i] += int(mix >> i & 1)
			}
			maps.Copy(during, worse(p))
			if mix == 0 {
				break
			}
		}
		for i := range pos {
			pos[i] += int(set >> i & 1)
		}
		left := worse(pos)
		for f := range during {
			l, ok := open[f]
			if !ok {
				l = lasted{f, n, 0, 0}
			}
			l.seconds += s.Writes
			if left[f] {
				l.seconds += s.Gate
				open[f] = l
			} else {
				l.until = n
				all = append(all, l)
				delete(open, f)
			}
		}
		sum = sum.Plus(exposure{len(during), len(left)}.cost(s))
	}
	for i, d := range b.devices {
		if pos[i] != len(d.States)-1 {
			t.Fatalf("%s does not end in %v", d.Name, stages)
		}
	}
	return sum, all
}

// sequences calls do for each order of the groups in which those with First come first.
func sequences(groups [][]*Device, before [][]*Device, do func([][]*Device)) {
	if len(groups) == 0 {
		do(before)
		return
	}
	first := slices.ContainsFunc(groups, func(g []*Device) bool { return g[0].First })
	for i, g := range groups {
		if g[0].First || !first {
			sequences(slices.Delete(slices.Clone(groups), i, i+1), append(before[:len(before):len(before)], g), do)
		}
	}
}

// kinds groups the devices that change by kind and First.
func kinds(devices []*Device, kind func(*Device) string) [][]*Device {
	var out ordered.Groups[string, *Device]
	for _, d := range devices {
		if d.changes() {
			out.Add(fmt.Sprint(kind(d), d.First), d)
		}
	}
	var groups [][]*Device
	for _, g := range out.All() {
		groups = append(groups, g)
	}
	return groups
}

// canaries cuts devices into two stages: the first device, and all others.
func canaries(devices []*Device) (out []Stage) {
	for _, d := range devices {
		n := float64(d.Name[1] - '0')
		s := Stage{[]string{d.Name}, 1 + n, 10 * n}
		if len(out) == 2 {
			out[1] = Stage{append(out[1].Devices, d.Name), max(out[1].Writes, s.Writes), max(out[1].Gate, s.Gate)}
		} else {
			out = append(out, s)
		}
	}
	return out
}

func nonzero(counts map[string]int) map[string]int {
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n == 0 })
	return counts
}

// No sequence of kinds costs less than the order that Find returns, and its proof agrees
// with an examination of every single state: which faults there are, when they begin and
// end, and what they cost.
func TestFindAgainstAllOrders(t *testing.T) {
	free, suffers := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		devices, links := random(r)
		if r.IntN(2) == 0 {
			for _, d := range devices {
				d.Kind = d.Name
			}
		}
		for _, d := range devices {
			d.Joins = seed%2 == 0 && r.IntN(3) > 0
		}
		got := Find(devices, links, canaries)
		b := &brute{devices, links}
		cost, all := b.walk(t, got.Stages)
		if differ(cost.Seconds, got.Cost.Seconds) || differ(cost.Weight, got.Cost.Weight) {
			t.Errorf("seed %d: the proof says %v, the states %v", seed, got.Cost, cost)
		}
		try := func(sequence [][]*Device) {
			var stages []Stage
			for _, g := range sequence {
				stages = append(stages, canaries(g)...)
			}
			if other, _ := b.walk(t, stages); other.Less(cost) {
				t.Errorf("seed %d: %v costs %v, %v %v", seed, got.Stages, cost, stages, other)
			}
		}
		sequences(kinds(devices, func(d *Device) string { return d.Kind }), nil, try)
		if slices.ContainsFunc(devices, func(d *Device) bool { return d.Joins }) {
			sequences(kinds(devices, func(d *Device) string {
				if d.Joins {
					return ""
				}
				return d.Kind
			}), nil, try)
		}
		others := false
		for _, s := range got.Stages {
			for _, name := range s.Devices {
				first := devices[slices.IndexFunc(devices, func(d *Device) bool { return d.Name == name })].First
				if others = others || !first; others && first {
					t.Errorf("seed %d: %s is not first: %v", seed, name, got.Stages)
				}
			}
		}
		for n, worse := range got.Worse {
			for _, w := range worse {
				of := slices.DeleteFunc(slices.Clone(all), func(l lasted) bool {
					return l.from != n || l.check != w.Check[:3] || l.check == "PFC" && "priority "+l.class != w.Class
				})
				if l := of[0]; l.check == "PFC" { // two checks, PFC-01 and PFC-02
					continue
				}
				until, seconds := 0, 0.0
				for _, l := range of {
					until, seconds = max(until, l.until+1), max(seconds, l.seconds)
				}
				if w.Count != len(of) || w.Until != until || differ(w.Seconds, seconds) {
					t.Errorf("seed %d, stage %d: %+v, the states say %v", seed, n, w, of)
				}
			}
		}
		told := 0
		for n, looked := range got.Looked {
			links := map[string]int{}
			for _, l := range looked {
				links[l.Check[:3]] += l.Links
			}
			for _, w := range got.Worse[n] {
				told += w.Count
			}
			if want := map[string]int{"PFC": got.Links, "CLS": got.Links - got.Unclassed, "MTU": got.Links}; got.Links > 0 && !maps.Equal(links, nonzero(want)) {
				t.Errorf("seed %d: stage %d on %d links looks at %v", seed, n, got.Links, looked)
			}
		}
		if told != len(all) {
			t.Errorf("seed %d: %d faults begin, the states show %d", seed, told, len(all))
		}
		if cost == (Cost{}) {
			free++
		} else {
			suffers++
		}
	}
	if t.Logf("%d orders without a worse state, %d with", free, suffers); free < 100 || suffers < 100 {
		t.Errorf("%d orders cost nothing and %d something: too few of a kind to tell", free, suffers)
	}
}

// A link that carries no lossless class yet has nothing to lose while its ends differ. A
// link that already carries another class does.
func TestUnusedLinks(t *testing.T) {
	table := classes(map[int]int8{26: 3})
	for name, c := range map[string]struct {
		was, will qos.PrioritySet
		worse     bool
	}{
		"first class":  {0, 1 << 3, false},
		"second class": {1 << 3, 1<<3 | 1<<4, false},
		"class moves":  {1 << 3, 1 << 4, true},
		"class goes":   {1 << 3, 0, false},
		"other class":  {1<<3 | 1<<4, 1 << 3, false},
	} {
		var devices []*Device
		var stages []Stage
		for _, name := range []string{"a", "b"} {
			devices = append(devices, &Device{Name: name, States: []State{
				{Ports: map[string]Port{"p": {PFC: c.was, Classes: table}}}, {Ports: map[string]Port{"p": {PFC: c.will, Classes: table}}}}})
			stages = append(stages, Stage{[]string{name}, 1, 10})
		}
		got := Prove(devices, []*intent.Link{{A: intent.Endpoint{Device: "a", Port: "p"}, B: intent.Endpoint{Device: "b", Port: "p"}}}, stages)
		want := Cost{}
		if c.worse {
			want.Seconds = 1 + 10 + 1
		}
		if got.Cost.Seconds != want.Seconds {
			t.Errorf("%s: %v, want %v s", name, got.Cost, want.Seconds)
		}
		unused := 0
		for _, l := range got.Looked[0] {
			unused += l.Unused
		}
		if (unused == 0) != c.worse && name != "class moves" {
			t.Errorf("%s: %d faults of what is not used yet", name, unused)
		}
	}
}

// A large fabric that changes switch by switch has as many faults during the change as
// links times stages. All of them are counted, but only a few are named.
func TestManyFaultsAreCounted(t *testing.T) {
	const pairs, links = 20, 80
	var devices []*Device
	var cables []*intent.Link
	var stages []Stage
	for i := range 2 * pairs {
		d := &Device{Name: fmt.Sprint("d", i), States: []State{{Ports: map[string]Port{}}, {Ports: map[string]Port{}}}}
		for p := range links {
			name := fmt.Sprint("p", p)
			d.States[0].Ports[name], d.States[1].Ports[name] = Port{PFC: 1 << 3}, Port{PFC: 1 << 4}
			if i >= pairs {
				cables = append(cables, &intent.Link{A: intent.Endpoint{Device: fmt.Sprint("d", i-pairs), Port: name}, B: intent.Endpoint{Device: d.Name, Port: name}})
			}
		}
		devices, stages = append(devices, d), append(stages, Stage{[]string{d.Name}, 1, 0})
	}
	proof := Prove(devices, cables, stages)
	for n, got := range proof.Worse {
		if n >= pairs {
			if len(got) > 0 {
				t.Errorf("stage %d: %+v begins", n, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Check != "PFC-01" || got[0].Class != "priority 3" || got[0].Count != links || len(got[0].Ports) != min(links, mostPorts) || got[0].Until != n+pairs+1 || got[0].Seconds != pairs+1 {
			t.Errorf("stage %d: %+v, want %d ports with a fault, %d of them named", n, got, links, min(links, mostPorts))
		}
	}
	if want := (Cost{2 * pairs, links * pairs * (pairs + 1)}); proof.Cost != want {
		t.Errorf("cost %v, want %v", proof.Cost, want)
	}
}

// If no link carries a class yet and no host sends it yet, a host may begin to send it
// before its switch has the class: nothing is lost that worked before.
func TestNewTrafficBeforeItsClass(t *testing.T) {
	table := classes(map[int]int8{26: 3})
	was, will := map[string]Port{"p": {Classes: table}}, map[string]Port{"p": {PFC: 1 << 3, Classes: table}}
	devices := []*Device{
		{Name: "host", Host: true, States: []State{{Ports: was}, {Ports: will, Sends: 1 << 26}}},
		{Name: "leaf", States: []State{{Ports: was}, {Ports: will}}},
	}
	links := []*intent.Link{{A: intent.Endpoint{Device: "host", Port: "p"}, B: intent.Endpoint{Device: "leaf", Port: "p"}}}
	if got := Prove(devices, links, []Stage{{[]string{"host"}, 1, 10}, {[]string{"leaf"}, 1, 10}}); got.Cost != (Cost{}) {
		t.Errorf("%+v", got.Cost)
	}
}
