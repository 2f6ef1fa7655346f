package inventory

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/clabfile"
)

// systemOfNode returns the system that a kind of containerlab node runs; the zero System for other
// kinds.
func systemOfNode(kind string) intent.System {
	for _, name := range intent.Systems() {
		if s := intent.SystemOf(name); slices.Contains(s.Nodes, kind) {
			return s
		}
	}
	return intent.System{}
}

// addClab adds a containerlab topology: nodes become devices, links become cables.
func (r *Reader) addClab(name string, data []byte) error {
	t, err := clabfile.Parse(name, data)
	if err != nil {
		return err
	}
	at := func(line int) place { return place{file: name, line: line} }
	ports := map[string]func(string) string{}
	for _, n := range t.Nodes {
		system := systemOfNode(n.Kind)
		d := &device{id: "node " + n.Name, name: n.Name, place: at(n.Line), platform: ref{Name: n.Kind}}
		switch {
		case system.Name != "":
			d.platform.Slug = system.Name
			ports[n.Name] = system.NodePort
		case n.Kind == "linux":
			d.role = ref{Slug: roleHost, Name: roleHost}
		}
		if n.Address != "" {
			d.addresses = []ref{{Address: n.Address}}
		}
		r.devices = append(r.devices, d)
		r.taken++
	}
	for _, l := range t.Links {
		end := func(e clabfile.End) []ref {
			name := e.Interface
			if port := ports[e.Node]; port != nil {
				name = port(name)
			}
			return []ref{{Name: name, Kind: kindInterface, Device: &ref{ID: "node " + e.Node, Name: e.Node}}}
		}
		r.cables = append(r.cables, &cable{a: end(l.A), b: end(l.B), place: at(l.Line)})
		r.taken++
	}
	return nil
}
