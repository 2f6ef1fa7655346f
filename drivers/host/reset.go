package host

import (
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Resets returns the cards of a host that wait for a reset, by the changes from what runs
// to what is desired. A reset puts all stored settings of a card in force, so that those
// of others are named as well.
func Resets(running *nic.Host, changes []nic.Change) []drivers.Reset {
	cards := map[string]*drivers.Reset{}
	for _, c := range changes {
		p := running.Ports[c.Port]
		if c.Kind != nic.KindResetPending || p == nil {
			continue
		}
		part := nic.Card(p.PCI)
		card := cards[part]
		if card == nil {
			card = &drivers.Reset{Part: part, How: c.After}
			cards[part] = card
		}
		name, _ := nic.NVName(c.Field)
		card.Ports = append(card.Ports, c.Port)
		card.Settings = append(card.Settings, name+" "+c.Old+" -> "+c.New)
	}
	var out []drivers.Reset
	for _, part := range natural.Keys(cards) {
		card := cards[part]
		card.Ports = slices.Compact(natural.Sorted(card.Ports))
		card.Settings = slices.Compact(natural.Sorted(card.Settings))
		card.Others = stored(running.Ports[card.Ports[0]].NV, card.Settings)
		out = append(out, *card)
	}
	return out
}

// stored are the settings of a card that the next boot changes, other than those listed.
func stored(nv map[string]nic.NV, listed []string) (out []string) {
	for _, name := range slices.SortedFunc(maps.Keys(nv), natural.Compare) {
		v := nv[name]
		now, next := mlxconfig.ParseValue(v.Current), mlxconfig.ParseValue(v.Next)
		if now.Known() && next.Known() && !now.Same(next) && !slices.ContainsFunc(listed, func(l string) bool { return strings.HasPrefix(l, name+" ") }) {
			out = append(out, name+" "+v.Current+" -> "+v.Next)
		}
	}
	return out
}
