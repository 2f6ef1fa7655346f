package rollout

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// clos returns an intent with leaves and spines in which each host has one NIC per leaf. extra
// is appended to the text.
func clos(t *testing.T, leaves, spines, hosts int, extra string) *intent.Fabric {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: roce-fabric/v1
kind: Fabric
name: pod
classes:
  default: {priority: 0, dscp: rest, bandwidth: 40%%}
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%%}
switches:
  leaf[1-%d]: {os: sonic, role: leaf, address: "192.0.2.[1-%d]", model: ACS-MSN4700}
  spine[1-%d]: {os: sonic, role: spine, address: "198.51.100.[1-%d]", model: ACS-MSN4700}
hosts:
  gpu[1-%d]: {nics: {`, leaves, leaves, spines, spines, hosts)
	for l := range leaves {
		fmt.Fprintf(&b, "eth%d: {rdma: mlx5_%d}, ", l, l)
	}
	b.WriteString("}}\nlinks:\n")
	for l := range leaves {
		for s := range spines {
			fmt.Fprintf(&b, "  - {a: leaf%d/Ethernet%d, b: spine%d/Ethernet%d, cable: 5m, speed: 400G}\n", l+1, 128+s*8, s+1, l*8)
		}
		for h := range hosts {
			fmt.Fprintf(&b, "  - {a: leaf%d/Ethernet%d, b: gpu%d/eth%d, cable: 5m, speed: 400G}\n", l+1, h*8, h+1, l)
		}
	}
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(b.String() + extra)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// changes returns the plan of a device that changes PFC of all its ports from was to will. down
// lists ports that go down.
func changes(f *intent.Fabric, name string, was, will qos.PrioritySet, down ...string) Planned {
	p := Planned{Device: name, OS: "sonic", Changes: true, Down: down}
	before, after := order.State{Ports: map[string]order.Port{}}, order.State{Ports: map[string]order.Port{}}
	if h := f.Host(name); h != nil {
		p.OS, p.Host = host.OS, true
		for _, n := range h.NICs {
			before.Ports[n.Name], after.Ports[n.Name] = order.Port{PFC: was}, order.Port{PFC: will}
		}
	} else {
		for _, p := range f.Switch(name).Ports {
			before.Ports[p.Name], after.Ports[p.Name] = order.Port{PFC: was}, order.Port{PFC: will}
		}
	}
	p.States = []order.State{before, after}
	return p
}

// Whatever devices change, each of them is in exactly one wave, and each wave obeys the limits
// of the intent and of the links.
func TestWaves(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		leaves, spines, hosts := 2+r.IntN(7), 2+r.IntN(5), 1+r.IntN(6)
		share := []string{"25%", "1", "50%", "100%", "3"}[r.IntN(5)]
		f := clos(t, leaves, spines, hosts, "rollout: {groups: [\"leaf[1-2]\"], maxUnavailable: "+share+"}\n")
		m := NewMaker(MakerOptions{Fabric: f})
		want := map[string]bool{}
		kinds := map[string]int{}
		for _, l := range [][]string{names(f.Switches, func(s *intent.Switch) string { return s.Name }), names(f.Hosts, func(h *intent.Host) string { return h.Name })} {
			for _, name := range l {
				if r.IntN(4) == 0 {
					d := changes(f, name, 8, 8)
					d.Changes = false
					m.Add(d)
					continue
				}
				want[name] = true
				kinds[kindOf(f, name)]++
				m.Add(changes(f, name, 8, 8))
			}
		}
		got := m.Rollout()
		if got.Impact() != qos.ImpactNone {
			t.Errorf("seed %d: an order of nothing costs %v", seed, got.Waves)
		}
		left := maps.Clone(want)
		for i, w := range got.Waves {
			in := map[string]bool{}
			count := map[string]int{}
			for _, name := range w.Devices {
				if !left[name] {
					t.Fatalf("seed %d: %s is in two waves, or in one without a change", seed, name)
				}
				delete(left, name)
				in[name] = true
				count[kindOf(f, name)]++
			}
			if in["leaf1"] && in["leaf2"] {
				t.Errorf("seed %d: wave %d has two of a group: %v", seed, i, w.Devices)
			}
			for k, n := range count {
				if most := f.Rollout.MaxUnavailable.V.Of(kinds[k]); n > most {
					t.Errorf("seed %d: wave %d has %d of kind %s, allowed are %d of %d", seed, i, n, k, most, kinds[k])
				}
			}
			for l := range leaves {
				if allOfKind(in, "spine", spines) {
					t.Errorf("seed %d: wave %d has all uplinks of leaf%d", seed, i, l+1)
				}
			}
			if allOfKind(in, "leaf", leaves) {
				t.Errorf("seed %d: wave %d has all rails", seed, i)
			}
			if i == 0 && (len(w.Devices) != 1 && !w.Canary || kindOf(f, w.Devices[0]) == "spine" && count["leaf"]+len(kinds) > 2) {
				t.Errorf("seed %d: the first wave is %+v", seed, w)
			}
		}
		if len(left) > 0 {
			t.Errorf("seed %d: in no wave: %v", seed, left)
		}
	}
}

func names[T any](l []T, name func(T) string) (out []string) {
	for _, v := range l {
		out = append(out, name(v))
	}
	return out
}

func kindOf(f *intent.Fabric, name string) string {
	if sw := f.Switch(name); sw != nil {
		return sw.Role
	}
	return "host"
}

func allOfKind(in map[string]bool, kind string, n int) bool {
	for i := range n {
		if !in[fmt.Sprint(kind, i+1)] {
			return false
		}
	}
	return true
}

// rolledOut returns the rollout of a change of PFC on all switches and hosts.
func rolledOut(f *intent.Fabric, was, will qos.PrioritySet, down ...string) *Rollout {
	m := NewMaker(MakerOptions{Fabric: f, Gate: GateFull, Writers: 8})
	for _, sw := range f.Switches {
		m.Add(lossy(changes(f, sw.Name, was, will, down...)))
	}
	for _, h := range f.Hosts {
		m.Add(lossy(changes(f, h.Name, was, will)))
	}
	return m.Rollout()
}

// lossy sets the impact traffic-loss of a plan.
func lossy(p Planned) Planned {
	p.Impact = qos.ImpactLoss
	return p
}

func devicesOf(r *Rollout) (out [][]string) {
	for _, w := range r.Waves {
		out = append(out, w.Devices)
	}
	return out
}

// Waves obey what the intent states about them, even if ignoring it would shorten worse
// intermediate states, and also with together: true.
func TestStatedSettingsWin(t *testing.T) {
	for name, c := range map[string]struct{ was, will qos.PrioritySet }{"first apply": {0, 8}, "priority moves": {8, 16}, "class goes": {8, 0}} {
		for _, together := range []bool{false, true} {
			rollout := func(settings string) *Rollout {
				return rolledOut(clos(t, 4, 2, 2, fmt.Sprintf("rollout: {together: %v, %s}\n", together, settings)), c.was, c.will)
			}
			if got := devicesOf(rollout("canary: [spine2]")); !slices.Equal(got[0], []string{"spine2"}) {
				t.Errorf("%s, together %v: the canary is spine2, the waves are %v", name, together, got)
			}
			for _, w := range devicesOf(rollout("maxUnavailable: 1")) {
				kinds := map[string]int{}
				for _, d := range w {
					if kinds[strings.TrimRight(d, "0123456789")]++; kinds[strings.TrimRight(d, "0123456789")] > 1 {
						t.Errorf("%s, together %v: maxUnavailable is 1, a wave has %v", name, together, w)
					}
				}
			}
			for _, w := range devicesOf(rollout(`groups: ["leaf[1-2]", "leaf[3-4]", "spine[1-2]"]`)) {
				for _, pair := range [][]string{{"leaf1", "leaf2"}, {"leaf3", "leaf4"}, {"spine1", "spine2"}} {
					if slices.Contains(w, pair[0]) && slices.Contains(w, pair[1]) {
						t.Errorf("%s, together %v: %v are a group, a wave has %v", name, together, pair, w)
					}
				}
			}
		}
	}
}

// A fabric without a lossless class has nothing to lose during the change: its first apply has
// a canary of each kind, and no intermediate state is worse.
func TestFirstApplyHasCanaries(t *testing.T) {
	for name, switches := range map[string]int{"few switches": 4, "many switches": 80} {
		f := clos(t, switches, 2, 2, "")
		got := rolledOut(f, 0, 8)
		if got.Impact() != qos.ImpactNone || got.WorseSeconds != 0 || got.Together != nil {
			t.Errorf("%s: %v s worse, together %+v", name, got.WorseSeconds, got.Together)
		}
		canaries := map[string]bool{}
		for i, w := range got.Waves {
			if w.Canary && (len(w.Devices) != 1 || i == 0 != (w.Devices[0] == "leaf1")) {
				t.Errorf("%s: the canary of wave %d is %v", name, i+1, w.Devices)
			}
			if w.Canary {
				canaries[w.Kind] = true
			} else if !canaries[w.Kind] {
				t.Errorf("%s: wave %d, %v, comes before a canary of its kind", name, i+1, w.Devices)
			}
		}
	}
}

// If an intermediate state is worse, the plan says how much shorter it would be with all devices
// changed in parallel. It does so if the intent asks for it, unless ports go down.
func TestTogether(t *testing.T) {
	apart := rolledOut(clos(t, 2, 2, 1, ""), 8, 16)
	f := clos(t, 2, 2, 1, "rollout: {together: true}\n")
	together := rolledOut(f, 8, 16)
	if len(apart.Waves) != 5 || apart.Impact() != qos.ImpactLoss || apart.Together == nil || apart.Together.Waves != 1 || apart.Together.Saves != apart.WorseSeconds-together.WorseSeconds {
		t.Errorf("%d waves, impact %s, %v s worse, together: %+v", len(apart.Waves), apart.Impact(), apart.WorseSeconds, apart.Together)
	}
	if len(together.Waves) != 1 || together.Impact() != qos.ImpactLoss || together.WorseSeconds != 60 || together.Together != nil {
		t.Errorf("together: %d waves, impact %s, %v s worse: %+v", len(together.Waves), together.Impact(), together.WorseSeconds, together.Together)
	}
	if got := rolledOut(f, 8, 16, "Ethernet0"); len(got.Waves) < 4 {
		t.Errorf("ports go down in waves %v", devicesOf(got))
	}
}

// A worse state lasts from the wave that begins it to the wave that ends it, including the
// gates in between. WorseSeconds is how long any link is worse.
func TestDurationsIncludeGates(t *testing.T) {
	fabric := clos(t, 2, 1, 1, "rollout: {maxUnavailable: 1}\n")
	got := rolledOut(fabric, 8, 16)
	const gate = 60 + 300  // settle and soak
	at := map[string]int{} // wave of each device
	total := -float64(gate)
	for i, w := range got.Waves {
		at[w.Devices[0]] = i
		total += w.Seconds + gate
	}
	if got.WorseSeconds != total {
		t.Errorf("%v s worse in %v, want %v", got.WorseSeconds, devicesOf(got), total)
	}
	found := 0
	for i, w := range got.Waves {
		for _, fault := range w.Worse {
			if fault.Class != "priority 3" {
				t.Errorf("wave %d: %+v", i+1, fault)
			}
			last := 0
			for _, port := range fault.Ports {
				device, name, _ := strings.Cut(port, "/")
				e, _ := fabric.Switch(device).Port(name).Peer()
				found++
				last = max(last, at[device], at[e.Device])
			}
			want := 0.0
			for n := i; n <= last; n++ {
				if want += got.Waves[n].Seconds; n < last {
					want += gate
				}
			}
			if fault.Until != last+1 || fault.Seconds != want {
				t.Errorf("wave %d: %+v, want until wave %d, %v s", i+1, fault, last+1, want)
			}
		}
	}
	if found != 4 {
		t.Errorf("%d of 4 links are worse", found)
	}
}

// A wave with more devices than writers takes longer than its slowest device.
func TestWaveWithMoreDevicesThanWorkers(t *testing.T) {
	f := clos(t, 9, 1, 1, "rollout: {maxUnavailable: 8}\n")
	for workers, want := range map[int]float64{1: 480, 3: 180, 8: 60, 100: 60} {
		m := NewMaker(MakerOptions{Fabric: f, Writers: workers})
		for l := range 9 {
			m.Add(changes(f, fmt.Sprint("leaf", l+1), 8, 8))
		}
		if got := m.Rollout().Waves[1]; len(got.Devices) != 8 || got.Seconds != want {
			t.Errorf("%d at a time: %v take %v s, want %v", workers, got.Devices, got.Seconds, want)
		}
	}
}

// A larger MTU is set on switches before hosts, a smaller one on hosts before switches.
func TestWavesOfMTU(t *testing.T) {
	f := clos(t, 2, 2, 2, "")
	for _, c := range []struct {
		was, will map[string]int
		last      string
	}{
		{map[string]int{"leaf": 9100, "spine": 9100, "host": 1500}, map[string]int{"leaf": 9216, "spine": 9216, "host": 9200}, "host"},
		{map[string]int{"leaf": 9216, "spine": 9216, "host": 9200}, map[string]int{"leaf": 1600, "spine": 1600, "host": 1500}, "spine"},
	} {
		m := NewMaker(MakerOptions{Fabric: f})
		for _, name := range []string{"leaf1", "leaf2", "spine1", "spine2", "gpu1", "gpu2"} {
			d := changes(f, name, 8, 8)
			for i, mtu := range []int{c.was[kindOf(f, name)], c.will[kindOf(f, name)]} {
				for port, p := range d.States[i].Ports {
					p.MTU = mtu
					d.States[i].Ports[port] = p
				}
			}
			m.Add(d)
		}
		got := m.Rollout()
		if last := got.Waves[len(got.Waves)-1]; got.Impact() != qos.ImpactNone || last.Kind != c.last {
			t.Errorf("%v: impact %s, the last wave is of %s", c.was, got.Impact(), last.Kind)
		}
		first := slices.IndexFunc(got.Waves, func(w Wave) bool { return w.Kind == "host" })
		if c.last == "spine" && first != 0 {
			t.Errorf("hosts are first in wave %d", first+1)
		}
	}
}

// A rollback passes through the intermediate states of its run backwards: each fault lasts from
// the wave in which it ended to the wave in which it began, as far as devices of these waves
// are rolled back.
func TestRollbackReversesIntermediateStates(t *testing.T) {
	wave := func(name string, worse ...order.Fault) Wave {
		return Wave{Devices: []string{name}, Kind: "leaf", Impact: qos.ImpactLoss, Seconds: 10, Worse: worse}
	}
	waves := Concat([]Wave{wave("a", order.Fault{Check: "PFC-01", Until: 3}), wave("b")}, []Wave{wave("c", order.Fault{Check: "CLS-02", Until: 2}), wave("d")})
	// d was reverted.
	got := Reverse(waves, []string{"a", "b", "c"}, GateQuick, func(string) (qos.Impact, int) { return qos.ImpactNone, 0 })
	if d := devicesOf(got); !slices.EqualFunc(d, [][]string{{"c"}, {"b"}, {"a"}}, slices.Equal) {
		t.Fatalf("waves %v", d)
	}
	const gate = 60 + 20
	want := [][]order.Fault{{{Check: "PFC-01", Until: 3, Seconds: 10 + gate + 10 + gate + 10}, {Check: "CLS-02", Until: 1, Seconds: 10}}, nil, nil}
	for i, w := range got.Waves {
		if !slices.EqualFunc(w.Worse, want[i], func(a, b order.Fault) bool { return a.Check == b.Check && a.Until == b.Until && a.Seconds == b.Seconds }) {
			t.Errorf("wave %d: %+v, want %+v", i+1, w.Worse, want[i])
		}
	}
	if got.WorseSeconds != 10+gate+10+gate+10 {
		t.Errorf("%v s worse", got.WorseSeconds)
	}
}

// The waves of a run and of the run that continued it are numbered consecutively.
func TestFollowingWavesContinueTheNumbering(t *testing.T) {
	got := Concat([]Wave{{}, {}}, []Wave{{Worse: []order.Fault{{Check: "PFC-01", Until: 2}}}, {}})
	if len(got) != 4 || got[2].Worse[0].Until != 4 {
		t.Errorf("%+v", got)
	}
}

// A worse intermediate state requires --allow traffic-loss, whatever the impact of the
// devices. Anything unchecked or unproven keeps a rollout open.
func TestRolloutImpact(t *testing.T) {
	var none *Rollout
	if none.Impact() != qos.ImpactNone || none.Open() {
		t.Error("no rollout disturbs something")
	}
	r := &Rollout{Waves: []Wave{{Impact: qos.ImpactPortFlap}, {}}}
	if r.Impact() != qos.ImpactNone || r.Open() {
		t.Errorf("%s, open %t", r.Impact(), r.Open())
	}
	r.Waves[1].Worse, r.Unproven = make([]order.Fault, 1), "why"
	if r.Impact() != qos.ImpactLoss || !r.Open() {
		t.Errorf("%s, open %t", r.Impact(), r.Open())
	}
}

// A plan file may keep code points only in lossless classes of the intent.
func TestInterimKeepsLosslessClassesAlone(t *testing.T) {
	f := &intent.Fabric{Settings: &intent.Settings{Classes: []*intent.Class{
		{Priority: intent.Value[int]{V: 3}, Lossless: intent.Value[bool]{V: true}}, {Priority: intent.Value[int]{V: 4}},
	}}}
	for dscp, want := range map[int]map[int8]bool{26: {3: true, 4: false, 0: false}, 64: {3: false}, -1: {3: false}} {
		for tc, ok := range want {
			if got := (&Interim{Keeps: map[int]int8{dscp: tc}}).Lossless(f); got != ok {
				t.Errorf("%d in %d: %v", dscp, tc, got)
			}
		}
	}
}
