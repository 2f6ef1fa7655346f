package catalog

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Port returns the port of that name; ok is false if no known layout has one.
func (m *Model) Port(name string) (p Port, ok bool) {
	p, ok = m.ports[name]
	return p, ok
}

// Speeds returns how many ports of the default layout have each speed.
func (m *Model) Speeds() map[units.Rate]int { return m.speeds }

// HeadroomRow returns the published row for exactly that speed and cable length. SONiC compares
// both as strings, so there is no row for 50m between 40m and 300m (sonic-swss
// cfgmgr/buffermgr.cpp).
func (m *Model) HeadroomRow(speed units.Rate, cable units.Length) (row HeadroomRow, ok bool) {
	return find(m.Headroom, func(r HeadroomRow) bool { return r.Speed == speed && r.Cable == cable })
}

// Cables returns the cable lengths that have a row at that speed, ascending.
func (m *Model) Cables(speed units.Rate) []units.Length {
	var l []units.Length
	for _, r := range m.Headroom {
		if r.Speed == speed {
			l = append(l, r.Cable)
		}
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// NextCable returns the shortest listed cable length of at least length; ok is false if all listed
// lengths are shorter.
func (m *Model) NextCable(speed units.Rate, length units.Length) (c units.Length, ok bool) {
	return find(m.Cables(speed), func(c units.Length) bool { return c >= length })
}

// Pool returns the template's pool of that name.
func (m *Model) Pool(name string) (p Pool, ok bool) {
	return find(m.Pools, func(p Pool) bool { return p.Name == name })
}

// Profile returns the template's profile of that name.
func (m *Model) Profile(name string) (p Profile, ok bool) {
	return find(m.Profiles, func(p Profile) bool { return p.Name == name })
}

// find returns the first element of a list for which meant is true; ok is false if there is none.
func find[T any](list []T, meant func(T) bool) (v T, ok bool) {
	i := slices.IndexFunc(list, meant)
	if i < 0 {
		return v, false
	}
	return list[i], true
}

// IngressPool is the name of the pool that SONiC uses for lossless groups.
const IngressPool = "ingress_lossless_pool"

// Whole returns the largest size or limit that the template of the model states, in bytes: what it
// takes for the memory of the chip.
func (m *Model) Whole() (n int64) {
	for _, p := range m.Pools {
		n = max(n, p.Size)
	}
	for _, p := range m.Profiles {
		if p.StaticTh != nil {
			n = max(n, *p.StaticTh)
		}
	}
	return n
}

// ContainsHeadroom reports whether the size of a lossless ingress pool on a switch of the model
// contains its xoff and the reservations of groups and queues.
//
// Templates differ in that. If size and xoff together exceed the memory that the template itself
// assumes, they are contained; otherwise its author has subtracted them. The thresholds that SONiC's
// QoS tests state for six Broadcom chips agree with this rule, but for a few stale ones (sonic-mgmt
// tests/qos/files/qos_params.*.yaml). A pool that is no larger than one without them is without
// them, too. On NVIDIA's switches SONiC subtracts everything when it computes the sizes (sonic-swss
// cfgmgr/buffer_pool_mellanox.lua).
func (m *Model) ContainsHeadroom(size, xoff int64) bool {
	p, ok := m.Pool(IngressPool)
	whole := m.Whole()
	switch {
	case m.asic.Vendor == NVIDIA:
		return false
	case !ok || m.asic.PoolContains:
		return true
	}
	return p.Size+p.XOFF > whole || size > p.Size && size+xoff > whole
}

// Suggest returns the model of an operating system whose name is most similar to name, as a hint in
// an error; "" if none is close. If the catalogue has only some models of the system, only a name
// that contains the given one counts, because models of a series differ in one letter or digit.
func Suggest(os, name string) string {
	const most = 64 // no model name is longer, and the comparison is quadratic
	if name == "" || len(name) > most {
		return ""
	}
	want := strings.ToLower(name)
	best, bestCost := "", len(want)/3+1
	for _, n := range ModelsOf(os) {
		have := strings.ToLower(n)
		cost := words.Distance(want, have, bestCost)
		// A hwsku without its vendor ("SN5600" for "ACS-SN5600") differs in many letters but means
		// the same.
		if len(want) >= 4 && strings.Contains(have, want) {
			cost = 0
		}
		if cost < bestCost && (whole(os) || cost == 0) {
			best, bestCost = n, cost
		}
	}
	return best
}

// Tested says how thoroughly the self-test covers a model in the lab.
type Tested string

// The levels of the self-test; in addition, the data of every model is validated.
const (
	TestedLossless Tested = "lossless" // from the factory state to a lossless class, on two switches
	TestedLossy    Tested = "lossy"    // the same with a lossy class, because headroom rows or a lossless pool are missing
	TestedForm     Tested = "form"     // not in the lab: no two ports have the same known speed
)

// SelfTest returns how the self-test covers a model, and at which speed: the fastest speed of two
// ports that the model's headroom table has, or else of any two ports. Operating systems other than
// SONiC create lossless groups without such a table.
func (m *Model) SelfTest() (Tested, units.Rate) {
	count := map[units.Rate]int{}
	for _, p := range m.Ports {
		count[p.Speed]++
	}
	var best, most units.Rate
	for speed, n := range count {
		if n >= 2 && intent.IsSpeed(speed) {
			most = max(most, speed)
			if len(m.Cables(speed)) > 0 {
				best = max(best, speed)
			}
		}
	}
	_, pool := m.Pool(IngressPool)
	switch {
	case most == 0:
		return TestedForm, 0
	case best > 0 && pool:
		return TestedLossless, best
	case !whole(m.System):
		return TestedLossless, most
	case best > 0:
		return TestedLossy, best
	}
	return TestedLossy, most
}
