package prove

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// busyFrom is the part of the speed of a link from which it counts as used by others.
const busyFrom = 0.01

// Trusted returns an error unless a key that ring trusts signed the plan, as for a plan of changes.
func (s *Saved) Trusted(ring *keys.Ring) error {
	if err := s.Verify(ring); err != nil {
		return &fleet.Error{Op: fleet.OpJudge, Kind: fleet.KindUntrusted, Text: fmt.Sprintf("the plan is not trusted: %v", err), Hint: "--trust-key names the public key of who made it"}
	}
	return nil
}

// Busy names the ports that others use, from the counters of a window before the rounds. seen is the
// number of ports whose traffic the counters show.
func Busy(f *intent.Fabric, ports []gate.PortWindow) (busy []string, seen int) {
	for _, p := range ports {
		speed := speedOf(f, p.Device, p.Port)
		var used uint64
		counted := false
		for id, n := range p.Growth {
			if slices.Contains([]drivers.Metric{drivers.QueueBytes, drivers.PriorityTxBytes, drivers.RDMATxBytes}, id.Metric) {
				used, counted = used+n, true
			}
		}
		if speed <= 0 || p.Span <= 0 || !counted {
			continue
		}
		seen++
		// Two of the counters may count the same bytes, so that the part may be twice as large.
		if part := float64(used) * 8 / p.Span.Seconds() / float64(speed); part >= busyFrom {
			busy = append(busy, p.Device+"/"+p.Port)
		}
	}
	return busy, seen
}

// Others says that others use the fabric, or that nobody knows, and what to do about it; "" if the
// counters and findings of a window before the rounds show that the fabric is idle.
func Others(f *intent.Fabric, ports []gate.PortWindow, found []checks.Finding) (what, hint string) {
	var unread []string
	for _, x := range found {
		if x.ID == fleet.Unread && f.Switch(x.Device) != nil {
			unread = append(unread, x.Device)
		}
	}
	busy, seen := Busy(f, ports)
	switch {
	case len(busy) > 0:
		return "others use the fabric: " + words.Some(busy, 3), "wait until it is idle, or add --allow traffic: the rounds and the other traffic disturb each other"
	case len(unread) > 0:
		return "nobody knows whether others use the fabric: cannot read " + natural.Fold(unread), "'roce-fabric validate' says why; --allow traffic runs the rounds without these counters"
	case seen == 0:
		return "no counter shows whether others use the fabric", "add --allow traffic if it is idle"
	}
	return "", ""
}

func speedOf(f *intent.Fabric, device, port string) units.Rate {
	if sw := f.Switch(device); sw != nil {
		if p := sw.Port(port); p != nil {
			return p.Speed.V
		}
	} else if h := f.Host(device); h != nil {
		if n := h.NIC(port); n != nil && n.Link != nil {
			return n.Link.Speed.V
		}
	}
	return 0
}

// Request is what an approver of the intent is asked before the rounds.
func (s *Saved) Request(user, host string, outside bool) fleet.ApprovalRequest {
	// The rounds take the bandwidth of every link, so that other traffic may be lost.
	const impact = "traffic-loss"
	r := fleet.ApprovalRequest{Fabric: s.Fabric, Digest: s.Digest, Devices: len(s.Hosts), Impact: impact, Changes: []fleet.ApprovalChange{}, User: user, Host: host, OutsideWindow: outside}
	for _, h := range s.Hosts {
		r.Changes = append(r.Changes, fleet.ApprovalChange{Device: h, Impact: impact})
	}
	return r
}

// Difference is a stage that two certificates measured differently.
type Difference struct {
	Stage  string  `json:"stage"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Change float64 `json:"change" doc:"Part by which the later one is better; below 0 it is worse."`
	Worse  bool    `json:"worse"`
}

// tolerance is the part by which a median may differ between two runs.
const tolerance = 0.05

// Compare compares the medians of the stages that two certificates have in common, and returns the
// stages that only one of them has.
func Compare(a, b *Certificate) (out []Difference, alone []string) {
	had := map[string]Result{}
	name := func(r Result) string {
		return fmt.Sprintf("%s, %s, %s", r.Stage.Name(), r.Label(), Bytes(r.Stage.Size))
	}
	for _, r := range a.Results {
		had[name(r)] = r
	}
	for _, r := range b.Results {
		was, ok := had[name(r)]
		delete(had, name(r))
		if !ok || was.Median <= 0 || r.Median <= 0 {
			alone = append(alone, name(r))
			continue
		}
		d := Difference{Stage: name(r), Before: was.Median, After: r.Median, Change: r.Median/was.Median - 1}
		if r.Stage.Test == "latency" {
			d.Change = was.Median/r.Median - 1
		}
		d.Worse = d.Change < -tolerance
		out = append(out, d)
	}
	for _, r := range a.Results {
		if _, left := had[name(r)]; left {
			alone = append(alone, name(r))
		}
	}
	return out, alone
}

// Label names the class of a result, and how many are loaded at the same time.
func (r Result) Label() string {
	if n := len(r.Stage.Classes); n > 1 {
		return fmt.Sprintf("%s, 1 of %d", r.Class, n)
	}
	return r.Class
}

// Headline says how an acceptance ended.
func (c *Certificate) Headline() string {
	flows := 0
	for _, r := range c.Results {
		flows += r.Flows
	}
	text := fmt.Sprintf("%s: %s, %s", c.Fabric, words.Count(flows, "flow"), c.Verdict)
	for i, why := range c.Why {
		if i == 0 {
			text += ": "
		} else {
			text += ", "
		}
		text += why
	}
	return text
}
