package yang

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// XPath values have the type []*node, string, float64 or bool.

// eval evaluates x with ctx as the context node; cur is the result of current().
func (ck *checker) eval(x *xpath, ctx, cur *node) any {
	switch x.op {
	case "lit":
		return x.str
	case "num":
		return x.num
	case "path":
		return ck.evalPath(x, ctx, cur)
	case "call":
		return ck.call(x, ctx, cur)
	case "or":
		return truth(ck.eval(x.args[0], ctx, cur)) || truth(ck.eval(x.args[1], ctx, cur))
	case "and":
		return truth(ck.eval(x.args[0], ctx, cur)) && truth(ck.eval(x.args[1], ctx, cur))
	case "neg":
		return -number(ck.eval(x.args[0], ctx, cur))
	}
	a, b := ck.eval(x.args[0], ctx, cur), ck.eval(x.args[1], ctx, cur)
	switch x.op {
	case "=", "!=", "<", "<=", ">", ">=":
		return compare(x.op, a, b)
	case "|":
		na, _ := a.([]*node)
		nb, _ := b.([]*node)
		out := slices.Clone(na)
		for _, n := range nb {
			if !slices.Contains(na, n) {
				out = append(out, n)
			}
		}
		return out
	}
	f, g := number(a), number(b)
	switch x.op {
	case "+":
		return f + g
	case "-":
		return f - g
	case "*":
		return f * g
	case "div":
		return f / g
	default: // mod
		return math.Mod(f, g)
	}
}

func (ck *checker) evalPath(x *xpath, ctx, cur *node) []*node {
	set := []*node{ctx}
	if len(x.args) > 0 {
		set, _ = ck.eval(x.args[0], ctx, cur).([]*node)
	}
	for i := range x.path {
		st := &x.path[i]
		var out []*node
		for _, n := range set {
			out = ck.step(out, st, n, cur)
		}
		set = out
	}
	return set
}

// step appends the nodes that st selects from n.
func (ck *checker) step(out []*node, st *step, n, cur *node) []*node {
	keep := func(k *node) {
		for _, p := range st.preds {
			if v := ck.eval(p, k, cur); !truth(v) {
				return
			}
		}
		out = append(out, k)
	}
	switch st.axis {
	case axisRoot:
		keep(ck.root)
	case axisSelf:
		keep(n)
	case axisParent:
		if n.parent != nil && (len(out) == 0 || out[len(out)-1] != n.parent) {
			keep(n.parent)
		}
	case axisText:
		if n.isLeaf() {
			keep(n)
		}
	case axisChild:
		if hit, ok := ck.byKey(st, n, cur); ok {
			if hit != nil {
				keep(hit)
			}
			return out
		}
		for _, k := range ck.children(n, st.name) {
			if st.name == "*" || k.s.name == st.name {
				keep(k)
			}
		}
	}
	return out
}

// byKey evaluates the step LIST[key = value] with an index, so that looking up a row does not visit
// all rows. ok is false if the step does not have that form.
func (ck *checker) byKey(st *step, n, cur *node) (hit *node, ok bool) {
	if len(st.preds) != 1 || st.preds[0].op != "=" || n.s == nil {
		return nil, false
	}
	list := n.s.byName[st.name]
	if list == nil || list.kind != kList || len(list.keys) != 1 {
		return nil, false
	}
	l, r := st.preds[0].args[0], st.preds[0].args[1]
	if l.op != "path" || len(l.args) > 0 || len(l.path) != 1 || l.path[0].axis != axisChild ||
		l.path[0].name != list.keys[0] || len(l.path[0].preds) > 0 {
		return nil, false
	}
	var want string
	switch {
	case r.op == "lit":
		want = r.str
	case r.op == "call" && r.str == "current" && cur.isLeaf():
		want = cur.val
	default:
		return nil, false
	}
	if n.index == nil {
		n.index = map[*snode]map[string]*node{}
	}
	idx := n.index[list]
	if idx == nil {
		idx = map[string]*node{}
		for _, k := range n.kids {
			if k.s == list && len(k.kids) > 0 && idx[k.kids[0].val] == nil {
				idx[k.kids[0].val] = k // the key is a row's first child
			}
		}
		n.index[list] = idx
	}
	return idx[want], true
}

func (ck *checker) call(x *xpath, ctx, cur *node) any {
	a := make([]any, len(x.args))
	for i, e := range x.args {
		a[i] = ck.eval(e, ctx, cur)
	}
	// Functions that may omit their argument default to the context node.
	self := func() any {
		if len(a) == 0 {
			return []*node{ctx}
		}
		return a[0]
	}
	switch x.str {
	case "current":
		return []*node{cur}
	case "true":
		return true
	case "not":
		return !truth(a[0])
	case "boolean":
		return truth(a[0])
	case "count":
		ns, _ := a[0].([]*node)
		return float64(len(ns))
	case "sum":
		t := 0.0
		ns, _ := a[0].([]*node)
		for _, n := range ns {
			t += number(n.text())
		}
		return t
	case "string":
		return text(self())
	case "string-length":
		return float64(utf8.RuneCountInString(text(self())))
	case "number":
		return number(self())
	case "normalize-space":
		return strings.Join(strings.Fields(text(self())), " ")
	case "contains":
		return strings.Contains(text(a[0]), text(a[1]))
	case "starts-with":
		return strings.HasPrefix(text(a[0]), text(a[1]))
	case "substring-before":
		s, _, ok := strings.Cut(text(a[0]), text(a[1]))
		if !ok {
			return ""
		}
		return s
	case "substring-after":
		_, s, _ := strings.Cut(text(a[0]), text(a[1]))
		return s
	case "concat":
		var b strings.Builder
		for _, v := range a {
			b.WriteString(text(v))
		}
		return b.String()
	case "translate":
		from, to := []rune(text(a[1])), []rune(text(a[2]))
		return strings.Map(func(r rune) rune {
			i := slices.Index(from, r)
			switch {
			case i < 0:
				return r
			case i < len(to):
				return to[i]
			}
			return -1
		}, text(a[0]))
	}
	return false // "false": the parser rejects all other names
}

func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	case []*node:
		return len(v) > 0
	}
	return false
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []*node:
		if len(v) > 0 {
			return v[0].text()
		}
	}
	return ""
}

func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	}
	s := strings.Trim(text(v), " \t\r\n")
	if d := strings.TrimPrefix(s, "-"); strings.Trim(d, "0123456789.") != "" {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// compare follows XPath 1.0 section 3.4: a node set compares true if one of its nodes does.
func compare(op string, a, b any) bool {
	as, aset := a.([]*node)
	bs, bset := b.([]*node)
	_, abool := a.(bool)
	_, bbool := b.(bool)
	switch {
	case aset && bbool || bset && abool:
		return compareAtoms(op, truth(a), truth(b))
	case aset:
		return slices.ContainsFunc(as, func(n *node) bool { return compare(op, n.text(), b) })
	case bset:
		return slices.ContainsFunc(bs, func(n *node) bool { return compareAtoms(op, a, n.text()) })
	}
	return compareAtoms(op, a, b)
}

func compareAtoms(op string, a, b any) bool {
	if op == "=" || op == "!=" {
		_, af := a.(float64)
		_, bf := b.(float64)
		_, ab := a.(bool)
		_, bb := b.(bool)
		var eq bool
		switch {
		case ab || bb:
			eq = truth(a) == truth(b)
		case af || bf:
			eq = number(a) == number(b)
		default:
			eq = text(a) == text(b)
		}
		return eq == (op == "=")
	}
	f, g := number(a), number(b)
	switch op {
	case "<":
		return f < g
	case "<=":
		return f <= g
	case ">":
		return f > g
	}
	return f >= g
}
