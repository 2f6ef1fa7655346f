package derive

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// class is a traffic class of the fabric.
type class struct {
	name     string
	priority int
	dscp     []int
	rest     bool
	pcp      []int
	pcpSet   bool // pcp holds something other than the priority itself
}

// trustOf returns the field by which a port classifies packets, none if no field puts one into
// another class than 0. If the OS does not state it, it is the field whose map does.
func trustOf(d *qos.Device, name string) qos.Trust {
	p := d.Ports[name]
	m := d.MapsOf(name)
	switch t := p.Trust.Or(""); {
	case t != "":
		return t
	case m == nil:
		return qos.TrustDSCP
	case m.Classes() == qos.Priorities(0):
		return qos.TrustNone
	case !distinguishes(m.DSCPToTC[:]) && distinguishes(m.PCPToTC[:]):
		return qos.TrustPCP
	}
	return qos.TrustDSCP
}

func distinguishes(table []int8) bool {
	return slices.ContainsFunc(table, func(v int8) bool { return v >= 0 && v != table[0] })
}

// tables holds the code point maps of most pausing ports, or of most ports if none pauses; nil
// if no port classifies by the field.
type tables struct {
	dscp *[qos.NumDSCP]int8
	pcp  *[qos.NumPriorities]int8
}

func (d *deriver) usualTables() tables {
	const pauses = 1 << 20 // more than the number of ports
	var dscps ordered.Map[[qos.NumDSCP]int8, int]
	var pcps ordered.Map[[qos.NumPriorities]int8, int]
	for _, s := range d.switches {
		for _, n := range s.names {
			m, weight := s.Running.MapsOf(n), 1
			if m == nil {
				continue
			}
			if s.ports[n].run.PFC.Or(0) != 0 {
				weight = pauses
			}
			switch trustOf(s.Running, n) {
			case qos.TrustPCP:
				*pcps.At(m.PCPToTC) += weight
			case qos.TrustDSCP:
				*dscps.At(m.DSCPToTC) += weight
			}
		}
	}
	out := tables{most(&dscps), most(&pcps)}
	// If all pausing ports use one of the two maps, drop the other one.
	switch {
	case out.dscp == nil || out.pcp == nil:
	case *pcps.At(*out.pcp) >= pauses && *dscps.At(*out.dscp) < pauses:
		out.dscp = nil
	case *dscps.At(*out.dscp) >= pauses && *pcps.At(*out.pcp) < pauses:
		out.pcp = nil
	}
	return out
}

// most returns the key with the highest count, the first one on a tie; nil if there is none.
func most[K comparable](count *ordered.Map[K, int]) (best *K) {
	have := 0
	for k, n := range count.All() {
		if n > have {
			best, have = &k, n
		}
	}
	return best
}

// leaveOthers excludes ports without a link that have other maps, since an intent has one map
// for all of its ports. It returns the priorities that the remaining ports pause.
func (d *deriver) leaveOthers(usual tables) (used qos.PrioritySet) {
	for _, s := range d.switches {
		var odd []string
		s.names = slices.DeleteFunc(s.names, func(n string) bool {
			m, p := s.Running.MapsOf(n), s.ports[n]
			var other bool
			switch {
			case m == nil || p.link != nil || trustOf(s.Running, n) == qos.TrustNone:
			case trustOf(s.Running, n) == qos.TrustPCP:
				other = usual.pcp == nil || m.PCPToTC != *usual.pcp
			default:
				other = usual.dscp == nil || m.DSCPToTC != *usual.dscp
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
			d.noteLeftOut(s.Name, odd, "%s differently from the intent, which has one map for all ports", words.Plural(len(odd), "port classifies", "ports classify"))
		}
	}
	return used
}

// byPriority holds classes under construction; nil for priorities without a class.
type byPriority [qos.NumPriorities]*class

func (l *byPriority) at(priority int) *class {
	if l[priority] == nil {
		l[priority] = &class{priority: priority}
	}
	return l[priority]
}

// chooseRest picks the class for code points that the intent does not list. It picks the lossy
// class with the most code points, so that unlisted traffic does not become lossless.
func (l *byPriority) chooseRest(lossless qos.PrioritySet) {
	var rest *class
	better := func(c *class) bool {
		is, now := lossless.Has(c.priority), rest != nil && lossless.Has(rest.priority)
		return rest == nil || now && !is || now == is && len(c.dscp) > len(rest.dscp)
	}
	for _, c := range l {
		if c != nil && better(c) {
			rest = c
		}
	}
	if rest == nil || len(rest.dscp) == 0 && !lossless.Has(0) {
		rest = l.at(0)
	}
	rest.rest = true
}

// findClasses derives the classes from the maps of most ports. Ports with other maps appear in
// Result.LeftOut if they have no link, else as changes in a plan.
func (d *deriver) findClasses() {
	if d.planned() {
		d.usualClasses()
		return
	}
	usual := d.usualTables()
	d.lossless = d.leaveOthers(usual)
	var found byPriority
	for _, p := range d.lossless.List() {
		found.at(p)
	}
	if usual.dscp != nil {
		for code, tc := range usual.dscp {
			if tc == qos.Unmapped {
				tc = 0 // unlisted code points are in class 0 on every OS
			}
			if tc >= 0 && tc < qos.NumPriorities {
				c := found.at(int(tc))
				c.dscp = append(c.dscp, code)
			}
		}
	}
	if usual.pcp != nil {
		for code, tc := range usual.pcp {
			if tc >= 0 && tc < qos.NumPriorities {
				c := found.at(int(tc))
				c.pcp = append(c.pcp, code)
			}
		}
	}
	if d.leaveOrdinary(&found); !d.keepsCodePoints && (usual.dscp != nil || usual.pcp == nil) {
		found.chooseRest(d.lossless)
	}
	for p, c := range found {
		if c != nil {
			c.pcpSet = usual.pcp != nil && !slices.Equal(c.pcp, []int{p})
			d.classes = append(d.classes, *c)
		}
	}
	d.nameClasses()
}

// treatment describes how a port handles a lossy class.
type treatment struct {
	scheduler qos.Scheduler
	ecn       qos.ECN
}

// leaveOrdinary removes lossy classes without a name that are treated alike, with neither
// marking nor a rate limit, if there are three or more: these are the switch's way of sorting
// other traffic, and stay as they are.
func (d *deriver) leaveOrdinary(found *byPriority) {
	var treatments [qos.NumPriorities]ordered.Map[treatment, int]
	for _, s := range d.switches {
		for _, n := range s.names {
			m, p := s.Running.MapsOf(n), s.ports[n].run
			for i, c := range found {
				if c == nil || m == nil {
					continue
				}
				q := p.Queues[i]
				if to := m.TCToQueue[i]; to >= 0 && to < qos.NumPriorities {
					q = p.Queues[to]
				}
				*treatments[i].At(treatment{q.Scheduler.V, q.ECN.V})++
			}
		}
	}
	var alike ordered.Groups[treatment, int]
	for i := range found {
		if t := most(&treatments[i]); t != nil && !d.lossless.Has(i) && d.in.ClassNames[i] == "" && t.ecn == (qos.ECN{}) && t.scheduler.MaxRate == 0 {
			alike.Add(*t, i)
		}
	}
	var ordinary []int
	for _, same := range alike.All() {
		if len(same) > len(ordinary) {
			ordinary = same
		}
	}
	if len(ordinary) < 3 || d.lossless == 0 {
		return
	}
	d.keepsCodePoints = true
	for _, i := range ordinary {
		found[i] = nil
	}
}

// congestionDSCP is the default code point of congestion notifications (NVIDIA, RoCE congestion
// control: cnp_dscp 48). It is also CS6, which routing protocols use: a class with further code
// points is not named after it, unless it is the strict one of three classes as in NVIDIA's
// preset (Cumulus Linux, RDMA over Converged Ethernet).
const congestionDSCP = 48

// nameClasses names the classes by their purpose.
func (d *deriver) nameClasses() {
	taken := map[string]bool{}
	for i := range d.classes {
		if n := d.in.ClassNames[d.classes[i].priority]; n != "" && !taken[n] {
			d.classes[i].name, taken[n] = n, true
		}
	}
	someRest := slices.ContainsFunc(d.classes, func(c class) bool { return c.rest })
	for i := range d.classes {
		c := &d.classes[i]
		if c.name != "" {
			continue
		}
		name := "class"
		switch {
		case d.lossless.Has(c.priority):
			name = "rdma"
		case c.rest || c.priority == 0 && !someRest:
			name = "default"
		case d.lossless != 0 && (slices.Equal(c.dscp, []int{congestionDSCP}) || someRest && len(d.classes) == 3 && len(c.dscp) == 8 && slices.Contains(c.dscp, congestionDSCP) && d.strict(c.priority)):
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

// strict reports whether every port serves a priority in a strict queue.
func (d *deriver) strict(priority int) bool {
	for _, s := range d.switches {
		for _, p := range s.ports {
			q := priority
			if m := p.run.Maps.V; m != nil && m.TCToQueue[priority] >= 0 {
				q = int(m.TCToQueue[priority])
			}
			if !p.run.Queues[q].Scheduler.V.Strict {
				return false
			}
		}
	}
	return true
}

// order returns the classes in the order for the intent: lossless ones, others, the rest class.
func (d *deriver) order() []class {
	rank := func(c class) int {
		switch {
		case d.base.tune[c.priority].lossless:
			return 0
		case c.rest:
			return 2
		}
		return 1
	}
	out := slices.Clone(d.classes)
	ordered.Sort(out, func(a, b class) int { return cmp.Or(rank(a)-rank(b), a.priority-b.priority) })
	return out
}
