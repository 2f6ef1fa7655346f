package derive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// entry is one entry of the links section.
type entry struct {
	a, b    side
	pattern string // "" for pairs
	attrs
}

// attrs are what all links of an entry share.
type attrs struct {
	cable   units.Length
	speed   units.Rate
	assumed string
}

// side is one end of an entry: every device with every port, ports varying
// fastest.
type side struct{ devices, ports []string }

func (s side) text() (string, bool) {
	d, ok := fold(s.devices)
	p, also := fold(s.ports)
	return d + "/" + p, ok && also
}

// tie is all parallel links of two devices with the same attributes, ports in
// step.
type tie struct {
	a, b           string
	aPorts, bPorts []string
}

func (d *deriver) linkNodes() *node {
	out := &node{list: true, block: true}
	for _, e := range d.entries() {
		a, _ := e.a.text()
		b, _ := e.b.text()
		n := mapping()
		if e.pattern != "" {
			n.put("pattern", bare(e.pattern))
		}
		n.put("a", text(a)).put("b", text(b)).put("cable", bare(e.cable.String())).put("speed", bare(e.speed.String()))
		if e.assumed != "" {
			n.comment = "ASSUMED: " + e.assumed + "; no device reports it"
		}
		out.items = append(out.items, n)
	}
	return out
}

// entries finds the shortest way to write the links that is easily found.
func (d *deriver) entries() []entry {
	groups := map[attrs][]*link{}
	var order []attrs
	for _, l := range d.links {
		k := attrs{l.cable, l.speed, l.assumed}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], l)
	}
	var out []entry
	for _, k := range order {
		var hosts, switches []*link
		for _, l := range groups[k] {
			if d.byName[l.b.Device] == nil {
				hosts = append(hosts, l)
			} else {
				switches = append(switches, l)
			}
		}
		for i, links := range [][]*link{hosts, switches} {
			var es []entry
			if d.plainLinks {
				for _, l := range links {
					es = append(es, single(l.a, l.b))
				}
			} else {
				es = patterns(links, i == 0)
			}
			for _, e := range es {
				e.attrs = k
				out = append(out, e)
			}
		}
	}
	slices.SortStableFunc(out, func(x, y entry) int {
		up := func(e entry) int { return b2i(d.byName[e.b.devices[0]] != nil) }
		return cmp.Or(cmp.Compare(up(x), up(y)), natural.Compare(x.a.devices[0], y.a.devices[0]), natural.Compare(x.a.ports[0], y.a.ports[0]))
	})
	return out
}

func single(a, b intent.Endpoint) entry {
	return entry{a: side{[]string{a.Device}, []string{a.Port}}, b: side{[]string{b.Device}, []string{b.Port}}}
}

// patterns folds links of the same attributes: meshes and rails first, and
// what is left in pairs.
func patterns(links []*link, hosts bool) []entry {
	ties := tiesOf(links)
	var out []entry
	var rest []tie
	for _, g := range groupTies(ties) {
		es, left := meshes(g, hosts)
		out = append(out, es...)
		rest = append(rest, left...)
	}
	return mergePairs(append(out, pairs(rest)...))
}

// tiesOf gathers parallel links, ties in natural order of their devices.
func tiesOf(links []*link) []tie {
	at := map[[2]string]int{}
	var out []tie
	for _, l := range links {
		k := [2]string{l.a.Device, l.b.Device}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, tie{a: k[0], b: k[1]})
		}
		out[i].aPorts = append(out[i].aPorts, l.a.Port)
		out[i].bPorts = append(out[i].bPorts, l.b.Port)
	}
	slices.SortFunc(out, func(x, y tie) int { return cmp.Or(natural.Compare(x.a, y.a), natural.Compare(x.b, y.b)) })
	return out
}

// groupTies puts together the devices of a that have the same ports to the
// same devices, as the switches of one tier and build do.
func groupTies(ties []tie) [][]tie {
	byA := map[string][]tie{}
	var names []string
	for _, t := range ties {
		if byA[t.a] == nil {
			names = append(names, t.a)
		}
		byA[t.a] = append(byA[t.a], t)
	}
	groups := map[string][]tie{}
	var order []string
	for _, a := range names {
		var key strings.Builder
		key.WriteString(shape(a))
		for _, t := range byA[a] {
			fmt.Fprintf(&key, "\x00%s\x01%s", t.b, strings.Join(t.aPorts, "\x02"))
		}
		if groups[key.String()] == nil {
			order = append(order, key.String())
		}
		groups[key.String()] = append(groups[key.String()], byA[a]...)
	}
	out := make([][]tie, 0, len(order))
	for _, k := range order {
		out = append(out, groups[k])
	}
	return out
}

// meshes finds the meshes of a group: devices of b whose ports run the same
// way. What is in none comes back.
func meshes(group []tie, hosts bool) (out []entry, rest []tie) {
	byB := map[string][]tie{}
	var names []string
	for _, t := range group {
		if byB[t.b] == nil {
			names = append(names, t.b)
		}
		byB[t.b] = append(byB[t.b], t)
	}
	subs := map[string][]string{}
	var order []string
	for _, b := range names {
		key := shape(b)
		for _, t := range byB[b] {
			key += "\x00" + t.a + "\x01" + strings.Join(t.bPorts, "\x02")
		}
		if subs[key] == nil {
			order = append(order, key)
		}
		subs[key] = append(subs[key], b)
	}
	for _, k := range order {
		var e entry
		for _, t := range byB[subs[k][0]] {
			e.a.devices = append(e.a.devices, t.a)
			e.b.ports = append(e.b.ports, t.bPorts...)
		}
		e.b.devices = subs[k]
		per := -1
		even := true
		for _, b := range e.b.devices {
			t := byB[b][0]
			e.a.ports = append(e.a.ports, t.aPorts...)
			for _, t := range byB[b] {
				even = even && (per < 0 || len(t.aPorts) == per)
				per = len(t.aPorts)
			}
		}
		_, okA := e.a.text()
		_, okB := e.b.text()
		if !even || !okA || !okB {
			for _, b := range e.b.devices {
				rest = append(rest, byB[b]...)
			}
			continue
		}
		switch {
		case per == 1 && (len(e.a.devices) == 1 || len(e.b.devices) == 1), len(e.a.devices) == 1 && len(e.b.devices) == 1:
			// Pairs say the same.
		case hosts && per == 1:
			e.pattern = "rail"
		default:
			e.pattern = "mesh"
		}
		out = append(out, e)
	}
	return out, rest
}

// pairs folds ties one by one: all parallel links as one entry where their
// ports fold, else each alone.
func pairs(ties []tie) []entry {
	var out []entry
	for _, t := range ties {
		e := entry{a: side{[]string{t.a}, t.aPorts}, b: side{[]string{t.b}, t.bPorts}}
		_, okA := e.a.text()
		_, okB := e.b.text()
		if okA && okB {
			out = append(out, e)
			continue
		}
		for i := range t.aPorts {
			out = append(out, single(intent.Endpoint{Device: t.a, Port: t.aPorts[i]}, intent.Endpoint{Device: t.b, Port: t.bPorts[i]}))
		}
	}
	return out
}

// mergePairs joins entries of pairs that have the same ports, device by
// device: leaf1 with gpu[1-4] and leaf2 with gpu[5-8].
func mergePairs(es []entry) []entry {
	groups := map[string][]entry{}
	var order []string
	for _, e := range es {
		key := e.pattern + "\x00" + shape(e.a.devices[0]) + "\x00" + shape(e.b.devices[0]) + "\x00" + strings.Join(e.a.ports, "\x01") + "\x00" + strings.Join(e.b.ports, "\x01")
		if e.pattern != "" || len(e.a.devices) > 1 {
			key += "\x00" + strings.Join(e.a.devices, "\x01") + "\x00" + strings.Join(e.b.devices, "\x01")
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], e)
	}
	var out []entry
	for _, k := range order {
		out = append(out, merge(groups[k])...)
	}
	return out
}

func merge(es []entry) []entry {
	together := func(es []entry) (entry, bool) {
		all := es[0]
		var a, b []string
		seen := map[string]bool{}
		for _, e := range es {
			a, b = append(a, e.a.devices...), append(b, e.b.devices...)
			// A device that comes twice would have its ports twice.
			for _, n := range append(slices.Clone(e.a.devices), e.b.devices...) {
				if seen[n] {
					return all, false
				}
				seen[n] = true
			}
		}
		all.a.devices, all.b.devices = a, b
		_, okA := all.a.text()
		_, okB := all.b.text()
		return all, okA && okB
	}
	var out []entry
	for len(es) > 0 {
		n := longest(len(es), func(n int) bool {
			_, ok := together(es[:n])
			return ok
		})
		all, ok := together(es[:n])
		if !ok {
			all = es[0]
		}
		out = append(out, all)
		es = es[n:]
	}
	return out
}
