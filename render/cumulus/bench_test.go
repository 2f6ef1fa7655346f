package cumulus

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkChange computes a change for a switch of many ports that has only the preset.
func BenchmarkChange(b *testing.B) {
	for _, ports := range []int{64, 512} {
		var names []string
		for i := range ports {
			names = append(names, fmt.Sprintf("swp%ds%d", 1+i/8, i%8))
		}
		have := parse(b, "nv set interface "+strings.Join(names, ",")+" type swp\nnv set qos roce")
		want := plain(names...)
		b.Run(fmt.Sprintf("ports=%d", ports), func(b *testing.B) {
			for b.Loop() {
				if len(Change(have, want)) < ports {
					b.Fatal("nothing changes")
				}
			}
		})
	}
}
