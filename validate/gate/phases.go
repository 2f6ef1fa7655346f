package gate

import "time"

// Phase is a part of a step of a rollout, in the order in which they come.
type Phase string

// The phases.
const (
	// Pre looks at the fabric as it is: its result is the baseline.
	Pre Phase = "pre"
	// Apply is the change itself: state is compared, no counters.
	Apply Phase = "apply"
	// Settle lets links and routing come back; counters mean nothing then.
	Settle Phase = "settle"
	// Soak looks at the fabric under its load, against the baseline.
	Soak Phase = "soak"
)

// Phases are all, in order.
var Phases = []Phase{Pre, Apply, Settle, Soak}

// Counts reports whether counters are looked at in the phase.
func (p Phase) Counts() bool { return p == Pre || p == Soak }

// For is how long a phase lasts. thresholds says that the change is of ECN,
// alpha or headroom, which show only with the load of a longer time.
func (p Phase) For(thresholds bool) time.Duration {
	switch p {
	case Apply:
		return 30 * time.Second
	case Settle:
		return time.Minute
	case Soak:
		if thresholds {
			return 15 * time.Minute
		}
	}
	return 5 * time.Minute
}

// Action is what to do after a phase.
type Action string

// The actions.
const (
	GoOn     Action = "go on"
	Hold     Action = "hold"      // what is done stays, and no further step begins
	Refuse   Action = "refuse"    // the change does not begin
	RollBack Action = "roll back" // the change is rolled back
)

// Next says what follows from the verdict of a phase. What is inconclusive is
// not passed: nothing further begins on it.
func (p Phase) Next(v Verdict) Action {
	switch {
	case p == Settle || v == Pass:
		return GoOn
	case p == Pre && v == Fail:
		return Refuse
	case p == Pre && v == Warn:
		return GoOn // the baseline says what is usual
	case p == Apply || v == Fail:
		return RollBack
	}
	return Hold
}
