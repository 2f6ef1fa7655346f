package headroom

import "slices"

// Slice is one memory of a chip while packets are in it: it says for each arriving packet whether a
// group stores, pauses or drops. All sizes are in cells. A simulation asks it twice a packet and hop,
// so that nothing in it allocates. It repeats what the chips do whose
// thresholds SONiC's QoS tests state (sonic-mgmt tests/qos/files): a group fills its own reserve,
// then takes from the shared part up to its dynamic threshold, pauses, and fills its headroom until
// that or the headroom pool is full. A Slice is for one goroutine.
type Slice struct {
	shared, sharedUsed     int64
	headroom, headroomUsed int64
	groups                 []occupied
	portUsed               map[int]int64 // of the shared part, by groups of ports with a PortAlpha
}

// GroupSize is what one priority group, or one lossy queue, may hold in a slice, in cells.
type GroupSize struct {
	Min   int64
	Alpha Alpha
	// Fixed is a threshold that replaces Alpha; 0 if there is none.
	Fixed int64
	// Headroom is what the group may take from the headroom pool after it has paused; 0 if it does
	// not pause and drops instead.
	Headroom int64
	// Resume is how far below its threshold the shared part must fall before the pause ends.
	Resume int64
	// PortAlpha limits what all groups of Port take from the shared part together; nil if the chip
	// has no such limit.
	Port      int
	PortAlpha *Alpha
}

// occupied is a group and what it holds.
type occupied struct {
	GroupSize
	min, shared, headroom int64
	most, mostHeadroom    int64
	paused                bool
}

// Outcome is what happens to a packet that arrives at a group.
type Outcome int

// The outcomes. A packet that makes its group pause is stored.
const (
	Stored Outcome = iota
	Paused
	Dropped
)

// NewSlice returns an empty memory. headroom is its part of the shared headroom pool; 0 if each
// group has its headroom for itself.
func NewSlice(shared, headroom int64) *Slice {
	return &Slice{shared: max(shared, 0), headroom: max(headroom, 0)}
}

// Add adds an empty group and returns its number.
func (s *Slice) Add(g GroupSize) int {
	s.groups = append(s.groups, occupied{GroupSize: g})
	if g.PortAlpha != nil && s.portUsed == nil {
		s.portUsed = map[int]int64{}
	}
	return len(s.groups) - 1
}

// hold adds n cells to what a group holds in the shared part.
func (s *Slice) hold(g *occupied, n int64) {
	g.shared += n
	s.sharedUsed += n
	if g.PortAlpha != nil {
		s.portUsed[g.Port] += n
	}
}

// Threshold returns how much of the shared part group i may hold now. It falls while others fill
// the memory.
func (s *Slice) Threshold(i int) int64 {
	g := &s.groups[i]
	if g.Fixed > 0 {
		return g.Fixed
	}
	free := max(s.shared-s.sharedUsed, 0)
	if b := g.PortAlpha; b != nil {
		free = max(quotient(free, b.Num, max(b.Den, 1))-s.portUsed[g.Port], 0)
	}
	return quotient(free, g.Alpha.Num, max(g.Alpha.Den, 1))
}

// full reports whether group i holds its reserve and all that it may take from the shared part now.
func (s *Slice) full(i int) bool {
	g := &s.groups[i]
	return g.min >= g.Min && g.shared >= s.Threshold(i)
}

// Receive stores a packet of n cells in group i, or drops it. Paused says that the group has begun
// to pause with this packet. A packet fills what is left of the reserve. The rest of it is stored in
// the shared part if the group was below its threshold as the packet came, even if it is above it
// then, but never beyond the end of the memory; what is left after that takes headroom.
func (s *Slice) Receive(i int, n int64) Outcome {
	g := &s.groups[i]
	reserve := min(n, g.Min-g.min)
	var shared int64
	if reserve < n && !g.paused && g.shared < s.Threshold(i) {
		shared = min(n-reserve, s.shared-s.sharedUsed)
	}
	above := n - reserve - shared
	if above > 0 && (above > g.Headroom-g.headroom || s.headroom > 0 && above > s.headroom-s.headroomUsed) {
		g.paused = g.Headroom > 0
		return Dropped
	}
	g.min += reserve
	s.hold(g, shared)
	g.headroom += above
	if s.headroom > 0 {
		s.headroomUsed += above
	}
	g.most, g.mostHeadroom = max(g.most, g.min+g.shared+g.headroom), max(g.mostHeadroom, g.headroom)
	if g.Headroom > 0 && !g.paused && (g.headroom > 0 || s.full(i)) {
		g.paused = true
		return Paused
	}
	return Stored
}

// Send releases n cells of group i: headroom first, then the shared part, then the reserve. It
// reports whether a pause has ended.
func (s *Slice) Send(i int, n int64) (resumed bool) {
	g := &s.groups[i]
	take := func(from *int64) (part int64) {
		part = min(n, *from)
		*from -= part
		n -= part
		return part
	}
	if part := take(&g.headroom); s.headroom > 0 {
		s.headroomUsed -= part
	}
	fromShared := min(n, g.shared)
	s.hold(g, -fromShared)
	n -= fromShared
	take(&g.min)
	if !g.paused || g.headroom > 0 || g.shared > max(0, s.Threshold(i)-g.Resume) {
		return false
	}
	g.paused = false
	return true
}

// Held returns what group i holds in all, and how much of it in headroom.
func (s *Slice) Held(i int) (all, headroom int64) {
	g := s.groups[i]
	return g.min + g.shared + g.headroom, g.headroom
}

// Most returns the largest values that Held has returned for group i since the group was added.
func (s *Slice) Most(i int) (all, headroom int64) {
	return s.groups[i].most, s.groups[i].mostHeadroom
}

// Paused reports whether group i pauses.
func (s *Slice) Paused(i int) bool { return s.groups[i].paused }

// Used returns what all groups hold in the shared part and in the headroom pool.
func (s *Slice) Used() (shared, headroom int64) { return s.sharedUsed, s.headroomUsed }

// Fullest returns the smallest size that the fullest of so many slices must hold if each of these
// loads is in one slice as a whole, and nobody knows in which: some slice holds at least
// ceil(j/slices) of the j largest loads, and at least the average.
func Fullest(loads []int64, slicesOfChip int) int64 {
	const largest = 1 << 50 // no memory has so much; a device may state any number
	n := int64(max(slicesOfChip, 1))
	sorted := slices.Clone(loads)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	var sum, most int64
	for j, load := range sorted {
		load = min(load, largest)
		sum = min(sum+load, largest)
		most = max(most, (int64(j)+n)/n*load)
	}
	return max(most, (sum+n-1)/n)
}
