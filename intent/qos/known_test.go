package qos_test

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// TestThresholdsInTime checks that thresholds in time become the bytes that a port sends in that time,
// and that others stay.
func TestThresholdsInTime(t *testing.T) {
	us := qos.ECN{Enabled: true, Min: 4, Max: 40, Unit: qos.UnitMicroseconds, Probability: 10}
	for speed, want := range map[int64][2]int64{400e9: {200_000, 2_000_000}, 100e9: {50_000, 500_000}, 10e9: {5_000, 50_000}} {
		got, ok := us.InBytes(units.Rate(speed))
		if !ok || got.Unit != qos.UnitBytes || got.Min != want[0] || got.Max != want[1] || got.Probability != 10 {
			t.Errorf("at %d bit/s: %v", speed, got)
		}
	}
	mixed := us
	mixed.Unit, mixed.Max = qos.Units(qos.UnitMicroseconds, qos.UnitMilliseconds), 1
	if got, ok := mixed.InBytes(400e9); !ok || got.Max != 50_000_000 {
		t.Errorf("mixed units: %v", got)
	}
	if _, ok := us.InBytes(0); ok {
		t.Error("a threshold in time has no bytes without a speed")
	}
	cells := qos.ECN{Enabled: true, Min: 4, Max: 40, Unit: qos.UnitCells}
	if got, ok := cells.InBytes(0); !ok || got != cells {
		t.Errorf("cells became %v", got)
	}
}

// TestUnknownBecomesKnown checks that a value that is not known makes a change that says so, and that a
// device in which it is replaced has it.
func TestUnknownBecomesKnown(t *testing.T) {
	at := qos.Place{Port: "p", Field: qos.KindMTU.Attr()}
	running := &qos.Device{Ports: map[string]*qos.Port{"p": {}}}
	want := &qos.Device{Ports: map[string]*qos.Port{"p": {MTU: qos.Of(9100)}}}
	if ch := qos.Diff(running, want); len(ch) != 1 || ch[0].Unknown != "" || ch[0].Old != qos.Absent {
		t.Errorf("a value that is not configured differs: %+v", ch)
	}
	running.Doubt(at.Port, at.Field, "no number")
	if ch := qos.Diff(running, want); len(ch) != 1 || ch[0].Unknown != "no number" || ch[0].Old != qos.NotKnown {
		t.Errorf("a value that is not known is neither equal nor different: %+v", ch)
	}
	after := running.Keeping(want, []qos.Place{at})
	if len(after.NotKnown) > 0 || len(running.NotKnown) != 1 {
		t.Errorf("after the change not known are %v, before it %v", after.NotKnown, running.NotKnown)
	}
}
