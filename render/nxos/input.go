package nxos

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// input describes a desired input policy: its classification tables, and the group of everything
// that no class matches.
type input struct {
	table
	byDSCP, byPCP bool
	rest          int8
}

// resolve combines the maps that a port wants with the ones it has: unmanaged code points keep
// their group. A table that is entirely unmanaged is dropped.
func (p *planner) resolve(port string) (input, bool) {
	m := p.want.Ports[port].Maps.V
	if m == nil {
		return input{}, false
	}
	have := p.v.input(port)
	in := input{}
	for i, tc := range m.DSCPToTC {
		in.dscp()[i] = groupOfClass(m, tc)
	}
	for i, tc := range m.PCPToTC {
		in.pcp()[i] = groupOfClass(m, tc)
	}
	managed := func(n int8) bool { return n >= 0 }
	in.byDSCP, in.byPCP = slices.ContainsFunc(in.dscp(), managed), slices.ContainsFunc(in.pcp(), managed)
	for _, t := range []struct {
		by         bool
		want, have []int8
	}{{in.byDSCP, in.dscp(), have.dscp()}, {in.byPCP, in.pcp(), have.pcp()}} {
		for i, g := range t.want {
			if t.by && g < 0 {
				t.want[i] = t.have[i]
			}
		}
	}
	in.rest = p.rest(in)
	for i := range in.table {
		if i < qos.NumDSCP && !in.byDSCP || i >= qos.NumDSCP && !in.byPCP {
			in.table[i] = in.rest
		}
	}
	return in, in.byDSCP || in.byPCP
}

// rest returns the group for packets that no class matches: group 0 if any code point maps to
// it, else the group with the most code points among those that are not paused.
func (p *planner) rest(in input) int8 {
	var count [qos.NumPriorities]int
	tally := func(by bool, table []int8) {
		for _, g := range table {
			if by {
				count[g]++
			}
		}
	}
	tally(in.byDSCP, in.dscp())
	tally(in.byPCP, in.pcp())
	for _, g := range p.all.pauses {
		if g > 0 {
			count[g] = 0
		}
	}
	if count[0] > 0 {
		return 0
	}
	best := 0
	for g, n := range count {
		if n > count[best] {
			best = g
		}
	}
	return int8(best)
}

// matches returns the match lines of the class-map for a group.
func (in input) matches(group int8) []string {
	var out []string
	list := func(by bool, key string, table []int8) {
		var ns []int
		for i, g := range table {
			if by && g == group {
				ns = append(ns, i)
			}
		}
		if len(ns) > 0 {
			out = append(out, key+" "+qos.FoldInts(ns))
		}
	}
	list(in.byDSCP, keyDSCP, in.dscp())
	list(in.byPCP, keyCoS, in.pcp())
	return out
}

// inputs writes input policies and returns the policy name of each port. Ports that keep their
// policy are not in the result.
func (p *planner) inputs() map[string]string {
	shapes, groups := grouped(p, partMaps, p.resolve)
	names, fresh := p.choose(typeQoS, keyInput, prefix+"IN", groups, func(name string, i int) bool {
		k := p.v.readInput(name)
		return k.table == shapes[i].table
	}, func(name string, i int) bool { return p.plainInput(name, shapes[i]) })
	maps := p.newClassMaps(names, fresh)
	for i, in := range shapes {
		if fresh[i] {
			p.writeInput(names[i], in, maps)
		}
	}
	return byPort(groups, names)
}

// plainInput reports whether a policy can be edited in place: it does nothing that input cannot
// express, has one class per group, and its class-maps match only code points and priorities and
// serve no other policy.
func (p *planner) plainInput(name string, in input) bool {
	own := map[string]bool{}
	groups := map[string]bool{}
	for _, c := range classes(p.v.policies[typeQoS][name]) {
		_, class, _ := classOf(c.Text)
		group, _, _ := last(c, keyGroup)
		own[class] = true
		for _, l := range c.Sub {
			if _, ok := cutWords(l.Text, keyGroup); !ok && !isComment(l.Text) {
				return false
			}
		}
		if class == "class-default" {
			continue
		}
		cm := p.v.classMaps[class]
		if cm == nil || groups[group] {
			return false
		}
		groups[group] = true
		for _, l := range cm.Sub {
			_, cos := cutWords(l.Text, keyCoS)
			var m matched
			if !isComment(l.Text) && (!m.add(l.Text) || cos != in.byPCP && !in.byDSCP || cos && !in.byPCP) {
				return false
			}
		}
		if h, _ := headOf(cm.Text); h.match != "match-any" {
			return false
		}
	}
	for other, l := range p.v.policies[typeQoS] {
		for _, c := range classes(l) {
			if _, class, _ := classOf(c.Text); other != name && own[class] && class != "class-default" {
				return false
			}
		}
	}
	return true
}

// writeInput writes an input policy and its class-maps.
func (p *planner) writeInput(name string, in input, maps *classMaps) {
	section := head{at: inPolicy, typ: typeQoS, name: name}.text()
	old := p.v.policies[typeQoS][name]
	if old != nil {
		section = old.Text
	}
	keep := map[string]bool{classDefault: true}
	var body Edit
	for g := range int8(qos.NumPriorities) {
		if g == in.rest {
			continue
		}
		if ms := in.matches(g); len(ms) > 0 {
			class := classHeader(typeQoS, maps.name(name, g, ms))
			keep[class] = true
			body = append(body, lines.Setting{Section: section, Block: class, Line: lines.Present}, lines.Setting{Section: section, Block: class, Key: keyGroup, Line: fmt.Sprintf("%s %d", keyGroup, g)})
		}
	}
	body = append(body, lines.Setting{Section: section, Block: classDefault, Line: lines.Present}, lines.Setting{Section: section, Block: classDefault, Key: keyGroup, Line: fmt.Sprintf("%s %d", keyGroup, in.rest)})
	p.set(section, "", "", lines.Present)
	if old != nil {
		for _, l := range classes(old) {
			if !keep[l.Text] {
				p.edit = append(p.edit, lines.Setting{Section: section, Block: l.Text})
			}
		}
	}
	for _, s := range body {
		p.set(s.Section, s.Block, s.Key, s.Line)
	}
}

// classMaps assigns class-maps to the policies that are written.
type classMaps struct {
	p *planner
	// taken holds the match lines of the class-maps that are already assigned, by name.
	taken map[string][]string
	// free holds the class-maps that may be rewritten: only policies to be written use them.
	free map[string]bool
}

func (p *planner) newClassMaps(policies []string, fresh []bool) *classMaps {
	k := &classMaps{p: p, taken: map[string][]string{}, free: map[string]bool{}}
	for name := range p.v.classMaps {
		k.free[name] = strings.HasPrefix(name, prefix)
	}
	for i, name := range policies {
		for _, c := range classes(p.v.policies[typeQoS][name]) {
			if _, class, _ := classOf(c.Text); fresh[i] && p.v.classMaps[class] != nil {
				k.free[class] = true // see plainInput
			}
		}
	}
	for name, l := range p.v.policies[typeQoS] {
		i := slices.Index(policies, name)
		for _, c := range classes(l) {
			if _, class, _ := classOf(c.Text); i < 0 || !fresh[i] {
				k.free[class] = false
			}
		}
	}
	return k
}

// name returns the name of the class-map for a group of a policy, and writes the class-map. It
// takes one with these matches, else the policy's own for the group, else a new one.
func (k *classMaps) name(policy string, group int8, matches []string) string {
	for _, name := range slices.Sorted(maps.Keys(k.taken)) {
		if slices.Equal(k.taken[name], matches) {
			return name
		}
	}
	base := mapName(fmt.Sprintf("TC%d", group))
	for _, c := range k.p.want.Classes {
		if c.Queue == int(group) {
			base = mapName(c.Name)
			break
		}
	}
	name := ""
	old := k.p.v.policies[typeQoS][policy]
	if k.usable(base) && (old == nil || strings.HasPrefix(policy, prefix)) {
		name = base
	}
	if name == "" && old != nil {
		for _, c := range classes(old) {
			rest, _, _ := last(c, keyGroup)
			if _, class, _ := classOf(c.Text); rest == strconv.Itoa(int(group)) && k.usable(class) {
				name = class
			}
		}
	}
	if name == "" {
		name = lines.FreeName(base, maxName, func(n string) bool { return k.taken[n] != nil || k.p.v.classMaps[n] != nil })
	}
	k.taken[name] = matches
	k.write(name, matches)
	return name
}

// usable reports whether a class-map may be rewritten for a policy.
func (k *classMaps) usable(name string) bool {
	if k.taken[name] != nil || !k.free[name] {
		return false
	}
	h, _ := headOf(k.p.v.classMaps[name].Text)
	return h.match == "match-any"
}

func (k *classMaps) write(name string, matches []string) {
	section := head{at: inClassMap, typ: typeQoS, name: name, match: "match-any"}.text()
	p := k.p
	old := p.v.classMaps[name]
	if old != nil {
		var want, have matched
		for _, m := range matches {
			want.add(m)
		}
		for _, l := range old.Sub {
			have.add(l.Text)
		}
		if want == have {
			return // keep the operator's syntax
		}
		section = old.Text
		keys, text := linesOf(inClassMap, old)
		for _, key := range keys {
			if !isComment(text[key]) && !slices.Contains(matches, key) {
				p.edit = append(p.edit, lines.Setting{Section: section, Key: key})
			}
		}
	}
	p.set(section, "", "", lines.Present)
	for _, m := range matches {
		p.set(section, "", m, m)
	}
}
