package deadlock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Radius lists everything that a NIC can stop by pausing forever: all buffers that wait,
// directly or through other buffers, for data that the NIC does not take. It uses the routes
// without failures.
type Radius struct {
	Host    string   `json:"host"`
	NIC     string   `json:"nic"`
	Classes []string `json:"classes"` // lossless at the NIC's switch port
	// Ports are the switch ports that may be paused, nearest first, including the port of the
	// NIC.
	Ports []PausedPort `json:"ports"`
	// Hosts are the NICs that may be paused, nearest first.
	Hosts []PausedNIC `json:"hosts"`
	Tiers []TierCount `json:"tiers"` // from the hosts upward
	// AllPorts and AllNICs count the linked switch ports and NICs of the fabric.
	AllPorts int `json:"allPorts"`
	AllNICs  int `json:"allNICs"`
	// Island is the island of the host, and Outside counts paused NICs of hosts outside it.
	// Both are empty if the host is in no island.
	Island  string `json:"island,omitempty"`
	Outside int    `json:"outside,omitempty"`
}

// PausedPort is a switch port that has to stop sending.
type PausedPort struct {
	Switch   string `json:"switch"`
	Port     string `json:"port"`
	By       string `json:"by"` // device whose pauses stop the port
	Class    string `json:"class"`
	Distance int    `json:"distance"` // 0 for the port of the NIC
	Tier     int    `json:"tier"`     // of the switch, 0 next to the hosts
}

// PausedNIC is a NIC that has to stop sending.
type PausedNIC struct {
	Host     string `json:"host"`
	NIC      string `json:"nic"`
	Switch   string `json:"switch"` // switch whose pauses stop the NIC
	Class    string `json:"class"`
	Distance int    `json:"distance"` // 1 or more
	Island   string `json:"island,omitempty"`
}

// TierCount counts the paused ports of one tier.
type TierCount struct {
	Tier     int    `json:"tier"`
	Roles    string `json:"roles,omitempty"`
	Switches int    `json:"switches"` // switches with a paused port
	Of       int    `json:"of"`       // all switches of the tier
	Ports    int    `json:"ports"`
}

// BlastRadius follows the pauses of a NIC through the fabric. It fails if the intent has no
// such NIC, or the NIC has no link to a switch.
func (a *Analysis) BlastRadius(host, nic string) (*Radius, error) {
	f := a.Graph.Fabric
	h := f.Host(host)
	if h == nil {
		return nil, fmt.Errorf("no host %q", host)
	}
	x := h.NIC(nic)
	if x == nil {
		return nil, fmt.Errorf("no NIC %q at host %q", nic, host)
	}
	s, port := a.attached(x)
	if port == nil {
		return nil, fmt.Errorf("NIC %s/%s has no link to a switch", host, nic)
	}
	if err := a.follow(context.Background()); err != nil {
		return nil, err
	}
	r := &Radius{Host: host, NIC: nic}
	b := &blast{a: a, r: r, origin: x, dist: map[node]int{}, nics: map[pausedKey]bool{}, island: map[*intent.Host]string{}}
	for _, is := range f.Islands {
		for _, m := range is.Hosts {
			b.island[m] = is.Name
		}
	}
	r.Island = b.island[h]
	for l := range a.n.layers {
		if own := a.paused(l, port); len(own) > 0 {
			b.layer(l, own, s, port)
		}
	}
	b.follow()
	b.finish()
	return r, nil
}

// attached returns the switch and port at the other end of the NIC's link.
func (a *Analysis) attached(x *intent.NIC) (int32, *intent.Port) {
	for i := range a.Graph.Switches {
		for _, h := range a.Graph.Switches[i].Hosts {
			if h.NIC == x {
				return int32(i), h.Port
			}
		}
	}
	return -1, nil
}

// paused returns the priorities of a layer that a port pauses.
func (a *Analysis) paused(l int, p *intent.Port) []int {
	lossless := a.Graph.Pauses(p)
	return slices.DeleteFunc(slices.Clone(a.n.layers[l].priorities), func(p int) bool { return !lossless.Has(p) })
}

type pausedKey struct {
	nic   *intent.NIC
	layer int
}

// blast is one search against the direction of the dependencies.
type blast struct {
	a      *Analysis
	r      *Radius
	origin *intent.NIC
	dist   map[node]int
	queue  []node
	nics   map[pausedKey]bool
	island map[*intent.Host]string
}

// layer starts with the buffers that hold packets for the hosts of switch s.
func (b *blast) layer(l int, own []int, s int32, port *intent.Port) {
	class := b.a.classes(own)
	b.r.Classes = append(b.r.Classes, class)
	b.r.Ports = append(b.r.Ports, PausedPort{Switch: port.Switch.Name, Port: port.Name, By: b.r.Host, Class: class, Tier: b.a.tier(s)})
	b.addWaiting(l, s, int32(len(b.a.n.g.Out(s))), 1)
}

// addWaiting adds the buffers of switch s, and the NICs on it, whose packets leave through column
// out in layer l.
func (b *blast) addWaiting(l int, s, out int32, distance int) {
	n := b.a.n
	arcs := n.g.Out(s)
	for lu := range n.layers {
		plane := n.plane(lu, l)
		if plane < 0 || !n.tagged && lu != l {
			continue
		}
		for in := range arcs {
			v := int32(lu*len(n.g.Arcs)) + arcs[in].Back
			if _, ok := b.dist[v]; ok || !has(b.a.nominal.at(plane, s, int32(in)), out) || !n.bundle(arcs[in].Back).Lossless.Has(n.layers[lu].priorities[0]) {
				continue
			}
			b.dist[v] = distance
			b.queue = append(b.queue, v)
		}
		if has(b.a.nominal.at(plane, s, int32(len(arcs))), out) {
			b.hosts(lu, s, distance)
		}
	}
}

func (b *blast) hosts(l int, s int32, distance int) {
	for _, h := range b.a.Graph.Switches[s].Hosts {
		key := pausedKey{h.NIC, l}
		if h.NIC == b.origin || b.nics[key] {
			continue
		}
		paused := slices.DeleteFunc(b.a.paused(l, h.Port), func(p int) bool { return !h.Sends.Has(p) })
		if len(paused) == 0 {
			continue
		}
		b.nics[key] = true
		b.r.Hosts = append(b.r.Hosts, PausedNIC{Host: h.NIC.Host.Name, NIC: h.NIC.Name, Switch: h.Port.Switch.Name,
			Class: b.a.classes(paused), Distance: distance, Island: b.island[h.NIC.Host]})
	}
}

// follow walks from each buffer to the buffers that wait for it.
func (b *blast) follow() {
	n := b.a.n
	for i := 0; i < len(b.queue); i++ {
		v := b.queue[i]
		l, arc := n.split(v)
		from := n.g.From(arc)
		for k := range n.bundle(arc).Links {
			x, y := n.g.Ports(arc, k)
			b.r.Ports = append(b.r.Ports, PausedPort{Switch: x.Switch.Name, Port: x.Name, By: y.Switch.Name,
				Class: b.a.classes(n.layers[l].priorities), Distance: b.dist[v], Tier: b.a.tier(from)})
		}
		b.addWaiting(l, from, n.g.Local(arc), b.dist[v]+1)
	}
}

func (b *blast) finish() {
	r, g := b.r, b.a.Graph
	ordered.Sort(r.Ports, func(x, y PausedPort) int {
		return cmp.Or(cmp.Compare(x.Distance, y.Distance), natural.Compare(x.Switch, y.Switch), natural.Compare(x.Port, y.Port), cmp.Compare(x.Class, y.Class))
	})
	ordered.Sort(r.Hosts, func(x, y PausedNIC) int {
		return cmp.Or(cmp.Compare(x.Distance, y.Distance), natural.Compare(x.Host, y.Host), natural.Compare(x.NIC, y.NIC), cmp.Compare(x.Class, y.Class))
	})
	r.Tiers = make([]TierCount, g.Tiers)
	roles := make([][]string, g.Tiers)
	for i := range g.Switches {
		s := &g.Switches[i]
		r.Tiers[s.Tier].Of++
		r.AllNICs += len(s.Hosts)
		r.AllPorts += len(s.Hosts)
		if role := s.Switch.Role; role != "" && !slices.Contains(roles[s.Tier], role) {
			roles[s.Tier] = append(roles[s.Tier], role)
		}
	}
	for i := range g.Bundles {
		r.AllPorts += 2 * len(g.Bundles[i].Links)
	}
	ports, sws := map[intent.Endpoint]bool{}, map[string]bool{}
	for _, p := range r.Ports {
		if e := (intent.Endpoint{Device: p.Switch, Port: p.Port}); !ports[e] {
			ports[e] = true
			r.Tiers[p.Tier].Ports++
		}
		if !sws[p.Switch] {
			sws[p.Switch] = true
			r.Tiers[p.Tier].Switches++
		}
	}
	for t := range r.Tiers {
		r.Tiers[t].Tier = t
		r.Tiers[t].Roles = strings.Join(natural.Sorted(roles[t]), ", ")
	}
	if r.Island != "" {
		out := map[string]bool{}
		for _, h := range r.Hosts {
			if h.Island != r.Island {
				out[h.Host+"/"+h.NIC] = true
			}
		}
		r.Outside = len(out)
	}
}

// Lines formats the radius for people: totals, then tiers, then the paused ports and NICs at
// each distance, folded.
func (r *Radius) Lines() []string {
	if len(r.Classes) == 0 {
		return []string{fmt.Sprintf("%s/%s: its switch port has no lossless class, so its pauses stop nothing", r.Host, r.NIC)}
	}
	ports := 0
	for _, t := range r.Tiers {
		ports += t.Ports
	}
	nics := map[string]bool{}
	for _, h := range r.Hosts {
		nics[h.Host+"/"+h.NIC] = true
	}
	out := []string{fmt.Sprintf("%s/%s can pause %s of %d and %d of the other %d NICs, classes %s",
		r.Host, r.NIC, words.Count(ports, "switch port"), r.AllPorts, len(nics), max(0, r.AllNICs-1), strings.Join(r.Classes, ", "))}
	for _, t := range r.Tiers {
		name := fmt.Sprintf("tier %d", t.Tier)
		if t.Roles != "" {
			name += " (" + t.Roles + ")"
		}
		out = append(out, fmt.Sprintf("  %s: %s on %d of %d switches", name, words.Count(t.Ports, "port"), t.Switches, t.Of))
	}
	if r.Island != "" {
		out = append(out, fmt.Sprintf("  %s outside island %s", words.Count(r.Outside, "paused NIC"), r.Island))
	}
	for d, i, j := 0, 0, 0; i < len(r.Ports) || j < len(r.Hosts); d++ {
		var sws, hosts []string
		for ; i < len(r.Ports) && r.Ports[i].Distance == d; i++ {
			sws = append(sws, r.Ports[i].Switch)
		}
		for ; j < len(r.Hosts) && r.Hosts[j].Distance == d; j++ {
			hosts = append(hosts, r.Hosts[j].Host)
		}
		var parts []string
		if len(sws) > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s", words.Count(len(sws), "port"), natural.Fold(slices.Compact(natural.Sorted(sws)))))
		}
		if len(hosts) > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s", words.Count(len(hosts), "NIC"), natural.Fold(slices.Compact(natural.Sorted(hosts)))))
		}
		out = append(out, fmt.Sprintf("  distance %d: %s", d, strings.Join(parts, ", ")))
	}
	return out
}
