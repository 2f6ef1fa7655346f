package eos

import (
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Only the applied profile and the pool limit the headroom of groups.
func TestHeadroomLimits(t *testing.T) {
	const profiles = "platform trident mmu queue profile P\n    ingress threshold 1/4\n    ingress headroom cells 10\n!\nplatform trident mmu queue profile Q\n   ingress headroom 8000\n!\n"
	cells := qos.HeadroomLimit{What: "profile P, ingress headroom cells 10", N: 10, Cells: true}
	for text, want := range map[string][]qos.HeadroomLimit{
		profiles: nil,
		profiles + "platform trident mmu queue profile P apply\n": {cells},
		profiles + "platform trident mmu queue profile Q apply\n": {{What: "profile Q, ingress headroom 8000", N: 8000}},
		profiles + "platform trident mmu queue profile R apply\n": nil,
		"platform trident mmu headroom-pool limit cells 24000\n":  {{What: "platform trident mmu headroom-pool limit cells 24000", N: 24000, Cells: true}},
		"platform trident mmu headroom-pool limit acres 3\n":      nil,
		"platform trident mmu headroom-pool limit\n":              nil,
	} {
		if d, _ := Decode(mustParse(t, text)); !slices.Equal(d.HeadroomLimits, want) {
			t.Errorf("%q: %v, want %v", text, d.HeadroomLimits, want)
		}
	}
}
