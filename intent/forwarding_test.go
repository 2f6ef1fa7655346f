package intent

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// The innermost trimming and loadBalancing apply, each as a whole.
func TestForwarding(t *testing.T) {
	f, err := Load("-", Options{Stdin: strings.NewReader(header + `classes:
  bulk: {priority: 1, dscp: [10]}
  default: {priority: 0, dscp: rest}
trimming: {classes: [bulk], size: 256B, dscp: 21}
roles:
  leaf: {trimming: {classes: [default, bulk], size: 512B, dscp: 22}, loadBalancing: {mode: flow, queuePair: true}}
switches:
  a: {os: sonic, role: leaf}
  b: {os: sonic, role: leaf, trimming: off, loadBalancing: {mode: packet}}
  c: {os: sonic}
`)})
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := f.Switch("a"), f.Switch("b"), f.Switch("c")
	if x := a.Trimming; x.Off || !slices.Equal(x.Classes, []string{"default", "bulk"}) || x.Size.V != 512 || x.DSCP.V != 22 || a.LoadBalancing.Mode.V != BalanceFlow || !a.LoadBalancing.QueuePair.V {
		t.Errorf("a: %+v %+v", a.Trimming, a.LoadBalancing)
	}
	if !b.Trimming.Off || b.LoadBalancing.Mode.V != BalancePacket || b.LoadBalancing.QueuePair.V {
		t.Errorf("b: %+v %+v", b.Trimming, b.LoadBalancing)
	}
	if c.Trimming.DSCP.V != 21 || c.LoadBalancing != nil {
		t.Errorf("c: %+v %+v", c.Trimming, c.LoadBalancing)
	}
}

func TestBadForwarding(t *testing.T) {
	for in, want := range map[string]string{
		"trimming: {classes: [bulk], size: 256B}":           "trimming needs classes, size and dscp",
		"trimming: {classes: [], size: 256B, dscp: 1}":      "trimming needs classes, size and dscp",
		"trimming: {classes: [bulg], size: 256B, dscp: 1}":  `no class "bulg" in the fabric`,
		"trimming: {classes: [bulk], size: 32B, dscp: 1}":   "size must be 64B to 9216B, not 32B",
		"trimming: {classes: [bulk], size: 256B, dscp: 64}": "64",
		"trimming: on":                     "off",
		"loadBalancing: {queuePair: true}": "mode",
		"loadBalancing: {mode: adaptive}":  "adaptive",
	} {
		for _, at := range []string{in + "\nswitches: {a: {os: sonic}}\n", "roles: {leaf: {" + in + "}}\nswitches: {a: {os: sonic, role: leaf}}\n", "switches: {a: {os: sonic, " + in + "}}\n"} {
			_, err := Load("-", Options{Stdin: strings.NewReader(header + "classes: {bulk: {priority: 1, dscp: rest}}\n" + at)})
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(e.Error(), want) {
				t.Errorf("%s: %v, want %q", at, err, want)
			}
		}
	}
}
