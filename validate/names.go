package validate

import "github.com/roce-fabric/roce-fabric/validate/checks"

// These are the names of package checks that users of this package need.
type (
	Check      = checks.Check
	Finding    = checks.Finding
	Severity   = checks.Severity
	Suppressed = checks.Suppressed
	Cause      = checks.Cause
	Counts     = checks.Counts
	Open       = checks.Open
	DeviceKind = checks.DeviceKind
	Reads      = checks.Reads
	Scope      = checks.Scope
	Source     = checks.Source
	State      = checks.State
	End        = checks.End
)

// These are the constants of the types above.
const (
	Error   = checks.Error
	Warning = checks.Warning
	Info    = checks.Info

	SwitchDevice = checks.SwitchDevice
	HostDevice   = checks.HostDevice

	ReadsIntent   = checks.ReadsIntent
	ReadsRendered = checks.ReadsRendered
	ReadsRunning  = checks.ReadsRunning
	ReadsApplied  = checks.ReadsApplied
	ReadsNIC      = checks.ReadsNIC
	ReadsCounters = checks.ReadsCounters

	ScopeSwitch = checks.ScopeSwitch
	ScopeLink   = checks.ScopeLink
	ScopeNIC    = checks.ScopeNIC
	ScopeHost   = checks.ScopeHost
	ScopeFabric = checks.ScopeFabric
	ScopeTime   = checks.ScopeTime

	Intended = checks.Intended
	Saved    = checks.Saved
	Running  = checks.Running
)

// Severities lists the severities, worst first.
var Severities = checks.Severities

// These are the functions of package checks over findings.
var (
	Sort       = checks.Sort
	Worst      = checks.Worst
	Count      = checks.Count
	Causes     = checks.Causes
	Opened     = checks.Opened
	OpenText   = checks.OpenText
	PeerDevice = checks.PeerDevice
)
