package headroom

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Alpha is the factor of a dynamic threshold as an exact fraction. The zero
// value lets nobody into the shared pool. A smaller alpha pauses earlier.
type Alpha struct{ Num, Den int64 }

// alphaOf returns the alpha of SONiC's dynamic_th, an exponent of -8..7 (YANG
// sonic-buffer-profile): 2^n. On NVIDIA chips -8 means an alpha of zero
// (sonic-swss pull request 485). a may be nil.
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

// String prints "1/16" or "8".
func (a Alpha) String() string {
	if a.Den == 1 || a.Num == 0 {
		return strconv.FormatInt(a.Num, 10)
	}
	return fmt.Sprintf("%d/%d", a.Num, a.Den)
}

// MarshalText prints it the same way.
func (a Alpha) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Levels are where a group pauses and goes on, bytes of the shared pool.
type Levels struct {
	Pause  int64 `json:"pause"`
	Resume int64 `json:"resume"`
}

// Hysteresis returns the two levels of a group whose threshold stands at
// pause: it goes on below the larger of xon and of pause less xonOffset.
// Without an xonOffset (nil) xon alone counts. Neither is above pause. Source:
// sonic-buffer-profile.yang, xon and xon_offset.
func Hysteresis(pause, xon int64, xonOffset *int64) Levels {
	resume := xon
	if xonOffset != nil {
		resume = max(xon, pause-*xonOffset)
	}
	return Levels{Pause: pause, Resume: max(0, min(resume, pause))}
}

// maxCount bounds groups and ports in a formula; no chip has so many.
const maxCount = 1 << 20

func clampCount(n, least int) int { return min(max(n, least), maxCount) }

// quotient returns a*b/c rounded down, exact also where a*b does not fit, and
// the largest number where the result does not. a, b >= 0, c > 0.
func quotient(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}
