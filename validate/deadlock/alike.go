package deadlock

import (
	"encoding/binary"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// orbit is a set of failures that are the same except for names; f is one of them.
type orbit struct {
	f       failure
	bundles []int32 // lost bundles, of one link each
	sws     []int32
	leaves  []int32 // switches that lose a host
}

// orbits groups the failures into orbits; with all, each failure is an orbit of its own. Two
// switches can change places without changing anything else, and so can their links, if they
// have the same neighbours, over links that pause the same priorities, and the same role in
// routing.
//
// A link with a parallel link takes no route away, so no orbit has it.
func (n *network) orbits(all bool) []orbit {
	kind := n.kinds()
	if all {
		for i := range kind {
			kind[i] = int32(i)
		}
	}
	type key struct {
		a, b int32 // kinds of switches; b is -1 for a switch alone, -2 for a host of a switch
		at   [2]uint8
	}
	var alike ordered.Map[key, orbit]
	for i := range n.g.Bundles {
		b := &n.g.Bundles[i]
		if len(b.Links) > 1 {
			continue
		}
		k := key{kind[b.A], kind[b.B], [2]uint8{uint8(b.At[0]), uint8(b.At[1])}}
		if k.a > k.b {
			k = key{k.b, k.a, [2]uint8{k.at[1], k.at[0]}}
		}
		o := alike.At(k)
		o.bundles = append(o.bundles, int32(i))
		o.f = lostLink(o.bundles[0])
	}
	for i := range n.g.Switches {
		o := alike.At(key{a: kind[i], b: -1})
		o.sws = append(o.sws, int32(i))
		o.f = lostSwitch(o.sws[0])
	}
	for _, i := range n.defaulters {
		if n.sends(i, i) != 0 {
			o := alike.At(key{a: kind[i], b: -2})
			o.leaves = append(o.leaves, i)
			o.f = lostHost(o.leaves[0])
		}
	}
	var out []orbit
	for _, o := range alike.All() {
		out = append(out, o)
	}
	return out
}

// tunnelEnds returns the switches at which tunnels begin or end.
func (n *network) tunnelEnds() map[int32]bool {
	out := map[int32]bool{}
	for i := range n.tunnels {
		out[n.tunnels[i].from], out[n.tunnels[i].to] = true, true
	}
	return out
}

// kinds numbers the switches so that switches that can change places have the same number.
func (n *network) kinds() []int32 {
	kind := make([]int32, len(n.g.Switches))
	byKey := map[string]int32{}
	special := n.tunnelEnds()
	remaps := map[*[8]uint8]int{nil: 0}
	for _, m := range n.remap {
		if _, ok := remaps[m]; !ok {
			remaps[m] = len(remaps)
		}
	}
	var key []byte
	var links []uint64
	for i := range n.g.Switches {
		s := &n.g.Switches[i]
		links = links[:0]
		for _, a := range n.g.Out(int32(i)) {
			b := &n.g.Bundles[a.Bundle]
			own, theirs := b.At[0], b.At[1]
			if b.B == int32(i) {
				own, theirs = theirs, own
			}
			l := uint64(a.To)<<20 | uint64(own)<<12 | uint64(theirs)<<4
			if len(b.Links) > 1 {
				l |= 1
			}
			if n.level[a.Bundle] {
				l |= 2
			}
			links = append(links, l)
		}
		slices.Sort(links)
		key = binary.AppendUvarint(key[:0], uint64(s.Tier))
		key = binary.AppendUvarint(key, uint64(n.sender[i]))
		key = append(key, bit(n.destOf[i] >= 0), bit(n.upAgain[i]), bit(n.defaultUp[i]))
		key = binary.AppendUvarint(key, uint64(remaps[n.remap[i]]))
		for _, l := range links {
			key = binary.LittleEndian.AppendUint64(key, l)
		}
		if special[int32(i)] {
			key = append(key, 0xff)
			key = binary.AppendUvarint(key, uint64(i))
		}
		k, ok := byKey[string(key)]
		if !ok {
			k = int32(i)
			byKey[string(key)] = k
		}
		kind[i] = k
	}
	return kind
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
