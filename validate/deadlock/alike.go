package deadlock

import (
	"encoding/binary"
	"slices"
)

// orbit is a failure and all others that are the same but for names.
type orbit struct {
	f       failure
	bundles []int32 // of one link each
	sws     []int32
}

// orbits gathers the failures. Two switches with the same neighbours, over
// links that pause the same, and with the same part in routing can change
// places without anything else changing, and so can their links.
//
// A link with a parallel one takes no route away and is in none.
func (n *network) orbits(all bool) []orbit {
	kind := n.kinds()
	if all {
		for i := range kind {
			kind[i] = int32(i)
		}
	}
	type pair struct {
		a, b int32
		at   [2]uint8
	}
	var out []orbit
	at := map[pair]int{}
	for i := range n.g.Bundles {
		b := &n.g.Bundles[i]
		if len(b.Links) > 1 {
			continue
		}
		k := pair{kind[b.A], kind[b.B], [2]uint8{uint8(b.At[0]), uint8(b.At[1])}}
		if k.a > k.b {
			k = pair{k.b, k.a, [2]uint8{k.at[1], k.at[0]}}
		}
		j, ok := at[k]
		if !ok {
			j = len(out)
			at[k] = j
			out = append(out, orbit{f: failure{int32(i), -1}})
		}
		out[j].bundles = append(out[j].bundles, int32(i))
	}
	sw := map[int32]int{}
	for i := range n.g.Switches {
		j, ok := sw[kind[i]]
		if !ok {
			j = len(out)
			sw[kind[i]] = j
			out = append(out, orbit{f: failure{-1, int32(i)}})
		}
		out[j].sws = append(out[j].sws, int32(i))
	}
	return out
}

// kinds numbers the switches so that those that can change places have the
// same number.
func (n *network) kinds() []int32 {
	kind := make([]int32, len(n.g.Switches))
	byKey := map[string]int32{}
	special := map[int32]bool{}
	for i := range n.tunnels {
		special[n.tunnels[i].from], special[n.tunnels[i].to] = true, true
	}
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
		arcs, _ := n.g.Out(int32(i))
		links = links[:0]
		for j := range arcs {
			b := &n.g.Bundles[arcs[j].Bundle]
			own, theirs := b.At[0], b.At[1]
			if b.B == int32(i) {
				own, theirs = theirs, own
			}
			l := uint64(arcs[j].To)<<20 | uint64(own)<<12 | uint64(theirs)<<4
			if len(b.Links) > 1 {
				l |= 1
			}
			if n.level[arcs[j].Bundle] {
				l |= 2
			}
			links = append(links, l)
		}
		slices.Sort(links)
		key = binary.AppendUvarint(key[:0], uint64(s.Tier))
		key = append(key, n.seeds[i], bit(n.destOf[i] >= 0), bit(n.upAgain[i]), bit(n.defaultUp[i]))
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
