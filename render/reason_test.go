package render

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Every source of an attribute has its line of the intent.
func TestEverySourceHasAnOrigin(t *testing.T) {
	for s, origin := range origins {
		if (origin == nil) != (s == 0) {
			t.Errorf("source %d: origin %t", s, origin != nil)
		}
	}
	for k := qos.KindGlobalMap; k < qos.NumKinds; k++ {
		if origins[k.Source()] == nil {
			t.Errorf("%s has no origin", k.Attr())
		}
	}
}
