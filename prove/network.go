package prove

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// End is a NIC that sends and receives.
type End struct {
	Host, NIC string
	Leaf      string // the switch that it is linked to
	Speed     units.Rate
}

// String returns "gpu1/ens1f0np0".
func (e *End) String() string { return e.Host + "/" + e.NIC }

// rail is a group of NICs that talk to each other: those of the same name where hosts have several,
// else all.
type rail struct {
	name   string
	ends   []*End   // by leaf, then by host
	leaves [][]*End // the same, by leaf
	pods   [][]*End // the same, by pod: leaves that are joined below the highest tier
}

// network is what takes part in the rounds.
type network struct {
	fabric *intent.Fabric
	rails  []*rail
	hosts  []string
	ends   int
	// left names what takes no part, by the reason.
	left map[string][]string
	// rdma are the classes that carry RDMA; background is a class that does not, nil if there is
	// none to send in.
	rdma       []*intent.Class
	background *intent.Class
}

// newNetwork finds the NICs and classes of an intent that take part.
func newNetwork(f *intent.Fabric) (*network, error) {
	n := &network{fabric: f, left: map[string][]string{}}
	n.chooseClasses()
	if len(n.rdma) == 0 {
		return nil, fmt.Errorf("no class of %s carries RDMA and has a DSCP: nothing to prove", f.Name)
	}
	pods := podsOf(f)
	at := map[string]*rail{}
	hosts := map[string]bool{}
	for _, h := range f.Hosts {
		for _, x := range h.NICs {
			e, why := endOf(f, x)
			if e == nil {
				n.left[why] = append(n.left[why], h.Name+"/"+x.Name)
				continue
			}
			name := ""
			if len(h.NICs) > 1 {
				name = x.Name
			}
			r := at[name]
			if r == nil {
				r = &rail{name: name}
				at[name] = r
			}
			r.ends = append(r.ends, e)
			hosts[h.Name] = true
			n.ends++
		}
	}
	for _, name := range natural.Keys(at) {
		r := at[name]
		r.group(pods)
		if len(r.ends) < 2 {
			n.left["no other NIC of the rail"] = append(n.left["no other NIC of the rail"], r.ends[0].String())
			n.ends--
			continue
		}
		n.rails = append(n.rails, r)
	}
	if len(n.rails) == 0 {
		return nil, fmt.Errorf("%s has no two NICs that can send RDMA to each other", f.Name)
	}
	n.hosts = natural.Keys(hosts)
	return n, nil
}

// chooseClasses chooses the classes to load.
func (n *network) chooseClasses() {
	s := n.fabric.Settings
	cnp, _, _ := nic.CNPClass(s)
	for _, k := range s.Classes {
		switch {
		case len(k.DSCP.V) == 0:
		case k.RDMA():
			n.rdma = append(n.rdma, k)
		case k != cnp && !k.Strict.V && (n.background == nil || k.Rest):
			n.background = k
		}
	}
}

// endOf returns the end for a NIC; nil, and why, if it takes no part.
func endOf(f *intent.Fabric, x *intent.NIC) (*End, string) {
	there, linked := x.Peer()
	if !linked {
		return nil, "no link"
	}
	sw := f.Switch(there.Device)
	switch {
	case sw == nil:
		return nil, "not linked to a switch"
	case topology.RDMAOf(x) == topology.NoRDMA:
		return nil, "no RDMA device"
	}
	speed := x.Link.Speed.V
	if p := sw.Port(there.Port); p != nil {
		if p.AdminUp.V != nil && !*p.AdminUp.V {
			return nil, "its switch port is shut down"
		}
		speed = max(speed, p.Speed.V)
	}
	if speed <= 0 {
		return nil, "the speed of its link is not stated"
	}
	return &End{x.Host.Name, x.Name, sw.Name, speed}, ""
}

// group sorts the ends by pod, leaf and host.
func (r *rail) group(pods map[string]int) {
	slices.SortStableFunc(r.ends, func(a, b *End) int {
		if pods[a.Leaf] != pods[b.Leaf] {
			return pods[a.Leaf] - pods[b.Leaf]
		}
		return natural.Compare(a.Leaf, b.Leaf)
	})
	for i, e := range r.ends {
		if i == 0 || e.Leaf != r.ends[i-1].Leaf {
			r.leaves = append(r.leaves, nil)
		}
		if i == 0 || pods[e.Leaf] != pods[r.ends[i-1].Leaf] {
			r.pods = append(r.pods, nil)
		}
		l, p := &r.leaves[len(r.leaves)-1], &r.pods[len(r.pods)-1]
		*l, *p = append(*l, e), append(*p, e)
	}
}

// podsOf numbers the pods of the switches next to hosts: those that are joined without the highest
// tier. In a fabric of two tiers or fewer, all are of one pod.
func podsOf(f *intent.Fabric) map[string]int {
	g := topology.New(f)
	pod := make([]int, len(g.Switches))
	for i := range pod {
		pod[i] = -1
	}
	out := map[string]int{}
	next := 0
	top := g.Tiers - 1
	if g.Tiers <= 2 {
		top = g.Tiers // nothing is above the pods
	}
	for i := range g.Switches {
		if pod[i] >= 0 || g.Switches[i].Tier >= top {
			continue
		}
		pod[i] = next
		for queue := []int32{int32(i)}; len(queue) > 0; queue = queue[1:] {
			for _, a := range g.Out(queue[0]) {
				if pod[a.To] < 0 && g.Switches[a.To].Tier < top {
					pod[a.To] = next
					queue = append(queue, a.To)
				}
			}
		}
		next++
	}
	for i, s := range g.Switches {
		if pod[i] >= 0 {
			out[s.Switch.Name] = pod[i]
		}
	}
	return out
}

// tclass returns the traffic class of packets that a NIC sends in a class: the DSCP with which it marks
// them, and ECN's ECT(0).
func (n *network) tclass(from *End, k *intent.Class) int {
	return nic.DSCPOf(n.fabric, n.fabric.Host(from.Host).NIC(from.NIC), k.Name)<<2 | 2
}
