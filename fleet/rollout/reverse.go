package rollout

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Reverse returns the waves of a run in reverse order, with those of its devices that are left,
// in the order in which the run changed them. Each wave gets a gate. cost returns the impact of
// restoring a device, and the number of ports that go down.
func Reverse(waves []Wave, devices []string, mode GateMode, cost func(device string) (qos.Impact, int)) *Rollout {
	left := map[string]bool{}
	for _, name := range devices {
		left[name] = true
	}
	reversed := func(w Wave) Wave {
		w.Canary, w.Impact, w.Down = false, qos.ImpactNone, 0
		for _, name := range w.Devices {
			impact, down := cost(name)
			w.Impact, w.Down = max(w.Impact, impact), w.Down+down
		}
		return w
	}
	out := &Rollout{Gate: mode}
	at := make([]int, len(waves)) // the new number of each wave, from 1; 0 if no device is left
	for i, w := range slices.Backward(waves) {
		w.Devices = slices.DeleteFunc(slices.Clone(w.Devices), func(name string) bool { return !left[name] })
		for _, name := range w.Devices {
			delete(left, name)
		}
		if len(w.Devices) > 0 {
			slices.Reverse(w.Devices)
			out.Waves = append(out.Waves, reversed(w))
			at[i] = len(out.Waves)
		}
	}
	for _, name := range slices.Backward(devices) {
		if left[name] { // the run has no waves
			out.Waves = append(out.Waves, reversed(Wave{Devices: []string{name}, Kind: "device"}))
		}
	}
	out.reverseFaults(waves, at)
	return out
}

// reverseFaults assigns the faults of a run's waves to the waves that reverse them: each fault lasts
// from the wave where it ended to the wave where it began.
func (r *Rollout) reverseFaults(was []Wave, at []int) {
	for i := range r.Waves {
		r.Waves[i].Worse, r.Waves[i].Gate = nil, r.Waves[i].GateTime(r.Gate).Seconds()
	}
	for i, w := range was {
		for _, f := range w.Worse {
			// Journals of older versions repeat a fault in each wave in which it exists.
			kept := slices.DeleteFunc(slices.Clone(at[i:min(max(i+1, f.Until), len(at))]), func(n int) bool { return n == 0 })
			if len(kept) == 0 {
				continue
			}
			from := slices.Min(kept)
			f.Until, f.Seconds = slices.Max(kept), r.secondsBetween(from, slices.Max(kept))
			r.Waves[from-1].Worse = append(r.Waves[from-1].Worse, f)
		}
	}
	r.WorseSeconds = r.Worse(r.Gate).Seconds()
}

// Concat returns the waves of a run followed by those of the run that continued it, with
// the wave numbers of faults adjusted.
func Concat(older, newer []Wave) []Wave {
	out := slices.Concat(older, newer)
	for i := len(older); i < len(out); i++ {
		out[i].Worse = slices.Clone(out[i].Worse)
		for j := range out[i].Worse {
			out[i].Worse[j].Until += len(older)
		}
	}
	return out
}

// secondsBetween returns how long a state lasts, in seconds, that begins in wave from and ends
// in wave until, both counted from 1.
func (r *Rollout) secondsBetween(from, until int) float64 {
	var stages []order.Stage
	for _, w := range r.Waves[from-1 : until] {
		stages = append(stages, order.Stage{Writes: w.Seconds, Gate: w.Gate})
	}
	return order.Lasts(stages)
}
