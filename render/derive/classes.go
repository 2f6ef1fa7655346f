package derive

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// class is a traffic class of the fabric.
type class struct {
	name     string
	priority int
	dscp     []int
	rest     bool
	pcp      []int
	pcpSet   bool // pcp is not the priority alone
}

// trustOf is what selects the class of what enters a port; a system that does
// not say it has the table that tells more than one class apart.
func trustOf(d *qos.Device, name string) qos.Trust {
	p := d.Ports[name]
	if t := p.Trust.Or(""); t == qos.TrustDSCP || t == qos.TrustPCP {
		return t
	}
	m := d.MapsOf(name)
	if m == nil || p.Trust.Set {
		return qos.TrustDSCP
	}
	if !distinguishes(m.DSCPToTC[:]) && distinguishes(m.PCPToTC[:]) {
		return qos.TrustPCP
	}
	return qos.TrustDSCP
}

func distinguishes(table []int8) bool {
	return slices.ContainsFunc(table, func(v int8) bool { return v >= 0 && v != table[0] }) || table[0] < 0 && slices.ContainsFunc(table, func(v int8) bool { return v >= 0 })
}

// findClasses takes the classes from the tables of most ports that pause, or of
// most ports where none does. A port with others shows in what a plan would
// change; one that is joined to nothing is left out.
func (d *deriver) findClasses() {
	const pauses = 1 << 20 // more than there are ports
	dscps, pcps := map[[qos.NumDSCP]int8]int{}, map[[qos.NumPriorities]int8]int{}
	var dscpOrder [][qos.NumDSCP]int8
	var pcpOrder [][qos.NumPriorities]int8
	for _, s := range d.switches {
		for _, n := range s.names {
			m, weight := s.Running.MapsOf(n), 1
			if m == nil {
				continue
			}
			if s.ports[n].run.PFC.Or(0) != 0 {
				weight = pauses
			}
			if trustOf(s.Running, n) == qos.TrustPCP {
				if pcps[m.PCPToTC] == 0 {
					pcpOrder = append(pcpOrder, m.PCPToTC)
				}
				pcps[m.PCPToTC] += weight
				continue
			}
			if dscps[m.DSCPToTC] == 0 {
				dscpOrder = append(dscpOrder, m.DSCPToTC)
			}
			dscps[m.DSCPToTC] += weight
		}
	}
	slices.SortStableFunc(dscpOrder, func(a, b [qos.NumDSCP]int8) int { return cmp.Compare(dscps[b], dscps[a]) })
	slices.SortStableFunc(pcpOrder, func(a, b [qos.NumPriorities]int8) int { return cmp.Compare(pcps[b], pcps[a]) })
	var used qos.PrioritySet
	for _, s := range d.switches {
		var odd []string
		s.names = slices.DeleteFunc(s.names, func(n string) bool {
			m, p := s.Running.MapsOf(n), s.ports[n]
			var other bool
			switch {
			case m == nil || p.link != nil:
			case trustOf(s.Running, n) == qos.TrustPCP:
				other = m.PCPToTC != pcpOrder[0]
			default:
				other = m.DSCPToTC != dscpOrder[0]
			}
			if other {
				odd = append(odd, n)
				delete(s.ports, n)
			} else {
				used |= p.run.PFC.Or(0)
			}
			return other
		})
		if len(odd) > 0 {
			d.leave(s.Name, odd, "%s other than the classes of the intent: an intent has one map for all of its ports", words.Plural(len(odd), "port classifies", "ports classify"))
		}
	}
	byDSCP, byPCP := len(dscpOrder) > 0, len(pcpOrder) > 0
	of := map[int]*class{}
	at := func(tc int8) *class {
		p := int(tc)
		if of[p] == nil {
			of[p] = &class{priority: p}
		}
		return of[p]
	}
	valid := func(tc int8) bool { return tc >= 0 && tc < qos.NumPriorities }
	for _, p := range used.List() {
		at(int8(p))
	}
	if byDSCP {
		for code, tc := range dscpOrder[0] {
			if tc == qos.Unmapped {
				tc = 0 // where every system has what no map lists
			}
			if valid(tc) {
				c := at(tc)
				c.dscp = append(c.dscp, code)
			}
		}
	}
	if byPCP {
		for code, tc := range pcpOrder[0] {
			if valid(tc) {
				c := at(tc)
				c.pcp = append(c.pcp, code)
			}
		}
	}
	if byDSCP || !byPCP {
		if len(of) == 0 {
			at(0)
		}
		var rest *class
		// What the intent leaves out of its lists is not to become lossless.
		better := func(c *class) bool {
			lossless, now := used.Has(c.priority), rest != nil && used.Has(rest.priority)
			return rest == nil || now && !lossless || now == lossless && len(c.dscp) > len(rest.dscp)
		}
		for p := range qos.NumPriorities {
			if c := of[p]; c != nil && better(c) {
				rest = c
			}
		}
		if len(rest.dscp) == 0 && !used.Has(0) {
			rest = at(0)
		}
		rest.rest = true
	}
	for p := range qos.NumPriorities {
		if c := of[p]; c != nil {
			c.pcpSet = byPCP && !slices.Equal(c.pcp, []int{p})
			d.classes = append(d.classes, *c)
		}
	}
	d.lossless = used
	d.nameClasses()
}

// congestionDSCP is the code point of congestion notifications by default
// (NVIDIA, RoCE congestion control: cnp_dscp 48).
const congestionDSCP = 48

// nameClasses names the classes by what they do.
func (d *deriver) nameClasses() {
	taken := map[string]bool{}
	for i := range d.classes {
		if n := d.in.ClassNames[d.classes[i].priority]; n != "" && !taken[n] {
			d.classes[i].name, taken[n] = n, true
		}
	}
	for i := range d.classes {
		c := &d.classes[i]
		if c.name != "" {
			continue
		}
		name := "class"
		switch {
		case d.lossless.Has(c.priority):
			name = "rdma"
		case c.rest:
			name = "default"
		case slices.Contains(c.dscp, congestionDSCP):
			name = "cnp"
		}
		if taken[name] || name == "class" {
			name += fmt.Sprint(c.priority)
		}
		for taken[name] {
			name += "-" + fmt.Sprint(c.priority)
		}
		c.name, taken[name] = name, true
	}
}

// order is how a person lists classes: lossless ones, others, the rest.
func (d *deriver) order() []int {
	idx := make([]int, len(d.classes))
	for i := range idx {
		idx[i] = i
	}
	slices.SortStableFunc(idx, func(a, b int) int {
		key := func(i int) int {
			switch c := d.classes[i]; {
			case d.base.tune[c.priority].lossless:
				return 0
			case c.rest:
				return 2
			}
			return 1
		}
		return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(d.classes[a].priority, d.classes[b].priority))
	})
	return idx
}
