package derive

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// ladder lists words in names that tell the role of a switch, most specific first, with the role
// and tier that they stand for.
var ladder = []struct {
	word, role string
	tier       int
}{
	{"superspine", "superspine", 2}, {"super-spine", "superspine", 2}, {"super_spine", "superspine", 2},
	{"spine", "spine", 1}, {"core", "core", 3}, {"agg", "agg", 1},
	{"leaf", "leaf", 0}, {"tor", "tor", 0}, {"access", "access", 0}, {"edge", "edge", 0},
}

// tierOf returns the tier of a role; an unknown role counts as a leaf.
func tierOf(role string) int {
	role = strings.ToLower(role)
	for _, l := range ladder {
		if strings.Contains(role, l.word) {
			return l.tier
		}
	}
	return 0
}

// roleOf gives each switch a role: the stated one, else one from its name, else one from its
// position.
func (d *deriver) roleOf() {
	hosts := map[string]bool{}
	for _, l := range d.links {
		if d.byName[l.b.Device] == nil {
			hosts[l.a.Device] = true
		}
	}
	for _, s := range d.switches {
		s.role = s.Role
		lower := strings.ToLower(s.Name)
		for _, l := range ladder {
			if s.role == "" && strings.Contains(lower, l.word) {
				s.role = l.role
			}
		}
		if s.role == "" && len(hosts) > 0 && len(d.switches) > 1 {
			s.role = "spine"
			if hosts[s.Name] {
				s.role = "leaf"
			}
		}
		if s.role != "" && !slices.Contains(d.roleList, s.role) {
			d.roleList = append(d.roleList, s.role)
		}
	}
}

// carries reports whether a port uses QoS that an intent covers: PFC, the watchdog, more than one
// class by maps of its own, or marking of packets whose class their DSCP decides. A scheduler or a
// marking curve alone says nothing of classes.
func carries(d *qos.Device, name string) bool {
	p := d.Ports[name]
	if p.PFC.Or(0) != 0 || p.Watchdog.Or(qos.Watchdog{}).Enabled {
		return true
	}
	if m := p.Maps.V; p.Maps.Set && m != nil && (distinguishes(m.DSCPToTC[:]) || distinguishes(m.PCPToTC[:])) {
		return true
	}
	if g := d.GlobalMaps.V; p.Trust.V != qos.TrustDSCP || g == nil || !distinguishes(g.DSCPToTC[:]) {
		return false
	}
	return slices.ContainsFunc(p.Queues[:], func(q qos.Queue) bool { return q.ECN.Or(qos.ECN{}).Enabled })
}

// choosePorts decides which ports the intent manages: those on links that carry QoS at either
// end, and, on a switch without links, those that carry QoS. In a fabric without QoS it manages
// all linked ports.
func (d *deriver) choosePorts() {
	carry := map[intent.Endpoint]bool{}
	for _, s := range d.switches {
		for n := range s.Running.Ports {
			if s.Planned || carries(s.Running, n) {
				carry[intent.Endpoint{Device: s.Name, Port: n}] = true
			}
		}
	}
	linked, joined := map[intent.Endpoint]bool{}, map[string]bool{} // ports, and their devices
	idle := map[string][]string{}
	d.links = slices.DeleteFunc(d.links, func(l *link) bool {
		linked[l.a], linked[l.b] = true, true
		joined[l.a.Device], joined[l.b.Device] = true, true
		if len(carry) == 0 || carry[l.a] || carry[l.b] {
			return false
		}
		idle[l.a.Device] = append(idle[l.a.Device], l.a.Port)
		return true
	})
	for _, n := range natural.Keys(idle) {
		d.noteLeftOut(n, idle[n], "%s without QoS at either end", words.Count(len(idle[n]), "link"))
	}
	ends := map[intent.Endpoint]*link{}
	for _, l := range d.links {
		ends[l.a], ends[l.b] = l, l
	}
	for _, s := range d.switches {
		var out []string
		for _, n := range natural.Keys(s.Running.Ports) {
			at := intent.Endpoint{Device: s.Name, Port: n}
			l := ends[at]
			switch {
			case l != nil, carry[at] && !s.Planned && (d.outside[s.Name][n] || !linked[at] && (!joined[s.Name] || d.in.AllPorts)):
				s.ports[n] = &port{run: s.Running.Ports[n], link: l}
				s.names = append(s.names, n)
			case carry[at] && !s.Planned:
				out = append(out, n)
			}
		}
		if len(out) > 0 {
			d.noteLeftOut(s.Name, out, "%s no known neighbour", words.Plural(len(out), "port carries QoS but has", "ports carry QoS but have"))
		}
	}
	d.dropHosts(ends)
	d.complete()
}

// dropHosts removes NICs that are known only from unwritten links, and hosts without other NICs.
func (d *deriver) dropHosts(ends map[intent.Endpoint]*link) {
	for _, h := range natural.Keys(d.hosts) {
		for _, n := range natural.Keys(d.hosts[h].nics) {
			if ends[intent.Endpoint{Device: h, Port: n}] == nil && len(d.hosts[h].NICs) == 0 {
				delete(d.hosts[h].nics, n)
			}
		}
		if len(d.hosts[h].nics) == 0 && len(d.hosts[h].NICs) == 0 {
			delete(d.hosts, h)
		}
	}
}

// remarkEmpty reports switches without managed ports.
func (d *deriver) remarkEmpty() {
	for _, s := range d.switches {
		switch {
		case len(s.names) > 0:
		case s.Planned:
			d.noteLeftOut(s.Name, nil, "no cable connects it to a device in the intent")
		default:
			d.noteLeftOut(s.Name, nil, "the intent manages none of its %s: no QoS was found, and no link to a port that has some", words.Count(len(s.Running.Ports), "port"))
		}
	}
}
