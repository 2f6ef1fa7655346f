package nxos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Losses returns the lines that ports lose because an edit replaces their policies, such as a
// policer or a match on an access list.
func Losses(e Edit, have *Config, m ClassModel) []lines.Loss {
	before, after := newView(have, m), newView(e.Apply(have), m)
	moves := map[lines.Move][]string{} // ports of each move
	header := func(typ, name string) string { return head{at: inPolicy, typ: typ, name: name}.text() }
	for _, s := range e {
		h, ok := headOf(s.Section)
		switch {
		case !ok:
		case h.at == inSystem && s.Key == keyNetwork:
			from, _, _ := last(before.system, keyNetwork)
			to, _, _ := last(after.system, keyNetwork)
			moves[lines.Move{From: header(typeNetwork, from), To: header(typeNetwork, to)}] = nil
		case h.at == inInterface && (s.Key == keyInput || s.Key == keyOutput):
			typ := attachedType[s.Key]
			m := lines.Move{From: header(typ, before.attached(h.name, s.Key)), To: header(typ, after.attached(h.name, s.Key))}
			moves[m] = append(moves[m], h.name)
		}
	}
	return lines.Losses(moves, before.unmodelled, after.unmodelled)
}

// unmodelled returns the lines of a policy, and of the class-maps that it uses, that the model
// does not represent, each behind the header of its block.
func (v *view) unmodelled(header string) []string {
	h, _ := headOf(header)
	typ := h.typ
	policy := v.policies[typ][h.name]
	if policy == nil {
		return nil
	}
	var out []string
	add := func(under string, at place, block *Line) {
		for _, l := range block.Sub {
			if _, _, isClass := classOf(l.Text); isClass && at == inPolicy || isComment(l.Text) || modelled(at, l.Text) {
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

// modelled reports whether the model represents a line at a place.
func modelled(at place, text string) bool {
	f, ok := formOf(at, text)
	return ok && (f.Written || f.Usual() && f.Fits())
}
