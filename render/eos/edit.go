package eos

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Setting is one thing that a line sets, at its place.
type Setting struct {
	// Section is the line that opens the section: "interface Ethernet1/1",
	// "qos profile ROCE-FABRIC"; "" for the top level.
	Section string `json:"section,omitempty"`
	// Queue is the line that opens the queue in it: "uc-tx-queue 3".
	Queue string `json:"queue,omitempty"`
	// Key says what is set: "mtu", "priority-flow-control priority 3",
	// "qos map dscp 26". "" stands for the section itself, which is new where
	// Line opens it and goes where Line is empty; an interface goes only from
	// the text, and only where nothing else is in it.
	Key string `json:"key,omitempty"`
	// Line sets it: "mtu 9100". Empty is the default: nothing is configured.
	Line string `json:"line,omitempty"`
}

// Edit is a list of settings. Each spot occurs once.
type Edit []Setting

// Apply returns what the configuration will be. have is not changed. A profile
// that an interface still names stays, whatever the edit says.
func (e Edit) Apply(have *Config) *Config {
	w := writer{cfg: have.clone(), nodes: map[string][]*Line{}, ranks: map[*Line]int{}}
	for _, l := range w.cfg.Lines {
		if headerOf(l.Text) == headSection {
			w.nodes[canonical(l.Text)] = append(w.nodes[canonical(l.Text)], l)
		}
	}
	var entries Edit
	for _, s := range e {
		switch {
		case s.Section == "" && strings.HasPrefix(s.Key, keyMap):
			entries = append(entries, s)
		case s.Key != "":
			w.set(s)
		case s.Line != "":
			w.open(s.Section)
		}
	}
	w.cfg.Lines = setEntries(w.cfg.Lines, entries)
	w.remove(e)
	return w.cfg
}

type writer struct {
	cfg   *Config
	nodes map[string][]*Line
	// ranks are those of the top level, so that a line is matched once and not
	// for every section that is made.
	ranks map[*Line]int
}

func (w *writer) rank(l *Line) (int, bool) {
	r, ok := w.ranks[l]
	if !ok {
		if r, ok = rankOf(l.Text, inGlobal); !ok {
			r = -1
		}
		w.ranks[l] = r
	}
	return r, r >= 0
}

// open returns the lines that open a section, which it makes where there are
// none.
func (w *writer) open(section string) []*Line {
	if n := w.nodes[section]; n != nil {
		return n
	}
	l := &Line{Text: section}
	w.cfg.Lines = insert(w.cfg.Lines, l, w.rank)
	w.nodes[section] = []*Line{l}
	return w.nodes[section]
}

// remove takes away the sections that an edit wants gone.
func (w *writer) remove(e Edit) {
	gone := map[string]bool{}
	for _, s := range e {
		if s.Key == "" && s.Line == "" && w.nodes[s.Section] != nil {
			gone[s.Section] = true
		}
	}
	if len(gone) == 0 {
		return
	}
	carried := map[string]bool{}
	for name, nodes := range w.nodes {
		for _, n := range nodes {
			if gone[name] && strings.HasPrefix(name, sectionInterface) && len(n.Sub) > 0 {
				delete(gone, name)
			}
			for _, l := range n.Sub {
				if p, ok := strings.CutPrefix(canonical(l.Text), keyProfile+" "); ok {
					carried[sectionProfile+p] = true
				}
			}
		}
	}
	w.cfg.Lines = slices.DeleteFunc(w.cfg.Lines, func(l *Line) bool {
		name := canonical(l.Text)
		return gone[name] && !carried[name]
	})
}

func (w *writer) set(s Setting) {
	if s.Section == "" {
		w.cfg.Lines = setLine(w.cfg.Lines, s.Key, s.Line, inGlobal)
		return
	}
	nodes := w.nodes[s.Section]
	if nodes == nil {
		if s.Line == "" {
			return
		}
		nodes = w.open(s.Section)
	}
	at := inInterface
	if strings.HasPrefix(s.Section, sectionProfile) {
		at = inProfile
	}
	for i, n := range nodes {
		line := s.Line
		if i < len(nodes)-1 {
			// Only the last of several openings says what holds.
			line = ""
		}
		if s.Queue == "" {
			n.Sub = setLine(n.Sub, s.Key, line, at)
		} else {
			n.Sub = setInQueue(n.Sub, s.Queue, s.Key, line, at)
		}
	}
}

func setInQueue(ls []*Line, queue, key, line string, at place) []*Line {
	last := -1
	for i, l := range ls {
		if l.Text == queue {
			last = i
		}
	}
	if last < 0 {
		if line == "" {
			return ls
		}
		return insert(ls, &Line{Text: queue, Sub: []*Line{{Text: line}}}, ranksAt(at))
	}
	out := ls[:0]
	for i, l := range ls {
		if l.Text == queue {
			had := len(l.Sub)
			if i == last {
				l.Sub = setLine(l.Sub, key, line, inQueue)
			} else {
				l.Sub = setLine(l.Sub, key, "", inQueue)
			}
			if had > 0 && len(l.Sub) == 0 {
				continue
			}
		}
		out = append(out, l)
	}
	clear(ls[len(out):])
	return out
}

// setLine makes the line what the key has among its siblings. The first line
// of the key is replaced where it stands.
func setLine(ls []*Line, key, line string, at place) []*Line {
	first, _, _ := strings.Cut(key, " ")
	done := line == ""
	out := ls[:0]
	for _, l := range ls {
		if !strings.Contains(l.Text, first) {
			out = append(out, l)
			continue
		}
		h, ok := match(l.Text, at)
		if !ok || h.about == nil || h.unset && line == "" {
			out = append(out, l)
			continue
		}
		if h.list && !h.unset {
			if l = without(l, h, key); l != nil {
				out = append(out, l)
			}
			continue
		}
		id := 0
		if h.list {
			id = h.entries()[0]
		}
		if h.keyText(id) != key {
			out = append(out, l)
			continue
		}
		if !done {
			done = true
			if l.Text != line {
				l = &Line{Text: line, No: l.No, Sub: l.Sub}
			}
			out = append(out, l)
		}
	}
	clear(ls[len(out):])
	if done {
		return out
	}
	return add(out, line, at)
}

// setEntries is setLine for entries of the switch's maps: a list of 64 entries
// is read once, not 64 times.
func setEntries(ls []*Line, e Edit) []*Line {
	if len(e) == 0 {
		return ls
	}
	goes := make(map[string]bool, len(e))
	for _, s := range e {
		goes[s.Key] = true
	}
	out := ls[:0]
	for _, l := range ls {
		if !strings.Contains(l.Text, keyMap) {
			out = append(out, l)
			continue
		}
		h, ok := match(l.Text, inGlobal)
		if !ok || !h.list {
			out = append(out, l)
			continue
		}
		ids := h.entries()
		left := slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return goes[h.keyText(id)] })
		switch {
		case len(left) == 0:
			continue
		case len(left) < len(ids):
			l = &Line{Text: h.entry(listText(left)), No: l.No}
		}
		out = append(out, l)
	}
	clear(ls[len(out):])
	var lines []typed
	for _, s := range e {
		if s.Line != "" {
			lines = append(lines, typed{line: s.Line})
		}
	}
	for _, t := range mergeLists(lines) {
		out = add(out, t.line, inGlobal)
	}
	return out
}

// without takes one entry off the list of a line; nil is nothing left.
func without(l *Line, h hit, key string) *Line {
	ids := h.entries()
	i := slices.IndexFunc(ids, func(id int) bool { return h.keyText(id) == key })
	if i < 0 {
		return l
	}
	if len(ids) == 1 {
		return nil
	}
	return &Line{Text: h.entry(listText(slices.Delete(ids, i, i+1))), No: l.No}
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

// add puts a line among its siblings; an entry of a list joins the line that
// says the same of others.
func add(ls []*Line, line string, at place) []*Line {
	h, ok := match(line, at)
	if !ok || !h.list || h.unset {
		return insert(ls, &Line{Text: line}, ranksAt(at))
	}
	for i, l := range ls {
		o, ok := match(l.Text, at)
		if !ok || o.rule != h.rule || o.unset || o.entry("*") != h.entry("*") {
			continue
		}
		ids := append(o.entries(), h.entries()...)
		slices.Sort(ids)
		ls[i] = &Line{Text: o.entry(listText(slices.Compact(ids))), No: l.No}
		return ls
	}
	return insert(ls, &Line{Text: line}, ranksAt(at))
}

// ranksAt is rankOf for the lines of one place.
func ranksAt(at place) func(*Line) (int, bool) {
	return func(l *Line) (int, bool) { return rankOf(l.Text, at) }
}

// insert puts a line where EOS prints it: after the last one that comes before
// it in the order.
func insert(ls []*Line, l *Line, rankIn func(*Line) (int, bool)) []*Line {
	rank, ok := rankIn(l)
	if !ok {
		rank = len(grammar)
	}
	after := -1 // of the first that comes behind it, where none comes before
	for i := len(ls) - 1; i >= 0; i-- {
		r, known := rankIn(ls[i])
		if !known {
			continue
		}
		if r < rank || r == rank && !follows(ls[i].Text, l.Text) {
			return slices.Insert(ls, i+1, l)
		}
		after = i
	}
	if after >= 0 {
		return slices.Insert(ls, after, l)
	}
	return append(ls, l)
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

// Undo returns the settings of have at the edit's places. Applied to a
// configuration that e was applied to, and that others changed elsewhere
// since, it restores them.
func (e Edit) Undo(have *Config) Edit {
	r := read(have)
	made := map[string]bool{}
	for _, s := range e {
		if s.Key == "" && r.sections[s.Section] == nil {
			made[s.Section] = true
		}
	}
	var out, gone Edit
	for _, s := range e {
		sec := r.global
		if s.Section != "" {
			sec = r.sections[s.Section]
		}
		switch {
		case made[s.Section] && s.Key == "":
			gone = append(gone, Setting{Section: s.Section})
		case made[s.Section] && strings.HasPrefix(s.Section, sectionProfile):
			// It goes as a whole.
		case s.Key == "" && s.Line == "":
			out = append(out, Setting{Section: s.Section, Line: s.Section})
			for _, h := range sec.held {
				out = append(out, Setting{s.Section, h.queue, h.spot.key, h.text})
			}
		case s.Key != "":
			u := Setting{Section: s.Section, Queue: s.Queue, Key: s.Key}
			if h := sec.get(s.Queue, s.Key); h != nil {
				u.Line = h.text
			}
			out = append(out, u)
		}
	}
	return append(out, gone...)
}
