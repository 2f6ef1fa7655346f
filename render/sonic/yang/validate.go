package yang

import (
	"slices"
	"strings"
)

// defaults adds what the models imply for missing data: containers without presence and default
// values.
func (ck *checker) defaults(n *node) {
	for _, s := range n.s.kids {
		switch {
		case s.kind == kList || n.child(s.name) != nil || !ck.caseOpen(n, s):
		case s.kind == kContainer && s.presence:
		case s.kind != kContainer && len(s.defaults) == 0:
		case len(s.whens) > 0:
			ck.late = append(ck.late, lateDefault{n, s})
		default:
			ck.implicit(n, s)
		}
	}
	for _, k := range n.kids {
		if !k.isLeaf() && !k.implicit {
			ck.defaults(k)
		}
	}
}

func (ck *checker) implicit(n *node, s *snode) {
	if s.kind == kContainer {
		k := &node{s: s, implicit: true}
		if n.parent != nil && n.parent.parent == ck.root {
			k.key = s.name
		}
		n.add(k)
		ck.defaults(k)
		return
	}
	for _, d := range s.defaults {
		k := &node{s: s, raw: d, implicit: true}
		var err error
		k.val, err = s.typ.value(ck.m, d, 0)
		k.bad = err != nil // the fault is in the model, not in the data
		n.add(k)
	}
}

// settle adds the defaults whose when is true.
func (ck *checker) settle() {
	for len(ck.late) > 0 {
		l := ck.late[0]
		ck.late = ck.late[1:]
		if l.parent.child(l.s.name) == nil && ck.wanted(l.parent, l.s) {
			ck.implicit(l.parent, l.s)
		}
	}
}

// wanted reports whether every when of s is true for a child of n, which need not exist.
func (ck *checker) wanted(n *node, s *snode) bool {
	return ck.failedWhen(&node{s: s, parent: n}) == nil
}

func (ck *checker) failedWhen(n *node) *rule {
	for _, w := range n.s.whens {
		ctx := n
		if w.onParent {
			ctx = n.parent
		}
		if !truth(ck.eval(w.x, ctx, ctx)) {
			return w
		}
	}
	return nil
}

// caseOpen reports whether defaults for s apply: s is not in a choice, or is in the case in use, or
// in the default case if none is in use.
func (ck *checker) caseOpen(n *node, s *snode) bool {
	for _, c := range s.cases {
		used := ck.usedCases(n, c.ch)
		if len(used) > 0 && !slices.Contains(used, c.name) || len(used) == 0 && c.ch.def != c.name {
			return false
		}
	}
	return true
}

// usedCases returns the cases of a choice for which there is data.
func (ck *checker) usedCases(n *node, ch *choice) []string {
	var used []string
	for _, k := range n.kids {
		if k.implicit {
			continue
		}
		for _, c := range k.s.cases {
			if c.ch == ch && !slices.Contains(used, c.name) {
				used = append(used, c.name)
			}
		}
	}
	return used
}

// validate checks the rules that need all of the data.
func (ck *checker) validate(n *node) {
	if w := ck.failedWhen(n); w != nil && !n.implicit {
		ck.at(n, w.where, "%s", message(w, "may only be there when"))
		return
	}
	if n.isLeaf() && !n.bad {
		ck.reference(n)
	}
	if !n.bad {
		for _, r := range n.s.musts {
			if !truth(ck.eval(r.x, n, n)) {
				ck.at(n, r.where, "%s", message(r, "must hold:"))
			}
		}
	}
	if n.isLeaf() {
		return
	}
	counts := map[*snode]int{}
	for _, k := range n.kids {
		counts[k.s]++
	}
	for _, s := range n.s.kids {
		ck.presence(n, s, counts[s])
	}
	for _, ch := range n.s.choices {
		ck.choice(n, ch)
	}
	for _, k := range slices.Clone(n.kids) {
		ck.validate(k)
	}
}

func message(r *rule, verb string) string {
	t := verb + " " + clip(r.text, 200)
	if r.msg != "" {
		return strings.TrimRight(clip(r.msg, 200), ".") + " (" + t + ")"
	}
	return t
}

// presence checks the number of instances of a child.
func (ck *checker) presence(n *node, s *snode, count int) {
	switch {
	case s.kind == kLeaf && s.mandatory && count == 0:
		if ck.caseMandatory(n, s) && ck.wanted(n, s) {
			ck.at(&node{s: s, parent: n}, s.where, "the field is mandatory")
		}
	case s.kind == kLeaf || s.kind == kContainer:
	case count < s.min && ck.caseMandatory(n, s) && ck.wanted(n, s):
		ck.at(&node{s: s, parent: n}, s.where, "%d values; at least %d are needed", count, s.min)
	case s.max > 0 && count > s.max:
		ck.at(&node{s: s, parent: n}, s.where, "%d values; at most %d are allowed", count, s.max)
	}
	if s.kind == kList && len(s.unique) > 0 && count > 1 {
		ck.unique(n, s)
	}
}

// caseMandatory reports whether s is mandatory here if it is marked so: inside a case, only once
// the case is in use.
func (ck *checker) caseMandatory(n *node, s *snode) bool {
	for _, c := range s.cases {
		if !slices.Contains(ck.usedCases(n, c.ch), c.name) {
			return false
		}
	}
	return true
}

func (ck *checker) choice(n *node, ch *choice) {
	if ch.parent != nil && !slices.Contains(ck.usedCases(n, ch.parent.ch), ch.parent.name) {
		return
	}
	used := ck.usedCases(n, ch)
	switch {
	case len(used) > 1:
		slices.Sort(used)
		ck.at(n, ch.where, "only one of %s may be there", strings.Join(used, ", "))
	case len(used) == 0 && ch.mandatory:
		ck.at(n, ch.where, "one of the choice %s must be there", ch.name)
	}
}

func (ck *checker) unique(n *node, s *snode) {
	for _, set := range s.unique {
		seen := map[string]bool{}
	rows:
		for _, row := range n.kids {
			if row.s != s {
				continue
			}
			id := ""
			for _, path := range set {
				l := row
				for _, st := range strings.Split(path, "/") {
					if l = l.child(local(st)); l == nil {
						continue rows
					}
				}
				id += l.val + "\x00"
			}
			if seen[id] {
				ck.at(row, s.where, "%s is the same as in another row", strings.Join(set, ", "))
			}
			seen[id] = true
		}
	}
}

// reference checks that the target of a leafref exists. For a union, one member must accept the
// value entirely.
func (ck *checker) reference(n *node) {
	if canon, why := ck.refers(n, n.s.typ); why != "" {
		if !n.implicit {
			ck.at(n, n.s.where, "%s: %s", quote(n.s, n.raw), why)
		} else {
			ck.at(n, n.s.where, "the field is not there, and its default %s: %s", quote(n.s, n.raw), why)
		}
	} else {
		n.val = canon
	}
}

func (ck *checker) refers(n *node, t *ytype) (canon, why string) {
	switch {
	case t.base == "union":
		var whys []string
		for _, mt := range t.members {
			var c, w string
			if v, err := mt.value(ck.m, n.raw, 0); err != nil {
				w = err.Error()
			} else if c, w = ck.refers(n, mt); w == "" {
				if mt.base != "union" && mt.base != "leafref" {
					c = v
				}
				return c, ""
			}
			whys = append(whys, w)
		}
		return "", strings.Join(slices.Compact(whys), ", and ")
	case t.base != "leafref" || t.path == nil || !t.require:
		return n.val, ""
	}
	val := n.raw
	if tt := t.resolve(ck.m); tt != nil {
		if c, err := tt.value(ck.m, n.raw, 0); err == nil {
			val = c
		}
	}
	if ck.exists(n, t, val) {
		return val, ""
	}
	return "", "refers to a row of " + refTable(t) + " that is not there"
}

func (ck *checker) exists(n *node, t *ytype, val string) bool {
	if !t.path.plain() {
		return slices.ContainsFunc(ck.evalPath(t.path, n, n), func(k *node) bool { return k.val == val })
	}
	set := ck.refs[t.pathTxt]
	if set == nil {
		set = map[string]bool{}
		for _, k := range ck.evalPath(t.path, n, n) {
			set[k.val] = true
		}
		ck.refs[t.pathTxt] = set
	}
	return set[val]
}

// refTable returns the name of the table that a leafref points into.
func refTable(t *ytype) string {
	if p := t.path.path; len(p) > 2 && p[0].axis == axisRoot {
		return p[2].name
	}
	return clip(t.pathTxt, 120)
}
