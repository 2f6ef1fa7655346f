package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Verdict is how a fabric is, in a word.
type Verdict string

// The verdicts, best first.
const (
	OK           Verdict = "ok"
	Inconclusive Verdict = "inconclusive" // nothing is wrong, and something could not be checked
	Warnings     Verdict = "warnings"
	Unreadable   Verdict = "unreadable" // some device could not be read, and no error is known
	Errors       Verdict = "errors"
)

// Verdicts lists the verdicts, best first.
var Verdicts = []Verdict{OK, Inconclusive, Warnings, Unreadable, Errors}

// verdictOf says how findings leave a fabric. Suppressed ones do not count.
func verdictOf(fs []validate.Finding) Verdict {
	worst := 0
	for _, f := range fs {
		v := OK
		switch {
		case f.Suppressed != nil:
		case f.Counts() && f.ID == fleet.Unread:
			v = Unreadable
		case f.Counts():
			v = Errors
		case f.Severity == validate.Warning:
			v = Warnings
		case f.Inconclusive():
			v = Inconclusive
		}
		worst = max(worst, slices.Index(Verdicts, v))
	}
	return Verdicts[worst]
}

// Round is a round that is over. Nobody changes it.
type Round struct {
	N int // from 1
	// Update are the switches that were read before their turn, where this is
	// what their reads made of the round; nil for the round itself.
	Update     []string
	Fabric     string
	Start, End time.Time
	Took       time.Duration // the round, without its updates
	Verdict    Verdict
	Previous   Verdict // of the round or update before; "" in the first round
	// Findings are what is wrong, sorted, accepted ones too. Findings of a
	// device that could not be read stand until it is read again.
	Findings []validate.Finding
	// Appeared and Cleared are what of the Findings that count is new, and what
	// of those of the round before is gone.
	Appeared, Cleared []validate.Finding
	// Counted is what ports counted in the windows that the round judged; empty
	// where no device was read twice with its counters.
	Counted []gate.PortWindow
	// Pauses is where the pauses of those windows come from.
	Pauses        []gate.Source
	Devices, Read int // devices, and those of them that were read

	updates []Event // of the updates since the round before
}

// Changed reports whether the verdict is another than in the round before, or
// the first.
func (r *Round) Changed() bool { return r.Verdict != r.Previous }

// Counts counts the findings.
func (r *Round) Counts() validate.Counts { return validate.Count(r.Findings) }

// Unread lists the devices that could not be read, each once, in the order of
// the findings.
func (r *Round) Unread() []string {
	out := []string{}
	for _, f := range r.Findings {
		if f.ID == fleet.Unread && f.Severity == validate.Error && !slices.Contains(out, f.Device) {
			out = append(out, f.Device)
		}
	}
	return out
}

// keptRounds is how long the history is: a day of rounds of five minutes.
const keptRounds = 288

// Record is what is kept of a round.
type Record struct {
	Format  int             `json:"format"`
	Round   int             `json:"round"`
	Time    time.Time       `json:"time"` // when it was over
	Seconds float64         `json:"seconds"`
	Fabric  string          `json:"fabric"`
	Verdict Verdict         `json:"verdict"`
	Counts  validate.Counts `json:"counts"`
	Devices int             `json:"devices"`
	Read    int             `json:"read"`
	// Changes are what appeared and what is gone since the round before, the worst first.
	Changes     []Change `json:"changes,omitempty"`
	MoreChanges int      `json:"more_changes,omitempty"`
}

// Change is a cause that appeared or is gone, at the places where it did.
type Change struct {
	Type     Kind              `json:"type"`
	Severity validate.Severity `json:"severity"`
	ID       string            `json:"id"`
	Places   []string          `json:"places,omitempty"` // devices and ports, folded
	More     int               `json:"more_places,omitempty"`
	What     string            `json:"what"`
}

// The bounds of what is kept of a round: a fabric whose devices all change at once would
// fill the file in a day.
const (
	keptChanges = 20
	keptPlaces  = 8
)

// Format is the version of [Record] and [Event] as JSON: within one, fields are
// only added.
const Format = 1

// Record returns what is kept of the round.
func (r *Round) Record() Record {
	out := Record{Format: Format, Round: r.N, Time: stamp(r.End), Seconds: r.End.Sub(r.Start).Seconds(), Fabric: r.Fabric,
		Verdict: r.Verdict, Counts: r.Counts(), Devices: r.Devices, Read: r.Read}
	events := slices.DeleteFunc(append(slices.Clone(r.updates), r.Events()...), func(e Event) bool { return e.Type == Turned })
	ordered.Sort(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(slices.Index(validate.Severities, a.Severity), slices.Index(validate.Severities, b.Severity)),
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
