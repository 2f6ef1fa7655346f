package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// clos is an intent of leaves that each have a host at every one of their rails, and
// spines; extra is put behind it.
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

// changes is the plan of a device that takes PFC of priority 3 into use at ports.
func changes(f *intent.Fabric, name string, was, will qos.PrioritySet, down ...string) *DevicePlan {
	d := &DevicePlan{Name: name, OS: "sonic", Steps: []drivers.Step{{Via: "gnmi", Down: down}}}
	before, after := order.State{Ports: map[string]order.Port{}}, order.State{Ports: map[string]order.Port{}}
	if h := f.Host(name); h != nil {
		d.OS = host.OS
		for _, n := range h.NICs {
			before.Ports[n.Name], after.Ports[n.Name] = order.Port{PFC: was}, order.Port{PFC: will}
		}
	} else {
		for _, p := range f.Switch(name).Ports {
			before.Ports[p.Name], after.Ports[p.Name] = order.Port{PFC: was}, order.Port{PFC: will}
		}
	}
	d.states = []order.State{before, after}
	return d
}

// Whatever changes, each device is in one wave, and no wave breaks what the intent and
// the links forbid.
func TestWaves(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		leaves, spines, hosts := 2+r.IntN(7), 2+r.IntN(5), 1+r.IntN(6)
		share := []string{"25%", "1", "50%", "100%", "3"}[r.IntN(5)]
		f := clos(t, leaves, spines, hosts, "rollout: {groups: [\"leaf[1-2]\"], maxUnavailable: "+share+"}\n")
		m := NewRollout(f, nil)
		want := map[string]bool{}
		kinds := map[string]int{}
		for _, l := range [][]string{names(f.Switches, func(s *intent.Switch) string { return s.Name }), names(f.Hosts, func(h *intent.Host) string { return h.Name })} {
			for _, name := range l {
				if r.IntN(4) == 0 {
					d := changes(f, name, 8, 8)
					d.Steps = nil
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
				if all(in, "spine", spines) {
					t.Errorf("seed %d: wave %d has all uplinks of leaf%d", seed, i, l+1)
				}
			}
			if all(in, "leaf", leaves) {
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

func all(in map[string]bool, kind string, n int) bool {
	for i := range n {
		if !in[fmt.Sprint(kind, i+1)] {
			return false
		}
	}
	return true
}

// Devices that suffer apart go together, unless that takes ports down; then the waves
// say so, and traffic loss must be allowed.
func TestWavesThatSufferApart(t *testing.T) {
	f := clos(t, 2, 2, 1, "")
	for _, c := range []struct {
		down  []string
		waves int
	}{{nil, 1}, {[]string{"Ethernet0"}, 5}} {
		m := NewRollout(f, nil)
		for _, name := range []string{"leaf1", "leaf2", "spine1", "spine2", "gpu1"} {
			m.Add(changes(f, name, 8, 16, c.down...))
		}
		got := m.Rollout()
		if len(got.Waves) != c.waves || got.Impact() != qos.ImpactLoss {
			t.Errorf("%v: %d waves, impact %s: %+v", c.down, len(got.Waves), got.Impact(), got.Waves)
		}
	}
}

// A larger MTU goes to switches before hosts, a smaller one to hosts before switches.
func TestWavesOfMTU(t *testing.T) {
	f := clos(t, 2, 2, 2, "")
	for _, c := range []struct {
		was, will map[string]int
		last      string
	}{
		{map[string]int{"leaf": 9100, "spine": 9100, "host": 1500}, map[string]int{"leaf": 9216, "spine": 9216, "host": 9200}, "host"},
		{map[string]int{"leaf": 9216, "spine": 9216, "host": 9200}, map[string]int{"leaf": 1600, "spine": 1600, "host": 1500}, "spine"},
	} {
		m := NewRollout(f, nil)
		for _, name := range []string{"leaf1", "leaf2", "spine1", "spine2", "gpu1", "gpu2"} {
			d := changes(f, name, 8, 8)
			for i, mtu := range []int{c.was[kindOf(f, name)], c.will[kindOf(f, name)]} {
				for port, p := range d.states[i].Ports {
					p.MTU = mtu
					d.states[i].Ports[port] = p
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
