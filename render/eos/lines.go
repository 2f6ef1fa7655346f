package eos

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Lines is the grammar of EOS for package lines. EOS prints lines in its own order, so positions
// do not matter, and a queue exists only through its lines. A profile that an interface uses is
// not removed.
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
	Leave:    func(top []*Line) map[*Line]bool { return layout.Leave(top) },

	Outermost: forms.Outermost,
	// Complete output ends with "end".
	Complete: func(c *Config) bool { return c.Whole || len(c.Lines) > 0 && c.Lines[len(c.Lines)-1].Text == "end" },
}

func opens(section, line string) (id string, at place, ok bool) {
	switch h := headerOf(line); {
	case section == "" && h == headSection:
		if id = canonical(line); strings.HasPrefix(id, sectionProfile) {
			return id, inProfile, true
		}
		return id, inInterface, true
	case h == headQueue && headerOf(section) == headSection && canonical(section) != sectionDefaults:
		return line, inQueue, true
	}
	return "", 0, false
}

func sets(at place, line string) lines.Sets {
	h, ok := match(line, at)
	switch {
	case !ok || h.Other:
		return lines.Sets{}
	case !h.List():
		return lines.Sets{Keys: []string{h.keyText(0)}, Unset: h.Negated}
	}
	out := lines.Sets{Unset: h.Negated}
	for _, id := range h.Entries() {
		out.Keys = append(out.Keys, h.keyText(id))
		if !h.Negated {
			out.Each = append(out.Each, h.Entry(itoa(id)))
		}
	}
	return out
}

// named returns a function that reports whether an interface uses a profile.
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

// phase orders commands so that no interface refers to a profile that does not exist: profiles
// come first, then the top level, interfaces, and removals of profiles.
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

// mergeLists merges the list entries that get the same value into one line.
func mergeLists(ls []string) []string {
	var out []string
	where := map[string]int{} // index in out, by the line without its list
	merged := map[int][]int{} // entries, by index in out
	var hits []hit
	for _, l := range ls {
		h, ok := match(l, inGlobal)
		if !ok || !h.List() || h.Negated {
			out, hits = append(out, l), append(hits, hit{})
			continue
		}
		same := h.Entry("*")
		i, ok := where[same]
		if !ok {
			i = len(out)
			where[same] = i
			out, hits = append(out, l), append(hits, h)
		}
		merged[i] = append(merged[i], h.Entries()...)
	}
	for i, ids := range merged {
		slices.Sort(ids)
		out[i] = hits[i].Entry(listText(slices.Compact(ids)))
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

// follows reports whether line a comes after line b of the same rank.
func follows(a, b string) bool {
	if isQueue(a) && isQueue(b) {
		kind := func(s string) int { k, _, _ := strings.Cut(s, " "); return slices.Index(queueKinds, k) }
		return cmp.Or(kind(a)-kind(b), strings.Compare(a, b)) > 0
	}
	if strings.HasPrefix(a, keyMap) && strings.HasPrefix(b, keyMap) {
		ha, oka := match(a, inGlobal)
		hb, okb := match(b, inGlobal)
		if oka && okb && ha.List() && hb.List() {
			a, b = ha.Entry(""), hb.Entry("")
		}
	}
	return natural.Compare(a, b) > 0
}
