package qos

import "testing"

// Order converts between units where their ratio is known.
func TestOrderOfThresholds(t *testing.T) {
	for _, c := range []struct {
		e     ECN
		n     int
		known bool
		lo    string
	}{
		{ECN{Min: 9, Max: 9, Unit: UnitMilliseconds}, 0, true, "9 milliseconds"},
		{ECN{Min: 1, Max: 100, Unit: Units(UnitMilliseconds, UnitMicroseconds)}, 1, true, "1 milliseconds"},
		{ECN{Min: 100, Max: 1, Unit: Units(UnitMicroseconds, UnitMilliseconds)}, -1, true, "100 microseconds"},
		{ECN{Min: 1500, Max: 2, Unit: Units(UnitKBytes, UnitMBytes)}, -1, true, "1500 kbytes"},
		{ECN{Min: 3000, Max: 2, Unit: Units(UnitKBytes, UnitMBytes)}, 1, true, "3000 kbytes"},
		{ECN{Min: 1000, Max: 1, Unit: Units(UnitBytes, UnitKBytes)}, 0, false, "1KB"}, // 1000 or 1024 bytes
		{ECN{Min: 5, Max: 200000, Unit: Units(UnitPercent, UnitBytes)}, 0, false, "5 percent"},
	} {
		n, known := c.e.Order()
		if lo, _ := c.e.Ends(); known != c.known || known && n != c.n || lo != c.lo {
			t.Errorf("%s: %d, %v, from %s", c.e, n, known, lo)
		}
	}
}
