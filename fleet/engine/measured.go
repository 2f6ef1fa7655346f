package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/rollout"
)

// Seen summarizes the newest run that changed devices of a kind; nil if none did.
func (h *History) Seen(kind string) *rollout.Seen {
	if h == nil || kind == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range maxRuns / 10 {
		p := h.run(n)
		if p == nil {
			return nil
		}
		out := rollout.Seen{Kind: kind, Run: p.ID, Begun: p.Begun}
		var took []time.Duration
		for _, d := range p.Devices {
			switch {
			case d.kind != kind, !d.touched, d.State == "": // State "": in progress or cut off, reported elsewhere
			case d.State == Applied, d.State == Unsaved:
				if len(took) == 0 || out.Gate == d.gate {
					out.Gate = d.gate
				} else {
					out.Gate = ""
				}
				out.Applied, took = append(out.Applied, d.Name), append(took, d.took)
			default:
				out.Failed, out.Error = append(out.Failed, d.Name), cmp.Or(out.Error, d.cause)
			}
		}
		if len(out.Applied)+len(out.Failed) == 0 {
			continue
		}
		if len(took) > 0 {
			slices.Sort(took)
			out.Seconds = took[len(took)/2].Seconds()
		}
		return &out
	}
	return nil
}

// Seconds returns how long a change took for each kind of device and for each system: the
// median over the last runs. system returns the system of a device.
func (h *History) Seconds(system func(device string) string) map[string]float64 {
	out := map[string]float64{}
	if h == nil {
		return out
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[string][]time.Duration{}
	for n := range maxRuns / 10 {
		p := h.run(n)
		if p == nil {
			break
		}
		for _, d := range p.Devices {
			system := system(d.Name)
			if d.State == Applied && d.touched && d.took > 0 {
				seen[system] = append(seen[system], d.took)
				if d.kind != "" {
					seen[d.kind] = append(seen[d.kind], d.took)
				}
			}
		}
	}
	for system, l := range seen {
		slices.Sort(l)
		out[system] = l[len(l)/2].Seconds()
	}
	return out
}
