package eos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Losses returns the lines that ports lose when an edit replaces their profile, such as a policy
// or port shaping.
func Losses(e Edit, have *Config) []lines.Loss {
	before, after := read(have), read(e.Apply(have))
	moves := map[lines.Move][]string{} // ports of each move
	for _, s := range e {
		if old := before.sections[s.Section]; s.Key == keyProfile && old != nil && old.at == inInterface {
			m := lines.Move{From: sectionProfile + old.profileName(), To: sectionProfile + after.sections[s.Section].profileName()}
			moves[m] = append(moves[m], old.port())
		}
	}
	return lines.Losses(moves,
		func(profile string) []string { return before.sections[profile].unmodelled() },
		func(profile string) []string { return after.sections[profile].unmodelled() })
}

// unmodelled returns the lines that configure something that the model does not represent.
func (s *section) unmodelled() []string {
	if s == nil {
		return nil
	}
	var out []string
	var walk func(queue string, ls []*Line)
	walk = func(queue string, ls []*Line) {
		at := placeIn(s.at, queue)
		for _, l := range ls {
			if queue == "" && headerOf(l.Text) == headQueue {
				walk(l.Text, l.Sub)
				continue
			}
			h, ok := matchLine(l, at)
			held := ok && h.set != nil && !strings.HasPrefix(queue, multicastQueue)
			if held || ok && (h.Negated || strings.HasPrefix(h.Text, "no ") || h.Text == h.Absent) || l.Text[0] == '!' {
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
