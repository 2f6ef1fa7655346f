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

// lossless are the priorities that a port pauses before or after a change.
func lossless(have, want *Port) PrioritySet { return have.PFC.Or(0) | want.PFC.Or(0) }

// The least impacts of attributes that have one.

func lossOfMTU(_ *differ, have, want *Port, _ int) Impact {
	return lossIf(want.MTU.V < have.MTU.Or(0))
}

func lossOfTrust(_ *differ, have, want *Port, _ int) Impact { return lossIf(lossless(have, want) != 0) }

func lossOfPFC(_ *differ, have, want *Port, _ int) Impact {
	return lossIf(have.PFC.Or(0)&^want.PFC.Or(0) != 0)
}

func lossOfECN(d *differ, have, want *Port, i int) Impact {
	return lossIf(unmarks(have.Queues[i].ECN.V, want.Queues[i].ECN.V) &&
		feeds(i, lossless(have, want), d.running.MapsOf(d.name), d.desired.MapsOf(d.name)))
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
