package headroom

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Case describes a traffic pattern through a switch: Feeders ingress groups fill the congested
// queue, each of them feeds FanOut congested queues, and Active groups share the pool. In a
// symmetric case, a group holds FanOut/Feeders of the queue.
type Case struct {
	Name    string `json:"name"`
	Feeders int    `json:"feeders"` // m
	FanOut  int    `json:"fan_out"` // k
	Active  int    `json:"active"`  // A
}

// String prints the case with its numbers.
func (c Case) String() string {
	return fmt.Sprintf("%s, m=%d, k=%d, A=%d", c.Name, c.Feeders, c.FanOut, c.Active)
}

// Names of the cases.
const (
	CaseIncast    = "incast"
	CaseOneToMany = "one to many"
	CaseWorst     = "DCQCN worst case"
)

// Incast returns the case in which fanIn ingress groups fill one queue.
func Incast(fanIn int) Case {
	n := clampCount(fanIn, 1)
	return Case{CaseIncast, n, 1, n}
}

// OneToMany returns the case in which the contents of fanOut congested queues came through one
// ingress group, while as many groups are active, or at least the lossless groups of one port. It
// is the binding case.
func OneToMany(fanOut, lossless int) Case {
	n := clampCount(fanOut, 1)
	return Case{CaseOneToMany, 1, n, max(n, clampCount(lossless, 1))}
}

// WorstCase returns the case of the DCQCN paper (SIGCOMM 2015): the contents of the queues of n
// ports came through one port, and only the lossless groups of that port are active.
func WorstCase(ports, lossless int) Case {
	return Case{CaseWorst, 1, clampCount(ports, 1), clampCount(lossless, 1)}
}

// Limit is the longest queue that a case allows, in bytes.
type Limit struct {
	Case
	// Threshold is the level at which a group pauses in that case, if all active groups are in one
	// slice of the memory.
	Threshold int64 `json:"threshold"`
	// Queue is the longest queue for which certainly no group has paused yet: all active groups are
	// in one slice. Up to this length, marking precedes the pause. What a group holds in reserve
	// (Pool.Min) is not counted, as other packets of the class may hold it.
	Queue int64 `json:"queue"`
	// Upper is the length at which some group certainly has paused: the feeding groups are spread
	// evenly over the slices, and all others are elsewhere. With one slice, it exceeds Queue only by
	// what groups hold in reserve.
	Upper   int64  `json:"queue_upper"`
	Formula string `json:"formula"`
}

// Limit computes the limit of a case: K*k/m <= T(A), rounded down. Counts below 1 count as 1.
func (p Pool) Limit(c Case) Limit {
	m, k, active := int64(clampCount(c.Feeders, 1)), int64(clampCount(c.FanOut, 1)), int64(clampCount(c.Active, 1))
	if p.Fixed > 0 {
		queue := quotient(p.Fixed, m, k)
		return Limit{Case: c, Threshold: p.Fixed, Queue: queue, Upper: queue, Formula: fmt.Sprintf("%d/%d * T, T %d for any A", m, k, p.Fixed)}
	}
	s := int64(max(p.Slices, 1))
	least := active // groups in the slice of a feeding group, if the placement is best
	if s > 1 {
		least = max(1, m/s)
	}
	queue := p.share(m, k, active)
	if p.Bits > 0 {
		queue = min(queue, quotient(p.Threshold(int(active)), m, k))
	}
	return Limit{
		Case: c, Threshold: p.Threshold(int(active)), Queue: queue,
		Upper:   p.share(m, k, least) + quotient(p.Min, m, k),
		Formula: fmt.Sprintf("%d/%d * %s, B %d, A %d", m, k, p.formula(), p.Bytes, active),
	}
}

// Order says what happens first when a queue grows.
type Order string

// The orders, from good to bad.
const (
	MarksFirst  Order = "full marking precedes the first pause"
	MarksPartly Order = "the first mark precedes the first pause, full marking does not"
	PausesFirst Order = "the first pause precedes the first mark"
)

// Judge returns the order that thresholds of min and max bytes certainly keep to in the case,
// whichever slices the groups are in.
func (l Limit) Judge(min, max int64) Order {
	switch {
	case min > l.Queue:
		return PausesFirst
	case max > l.Queue:
		return MarksPartly
	}
	return MarksFirst
}

// Alpha is the factor of a dynamic threshold as an exact fraction. The zero value gives groups
// nothing of the shared pool. A smaller alpha pauses earlier.
type Alpha struct{ Num, Den int64 }

// alphaOf converts SONiC's dynamic_th, an exponent n of -8..7 (YANG sonic-buffer-profile), to the
// alpha 2^n. On NVIDIA chips -8 means an alpha of zero (sonic-swss pull request 485). a may be nil.
func alphaOf(exponent int64, a *catalog.ASIC) (Alpha, error) {
	switch {
	case exponent < -8 || exponent > 7:
		return Alpha{}, fmt.Errorf("dynamic_th %d: %w", exponent, errInput)
	case exponent == -8 && a != nil && a.Vendor == catalog.NVIDIA:
		return Alpha{0, 1}, nil
	case exponent < 0:
		return Alpha{1, 1 << -exponent}, nil
	}
	return Alpha{1 << exponent, 1}, nil
}

// String returns "1/16" or "8".
func (a Alpha) String() string {
	if a.Den == 1 || a.Num == 0 {
		return strconv.FormatInt(a.Num, 10)
	}
	return fmt.Sprintf("%d/%d", a.Num, a.Den)
}

// MarshalText returns the same text as String.
func (a Alpha) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Levels are the fill levels at which a group pauses and resumes, in bytes of the shared pool.
type Levels struct {
	Pause  int64 `json:"pause"`
	Resume int64 `json:"resume"`
}

// Hysteresis returns both levels of a group with the given pause threshold. It resumes below the
// larger of xon and pause-xonOffset; if xonOffset is nil, below xon. Resume never exceeds pause.
// Source: sonic-buffer-profile.yang, xon and xon_offset.
func Hysteresis(pause, xon int64, xonOffset *int64) Levels {
	resume := xon
	if xonOffset != nil {
		resume = max(xon, pause-*xonOffset)
	}
	return Levels{Pause: pause, Resume: max(0, min(resume, pause))}
}

// maxCount limits groups and ports in a formula; no chip has so many.
const maxCount = 1 << 20

func clampCount(n, least int) int { return min(max(n, least), maxCount) }

// quotient returns a*b/c rounded down. It is exact even if a*b overflows, and returns the largest
// int64 if the result overflows. a and b must be >= 0, c > 0.
func quotient(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	switch {
	case hi == 0 && c&(c-1) == 0: // most factors are powers of two, and a shift is faster
		return int64(min(lo>>bits.TrailingZeros64(uint64(c)), math.MaxInt64))
	case hi >= uint64(c):
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}
