package intent

import (
	"fmt"
	"strings"
	"testing"
)

// A NIC setting that is not stated is left unchanged.
func TestStatedSettings(t *testing.T) {
	f := load(t, good+"hosts:\n  h1:\n    nics: {n0: {buffers: auto, willing: off, stallPrevention: auto}, n1: {buffers: keep, willing: keep, stallPrevention: keep}, n2: {}}\n")
	for name, want := range map[string]bool{"n0": true, "n1": false, "n2": false} {
		n := f.Host("h1").NIC(name)
		if n.Buffers.V != want || n.Willing.V != want || n.StallPrevention.V != want || n.Buffers.IsDefault() != (name == "n2") {
			t.Errorf("%s: %+v %+v %+v", name, n.Buffers, n.Willing, n.StallPrevention)
		}
	}
}

// The rings of an entry apply to each NIC of its range; rings that are not stated are 0.
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

// A range in members runs in step with the range of the name if there is one; otherwise it lists
// several NICs.
func TestBondsAndVLANs(t *testing.T) {
	f := load(t, good+`hosts:
  "h[1-2]":
    nics: {"n[0-5]": {}}
    bonds: {b1: {members: ["n[4-5]"]}, "b[2-3]": {members: ["n[2-3]", "n[0-1]"]}}
    vlans: {"b[1-3].100": {on: "b[1-3]", id: 100}, v7: {on: n0, id: 7}}
`)
	for _, h := range f.Hosts {
		var got []string
		for _, b := range h.Bonds {
			got = append(got, fmt.Sprint(b.Name, b.Members.V, b.Members.From))
		}
		for _, v := range h.VLANs {
			got = append(got, fmt.Sprint(v.Name, " ", v.On.V, " ", v.ID.V))
		}
		want := "b1[n4 n5] 10:27 b2[n0 n2] 10:60 b3[n1 n3] 10:60 b1.100 b1 100 b2.100 b2 100 b3.100 b3 100 v7 n0 7"
		if s := strings.ReplaceAll(strings.Join(got, " "), f.Files[0]+":", ""); s != want {
			t.Errorf("%s: %s", h.Name, s)
		}
	}
}
