package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent"
)

// newMaker returns a maker of rollouts with the measured times of the history.
func (o PlanOptions) newMaker() *rollout.Maker {
	return rollout.NewMaker(rollout.MakerOptions{Fabric: o.Fabric, Gate: o.Gate, Writers: o.Workers, Took: o.History.seconds(o.Fabric), Seen: o.History.seen})
}

// seen summarizes the newest run that changed devices of a kind; nil if none did.
func (h *History) seen(kind string) *Seen {
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
		out := Seen{Kind: kind, Run: p.ID, Begun: p.Begun}
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

// seconds returns how long a change took for each kind of device and for each system: the
// median over the last runs.
func (h *History) seconds(f *intent.Fabric) map[string]float64 {
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
			system := host.OS
			if sw := f.Switch(d.Name); sw != nil {
				system = sw.OS
			}
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
