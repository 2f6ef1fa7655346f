package starter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// cabling lists the ports that carry the links of a fabric.
type cabling struct {
	down, up, spine []string // leaf ports to hosts, leaf ports to switches, spine ports
	downAt, upAt    units.Rate
}

// cable picks the ports of the links: on a leaf the first ports for hosts and the last ones for
// switches, on a spine the first ones. It picks the highest speed at which both ends of each
// link have enough unsplit ports, with headroom published for the cable length. Links between
// switches are at least as fast as links to hosts.
func (o *Options) cable(down, up int) (cabling, error) {
	leaf, _ := catalog.ModelOf(o.OS, o.Model)
	var spine *catalog.Model
	if o.spines() > 0 {
		spine, _ = catalog.ModelOf(o.SpineOS, o.SpineModel)
	}
	if c, ok := o.pick(leaf, spine, down, up, covers); ok {
		return c, nil
	}
	if _, ok := o.pick(leaf, spine, down, up, func(*catalog.Model, units.Rate, units.Length) bool { return true }); ok {
		return cabling{}, hint.With(fmt.Errorf("the published headroom of %s has no row for cables of %s to hosts and %s between switches", models(leaf, spine), o.HostCable, o.LeafCable),
			"use shorter cables (--host-cable, --fabric-cable), fewer links, or another model")
	}
	err := fmt.Errorf("a leaf needs %s to hosts and %d to switches; %s has %s", words.Count(down, "port"), up, leaf.Name, panel(leaf))
	if spine != nil {
		err = fmt.Errorf("%w; a spine needs %s of the speed of the leaf's; %s has %s", err, words.Count(o.leaves(), "port"), spine.Name, panel(spine))
	}
	return cabling{}, err
}

// pick picks the ports like cable, of speeds and cable lengths that fits accepts. spine is nil
// if the fabric has no spines.
func (o *Options) pick(leaf, spine *catalog.Model, down, up int, fits func(*catalog.Model, units.Rate, units.Length) bool) (c cabling, ok bool) {
	upRates := rates(leaf)
	if up == 0 {
		upRates = []units.Rate{0}
	}
	for _, c.upAt = range upRates {
		if up > 0 {
			if c.up = last(portsOf(leaf, c.upAt, nil), up); c.up == nil || !fits(leaf, c.upAt, o.LeafCable) {
				continue
			}
		}
		if spine != nil {
			if c.spine = first(portsOf(spine, c.upAt, nil), o.leaves()); c.spine == nil || !fits(spine, c.upAt, o.LeafCable) {
				continue
			}
		}
		for _, c.downAt = range rates(leaf) {
			if up > 0 && c.downAt > c.upAt {
				continue
			}
			if c.down = first(portsOf(leaf, c.downAt, c.up), down); c.down != nil && fits(leaf, c.downAt, o.HostCable) {
				return c, true
			}
		}
	}
	return c, false
}

func models(leaf, spine *catalog.Model) string {
	if spine == nil || spine == leaf {
		return leaf.Name
	}
	return leaf.Name + " or " + spine.Name
}

// panel describes the ports of a model: "48 of 25G and 8 of 100G".
func panel(m *catalog.Model) string {
	var out []string
	for _, r := range rates(m) {
		out = append(out, fmt.Sprintf("%d of %s", countOf(m, r), r))
	}
	return strings.Join(out, " and ")
}

// A model with at most fewPorts ports of a speed below its highest has them for management.
const fewPorts = 3

// rates returns the speeds of a model's data ports, highest first.
func rates(m *catalog.Model) (out []units.Rate) {
	for _, p := range m.Ports {
		if intent.IsSpeed(p.Speed) && !slices.Contains(out, p.Speed) {
			out = append(out, p.Speed)
		}
	}
	ordered.Sort(out, func(a, b units.Rate) int { return cmp.Compare(b, a) })
	if len(out) == 0 {
		return nil
	}
	fastest := out[0]
	return slices.DeleteFunc(out, func(r units.Rate) bool { return r < fastest && countOf(m, r) <= fewPorts })
}

func countOf(m *catalog.Model, speed units.Rate) (n int) {
	for _, p := range m.Ports {
		if p.Speed == speed {
			n++
		}
	}
	return n
}

// covers reports whether a model has headroom for a cable. It assumes so if the catalogue has no
// headroom table for the model or the switch computes its headroom.
func covers(m *catalog.Model, speed units.Rate, cable units.Length) bool {
	_, ok := m.NextCable(speed, cable)
	return ok || len(m.Headroom) == 0 || m.ASIC().DynamicBuffers
}

// portsOf returns the ports of a speed that are not taken, in natural order. If they form
// several families, each with names that differ only in one number, it returns the largest
// family.
func portsOf(m *catalog.Model, speed units.Rate, taken []string) (most []string) {
	families := map[string][]string{}
	for _, p := range m.Ports {
		if p.Speed == speed && !slices.Contains(taken, p.Name) {
			head, _, tail := number(m, p.Name)
			key := head + " " + tail
			families[key] = append(families[key], p.Name)
		}
	}
	for _, key := range natural.Keys(families) {
		if f := families[key]; len(f) > len(most) {
			most = natural.Sorted(f)
		}
	}
	return most
}

// number splits a port name around the number that counts the ports on the front panel.
func number(m *catalog.Model, name string) (head, n, tail string) {
	from, to := len(strings.TrimRight(name, "0123456789")), len(name)
	if of := intent.SystemOf(m.System).PanelNumber; of != nil {
		from, to = of(name)
	}
	return name[:from], name[from:to], name[to:]
}

// ports writes ports of one model whose names differ in one number as one pattern.
func ports(m *catalog.Model, names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	head, _, tail := number(m, names[0])
	var numbers []string
	for _, name := range names {
		_, n, _ := number(m, name)
		numbers = append(numbers, n)
	}
	// natural.Fold writes brackets around a list; they are already there.
	return head + "[" + strings.NewReplacer("[", "", "]", "").Replace(natural.Fold(numbers)) + "]" + tail
}

func first(ports []string, n int) []string {
	if len(ports) < n {
		return nil
	}
	return ports[:n:n]
}

func last(ports []string, n int) []string {
	if len(ports) < n {
		return nil
	}
	return ports[len(ports)-n:]
}
