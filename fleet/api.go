package fleet

import (
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/importer"
	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/fleet/planfile"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
)

// The types of this file belong to the API of this package. They are defined further down, where
// more packages need them.

type (
	OptionError = input.OptionError

	Op        = engine.Op
	Kind      = engine.Kind
	Error     = engine.Error
	Phase     = engine.Phase
	EventKind = engine.EventKind
	Event     = engine.Event
	Progress  = engine.Progress
	State     = engine.State
	Outcome   = engine.Outcome
	Result    = engine.Result

	Device      = engine.Device
	DevicePlan  = engine.DevicePlan
	Group       = engine.Group
	Past        = engine.Past
	PastDevice  = engine.PastDevice
	History     = engine.History
	Undo        = engine.Undo
	FindOptions = engine.FindOptions
	AuditRecord = engine.AuditRecord
	ResetPlan   = engine.ResetPlan
	Hook        = engine.Hook
	HookRequest = engine.HookRequest

	PlanFile   = planfile.PlanFile
	PlanHeader = planfile.PlanHeader

	Account       = importer.Account
	Difference    = importer.Difference
	Imported      = importer.Imported
	SavedSwitch   = importer.SavedSwitch
	Source        = importer.Source
	SourceOptions = importer.SourceOptions
	Sources       = importer.Sources

	Rollout  = rollout.Rollout
	Wave     = rollout.Wave
	Together = rollout.Together
	Seen     = rollout.Seen
	Interim  = rollout.Interim
	GateMode = rollout.GateMode
)

// The operations.
const (
	OpConnect  = engine.OpConnect
	OpRead     = engine.OpRead
	OpSettle   = engine.OpSettle
	OpPlan     = engine.OpPlan
	OpJudge    = engine.OpJudge
	OpApply    = engine.OpApply
	OpVerify   = engine.OpVerify
	OpConfirm  = engine.OpConfirm
	OpGate     = engine.OpGate
	OpSave     = engine.OpSave
	OpRollback = engine.OpRollback
	OpJournal  = engine.OpJournal
)

// The kinds of errors.
const (
	KindUnreachable  = engine.KindUnreachable
	KindAuth         = engine.KindAuth
	KindIdentity     = engine.KindIdentity
	KindUnsupported  = engine.KindUnsupported
	KindTooLarge     = engine.KindTooLarge
	KindNoState      = engine.KindNoState
	KindStale        = engine.KindStale
	KindRejected     = engine.KindRejected
	KindNotReady     = engine.KindNotReady
	KindUnsaved      = engine.KindUnsaved
	KindPartial      = engine.KindPartial
	KindInterrupted  = engine.KindInterrupted
	KindLocked       = engine.KindLocked
	KindNothing      = engine.KindNothing
	KindNotPlanned   = engine.KindNotPlanned
	KindBlocked      = engine.KindBlocked
	KindImpact       = engine.KindImpact
	KindPlan         = engine.KindPlan
	KindUndo         = engine.KindUndo
	KindUnfit        = engine.KindUnfit
	KindMistaken     = engine.KindMistaken
	KindUntrusted    = engine.KindUntrusted
	KindWindow       = engine.KindWindow
	KindRefused      = engine.KindRefused
	KindGate         = engine.KindGate
	KindInconclusive = engine.KindInconclusive
	KindNoDevice     = engine.KindNoDevice
)

// The phases of a plan, a run and an import.
const (
	Planning  = engine.Planning
	Checking  = engine.Checking
	Writing   = engine.Writing
	Importing = importer.Importing
)

// The kinds of events.
const (
	PhaseBegins  = engine.PhaseBegins
	PhaseEnds    = engine.PhaseEnds
	DeviceBegins = engine.DeviceBegins
	DeviceEnds   = engine.DeviceEnds
	StepBegins   = engine.StepBegins
	WaveBegins   = engine.WaveBegins
	GateSays     = engine.GateSays
	DeviceSays   = engine.DeviceSays
)

// The states.
const (
	Unchanged = engine.Unchanged
	Applied   = engine.Applied
	Blocked   = engine.Blocked
	Refused   = engine.Refused
	Failed    = engine.Failed
	Reverted  = engine.Reverted
	Partial   = engine.Partial
	Unsaved   = engine.Unsaved
	Skipped   = engine.Skipped
	LeftOut   = engine.LeftOut
	Restored  = engine.Restored
	WasReset  = engine.WasReset
)

// The modes of the gate.
const (
	GateOff   = rollout.GateOff
	GateQuick = rollout.GateQuick
	GateFull  = rollout.GateFull
)

// Unread is the ID of the finding for a device that could not be read.
const Unread = rollout.Unread

// NewError wraps err, which came from an operation on a device, in an Error. device may be ""
// if the caller adds it later. If err already is or wraps an Error, its operation, kind and
// hint are kept. NewError returns nil if err is nil.
func NewError(device string, op Op, err error) *Error { return engine.NewError(device, op, err) }

// NewID returns a name for a run, as [engine.NewID] does.
func NewID() (string, error) { return engine.NewID() }

// Systems lists the supported switch operating systems.
var Systems = systems.All

// SystemOf returns the operating system of a switch. The intent accepts only those of
// [Systems].
func SystemOf(d *render.Device) drivers.System { return systems.Of(d) }

// Wrong returns an [OptionError] with a formatted message.
func Wrong(option, advice, format string, a ...any) error {
	return input.Wrong(option, advice, format, a...)
}

// WindowNow describes whether a maintenance window of the intent is open and until when,
// or when the next one opens. It returns "" for an intent without windows.
func WindowNow(f *intent.Fabric, now time.Time) string { return rollout.WindowNow(f, now) }
