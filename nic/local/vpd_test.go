package local

import "testing"

// vpdExample has the form of the example in PCI Local Bus Specification 3.0, appendix I.
const vpdExample = "\x82\x04\x00card\x90\x15\x00PN\x05MCX75EC\x00SN\x04MT1 RV\x00\x78"

func TestVPD(t *testing.T) {
	for name, c := range map[string]struct{ in, part, serial string }{
		"whole":                 {vpdExample, "MCX75", "MT1"},
		"nothing":               {"", "", ""},
		"cut off":               {vpdExample[:20], "", ""},
		"writable part is none": {"\x91\x08\x00PN\x05MCX75\x78", "", ""},
		"after the end":         {"\x78\x90\x08\x00PN\x05MCX75", "", ""},
		"a field too long":      {"\x90\x08\x00PN\x09MCX75", "", ""},
		"zeros":                 {"\x00\x00\x00\x00", "", ""},
	} {
		if part, serial := parseVPD([]byte(c.in)); part != c.part || serial != c.serial {
			t.Errorf("%s: %q, %q", name, part, serial)
		}
	}
}

func FuzzVPD(f *testing.F) {
	f.Add([]byte(vpdExample))
	f.Fuzz(func(t *testing.T, b []byte) {
		if part, serial := parseVPD(b); len(part) > 255 || len(serial) > 255 {
			t.Errorf("%q, %q", part, serial)
		}
	})
}
