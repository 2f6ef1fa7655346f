package gate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// The list has every lossless group of switches, the fullest headroom first, and says what was not
// read.
func TestWatermarks(t *testing.T) {
	text := func(w Watermark) string {
		value := func(p *uint64) string {
			if p == nil {
				return "-"
			}
			return fmt.Sprint(*p)
		}
		return fmt.Sprintf("%s %s %d: window %s, kept %s of %d, %.2f; shared %s, %s; %s", w.Device, w.Port, w.Group, value(w.Used), value(w.Kept), w.Headroom, w.Share, value(w.Shared), value(w.SharedKept), w.Unread)
	}
	before, after := read(0), read(span)
	set := func(r reading, port string, m drivers.Metric, n uint64) { r["leaf1"].Ports[port][m.Of(3)] = n }
	// Ethernet0: a peak between two polls of the switch. Ethernet8: an old peak.
	set(before, "Ethernet0", drivers.HeadroomPeakKept, 600)
	set(after, "Ethernet0", drivers.HeadroomPeakKept, 27000)
	set(before, "Ethernet8", drivers.HeadroomPeakKept, 29000)
	set(after, "Ethernet8", drivers.HeadroomPeakKept, 29000)
	set(after, "Ethernet8", drivers.GroupPeak, 5)
	list := func() (out []string) {
		for _, w := range Judge(fabric(), samples(before, after), Options{}).Watermarks {
			out = append(out, text(w))
		}
		return out
	}
	if d := cmp.Diff([]string{
		"leaf1 Ethernet8 3: window 100, kept 29000 of 30000, 0.97; shared 5, -; ",
		"leaf1 Ethernet0 3: window 27000, kept 27000 of 30000, 0.90; shared -, -; ",
	}, list()); d != "" {
		t.Error(d)
	}
	before.uncountPort(after, "leaf1", "Ethernet8", drivers.HeadroomPeak, drivers.HeadroomPeakKept)
	after["leaf1"].Off = map[drivers.Metric]string{drivers.HeadroomPeak: "peaks are off"}
	if got := list(); len(got) != 2 || got[1] != "leaf1 Ethernet8 3: window -, kept - of 30000, 0.00; shared 5, -; peaks are off" {
		t.Errorf("%q", got)
	}
}
