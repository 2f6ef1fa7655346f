package sonic

import "testing"

func TestDecodeReadsTheHashSeed(t *testing.T) {
	for _, x := range []struct {
		row  Row
		want string
	}{
		{Row{}, ""},
		{Row{"type": "ToRRouter"}, "0"},
		{Row{"type": "BackEndToRRouter"}, "0"},
		{Row{"type": "LeafRouter"}, "10 with the offset of a LeafRouter"},
		{Row{"type": "SpineRouter"}, "25"},
		{Row{"type": "UpperRegionalHub"}, ""},
		{Row{"type": "SpineRouter", "ecmp_hash_seed": "3"}, "3"},
		{Row{"type": "LeafRouter", "ecmp_hash_seed": "3"}, "3 with the offset of a LeafRouter"},
		{Row{"type": "ToRRouter", "namespace_id": "1"}, ""},
		{Row{"type": "ToRRouter", "switch_type": "dpu"}, ""},
	} {
		if d, _ := Decode(Config{TMetadata: {"localhost": x.row}}); d.HashSeed != x.want {
			t.Errorf("%v: %q, want %q", x.row, d.HashSeed, x.want)
		}
	}
}
