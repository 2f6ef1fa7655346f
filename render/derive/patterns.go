package derive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// entry is one entry of the links section.
type entry struct {
	a, b    side
	pattern string // "" for one-to-one pairs
	attrs
}

// side is one end of an entry: all ports of all devices; the ports vary fastest.
type side struct{ devices, ports []string }

func (s side) text() (string, bool) {
	d, ok := fold(s.devices)
	p, also := fold(s.ports)
	return d + "/" + p, ok && also
}

// folds reports whether both sides can be written as patterns.
func (e entry) folds() bool {
	_, a := e.a.text()
	_, b := e.b.text()
	return a && b
}

// tie holds the parallel links between two devices that have the same attributes; the ports
// correspond by index.
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
		if e.disputed != "" {
			n.comment = strings.TrimPrefix(n.comment+"; CONTRADICTED: "+e.disputed, "; ")
		}
		out.items = append(out.items, n)
	}
	return out
}

// entries returns the links as a small number of entries.
func (d *deriver) entries() []entry {
	var groups ordered.Groups[attrs, *link]
	for _, l := range d.links {
		groups.Add(l.attrs, l)
	}
	var out []entry
	for k, all := range groups.All() {
		var hosts, switches []*link
		for _, l := range all {
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
	ordered.Sort(out, func(x, y entry) int {
		up := func(e entry) int { return b2i(d.byName[e.b.devices[0]] != nil) }
		return cmp.Or(cmp.Compare(up(x), up(y)), natural.Compare(x.a.devices[0], y.a.devices[0]), natural.Compare(x.a.ports[0], y.a.ports[0]))
	})
	return out
}

func single(a, b intent.Endpoint) entry {
	return entry{a: side{[]string{a.Device}, []string{a.Port}}, b: side{[]string{b.Device}, []string{b.Port}}}
}

// patterns folds links with the same attributes, meshes and rails before pairs.
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

// tiesOf groups parallel links into ties, in natural order of their devices.
func tiesOf(links []*link) []tie {
	var between ordered.Map[[2]string, tie]
	for _, l := range links {
		t := between.At([2]string{l.a.Device, l.b.Device})
		t.a, t.b = l.a.Device, l.b.Device
		t.aPorts, t.bPorts = append(t.aPorts, l.a.Port), append(t.bPorts, l.b.Port)
	}
	var out []tie
	for _, t := range between.All() {
		out = append(out, t)
	}
	ordered.Sort(out, func(x, y tie) int { return cmp.Or(natural.Compare(x.a, y.a), natural.Compare(x.b, y.b)) })
	return out
}

// groupTies groups the devices on side a that use the same ports to the same devices, as
// identical switches of one tier do.
func groupTies(ties []tie) [][]tie {
	var byA ordered.Groups[string, tie]
	for _, t := range ties {
		byA.Add(t.a, t)
	}
	var groups ordered.Groups[string, tie]
	for a, ties := range byA.All() {
		var key strings.Builder
		key.WriteString(shape(a))
		for _, t := range ties {
			fmt.Fprintf(&key, "\x00%s\x01%s", t.b, strings.Join(t.aPorts, "\x02"))
		}
		groups.Add(key.String(), ties...)
	}
	var out [][]tie
	for _, g := range groups.All() {
		out = append(out, g)
	}
	return out
}

// meshes finds the meshes in a group: sets of devices on side b with the same port layout. rest
// holds the links that are in no mesh.
func meshes(group []tie, hosts bool) (out []entry, rest []tie) {
	var byB ordered.Groups[string, tie]
	for _, t := range group {
		byB.Add(t.b, t)
	}
	var subs ordered.Groups[string, []tie] // ties of each device
	for b, ties := range byB.All() {
		key := shape(b)
		for _, t := range ties {
			key += "\x00" + t.a + "\x01" + strings.Join(t.bPorts, "\x02")
		}
		subs.Add(key, ties)
	}
	for _, alike := range subs.All() {
		var e entry
		for _, t := range alike[0] {
			e.a.devices = append(e.a.devices, t.a)
			e.b.ports = append(e.b.ports, t.bPorts...)
		}
		per := -1
		even := true
		for _, ties := range alike {
			e.b.devices = append(e.b.devices, ties[0].b)
			e.a.ports = append(e.a.ports, ties[0].aPorts...)
			for _, t := range ties {
				even = even && (per < 0 || len(t.aPorts) == per)
				per = len(t.aPorts)
			}
		}
		if !even || !e.folds() {
			rest = append(rest, slices.Concat(alike...)...)
			continue
		}
		switch {
		case per == 1 && (len(e.a.devices) == 1 || len(e.b.devices) == 1), len(e.a.devices) == 1 && len(e.b.devices) == 1:
			// The entry without a pattern means the same.
		case hosts && per == 1:
			e.pattern = "rail"
		default:
			e.pattern = "mesh"
		}
		out = append(out, e)
	}
	return out, rest
}

// pairs folds each tie separately: into one entry if its ports fold, else into one entry per
// link.
func pairs(ties []tie) []entry {
	var out []entry
	for _, t := range ties {
		e := entry{a: side{[]string{t.a}, t.aPorts}, b: side{[]string{t.b}, t.bPorts}}
		if e.folds() {
			out = append(out, e)
			continue
		}
		for i := range t.aPorts {
			out = append(out, single(intent.Endpoint{Device: t.a, Port: t.aPorts[i]}, intent.Endpoint{Device: t.b, Port: t.bPorts[i]}))
		}
	}
	return out
}

// mergePairs merges entries with the same ports device by device: leaf1 with gpu[1-4] and leaf2
// with gpu[5-8].
func mergePairs(es []entry) []entry {
	var groups ordered.Groups[string, entry]
	for _, e := range es {
		key := e.pattern + "\x00" + shape(e.a.devices[0]) + "\x00" + shape(e.b.devices[0]) + "\x00" + strings.Join(e.a.ports, "\x01") + "\x00" + strings.Join(e.b.ports, "\x01")
		if e.pattern != "" || len(e.a.devices) > 1 {
			key += "\x00" + strings.Join(e.a.devices, "\x01") + "\x00" + strings.Join(e.b.devices, "\x01")
		}
		groups.Add(key, e)
	}
	var out []entry
	for _, alike := range groups.All() {
		out = append(out, merge(alike)...)
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
			// A repeated device would get its ports twice.
			for _, n := range append(slices.Clone(e.a.devices), e.b.devices...) {
				if seen[n] {
					return all, false
				}
				seen[n] = true
			}
		}
		all.a.devices, all.b.devices = a, b
		return all, all.folds()
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
