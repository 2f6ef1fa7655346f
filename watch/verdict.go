package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Verdict summarises the state of a fabric in one word.
type Verdict string

// The verdicts, best first.
const (
	OK           Verdict = "ok"
	Inconclusive Verdict = "inconclusive" // nothing is wrong, but something could not be checked
	Warnings     Verdict = "warnings"
	Unreadable   Verdict = "unreadable" // at least one device could not be read, and there are no errors
	Errors       Verdict = "errors"
)

// Verdicts lists the verdicts, best first.
var Verdicts = []Verdict{OK, Inconclusive, Warnings, Unreadable, Errors}

// verdictOf returns the verdict for findings. Suppressed findings do not count.
func verdictOf(fs []checks.Finding) Verdict {
	worst := 0
	for _, f := range fs {
		v := OK
		switch {
		case f.Suppressed != nil:
		case f.Counts() && f.ID == fleet.Unread:
			v = Unreadable
		case f.Counts():
			v = Errors
		case f.Severity == checks.Warning:
			v = Warnings
		case f.Inconclusive():
			v = Inconclusive
		}
		worst = max(worst, slices.Index(Verdicts, v))
	}
	return Verdicts[worst]
}

// Round is a finished round. It is immutable.
type Round struct {
	N int // starts at 1
	// Update lists the switches that were read before their turn, if this Round is an update;
	// nil for the round itself.
	Update     []string
	Fabric     string
	Start, End time.Time
	Took       time.Duration // duration of the round, without its updates
	Verdict    Verdict
	Previous   Verdict // verdict of the previous round or update; "" in the first round
	// Findings lists what is wrong, sorted, including suppressed findings. Findings about a
	// device that could not be read are kept until it is read again.
	Findings []checks.Finding
	// Appeared are the unsuppressed findings that are new, Cleared those of the previous round
	// that are gone.
	Appeared, Cleared []checks.Finding
	// Counted holds the port counters in the windows that the round judged; empty if no device
	// was read twice with its counters.
	Counted []gate.PortWindow
	// Pauses are the sources of the PFC pauses in those windows.
	Pauses        []gate.Source
	Devices, Read int // number of devices, and of those that were read

	updates []Event // events of the updates since the previous round
}

// Changed reports whether the verdict differs from the previous one, or is the first.
func (r *Round) Changed() bool { return r.Verdict != r.Previous }

// Counts returns the number of findings by severity.
func (r *Round) Counts() checks.Counts { return checks.Count(r.Findings) }

// Unread lists the devices that could not be read, without duplicates, in the order of the
// findings.
func (r *Round) Unread() []string {
	out := []string{}
	for _, f := range r.Findings {
		if f.ID == fleet.Unread && f.Severity == checks.Error && !slices.Contains(out, f.Device) {
			out = append(out, f.Device)
		}
	}
	return out
}

// keptRounds is the length of the history: a day of five-minute rounds.
const keptRounds = 288

// Record is the entry of a round in the history.
type Record struct {
	Format  int           `json:"format"`
	Round   int           `json:"round"`
	Time    time.Time     `json:"time"` // end of the round
	Seconds float64       `json:"seconds"`
	Fabric  string        `json:"fabric"`
	Verdict Verdict       `json:"verdict"`
	Counts  checks.Counts `json:"counts"`
	Devices int           `json:"devices"`
	Read    int           `json:"read"`
	// Changes lists what appeared and disappeared since the previous round, worst first.
	Changes     []Change `json:"changes,omitempty"`
	MoreChanges int      `json:"more_changes,omitempty"`
}

// Change is a cause that appeared or disappeared, with its places.
type Change struct {
	Type     Kind            `json:"type"`
	Severity checks.Severity `json:"severity"`
	ID       string          `json:"id"`
	Places   []string        `json:"places,omitempty"` // devices and ports, folded
	More     int             `json:"more_places,omitempty"`
	What     string          `json:"what"`
}

// Limits of a Record: if all devices of a fabric changed at once, unlimited records would fill
// the file in a day.
const (
	keptChanges = 20
	keptPlaces  = 8
)

// Format is the version of the JSON form of [Record] and [Event]; within one version, fields are
// only added.
const Format = 1

// Record returns the round's history entry.
func (r *Round) Record() Record {
	out := Record{Format: Format, Round: r.N, Time: stamp(r.End), Seconds: r.End.Sub(r.Start).Seconds(), Fabric: r.Fabric,
		Verdict: r.Verdict, Counts: r.Counts(), Devices: r.Devices, Read: r.Read}
	events := slices.DeleteFunc(append(slices.Clone(r.updates), r.Events()...), func(e Event) bool { return e.Type == Turned })
	ordered.Sort(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(slices.Index(checks.Severities, a.Severity), slices.Index(checks.Severities, b.Severity)),
			ordered.First(gate.Urgent(a.ID) != "", gate.Urgent(b.ID) != ""))
	})
	out.MoreChanges = max(0, len(events)-keptChanges)
	for _, e := range events[:len(events)-out.MoreChanges] {
		c := Change{Type: e.Type, Severity: e.Severity, ID: e.ID, Places: e.Places, What: e.What, More: max(0, len(e.Places)-keptPlaces)}
		c.Places = c.Places[:len(c.Places)-c.More]
		out.Changes = append(out.Changes, c)
	}
	return out
}

func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// History returns the last rounds, oldest first.
func (w *Watcher) History() []Record {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return append([]Record{}, w.history...)
}
