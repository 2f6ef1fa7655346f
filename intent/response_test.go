package intent

import (
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

func TestParseResponse(t *testing.T) {
	for in, want := range map[string]struct {
		r     Response
		bytes int64 // at 400G
	}{
		"905q":   {Response{Quanta: 905}, 57_920},
		"1q":     {Response{Quanta: 1}, 64},
		"65535q": {Response{Quanta: 65535}, 65535 * 64},
		"2us":    {Response{Time: 2 * time.Microsecond}, 100_000},
		"1.5us":  {Response{Time: 1500 * time.Nanosecond}, 75_000},
		"1ns":    {Response{Time: 1}, 50},
		"1ms":    {Response{Time: time.Millisecond}, 50_000_000},
	} {
		r, err := parseResponse(in)
		if err != nil || r != want.r || r.Bytes(400e9) != want.bytes {
			t.Errorf("%q: %+v, %d bytes, %v", in, r, r.Bytes(400e9), err)
		}
		if r.String() != in {
			t.Errorf("%q is printed as %q", in, r)
		}
	}
	// A fraction of a byte is rounded up.
	if n := (Response{Time: 1}).Bytes(units.Rate(10e9)); n != 2 {
		t.Errorf("1ns at 10G: %d bytes, want 1.25 rounded up", n)
	}
	for _, in := range []string{"", "q", "0q", "65536q", "-1q", "1.5q", "905", "0s", "-2us", "1001us", "2 us", "1h", "99999999999999999999q"} {
		if r, err := parseResponse(in); err == nil {
			t.Errorf("%q: %+v", in, r)
		}
	}
	if s := (Response{}).String(); s != "" || !(Response{}).IsZero() {
		t.Errorf("nothing is printed as %q", s)
	}
}

// buffers settings are layered like all others.
func TestBufferLayers(t *testing.T) {
	f := load(t, wired+`buffers: {fanIn: 16, fanOut: 8, pauseResponse: 905q, headroom: sonic-dyn}
roles: {leaf: {buffers: {fanOut: 4}}}
`)
	b := f.Switch("l1").Settings.Buffers
	if b.FanIn.V != 16 || b.FanOut.V != 4 || b.PauseResponse.V != (Response{Quanta: 905}) || b.Headroom.V != HeadroomSONiC {
		t.Errorf("%+v", b)
	}
	if got := b.FanOut.From.Pos.Line; got != 13 {
		t.Errorf("fanOut is from line %d", got)
	}
	f = load(t, header+classes+`switches:
  l1: {os: sonic, buffers: {pauseResponse: 3us}, ports: {Ethernet0: {buffers: {pauseResponse: 1us, fanIn: 2}}, Ethernet4: {}}}
hosts:
  h[1-2]: {nics: {n0: {}}, pauseResponse: 2us}
  h3: {nics: {n0: {}}}
`)
	s := f.Switch("l1")
	if a, b := s.Port("Ethernet0").Settings.Buffers, s.Port("Ethernet4").Settings.Buffers; a.PauseResponse.V.Time != time.Microsecond || a.FanIn.V != 2 || b.PauseResponse.V.Time != 3*time.Microsecond || b.FanIn.V != 0 {
		t.Errorf("%+v, %+v", a, b)
	}
	if r := f.Host("h2").PauseResponse; r.V.Time != 2*time.Microsecond || r.IsDefault() {
		t.Errorf("h2: %+v", r)
	}
	if r := f.Host("h3").PauseResponse; !r.V.IsZero() || !r.IsDefault() {
		t.Errorf("h3: %+v", r)
	}
	if s.Settings.Buffers.Headroom.V != HeadroomIEEE {
		t.Errorf("headroom %q", s.Settings.Buffers.Headroom.V)
	}
}
