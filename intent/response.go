package intent

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Response is how long a device takes to obey a pause frame: a time, or a number of pause quanta
// of 512 bit times, whose duration depends on the speed. The zero value is unspecified.
type Response struct {
	Quanta int           // 1..65535, or 0 if Time is used
	Time   time.Duration // at most 1 ms
}

// maxResponse is far longer than any device takes: the longest time in IEEE 802.3 is 3.5 us.
const maxResponse = time.Millisecond

// parseResponse parses "2us" or "905q".
func parseResponse(s string) (Response, error) {
	if n, ok := strings.CutSuffix(s, "q"); ok {
		q, err := strconv.Atoi(n)
		if err != nil || q < 1 || q > math.MaxUint16 {
			return Response{}, fmt.Errorf("%q is not 1q to %dq", s, math.MaxUint16)
		}
		return Response{Quanta: q}, nil
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return Response{}, fmt.Errorf("%q is not a time or a number of quanta", s)
	case d <= 0 || d > maxResponse:
		return Response{}, fmt.Errorf("%s is not above 0 and at most %s", d, maxResponse)
	}
	return Response{Time: d}, nil
}

// IsZero reports whether r is the zero value.
func (r Response) IsZero() bool { return r == Response{} }

// Bytes returns the number of bytes that a device still sends at this speed before it obeys,
// rounded up.
func (r Response) Bytes(speed units.Rate) int64 {
	if r.Quanta > 0 {
		return int64(r.Quanta) * 64
	}
	return int64(math.Ceil(float64(r.Time) * float64(speed) / 8e9))
}

// String formats r as in the intent; "" for the zero value.
func (r Response) String() string {
	switch {
	case r.Quanta > 0:
		return strconv.Itoa(r.Quanta) + "q"
	case r.Time > 0:
		return strings.Replace(r.Time.String(), "µ", "u", 1)
	}
	return ""
}
