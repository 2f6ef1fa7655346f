package nxos

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Loss is what ports lose with a policy that is in force on them no longer: the
// lines in it that the model does not hold, such as a policer or a match of an
// access list. The policy itself keeps them.
type Loss struct {
	Policy string   // its header
	Ports  []string // in natural order; none where the whole switch had it
	Lines  []string // in the order of the text
}

// Losses returns what an edit takes from ports in this way, by policy, in
// natural order. What the new policy of a port says as well is not lost.
func (e Edit) Losses(have *Config, m ClassModel) []Loss {
	before, after := newView(have, m), newView(e.Apply(have), m)
	type move struct{ typ, from, to string }
	moves := map[move][]string{} // ports
	for _, s := range e {
		h, ok := headOf(s.Section)
		switch {
		case !ok:
		case h.at == inSystem && s.Key == keyNetwork:
			from, _, _ := last(before.system, keyNetwork)
			to, _, _ := last(after.system, keyNetwork)
			moves[move{typeNetwork, from, to}] = nil
		case h.at == inInterface && (s.Key == keyInput || s.Key == keyOutput):
			typ := typeQoS
			if s.Key == keyOutput {
				typ = typeQueuing
			}
			mv := move{typ, before.attached(h.name, s.Key), after.attached(h.name, s.Key)}
			moves[mv] = append(moves[mv], h.name)
		}
	}
	var out []Loss
	for mv, ports := range moves {
		if mv.from == mv.to {
			continue
		}
		kept := after.unmodelled(mv.typ, mv.to)
		lines := slices.DeleteFunc(before.unmodelled(mv.typ, mv.from), func(l string) bool { return slices.Contains(kept, l) })
		if len(lines) > 0 {
			out = append(out, Loss{head{at: inPolicy, typ: mv.typ, name: mv.from}.text(), natural.Sorted(ports), lines})
		}
	}
	slices.SortFunc(out, func(a, b Loss) int {
		return cmp.Or(natural.Compare(a.Policy, b.Policy), slices.CompareFunc(a.Ports, b.Ports, natural.Compare))
	})
	return out
}

// unmodelled returns the lines of a policy, and of the class-maps that it
// names, that say what the model does not hold, each behind the header that it
// stands below.
func (v *view) unmodelled(typ, name string) []string {
	policy := v.policies[typ][name]
	if policy == nil {
		return nil
	}
	var out []string
	add := func(under string, at place, block *Line) {
		for _, l := range block.Sub {
			if _, _, isClass := classOf(l.Text); isClass && at == inPolicy || isComment(l.Text) || held(at, l.Text) {
				continue
			}
			out = append(out, strings.TrimSpace(under+" "+l.Text))
		}
	}
	add("", inPolicy, policy)
	for _, c := range classes(policy) {
		add(c.Text, classPlace(typ), c)
		if _, class, _ := classOf(c.Text); typ == typeQoS && v.classMaps[class] != nil {
			add(c.Text, inClassMap, v.classMaps[class])
		}
	}
	return out
}

// held reports whether the model holds what a line at a place says.
func held(at place, text string) bool {
	if strings.HasPrefix(text, "no ") || isDefault(at, text) {
		return true
	}
	switch keyOf(at, text) {
	case keyGroup, keyMTU, keyBandwidth, keyPriority, keyShape, keyWRED, "afd":
		return true
	}
	_, dscp := cutWords(text, keyDSCP)
	_, cos := cutWords(text, keyCoS)
	_, pause := cutWords(text, keyPause)
	return dscp || cos || pause
}
