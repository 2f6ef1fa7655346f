package eos

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Commands returns the lines to type in a configuration session on a device
// that holds have: with the lines that open a section and the "exit" that
// leaves it. What have holds already is not typed. Profiles come first, then
// the top level, then interfaces, and profiles that go last, so that no
// interface ever names a profile that is not there.
//
// Interfaces are never removed; their lines are.
func (e Edit) Commands(have *Config) []string {
	r := read(have)
	after := map[string]bool{}
	for _, l := range e.Apply(have).Lines {
		after[canonical(l.Text)] = true
	}
	bySection := map[string]Edit{}
	var order, removed []string
	gone := map[string]bool{}
	for _, s := range e {
		if bySection[s.Section] == nil {
			order = append(order, s.Section)
		}
		bySection[s.Section] = append(bySection[s.Section], s)
		if s.Key == "" && s.Line == "" && r.sections[s.Section] != nil && strings.HasPrefix(s.Section, sectionProfile) && !after[s.Section] {
			removed, gone[s.Section] = append(removed, s.Section), true
		}
	}
	rank := func(section string) int {
		switch {
		case strings.HasPrefix(section, sectionProfile):
			return 0
		case section == "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), natural.Compare(a, b))
	})
	var out []string
	for _, name := range order {
		if gone[name] {
			continue
		}
		sec := r.global
		if name != "" {
			sec = r.sections[name]
		}
		out = append(out, typeSection(name, sec, bySection[name])...)
	}
	for _, name := range removed {
		out = append(out, "no "+name)
	}
	return out
}

// PlaceOf says in which section, and queue, the i-th of some [Edit.Commands] is
// typed, from 0: "qos profile ROCE-FABRIC, uc-tx-queue 3"; "" for the top level,
// and for a line that opens a section.
func PlaceOf(commands []string, i int) string {
	var open []string
	for _, l := range commands[:max(0, min(i, len(commands)))] {
		switch {
		case headerOf(l) != headNone:
			open = append(open, l)
		case l == "exit" && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	return strings.Join(open, ", ")
}

// typed is a line to type and its place in the order.
type typed struct {
	queue, line string
	rank        int
}

// typeSection types what a section does not hold yet; sec is nil for one that
// is not there.
func typeSection(name string, sec *section, e Edit) []string {
	at := inGlobal
	switch {
	case strings.HasPrefix(name, sectionProfile):
		at = inProfile
	case name != "":
		at = inInterface
	}
	isNew := false
	var lines []typed
	for _, s := range e {
		if s.Key == "" {
			isNew = isNew || s.Line != "" && sec == nil && at == inProfile
			continue
		}
		if t, ok := typeSetting(s, sec, at); ok {
			lines = append(lines, t)
		}
	}
	if len(lines) == 0 && !isNew {
		return nil
	}
	slices.SortStableFunc(lines, func(a, b typed) int {
		return cmp.Or(natural.Compare(a.queue, b.queue), a.rank-b.rank, natural.Compare(a.line, b.line))
	})
	var out []string
	if name != "" {
		out = append(out, name)
	}
	queue := ""
	for _, t := range mergeLists(lines) {
		if t.queue != queue {
			if queue != "" {
				out = append(out, "exit")
			}
			out = append(out, t.queue)
			queue = t.queue
		}
		out = append(out, t.line)
	}
	if queue != "" {
		out = append(out, "exit")
	}
	if name != "" {
		out = append(out, "exit")
	}
	return out
}

// typeSetting returns the line for a setting; false where it holds already.
func typeSetting(s Setting, sec *section, at place) (typed, bool) {
	if s.Queue != "" {
		at = inQueue
	}
	held, text := sec.get(s.Queue, s.Key), ""
	inert := true
	if held != nil {
		text, inert = held.text, held.inert
	}
	unset, rank := unsetOf(s.Key, text, at)
	if s.Line == text {
		return typed{}, false
	}
	want, ok := match(s.Line, at)
	if s.Line == "" || ok && want.unset {
		// An inert line, or none, says the same.
		if inert && (held == nil || held.hit.unset) {
			return typed{}, false
		}
		if s.Line != "" {
			unset = s.Line
		}
		return typed{s.Queue, unset, rank}, true
	}
	return typed{s.Queue, s.Line, rank}, true
}

// mergeLists types the entries of a list that get the same value as one line.
func mergeLists(lines []typed) []typed {
	var out []typed
	where := map[string]int{} // the line without its list
	merged := map[int][]int{} // by place in out
	var hits []hit
	for _, t := range lines {
		h, ok := match(t.line, inGlobal)
		if !ok || !h.list || h.unset || t.queue != "" {
			out, hits = append(out, t), append(hits, hit{})
			continue
		}
		same := h.entry("*")
		i, ok := where[same]
		if !ok {
			i = len(out)
			where[same] = i
			out, hits = append(out, t), append(hits, h)
		}
		merged[i] = append(merged[i], h.entries()...)
	}
	for i, ids := range merged {
		slices.Sort(ids)
		out[i].line = hits[i].entry(listText(slices.Compact(ids)))
	}
	return out
}

// Digest identifies what desired speaks of in a configuration: the managed
// lines of its ports, of the profiles that they carry, and of the top level.
// Other lines, the order of lines, and lines that say what is usual do not
// change it.
func Digest(c *Config, desired *qos.Device) string {
	r := read(c)
	h := sha256.New()
	write := func(s *section) {
		if s == nil {
			return
		}
		var lines []string
		for _, l := range s.held {
			if l.inert || l.set == nil || l.text == r.usual(s, &l) {
				continue
			}
			lines = append(lines, s.name+"\x00"+l.queue+"\x00"+l.text+"\n")
		}
		slices.Sort(lines)
		for _, l := range lines {
			h.Write([]byte(l))
		}
	}
	write(r.global)
	write(r.defaults)
	seen := map[string]bool{}
	for _, n := range natural.Keys(desired.Ports) {
		s := r.sections[sectionInterface+n]
		if s == nil {
			h.Write([]byte("no " + n + "\n"))
			continue
		}
		write(s)
		if p := s.carries(); p != "" && !seen[p] {
			seen[p] = true
			if r.profile(p) == nil {
				h.Write([]byte("no profile " + p + "\n"))
			}
			write(r.profile(p))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
