package nxos

import (
	"cmp"
	"slices"
)

// Setting is one thing that a line sets, at its place.
type Setting struct {
	// Section is the header of the block, "" for a global line.
	Section string `json:"section,omitempty"`
	// Class is the header of the class in a policy-map, or "".
	Class string `json:"class,omitempty"`
	// Key is what the line sets; "" stands for the whole block.
	Key string `json:"key,omitempty"`
	// Line is the line; "" takes it away, so that the default holds. Of a
	// whole block it is "present" or "".
	Line string `json:"line,omitempty"`
	// At is the position among its neighbours that the line goes back to,
	// from 1; 0 for where it belongs.
	At int `json:"at,omitempty"`
}

// Present is the line of a Setting that says that a block is to be there.
const Present = "present"

// Edit is a list of settings, made by [Change] or [Edit.Undo].
type Edit []Setting

// Undo returns the settings of have at the places of e: applied to a
// configuration that e was applied to, and that others changed elsewhere
// since, it brings them back.
func (e Edit) Undo(have *Config) Edit {
	t := newTree(have)
	var out Edit
	seen := map[Setting]bool{}
	add := func(s Setting) {
		if place := (Setting{s.Section, s.Class, s.Key, "", 0}); !seen[place] {
			seen[place] = true
			out = append(out, s)
		}
	}
	for _, s := range e {
		if s.Section == "" {
			undo := Setting{Key: s.Key}
			if ls := t.global[s.Key]; len(ls) > 0 {
				l := ls[len(ls)-1]
				undo.Line, undo.At = l.Text, t.at[l]
			}
			add(undo)
			continue
		}
		h, _ := headOf(s.Section)
		block := t.block(s.Section)
		if block == nil {
			add(Setting{Section: s.Section})
			if s.Key != "" && lasting(h.at) {
				add(Setting{Section: s.Section, Key: s.Key})
			}
			continue
		}
		t.undo(block, h, s, add)
	}
	return out
}

// Made reports whether at the places of e a configuration holds nothing but what
// e sets and what undo restores: nobody has set a third value there.
func (e Edit) Made(undo Edit, now *Config) bool {
	lines := map[Setting][]string{}
	place := func(s Setting) Setting { return Setting{Section: s.Section, Class: s.Class, Key: s.Key} }
	text := func(s Setting) string {
		if isDefault(within(s.Section, s.Class), s.Line) {
			return ""
		}
		return s.Line
	}
	made := map[Setting]bool{} // blocks and classes that were not there
	for _, s := range undo {
		made[place(s)] = s.Key == "" && s.Line == ""
	}
	for _, s := range slices.Concat(e, undo) {
		lines[place(s)] = append(lines[place(s)], text(s))
	}
	for _, s := range e.Undo(now) {
		missing := s.Line == "" && (made[Setting{Section: s.Section}] || made[Setting{Section: s.Section, Class: s.Class}])
		if s.Key != "" && !missing && !slices.Contains(lines[place(s)], text(s)) {
			return false
		}
	}
	return true
}

func (t *tree) undo(block *Line, h head, s Setting, add func(Setting)) {
	at := within(s.Section, s.Class)
	if s.Class == "" && s.Key == "" {
		if s.Line == "" {
			add(Setting{Section: s.Section, Line: Present, At: t.at[block]})
			content(block, h, s.Section, add)
		}
		return
	}
	if s.Class == "" {
		undo := Setting{Section: s.Section, Key: s.Key}
		if i, l := t.find(block, at, s.Key); l != nil {
			undo.Line, undo.At = l.Text, i
		}
		add(undo)
		return
	}
	class := t.class(block, s.Class)
	switch {
	case class == nil:
		add(Setting{Section: s.Section, Class: s.Class})
	case s.Key == "" && s.Line == "":
		classContent(block, class, h, s.Section, add)
	case s.Key != "":
		undo := Setting{Section: s.Section, Class: s.Class, Key: s.Key}
		if i, l := t.find(class, at, s.Key); l != nil {
			undo.Line, undo.At = l.Text, i
		}
		add(undo)
	}
}

// content adds all that stands in a block.
func content(block *Line, h head, section string, add func(Setting)) {
	for i, l := range block.Sub {
		if _, _, ok := classOf(l.Text); ok && h.at == inPolicy {
			classContent(block, l, h, section, add)
			continue
		}
		add(Setting{section, "", keyOf(h.at, l.Text), l.Text, i + 1})
	}
}

func classContent(block, class *Line, h head, section string, add func(Setting)) {
	add(Setting{section, class.Text, "", Present, slices.Index(block.Sub, class) + 1})
	for i, l := range class.Sub {
		add(Setting{section, class.Text, keyOf(classPlace(h.typ), l.Text), l.Text, i + 1})
	}
}

// lasting reports whether blocks at a place are there whatever stands in them.
func lasting(at place) bool { return at == inSystem || at == inInterface }

// Apply returns what the configuration will be; have is not changed. A policy
// or class-map that something else still names is not removed.
func (e Edit) Apply(have *Config) *Config {
	out := have.clone()
	a := applier{tree: newTree(out), gone: map[*Line]bool{}, within: map[*Line]bool{}, leaving: map[*Line]bool{}}
	for _, s := range e {
		if s.Line == "" {
			a.remove(s)
		}
	}
	var inserts []Setting
	for _, s := range e {
		if s.Line != "" && !a.replace(s) {
			inserts = append(inserts, s)
		}
	}
	a.sweep()
	// Lines go back to their places in the order of the places; a block comes
	// before what stands in it.
	slices.SortStableFunc(inserts, func(x, y Setting) int {
		return cmp.Or(cmp.Compare(depthOf(x), depthOf(y)), cmp.Compare(order(x.At), order(y.At)))
	})
	for _, s := range inserts {
		a.insert(s)
	}
	a.finish()
	return out
}

// depthOf is how deep what a setting inserts stands.
func depthOf(s Setting) int {
	switch {
	case s.Section == "" || s.Class == "" && s.Key == "":
		return 0
	case s.Class == "" || s.Key == "":
		return 1
	}
	return 2
}

// order puts what has no place behind what has.
func order(at int) int {
	if at == 0 {
		return int(^uint(0) >> 1)
	}
	return at
}

type applier struct {
	*tree
	gone   map[*Line]bool // lines and blocks to be taken out
	within map[*Line]bool // blocks with such lines
	top    bool           // the same outside blocks
	// leaving are whole blocks that are to be taken out at the end. Places at
	// the top count without them: they were not there.
	leaving map[*Line]bool
}

func (a *applier) remove(s Setting) {
	if s.Section == "" {
		for _, l := range a.global[s.Key] {
			a.gone[l], a.top = true, true
		}
		return
	}
	block := a.block(s.Section)
	if block == nil {
		return
	}
	if s.Class == "" && s.Key == "" {
		a.leaving[block] = true
		return
	}
	at := within(s.Section, s.Class)
	if s.Class != "" {
		class := a.class(block, s.Class)
		if class == nil {
			return
		}
		if s.Key == "" {
			a.gone[class], a.within[block] = true, true
			return
		}
		block = class
	}
	for _, l := range a.in(block, at).lines[s.Key] {
		a.gone[l.Line], a.within[block] = true, true
	}
}

// replace writes a setting over the line that it replaces; false where there
// is none.
func (a *applier) replace(s Setting) bool {
	if s.Section == "" {
		ls := a.global[s.Key]
		if len(ls) > 0 {
			ls[len(ls)-1].Text = s.Line
		}
		return len(ls) > 0
	}
	block := a.block(s.Section)
	if s.Class == "" && s.Key == "" || block == nil {
		return block != nil
	}
	if s.Class != "" {
		class := a.class(block, s.Class)
		if s.Key == "" || class == nil {
			return class != nil
		}
		block = class
	}
	_, l := a.find(block, within(s.Section, s.Class), s.Key)
	if l != nil {
		l.Text = s.Line
	}
	return l != nil
}

func (a *applier) sweep() {
	drop := func(l *Line) bool { return a.gone[l] }
	for block := range a.within {
		block.Sub = slices.DeleteFunc(block.Sub, drop)
		delete(a.parts, block)
	}
	if a.top {
		a.cfg.Lines = slices.DeleteFunc(a.cfg.Lines, drop)
	}
}

func (a *applier) insert(s Setting) {
	l := &Line{Text: s.Line}
	if s.Section == "" {
		a.atTop(l, s.At)
		return
	}
	h, _ := headOf(s.Section)
	block := a.block(s.Section)
	if block == nil {
		block = &Line{Text: s.Section}
		a.blocks[h.id()] = block
		at := 0
		if s.Class == "" && s.Key == "" {
			at = s.At
		}
		a.atTop(block, at)
	}
	if s.Class == "" && s.Key == "" {
		return
	}
	if s.Class != "" {
		class := a.class(block, s.Class)
		if class == nil {
			class = &Line{Text: s.Class}
			at := 0
			if s.Key == "" {
				at = s.At
			}
			a.in(block, inPolicy).add(class, inPolicy, 0)
			block.Sub = put(block.Sub, class, at, func() int { return classEnd(block) })
		}
		if s.Key == "" {
			return
		}
		block = class
	}
	at := within(s.Section, s.Class)
	if _, there := a.find(block, at, s.Key); there != nil {
		there.Text = s.Line
		return
	}
	a.in(block, at).add(l, at, 0)
	block.Sub = put(block.Sub, l, s.At, func() int { return len(block.Sub) })
}

// atTop inserts a line outside blocks.
func (a *applier) atTop(l *Line, at int) {
	if at > 0 && len(a.leaving) > 0 {
		for i, o := range a.cfg.Lines {
			if i >= at {
				break
			}
			if a.leaving[o] {
				at++
			}
		}
	}
	a.cfg.Lines = put(a.cfg.Lines, l, at, func() int { return a.placeFor(rankOf(l.Text)) })
}

// put inserts a line at a position from 1, or where end says for 0.
func put(ls []*Line, l *Line, at int, end func() int) []*Line {
	if at == 0 {
		at = end() + 1
	}
	return slices.Insert(ls, min(at-1, len(ls)), l)
}

// classEnd is where a class goes: a class-default stays last.
func classEnd(policy *Line) int {
	n := len(policy.Sub)
	for i, l := range policy.Sub {
		if l.Text == classDefault {
			n = i
		}
	}
	return n
}

const classDefault = "class class-default"

// rankOf orders what this package writes at the top, as a Nexus prints it.
func rankOf(text string) int {
	h, ok := headOf(text)
	switch {
	case !ok && belongs(inGlobal, text):
		return 2
	case !ok:
		return 0
	case h.at == inPolicy && h.typ == typeNetwork:
		return 1
	case h.at == inClassMap:
		return 3
	case h.at == inPolicy && h.typ == typeQoS:
		return 4
	case h.at == inPolicy:
		return 5
	case h.at == inSystem:
		return 6
	}
	return 7
}

// placeFor is the index at the top where something of a rank goes: behind the
// last that has it, else before the first of a higher one.
func (a *applier) placeFor(rank int) int {
	before := len(a.cfg.Lines)
	for i, l := range slices.Backward(a.cfg.Lines) {
		switch r := rankOf(l.Text); {
		case r == rank:
			return i + 1
		case r > rank:
			before = i
		}
	}
	return before
}

// finish takes whole blocks out: a policy or class-map that nothing names any
// more, and an interface or system qos that nothing stands in.
func (a *applier) finish() {
	if len(a.leaving) == 0 {
		return
	}
	// Policies go first: they name class-maps.
	for _, at := range []place{inPolicy, inClassMap, inSystem, inInterface} {
		used := namesIn(a.cfg)
		a.cfg.Lines = slices.DeleteFunc(a.cfg.Lines, func(l *Line) bool {
			h, _ := headOf(l.Text)
			return a.leaving[l] && h.at == at && !used.has(h) && !(lasting(at) && len(l.Sub) > 0)
		})
	}
}
