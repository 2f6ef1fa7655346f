package bench

import (
	"fmt"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// ygotSwitches is the number of BenchmarkDiff's switches that ygot compares: it takes several
// hundred times as long.
const ygotSwitches = 4

// These types have the form of ygot's generated code: leaves as pointers, lists as maps, paths in
// tags. They are written by hand, because no public YANG module covers PFC, its watchdog and
// headroom.
type (
	ygotSwitch struct {
		WatchdogPoll *uint64              `path:"watchdog-poll"`
		Maps         map[string]*ygotMaps `path:"maps"`
		Port         map[string]*ygotPort `path:"port"`
	}
	ygotMaps struct {
		Name       *string `path:"name"`
		DSCPToTC   []int8  `path:"dscp-to-tc"`
		PCPToTC    []int8  `path:"pcp-to-tc"`
		TCToQueue  []int8  `path:"tc-to-queue"`
		TCToGroup  []int8  `path:"tc-to-group"`
		PFCToQueue []int8  `path:"pfc-to-queue"`
		PFCToGroup []int8  `path:"pfc-to-group"`
		TCToDSCP   []int8  `path:"tc-to-dscp"`
	}
	ygotPort struct {
		Name          *string              `path:"name"`
		Speed         *uint64              `path:"speed"`
		MTU           *uint16              `path:"mtu"`
		Cable         *uint32              `path:"cable"`
		Trust         *string              `path:"trust"`
		Maps          *string              `path:"maps"` // a leafref
		PFC           []uint8              `path:"pfc"`
		PFCAsymmetric *bool                `path:"pfc-asymmetric"`
		Watchdog      *ygotWatchdog        `path:"watchdog"`
		Queue         map[uint8]*ygotQueue `path:"queue"`
		Group         map[uint8]*ygotGroup `path:"group"`
	}
	ygotWatchdog struct {
		Enabled    *bool   `path:"enabled"`
		Priorities []uint8 `path:"priorities"`
		Action     *string `path:"action"`
		Detect     *uint64 `path:"detect"`
		Restore    *uint64 `path:"restore"`
	}
	ygotQueue struct {
		ID        *uint8         `path:"id"`
		Scheduler *ygotScheduler `path:"scheduler"`
		ECN       *ygotECN       `path:"ecn"`
		Buffer    *string        `path:"buffer"`
	}
	ygotScheduler struct {
		Strict *bool  `path:"strict"`
		Weight *uint8 `path:"weight"`
	}
	ygotECN struct {
		Enabled     *bool   `path:"enabled"`
		Min         *uint64 `path:"min"`
		Max         *uint64 `path:"max"`
		Probability *uint8  `path:"probability"`
	}
	ygotGroup struct {
		ID          *uint8  `path:"id"`
		Lossless    *bool   `path:"lossless"`
		DerivedFrom *string `path:"derived-from"`
		Buffer      *string `path:"buffer"`
	}
)

func (*ygotSwitch) IsYANGGoStruct()    {}
func (*ygotMaps) IsYANGGoStruct()      {}
func (*ygotPort) IsYANGGoStruct()      {}
func (*ygotWatchdog) IsYANGGoStruct()  {}
func (*ygotQueue) IsYANGGoStruct()     {}
func (*ygotScheduler) IsYANGGoStruct() {}
func (*ygotECN) IsYANGGoStruct()       {}
func (*ygotGroup) IsYANGGoStruct()     {}

func (m *ygotMaps) ΛListKeyMap() (map[string]any, error) {
	return map[string]any{"name": *m.Name}, nil
}
func (p *ygotPort) ΛListKeyMap() (map[string]any, error) {
	return map[string]any{"name": *p.Name}, nil
}
func (q *ygotQueue) ΛListKeyMap() (map[string]any, error) { return map[string]any{"id": *q.ID}, nil }
func (g *ygotGroup) ΛListKeyMap() (map[string]any, error) { return map[string]any{"id": *g.ID}, nil }

// treeOf converts the values that are set in a device of BenchmarkDiff, except for neighbors,
// which are not compared.
func treeOf(d *qos.Device) *ygotSwitch {
	t := &ygotSwitch{WatchdogPoll: leaf(uint64(d.WatchdogPoll.V), d.WatchdogPoll.Set), Maps: map[string]*ygotMaps{}, Port: map[string]*ygotPort{}}
	names := map[*qos.Maps]string{}
	mapsOf := func(m *qos.Maps) string {
		if names[m] == "" {
			names[m] = fmt.Sprintf("maps-%d", len(names))
			t.Maps[names[m]] = &ygotMaps{new(names[m]), m.DSCPToTC[:], m.PCPToTC[:], m.TCToQueue[:], m.TCToGroup[:], m.PFCToQueue[:], m.PFCToGroup[:], m.TCToDSCP[:]}
		}
		return names[m]
	}
	mapsOf(d.GlobalMaps.V)
	for name, p := range d.Ports {
		w := p.Watchdog.V
		out := &ygotPort{
			Name: new(name), Speed: leaf(uint64(p.Speed.V), p.Speed.Set), MTU: leaf(uint16(p.MTU.V), p.MTU.Set),
			Cable: leaf(uint32(p.Cable.V), p.Cable.Set), Trust: leaf(string(p.Trust.V), p.Trust.Set), Maps: new(mapsOf(p.Maps.V)),
			PFC: priorities(p.PFC.V), PFCAsymmetric: leaf(p.PFCAsymmetric.V, p.PFCAsymmetric.Set),
			Watchdog: &ygotWatchdog{
				new(w.Enabled), priorities(w.Priorities), leaf(string(w.Action), w.Enabled),
				leaf(uint64(w.Detect), w.Enabled), leaf(uint64(w.Restore), w.Enabled),
			},
			Queue: map[uint8]*ygotQueue{}, Group: map[uint8]*ygotGroup{},
		}
		for i := range uint8(qos.NumPriorities) {
			if q := &p.Queues[i]; q.Scheduler.Set {
				s, e := q.Scheduler.V, q.ECN.V
				out.Queue[i] = &ygotQueue{
					new(i), &ygotScheduler{new(s.Strict), leaf(uint8(s.Weight), !s.Strict)},
					&ygotECN{new(e.Enabled), leaf(uint64(e.Min), e.Enabled), leaf(uint64(e.Max), e.Enabled), leaf(uint8(e.Probability), e.Enabled)},
					leaf(q.Buffer.V, q.Buffer.Set),
				}
			}
			if g := &p.Groups[i]; g.Lossless.Set {
				out.Group[i] = &ygotGroup{new(i), new(g.Lossless.V), leaf(g.DerivedFrom.V, g.DerivedFrom.Set), leaf(g.Buffer.V, g.Buffer.Set)}
			}
		}
		t.Port[name] = out
	}
	return t
}

func leaf[T any](v T, set bool) *T {
	if !set {
		return nil
	}
	return &v
}

func priorities(s qos.PrioritySet) (out []uint8) {
	for _, p := range s.List() {
		out = append(out, uint8(p))
	}
	return out
}

// changes counts the differences as [qos.Diff] does, one per container of a port or of one of its
// queues, because a notification lists the leaves.
func changes(n *gnmi.Notification) int {
	seen := map[string]bool{}
	paths := n.Delete
	for _, u := range n.Update {
		paths = append(paths, u.Path)
	}
	for _, p := range paths {
		key := ""
		for _, e := range p.Elem {
			if key += fmt.Sprint(e.Name, e.Key); len(e.Key) == 0 {
				break
			}
		}
		seen[key] = true
	}
	return len(seen)
}
