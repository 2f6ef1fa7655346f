package headroom

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// SignalSpeed is the speed of light in a cable in meters per second, about 5.05 ns per meter, with
// the value used by SONiC (sonic-swss cfgmgr/buffer_headroom_mellanox.lua).
const SignalSpeed = 198_000_000

var quanta = map[int64]int64{
	100: 1, 1_000: 2, 10_000: 67, 25_000: 80, 40_000: 118, 50_000: 147,
	100_000: 394, 200_000: 453, 400_000: 905, 800_000: 905,
}

// Quanta returns the pause-response time of a link speed in quanta of 512 bit times. 800G has the
// value of 400G, as in SONiC. Source: IEEE 802.3 clause 31B.3.7, quoted from sonic-swss
// cfgmgr/buffer_headroom_mellanox.lua.
func Quanta(speed units.Rate) (n int64, ok bool) {
	n, ok = quanta[speed.Mbps()]
	return n, ok && int64(speed)%1e6 == 0
}

// ResponseBytes returns how many bytes a peer may still send before it obeys a pause.
func ResponseBytes(speed units.Rate) (n int64, ok bool) {
	q, ok := Quanta(speed)
	return q * 64, ok
}

// cableBytes returns the bytes in flight in a cable, in both directions.
func cableBytes(speed units.Rate, cable units.Length) float64 {
	return 2 * float64(cable) * float64(speed) / (8 * SignalSpeed)
}

// Floor returns the headroom below which a full link loses frames whatever the peer does: the round
// trip in the cable and two lossless frames.
func Floor(speed units.Rate, cable units.Length, losslessMTU int) int64 {
	return int64(math.Ceil(cableBytes(speed, cable))) + 2*int64(losslessMTU)
}

// drain returns the time to send n bytes at a rate; 0 for a rate of 0.
func drain(n int64, rate units.Rate) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(math.Round(float64(n) * 8e9 / float64(rate)))
}

// MostOnChip is the largest headroom, in bytes, that a published table or limit gives one lossless
// group on a switch without external packet memory: NH-4210-F-P128 for 800G over 500 m
// (sonic-buildimage pg_profile_lookup.ini). NVIDIA's chips admit less than this for a whole port
// (sonic-swss cfgmgr/buffer_check_headroom_mellanox.lua).
const MostOnChip = 3_724_140

// maxPauseBits is the longest pause that one frame can request: 65535 quanta of 512 bit times (IEEE
// 802.3 clause 31B).
const maxPauseBits = 65535 * 512

// LongestPause returns how long one PFC frame can stop a priority; 0 at speed 0.
func LongestPause(speed units.Rate) time.Duration {
	return drain(maxPauseBits/8, speed)
}

// FramesToHold returns how many PFC frames per second it takes to keep a priority paused all the
// time at that speed. An alarm on PFC frames must therefore depend on the speed.
func FramesToHold(speed units.Rate) float64 {
	return float64(speed) / maxPauseBits
}

// PausedAtMost returns the largest fraction of a window, 0 to 1, for which that many PFC frames can
// have paused a priority. The true fraction may be far smaller, because most pauses end early; a
// counter of pause time is better if the platform has one. A speed or window of 0 gives 0.
func PausedAtMost(frames int64, speed units.Rate, window time.Duration) float64 {
	if frames <= 0 || speed <= 0 || window <= 0 {
		return 0
	}
	return min(1, float64(frames)*maxPauseBits/float64(speed)/window.Seconds())
}

// Row is the headroom that a platform sets for a speed and a cable.
type Row struct {
	Speed units.Rate   `json:"speed"`
	Cable units.Length `json:"cable"`
	XOFF  int64        `json:"xoff"` // bytes
}

// Rows returns the published rows of a model.
func Rows(m *catalog.Model) []Row {
	rows := make([]Row, len(m.Headroom))
	for i, r := range m.Headroom {
		rows[i] = Row{r.Speed, r.Cable, r.XOFF}
	}
	return rows
}

// Cables returns the cable lengths of the rows at a speed, ascending.
func Cables(rows []qos.HeadroomRow, speed units.Rate) (out []units.Length) {
	for _, r := range rows {
		if r.Speed == speed {
			out = append(out, r.Cable)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Fall is a row with less headroom than a row that should have less: one for a shorter cable at the
// same speed, or for the next lower speed with the same cable.
type Fall struct{ Row, Above Row }

// Falls returns the implausible rows of a platform, by speed and cable.
func Falls(rows []Row) []Fall {
	sorted := slices.Clone(rows)
	ordered.Sort(sorted, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Speed, b.Speed), cmp.Compare(a.Cable, b.Cable))
	})
	var out []Fall
	slower := map[units.Length]Row{} // the row of the next lower speed
	for i, r := range sorted {
		if i > 0 && sorted[i-1].Speed == r.Speed && sorted[i-1].Cable < r.Cable && sorted[i-1].XOFF > r.XOFF {
			out = append(out, Fall{r, sorted[i-1]})
		}
		if s, ok := slower[r.Cable]; ok && s.XOFF > r.XOFF {
			out = append(out, Fall{r, s})
		}
		slower[r.Cable] = r
	}
	return out
}
