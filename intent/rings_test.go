package intent

import "testing"

// What is not stated of a NIC is left alone.
func TestStatedSettings(t *testing.T) {
	f := load(t, good+"hosts:\n  h1:\n    nics: {n0: {buffers: auto, willing: off, stallPrevention: auto}, n1: {buffers: keep, willing: keep, stallPrevention: keep}, n2: {}}\n")
	for name, want := range map[string]bool{"n0": true, "n1": false, "n2": false} {
		n := f.Host("h1").NIC(name)
		if n.Buffers.V != want || n.Willing.V != want || n.StallPrevention.V != want || n.Buffers.IsDefault() != (name == "n2") {
			t.Errorf("%s: %+v %+v %+v", name, n.Buffers, n.Willing, n.StallPrevention)
		}
	}
}

// The rings of an entry are those of each NIC of its range; what is not stated
// is 0.
func TestRings(t *testing.T) {
	f := load(t, good+"hosts:\n  \"h[1-2]\":\n    nics: {\"n[0-1]\": {rings: {rx: 8192}}, n2: {rings: {tx: 512}}, n3: {}}\n")
	for _, h := range f.Hosts {
		for name, want := range map[string][2]int{"n0": {8192, 0}, "n1": {8192, 0}, "n2": {0, 512}, "n3": {0, 0}} {
			n := h.NIC(name)
			if n.RXRing.V != want[0] || n.TXRing.V != want[1] || n.RXRing.IsDefault() != (want[0] == 0) {
				t.Errorf("%s %s: rx %v tx %v", h.Name, name, n.RXRing, n.TXRing)
			}
		}
	}
}
