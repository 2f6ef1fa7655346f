package yang

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	goyang "github.com/openconfig/goyang/pkg/yang"
)

// ytype is a type with the restrictions of its whole typedef chain.
type ytype struct {
	base     string // the built-in base type
	ranges   []ranges
	lengths  []ranges
	patterns []pattern
	names    []string // names of an enumeration or of bits
	members  []*ytype // members of a union
	fd       int      // fraction digits of a decimal64
	idbase   string
	fn       func(string) (string, error) // for base "ietf"
	def      *string                      // the typedef's default

	leaf    *snode // the node that has the type
	path    *xpath // of a leafref
	pathTxt string
	require bool
	once    sync.Once
	target  *ytype
}

type pattern struct {
	*compiledPattern
	text, msg string
	invert    bool
}

// ranges is one range or length statement: the value must be in one of spans. The values of a
// decimal64 are scaled to whole numbers.
type ranges struct {
	spans     goyang.YangRange
	text, msg string
}

func (r ranges) has(n goyang.Number) bool {
	return slices.ContainsFunc(r.spans, func(s goyang.YRange) bool { return within(n, s) })
}

func within(n goyang.Number, s goyang.YRange) bool { return !n.Less(s.Min) && !s.Max.Less(n) }

var intRange = map[string]goyang.YRange{
	"int8": goyang.Int8Range[0], "int16": goyang.Int16Range[0], "int32": goyang.Int32Range[0], "int64": goyang.Int64Range[0],
	"uint8": goyang.Uint8Range[0], "uint16": goyang.Uint16Range[0], "uint32": goyang.Uint32Range[0], "uint64": goyang.Uint64Range[0],
}

// typ compiles a type statement.
func (c *compiler) typ(s *snode, sc *scope, st *goyang.Statement, depth int) (*ytype, error) {
	if err := c.grow(depth, st); err != nil {
		return nil, err
	}
	t := &ytype{base: st.Argument, leaf: s, require: true}
	switch _, isInt := intRange[st.Argument]; {
	case isInt, slices.Contains([]string{"string", "boolean", "empty", "binary", "enumeration", "bits"}, st.Argument):
	case st.Argument == "decimal64":
		fd, err := strconv.Atoi(arg(st, "fraction-digits"))
		if err != nil || fd < 1 || fd > 18 {
			return nil, fmt.Errorf("%s: fraction-digits %q", st.Location(), clip(arg(st, "fraction-digits"), 20))
		}
		t.fd = fd
	case st.Argument == "union":
		for _, ms := range all(st, "type") {
			mt, err := c.typ(s, sc, ms, depth+1)
			if err != nil {
				return nil, err
			}
			t.members = append(t.members, mt)
		}
	case st.Argument == "leafref":
		t.pathTxt = arg(st, "path")
		x, err := parseXPath(t.pathTxt)
		if err == nil && !x.isPath() {
			err = errors.New("not a path")
		}
		if err != nil {
			c.unevaluated(s, "leafref", t.pathTxt, err.Error(), st.Location())
		} else {
			t.path = x
		}
	case st.Argument == "identityref":
		t.idbase = local(arg(st, "base"))
	case st.Argument == "instance-identifier":
		c.unevaluated(s, "type", st.Argument, "any string is taken", st.Location())
	default:
		d, dsc, err := c.m.lookup(sc, "typedef", st.Argument)
		if err != nil {
			if it := ietfType(sc.u, st.Argument); it != nil {
				t = it
				break
			}
			c.unevaluated(s, "type", st.Argument, err.Error()+"; any value is taken", st.Location())
			t.base = "any"
			return t, nil
		}
		ts := one(d, "type")
		if ts == nil {
			return nil, fmt.Errorf("%s: no type", d.Location())
		}
		if t, err = c.typ(s, &scope{u: dsc.u, st: d, up: dsc}, ts, depth+1); err != nil {
			return nil, err
		}
		if ds := one(d, "default"); ds != nil {
			t.def = &ds.Argument
		}
	}
	return t, c.restrict(s, t, st)
}

// restrict adds the restrictions of one type statement.
func (c *compiler) restrict(s *snode, t *ytype, st *goyang.Statement) error {
	var names []string
	for _, r := range st.SubStatements() {
		switch r.Keyword {
		case "range", "length":
			list, def := &t.ranges, intRange[t.base]
			if t.base == "decimal64" {
				def = intRange["int64"]
			}
			if r.Keyword == "length" {
				list, def = &t.lengths, intRange["uint64"]
			} else if def == (goyang.YRange{}) {
				return fmt.Errorf("%s: range of a %s", r.Location(), t.base)
			}
			if n := len(*list); n > 0 {
				sp := (*list)[n-1].spans
				def = goyang.YRange{Min: sp[0].Min, Max: sp[len(sp)-1].Max}
			}
			rg, err := parseRanges(r.Argument, def, t.fd)
			if err != nil {
				return fmt.Errorf("%s: %w", r.Location(), err)
			}
			rg.msg = arg(r, "error-message")
			*list = append(*list, rg)
		case "pattern":
			p := c.m.pattern(r.Argument)
			if p.err != nil {
				c.unevaluated(s, "pattern", r.Argument, p.err.Error(), r.Location())
				continue
			}
			t.patterns = append(t.patterns, pattern{p, r.Argument, arg(r, "error-message"), arg(r, "modifier") == "invert-match"})
		case "enum", "bit":
			names = append(names, r.Argument)
		case "require-instance":
			t.require = r.Argument != "false"
		}
	}
	if names != nil {
		t.names = names
	}
	return nil
}

func parseRanges(text string, def goyang.YRange, fd int) (ranges, error) {
	r := ranges{text: clip(text, 80)}
	bound := func(s string) (goyang.Number, error) {
		switch s = strings.TrimSpace(s); {
		case s == "min":
			return def.Min, nil
		case s == "max":
			return def.Max, nil
		case fd > 0:
			return parseDecimal(s, fd)
		}
		return parseInt(s)
	}
	for _, part := range strings.Split(text, "|") {
		lo, hi, two := strings.Cut(part, "..")
		if !two {
			hi = lo
		}
		a, err := bound(lo)
		b, err2 := bound(hi)
		if err = cmp.Or(err, err2); err != nil {
			return r, fmt.Errorf("range %q: %w", r.text, err)
		}
		r.spans = append(r.spans, goyang.YRange{Min: a, Max: b})
	}
	return r, nil
}

var errRange = errors.New("out of range")

// parseInt reads a decimal number like the switch's library: surrounding blanks are ignored, a plus
// sign and leading zeros are accepted, hex is not.
func parseInt(s string) (n goyang.Number, err error) {
	s = strings.Trim(s, " \t\n\r\v\f")
	neg := strings.HasPrefix(s, "-")
	d := s
	if neg || strings.HasPrefix(s, "+") {
		d = s[1:]
	}
	u, err := strconv.ParseUint(d, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return n, errRange
	case err != nil:
		return n, errors.New("not a whole number")
	}
	return goyang.Number{Negative: neg && u != 0, Value: u}, nil
}

func parseDecimal(s string, fd int) (goyang.Number, error) {
	s = strings.Trim(s, " \t\n\r\v\f")
	whole, frac, dot := strings.Cut(s, ".")
	frac = strings.TrimRight(frac, "0")
	if dot && !digits(s[strings.IndexByte(s, '.')+1:]) || len(frac) > fd || !digits(strings.TrimLeft(whole, "+-")) {
		return goyang.Number{}, fmt.Errorf("not a number of up to %d fraction digits", fd)
	}
	n, err := parseInt(whole + frac + strings.Repeat("0", fd-len(frac)))
	if err == nil && !within(n, intRange["int64"]) {
		err = errRange
	}
	return n, err
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// decimal prints n in the canonical form of a decimal64.
func decimal(n goyang.Number, fd int) string {
	n.FractionDigits = uint8(fd)
	s := strings.TrimRight(n.String(), "0")
	if strings.HasSuffix(s, ".") {
		s += "0"
	}
	return s
}

// value checks v against the type, except for the existence of the target of a leafref, and returns
// its canonical form. Errors are suitable for messages.
func (t *ytype) value(m *Models, v string, depth int) (string, error) {
	var err error
	switch t.base {
	case "string":
		return v, t.checkString(v, uint64(utf8.RuneCountInString(v)))
	case "binary":
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return v, errors.New("not base64")
		}
		return v, t.checkString(v, uint64(len(b)))
	case "boolean":
		if v != "true" && v != "false" {
			err = errors.New("neither true nor false")
		}
	case "empty":
		if v != "" {
			err = errors.New("the field takes no value")
		}
	case "enumeration":
		if !slices.Contains(t.names, v) {
			err = errors.New("not one of " + clip(strings.Join(t.names, ", "), 200))
		}
	case "bits":
		for _, b := range strings.Fields(v) {
			if !slices.Contains(t.names, b) {
				return v, fmt.Errorf("bit %q is not one of %s", clip(b, 40), clip(strings.Join(t.names, ", "), 200))
			}
		}
	case "identityref":
		if !m.derived(local(v), t.idbase, 0) {
			err = fmt.Errorf("not an identity derived from %s", t.idbase)
		}
	case "ietf":
		c, err := t.fn(v)
		if err != nil {
			return v, err
		}
		return c, t.checkString(v, uint64(utf8.RuneCountInString(v)))
	case "decimal64":
		n, err := parseDecimal(v, t.fd)
		if err != nil {
			return v, err
		}
		return decimal(n, t.fd), t.checkRange(n)
	case "union":
		var errs []string
		for _, mt := range t.members {
			c, err := mt.value(m, v, depth)
			if err == nil {
				return c, nil
			}
			errs = append(errs, err.Error())
		}
		return v, errors.New(strings.Join(slices.Compact(errs), ", and "))
	case "leafref":
		tt := t.resolve(m)
		if tt == nil || depth > 16 {
			return v, nil
		}
		return tt.value(m, v, depth+1)
	}
	if lim, ok := intRange[t.base]; ok {
		n, err := parseInt(v)
		if err != nil {
			return v, err
		}
		if !within(n, lim) {
			return v, fmt.Errorf("not in %s..%s", lim.Min, lim.Max)
		}
		return n.String(), t.checkRange(n)
	}
	return v, err
}

func (t *ytype) checkRange(n goyang.Number) error {
	for _, r := range t.ranges {
		if !r.has(n) {
			return withMessage(r.msg, "not in "+r.text)
		}
	}
	return nil
}

func (t *ytype) checkString(v string, length uint64) error {
	for _, r := range t.lengths {
		if !r.has(goyang.FromUint(length)) {
			return withMessage(r.msg, fmt.Sprintf("length %d is not in %s", length, r.text))
		}
	}
	for _, p := range t.patterns {
		if p.re.MatchString(v) == p.invert {
			verb := "does not match "
			if p.invert {
				verb = "matches "
			}
			return withMessage(p.msg, verb+strconv.Quote(clip(p.text, 120)))
		}
	}
	return nil
}

// withMessage puts the model's own error message, if any, before the fact.
func withMessage(msg, fact string) error {
	if msg = strings.TrimRight(clip(msg, 200), "."); msg == "" {
		return errors.New(fact)
	}
	return fmt.Errorf("%s (%s)", msg, fact)
}

func (m *Models) derived(id, base string, depth int) bool {
	for b := range m.idents[id] {
		if b == base || depth < 32 && m.derived(b, base, depth+1) {
			return true
		}
	}
	return false
}

// resolve returns the type that a leafref points to, nil if it is unknown.
func (t *ytype) resolve(m *Models) *ytype {
	t.once.Do(func() {
		if t.path == nil {
			return
		}
		n := t.leaf
		for i, st := range t.path.path {
			switch {
			case st.axis == axisParent:
				n = n.parent
			case st.axis == axisRoot:
				n = nil
				continue
			case n == nil && i == 1:
				n = &snode{name: st.name} // a module's top container, by name
			case n != nil && n.parent == nil && i == 2:
				tab := m.tables[st.name]
				if tab == nil || tab.u.name != n.name {
					return
				}
				n, _ = tab.compile()
			case st.axis == axisChild && n != nil:
				n = n.byName[st.name]
			case st.axis == axisSelf:
			default:
				return
			}
			if n == nil {
				return
			}
		}
		if n != nil {
			t.target = n.typ
		}
	})
	return t.target
}
