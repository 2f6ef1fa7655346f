package eos

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Lines is the grammar of EOS for the machine that edits configuration by
// lines. It prints lines in an order of its own, so that none has a position,
// and a queue is there by its lines alone. A profile that an interface names
// stays, whatever an edit says.
var Lines = &lines.Grammar{
	Top:      inGlobal,
	Opens:    opens,
	Sets:     sets,
	Unset:    unsetOf,
	Ordered:  true,
	Rank:     rankOf,
	After:    follows,
	Join:     mergeLists,
	Lasting:  []place{inInterface},
	Fleeting: []place{inQueue},
	Named:    named,
	Phases:   func(*Config) func(section, key string, gone bool) int { return phase },
	Known:    known,
	Indent:   3,
	Raw:      isRaw,
	Gap:      gap,
	// A whole answer ends so.
	Complete: func(c *Config) bool { return c.Whole || len(c.Lines) > 0 && c.Lines[len(c.Lines)-1].Text == "end" },
}

func opens(section, line string) (id string, at place, ok bool) {
	switch h := headerOf(line); {
	case section == "" && h == headSection:
		if id = canonical(line); strings.HasPrefix(id, sectionProfile) {
			return id, inProfile, true
		}
		return id, inInterface, true
	case section != "" && h == headQueue:
		return line, inQueue, true
	}
	return "", 0, false
}

func sets(at place, line string) lines.Sets {
	h, ok := match(line, at)
	switch {
	case !ok || h.about == nil:
		return lines.Sets{}
	case !h.list:
		return lines.Sets{Keys: []string{h.keyText(0)}, Unset: h.unset}
	}
	out := lines.Sets{Unset: h.unset}
	for _, id := range h.entries() {
		out.Keys = append(out.Keys, h.keyText(id))
		if !h.unset {
			out.Each = append(out.Each, h.entry(itoa(id)))
		}
	}
	return out
}

// named returns whether an interface names a profile.
func named(c *Config) func(section string) bool {
	profiles := map[string]bool{}
	for _, l := range c.Lines {
		for _, s := range l.Sub {
			if p, ok := strings.CutPrefix(canonical(s.Text), keyProfile+" "); ok {
				profiles[sectionProfile+p] = true
			}
		}
	}
	return func(section string) bool { return profiles[canonical(section)] }
}

// phase: profiles come first, then the top level, then interfaces, and profiles
// that go last, so that no interface ever names a profile that is not there.
func phase(section, _ string, gone bool) int {
	switch {
	case section == "":
		return 1
	case !strings.HasPrefix(section, sectionProfile):
		return 2
	case gone:
		return 3
	}
	return 0
}

// mergeLists makes one line of the entries of a list that get the same value.
func mergeLists(ls []string) []string {
	var out []string
	where := map[string]int{} // the line without its list
	merged := map[int][]int{} // by place in out
	var hits []hit
	for _, l := range ls {
		h, ok := match(l, inGlobal)
		if !ok || !h.list || h.unset {
			out, hits = append(out, l), append(hits, hit{})
			continue
		}
		same := h.entry("*")
		i, ok := where[same]
		if !ok {
			i = len(out)
			where[same] = i
			out, hits = append(out, l), append(hits, h)
		}
		merged[i] = append(merged[i], h.entries()...)
	}
	for i, ids := range merged {
		slices.Sort(ids)
		out[i] = hits[i].entry(listText(slices.Compact(ids)))
	}
	return out
}

func listText(ids []int) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(itoa(id))
	}
	return b.String()
}

// follows reports whether a comes after b, which is of the same rank.
func follows(a, b string) bool {
	if isQueue(a) && isQueue(b) {
		kind := func(s string) int { k, _, _ := strings.Cut(s, " "); return slices.Index(queueKinds, k) }
		return cmp.Or(kind(a)-kind(b), strings.Compare(a, b)) > 0
	}
	if strings.HasPrefix(a, keyMap) && strings.HasPrefix(b, keyMap) {
		ha, oka := match(a, inGlobal)
		hb, okb := match(b, inGlobal)
		if oka && okb && ha.list && hb.list {
			a, b = ha.entry(""), hb.entry("")
		}
	}
	return natural.Compare(a, b) > 0
}
