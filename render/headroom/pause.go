package headroom

import (
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// maxPauseBits is the longest pause that one frame can ask for: 65535 quanta
// of 512 bit times (IEEE 802.3 clause 31B).
const maxPauseBits = 65535 * 512

// LongestPause returns how long one PFC frame can stop a priority at that
// speed; 0 for a speed of 0.
func LongestPause(speed units.Rate) time.Duration {
	return drain(maxPauseBits/8, speed)
}

// FramesToHold returns how many PFC frames a second hold a priority paused
// all the time at that speed. An alarm on frames has to follow the speed.
func FramesToHold(speed units.Rate) float64 {
	return float64(speed) / maxPauseBits
}

// PausedAtMost returns the largest part of a window, 0 to 1, in which a
// priority can have been paused by that many PFC frames. The true part may be
// far smaller, as most pauses end early; a counter of pause time is better
// where the platform has one. A speed or window of 0 gives 0.
func PausedAtMost(frames int64, speed units.Rate, window time.Duration) float64 {
	if frames <= 0 || speed <= 0 || window <= 0 {
		return 0
	}
	return min(1, float64(frames)*maxPauseBits/float64(speed)/window.Seconds())
}
