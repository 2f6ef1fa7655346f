package headroom

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Usable is how much headroom a lossless group fills before the chip drops its packets, in bytes.
// It depends on what other groups hold, and lies between Least and Most.
type Usable struct {
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
	// Why says by what it differs from the headroom of the profile.
	Why    string `json:"why"`
	Source string `json:"source"`
}

// UsableOf returns how much of its headroom xoff each of some lossless groups of a port can fill.
// shared is set if the groups take it from a shared headroom pool. It returns nil if nothing is
// known that makes it differ from xoff. Source of the rules: sonic-mgmt
// tests/qos/files/mellanox/qos_param_generator.py.
func UsableOf(a *catalog.ASIC, speed units.Rate, lanes, groups int, xoff int64, shared bool) *Usable {
	if a == nil || a.HeadroomLost == 0 || xoff <= 0 {
		return nil
	}
	u := &Usable{Least: xoff, Most: xoff, Source: a.Source}
	if shared {
		u.Most = int64(clampCount(groups, 1)) * xoff
		u.Why = fmt.Sprintf("the headroom pool is shared: while the other lossless groups of the port hold nothing there, one may fill the headroom of all %d", clampCount(groups, 1))
		if most, ok := maxSharedHeadroom(a, lanes); ok && most < u.Most {
			u.Most = max(most, xoff)
			u.Why += fmt.Sprintf(", at most the %d B of a port", most)
		}
		return u
	}
	lost := a.HeadroomLost
	u.Why = fmt.Sprintf("%s drops packets %d cells of %d B before the group's own headroom is full", a.Name, lost, a.CellBytes)
	if n := a.Uneven; n != nil && n.Speed == speed {
		lost += n.Headroom
		u.Why += fmt.Sprintf(", and at %s another %d, because two units of its memory may fill unevenly; a pause may also end up to %d cells later than at xon", speed, n.Headroom, n.Resume)
	}
	u.Least = max(xoff-lost*a.CellBytes, 0)
	u.Most = u.Least
	return u
}
