package qos

// The minimum impact of a difference on any system depends on its effect on lossless traffic.
// This file computes it; a driver may raise it.

// paused returns the priorities that any port of the devices pauses.
func paused(devices ...*Device) PrioritySet {
	var s PrioritySet
	for _, d := range devices {
		for _, p := range d.Ports {
			s |= p.PFC.Or(0)
		}
	}
	return s
}

// lossless returns the priorities that a port pauses before or after a change.
func lossless(have, want *Port) PrioritySet { return have.PFC.Or(0) | want.PFC.Or(0) }

// Minimum impacts of attributes that have one.

func lossOfMTU(_ *differ, have, want *Port, _ int) Impact {
	return lossIf(want.MTU.V < have.MTU.Or(0))
}

func lossOfTrust(_ *differ, have, want *Port, _ int) Impact { return lossIf(lossless(have, want) != 0) }

func lossOfPFC(_ *differ, have, want *Port, _ int) Impact {
	return lossIf(have.PFC.Or(0)&^want.PFC.Or(0) != 0)
}

func lossOfECN(d *differ, have, want *Port, i int) Impact {
	return lossIf(stopsMarking(have.Queues[i].ECN.V, want.Queues[i].ECN.V) &&
		feeds(i, lossless(have, want), d.running.MapsOf(d.name), d.desired.MapsOf(d.name)))
}

// lossIf returns ImpactLoss if condition holds, otherwise ImpactNone. The condition is that
// lossless traffic may lose packets or get mixed with other traffic.
func lossIf(condition bool) Impact {
	if condition {
		return ImpactLoss
	}
	return ImpactNone
}

// stopsMarking reports whether a queue stops ECN marking or begins to drop packets at random.
func stopsMarking(have, want ECN) bool {
	return have.Enabled && !want.Enabled || want.Drops && !have.Drops
}

// feeds reports whether one of the maps sends one of the priorities to the queue. A nil Maps
// sends each priority to the queue of the same number.
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
