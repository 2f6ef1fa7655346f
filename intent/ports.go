package intent

import (
	"cmp"
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// portNames holds the port names that a line of the intent gives to each switch of a range. The
// switches share it: one map for each of 10,000 switches would take most of the memory of their
// intent.
type portNames struct {
	index map[string]int32       // index in Switch.Ports of each name
	more  map[*string]*portNames // extended names, by a pointer to the first added name; a nil value means that names would repeat
	// order permutes the ports into numeric order; nil if they are already in order. Once order
	// is set, index refers to numeric order.
	order  []int32
	sorted bool
}

// with returns n extended by names, which is a list shared by switches of one line; nil if n
// already contains one of the names.
func (n *portNames) with(names []string) *portNames {
	if all, known := n.more[&names[0]]; known {
		return all
	}
	all := &portNames{index: make(map[string]int32, len(n.index)+len(names)), more: map[*string]*portNames{}}
	maps.Copy(all.index, n.index)
	for _, name := range names {
		if _, twice := all.index[name]; twice {
			all = nil
			break
		}
		all.index[name] = int32(len(all.index))
	}
	n.more[&names[0]] = all
	return all
}

// sort rewrites index in numeric order.
func (n *portNames) sort() {
	if n.sorted {
		return
	}
	n.sorted = true
	names := make([]string, len(n.index))
	for name, i := range n.index {
		names[i] = name
	}
	if slices.IsSortedFunc(names, natural.Compare) {
		return
	}
	n.order = make([]int32, 0, len(names))
	for i, name := range natural.Sorted(names) {
		n.order = append(n.order, n.index[name])
		n.index[name] = int32(i)
	}
}

// Index returns the index in [Switch.Ports] of the port with this name, or -1 if the intent does
// not manage the port.
func (s *Switch) Index(name string) int {
	index := s.index
	if index == nil && s.names != nil {
		index = s.names.index
	}
	if i, ok := index[name]; ok {
		return int(i)
	}
	return -1
}

// Port returns the port with this name, or nil if the intent does not manage it.
func (s *Switch) Port(name string) *Port {
	if i := s.Index(name); i >= 0 {
		return s.Ports[i]
	}
	return nil
}

// sortPorts sorts the ports of a switch in numeric order.
func (s *Switch) sortPorts() {
	if s.index != nil {
		ordered.Sort(s.Ports, func(a, b *Port) int { return natural.Compare(a.Name, b.Name) })
		for i, p := range s.Ports {
			s.index[p.Name] = int32(i)
		}
		return
	}
	if s.names == nil {
		return
	}
	if s.names.sort(); s.names.order == nil {
		return
	}
	ports := make([]*Port, 0, len(s.Ports))
	for _, i := range s.names.order {
		ports = append(ports, s.Ports[i])
	}
	s.Ports = ports
}

// port returns the port with this name, creating it if it is new; nil if the fabric would have
// too many ports.
func (r *resolver) port(s *Switch, name string, pos Pos) *Port {
	if p := s.Port(name); p != nil {
		return p
	}
	if r.ports++; r.ports > r.limits.ports {
		r.problems.addf(pos, "", "more than %d ports and NICs", r.limits.ports)
		return nil
	}
	if s.index == nil { // stop sharing names with other switches
		s.index = make(map[string]int32, len(s.Ports)+1)
		for i, p := range s.Ports {
			s.index[p.Name] = int32(i)
		}
	}
	s.index[name] = int32(len(s.Ports))
	return r.newPort(s, name, pos)
}

func (r *resolver) newPort(s *Switch, name string, pos Pos) *Port {
	p := next(&r.portSlab)
	*p = Port{Name: name, Pos: pos, Switch: s, PortLine: unstated, Settings: s.Settings}
	s.Ports = append(s.Ports, p)
	return p
}

// newPorts creates all ports of a list at once and returns them. It returns nil if one of them
// exists or if sharing does not pay, because the list is shorter than the switch's ports and
// names are copied; the caller then uses [resolver.port] for each.
func (r *resolver) newPorts(s *Switch, names []string, pos Pos) []*Port {
	if s.index != nil || len(names) < max(2, len(s.Ports)) || r.ports+len(names) > r.limits.ports {
		return nil
	}
	all := cmp.Or(s.names, &r.noPorts).with(names)
	if all == nil {
		return nil
	}
	r.ports += len(names)
	s.names = all
	had := len(s.Ports)
	s.Ports = slices.Grow(s.Ports, len(names))
	for _, name := range names {
		r.newPort(s, name, pos)
	}
	return s.Ports[had:]
}
