package nxos

// tree finds the blocks and lines of a configuration.
type tree struct {
	cfg    *Config
	blocks map[string]*Line   // by identity
	global map[string][]*Line // lines outside blocks by key
	at     map[*Line]int      // position at the top, from 1
	parts  map[*Line]*parts   // of blocks and classes that were looked into
}

func newTree(c *Config) *tree {
	t := &tree{cfg: c, blocks: map[string]*Line{}, global: map[string][]*Line{}, at: make(map[*Line]int, len(c.Lines)), parts: map[*Line]*parts{}}
	for i, l := range c.Lines {
		t.at[l] = i + 1
		if h, ok := headOf(l.Text); ok {
			t.blocks[h.id()] = l
		} else if !isComment(l.Text) {
			key := keyOf(inGlobal, l.Text)
			t.global[key] = append(t.global[key], l)
		}
	}
	return t
}

func (t *tree) block(section string) *Line {
	h, _ := headOf(section)
	return t.blocks[h.id()]
}

// parts are the lines of a block by key, and the classes of a policy by
// identity.
type parts struct {
	lines   map[string][]numbered
	classes map[string]*Line
}

// in returns the parts of a block at a place, made once.
func (t *tree) in(block *Line, at place) *parts {
	p := t.parts[block]
	if p == nil {
		p = &parts{lines: map[string][]numbered{}, classes: map[string]*Line{}}
		for i, l := range block.Sub {
			p.add(l, at, i+1)
		}
		t.parts[block] = p
	}
	return p
}

func (p *parts) add(l *Line, at place, n int) {
	if typ, name, ok := classOf(l.Text); ok && at == inPolicy {
		if id := typ + " " + name; p.classes[id] == nil {
			p.classes[id] = l
		}
		return
	}
	key := keyOf(at, l.Text)
	p.lines[key] = append(p.lines[key], numbered{n, l})
}

// numbered is a line with its position among its neighbours, from 1.
type numbered struct {
	n int
	*Line
}

// class returns a class of a policy, nil where it has none.
func (t *tree) class(policy *Line, header string) *Line {
	if policy == nil {
		return nil
	}
	typ, name, _ := classOf(header)
	return t.in(policy, inPolicy).classes[typ+" "+name]
}

// find returns the line of a key in a block, the last where there are more.
func (t *tree) find(block *Line, at place, key string) (int, *Line) {
	ls := t.in(block, at).lines[key]
	if len(ls) == 0 {
		return 0, nil
	}
	l := ls[len(ls)-1]
	return l.n, l.Line
}

// within is where the lines of a block stand.
func within(section, class string) place {
	h, ok := headOf(section)
	switch {
	case section == "" || !ok:
		return inGlobal
	case class != "":
		return classPlace(h.typ)
	}
	return h.at
}
