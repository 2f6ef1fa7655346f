package engine

import (
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// State is the outcome of a run on a device.
type State string

// The states.
const (
	Unchanged State = "unchanged" // the device already was as intended
	Applied   State = "applied"   // the device is now as intended
	Blocked   State = "blocked"   // the plan has a change that cannot be made; nothing was written
	Refused   State = "refused"   // stale, not ready, or more impact than allowed; nothing was written
	Failed    State = "failed"    // an error before anything was written
	Reverted  State = "reverted"  // an error; the device is as it was before
	Partial   State = "partial"   // an error; the device is neither as it was nor as intended
	Unsaved   State = "unsaved"   // the device is as intended, but could not save that
	Skipped   State = "skipped"   // the run stopped before the device
	LeftOut   State = "left-out"  // the device could not be reached, and the run was to skip such devices
	Restored  State = "restored"  // the device is as it was before an earlier run
	WasReset  State = "reset"     // the device was reset and is back as intended
)

// Outcome is the result for one device.
type Outcome struct {
	Device string        `json:"device"`
	State  State         `json:"state"`
	Steps  int           `json:"steps"` // number of native steps begun
	Took   time.Duration `json:"took_ns"`
	// Gate is the gate that the device passed before it was confirmed; "" for none.
	Gate rollout.GateMode `json:"gate,omitempty"`
	// Error is why the device is not in its intended state.
	*Error
	// Left lists, one per line, settings that are not as intended and that the run could not
	// change: another user's, unreadable, or refused by the device; and what could not be
	// confirmed.
	Left []string `json:"left,omitempty"`
	// Resets lists the parts of the device that need a reset.
	Resets []drivers.Reset `json:"resets,omitempty"`

	// Unit is set if the device was read and is as intended.
	Unit drivers.Unit `json:"-"`
}

// Result holds the outcomes of the devices of a run.
type Result struct {
	Journal string // where the journal is stored; "" if the run did not begin
	// Continues is the earlier, unfinished run that this run continued: both are rolled back
	// together. "" for none.
	Continues string
	Outcomes  []Outcome
	// Needs is the impact that would have to be allowed, if the run was refused because of
	// its impact.
	Needs qos.Impact
}

func (r *Result) Count() map[State]int {
	n := map[State]int{}
	for _, o := range r.Outcomes {
		n[o.State]++
	}
	return n
}

// Failed reports whether the run did not bring some device to its intended state.
func (r *Result) Failed() bool {
	return slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return !o.Done() && o.State != Unchanged })
}

// InPart reports whether the run brought only some devices to their intended state, or left
// one in between.
func (r *Result) InPart() bool {
	n := r.Count()
	return n[Partial]+n[Unsaved]+n[LeftOut] > 0 || r.Failed() && slices.ContainsFunc(r.Outcomes, Outcome.Done)
}

// Wrote reports whether some device is not as it was before the run.
func (r *Result) Wrote() bool {
	return r.InPart() || slices.ContainsFunc(r.Outcomes, Outcome.Done)
}

// Stopped reports whether the run changed some devices and did not reach others.
func (r *Result) Stopped() bool {
	n := r.Count()
	return n[Skipped] > 0 && n[Applied] > 0
}

// Done reports whether the run changed the device as intended.
func (o Outcome) Done() bool {
	return o.State == Applied || o.State == Restored || o.State == WasReset
}
