package watch

import (
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// atom identifies one fault at one port across rounds.
type atom struct {
	id, device, port, what string
	severity               checks.Severity
}

// state holds the known faults, without suppressed findings. Each finding has at most one port.
type state map[atom]checks.Finding

// update updates the state with the findings of a round. It returns all current findings, those
// that are new, and those that are gone. Findings that were not checked again stay.
func (s state) update(found []checks.Finding, looked func(checks.Finding) bool) (all, appeared, cleared []checks.Finding) {
	now, accepted := state{}, state{}
	for _, f := range found {
		into := now
		if f.Suppressed != nil {
			into = accepted
		}
		for _, one := range splitByPort(f) {
			into[atomOf(one)] = one
		}
	}
	var stands []checks.Finding
	linked := map[[2]string][]checks.Finding{} // ports with link findings that were not checked again
	for a, f := range s {
		if _, ok := now[a]; ok {
			continue
		}
		_, ok := accepted[a]
		if ok || looked(f) {
			cleared = append(cleared, f)
			delete(s, a)
			continue
		}
		stands = append(stands, f)
		if len(f.Peers) > 0 {
			at := [2]string{a.device, a.port}
			linked[at] = append(linked[at], f)
		}
	}
	for a, f := range now {
		// A finding about the link already reports this cause, now and in later rounds.
		if slices.ContainsFunc(linked[[2]string{a.device, a.port}], func(l checks.Finding) bool { return a.id == "DRIFT" || l.About(a.id) }) {
			continue
		}
		if _, ok := s[a]; !ok {
			appeared = append(appeared, f)
		}
		s[a] = f
	}
	return checks.Sort(append(found, merge(stands)...)), merge(appeared), merge(cleared)
}

// bothEnds returns a function that reports whether a finding was checked: its device was read
// and, if it is about a link, the other end too.
func bothEnds(read func(device string) bool) func(checks.Finding) bool {
	return func(f checks.Finding) bool {
		return read(f.Device) && (len(f.Peers) == 0 || read(checks.PeerDevice(f.Peers[0])))
	}
}

// splitByPort returns one finding per port.
func splitByPort(f checks.Finding) []checks.Finding {
	if len(f.Ports) == 0 {
		return []checks.Finding{f}
	}
	out := make([]checks.Finding, len(f.Ports))
	for i, p := range f.Ports {
		out[i] = f
		out[i].Ports, out[i].Peers = []string{p}, nil
		if len(f.Peers) == len(f.Ports) {
			out[i].Peers = f.Peers[i : i+1 : i+1]
		}
	}
	return out
}

// atomOf returns the identity of a finding with at most one port. An unreadable device, a storm
// or a deadlock is the same fault whatever its text; for findings about counters, the numbers in
// the text are ignored.
func atomOf(f checks.Finding) atom {
	a := atom{id: f.ID, severity: f.Severity, device: f.Device, what: f.What}
	if len(f.Ports) > 0 {
		a.port = f.Ports[0]
	}
	if f.ID == fleet.Unread && f.Severity == checks.Error || f.ID == gate.Storm || f.ID == gate.Deadlock {
		a.what = ""
	} else if c := validate.Lookup(f.ID); c != nil && c.Scope == checks.ScopeTime {
		a.what = numberless(f.What)
	}
	return a
}

// quantity matches a number, and a preceding word that makes it a name, as in "queue 3".
var quantity = lazyre.New(`((queue|priority|group) )?[0-9]+`)

// numberless replaces all quantities with 0; "once" counts as a quantity.
func numberless(s string) string {
	s = quantity.ReplaceAllStringFunc(s, func(q string) string {
		if q[0] > '9' {
			return q
		}
		return "0"
	})
	return strings.NewReplacer(" once", " 0 times", "0 packet ", "0 packets ", "0 frame ", "0 frames ").Replace(s + " ")
}

// merge combines findings that differ only in their port, in order.
func merge(fs []checks.Finding) []checks.Finding {
	type key struct {
		id, device, what, fix, where string
		severity                     checks.Severity
	}
	ordered.Sort(fs, func(a, b checks.Finding) int {
		return natural.Compare(strings.Join(a.Ports, ""), strings.Join(b.Ports, ""))
	})
	at := map[key]int{}
	var out []checks.Finding
	for _, f := range fs {
		k := key{f.ID, f.Device, f.What, f.Fix, f.Where, f.Severity}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			f.Ports, f.Peers = slices.Clone(f.Ports), slices.Clone(f.Peers)
			out = append(out, f)
			continue
		}
		out[i].Ports, out[i].Peers = append(out[i].Ports, f.Ports...), append(out[i].Peers, f.Peers...)
	}
	return checks.Sort(out)
}

// Kind is the type of an event.
type Kind string

// The event kinds.
const (
	Appeared Kind = "appeared" // a new finding
	Cleared  Kind = "cleared"  // a finding that is gone
	Turned   Kind = "verdict"  // the first or a changed verdict
)

// Event is a change in a round: a cause that appeared or disappeared, with all its places, or a
// changed verdict.
type Event struct {
	Format   int             `json:"format"`
	Type     Kind            `json:"type"`
	Time     time.Time       `json:"time"`
	Fabric   string          `json:"fabric"`
	Round    int             `json:"round"`
	Severity checks.Severity `json:"severity,omitempty"`
	ID       string          `json:"id,omitempty"`
	Places   []string        `json:"places,omitempty"` // devices and ports, folded
	What     string          `json:"what,omitempty"`
	Fix      string          `json:"fix,omitempty"`
	// Fields of a verdict event.
	Verdict  Verdict        `json:"verdict,omitempty"`
	Previous Verdict        `json:"previous,omitempty"` // "" for the first verdict
	Counts   *checks.Counts `json:"counts,omitempty"`
	Unread   int            `json:"unread,omitempty"` // number of unreadable devices
}

// Events lists the changes of a round: cleared findings, new findings, then the verdict.
func (r *Round) Events() []Event {
	var out []Event
	for _, c := range []struct {
		kind Kind
		fs   []checks.Finding
	}{{Cleared, r.Cleared}, {Appeared, r.Appeared}} {
		for _, k := range checks.Causes(c.fs) {
			out = append(out, Event{Format: Format, Type: c.kind, Time: stamp(r.End), Fabric: r.Fabric, Round: r.N,
				Severity: k.Severity, ID: k.ID, Places: k.Places(), What: k.What, Fix: k.Fix})
		}
	}
	if r.Changed() {
		n := r.Counts()
		out = append(out, Event{Format: Format, Type: Turned, Time: stamp(r.End), Fabric: r.Fabric, Round: r.N,
			Verdict: r.Verdict, Previous: r.Previous, Counts: &n, Unread: len(r.Unread())})
	}
	return out
}
