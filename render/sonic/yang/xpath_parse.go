package yang

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// xpath is an expression of the subset of XPath 1.0 that configuration models use: paths over
// child, parent and self, predicates, the operators, and the functions in [functions]. Prefixes are
// dropped: SONiC's top containers are named like their modules, so names without a prefix are
// unambiguous.
type xpath struct {
	op   string // an operator, "path", "lit", "num" or "call"
	args []*xpath
	str  string // literal or function name
	num  float64
	path []step // relative to args[0] if present, else to the context node or the root
}

type axis int

const (
	axisChild axis = iota
	axisParent
	axisSelf
	axisRoot
	axisText
)

type step struct {
	axis  axis
	name  string // "*" matches any name
	preds []*xpath
}

const (
	maxXPath      = 8 << 10 // bytes of text
	maxXPathDepth = 200
)

// functions lists the functions that eval supports, with their minimum and maximum number of
// arguments.
var functions = map[string][2]int{
	"current": {0, 0}, "not": {1, 1}, "boolean": {1, 1}, "true": {0, 0}, "false": {0, 0},
	"count": {1, 1}, "string": {0, 1}, "string-length": {0, 1}, "number": {0, 1},
	"contains": {2, 2}, "starts-with": {2, 2}, "concat": {2, 16}, "normalize-space": {0, 1},
	"substring-before": {2, 2}, "substring-after": {2, 2}, "translate": {3, 3}, "sum": {1, 1},
}

type xparser struct {
	toks  []string
	pos   int
	depth int
}

func parseXPath(text string) (*xpath, error) {
	if len(text) > maxXPath {
		return nil, errors.New("the expression is too long")
	}
	toks, err := lexXPath(text)
	if err != nil {
		return nil, err
	}
	p := &xparser{toks: toks}
	x, err := p.binary(0)
	if err == nil && p.pos < len(toks) {
		err = fmt.Errorf("%q is not understood", p.peek())
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

func nameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func nameByte(c byte) bool {
	return nameStart(c) || c == '-' || c == '.' || c >= '0' && c <= '9'
}

// lexXPath splits an expression into tokens. A literal keeps its opening quote, a number its
// digits; a name loses its prefix.
func lexXPath(s string) ([]string, error) {
	var toks []string
	for i := 0; i < len(s); {
		c := s[i]
		two := ""
		if i+1 < len(s) {
			two = s[i : i+2]
		}
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
		case c == '\'' || c == '"':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 {
				return nil, errors.New("a string without an end")
			}
			toks = append(toks, s[i:i+1+end])
			i += end + 2
		case two == "!=" || two == "<=" || two == ">=" || two == ".." || two == "//" || two == "::":
			toks = append(toks, two)
			i += 2
		case c >= '0' && c <= '9' || c == '.' && len(two) == 2 && two[1] >= '0' && two[1] <= '9':
			j := i
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == '.') {
				j++
			}
			toks = append(toks, s[i:j])
			i = j
		case nameStart(c):
			j := i
			for j < len(s) && nameByte(s[j]) {
				j++
			}
			if j+1 < len(s) && s[j] == ':' && (nameStart(s[j+1]) || s[j+1] == '*') {
				i = j + 1
				continue // the local name follows
			}
			toks = append(toks, s[i:j])
			i = j
		case strings.IndexByte("()[]/.,=<>+-*|@", c) >= 0:
			toks = append(toks, string(c))
			i++
		default:
			return nil, fmt.Errorf("%q is not understood", string(rune(c)))
		}
	}
	return toks, nil
}

func (p *xparser) peek() string {
	if p.pos < len(p.toks) {
		return p.toks[p.pos]
	}
	return ""
}

func (p *xparser) next() string {
	t := p.peek()
	p.pos++
	return t
}

func (p *xparser) expect(t string) error {
	if got := p.next(); got != t {
		return fmt.Errorf("%q where %q is expected", got, t)
	}
	return nil
}

// levels lists the binary operators, lowest precedence first.
var levels = [][]string{{"or"}, {"and"}, {"=", "!="}, {"<", "<=", ">", ">="}, {"+", "-"}, {"*", "div", "mod"}}

func (p *xparser) binary(level int) (*xpath, error) {
	if level == 0 {
		if p.depth++; p.depth > maxXPathDepth {
			return nil, errors.New("the expression is too deep")
		}
		defer func() { p.depth-- }()
	}
	if level == len(levels) {
		return p.unary()
	}
	x, err := p.binary(level + 1)
	for err == nil {
		op := p.peek()
		if !slices.Contains(levels[level], op) {
			return x, nil
		}
		p.pos++
		var y *xpath
		if y, err = p.binary(level + 1); err == nil {
			x = &xpath{op: op, args: []*xpath{x, y}}
		}
	}
	return nil, err
}

func (p *xparser) unary() (*xpath, error) {
	neg := false
	for p.peek() == "-" {
		p.pos++
		neg = !neg
	}
	x, err := p.pathExpr()
	for err == nil && p.peek() == "|" {
		p.pos++
		var y *xpath
		if y, err = p.pathExpr(); err == nil {
			x = &xpath{op: "|", args: []*xpath{x, y}}
		}
	}
	if err == nil && neg {
		x = &xpath{op: "neg", args: []*xpath{x}}
	}
	return x, err
}

// pathExpr parses a path, or a primary expression and the path after it.
func (p *xparser) pathExpr() (*xpath, error) {
	t := p.peek()
	switch {
	case t == "":
		return nil, errors.New("the expression ends early")
	case t == "/":
		p.pos++
		x := &xpath{op: "path", path: []step{{axis: axisRoot}}}
		if t = p.peek(); t == ".." || t == "." || t == "*" || t != "" && nameStart(t[0]) {
			return x, p.relative(x)
		}
		return x, nil
	case t == "(", t[0] == '\'', t[0] == '"', t[0] >= '0' && t[0] <= '9', len(t) > 1 && t[0] == '.' && t != "..":
	case nameStart(t[0]) && p.pos+1 < len(p.toks) && p.toks[p.pos+1] == "(" && t != "text" && t != "node":
	default:
		x := &xpath{op: "path"}
		return x, p.relative(x)
	}
	x, err := p.primary()
	if err != nil || p.peek() != "/" && p.peek() != "[" {
		return x, err
	}
	x = &xpath{op: "path", args: []*xpath{x}}
	if p.peek() == "[" {
		s := step{axis: axisSelf, name: "*"}
		if err := p.predicates(&s); err != nil {
			return nil, err
		}
		x.path = append(x.path, s)
	}
	if p.peek() == "/" {
		p.pos++
		err = p.relative(x)
	}
	return x, err
}

func (p *xparser) primary() (*xpath, error) {
	t := p.next()
	switch {
	case t == "(":
		x, err := p.binary(0)
		if err == nil {
			err = p.expect(")")
		}
		return x, err
	case t[0] == '\'' || t[0] == '"':
		return &xpath{op: "lit", str: t[1:]}, nil
	case !nameStart(t[0]):
		f, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return nil, fmt.Errorf("number %q", t)
		}
		return &xpath{op: "num", num: f}, nil
	}
	x := &xpath{op: "call", str: t}
	p.pos++ // skip the opening parenthesis
	for p.peek() != ")" {
		if len(x.args) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		a, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		x.args = append(x.args, a)
	}
	p.pos++
	n, ok := functions[t]
	if !ok {
		return nil, fmt.Errorf("the function %s is not known", t)
	}
	if len(x.args) < n[0] || len(x.args) > n[1] {
		return nil, fmt.Errorf("%d arguments for %s", len(x.args), t)
	}
	if (t == "count" || t == "sum") && x.args[0].op != "path" && x.args[0].op != "|" {
		return nil, fmt.Errorf("%s of an argument that is not a path", t)
	}
	return x, nil
}

// relative parses steps into x.
func (p *xparser) relative(x *xpath) error {
	for {
		t := p.next()
		s := step{}
		if p.peek() == "::" {
			switch t {
			case "child":
			case "parent":
				s.axis = axisParent
			case "self":
				s.axis = axisSelf
			default:
				return fmt.Errorf("the axis %s is not known", t)
			}
			p.pos++
			t = p.next()
		}
		switch {
		case t == "..":
			s.axis, s.name = axisParent, "*"
		case t == ".":
			s.axis, s.name = axisSelf, "*"
		case (t == "text" || t == "node") && p.peek() == "(":
			p.pos++
			if err := p.expect(")"); err != nil {
				return err
			}
			s.name = "*"
			if t == "text" {
				s.axis = axisText
			}
		case t == "*" || t != "" && nameStart(t[0]):
			s.name = t
		default:
			return fmt.Errorf("%q where a step is expected", t)
		}
		if err := p.predicates(&s); err != nil {
			return err
		}
		x.path = append(x.path, s)
		if p.peek() != "/" {
			return nil
		}
		p.pos++
	}
}

func (p *xparser) predicates(s *step) error {
	for p.peek() == "[" {
		p.pos++
		e, err := p.binary(0)
		if err == nil {
			err = p.expect("]")
		}
		if err != nil {
			return err
		}
		if e.op == "num" {
			return errors.New("a position in a predicate")
		}
		s.preds = append(s.preds, e)
	}
	return nil
}

// isPath reports whether x is just a path, as a leafref requires; it may start with current().
func (x *xpath) isPath() bool {
	return x.op == "path" && (len(x.args) == 0 || x.args[0].op == "call" && x.args[0].str == "current")
}

// plain reports whether x is an absolute path without predicates, whose result is the same for
// every context node.
func (x *xpath) plain() bool {
	return x.op == "path" && len(x.args) == 0 && x.path[0].axis == axisRoot &&
		!slices.ContainsFunc(x.path, func(s step) bool { return len(s.preds) > 0 })
}
