package gate

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Watermark is the most that a lossless priority group of a switch held, and what the switch gives
// the group. Values that the switch does not show are nil or 0.
type Watermark struct {
	Device string `json:"device" doc:"name in the intent"`
	Port   string `json:"port" doc:"native name"`
	Class  string `json:"class" doc:"name of the lossless class"`
	Group  int    `json:"group" doc:"priority group"`
	// Headroom is the xoff of the group.
	Headroom int64 `json:"headroom,omitempty" doc:"bytes of headroom that the switch gives the group; missing where it shows none"`
	// Used is the highest fill of the headroom in the window. On a switch that clears its
	// watermarks when it polls them, and keeps no others, it is of the last interval only.
	Used *uint64 `json:"used,omitempty" doc:"bytes of headroom that the group held at most in the window"`
	// Kept is the highest fill since the watermarks of the switch were last cleared.
	Kept  *uint64 `json:"kept,omitempty" doc:"the same since the watermarks of the switch were last cleared"`
	Share float64 `json:"share,omitempty" doc:"the larger of used and kept, divided by headroom"`
	// Shared and SharedKept are the same for the shared buffer.
	Shared     *uint64 `json:"shared,omitempty" doc:"bytes of the shared buffer that the group held at most in the window"`
	SharedKept *uint64 `json:"shared_kept,omitempty" doc:"the same since the watermarks were last cleared"`
	Queue      *uint64 `json:"queue,omitempty" doc:"bytes that the egress queue of the class on the port held at most in the window"`
	// Pause is where the group pauses if no other group takes from the shared buffer.
	Pause    int64  `json:"pauses_at,omitempty" doc:"bytes of the shared buffer at which the group pauses if it is alone; missing where it is not known"`
	PauseHow string `json:"pauses_at_from,omitempty" doc:"what pauses_at rests on"`
	Unread   string `json:"not_read,omitempty" doc:"why there is no watermark of headroom"`
}

// Most returns the highest known fill of the headroom.
func (w Watermark) Most() (n uint64, ok bool) { return largest(w.Used, w.Kept) }

// MostShared returns the highest known fill of the shared buffer.
func (w Watermark) MostShared() (n uint64, ok bool) { return largest(w.Shared, w.SharedKept) }

func largest(vs ...*uint64) (n uint64, ok bool) {
	for _, v := range vs {
		if v != nil {
			n, ok = max(n, *v), true
		}
	}
	return n, ok
}

// highest returns the highest fill in the window. A switch may clear the metric last at each of its
// intervals, so that a reading misses what came before: if kept, which is cleared by people alone,
// has risen, the window was the time of its value.
func (p *PortWindow) highest(last, kept drivers.Metric, index int) (n uint64, ok bool) {
	n, ok = p.grew(last, index)
	now, known := p.grew(kept, index)
	if was, read := p.first[kept.Of(index)]; known && read && now > was {
		n, ok = max(n, now), true
	}
	return n, ok
}

// watermarks lists the lossless groups of all switches: by the share of headroom that they used,
// most first, and those without a watermark last.
func (j *judge) watermarks() (out []Watermark) {
	pointer := func(n uint64, ok bool) *uint64 {
		if !ok {
			return nil
		}
		return &n
	}
	for _, w := range j.windows {
		if w.dev.Host {
			continue
		}
		for _, p := range w.ports {
			for _, c := range p.port.Classes {
				m := Watermark{
					Device: p.Device, Port: p.Port, Class: c.Name, Group: c.Group, Headroom: c.Headroom, Pause: c.Pause, PauseHow: c.PauseHow,
					Used:   pointer(p.highest(drivers.HeadroomPeak, drivers.HeadroomPeakKept, c.Group)),
					Kept:   pointer(p.grew(drivers.HeadroomPeakKept, c.Group)),
					Shared: pointer(p.highest(drivers.GroupPeak, drivers.GroupPeakKept, c.Group)), SharedKept: pointer(p.grew(drivers.GroupPeakKept, c.Group)),
					Queue: pointer(p.grew(drivers.QueuePeak, c.Queue)),
				}
				most, read := m.Most()
				switch {
				case !read:
					m.Unread = cmp.Or(w.off[drivers.HeadroomPeak], "the switch shows no watermark of headroom")
				case c.Headroom > 0:
					m.Share = float64(most) / float64(c.Headroom)
				}
				out = append(out, m)
			}
		}
	}
	ordered.Sort(out, func(a, b Watermark) int {
		na, ra := a.Most()
		nb, rb := b.Most()
		return cmp.Or(ordered.First(ra, rb), cmp.Compare(b.Share, a.Share), cmp.Compare(nb, na),
			natural.Compare(a.Device, b.Device), natural.Compare(a.Port, b.Port), cmp.Compare(a.Group, b.Group))
	})
	return out
}
