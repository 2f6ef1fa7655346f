package render

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Every source of an attribute has an origin in the intent.
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

// An attribute that several classes determine names the line of the first class that counts.
func TestReasonOfClasses(t *testing.T) {
	class := func(line int, lossless bool) *intent.Class {
		return &intent.Class{Pos: intent.Pos{File: "f.yaml", Line: line, Column: 3}, Lossless: intent.Value[bool]{V: lossless}}
	}
	lossy, one, two := class(5, false), class(6, true), class(7, true)
	for _, tt := range []struct {
		classes   []*intent.Class
		maps, pfc string
	}{
		{[]*intent.Class{lossy, one, two}, "f.yaml:5:3 and 2 more classes", "f.yaml:6:3 and 1 more class"},
		{[]*intent.Class{lossy, one}, "f.yaml:5:3 and 1 more class", "f.yaml:6:3"},
		{[]*intent.Class{lossy}, "f.yaml:5:3", "no class is lossless"},
	} {
		sw := &intent.Switch{Settings: &intent.Settings{Classes: tt.classes}}
		if got := Reason(sw, qos.Place{Field: qos.KindGlobalMap.Attr()}); got != tt.maps {
			t.Errorf("maps: %q, want %q", got, tt.maps)
		}
		if got := Reason(sw, qos.Place{Field: qos.KindPFC.Attr()}); got != tt.pfc {
			t.Errorf("PFC: %q, want %q", got, tt.pfc)
		}
	}
}
