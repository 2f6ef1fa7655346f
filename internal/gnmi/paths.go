package gnmi

import (
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Path is a path of plain element names, as in SONiC's native interface: {"CONFIG_DB",
// "localhost", "QUEUE", "Ethernet0|3"}. Names are sent unchanged; no character is special, not
// even a slash or a bracket. (SONiC itself expects "~1" for a slash in the path of a Set, but not
// of a Get.)
type Path []string

// String returns the names joined with slashes, for people.
func (p Path) String() string { return "/" + strings.Join(p, "/") }

func (p Path) wire() *gpb.Path {
	w := &gpb.Path{Elem: make([]*gpb.PathElem, len(p))}
	for i, n := range p {
		w.Elem[i] = &gpb.PathElem{Name: n}
	}
	return w
}

// pathKey returns a text that is the same only for equal paths. It contains the elements of the
// prefix and of the path, each part followed by a terminator.
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
