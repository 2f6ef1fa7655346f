package rollout

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// maxWave is the maximum number of devices of a wave, because the sessions of all of them
// are open at once.
const maxWave = 64

// waver cuts devices into waves. It does not use the history, so the same devices always get
// the same waves.
type waver struct {
	m *Maker
	// together exempts devices that take no port down from all limits that the intent does
	// not state.
	together bool
	kinds    map[string]int      // number of changing devices of each kind
	stated   map[string]bool     // canaries that the intent names
	alone    map[string][]string // canaries that the intent does not name, with the devices that follow
	near     map[string][]string // neighbours of each device, see Maker.neighbours
	groups   map[string][]int    // rollout groups of each device
}

// waver returns a waver for the devices that change. It sets First for the canaries of the
// intent among them, and Joins for devices that may change together with other kinds.
func (m *Maker) waver(devices []*order.Device, together bool) *waver {
	w := &waver{m: m, together: together, kinds: map[string]int{}, stated: map[string]bool{}, alone: map[string][]string{}, near: m.neighbours(), groups: map[string][]int{}}
	for _, d := range devices {
		if d.Joins, d.First = together && len(m.planOf(d.Name).down) == 0, false; len(d.States) == 1 {
			continue
		}
		w.kinds[d.Kind]++
		if d.First = slices.Contains(m.Fabric.Rollout.Canary, d.Name); d.First {
			w.stated[d.Name] = true
		}
	}
	for i, g := range m.Fabric.Rollout.Groups {
		for _, name := range g {
			w.groups[name] = append(w.groups[name], i)
		}
	}
	return w
}

// cut cuts devices into stages, each of them a wave: first a canary, unless the intent names
// canaries, then the other devices, and last those with Joins.
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
		out = append(out, w.m.stageOf(names))
	}
	return out
}

// canaries marks the canary waves: those of devices that the intent names as canaries. If it
// names none, a wave of one device is a canary wave if the device is the first of its kind,
// or the first with its change, and others follow.
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

// room is a wave that is still being filled.
type room struct {
	names  []string
	kinds  map[string]int
	near   map[string]int // for each device, the number of switches in the wave that it has links to
	groups map[int]bool
}

func (w *waver) kind(name string) string {
	if sw := w.m.Fabric.Switch(name); sw != nil {
		return sw.Role
	}
	return "host"
}

// fits reports whether a device may be added to a wave. A wave never has two devices of a
// rollout group, never all switches that a device has links to, and no more devices of a
// role than the intent allows. With together, a device that takes no port down is exempt from
// the second limit, and from the third unless the intent states it.
func (w *waver) fits(r *room, name string) bool {
	k := w.kind(name)
	limit := w.m.Fabric.Rollout.MaxUnavailable
	free := w.together && len(w.m.planOf(name).down) == 0
	if len(r.names) >= maxWave || slices.ContainsFunc(w.groups[name], func(g int) bool { return r.groups[g] }) {
		return false
	}
	if r.kinds[k] >= limit.V.Of(w.kinds[k]) && !(free && limit.IsDefault()) {
		return false
	}
	if free || w.m.Fabric.Switch(name) == nil {
		return true
	}
	for _, other := range w.attached(name) {
		if all := len(w.near[other]); all > 1 && r.near[other]+1 >= all {
			return false
		}
	}
	return true
}

// attached returns the devices that have links to a switch.
func (w *waver) attached(name string) []string {
	var out []string
	for _, p := range w.m.Fabric.Switch(name).Ports {
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
	if w.m.Fabric.Switch(name) != nil {
		for _, other := range w.attached(name) {
			r.near[other]++
		}
	}
}
