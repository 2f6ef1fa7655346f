package cli

import "testing"

// A port has a link if both ends have the same speed and FEC, whether set or by the transceiver.
func TestLink(t *testing.T) {
	const nominal = 400_000_000_000
	for name, c := range map[string]struct {
		near, far Wire
		up        bool
	}{
		"nothing set":                  {Wire{}, Wire{}, true},
		"the transceiver's own, set":   {Wire{Speed: nominal, FEC: "rs"}, Wire{}, true},
		"one end slower":               {Wire{Speed: 100_000_000_000}, Wire{}, false},
		"both ends slower":             {Wire{Speed: 100_000_000_000}, Wire{Speed: 100_000_000_000}, true},
		"no FEC at one end":            {Wire{FEC: "none"}, Wire{}, false},
		"no FEC at the other end":      {Wire{}, Wire{FEC: "none"}, false},
		"fire code at both":            {Wire{FEC: "fc"}, Wire{FEC: "fc"}, true},
		"LLDP has no part in the link": {Wire{Deaf: true}, Wire{Mute: true}, true},
	} {
		w := newWorld()
		w.Connect("Ethernet1", func() Wire { return c.far })
		if up := w.Link("Ethernet1", c.near, nominal); up != c.up {
			t.Errorf("%s: %v", name, up)
		}
		w.SetNeighbor("Ethernet1", "spine1", "Ethernet1")
		if _, heard := w.Hears("Ethernet1", c.near); heard == (c.near.Deaf || c.far.Mute) {
			t.Errorf("%s: heard %v", name, heard)
		}
	}
}
