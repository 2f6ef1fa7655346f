package report

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// hostTier is the tier of hosts; their switches are in tier 0.
const hostTier = -1

// maxPods is the largest number of pods drawn; with more pods, the drawing is not divided.
const maxPods = 64

// maxGroupName is the longest list of names used as a group's name, in characters.
const maxGroupName = 28

// topology adds the switches and then the hosts of an intent, in its order, with their tiers and
// links. f may be nil.
func (b *pageBuilder) topology(f *intent.Fabric) {
	b.label("") // label 0 means unknown
	if f == nil {
		return
	}
	graph := topology.New(f)
	for _, s := range graph.Switches {
		sw := s.Switch
		d := b.draw(sw.Name, SwitchDevice, s.Tier)
		p := &b.out.Devices[d]
		p.Role, p.OS, p.Model = clean(sw.Role), clean(sw.OS), clean(sw.Model.V)
		for _, port := range sw.Ports {
			b.speed(d, port.Name, port.Speed.V, port.Link)
		}
	}
	for _, h := range f.Hosts {
		d := b.draw(h.Name, HostDevice, hostTier)
		for _, nic := range h.NICs {
			b.speed(d, nic.Name, 0, nic.Link)
		}
	}
	for _, l := range f.Links {
		b.link(l)
	}
	b.groups(graph.Tiers - 1)
}

func (b *pageBuilder) draw(name string, kind DeviceKind, tier int) int {
	b.tiers = append(b.tiers, tier)
	return b.device(name, kind)
}

// speed adds a port with its own speed or, if it states none, that of its link.
func (b *pageBuilder) speed(d int, name string, speed units.Rate, l *intent.Link) {
	if l != nil {
		speed = cmp.Or(speed, l.Speed.V)
	}
	at := b.ports[d].indexOf(name)
	if speed > 0 {
		b.ports[d].speeds[at] = b.label(speed.String())
	}
}

// linkLength is the number of values per link; see [page].
const linkLength = 7

func (b *pageBuilder) link(l *intent.Link) {
	var ends []int
	for _, e := range []intent.Endpoint{l.A, l.B} {
		d, known := b.index[e.Device]
		if !known {
			return
		}
		p, known := b.ports[d].index[e.Port]
		if !known {
			return
		}
		ends = append(ends, d, p)
	}
	speed, cable := "", ""
	if l.Speed.V > 0 {
		speed = l.Speed.V.String()
	}
	if l.Cable.V > 0 {
		cable = l.Cable.V.String()
	}
	b.out.Links = append(b.out.Links, append(ends, b.label(speed), b.label(cable), b.label(l.Pos.String()))...)
}

// groups collects the devices that are drawn as one box until it is opened: those with the same
// tier, role and pod. top is the highest tier.
func (b *pageBuilder) groups(top int) {
	type key struct {
		tier, pod int
		role      string
	}
	pods := b.pods(top)
	var byKey ordered.Groups[key, int]
	for i, tier := range b.tiers {
		byKey.Add(key{tier, pods[i], b.out.Devices[i].Role}, i)
	}
	for k, devices := range byKey.All() {
		names := make([]string, len(devices))
		for i, d := range devices {
			names[i] = b.out.Devices[d].Name
		}
		b.out.Groups = append(b.out.Groups, pageGroup{Name: clean(groupName(names)), Tier: k.tier, Pod: k.pod, Devices: devices})
	}
	ordered.Sort(b.out.Groups, func(x, y pageGroup) int {
		return cmp.Or(cmp.Compare(x.Tier, y.Tier), cmp.Compare(x.Devices[0], y.Devices[0]))
	})
}

// groupName names a group after its members, which are in natural order.
func groupName(names []string) string {
	if name := natural.Fold(names); utf8.RuneCountInString(name) <= maxGroupName {
		return name
	}
	return names[0] + " .. " + names[len(names)-1]
}

// pods numbers the connected parts of the fabric without its highest tier; a device outside any
// pod has -1. A part with only one switch is no pod. If there is only one pod, or more than
// maxPods, no device has a pod.
func (b *pageBuilder) pods(top int) []int {
	parent := make([]int, len(b.tiers))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for l := range slices.Chunk(b.out.Links, linkLength) {
		if x, y := l[0], l[2]; b.tiers[x] < top && b.tiers[y] < top {
			parent[root(x)] = root(y)
		}
	}
	switches := map[int]int{}
	for i, tier := range b.tiers {
		if !b.out.Devices[i].Host && tier < top {
			switches[root(i)]++
		}
	}
	number := map[int]int{}
	out := make([]int, len(b.tiers))
	for i := range out {
		out[i] = -1
		r := root(i)
		if switches[r] < 2 {
			continue
		}
		if _, known := number[r]; !known {
			number[r] = len(number)
		}
		out[i] = number[r]
	}
	if len(number) < 2 || len(number) > maxPods {
		for i := range out {
			out[i] = -1
		}
	}
	return out
}

// PortCounters holds the counters of one port by name, such as "pfc rx 3". A counter that the
// device does not provide is missing, not zero.
type PortCounters struct {
	Device, Port string
	Values       map[string]uint64
}
