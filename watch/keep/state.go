package keep

import (
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/nic"
)

// Reason is why a difference is not repaired; "" if it is about to be.
type Reason string

// The reasons.
const (
	WhyPolicy  Reason = "policy"  // the policy is to report only
	WhyImpact  Reason = "impact"  // the repair's impact is not allowed
	WhyRate    Reason = "rate"    // the value does not stay; retried later
	WhyRun     Reason = "run"     // another run set it
	WhyBusy    Reason = "busy"    // another run is in progress
	WhyBlocked Reason = "blocked" // cannot be changed by this program
	WhyError   Reason = "error"   // the last repair failed
	WhyMissing Reason = "missing" // the host has no such interface
)

var reasons = []Reason{WhyPolicy, WhyImpact, WhyRate, WhyRun, WhyBusy, WhyBlocked, WhyError, WhyMissing}

// Difference is a setting that differs from the wanted state.
type Difference struct {
	nic.Change
	Since  time.Time `json:"since"`
	Reason Reason    `json:"reason,omitempty"`
	Run    string    `json:"run,omitempty"` // the run whose setting is left alone
}

// State is the Keeper's view of the host.
type State struct {
	Format int    `json:"format"`
	Host   string `json:"host"`
	Policy Policy `json:"policy"`
	// From and Digest identify the wanted state, Loaded is when it was loaded.
	From   string    `json:"from"`
	Digest string    `json:"digest"`
	Loaded time.Time `json:"loaded"`
	// LoadError is why a newer wanted state could not be loaded.
	LoadError string `json:"load_error,omitempty"`
	// Looked is when the host was last read, Took the duration of the last check.
	Looked time.Time     `json:"looked,omitzero"`
	Took   time.Duration `json:"took_ns"`
	// Error is why the host cannot be read; Differences are then as of Looked.
	Error       string       `json:"error,omitempty"`
	Note        string       `json:"note,omitempty"`
	Differences []Difference `json:"differences"`
}

// State returns the current state.
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

// result is the result of a repair.
type result string

const (
	done   result = "done"
	failed result = "failed"
)

type repairOf struct {
	setting
	result result
}

// counts holds the Keeper's counters since its start. Settings are those of the wanted state.
type counts struct {
	looks        map[string]float64 // by cause of the check
	lookFailures float64
	loadFailures float64
	busy         float64
	differed     map[setting]bool // settings that ever differed
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
