package deadlock

import (
	"math/bits"
	"slices"

	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// shape says where the rows of each switch are in a matrix. A switch with k arcs has k+1 rows,
// where packets come from, and k+1 columns, where they go; the last row and column stand for
// its hosts.
type shape struct {
	row       []int32 // by switch: first word
	width     []int32 // by switch: words per row
	words     int32   // words per plane
	maskRow   []int32 // by switch: first word in a matrix with one row per switch
	maskWords int32
}

func shapeOf(g *topology.Graph) shape {
	s := shape{row: make([]int32, len(g.Switches)), width: make([]int32, len(g.Switches)), maskRow: make([]int32, len(g.Switches))}
	for i := range g.Switches {
		k := int32(len(g.Out(int32(i)))) + 1
		s.row[i], s.maskRow[i] = s.words, s.maskWords
		s.width[i] = (k + 63) / 64
		s.words += k * s.width[i]
		s.maskWords += s.width[i]
	}
	return s
}

// widest returns the number of words in the longest row, at least 1.
func (s *shape) widest() int32 { return slices.Max(append([]int32{1}, s.width...)) }

func (s *shape) mask(words []uint64, sw int32) []uint64 {
	return words[s.maskRow[sw] : s.maskRow[sw]+s.width[sw]]
}

// matrix holds, for each switch and each change of tag, the turns that packets take: from which
// arc or host to which.
type matrix struct {
	shape *shape
	bits  []uint64
}

func newMatrix(n *network) *matrix {
	return &matrix{&n.shape, make([]uint64, int(n.shape.words)*n.numPlanes)}
}

// at returns the row of packets that come in through place in of switch s.
func (m *matrix) at(plane int8, s, in int32) []uint64 {
	w := m.shape.width[s]
	i := int(plane)*int(m.shape.words) + int(m.shape.row[s]+in*w)
	return m.bits[i : i+int(w)]
}

// clear empties the rows of a switch in every plane.
func (m *matrix) clear(n *network, s int32) {
	k := int(m.shape.width[s]) * (len(n.g.Out(s)) + 1)
	for p := range n.numPlanes {
		i := p*int(m.shape.words) + int(m.shape.row[s])
		clear(m.bits[i : i+k])
	}
}

func or(row, more []uint64) {
	for i, w := range more {
		row[i] |= w
	}
}

func has(row []uint64, i int32) bool { return row[i/64]&(1<<(i%64)) != 0 }
func set(row []uint64, i int32)      { row[i/64] |= 1 << (i % 64) }

// each calls do with the position of every set bit of a word, plus offset.
func each(w uint64, offset int32, do func(int32)) {
	for ; w != 0; w &= w - 1 {
		do(offset + int32(bits.TrailingZeros64(w)))
	}
}
