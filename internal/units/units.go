// Package units defines the quantities that an intent writes with a unit: bytes, link rates, cable
// lengths and percentages.
//
// Each type parses what it prints, so a value survives a round trip through a file. A number
// without a unit is an error: "150" may mean bytes, kilobytes or cells, and a wrong guess stops a
// cluster. Times use [time.Duration] and its notation.
package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// errUnit is wrapped by every parse error of this package.
var errUnit = errors.New("not a quantity")

// Bytes is a number of bytes.
type Bytes int64

// Rate is a link rate in bits per second.
type Rate int64

// Length is a cable length in meters. Half meters occur (DAC cables).
type Length float64

// Percent is a percentage, 0 to 100.
type Percent float64

type scale struct {
	suffix string
	factor float64
}

// Longer suffixes come first, so that "KiB" is not read as "B".
var (
	byteScales = []scale{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}
	rateScales = []scale{{"G", 1e9}, {"M", 1e6}, {"T", 1e12}}
	lenScales  = []scale{{"km", 1e3}, {"m", 1}}
	pctScales  = []scale{{"%", 1}}
)

// ParseBytes reads "150KB" (KB = 1000 bytes), "1.5MiB" (MiB = 1024*1024 bytes) or "4096B".
func ParseBytes(s string) (Bytes, error) {
	v, err := parse(s, byteScales, "bytes such as 150KB, 1.5MiB or 4096B")
	if err == nil && v != math.Trunc(v) {
		err = fmt.Errorf("%w: %q is not a whole number of bytes", errUnit, s)
	}
	return Bytes(v), err
}

// ParseRate reads "400G", "2.5G" or "100M".
func ParseRate(s string) (Rate, error) {
	v, err := parse(s, rateScales, "a rate such as 400G or 25G")
	if err == nil && v != math.Trunc(v) {
		err = fmt.Errorf("%w: %q is not a whole number of bits per second", errUnit, s)
	}
	return Rate(v), err
}

// ParseLength reads "5m", "0.5m" or "10km".
func ParseLength(s string) (Length, error) {
	v, err := parse(s, lenScales, "a length such as 5m, 0.5m or 2km")
	return Length(v), err
}

// ParsePercent reads "60%"; the result is at least 0 and at most 100.
func ParsePercent(s string) (Percent, error) {
	v, err := parse(s, pctScales, "a percentage such as 60%")
	if err == nil && v > 100 {
		err = fmt.Errorf("%w: %q is above 100%%", errUnit, s)
	}
	return Percent(v), err
}

func parse(s string, scales []scale, want string) (float64, error) {
	t := strings.TrimSpace(s)
	for _, sc := range scales {
		num, ok := strings.CutSuffix(t, sc.suffix)
		if !ok {
			continue
		}
		num = strings.TrimSpace(num)
		if num == "" || strings.Trim(num, "0123456789.") != "" {
			break
		}
		v, err := strconv.ParseFloat(num, 64)
		if err != nil {
			break
		}
		v *= sc.factor
		if v > math.MaxInt64/2 {
			return 0, fmt.Errorf("%w: %q is too large", errUnit, s)
		}
		return v, nil
	}
	if t != "" && strings.Trim(t, "0123456789.") == "" {
		return 0, fmt.Errorf("%w: %q has no unit; write %s", errUnit, s, want)
	}
	return 0, fmt.Errorf("%w: %q; write %s", errUnit, s, want)
}

// String uses the largest unit that gives a whole number, and prefers GB to GiB, MB to MiB, and KB
// to KiB.
func (b Bytes) String() string {
	n := int64(b)
	for _, sc := range []scale{{"GB", 1e9}, {"GiB", 1 << 30}, {"MB", 1e6}, {"MiB", 1 << 20}, {"KB", 1e3}, {"KiB", 1 << 10}} {
		if f := int64(sc.factor); n != 0 && n%f == 0 {
			return strconv.FormatInt(n/f, 10) + sc.suffix
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// String prints "400G".
func (r Rate) String() string {
	n := int64(r)
	if n%1e9 != 0 {
		return trimFloat(float64(n)/1e6) + "M"
	}
	return strconv.FormatInt(n/1e9, 10) + "G"
}

// Mbps returns the rate in megabits per second, the unit of SONiC's PORT.speed.
func (r Rate) Mbps() int64 { return int64(r) / 1e6 }

// Gbps returns the rate in gigabits per second.
func (r Rate) Gbps() float64 { return float64(r) / 1e9 }

// String prints "40m" or "0.5m".
func (l Length) String() string { return trimFloat(float64(l)) + "m" }

// String prints "60%".
func (p Percent) String() string { return trimFloat(float64(p)) + "%" }

func trimFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
