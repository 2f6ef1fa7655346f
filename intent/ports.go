package intent

import (
	"cmp"
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// portNames are the names of the ports that a line of the intent gives to each switch
// of a range, which share them: a map for each of 10,000 switches is most of what their
// intent would hold.
type portNames struct {
	index map[string]int32       // where the port of a name stands in Switch.Ports
	more  map[*string]*portNames // with further names, by the first of them; nil where one is known already
	// order is how the ports are put into numeric order, and nil where they have it;
	// index is of that order once it is set.
	order  []int32
	sorted bool
}

// with returns the names and the further ones, which are one list of the intent, or nil
// where a name is in both.
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

// sort brings index into numeric order.
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

// Index returns where the port of that name stands in [Switch.Ports], or -1 where the
// intent does not manage it.
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

// Port returns the port of that name, or nil where the intent does not manage
// it.
func (s *Switch) Port(name string) *Port {
	if i := s.Index(name); i >= 0 {
		return s.Ports[i]
	}
	return nil
}

// sortPorts puts the ports of a switch into numeric order.
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

// port returns the port of a switch, which is made where it is new, and nil where that
// would be one too many.
func (r *resolver) port(s *Switch, name string, pos Pos) *Port {
	if p := s.Port(name); p != nil {
		return p
	}
	if r.ports++; r.ports > r.limits.ports {
		r.problems.addf(pos, "", "more than %d ports and NICs", r.limits.ports)
		return nil
	}
	if s.index == nil { // its names are its own from now on
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

// newPorts makes all ports of a list at once and returns them, or nil where that does not
// pay or where one is there already: then each is one for [resolver.port]. A list that is
// shorter than what the switch has does not pay, as names are copied.
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
