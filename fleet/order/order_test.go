package order

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// classes gives code points their priorities, all others 0.
func classes(of map[int]int8) *[qos.NumDSCP]int8 {
	var v [qos.NumDSCP]int8
	for d, p := range of {
		v[d] = p
	}
	return &v
}

// random makes a fabric of at most four devices and seven steps.
func random(r *rand.Rand) ([]*Device, []*intent.Link) {
	var pool Pool
	maps := []*[qos.NumDSCP]int8{nil, classes(map[int]int8{26: 3}), classes(map[int]int8{24: 3}), classes(map[int]int8{24: 3, 26: 3}), classes(map[int]int8{26: 4})}
	sends := []uint64{1 << 26, 1 << 24, 1<<24 | 1<<26, 0}
	var devices []*Device
	left := 7
	for i := range 2 + r.IntN(3) {
		d := &Device{Name: fmt.Sprintf("d%d", i), Host: r.IntN(3) == 0, Kind: fmt.Sprint("kind", r.IntN(3)), Rank: r.IntN(3), Seconds: float64(1 + r.IntN(3))}
		n := 1 + min(r.IntN(4), left)
		left -= n - 1
		for range n {
			s := State{Ports: map[string]Port{}}
			if d.Host {
				s.Sends = sends[r.IntN(len(sends))]
			}
			for p := range 4 {
				s.Ports[fmt.Sprint(p)] = Port{PFC: []qos.PrioritySet{0, 8, 16, 24}[r.IntN(4)], MTU: []int{0, 1500, 9000, 9216}[r.IntN(4)], Classes: maps[r.IntN(len(maps))]}
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

// brute is a fabric that is judged and searched without any of what the package does
// to be fast.
type brute struct {
	devices []*Device
	links   []*intent.Link
	costs   map[string]float64
}

func (b *brute) at(name string, pos []int) (*Device, State) {
	for i, d := range b.devices {
		if d.Name == name {
			return d, d.States[pos[i]]
		}
	}
	return nil, State{}
}

// fault is one of one port, or of one priority of a link.
type fault struct{ check, device, port, class string }

// faults are those of one state of the fabric, spelled out.
func (b *brute) faults(pos []int) map[fault]bool {
	out := map[fault]bool{}
	var sends [qos.NumDSCP]map[string]bool // by code point, the hosts
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

// cost is that of moving a set of devices by a step each, out of a state.
func (b *brute) cost(pos []int, set uint) float64 {
	key := fmt.Sprint(pos, set)
	if c, ok := b.costs[key]; ok {
		return c
	}
	worse, seconds := map[fault]bool{}, 0.0
	for mix := set; ; mix = (mix - 1) & set {
		p := slices.Clone(pos)
		for i := range p {
			p[i] += int(mix >> i & 1)
		}
		maps.Copy(worse, b.faults(p))
		if mix == 0 {
			break
		}
	}
	for e := range b.allowed() {
		delete(worse, e)
	}
	for i, d := range b.devices {
		if set>>i&1 == 1 {
			seconds = max(seconds, d.Seconds)
		}
	}
	b.costs[key] = float64(len(worse)) * seconds
	return b.costs[key]
}

// best tries every order.
func (b *brute) best(pos []int) float64 {
	var free uint
	for i, d := range b.devices {
		if pos[i] < len(d.States)-1 {
			free |= 1 << i
		}
	}
	if free == 0 {
		return 0
	}
	best := math.Inf(1)
	for set := free; set != 0; set = (set - 1) & free {
		next := slices.Clone(pos)
		for i := range next {
			next[i] += int(set >> i & 1)
		}
		if c := b.cost(pos, set); c < best {
			best = min(best, c+b.best(next))
		}
	}
	return best
}

// walk is the cost of an order, which must be one of all devices.
func (b *brute) walk(t *testing.T, stages []Stage) (sum float64) {
	pos := make([]int, len(b.devices))
	for _, s := range stages {
		var set uint
		for _, m := range s {
			for _, name := range m.Devices {
				i := slices.IndexFunc(b.devices, func(d *Device) bool { return d.Name == name })
				if set>>i&1 == 1 || pos[i] != m.Step {
					t.Fatalf("%s moves out of turn in %v", name, stages)
				}
				set |= 1 << i
			}
		}
		sum += b.cost(pos, set)
		for i := range pos {
			pos[i] += int(set >> i & 1)
		}
	}
	for i, d := range b.devices {
		if pos[i] != len(d.States)-1 {
			t.Fatalf("%s does not end in %v", d.Name, stages)
		}
	}
	return sum
}

func nonzero(counts map[string]int) map[string]int {
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n == 0 })
	return counts
}

// No order of all is better than the one that is found, and the proof of it says what
// a look at each state says.
func TestFindAgainstAllOrders(t *testing.T) {
	free, suffers := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		devices, links := random(r)
		got := Find(devices, links)
		b := &brute{devices, links, map[string]float64{}}
		cost := b.walk(t, got.Stages)
		best := b.best(make([]int, len(devices)))
		if cost > best+1e-9 {
			t.Errorf("seed %d: %v costs %v, the best order %v", seed, got.Stages, cost, best)
		}
		if math.Abs(cost-got.Cost) > 1e-9 {
			t.Errorf("seed %d: the proof says %v, the states %v", seed, got.Cost, cost)
		}
		for n, looked := range got.Looked {
			worse, links := 0, map[string]int{}
			for _, l := range looked {
				worse += l.Worse
				links[l.Check[:3]] += l.Links
			}
			told := 0
			for _, w := range got.Worse[n] {
				told += w.Count
			}
			if want := map[string]int{"PFC": got.Links, "CLS": got.Links - got.Unclassed, "MTU": got.Links}; worse != told || got.Links > 0 && !maps.Equal(links, nonzero(want)) {
				t.Errorf("seed %d: of %d faults in stage %d on %d links %v says otherwise", seed, told, n, got.Links, looked)
			}
		}
		if cost == 0 {
			free++
		} else {
			suffers++
		}
	}
	if t.Logf("%d orders without a worse state, %d with", free, suffers); free < 100 || suffers < 100 {
		t.Errorf("%d orders cost nothing and %d something: too few of a kind to tell", free, suffers)
	}
}

// A large fabric that changes switch by switch has as many faults in between as links
// times stages: they are counted, and few are named.
func TestManyFaultsAreCounted(t *testing.T) {
	const pairs, links = 20, 8
	var devices []*Device
	var cables []*intent.Link
	var stages []Stage
	for i := range 2 * pairs {
		d := &Device{Name: fmt.Sprint("d", i), Seconds: 1, States: []State{{Ports: map[string]Port{}}, {Ports: map[string]Port{}}}}
		for p := range links {
			name := fmt.Sprint("p", p)
			d.States[0].Ports[name], d.States[1].Ports[name] = Port{}, Port{PFC: 1 << 3}
			if i >= pairs {
				cables = append(cables, &intent.Link{A: intent.Endpoint{Device: fmt.Sprint("d", i-pairs), Port: name}, B: intent.Endpoint{Device: d.Name, Port: name}})
			}
		}
		devices, stages = append(devices, d), append(stages, Stage{{Devices: []string{d.Name}}})
	}
	proof := Prove(devices, cables, stages)
	for n, got := range proof.Worse {
		want := links * (min(n, pairs-1, 2*pairs-1-n) + 1)
		if len(got) != 1 || got[0].Check != "PFC-01" || got[0].Class != "priority 3" || got[0].Count != want || len(got[0].Ports) != min(want, mostPorts) {
			t.Errorf("stage %d: %+v, want %d ports with a fault, %d of them named", n, got, want, min(want, mostPorts))
		}
	}
}
