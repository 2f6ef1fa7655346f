package lines

import (
	"cmp"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Commands returns the lines to type in configuration mode on a device that holds have,
// including the lines that open a block and the "exit" that leaves it. Lines that have already
// holds are not typed. [Grammar.Phases] orders the commands so that no command refers to
// something that does not exist. Sections in [Grammar.Lasting] are never removed; only their
// lines are.
func (e Edit) Commands(have *Config) []string {
	g := have.g
	t := typist{Grammar: g, old: NewTree(have), now: NewTree(e.Apply(have))}
	phase := g.Phases(have)
	type part struct {
		phase   int
		section string
		keys    map[string]bool // keys at the top level; nil for a section
	}
	var parts []*part
	top := map[int]*part{}
	seen := map[string]bool{}
	for _, s := range e {
		if s.Section == "" {
			n := phase("", s.Key, false)
			if top[n] == nil {
				top[n] = &part{phase: n, keys: map[string]bool{}}
				parts = append(parts, top[n])
			}
			top[n].keys[s.Key] = true
			continue
		}
		if id, _, _ := g.Opens("", s.Section); !seen[id] {
			seen[id] = true
			parts = append(parts, &part{phase: phase(s.Section, "", !t.now.Has(s.Section, "")), section: s.Section})
		}
	}
	ordered.Sort(parts, func(a, b *part) int {
		if a.phase == b.phase && g.Ordered {
			return natural.Compare(a.section, b.section)
		}
		return a.phase - b.phase
	})
	var out []string
	for _, p := range parts {
		if p.keys != nil {
			out = append(out, t.changes(t.old.root, t.now.root, p.keys)...)
		} else {
			out = append(out, t.section(t.old.find(p.section, ""), t.now.find(p.section, ""))...)
		}
	}
	return out
}

type typist struct {
	*Grammar
	old, now *Tree
}

// section returns the commands that change a section from was to is; either is nil if the
// section does not exist then.
func (t typist) section(was, is *block) []string {
	some := cmp.Or(is, was)
	switch {
	case some == nil:
		return nil
	case is == nil && !t.lasting(was.at):
		return []string{"no " + was.text}
	}
	body := append(t.changes(was, is, nil), t.blocks(was, is)...)
	if len(body) == 0 && (was != nil || t.lasting(some.at)) {
		return nil
	}
	return inBlock(cmp.Or(was, is).text, body)
}

// inBlock returns lines between the header that opens their block and "exit".
func inBlock(header string, lines []string) []string {
	return append(append([]string{header}, lines...), "exit")
}

// changes returns the commands that change the lines of a block from was to is: removals
// first, or in the order of the system if it has one. If only is not nil, it selects the keys.
func (t typist) changes(was, is *block, only map[string]bool) []string {
	take, give := t.takeGive(was, is, only)
	return t.sorted(cmp.Or(is, was), append(take, give...))
}

func (t typist) sorted(b *block, ls []string) []string {
	if t.Ordered {
		rank := func(l string) int { r, _ := t.Rank(b.at, l); return r }
		ordered.Sort(ls, func(x, y string) int { return cmp.Or(rank(x)-rank(y), natural.Compare(x, y)) })
	}
	if t.Join != nil {
		ls = t.Join(ls)
	}
	return ls
}

// takeGive returns the commands that remove lines, and those that set new ones.
func (t typist) takeGive(was, is *block, only map[string]bool) (take, give []string) {
	empty := &block{}
	old, now := empty, empty
	if was != nil {
		old = t.old.index(was)
	}
	if is != nil {
		now = t.now.index(is)
	}
	wanted := func(key string) bool { return only == nil || only[key] }
	for _, k := range old.keys {
		if l, _ := old.last(k); wanted(k) && now.lines[k] == nil {
			take = append(take, t.Unset(old.at, k, l.text))
		}
	}
	for _, k := range now.keys {
		o, had := old.last(k)
		n, _ := now.last(k)
		if !wanted(k) || had && o.text == n.text || !had && n.unset {
			continue
		}
		if had && t.Swap != nil && t.Swap(now.at, k, o.text, n.text) {
			take = append(take, t.Unset(now.at, k, o.text))
		}
		give = append(give, n.text)
	}
	return take, give
}

// blocks returns the commands that change the blocks of a section from was to is.
// Within a [Ration], the lowest block gives up its share first, and the highest gets its share
// first.
func (t typist) blocks(was, is *block) []string {
	var out []string
	var order []*block // blocks of is, and blocks of was that disappear with their last line
	before := map[string]*block{}
	if was != nil {
		before = t.old.index(was).inner
		for _, b := range was.order {
			switch o := t.now.inner(is, b.text); {
			case o != nil:
			case t.fleeting(b.at):
				order = append(order, b)
			default:
				out = append(out, "no "+b.text)
			}
		}
	}
	if is != nil {
		order = append(order, t.now.index(is).order...)
	}
	var ration Ration
	rationed := false
	if len(order) > 0 && was != nil {
		ration, rationed = t.Rations[order[0].at]
	}
	switch {
	case t.Ordered:
		ordered.Sort(order, func(a, b *block) int { return natural.Compare(a.text, b.text) })
	case rationed:
		ordered.Sort(order, func(a, b *block) int { return ration.Order(a.text) - ration.Order(b.text) })
	}
	var later [][]string
	for _, b := range order {
		id, _, _ := t.Opens(cmp.Or(is, was).text, b.text)
		old, now := before[id], t.now.inner(is, b.text)
		take, give := t.takeGive(old, now, nil)
		all := t.sorted(b, append(slices.Clone(take), give...))
		switch {
		case old == nil && !t.fleeting(b.at):
			out = append(out, inBlock(b.text, all)...)
		case len(all) == 0:
		case !rationed || ration.Frees(old.node(), now.node()):
			out = append(out, inBlock(b.text, all)...)
		default:
			if len(take) > 0 {
				out = append(out, inBlock(b.text, take)...)
			}
			if len(give) > 0 {
				later = append(later, inBlock(b.text, give))
			}
		}
	}
	for _, l := range slices.Backward(later) {
		out = append(out, l...)
	}
	return out
}

// inner returns the block with that header in a section; nil if section is nil or lacks it.
func (t *Tree) inner(section *block, header string) *block {
	if section == nil {
		return nil
	}
	id, _, _ := t.g.Opens(section.text, header)
	return t.index(section).inner[id]
}
