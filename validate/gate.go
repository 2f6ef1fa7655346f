package validate

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/counters"
	"github.com/roce-fabric/roce-fabric/validate/gate"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// Gate adds the findings of the gate for a window.
func (r *Run) Gate(res *gate.Result) {
	var c checks.Collector
	for _, f := range res.Findings {
		one := counters.FindingOf(f, r.placeOf(f.Device))
		if f.Means == gate.Inconclusive {
			one.Unchecked, one.Because = "losses in the window", "not enough was counted"
		}
		c.Add(one, f.Port)
	}
	check := Lookup("ECN-16")
	for _, name := range natural.Keys(res.Unmarked) {
		c.Add(checks.Finding{ID: check.ID, Severity: checks.Info, Device: name, What: "ECN marks are not counted: " + term.CleanLine(res.Unmarked[name]), Fix: check.Fix, Where: r.placeOf(name)}, "")
	}
	r.Note(c.List...)
	r.counted, r.pauses, r.watermarks = res.Ports, res.Sources, res.Watermarks
}

// Tiers returns the tiers of the switches of a fabric, 0 for those next to hosts.
func Tiers(f *intent.Fabric) map[string]int {
	out := map[string]int{}
	for _, s := range topology.New(f).Switches {
		out[s.Switch.Name] = s.Tier
	}
	return out
}

// Pauses returns the sources of the pauses in the window that [Run.Gate] added.
func (r *Run) Pauses() []gate.Source { return r.pauses }

// Watermarks returns the watermarks of lossless groups in the window that [Run.Gate] added.
func (r *Run) Watermarks() []gate.Watermark { return r.watermarks }

// Counted returns the counts of each port in the window that [Run.Gate] added; nil if there was
// none.
func (r *Run) Counted() []gate.PortWindow { return r.counted }

// placeOf returns the position of a device in the intent. Findings on ports use it too, so that
// equal findings on many ports become one.
func (r *Run) placeOf(device string) string {
	if sw := r.fabric.Switch(device); sw != nil {
		return sw.Pos.String()
	}
	if h := r.fabric.Host(device); h != nil {
		return h.Pos.String()
	}
	return ""
}

// Inconclusive returns the first finding that leaves open whether a window passes and that the
// intent does not accept; nil if there is none.
func Inconclusive(fs []checks.Finding) *checks.Finding {
	for i, f := range fs {
		switch f.ID {
		case gate.CounterReset, gate.WindowTooShort, gate.NotCounted, gate.NoTraffic:
			if f.Suppressed == nil && f.Severity != checks.Info {
				return &fs[i]
			}
		}
	}
	return nil
}
