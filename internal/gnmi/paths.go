package gnmi

import (
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Path is a path of plain element names, as SONiC's native interface has
// them: {"CONFIG_DB", "localhost", "QUEUE", "Ethernet0|3"}. A name is sent as
// it stands; nothing in it is special, neither slash nor bracket. (SONiC
// itself wants "~1" for a slash in the path of a Set, not of a Get.)
type Path []string

// String joins the names with slashes, for people.
func (p Path) String() string { return "/" + strings.Join(p, "/") }

// Elems returns the same path as elements without keys.
func (p Path) Elems() []Elem {
	es := make([]Elem, len(p))
	for i, n := range p {
		es[i].Name = n
	}
	return es
}

// Elem is a path element with keys, as OpenConfig has them:
// {"interface", {"name": "Ethernet1"}}.
type Elem struct {
	Name string
	Keys map[string]string
}

func wirePath(es []Elem) *gpb.Path {
	p := &gpb.Path{Elem: make([]*gpb.PathElem, len(es))}
	for i, e := range es {
		p.Elem[i] = &gpb.PathElem{Name: e.Name, Key: e.Keys}
	}
	return p
}

// pathKey is a text that two paths share only if they are equal: the prefix's
// elements and the path's, with every part ended by a byte that starts none.
func pathKey(prefix, p *gpb.Path) string {
	var b strings.Builder
	part := func(s string) {
		b.WriteString(strings.ReplaceAll(s, "\x00", "\x00\x00"))
		b.WriteString("\x00\x01")
	}
	for _, es := range [][]*gpb.PathElem{prefix.GetElem(), p.GetElem()} {
		for _, e := range es {
			part(e.GetName())
			for _, k := range slices.Sorted(maps.Keys(e.GetKey())) {
				part("[" + k)
				part("=" + e.GetKey()[k])
			}
		}
	}
	return b.String()
}
