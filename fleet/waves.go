package fleet

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// maxWave bounds a wave: the sessions of its devices are open at once.
const maxWave = 64

// waver cuts devices into waves. It knows no history: the same devices always get the same
// waves.
type waver struct {
	m *RolloutMaker
	// together keeps to no limit but those that the intent states, for devices that take no
	// port down.
	together bool
	kinds    map[string]int // how many devices of a kind change
	stated   map[string]bool
	alone    map[string][]string // canaries that no one stated, with those that follow
	near     map[string][]string
	groups   map[string][]int
}

// waver makes a waver for the devices that change. It marks the canaries of the intent among
// them, which go first, and those that may join others.
func (m *RolloutMaker) waver(devices []*order.Device, together bool) *waver {
	w := &waver{m: m, together: together, kinds: map[string]int{}, stated: map[string]bool{}, alone: map[string][]string{}, near: m.neighbours(), groups: map[string][]int{}}
	for _, d := range devices {
		if d.Joins, d.First = together && len(m.planOf(d.Name).down) == 0, false; len(d.States) == 1 {
			continue
		}
		w.kinds[d.Kind]++
		if d.First = slices.Contains(m.fabric.Rollout.Canary, d.Name); d.First {
			w.stated[d.Name] = true
		}
	}
	for i, g := range m.fabric.Rollout.Groups {
		for _, name := range g {
			w.groups[name] = append(w.groups[name], i)
		}
	}
	return w
}

// cut cuts devices into stages, each a wave: the canary, unless the intent states others, then
// the rest, and then those that join others.
func (w *waver) cut(devices []*order.Device) (out []order.Stage) {
	var names, joining []string
	for _, d := range devices {
		if d.Joins {
			joining = append(joining, d.Name)
		} else {
			names = append(names, d.Name)
		}
	}
	names = natural.Sorted(names)
	var waves [][]string
	if len(w.stated) == 0 && len(names) > 1 {
		w.alone[names[0]] = names[1:]
		waves, names = [][]string{names[:1]}, names[1:]
	}
	for _, names := range slices.Concat(waves, w.fill(names), w.fill(natural.Sorted(joining))) {
		out = append(out, w.m.stage(names))
	}
	return out
}

// canaries marks the waves to learn from: those of devices that the intent names as canaries,
// or of one device that is the first of its kind, or of those with its change, and not the last.
func (w *waver) canaries(waves []Wave) {
	seen := map[string]bool{} // devices and kinds
	for i := range waves {
		names := waves[i].Devices
		first := names[0]
		change := len(w.alone[first]) > 0 && !slices.ContainsFunc(w.alone[first], func(n string) bool { return seen[n] })
		kind := !seen["kind "+w.kind(first)] && w.kinds[w.kind(first)] > 1
		waves[i].Canary = len(names) == 1 && (change || kind)
		if len(w.stated) > 0 {
			waves[i].Canary = w.stated[first]
		}
		for _, name := range names {
			seen[name], seen["kind "+w.kind(name)] = true, true
		}
	}
}

// fill puts each device into the first new wave that has room for it.
func (w *waver) fill(names []string) (waves [][]string) {
	var open []*room
	for _, name := range names {
		i := slices.IndexFunc(open, func(r *room) bool { return w.fits(r, name) })
		if i < 0 {
			i = len(open)
			open = append(open, &room{kinds: map[string]int{}, near: map[string]int{}, groups: map[int]bool{}})
		}
		w.put(open[i], name)
	}
	for _, r := range open {
		waves = append(waves, r.names)
	}
	return waves
}

// room is a wave that is being filled.
type room struct {
	names  []string
	kinds  map[string]int
	near   map[string]int // how many switches of the wave a device has links to
	groups map[int]bool
}

func (w *waver) kind(name string) string {
	if sw := w.m.fabric.Switch(name); sw != nil {
		return sw.Role
	}
	return "host"
}

// fits reports whether a device has room in a wave: never two of a group, never all
// switches that a device has links to, and no more of a role than the intent allows.
func (w *waver) fits(r *room, name string) bool {
	k := w.kind(name)
	limit := w.m.fabric.Rollout.MaxUnavailable
	free := w.together && len(w.m.planOf(name).down) == 0
	if len(r.names) >= maxWave || slices.ContainsFunc(w.groups[name], func(g int) bool { return r.groups[g] }) {
		return false
	}
	if r.kinds[k] >= limit.V.Of(w.kinds[k]) && !(free && limit.IsDefault()) {
		return false
	}
	if free || w.m.fabric.Switch(name) == nil {
		return true
	}
	for _, other := range w.attached(name) {
		if all := len(w.near[other]); all > 1 && r.near[other]+1 >= all {
			return false
		}
	}
	return true
}

// attached are the devices that have links to a switch.
func (w *waver) attached(name string) []string {
	var out []string
	for _, p := range w.m.fabric.Switch(name).Ports {
		if peer, ok := p.Peer(); ok {
			out = append(out, peer.Device)
		}
	}
	return slices.Compact(natural.Sorted(out))
}

func (w *waver) put(r *room, name string) {
	r.names = append(r.names, name)
	r.kinds[w.kind(name)]++
	for _, g := range w.groups[name] {
		r.groups[g] = true
	}
	if w.m.fabric.Switch(name) != nil {
		for _, other := range w.attached(name) {
			r.near[other]++
		}
	}
}
