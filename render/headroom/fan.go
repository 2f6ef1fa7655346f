package headroom

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// errNoPool is wrapped if the shared pool of a switch, or the alpha of its lossless groups, is not
// known.
var errNoPool = errors.New("the shared pool is not known")

// Pool is the memory that lossless groups share, and the share of the free part that one group may
// take.
type Pool struct {
	// Bytes is the size of the pool without headroom and guaranteed minimums.
	Bytes    int64  `json:"bytes"`
	How      string `json:"how"`
	Alpha    Alpha  `json:"alpha"`
	AlphaHow string `json:"alpha_how"`
	// Fixed is a threshold in bytes that replaces Alpha; 0 if there is none.
	Fixed int64 `json:"fixed,omitempty"`
}

// Facts holds what a switch or an intent states about a pool and its groups. It overrides the
// published values of the model.
type Facts struct {
	// Bytes is the memory that groups share; nil if it is not stated.
	Bytes    *int64
	BytesHow string
	// Exponent is the dynamic_th of lossless groups; nil if it is not stated.
	Exponent    *int64
	ExponentHow string
	// Fixed is a threshold in bytes that does not depend on the pool; 0 if there is none.
	Fixed int64
}

// PoolOf returns the pool of a model for ports of that speed. If no exponent is stated, it uses the
// smallest that the model publishes at the speed, or SONiC's default under its dynamic buffer
// model. It fails with errNoPool if neither facts nor catalogue have the values.
func PoolOf(m *catalog.Model, speed units.Rate, f Facts) (Pool, error) {
	if f.Fixed > 0 {
		return Pool{Fixed: f.Fixed, AlphaHow: fmt.Sprintf("static_th %d", f.Fixed)}, nil
	}
	if m == nil && (f.Bytes == nil || f.Exponent == nil) {
		return Pool{}, fmt.Errorf("%w: the model is not in the catalogue", errNoPool)
	}
	var p Pool
	if f.Bytes != nil {
		p.Bytes, p.How = *f.Bytes, f.BytesHow
	} else if p.Bytes, p.How = m.SharedBytes(); p.Bytes == 0 {
		return Pool{}, fmt.Errorf("%w: %s", errNoPool, p.How)
	}
	var n int64
	var how string
	var asic *catalog.ASIC
	ok := true
	if m != nil {
		asic = m.ASIC()
	}
	if f.Exponent != nil {
		n, how = *f.Exponent, f.ExponentHow
	} else if n, how, ok = PublishedAlpha(m, speed); !ok {
		return Pool{}, fmt.Errorf("%w: %s", errNoPool, how)
	}
	var err error
	p.Alpha, err = alphaOf(n, asic)
	p.AlphaHow = fmt.Sprintf("dynamic_th %d, %s", n, how)
	return p, err
}

// PublishedAlpha returns the dynamic_th of the lossless groups of a model at a speed, for use if
// the operator states none. If ok is false, how says what is missing.
func PublishedAlpha(m *catalog.Model, speed units.Rate) (n int64, how string, ok bool) {
	if m.ASIC().DynamicBuffers {
		return 0, "SONiC's default_dynamic_th (sonic-buildimage files/build_templates/buffers_config.j2)", true
	}
	if p, ok := m.Pool(catalog.IngressPool); !ok || p.Mode != "dynamic" {
		return 0, "the ingress pool has no dynamic threshold", false
	}
	var l []int64
	for _, r := range m.Headroom {
		if r.Speed == speed {
			l = append(l, r.Threshold)
		}
	}
	if len(l) == 0 {
		return 0, fmt.Sprintf("no threshold is published at %s", speed), false
	}
	return slices.Min(l), fmt.Sprintf("the smallest of the rows at %s", speed), true
}

// Threshold returns the level at which a priority group pauses when active groups fill the pool
// equally: alpha*B / (1 + alpha*A), in bytes, rounded down. A negative active counts as 0. Source:
// Choudhury and Hahne, dynamic queue length thresholds, as in SONiC's dynamic_th.
func (p Pool) Threshold(active int) int64 {
	if p.Fixed > 0 {
		return p.Fixed
	}
	a := p.Alpha
	return quotient(max(p.Bytes, 0), a.Num, max(a.Den, 1)+a.Num*int64(clampCount(active, 0)))
}

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
	// Threshold is the level at which a group pauses in that case.
	Threshold int64 `json:"threshold"`
	// Queue is the longest queue for which no group has paused yet. Up to this length, marking
	// precedes the pause.
	Queue   int64  `json:"queue"`
	Formula string `json:"formula"`
}

// Limit computes the limit of a case: K*k/m <= T(A), rounded down. Counts below 1 count as 1.
func (p Pool) Limit(c Case) Limit {
	m, k, active := int64(clampCount(c.Feeders, 1)), int64(clampCount(c.FanOut, 1)), int64(clampCount(c.Active, 1))
	if p.Fixed > 0 {
		return Limit{Case: c, Threshold: p.Fixed, Queue: quotient(p.Fixed, m, k), Formula: fmt.Sprintf("%d/%d * static_th %d", m, k, p.Fixed)}
	}
	// A single integer division, so that nothing is rounded twice.
	queue := quotient(max(p.Bytes, 0), p.Alpha.Num*m, k*(max(p.Alpha.Den, 1)+p.Alpha.Num*active))
	return Limit{
		Case: c, Threshold: p.Threshold(int(active)), Queue: queue,
		Formula: fmt.Sprintf("%d/%d * alpha*B/(1 + alpha*A) with alpha %s, B %d, A %d", m, k, p.Alpha, p.Bytes, active),
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

// Judge returns the order that thresholds of min and max bytes lead to in the case.
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
	case exponent == -8 && a != nil && a.Vendor == "nvidia":
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
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}
