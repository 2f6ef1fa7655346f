package qos

// The least impact that a difference has on any system follows from what it
// does to lossless traffic, and is decided here once. A driver may know of more.

// paused is the union of the priorities that the ports of devices pause.
func paused(devices ...*Device) PrioritySet {
	var s PrioritySet
	for _, d := range devices {
		for _, p := range d.Ports {
			s |= p.PFC.Or(0)
		}
	}
	return s
}

// lossIf is the impact of a difference that costs lossless traffic packets, or
// brings traffic among it that was not meant to be, where the condition holds.
func lossIf(condition bool) Impact {
	if condition {
		return ImpactLoss
	}
	return ImpactNone
}

// unmarks reports whether a queue loses its marking, or begins to drop at
// random.
func unmarks(have, want ECN) bool {
	return have.Enabled && !want.Enabled || want.Drops && !have.Drops
}

// feeds reports whether traffic of one of the priorities is in the queue by one
// of the maps. Without maps each priority has the queue of its own number.
func feeds(queue int, priorities PrioritySet, maps ...*Maps) bool {
	for _, p := range priorities.List() {
		for _, m := range maps {
			to := p
			if m != nil && m.TCToQueue[p] >= 0 {
				to = int(m.TCToQueue[p])
			}
			if to == queue {
				return true
			}
		}
	}
	return false
}
