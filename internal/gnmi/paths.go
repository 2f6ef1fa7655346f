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

func (p Path) wire() *gpb.Path {
	w := &gpb.Path{Elem: make([]*gpb.PathElem, len(p))}
	for i, n := range p {
		w.Elem[i] = &gpb.PathElem{Name: n}
	}
	return w
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
