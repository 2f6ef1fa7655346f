package lines

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// maxVLAN is the highest VLAN ID.
const maxVLAN = 4094

// VLANs is a set of VLAN IDs.
type VLANs [(maxVLAN + 1 + 63) / 64]uint64

// Add adds a VLAN; it ignores IDs out of range.
func (s *VLANs) Add(n int) {
	if n > 0 && n <= maxVLAN {
		s[n/64] |= 1 << (n % 64)
	}
}

// Remove removes a VLAN.
func (s *VLANs) Remove(n int) {
	if s.Has(n) {
		s[n/64] &^= 1 << (n % 64)
	}
}

// Has reports whether a VLAN is in the set.
func (s *VLANs) Has(n int) bool { return n > 0 && n <= maxVLAN && s[n/64]>>(n%64)&1 == 1 }

// Meets reports whether two sets have a VLAN in common.
func (s *VLANs) Meets(other *VLANs) bool {
	for i := range s {
		if s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// All yields the VLANs in ascending order, until do returns false.
func (s *VLANs) All(do func(int) bool) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			if !do(i*64 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// ReadVLANs reads a list such as "10,20-22", "all" or "none".
func ReadVLANs(text string) (s VLANs, ok bool) {
	switch text {
	case "all":
		return allVLANs(), true
	case "none":
		return s, true
	}
	for part := range strings.SplitSeq(text, ",") {
		first, end, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, ok := Number(first, maxVLAN)
		to := from
		if isRange && ok {
			to, ok = Number(end, maxVLAN)
		}
		if !ok {
			return VLANs{}, false
		}
		for n := from; n <= to; n++ {
			s.Add(n)
		}
	}
	return s, true
}

func allVLANs() (s VLANs) {
	for n := 1; n <= maxVLAN; n++ {
		s.Add(n)
	}
	return s
}

// Switchport holds the VLAN settings of an interface.
type Switchport struct {
	// Routed is set if the interface is a routed port, which is in no VLAN.
	Routed bool
	// Groups holds the EOS trunk groups of the interface.
	Groups map[string]bool
	trunk  bool
	access int
	pruned *VLANs // allowed VLANs; nil for all
}

// Read applies a configuration line, with single spaces between words.
func (p *Switchport) Read(text string) {
	rest, ok := strings.CutPrefix(text, "switchport")
	switch {
	case text == "no switchport":
		p.Routed = true
	case text == "switchport":
		p.Routed = false
	case ok && strings.HasPrefix(rest, " mode "):
		p.trunk = strings.HasPrefix(rest, " mode trunk")
	case ok && strings.HasPrefix(rest, " access vlan "):
		p.access, _ = Number(strings.TrimPrefix(rest, " access vlan "), maxVLAN)
	case ok && strings.HasPrefix(rest, " trunk group "):
		if p.Groups == nil {
			p.Groups = map[string]bool{}
		}
		p.Groups[strings.TrimPrefix(rest, " trunk group ")] = true
	case ok && strings.HasPrefix(rest, " trunk allowed vlan "):
		p.allow(strings.TrimPrefix(rest, " trunk allowed vlan "))
	}
}

// allow applies a list of allowed VLANs, which replaces the present list, is added to it or
// removed from it, or excludes VLANs from all.
func (p *Switchport) allow(list string) {
	how, rest, _ := strings.Cut(list, " ")
	if how != "add" && how != "remove" && how != "except" {
		how, rest = "", list
	}
	named, ok := ReadVLANs(rest)
	if !ok {
		return
	}
	have := allVLANs()
	if p.pruned != nil && how != "except" {
		have = *p.pruned
	}
	for i := range have {
		switch how {
		case "":
			have[i] = named[i]
		case "add":
			have[i] |= named[i]
		default:
			have[i] &^= named[i]
		}
	}
	p.pruned = &have
}

// Trunk reports whether the interface is a trunk, which carries several tagged VLANs.
func (p *Switchport) Trunk() bool { return !p.Routed && p.trunk }

// VLANs returns the VLANs of the interface.
func (p *Switchport) VLANs() (s VLANs) {
	switch {
	case p.Routed:
	case !p.trunk:
		s.Add(cmp.Or(p.access, 1))
	case p.pruned != nil:
		s = *p.pruned
	default:
		s = allVLANs()
	}
	return s
}

// Member is a port with its VLANs and its LAG; LAG is "" if it belongs to none.
type Member struct {
	Port, LAG string
	VLANs     VLANs
}

// Timers holds the times after which a switch forgets the MAC address and the ARP entry of a
// silent host; 0 means never, unset means unknown.
type Timers struct {
	MAC, ARP qos.Opt[time.Duration]
}

// Bridges groups the routed VLANs by their timers, with the member ports of each group. A VLAN
// with a single port or a single LAG cannot flood to another, and is left out.
func Bridges(routed map[int]Timers, members []Member) []qos.Bridge {
	if len(routed) == 0 {
		return nil
	}
	ordered.Sort(members, func(a, b Member) int { return natural.Compare(a.Port, b.Port) })
	ways := map[int]map[string]bool{}
	for _, m := range members {
		m.VLANs.All(func(n int) bool {
			if _, ok := routed[n]; ok && len(ways[n]) < 2 {
				if ways[n] == nil {
					ways[n] = map[string]bool{}
				}
				ways[n][cmp.Or(m.LAG, m.Port)] = true
			}
			return true
		})
	}
	sets := map[Timers]*VLANs{}
	var order []Timers
	for _, n := range slices.Sorted(maps.Keys(routed)) {
		t := routed[n]
		if len(ways[n]) < 2 {
			continue
		}
		if sets[t] == nil {
			sets[t] = &VLANs{}
			order = append(order, t)
		}
		sets[t].Add(n)
	}
	var out []qos.Bridge
	for _, t := range order {
		b := qos.Bridge{MACAge: t.MAC, ARPAge: t.ARP}
		var names []string
		sets[t].All(func(n int) bool {
			names = append(names, "Vlan"+strconv.Itoa(n))
			return true
		})
		b.VLANs = natural.Fold(names)
		for _, m := range members {
			if m.VLANs.Meets(sets[t]) {
				b.Ports = append(b.Ports, m.Port)
			}
		}
		out = append(out, b)
	}
	return out
}

// MACAge begins the line that sets how long a switch keeps the MAC address of a silent host.
const MACAge = "mac address-table aging-time "

// Seconds reads the number of seconds that follows key in a line; false if the line does not
// begin with key.
func Seconds(text, key string) (time.Duration, bool) {
	rest, ok := strings.CutPrefix(text, key)
	n, isNumber := Number(rest, math.MaxInt32)
	return time.Duration(n) * time.Second, ok && isNumber
}
