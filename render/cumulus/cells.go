package cumulus

import (
	"maps"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// row is the largest unit in bytes to which an ASIC rounds ECN thresholds: 64 cells of 192
// bytes. Spectrum-4 rounds 150 000 bytes to 159 744 in this way. Earlier ASICs have cells of 144
// and 96 bytes (Cumulus Linux 5.17, RDMA over Converged Ethernet, on the mismatch of 146.48 KB
// and 156 KB).
const row = 64 * 192

// SameThreshold reports whether a threshold shown by a switch may be the written one: the switch
// rounds it to cells, and output for people is rounded by up to 1 percent.
func SameThreshold(written, shown int64) bool {
	d := written - shown
	return max(d, -d) <= row+written/100
}

// rounded reports whether a number of bytes is a whole number of rows on any ASIC.
func rounded(bytes int64) bool {
	return bytes > 0 && (bytes%(64*192) == 0 || bytes%(64*144) == 0 || bytes%(64*96) == 0)
}

// Rounded returns desired with thresholds replaced by the ones in have if the switch may have
// rounded them to its cells. Neither device is changed.
func Rounded(have, desired *qos.Device) *qos.Device {
	var out *qos.Device
	for name, want := range desired.Ports {
		is := have.Ports[name]
		if is == nil {
			continue
		}
		for i := range want.Queues {
			w, h := want.Queues[i].ECN, is.Queues[i].ECN
			if !w.Set || !h.Set || w == h || w.V.Unit != qos.UnitBytes || h.V.Unit != qos.UnitBytes || w.V.Enabled != h.V.Enabled ||
				!within(w.V.Min, h.V.Min) || !within(w.V.Max, h.V.Max) {
				continue
			}
			if out == nil {
				copied := *desired
				copied.Ports = maps.Clone(desired.Ports)
				out = &copied
			}
			if out.Ports[name] == want {
				port := *want
				out.Ports[name] = &port
			}
			e := &out.Ports[name].Queues[i].ECN.V
			e.Min, e.Max = h.V.Min, h.V.Max
		}
	}
	if out == nil {
		return desired
	}
	return out
}

// within reports whether a switch may have rounded the written threshold to the held one, or would
// round the held one to the written one, which an intent may have from another switch.
func within(written, held int64) bool {
	low, high := min(written, held), max(written, held)
	return low == high || rounded(high) && high-low < row
}
