package yang

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	goyang "github.com/openconfig/goyang/pkg/yang"
)

// Limits for the schema of one table. Without them, groupings that use groupings could exhaust
// memory.
const (
	maxNodes = 20000
	maxDepth = 64
)

type kind int

const (
	kContainer kind = iota
	kList
	kLeaf
	kLeafList
)

// snode is a data node of the schema.
type snode struct {
	kind     kind
	name     string
	parent   *snode
	kids     []*snode
	byName   map[string]*snode
	keys     []string
	typ      *ytype
	defaults []string
	// mandatory applies to a leaf; min and max count the elements of a list or leaf-list, max 0
	// means no limit.
	mandatory bool
	min, max  int
	presence  bool
	unique    [][]string
	musts     []*rule
	whens     []*rule
	choices   []*choice // choices among the kids
	cases     []caseRef // the cases that contain the node, outermost first
	where     string
}

// choice says that only one of its cases may have data.
type choice struct {
	name      string
	mandatory bool
	def       string
	where     string
	parent    *caseRef // the case that contains the choice, nil at the top
}

type caseRef struct {
	ch   *choice
	name string
}

// rule is a must or when statement.
type rule struct {
	x     *xpath
	text  string
	msg   string
	where string
	// onParent: the context node is the parent (when statement of a uses or a case).
	onParent bool
}

func (s *snode) add(k *snode) {
	if s.byName[k.name] != nil {
		return
	}
	if s.byName == nil {
		s.byName = map[string]*snode{}
	}
	s.byName[k.name] = k
	s.kids = append(s.kids, k)
}

// table is one CONFIG_DB table, compiled on first use.
type table struct {
	m       *Models
	name    string
	u       *unit
	st      *goyang.Statement
	sc      *scope
	foreign []Rule

	once  sync.Once
	s     *snode // its parent stands for the module's top container
	rules []Rule // rules that are not evaluated
	err   error
}

func (t *table) compile() (*snode, error) {
	t.once.Do(func() {
		c := &compiler{m: t.m, t: t}
		top := &snode{kind: kContainer, name: t.u.name}
		t.s, t.err = c.node(top, t.sc, t.st, 0)
		t.rules = append(t.rules, t.foreign...)
		if t.err == nil && t.s == nil {
			t.err = errors.New("the table contains no configuration")
		}
		if t.err == nil {
			top.add(t.s)
		}
	})
	return t.s, t.err
}

type compiler struct {
	m     *Models
	t     *table
	count int
}

func (c *compiler) unevaluated(s *snode, kind, text, why, where string) {
	r := Rule{Table: c.t.name, Kind: kind, Text: text, Why: why, Where: where}
	if s.kind == kLeaf || s.kind == kLeafList {
		r.Field = s.name
	}
	c.t.rules = append(c.t.rules, r)
}

func (c *compiler) grow(depth int, st *goyang.Statement) error {
	if c.count++; c.count > maxNodes || depth > maxDepth {
		return fmt.Errorf("%s: the model is too large or too deep", st.Location())
	}
	return nil
}

// node compiles a leaf, leaf-list, list or container. It returns nil for state data, which a
// configuration cannot contain.
func (c *compiler) node(parent *snode, sc *scope, st *goyang.Statement, depth int) (*snode, error) {
	if err := c.grow(depth, st); err != nil {
		return nil, err
	}
	if arg(st, "config") == "false" {
		return nil, nil
	}
	s := &snode{name: st.Argument, parent: parent, where: st.Location()}
	switch st.Keyword {
	case "container":
		s.kind, s.presence = kContainer, one(st, "presence") != nil
	case "list":
		s.kind, s.keys = kList, strings.Fields(arg(st, "key"))
		for i, k := range s.keys {
			s.keys[i] = local(k)
		}
		for _, u := range all(st, "unique") {
			s.unique = append(s.unique, strings.Fields(u.Argument))
		}
	case "leaf":
		s.kind = kLeaf
	case "leaf-list":
		s.kind = kLeafList
	}
	if err := c.properties(s, st); err != nil {
		return nil, err
	}
	inner := &scope{u: sc.u, st: st, up: sc}
	if s.kind == kLeaf || s.kind == kLeafList {
		ts := one(st, "type")
		if ts == nil {
			return nil, fmt.Errorf("%s: no type", st.Location())
		}
		var err error
		if s.typ, err = c.typ(s, inner, ts, 0); err != nil {
			return nil, err
		}
		if len(s.defaults) == 0 && s.typ.def != nil && !s.mandatory {
			s.defaults = []string{*s.typ.def}
		}
		return s, nil
	}
	if err := c.children(s, inner, st, nil, nil, depth+1); err != nil {
		return nil, err
	}
	for _, k := range s.keys {
		if n := s.byName[k]; n == nil || n.kind != kLeaf {
			return nil, fmt.Errorf("%s: key %s is not a leaf", st.Location(), k)
		}
	}
	return s, nil
}

// properties reads the substatements that nodes and refines have in common.
func (c *compiler) properties(s *snode, st *goyang.Statement) error {
	var defs []string
	for _, p := range st.SubStatements() {
		switch p.Keyword {
		case "mandatory":
			s.mandatory = p.Argument == "true"
		case "default":
			defs = append(defs, p.Argument)
		case "min-elements", "max-elements":
			n, err := strconv.ParseUint(p.Argument, 10, 31)
			if p.Argument == "unbounded" {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %s %q", p.Location(), p.Keyword, clip(p.Argument, 20))
			}
			if p.Keyword == "min-elements" {
				s.min = int(n)
			} else {
				s.max = int(n)
			}
		case "presence":
			s.presence = true
		case "if-feature":
			c.unevaluated(s, "if-feature", p.Argument, "features are taken as present", p.Location())
		case "must":
			if r := c.rule(s, p); r != nil {
				s.musts = append(s.musts, r)
			}
		case "when":
			if r := c.rule(s, p); r != nil {
				s.whens = append(s.whens, r)
			}
		}
	}
	if defs != nil {
		s.defaults = defs
	}
	return nil
}

func (c *compiler) rule(s *snode, st *goyang.Statement) *rule {
	x, err := parseXPath(st.Argument)
	if err != nil {
		c.unevaluated(s, st.Keyword, st.Argument, err.Error(), st.Location())
		return nil
	}
	return &rule{x: x, text: st.Argument, msg: arg(st, "error-message"), where: st.Location()}
}

// children compiles the data nodes of a block into s. cases and whens come from the choices and
// uses between s and the block.
func (c *compiler) children(s *snode, sc *scope, st *goyang.Statement, cases []caseRef, whens []*rule, depth int) error {
	for _, k := range st.SubStatements() {
		var err error
		switch k.Keyword {
		case "leaf", "leaf-list", "container", "list":
			err = c.child(s, sc, k, cases, whens, depth)
		case "choice":
			err = c.choice(s, sc, k, cases, whens, depth)
		case "uses":
			err = c.uses(s, sc, k, cases, whens, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) child(s *snode, sc *scope, k *goyang.Statement, cases []caseRef, whens []*rule, depth int) error {
	n, err := c.node(s, sc, k, depth)
	if err != nil || n == nil {
		return err
	}
	n.cases = append(n.cases, cases...)
	n.whens = append(n.whens, whens...)
	s.add(n)
	return nil
}

func (c *compiler) choice(s *snode, sc *scope, st *goyang.Statement, cases []caseRef, whens []*rule, depth int) error {
	if err := c.grow(depth, st); err != nil {
		return err
	}
	ch := &choice{name: st.Argument, mandatory: arg(st, "mandatory") == "true", def: arg(st, "default"), where: st.Location()}
	if n := len(cases); n > 0 {
		ch.parent = &cases[n-1]
	}
	s.choices = append(s.choices, ch)
	whens = c.parentWhens(s, st, whens)
	sc = &scope{u: sc.u, st: st, up: sc}
	for _, k := range st.SubStatements() {
		var err error
		in := append(cases[:len(cases):len(cases)], caseRef{ch, k.Argument})
		switch k.Keyword {
		case "case":
			err = c.children(s, &scope{u: sc.u, st: k, up: sc}, k, in, c.parentWhens(s, k, whens), depth+1)
		case "leaf", "leaf-list", "container", "list":
			err = c.child(s, sc, k, in, whens, depth)
		case "choice":
			err = c.choice(s, sc, k, in, whens, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parentWhens appends the whens of a choice, case or uses. Their context node is the enclosing data
// node.
func (c *compiler) parentWhens(s *snode, st *goyang.Statement, whens []*rule) []*rule {
	out := whens[:len(whens):len(whens)]
	for _, w := range all(st, "when") {
		if r := c.rule(s, w); r != nil {
			r.onParent = true
			out = append(out, r)
		}
	}
	return out
}

func (c *compiler) uses(s *snode, sc *scope, st *goyang.Statement, cases []caseRef, whens []*rule, depth int) error {
	if err := c.grow(depth, st); err != nil {
		return err
	}
	g, gsc, err := c.m.lookup(sc, "grouping", st.Argument)
	if err != nil {
		return fmt.Errorf("%s: %w", st.Location(), err)
	}
	whens = c.parentWhens(s, st, whens)
	if err := c.children(s, &scope{u: gsc.u, st: g, up: gsc}, g, cases, whens, depth+1); err != nil {
		return err
	}
	for _, r := range st.SubStatements() {
		if r.Keyword != "refine" && r.Keyword != "augment" {
			continue
		}
		n := s
		for _, step := range strings.Split(r.Argument, "/") {
			if n != nil {
				n = n.byName[local(step)]
			}
		}
		switch {
		case n == nil:
			c.unevaluated(s, r.Keyword, r.Argument, "no such node", r.Location())
		case r.Keyword == "refine":
			if n.kind == kLeaf && one(r, "default") != nil {
				n.defaults = nil
			}
			err = c.properties(n, r)
		default:
			err = c.children(n, &scope{u: sc.u, st: r, up: sc}, r, nil, c.parentWhens(n, r, nil), depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
