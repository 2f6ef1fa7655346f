package headroom

import (
	"math"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// signalSpeed is the speed of light in a cable, metres per second, as SONiC
// takes it (sonic-swss cfgmgr/buffer_headroom_mellanox.lua): about 5.05 ns a
// metre.
const signalSpeed = 198_000_000

var quanta = map[int64]int64{
	100: 1, 1_000: 2, 10_000: 67, 25_000: 80, 40_000: 118, 50_000: 147,
	100_000: 394, 200_000: 453, 400_000: 905, 800_000: 905,
}

// Quanta returns the pause-response time of a link speed in quanta of 512 bit
// times. 800G has the value of 400G, as in SONiC. Source: IEEE 802.3 clause
// 31B.3.7 by way of sonic-swss cfgmgr/buffer_headroom_mellanox.lua.
func Quanta(speed units.Rate) (n int64, ok bool) {
	n, ok = quanta[speed.Mbps()]
	return n, ok && int64(speed)%1e6 == 0
}

// ResponseBytes returns what a peer may still send at that speed before it
// obeys a pause.
func ResponseBytes(speed units.Rate) (n int64, ok bool) {
	q, ok := Quanta(speed)
	return q * 64, ok
}

// cableBytes returns the bytes in flight in a cable, there and back.
func cableBytes(speed units.Rate, cable units.Length) float64 {
	return 2 * float64(cable) * float64(speed) / (8 * signalSpeed)
}

// Floor returns the headroom below which a full link loses frames whatever
// the peer does: the round trip in the cable and two lossless frames.
func Floor(speed units.Rate, cable units.Length, losslessMTU int) int64 {
	return int64(math.Ceil(cableBytes(speed, cable))) + 2*int64(losslessMTU)
}

// drain returns the time that n bytes take at a rate; 0 for a rate of 0.
func drain(n int64, rate units.Rate) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(math.Round(float64(n) * 8e9 / float64(rate)))
}

// MostOnChip is the largest headroom of one lossless group that a published
// table or limit has for a switch without external packet memory: that of
// M2-W6940-128QC for 800G over 300 m (sonic-buildimage pg_profile_lookup.ini).
// NVIDIA's chips admit less than this for a whole port (sonic-swss
// cfgmgr/buffer_check_headroom_mellanox.lua).
const MostOnChip = 1_621_536
