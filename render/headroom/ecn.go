package headroom

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Alpha turns SONiC's dynamic_th, an exponent of -8..7, into alpha.
func Alpha(exponent int64) float64 { return math.Exp2(float64(exponent)) }

// Threshold returns the level at which a priority group pauses when active
// groups fill the shared pool alike: alpha*B / (1 + alpha*A), bytes. Source:
// Choudhury and Hahne, dynamic queue length thresholds, as SONiC's dynamic_th
// has them.
func Threshold(alpha float64, shared int64, active int) int64 {
	return int64(alpha * float64(shared) / (1 + alpha*float64(active)))
}

// ECNLimit returns the largest egress queue level at which marking still
// precedes a pause, bytes: Threshold(A) * m/k, when feeders ingress groups
// fill one queue and each of them feeds fanOut congested queues, with active
// groups on the chip. Feeders and fanOut below 1 count as 1.
func ECNLimit(alpha float64, shared int64, feeders, fanOut, active int) int64 {
	t := alpha * float64(shared) / (1 + alpha*float64(active))
	return int64(t * float64(max(feeders, 1)) / float64(max(fanOut, 1)))
}

// WorstCaseECN returns the bound of the DCQCN paper (SIGCOMM 2015) for n
// ports and a number of lossless classes: all that waits in the queues of n
// ports came through one port. alpha*B / (n * (1 + alpha*P)), bytes.
func WorstCaseECN(alpha float64, shared int64, ports, lossless int) int64 {
	return ECNLimit(alpha, shared, 1, ports, lossless)
}

// ECNInput is what the proposal of ECN thresholds depends on.
type ECNInput struct {
	Speed units.Rate
	// Model may be nil: the thresholds then follow the speed alone.
	Model *catalog.Model
	// Alpha is the exponent of the lossless groups' dynamic threshold; nil
	// takes the model's.
	Alpha *int64
	// Shared is the shared pool, bytes; 0 takes the model's.
	Shared int64
	// FanOut is how many congested ports one ingress port feeds at the same
	// time; 0 takes all ports of the model.
	FanOut int
	// Lossless is the number of lossless classes; 0 counts as 1.
	Lossless int
	// LosslessMTU is the largest lossless frame, bytes; 0 counts as 4200.
	LosslessMTU int
}

// ECN is a proposal.
type ECN struct {
	Min      int64         `json:"min"` // bytes
	Max      int64         `json:"max"` // bytes
	MinDrain time.Duration `json:"min_drain"`
	MaxDrain time.Duration `json:"max_drain"`
	// Bound is the level up to which marking precedes a pause, 0 where the
	// buffer is not known. Covered says that Max is not above it.
	Bound       int64    `json:"bound,omitempty"`
	Covered     bool     `json:"covered"`
	Explanation string   `json:"explanation"`
	Sources     []string `json:"sources"`
}

// The rule of ECNAuto, as levels of a queue at a speed.
const (
	ruleMin, ruleMax   = 150_000, 1_500_000 // bytes at 200G: 6 us and 60 us
	ruleSpeed          = units.Rate(200e9)
	floorMin, floorMax = 131_072, 262_144 // bytes at 400G: 2.6 us and 5.2 us
	floorSpeed         = units.Rate(400e9)
	minFrames          = 4
)

// ECNAuto proposes thresholds for a port. It is a proposal, not a standard:
// published settings differ by a factor of thirty in drain time.
//
// The rule: marking starts at a queue of 6 us and is certain at 60 us. That
// is 150 KB and 1500 KB at 200G, the values that NVIDIA Cumulus Linux and
// Onyx set at every speed, here scaled with the speed so that the delay stays
// the same. Max is then lowered to the level up to which marking precedes a
// pause, and Min to half of Max; but neither goes below 2.6 us and 5.2 us,
// the shortest published for a switch (SONiC, Arista 7060X6 at 400G), nor Min
// below four lossless frames. Results are whole KiB.
func ECNAuto(in ECNInput) (ECN, error) {
	if in.Speed <= 0 {
		return ECN{}, fmt.Errorf("speed %v: %w", in.Speed, ErrInput)
	}
	frame := in.LosslessMTU
	if frame <= 0 {
		frame = 4200
	}
	scale := func(n int64, at units.Rate) int64 {
		return int64(float64(n) * float64(in.Speed) / float64(at))
	}
	low, high := scale(ruleMin, ruleSpeed), scale(ruleMax, ruleSpeed)
	e := ECN{
		Explanation: fmt.Sprintf("a queue of 6 us and 60 us at %s is %d and %d bytes", in.Speed, low, high),
		Sources:     []string{"NVIDIA Cumulus Linux and Onyx RoCE defaults: 150 KB and 1500 KB"},
	}

	bound, why := in.bound()
	if bound > 0 {
		e.Bound = bound
		e.Sources = append(e.Sources, "DCQCN, SIGCOMM 2015 (bound)")
		if high > bound {
			high = bound
			e.Explanation += fmt.Sprintf("; max is lowered to %d, so that marking precedes a pause: %s", bound, why)
		} else {
			e.Explanation += fmt.Sprintf("; max is below %d, where a pause could precede marking: %s", bound, why)
		}
	} else {
		e.Explanation += "; not checked against the buffer: " + why
	}
	if low > high/2 {
		low = high / 2
		e.Explanation += fmt.Sprintf("; min is half of max, %d", low)
	}
	high, low = floorKiB(high), floorKiB(low)

	least := max(floorKiB(scale(floorMin, floorSpeed)), ceilKiBInt(minFrames*int64(frame)))
	if low < least {
		low = least
		e.Explanation += fmt.Sprintf("; min is raised to %d, the larger of 2.6 us and %d frames of %d bytes", least, minFrames, frame)
	}
	if m := max(floorKiB(scale(floorMax, floorSpeed)), 2*low); high < m {
		high = m
		e.Explanation += fmt.Sprintf("; max is raised to %d, the larger of 5.2 us and twice min", m)
		if bound > 0 && high > bound {
			e.Explanation += fmt.Sprintf(", which is above the bound of %d: in that case a pause precedes full marking", bound)
		}
		e.Sources = append(e.Sources, "sonic-buildimage device/arista/x86_64-arista_7060x6_64pe/Arista-7060X6-64PE-O128S2/qos.json.j2: 131072 and 262144 at 400G")
	}
	e.Min, e.Max = low, high
	e.MinDrain, e.MaxDrain = Drain(low, in.Speed), Drain(high, in.Speed)
	e.Covered = bound > 0 && high <= bound
	return e, nil
}

// bound returns the level up to which marking precedes a pause, with its
// reason, or 0 and what is missing.
func (in ECNInput) bound() (n int64, why string) {
	shared, how := in.Shared, "as given"
	if shared <= 0 {
		if in.Model == nil {
			return 0, "the model is not known"
		}
		if shared, how = in.Model.SharedBytes(); shared == 0 {
			return 0, how
		}
	}
	exponent, ok := in.alpha()
	if !ok {
		return 0, "alpha of the lossless groups is not known"
	}
	fanOut := in.FanOut
	if fanOut <= 0 && in.Model != nil {
		fanOut = DataPorts(in.Model)
	}
	if fanOut <= 0 {
		return 0, "the number of ports is not known"
	}
	lossless := max(in.Lossless, 1)
	n = WorstCaseECN(Alpha(exponent), shared, fanOut, lossless)
	return n, fmt.Sprintf("one port that feeds n=%d congested ports, alpha*B/(n*(1+alpha*P)) with P=%d lossless, alpha 2^%d and B %d bytes (%s)",
		fanOut, lossless, exponent, shared, how)
}

// alpha returns the exponent of the lossless groups: as given, else the
// smallest that the model publishes at this speed, else SONiC's default of
// its dynamic model.
func (in ECNInput) alpha() (exponent int64, ok bool) {
	switch {
	case in.Alpha != nil:
		return *in.Alpha, true
	case in.Model == nil:
		return 0, false
	case in.Model.ASIC().DynamicBuffers:
		// DEFAULT_LOSSLESS_BUFFER_PARAMETER.default_dynamic_th, sonic-buildimage
		// files/build_templates/buffers_config.j2.
		return 0, true
	}
	if p, ok := in.Model.Pool(catalog.IngressPool); !ok || p.Mode != "dynamic" {
		return 0, false
	}
	var l []int64
	for _, r := range in.Model.Headroom {
		if r.Speed == in.Speed {
			l = append(l, r.Threshold)
		}
	}
	if len(l) == 0 {
		return 0, false
	}
	return slices.Min(l), true
}

// DataPorts returns how many ports of the model's default layout have its
// highest speed, which leaves management ports out; 0 where no layout is
// known.
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
func ceilKiBInt(n int64) int64 { return (n + 1023) / 1024 * 1024 }
