package yang

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Violation is an entry of the data that the models do not allow.
type Violation struct {
	Table string
	Key   string // "Ethernet0|3"; "" for the whole table
	Field string // "" for the whole row
	Msg   string // the problem, in the model's own words if it has an error message
	Where string // position of the rule, file:line:column; "" for a table without a model
}

// String prints "QUEUE|Ethernet0|3 scheduler: the problem".
func (v Violation) String() string {
	t := v.Table
	if v.Key != "" {
		t += "|" + v.Key
	}
	if v.Field != "" {
		t += " " + v.Field
	}
	return t + ": " + v.Msg
}

// Check validates cfg (table -> key -> field -> value, as in CONFIG_DB) against the models and
// returns the violations, sorted by table, key and field; nil if there are none. References are
// resolved within cfg, so a part of a configuration must be checked together with the rows that it
// refers to (PORT, DEVICE_METADATA). A "name@" field is a leaf-list in its Redis form.
func (m *Models) Check(cfg map[string]map[string]map[string]string) []Violation {
	ck := &checker{m: m, tables: map[string]*node{}, refs: map[string]map[string]bool{}}
	ck.root = &node{}
	var built []*node
	for _, name := range sortedKeys(cfg) {
		t := m.tables[name]
		if t == nil {
			ck.violate(Violation{Table: name, Msg: "the table has no YANG model"})
			continue
		}
		s, err := t.compile()
		if err != nil {
			ck.violate(Violation{Table: name, Msg: "the table's YANG model cannot be used: " + err.Error(), Where: t.u.file})
			continue
		}
		n := ck.table(s)
		n.implicit = false
		built = append(built, n)
		ck.fillTable(n, cfg[name])
	}
	for _, n := range built {
		ck.defaults(n)
	}
	ck.settle()
	for _, n := range built {
		ck.validate(n)
	}
	ordered.Sort(ck.out, func(a, b Violation) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Key, b.Key), strings.Compare(a.Field, b.Field),
			strings.Compare(a.Msg, b.Msg), strings.Compare(a.Where, b.Where))
	})
	return slices.Compact(ck.out)
}

// node is a node of the instance data.
type node struct {
	s        *snode // nil for the root
	parent   *node
	kids     []*node
	val      string // canonical form
	raw      string // as in the data
	implicit bool   // made from the model, not in the data
	bad      bool   // the value does not match the type
	key      string // of a row, or of a container that takes the place of a row
	field    string // name of the field in a row of a map table
	index    map[*snode]map[string]*node
}

func (n *node) isLeaf() bool { return n.s != nil && (n.s.kind == kLeaf || n.s.kind == kLeafList) }

// text returns the XPath string value of the node.
func (n *node) text() string {
	if n.isLeaf() {
		return n.val
	}
	var b strings.Builder
	for _, k := range n.kids {
		b.WriteString(k.text())
	}
	return b.String()
}

func (n *node) add(k *node) {
	k.parent = n
	n.kids = append(n.kids, k)
}

func (n *node) child(name string) *node {
	for _, k := range n.kids {
		if k.s.name == name {
			return k
		}
	}
	return nil
}

// checker holds the state of one call of Check.
type checker struct {
	m      *Models
	root   *node
	tables map[string]*node
	late   []lateDefault              // defaults that depend on a when
	refs   map[string]map[string]bool // values by leafref path
	out    []Violation
}

type lateDefault struct {
	parent *node
	s      *snode
}

func (ck *checker) violate(v Violation) {
	v.Msg = clip(v.Msg, 500)
	ck.out = append(ck.out, v)
}

// at reports a violation at n.
func (ck *checker) at(n *node, where, format string, args ...any) {
	v := Violation{Msg: fmt.Sprintf(format, args...), Where: where}
	for ; n != nil && n.s != nil && n.parent != ck.root; n = n.parent {
		switch {
		case n.parent.parent == ck.root:
			v.Table = n.s.name
		case n.key != "" && v.Key == "":
			v.Key = n.key
		case n.field != "":
			v.Field = n.field
		case v.Field == "" && (n.isLeaf() || n.s.kind == kContainer):
			v.Field = n.s.name
		}
	}
	ck.violate(v)
}

// table returns the node of a table and creates it on first use.
func (ck *checker) table(s *snode) *node {
	if n := ck.tables[s.name]; n != nil {
		return n
	}
	top := ck.root.child(s.parent.name)
	if top == nil {
		top = &node{s: s.parent}
		ck.root.add(top)
	}
	n := &node{s: s, implicit: true}
	ck.tables[s.name] = n
	top.add(n)
	return n
}

// children returns the child nodes of n, for a lookup of name. A table that is not in the data is
// created with its defaults.
func (ck *checker) children(n *node, name string) []*node {
	switch {
	case n == ck.root:
		if u := ck.m.units[name]; u != nil && n.child(name) == nil {
			n.add(&node{s: &snode{kind: kContainer, name: name}})
		}
	case n.parent == ck.root:
		if t := ck.m.tables[name]; t != nil && t.u.name == n.s.name && ck.tables[name] == nil {
			if s, err := t.compile(); err == nil {
				ck.defaults(ck.table(s))
				ck.settle()
			}
		}
	}
	return n.kids
}

// fillTable adds the rows of a table. Like the switch's loader, it makes a row an entry of the
// first list whose number of keys and fields match, or else a container of that name.
func (ck *checker) fillTable(tn *node, rows map[string]map[string]string) {
	var lists []*snode
	for _, k := range tn.s.kids {
		if k.kind == kList {
			lists = append(lists, k)
		}
	}
	if len(lists) == 1 && lists[0].name != tn.s.name+"_LIST" {
		lists = nil
	}
	seen := map[string]bool{}
	for _, key := range sortedKeys(rows) {
		fields := rows[key]
		if len(fields) == 1 && fields["NULL"] == "NULL" {
			fields = nil
		}
		parts := strings.Split(key, "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		list, fits := chooseList(lists, len(parts), fields)
		if c := tn.s.byName[key]; c != nil && c.kind == kContainer && !fits {
			n := &node{s: c, key: key}
			tn.add(n)
			ck.fill(n, fields)
			continue
		}
		if list == nil {
			ck.violate(Violation{Table: tn.s.name, Key: key, Msg: badKey(tn.s, lists, len(parts)), Where: tn.s.where})
			continue
		}
		n := &node{s: list, key: key}
		tn.add(n)
		id := list.name
		for i, k := range list.keys {
			id += "\x00" + ck.leaf(n, list.byName[k], parts[i]).val
		}
		if seen[id] {
			ck.at(n, list.where, "the row is there twice")
		}
		seen[id] = true
		ck.fill(n, fields)
	}
}

// chooseList returns the first list that matches a row, else the first with the right number of
// keys, or nil.
func chooseList(lists []*snode, parts int, fields map[string]string) (list *snode, fits bool) {
	for _, l := range lists {
		if len(l.keys) != parts {
			continue
		}
		if mapList(l) != nil || knowsAll(l, fields) {
			return l, true
		}
		if list == nil {
			list = l
		}
	}
	return list, false
}

// badKey describes the keys that the table accepts.
func badKey(s *snode, lists []*snode, parts int) string {
	var want []string
	for _, l := range lists {
		want = append(want, strings.Join(l.keys, "|"))
	}
	for _, k := range s.kids {
		if k.kind == kContainer {
			want = append(want, strconv.Quote(k.name))
		}
	}
	if len(want) == 0 {
		return "the table takes no rows"
	}
	if len(lists) == 0 {
		return "no such row in the model; it has " + strings.Join(want, ", ")
	}
	return fmt.Sprintf("a key of %d parts; the model has %s", parts, strings.Join(want, ", "))
}

// mapList returns the inner list of a table whose field names are data, or nil.
func mapList(l *snode) *snode {
	var inner *snode
	for _, k := range l.kids {
		switch {
		case k.kind == kList && inner == nil:
			inner = k
		case k.kind != kList && !slices.Contains(l.keys, k.name):
			return nil
		}
	}
	if inner == nil || len(inner.keys) == 0 || valueLeaf(inner) == nil {
		return nil
	}
	return inner
}

func valueLeaf(inner *snode) *snode {
	for _, k := range inner.kids {
		if k.name != inner.keys[0] && k.kind == kLeaf {
			return k
		}
	}
	return nil
}

func knowsAll(l *snode, fields map[string]string) bool {
	for f := range fields {
		if l.byName[strings.TrimSuffix(f, "@")] == nil {
			return false
		}
	}
	return true
}

// fill adds the fields of a row.
func (ck *checker) fill(n *node, fields map[string]string) {
	if n.s.kind == kList {
		if inner := mapList(n.s); inner != nil {
			vl, seen := valueLeaf(inner), map[string]bool{}
			for _, f := range sortedKeys(fields) {
				e := &node{s: inner, field: f}
				n.add(e)
				from := ck.leaf(e, inner.byName[inner.keys[0]], f)
				if seen[from.val] {
					ck.at(e, inner.where, "%q is there twice", from.val)
				}
				seen[from.val] = true
				ck.leaf(e, vl, fields[f])
			}
			return
		}
	}
	for _, f := range sortedKeys(fields) {
		name, isList := strings.CutSuffix(f, "@")
		s := n.s.byName[name]
		switch {
		case s == nil:
			ck.field(n, f, "the model does not have this field", n.s.where)
		case slices.Contains(n.s.keys, name) && n.s.kind == kList:
			// Ignore a key that is repeated as a field.
		case s.kind == kContainer || s.kind == kList:
			ck.field(n, f, fmt.Sprintf("a %s in the model, which one string cannot hold", [...]string{"container", "list"}[s.kind]), s.where)
		case s.kind == kLeaf && isList:
			ck.field(n, f, "a single value in the model, so the field has no @", s.where)
		case s.kind == kLeaf:
			ck.leaf(n, s, fields[f])
		default:
			ck.leafList(n, s, f, fields)
		}
	}
}

func (ck *checker) field(n *node, field, msg, where string) {
	ck.at(&node{s: &snode{kind: kLeaf, name: field}, parent: n}, where, "%s", msg)
}

// stringLists gives the separator of each leaf-list that CONFIG_DB keeps as one string in a field
// without "@" (sonic-buildimage src/sonic-yang-mgmt/sonic_yang_ext.py).
var stringLists = map[string]string{
	"BUFFER_PORT_INGRESS_PROFILE_LIST.profile_list": ",",
	"BUFFER_PORT_EGRESS_PROFILE_LIST.profile_list":  ",",
	"PORT.adv_speeds":                  ",",
	"PORT.adv_interface_types":         ",",
	"MIRROR_SESSION.src_ip":            ",",
	"NTP.src_intf":                     ";",
	"BGP_ALLOWED_PREFIXES.prefixes_v4": ",",
	"BGP_ALLOWED_PREFIXES.prefixes_v6": ",",
}

func (ck *checker) leafList(n *node, s *snode, f string, fields map[string]string) {
	var parts []string
	if strings.HasSuffix(f, "@") {
		if _, both := fields[s.name]; both {
			ck.field(n, f, "the field is there with and without @", s.where)
			return
		}
		parts = strings.Split(fields[f], ",")
	} else {
		t := n
		for t.parent.parent != ck.root {
			t = t.parent
		}
		sep, ok := stringLists[t.s.name+"."+s.name]
		if !ok {
			ck.field(n, f, "a list of values in the model, which CONFIG_DB keeps in the field "+s.name+"@", s.where)
			return
		}
		parts = strings.Split(fields[f], sep)
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
	}
	if len(s.defaults) == 0 {
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	}
	seen := map[string]bool{}
	for _, p := range parts {
		k := ck.leaf(n, s, p)
		if seen[k.val] {
			ck.at(k, s.where, "%s is there twice", quote(s, p))
		}
		seen[k.val] = true
	}
}

// leaf adds one value.
func (ck *checker) leaf(n *node, s *snode, v string) *node {
	k := &node{s: s, raw: v}
	n.add(k)
	var err error
	if k.val, err = s.typ.value(ck.m, v, 0); err != nil {
		k.bad = true
		ck.at(k, s.where, "%s: %s", quote(s, v), err)
	}
	return k
}

// quote prints a value, unless its name suggests a secret.
func quote(s *snode, v string) string {
	name := strings.ToLower(s.name)
	for _, w := range []string{"pass", "secret", "cak", "auth_key", "private", "community", "token"} {
		if strings.Contains(name, w) {
			return "the value"
		}
	}
	return strconv.Quote(clip(v, 80))
}
