package lines

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Setting is one value that a line sets, and its place.
type Setting struct {
	// Section is the header of the section: "interface Ethernet1/1"; "" for the top level.
	Section string `json:"section,omitempty"`
	// Block is the header of a block in the section: "uc-tx-queue 3", "class ROCE".
	Block string `json:"block,omitempty"`
	// Key names the value: "mtu". "" stands for the section or block itself, which is removed if
	// Line is empty. A section in [Grammar.Lasting] is removed only from the text, and only if
	// no lines are left in it.
	Key string `json:"key,omitempty"`
	// Line is the line that sets the value: "mtu 9100"; "" restores the default, with nothing
	// configured. For a section or block it is [Present] or "".
	Line string `json:"line,omitempty"`
	// At is the position in its block at which the line is put back, from 1; 0 for the position
	// that the system's order gives it.
	At int `json:"at,omitempty"`
}

// Present is the Line of a setting that requires a section or block to exist.
const Present = "present"

// UnmarshalJSON also accepts "queue" and "class", the names of a block in files of version 1.
func (s *Setting) UnmarshalJSON(b []byte) error {
	type plain Setting
	var v struct {
		plain
		Queue string `json:"queue"`
		Class string `json:"class"`
	}
	err := json.Unmarshal(b, &v)
	*s = Setting(v.plain)
	s.Block = cmp.Or(s.Block, v.Queue, v.Class)
	return err
}

// spot returns the place of a setting without its value.
func (s Setting) spot() Setting { return Setting{Section: s.Section, Block: s.Block, Key: s.Key} }

// depth returns the depth of the line that a setting inserts: 0 at the top level, 1 in a
// section, 2 in a block.
func (s Setting) depth() int {
	switch {
	case s.Section == "" || s.Block == "" && s.Key == "":
		return 0
	case s.Block == "" || s.Key == "":
		return 1
	}
	return 2
}

// Edit is a list of settings, at most one per place and key.
type Edit []Setting

// Flaps reports whether an edit changes the admin state of an interface.
func (e Edit) Flaps() bool {
	return slices.ContainsFunc(e, func(s Setting) bool { return s.Key == "shutdown" })
}

// Undo returns the settings that have holds at the places of the edit. They restore have after e
// was applied, even if other places have been changed since.
func (e Edit) Undo(have *Config) Edit {
	u := undo{Tree: NewTree(have), seen: map[Setting]bool{}}
	for _, s := range e {
		u.setting(s)
	}
	return u.out
}

type undo struct {
	*Tree
	out  Edit
	seen map[Setting]bool
}

func (u *undo) add(s Setting) {
	if u.g.Ordered {
		s.At = 0
	}
	if !u.seen[s.spot()] {
		u.seen[s.spot()] = true
		u.out = append(u.out, s)
	}
}

func (u *undo) setting(s Setting) {
	section := u.find(s.Section, "")
	b := u.find(s.Section, s.Block)
	_, at, _ := u.g.Opens("", s.Section)
	switch {
	case section == nil:
		u.add(Setting{Section: s.Section})
		if s.Key != "" && u.g.lasting(at) {
			u.add(s.spot())
		}
	case b == nil:
		_, at, _ = u.g.Opens(s.Section, s.Block)
		if !u.g.fleeting(at) {
			s.Key = ""
		}
		u.add(s.spot())
	case s.Key != "":
		back := s.spot()
		if l, ok := u.index(b).last(s.Key); ok {
			back.Line, back.At = l.text, l.n
		}
		u.add(back)
	case s.Line == "":
		u.restoreBlock(s, b)
	}
}

// restoreBlock adds the settings that restore everything in a block.
func (u *undo) restoreBlock(s Setting, b *block) {
	if !u.g.fleeting(b.at) {
		u.add(Setting{s.Section, s.Block, "", Present, b.n})
	}
	for _, key := range u.index(b).keys {
		l, _ := b.last(key)
		u.add(Setting{s.Section, s.Block, key, l.text, l.n})
	}
	for _, o := range b.order {
		u.restoreBlock(Setting{Section: s.Section, Block: o.text}, o)
	}
}

// Gone reports whether a configuration has none of the values that the edit set. undo holds the
// previous values. It is false for an edit that only removed lines.
func (e Edit) Gone(undo Edit, now *Config) bool {
	before, is := undo.lines(), e.Undo(now).lines()
	set := false
	for _, s := range e {
		if s.Key == "" || s.Line == "" || s.Line == before[s.spot()] {
			continue // the edit set no new value here
		}
		if s.Line == is[s.spot()] {
			return false
		}
		set = true
	}
	return set
}

// lines maps the place of each setting to its line.
func (e Edit) lines() map[Setting]string {
	out := make(map[Setting]string, len(e))
	for _, s := range e {
		out[s.spot()] = s.Line
	}
	return out
}

// IsOnlyChange reports whether, at the places of the edit, now holds only values that the edit
// sets or that undo restores: nobody else has set another value there.
func (e Edit) IsOnlyChange(undo Edit, now *Config) bool {
	text := func(s Setting) string {
		if now.g.Default != nil && now.g.Default(now.g.placeOf(s), s.Line) {
			return ""
		}
		return s.Line
	}
	known := map[Setting][]string{}
	made := map[Setting]bool{} // blocks that did not exist before the edit
	for _, s := range undo {
		made[s.spot()] = s.Key == "" && s.Line == ""
	}
	for _, s := range slices.Concat(e, undo) {
		known[s.spot()] = append(known[s.spot()], text(s))
	}
	for _, s := range e.Undo(now) {
		missing := s.Line == "" && (made[Setting{Section: s.Section}] || made[Setting{Section: s.Section, Block: s.Block}])
		if s.Key != "" && !missing && !slices.Contains(known[s.spot()], text(s)) {
			return false
		}
	}
	return true
}

// placeOf returns the place of the line of a setting.
func (g *Grammar) placeOf(s Setting) Place {
	at := g.Top
	if s.Section != "" {
		_, at, _ = g.Opens("", s.Section)
	}
	if s.Block != "" {
		_, at, _ = g.Opens(s.Section, s.Block)
	}
	return at
}

// Apply returns the configuration that the edit leads to; have is not changed. A section that
// something else still refers to is not removed.
func (e Edit) Apply(have *Config) *Config {
	out := have.clone()
	a := applier{Tree: NewTree(out), ranks: map[*Line]int{}, gone: map[*Line]bool{}, cut: map[*Line]map[string]bool{}, within: map[*Line]*block{}, leaving: map[*Line]bool{}}
	var inserts, entries []Setting
	for _, s := range e {
		switch {
		case s.Line == "":
			a.remove(s)
		case a.replace(s):
		case s.Key != "" && a.g.Join != nil && a.g.Sets(a.g.placeOf(s), s.Line).Each != nil:
			entries = append(entries, s)
		default:
			inserts = append(inserts, s)
		}
	}
	a.removeMarked()
	// Lines are put back in the order of their positions, a block before its lines.
	order := func(at int) int { return cmp.Or(at, math.MaxInt) }
	ordered.Sort(inserts, func(x, y Setting) int {
		return cmp.Or(cmp.Compare(x.depth(), y.depth()), cmp.Compare(order(x.At), order(y.At)))
	})
	for _, s := range inserts {
		a.insert(s)
	}
	a.join(entries)
	a.finish()
	out.Lines = a.root.node().Sub
	return out
}

type applier struct {
	*Tree
	gone   map[*Line]bool            // lines to remove
	cut    map[*Line]map[string]bool // keys to remove from list lines
	within map[*Line]*block          // nodes that hold lines of gone or cut, and their blocks
	// leaving holds sections to remove at the end. Positions at the top level do not count them,
	// as they did not exist when the positions were recorded.
	leaving map[*Line]bool
	hollow  []*Line // blocks that have lost their last line
	ranks   map[*Line]int
}

// drop marks a key of a line for removal.
func (a *applier) drop(b *block, l set, key string) {
	a.within[l.in] = b
	if !l.list {
		a.gone[l.line] = true
		return
	}
	if a.cut[l.line] == nil {
		a.cut[l.line] = map[string]bool{}
	}
	a.cut[l.line][key] = true
}

func (a *applier) remove(s Setting) {
	b := a.find(s.Section, s.Block)
	switch {
	case b == nil:
	case s.Key != "":
		for _, l := range a.index(b).lines[s.Key] {
			if !l.unset {
				a.drop(b, l, s.Key)
			}
		}
	case s.Block == "":
		for _, n := range b.nodes {
			a.leaving[n] = true
		}
	default:
		section := a.find(s.Section, "")
		for _, n := range b.nodes {
			a.gone[n] = true
		}
		for _, n := range section.nodes {
			a.within[n] = section
		}
	}
}

// replace writes a setting over the present line of its key. It returns false if there is no
// such line.
func (a *applier) replace(s Setting) bool {
	b := a.find(s.Section, s.Block)
	if b == nil || s.Key == "" {
		return b != nil
	}
	done := false
	for i := len(a.index(b).lines[s.Key]) - 1; i >= 0; i-- {
		switch l := b.lines[s.Key][i]; {
		case done, l.list && l.text != s.Line:
			a.drop(b, l, s.Key)
		default:
			done = true
			if !l.list {
				l.line.Text = s.Line
			}
		}
	}
	return done
}

// removeMarked removes the lines and keys that are marked for removal.
func (a *applier) removeMarked() {
	for node, b := range a.within {
		had := len(node.Sub)
		node.Sub = slices.DeleteFunc(node.Sub, func(l *Line) bool {
			if keys := a.cut[l]; keys != nil {
				return !a.shorten(l, b.at, keys)
			}
			return a.gone[l]
		})
		if had > 0 && len(node.Sub) == 0 && a.g.fleeting(b.at) {
			a.hollow = append(a.hollow, node)
		}
		b.lines = nil
	}
}

// shorten removes entries from a list line. It returns false if no entry is left.
func (a *applier) shorten(l *Line, at Place, keys map[string]bool) bool {
	s := a.g.Sets(at, l.Text)
	var left []string
	for i, key := range s.Keys {
		if !keys[key] {
			left = append(left, s.Each[i])
		}
	}
	if len(left) == 0 {
		return false
	}
	l.Text = a.g.Join(left)[0]
	return true
}

// insert adds the line of a setting that replaces no line.
func (a *applier) insert(s Setting) {
	b := a.root
	if s.Section != "" {
		b = a.open(a.root, s.Section, s.Block == "" && s.Key == "", s.At)
	}
	if s.Block != "" {
		b = a.open(b, s.Block, s.Key == "", s.At)
	}
	if l, ok := a.index(b).last(s.Key); ok {
		l.line.Text = s.Line
	} else if s.Key != "" {
		l := &Line{Text: s.Line}
		a.insertLine(b, l, s.At)
		a.add(a.index(b), set{in: b.node(), line: l})
	}
}

// open returns a block of the block in, and creates it if it does not exist.
func (a *applier) open(in *block, header string, whole bool, pos int) *block {
	blocks, depth := a.sections, 1
	if in != a.root {
		blocks, depth = a.index(in).inner, 2
	}
	id, at, _ := a.g.Opens(in.text, header)
	if b := blocks[id]; b != nil {
		return b
	}
	if !whole {
		pos = 0
	}
	b := &block{at: at, depth: depth}
	blocks[id] = b
	l := &Line{Text: header}
	b.open(l, 0)
	in.order = append(in.order, b)
	a.insertLine(in, l, pos)
	return b
}

// insertLine inserts a line at a position of a block. For position 0 it inserts it where the system
// prints it: after the last line that comes before it in the order.
func (a *applier) insertLine(b *block, l *Line, pos int) {
	node := b.node()
	if pos > 0 {
		if b == a.root {
			for i := 0; i < min(pos, len(node.Sub)); i++ {
				if a.leaving[node.Sub[i]] {
					pos++
				}
			}
		}
		node.Sub = slices.Insert(node.Sub, min(pos-1, len(node.Sub)), l)
		return
	}
	rank, known := a.rank(b, l)
	if !known {
		rank = math.MaxInt
	}
	after := len(node.Sub) // index of the first line that comes after l; used if no line comes before l
	for i, o := range slices.Backward(node.Sub) {
		r, known := a.rank(b, o)
		switch {
		case !known:
		case r < rank || r == rank && (a.g.After == nil || !a.g.After(o.Text, l.Text)):
			node.Sub = slices.Insert(node.Sub, i+1, l)
			return
		default:
			after = i
		}
	}
	node.Sub = slices.Insert(node.Sub, after, l)
}

// rank returns the rank of a line in a block. Ranks of the top level are cached, so that each
// line is matched once and not again for every inserted section.
func (a *applier) rank(b *block, l *Line) (int, bool) {
	if b != a.root {
		return a.g.Rank(b.at, l.Text)
	}
	r, ok := a.ranks[l]
	if !ok {
		if r, ok = a.g.Rank(b.at, l.Text); !ok {
			r = -1
		}
		a.ranks[l] = r
	}
	return r, r >= 0
}

// join writes list entries: it merges them into lines with the same value, or adds new lines.
func (a *applier) join(entries []Setting) {
	byBlock := map[*block][]string{}
	var order []*block
	for _, s := range entries {
		b := a.find(s.Section, s.Block)
		if byBlock[b] == nil {
			order = append(order, b)
		}
		byBlock[b] = append(byBlock[b], s.Line)
	}
	for _, b := range order {
		for _, line := range a.g.Join(byBlock[b]) {
			if !a.joined(b, line) {
				a.insertLine(b, &Line{Text: line}, 0)
			}
		}
	}
}

func (a *applier) joined(b *block, line string) bool {
	for _, key := range a.index(b).keys {
		if l, _ := b.last(key); l.list {
			if both := a.g.Join([]string{l.line.Text, line}); len(both) == 1 {
				l.line.Text = both[0]
				return true
			}
		}
	}
	return false
}

// finish removes emptied blocks and the sections marked for removal, unless something still
// refers to a section or a lasting section still has lines.
func (a *applier) finish() {
	hollow := func(l *Line) bool { return len(l.Sub) == 0 && slices.Contains(a.hollow, l) }
	for _, b := range a.sections {
		for _, n := range b.nodes {
			n.Sub = slices.DeleteFunc(n.Sub, hollow)
		}
	}
	root := a.root.node()
	for more := len(a.leaving) > 0; more; {
		before := len(root.Sub)
		named := a.g.Named(&Config{Lines: root.Sub, g: a.g})
		root.Sub = slices.DeleteFunc(root.Sub, func(l *Line) bool {
			return a.leaving[l] && !named(l.Text) && !a.stays(l.Text)
		})
		more = len(root.Sub) < before
	}
}

// stays reports whether a lasting section still has lines and must stay.
func (a *applier) stays(header string) bool {
	b := a.find(header, "")
	return a.g.lasting(b.at) && slices.ContainsFunc(b.nodes, func(l *Line) bool { return len(l.Sub) > 0 })
}
