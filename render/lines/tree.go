package lines

// Tree indexes the lines of a configuration by what they set.
type Tree struct {
	g        *Grammar
	root     *block
	sections map[string]*block
}

// NewTree indexes the sections of a configuration. The lines of a section are read on first use.
func NewTree(c *Config) *Tree {
	t := &Tree{g: c.g, sections: make(map[string]*block, len(c.Lines))}
	t.root = &block{at: c.g.Top, nodes: []*Line{{Sub: c.Lines}}}
	for i, l := range c.Lines {
		id, at, ok := c.g.Opens("", l.Text)
		if !ok {
			continue
		}
		b := t.sections[id]
		if b == nil {
			b = &block{at: at, depth: 1}
			t.sections[id] = b
		}
		b.open(l, i+1)
	}
	return t
}

// Has reports whether a section exists or, if inner is not "", a block in it.
func (t *Tree) Has(section, inner string) bool { return t.find(section, inner) != nil }

// Line returns the line that sets a key; "" if there is none.
func (t *Tree) Line(section, inner, key string) string {
	b := t.find(section, inner)
	if b == nil {
		return ""
	}
	l, _ := t.index(b).last(key)
	return l.text
}

// block is the top level, a section, or a block in a section.
type block struct {
	at    Place
	depth int    // 0 for the top level
	text  string // header line
	// nodes are its header lines: several if the text opens the block again. The last one is in
	// force.
	nodes []*Line
	n     int              // position of the last node among its siblings, from 1
	keys  []string         // in the order of the text
	lines map[string][]set // by key; nil until the block is read
	inner map[string]*block
	order []*block
}

// set is a line that sets a key.
type set struct {
	in, line *Line
	n        int    // position in its node, from 1
	text     string // the line; for a list, the line of this entry alone
	list     bool
	unset    bool
}

func (b *block) open(l *Line, n int) {
	b.text, b.nodes, b.n = l.Text, append(b.nodes, l), n
}

// node returns the header line that is in force.
func (b *block) node() *Line { return b.nodes[len(b.nodes)-1] }

// last returns the line of a key that is in force; false if there is none.
func (b *block) last(key string) (set, bool) {
	ls := b.lines[key]
	if len(ls) == 0 {
		return set{}, false
	}
	return ls[len(ls)-1], true
}

// find returns a section, or a block in a section; nil if it does not exist.
func (t *Tree) find(section, inner string) *block {
	if section == "" {
		return t.root
	}
	id, _, _ := t.g.Opens("", section)
	b := t.sections[id]
	if b == nil || inner == "" {
		return b
	}
	id, _, _ = t.g.Opens(section, inner)
	return t.index(b).inner[id]
}

// index indexes the lines of a block, unless it is indexed already.
func (t *Tree) index(b *block) *block {
	if b.lines != nil {
		return b
	}
	b.keys, b.lines, b.order, b.inner = nil, map[string][]set{}, nil, map[string]*block{}
	for _, node := range b.nodes {
		for i, l := range node.Sub {
			id, at, ok := "", Place(0), false
			if b.depth < 2 {
				id, at, ok = t.g.Opens(b.text, l.Text)
			}
			switch {
			case ok && b.depth == 0:
			case ok:
				o := b.inner[id]
				if o == nil {
					o = &block{at: at, depth: 2}
					b.inner[id], b.order = o, append(b.order, o)
				}
				o.open(l, i+1)
			default:
				t.add(b, set{in: node, line: l, n: i + 1})
			}
		}
	}
	return b
}

// add indexes a line of a block under each of its keys.
func (t *Tree) add(b *block, l set) {
	s := t.g.Sets(b.at, l.line.Text)
	l.text, l.list, l.unset = l.line.Text, s.Each != nil, s.Unset
	for i, key := range s.Keys {
		if l.list {
			l.text = s.Each[i]
		}
		if b.lines[key] == nil {
			b.keys = append(b.keys, key)
		}
		b.lines[key] = append(b.lines[key], l)
	}
}
