// Package engine plans and changes one device at a time, and the devices of a run wave by wave.
// It records each run in a journal, and reads what earlier runs left on devices. It does not
// know the intent: what the intent says of a device comes in [Hooks].
package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/internal/hint"
)

// ErrNothing means that there is no run to roll back.
var ErrNothing = errors.New("no run to roll back")

// Op is the operation that failed.
type Op string

// The operations.
const (
	OpConnect  Op = "connect"
	OpRead     Op = "read"   // read the state or the facts of a device
	OpSettle   Op = "settle" // wait until the device has processed earlier writes
	OpPlan     Op = "plan"
	OpJudge    Op = "judge" // judge a plan or an undo record before the first write
	OpApply    Op = "apply"
	OpVerify   Op = "verify" // read back, and compare with what is in force
	OpConfirm  Op = "confirm"
	OpGate     Op = "gate" // check a wave and its neighbours before it is confirmed
	OpSave     Op = "save"
	OpRollback Op = "rollback"
	OpJournal  Op = "journal"
)

// Kind classifies an error; "" is any other error.
type Kind string

// The kinds.
const (
	KindUnreachable Kind = "unreachable"
	KindAuth        Kind = "not-authorised"
	KindIdentity    Kind = "identity"
	KindUnsupported Kind = "unsupported"
	KindTooLarge    Kind = "too-large" // an answer of the device exceeds the limit
	KindNoState     Kind = "no-state"
	KindStale       Kind = "stale" // the device or the intent changed since the plan was made
	KindRejected    Kind = "rejected"
	KindNotReady    Kind = "not-ready" // the device would not put changes in force
	KindUnsaved     Kind = "unsaved"
	KindPartial     Kind = "partial"
	KindInterrupted Kind = "interrupted"
	KindLocked      Kind = "locked"    // another run works on the fabric
	KindNothing     Kind = "no-run"    // there is no run to roll back
	KindNotPlanned  Kind = "no-plan"   // the device could not be planned
	KindBlocked     Kind = "blocked"   // the plan has changes that cannot be made
	KindImpact      Kind = "impact"    // the plan disturbs more than allowed
	KindPlan        Kind = "plan"      // this tool would not make this plan from the intent
	KindUndo        Kind = "undo"      // the undo record is not one that may be carried out
	KindUnfit       Kind = "unfit"     // not as intended, for reasons that a run cannot fix
	KindMistaken    Kind = "mistaken"  // the device is not the one that the intent means
	KindUntrusted   Kind = "untrusted" // a plan or journal is not signed, or not with a known key
	KindWindow      Kind = "window"    // outside the maintenance windows
	KindRefused     Kind = "not-approved"
	// A wave did not pass its gate, or the gate had too little data to decide.
	KindGate         Kind = "gate"
	KindInconclusive Kind = "inconclusive"
	KindNoDevice     Kind = "no-device" // the device is not among the devices of the call
)

// kinds maps errors to kinds, the more specific ones first.
var kinds = []struct {
	is   error
	kind Kind
}{
	{drivers.ErrStale, KindStale}, {drivers.ErrAuth, KindAuth}, {drivers.ErrIdentity, KindIdentity},
	{drivers.ErrUnreachable, KindUnreachable}, {drivers.ErrNotReady, KindNotReady}, {drivers.ErrRejected, KindRejected}, {drivers.ErrUnsaved, KindUnsaved},
	{drivers.ErrUnsupported, KindUnsupported}, {drivers.ErrTooLarge, KindTooLarge}, {drivers.ErrNoState, KindNoState}, {context.Canceled, KindInterrupted}, {store.ErrLost, KindInterrupted},
	{drivers.ErrPartial, KindPartial}, {store.ErrHeld, KindLocked}, {ErrNothing, KindNothing},
	{keys.ErrUnsigned, KindUntrusted}, {keys.ErrBad, KindUntrusted}, {keys.ErrUnknown, KindUntrusted},
}

// hints tells what to do about a kind of error that has no hint of its own.
var hints = map[Kind]string{
	KindStale:        "plan again, and look at what changed",
	KindPlan:         "plan again: the plan was edited, or made under other conditions",
	KindTooLarge:     "fewer devices at a time, by --parallel, leave more memory for the answers of each, up to 64 MiB",
	KindUntrusted:    "where another user or machine made it, name the file of its public key with --trust-key or in rollout.trustKeys of the intent",
	KindInconclusive: "turn the counters on; --gate quick looks at links, neighbours and losses alone",
	KindWindow:       "wait until it opens, or write at once with --outside-window",
	KindMistaken:     "--accept-identity NAME goes on with a device that was replaced, or is the right one all the same",
	KindNoDevice:     "roll back with the intent that the run applied (-f); a host needs an address there, or run 'nic rollback --local' on it",
	KindUndo:         "an undo record restores ports of the intent alone: for a port that has left the intent since, roll back with the intent that the run applied (-f); where the journal was edited, restore the device by hand",
}

// Hint returns what to do about an error of the kind, or "".
func (k Kind) Hint() string { return hints[k] }

// Error is an error about one device, or about a run as a whole.
type Error struct {
	Device string `json:"device,omitempty"` // "" for the run as a whole
	Text   string `json:"error,omitempty"`  // one line, without the name of the device
	Op     Op     `json:"op,omitempty"`
	Kind   Kind   `json:"kind,omitempty"`
	Hint   string `json:"hint,omitempty"` // what to do about the error

	cause error
}

// Error returns the name of the device, if any, followed by the text.
func (e *Error) Error() string {
	if e.Device == "" {
		return e.Text
	}
	return e.Device + ": " + e.Text
}

// Unwrap returns the cause; nil for an error that was read from a file.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.cause
}

// NewError wraps err, which came from an operation on a device, in an Error. device may be ""
// if the caller adds it later. If err already is or wraps an Error, its operation, kind and
// hint are kept. NewError returns nil if err is nil.
func NewError(device string, op Op, err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Device: device, Op: op, Text: OneLine(err), cause: err}
	if is := (*Error)(nil); errors.As(err, &is) {
		e.Op, e.Kind, e.Hint = is.Op, is.Kind, is.Hint
		if is == err {
			e.Text = is.Text
		}
		return e
	}
	for _, k := range kinds {
		if errors.Is(err, k.is) {
			e.Kind = k.kind
			break
		}
	}
	e.Hint = hint.Of(err)
	if e.Kind == KindTooLarge {
		e.Hint = cmp.Or(e.Hint, hints[e.Kind])
	}
	return e
}

// ErrorOf is like NewError, but sets the kind.
func ErrorOf(device string, op Op, kind Kind, err error) *Error {
	e := NewError(device, op, err)
	e.Kind, e.Hint = kind, cmp.Or(e.Hint, hints[kind])
	return e
}

// OneLine returns the text of an error in one line, even if it joins several errors.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
