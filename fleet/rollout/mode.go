package rollout

import "time"

// GateMode says how thoroughly a wave is checked before it is confirmed.
type GateMode string

// The modes. In all of them, what each device has applied is compared with the intent.
const (
	GateOff   GateMode = "off"
	GateQuick GateMode = "quick" // links and neighbours are back, and nothing is lost in a short window
	GateFull  GateMode = "full"  // also compares a window of minutes with one from before the change
)

// The windows of the gate. The lengths are estimates; no public source has measured any.
const (
	GateBaseline = 5 * time.Minute
	GateSettle   = time.Minute
	gateSoak     = 5 * time.Minute
	gateLongSoak = 15 * time.Minute // if thresholds or headroom change, which show only under load
	GateShort    = 20 * time.Second
)

// SoakTime returns how long the gate watches the counters after a wave.
func (w Wave) SoakTime(mode GateMode) time.Duration {
	switch {
	case mode == GateQuick:
		return GateShort
	case w.Thresholds:
		return gateLongSoak
	}
	return gateSoak
}

// NeedsGate reports whether a wave must pass a gate. Every wave that changes a device must: all
// managed values affect traffic, even those, like ECN, whose write disturbs nothing.
func (w Wave) NeedsGate() bool { return w.Kind != "" }

// GateTime returns how long the gate of a wave takes if everything comes back at once.
func (w Wave) GateTime(mode GateMode) time.Duration {
	if mode == GateOff || !w.NeedsGate() {
		return 0
	}
	return GateSettle + w.SoakTime(mode)
}

// GateTime returns how long the gates of a rollout take if everything comes back at once.
func (r *Rollout) GateTime(mode GateMode) (sum time.Duration) {
	for _, w := range r.Waves {
		sum += w.GateTime(mode)
	}
	if sum > 0 && mode == GateFull {
		sum += GateBaseline
	}
	return sum
}
