package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

func drops(n uint64, span time.Duration) gate.Finding {
	return gate.Finding{ID: gate.LosslessDrop, Means: gate.Fail, Device: "leaf1", Port: "Ethernet0", What: "packets dropped", Counter: drivers.GroupDrops.Of(3), Count: n, Span: span}
}

// A failure that the baseline shows too fails a wave only if there is more of it, both in
// number and per time. If an operator continues without enough counters, the wave still does
// not count as passed.
func TestGateVerdict(t *testing.T) {
	const window = 5 * time.Minute
	open := gate.Finding{ID: gate.NotCounted, Means: gate.Inconclusive, Device: "leaf1", What: "drops are not counted"}
	stuck := drops(50_000, window)
	stuck.Counter = drivers.QueueDrops.Of(3)
	for name, tt := range map[string]struct {
		mode   GateMode
		known  []gate.Finding
		found  []gate.Finding
		ask    bool
		kind   Kind // kind of the error; "" for none
		passed bool
	}{
		"nothing":                            {GateFull, nil, nil, false, "", true},
		"new":                                {GateFull, nil, []gate.Finding{drops(1, window)}, false, KindGate, false},
		"as before":                          {GateFull, []gate.Finding{drops(5, window)}, []gate.Finding{drops(5, window)}, false, "", true},
		"more than before":                   {GateFull, []gate.Finding{drops(5, window)}, []gate.Finding{drops(50_000, window)}, false, KindGate, false},
		"more in a longer window":            {GateFull, []gate.Finding{drops(5, window)}, []gate.Finding{drops(15, 3*window)}, false, "", true},
		"of another counter of the port":     {GateFull, []gate.Finding{drops(5, window)}, []gate.Finding{stuck}, false, KindGate, false},
		"not counted":                        {GateFull, nil, []gate.Finding{open}, false, KindInconclusive, false},
		"not counted, and the operator goes": {GateFull, nil, []gate.Finding{open}, true, "", false},
		"not counted by a quick gate":        {GateQuick, nil, []gate.Finding{open}, false, "", true},
	} {
		var said []string
		g := &gateRun{opts: &Gate{Mode: tt.mode}, known: tt.known, progress: func(e Event) { said = append(said, e.Text) }}
		if tt.ask {
			g.opts.Ask = func(context.Context, string) error { return nil }
		}
		err := g.checkFindings(t.Context(), &gate.Result{Findings: tt.found})
		var got *Error
		if errors.As(err, &got); (err == nil) != (tt.kind == "") || err != nil && got.Kind != tt.kind {
			t.Errorf("%s: %v, want %q", name, err, tt.kind)
		}
		if g.passed != tt.passed {
			t.Errorf("%s: passed %v", name, g.passed)
		}
		if tt.mode == GateQuick && !strings.Contains(strings.Join(said, "\n"), "drops are not counted") {
			t.Errorf("%s: said %q", name, said)
		}
	}
}

// Each wave that changes a device has a gate, even if its impact is none.
func TestEveryWaveHasAGate(t *testing.T) {
	r := &run{RunOptions: RunOptions{Gate: &Gate{Mode: GateQuick, Access: &Access{}}}}
	for _, tt := range []struct {
		waves []Wave
		want  bool
	}{
		{[]Wave{{Devices: []string{"leaf1"}, Kind: "leaf", Impact: qos.ImpactNone}}, true},
		{[]Wave{{Devices: []string{"leaf1"}}}, false}, // nothing is written to the device
		{nil, false},
	} {
		if got := r.newGated(tt.waves) != nil; got != tt.want {
			t.Errorf("%+v: %v", tt.waves, got)
		}
		if took := (&Rollout{Waves: tt.waves}).GateTime(GateQuick); (took > 0) != tt.want {
			t.Errorf("%+v: takes %s", tt.waves, took)
		}
	}
}

// If a gate ends because the run lost its lock, its error says so, not that it was cancelled.
func TestAGateNamesTheLostLock(t *testing.T) {
	ctx, lose := context.WithCancelCause(t.Context())
	lose(fmt.Errorf("%w: not renewed within 25s", store.ErrLost))
	err := NewError("", OpGate, sleep(ctx, time.Hour))
	if err == nil || !errors.Is(err, store.ErrLost) || err.Kind != KindInterrupted || !strings.Contains(err.Text, "not renewed within 25s") {
		t.Errorf("%v", err)
	}
}
