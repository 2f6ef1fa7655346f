package headroom

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// ECNInput holds the inputs for a proposal of ECN thresholds.
type ECNInput struct {
	Speed units.Rate
	// Pool is the shared pool; nil if it is not known, for the reason in Missing. The thresholds
	// then depend only on the speed.
	Pool    *Pool
	Missing string
	// Case is the traffic case in which marking should precede a pause.
	Case Case
	// LosslessMTU is the largest lossless frame, in bytes; 0 means 4200.
	LosslessMTU int
}

// ECN is a proposal for ECN thresholds, in bytes and whole KiB.
type ECN struct {
	Min    int64      `json:"min"`
	Max    int64      `json:"max"`
	Drains DrainTimes `json:"drain_times"`
	// The thresholds were compared with Pool and Limit; nil without a known pool.
	Pool  *Pool  `json:"pool,omitempty"`
	Limit *Limit `json:"limit,omitempty"`
	// Order says whether marking precedes a pause in the case; "" without a pool.
	Order Order `json:"order,omitempty"`
	// Steps explains the calculation, with the thresholds after each step.
	Steps   []ECNStep `json:"steps"`
	Sources []string  `json:"sources"`
}

// ECNStep is one step of ECNAuto, with the thresholds after it.
type ECNStep struct {
	Min int64  `json:"min"`
	Max int64  `json:"max"`
	Why string `json:"why"`
}

// String returns the reasons of all steps in one line.
func (e ECN) String() string {
	l := make([]string, len(e.Steps))
	for i, s := range e.Steps {
		l[i] = s.Why
	}
	return strings.Join(l, "; ")
}

// The rule of ECNAuto, as queue lengths at a speed.
const (
	ruleMin, ruleMax   = 150_000, 1_500_000 // bytes at 200G: 6 us and 60 us
	ruleSpeed          = units.Rate(200e9)
	floorMin, floorMax = 131_072, 262_144 // bytes at 400G: 2.6 us and 5.2 us
	floorSpeed         = units.Rate(400e9)
	minFrames          = 4
)

const (
	srcRule  = "NVIDIA Cumulus Linux and Onyx RoCE defaults: 150 KB and 1500 KB"
	srcDCQCN = "DCQCN, SIGCOMM 2015 (marking before a pause)"
	srcFloor = "sonic-buildimage device/arista/x86_64-arista_7060x6_64pe/Arista-7060X6-64PE-O128S2/qos.json.j2: 131072 and 262144 at 400G"
)

// ECNAuto proposes thresholds for a port. The proposal follows no standard: the drain times of
// published settings differ by a factor of thirty.
//
// By default, marking starts at a queue of 6 us and is certain at 60 us. At 200G that is 150 KB and
// 1500 KB, which NVIDIA Cumulus Linux and Onyx set at every speed; ECNAuto scales the values with
// the speed, so that the delay stays the same. Max is then lowered to the longest queue for which
// marking still precedes a pause in the given case, and Min to half of Max. Neither goes below 2.6
// us and 5.2 us, the shortest times published for a switch (SONiC, Arista 7060X6 at 400G), and Min
// not below four lossless frames. If these bounds would raise Min above the limit of the case, Min
// may go down to 2 us or four frames; if even that is above the limit, Order says so.
func ECNAuto(in ECNInput) (ECN, error) {
	if in.Speed <= 0 {
		return ECN{}, fmt.Errorf("speed %v: %w", in.Speed, errInput)
	}
	frame := int64(in.LosslessMTU)
	if frame <= 0 {
		frame = 4200
	}
	scale := func(n int64, at units.Rate) int64 {
		return int64(float64(n) * float64(in.Speed) / float64(at))
	}
	e := ECN{Min: scale(ruleMin, ruleSpeed), Max: scale(ruleMax, ruleSpeed), Sources: []string{srcRule}}
	e.step("a queue of 6 us and 60 us at %s is %d and %d bytes", in.Speed, e.Min, e.Max)

	if in.Pool == nil {
		e.step("not compared with the buffer: %s", in.Missing)
	} else {
		limit := in.Pool.Limit(in.Case)
		if in.Pool.Slices == 0 && in.Pool.Fixed == 0 {
			e.step("the memory of the chip is taken as one; if it is divided, groups pause earlier")
		}
		e.Pool, e.Limit = in.Pool, &limit
		e.Sources = append(e.Sources, srcDCQCN)
		if e.Max > limit.Queue {
			e.Max = limit.Queue
			e.step("max is lowered to %d, so that marking precedes a pause (%s)", limit.Queue, limit.Case)
		} else {
			e.step("max is not above %d, up to where marking precedes a pause (%s)", limit.Queue, limit.Case)
		}
	}
	if e.Min > e.Max/2 {
		e.Min = e.Max / 2
		e.step("min is half of max, %d", e.Min)
	}
	e.Min, e.Max = floorKiB(e.Min), floorKiB(e.Max)
	e.raise(in.Speed, frame, scale)

	e.Drains = Curve{Min: e.Min, Max: e.Max}.Drains(in.Speed)
	if e.Limit != nil {
		e.Order = e.Limit.Judge(e.Min, e.Max)
	}
	return e, nil
}

// raise raises the thresholds to the smallest useful values.
func (e *ECN) raise(speed units.Rate, frame int64, scale func(int64, units.Rate) int64) {
	frames := roundUpKiB(minFrames * frame)
	least := max(floorKiB(scale(floorMin, floorSpeed)), frames)
	if e.Min < least {
		shortest := max(roundUpKiB(int64(MinDrainLow.Seconds()*float64(speed)/8)), frames)
		switch {
		case e.Limit == nil || least <= e.Limit.Queue:
			e.Min = least
			e.step("min is raised to %d, the larger of 2.6 us and %d frames of %d bytes", e.Min, minFrames, frame)
		case shortest <= e.Limit.Queue:
			e.Min = max(shortest, min(least, floorKiB(e.Limit.Queue)))
			e.step("min is %d, as much as the case allows of the larger of 2.6 us and %d frames of %d bytes", e.Min, minFrames, frame)
		default:
			e.Min = min(shortest, least)
			e.step("min is raised to %d, as %s or %d frames of %d bytes is the least that is of use; a pause precedes it (%s)", e.Min, MinDrainLow, minFrames, frame, e.Limit.Case)
		}
	}
	if m := max(floorKiB(scale(floorMax, floorSpeed)), 2*e.Min); e.Max < m {
		e.Max = m
		above := ""
		if e.Limit != nil && m > e.Limit.Queue {
			above = fmt.Sprintf(", which is above the limit of %d: in that case a pause precedes full marking", e.Limit.Queue)
		}
		e.step("max is raised to %d, the larger of 5.2 us and twice min%s", m, above)
		e.Sources = append(e.Sources, srcFloor)
	}
}

func (e *ECN) step(format string, args ...any) {
	e.Steps = append(e.Steps, ECNStep{e.Min, e.Max, fmt.Sprintf(format, args...)})
}

// DataPorts returns the number of ports in the model's default layout that have its highest speed,
// which excludes management ports; 0 if there is no layout.
func DataPorts(m *catalog.Model) int {
	var top units.Rate
	n := 0
	for _, p := range m.Ports {
		switch {
		case p.Speed > top:
			top, n = p.Speed, 1
		case p.Speed == top:
			n++
		}
	}
	return n
}

func floorKiB(n int64) int64   { return n / 1024 * 1024 }
func roundUpKiB(n int64) int64 { return (n + 1023) / 1024 * 1024 }
