package keep

import (
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/nic"
)

// Reason is why a difference is not repaired; "" where it is about to be.
type Reason string

// The reasons.
const (
	WhyPolicy  Reason = "policy"  // it is only reported
	WhyImpact  Reason = "impact"  // it disturbs more than is allowed
	WhyRate    Reason = "rate"    // it does not stay as it is set, and is tried again later
	WhyRun     Reason = "run"     // a run of another set it
	WhyBusy    Reason = "busy"    // a run of another is at work
	WhyBlocked Reason = "blocked" // this program cannot change it
	WhyError   Reason = "error"   // the last repair failed
	WhyMissing Reason = "missing" // the host has no such interface
)

var reasons = []Reason{WhyPolicy, WhyImpact, WhyRate, WhyRun, WhyBusy, WhyBlocked, WhyError, WhyMissing}

// Difference is a setting that is not as wanted.
type Difference struct {
	nic.Change
	Since  time.Time `json:"since"`
	Reason Reason    `json:"reason,omitempty"`
	Run    string    `json:"run,omitempty"` // whose work it is left as
}

// State is what a Keeper knows.
type State struct {
	Format int    `json:"format"`
	Host   string `json:"host"`
	Policy Policy `json:"policy"`
	// From and Digest say which state is wanted, Loaded since when.
	From   string    `json:"from"`
	Digest string    `json:"digest"`
	Loaded time.Time `json:"loaded"`
	// LoadError is why a newer one is not.
	LoadError string `json:"load_error,omitempty"`
	// Looked is when the host was last read, Took how long that took.
	Looked time.Time     `json:"looked,omitzero"`
	Took   time.Duration `json:"took_ns"`
	// Error is why the host cannot be read; the differences are those of Looked.
	Error       string       `json:"error,omitempty"`
	Note        string       `json:"note,omitempty"`
	Differences []Difference `json:"differences"`
}

// State returns what is known now.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.state
	s.Format, s.Differences = Format, slices.Clone(s.Differences)
	if s.Differences == nil {
		s.Differences = []Difference{}
	}
	return s
}

// result is how a repair ended.
type result string

const (
	done   result = "done"
	failed result = "failed"
)

type repairOf struct {
	setting
	result result
}

// counts are what a Keeper counts since it began. Settings are those of the wanted state.
type counts struct {
	looks        map[string]float64 // by cause
	lookFailures float64
	loadFailures float64
	busy         float64
	differed     map[setting]bool // ever
	repairs      map[repairOf]float64
	changedBack  map[setting]float64
}

func newCounts() counts {
	c := counts{looks: map[string]float64{}, differed: map[setting]bool{}, repairs: map[repairOf]float64{}, changedBack: map[setting]float64{}}
	for _, cause := range causes {
		c.looks[cause] = 0
	}
	return c
}
