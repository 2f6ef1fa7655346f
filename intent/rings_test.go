package intent

import "testing"

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
