package eos

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Loss is what ports lose with a profile that they carry no longer: the lines
// in it that the model does not hold, such as a policy or the shaping of the
// port. The profile itself keeps them.
type Loss struct {
	Profile string   // its name
	Ports   []string // in natural order
	Lines   []string // in the order of the text, those of a queue with its header
}

// Losses returns what an edit takes from ports in this way, by profile, in
// natural order. What the new profile of a port has as well is not lost.
func (e Edit) Losses(have *Config) []Loss {
	before, after := read(have), read(e.Apply(have))
	type move struct{ from, to string }
	moves := map[move][]string{} // ports
	for _, s := range e {
		if old := before.sections[s.Section]; s.Key == keyProfile && old != nil && old.at == inInterface {
			m := move{old.carries(), after.sections[s.Section].carries()}
			moves[m] = append(moves[m], old.port())
		}
	}
	var out []Loss
	for m, ports := range moves {
		kept := map[string]bool{}
		for _, l := range after.profile(m.to).unmodelled() {
			kept[l] = true
		}
		lines := slices.DeleteFunc(before.profile(m.from).unmodelled(), func(l string) bool { return kept[l] })
		if len(lines) > 0 {
			out = append(out, Loss{m.from, natural.Sorted(ports), lines})
		}
	}
	slices.SortFunc(out, func(a, b Loss) int {
		return cmp.Or(natural.Compare(a.Profile, b.Profile), natural.Compare(a.Ports[0], b.Ports[0]))
	})
	return out
}

// unmodelled returns the lines that configure what the model does not hold.
func (s *section) unmodelled() []string {
	if s == nil {
		return nil
	}
	var out []string
	var walk func(queue string, ls []*Line)
	walk = func(queue string, ls []*Line) {
		at := s.at
		if queue != "" {
			at = inQueue
		}
		for _, l := range ls {
			if queue == "" && headerOf(l.Text) == headQueue {
				walk(l.Text, l.Sub)
				continue
			}
			h, ok := match(l.Text, at)
			held := ok && h.set != nil && !strings.HasPrefix(queue, multicastQueue)
			if held || ok && (h.unset || strings.HasPrefix(h.text, "no ") || h.text == h.usual) || l.Text[0] == '!' {
				continue
			}
			out = append(out, strings.TrimSpace(queue+" "+l.Text))
		}
	}
	for _, n := range s.nodes {
		walk("", n.Sub)
	}
	return out
}
