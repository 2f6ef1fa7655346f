package qos

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Threshold is a queue length, in bytes or in a native unit of the switch.
type Threshold struct {
	N    int64
	Unit ThresholdUnit
}

// thresholdUnits maps the suffixes of units other than bytes to the units.
var thresholdUnits = []struct {
	suffix string
	unit   ThresholdUnit
}{
	{" segments", UnitSegments}, {" cells", UnitCells}, {" packets", UnitPackets},
	{"%", UnitPercent}, {"ms", UnitMilliseconds}, {"us", UnitMicroseconds},
}

// ParseThreshold parses "320 segments", "40 cells", "100 packets", "20%", "2ms" and "50us", and
// bytes as [units.ParseBytes] does.
func ParseThreshold(s string) (Threshold, error) {
	for _, u := range thresholdUnits {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			v, err := strconv.ParseInt(n, 10, 64)
			if err != nil || v < 0 || v > math.MaxUint32 {
				return Threshold{}, fmt.Errorf("%q is not a number of %s up to %d", s, u.unit, uint32(math.MaxUint32))
			}
			return Threshold{v, u.unit}, nil
		}
	}
	b, err := units.ParseBytes(s)
	return Threshold{N: int64(b)}, err
}

// Above reports whether t is certainly higher than o.
func (t Threshold) Above(o Threshold) bool {
	n, ok := ECN{Min: t.N, Max: o.N, Unit: Units(t.Unit, o.Unit)}.Order()
	return ok && n > 0
}

// String formats a threshold as [ParseThreshold] accepts it.
func (t Threshold) String() string {
	for _, u := range thresholdUnits {
		if t.Unit == u.unit {
			return strconv.FormatInt(t.N, 10) + u.suffix
		}
	}
	decimal, _, _ := t.Unit.Bytes(t.N)
	return units.Bytes(decimal).String()
}
