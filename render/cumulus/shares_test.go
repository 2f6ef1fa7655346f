package cumulus

import (
	"fmt"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// The share of the lossless pool has the dynamic threshold of the lossless buffer.
func TestShares(t *testing.T) {
	for word, want := range map[string]qos.Opt[int64]{
		"alpha_1": qos.Of(int64(0)), "alpha_8": qos.Of(int64(3)), "alpha_1_128": qos.Of(int64(-7)), "alpha_1_2": qos.Of(int64(-1)),
		"ALPHA_64": qos.Of(int64(6)), "alpha_0": qos.Of(int64(-8)), "alpha_infinity": qos.Of(int64(7)), "alpha_3": {}, "alpha_1_": {}, "8": {},
	} {
		c, err := Parse(fmt.Appendf(nil, `- set:
    qos:
      traffic-pool:
        default-lossless: {memory-percent: 60}
        default-lossy: {memory-percent: 40}
      advance-buffer-config:
        default-global:
          ingress-lossless-buffer: {shared-alpha: %s}
`, word))
		if err != nil {
			t.Fatal(err)
		}
		d, _ := Decode(c)
		if got := d.Shares["default-lossless"]; got != (qos.Share{Percent: 60, Lossless: true, Alpha: want}) || d.Shares["default-lossy"].Alpha.Set {
			t.Errorf("%s: %+v", word, d.Shares)
		}
	}
}
