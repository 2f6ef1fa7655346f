package drivers

import (
	"strings"
	"testing"
)

func TestUnitOf(t *testing.T) {
	for _, c := range []struct{ serial, mac, wantSerial, wantMAC string }{
		{"JPE19283746", "00:1c:73:aa:bb:cc", "JPE19283746", "00:1c:73:aa:bb:cc"},
		{" FDO2 4x ", "001C.73AA.BBCC", "FDO2 4x", "00:1c:73:aa:bb:cc"},
		{"N/A", "00:00:00:00:00:00", "", ""},
		{"To Be Filled By O.E.M.", "ff:ff:ff:ff:ff:ff", "", ""},
		{"0000000", "01:00:5e:00:00:01", "", ""},
		{"0", "no address", "", ""},
		{"SN\x1b[31m1", "00:1c:73:aa:bb:cc\x00", "", ""},
		{"SN\n1", "00:1c:73:aa:bb:cc:dd:ee", "", ""},
		{strings.Repeat("7a", 40), strings.Repeat("0", 1<<16), "", ""},
		{"Sériennummer", "", "", ""},
	} {
		if got := UnitOf(c.serial, c.mac); got != (Unit{c.wantSerial, c.wantMAC}) {
			t.Errorf("%q, %.40q: %+v", c.serial, c.mac, got)
		}
	}
}

// Units are compared by the serial number or MAC address that both show. Units without a common
// property are neither the same nor different.
func TestUnitsCompared(t *testing.T) {
	mac, mac2 := "00:1c:73:00:00:01", "00:1c:73:00:00:02"
	for _, c := range []struct {
		a, b        Unit
		other, same bool
	}{
		{Unit{"A", mac}, Unit{"A", mac}, false, true},
		{Unit{"A", mac}, Unit{"a", mac2}, false, true},
		{Unit{"A", mac}, Unit{"B", mac}, true, false},
		{Unit{"", mac}, Unit{"B", mac}, false, true},
		{Unit{"", mac}, Unit{"B", mac2}, true, false},
		{Unit{"A", ""}, Unit{"", mac}, false, false},
		{Unit{}, Unit{"A", mac}, false, false},
		{Unit{}, Unit{}, false, false},
	} {
		for range 2 {
			if other, same := c.a.Other(c.b), c.a.Same(c.b); other != c.other || same != c.same {
				t.Errorf("%+v and %+v: other %t, same %t", c.a, c.b, other, same)
			}
			c.a, c.b = c.b, c.a
		}
	}
}
