package nic

import "github.com/roce-fabric/roce-fabric/intent/qos"

// Kind is what a difference is.
type Kind string

// The kinds.
const (
	// KindDrift: what runs differs, and writing it fixes that.
	KindDrift Kind = "drift"
	// KindNotProgrammed: the firmware's next boot differs. Writing it changes
	// nothing before a reset of the card.
	KindNotProgrammed Kind = "not-programmed"
	// KindResetPending: the firmware's next boot is as desired, and what is in
	// force is not. There is nothing left to write.
	KindResetPending Kind = "reset-pending"
	// KindNotPersistent: no unit applies the settings at boot, or one applies
	// other settings, or one is there that is not whole.
	KindNotPersistent Kind = "not-persistent"
	// KindConflict: a daemon or the firmware's DCBX writes the settings too.
	KindConflict Kind = "conflict"
	// KindMissing: the host has no such interface, so that it holds no setting either.
	KindMissing Kind = "missing"
	// KindUnknown: the value could not be read, so whether it differs is open.
	KindUnknown Kind = "unknown"
)

// Change is one difference between a running and a desired host.
type Change struct {
	Port   string     `json:"port,omitempty"` // "" for the whole host
	Field  string     `json:"field"`
	Layer  Layer      `json:"layer,omitempty"`
	Kind   Kind       `json:"kind"`
	Old    string     `json:"old"` // [qos.Absent] where the host holds nothing or nothing is known
	New    string     `json:"new"`
	Reason string     `json:"reason,omitempty"` // intent file and line, or a rule
	Impact qos.Impact `json:"impact"`
	// How names what is written where Field does not: a driver's flag, a program.
	How string `json:"how,omitempty"`
	// After is what puts the value in force once it is written.
	After string `json:"after,omitempty"`
	// Blocked says why this tool cannot make the change, and what to do
	// instead; for KindUnknown why the value could not be read.
	Blocked string `json:"blocked,omitempty"`
}

// Path names the value: "ports[ens1f0np0].pfc".
func (c Change) Path() string { return qos.Path(c.Port, c.Field) }

// Writable reports whether the change is work for the tool: not blocked, not
// unknown, not waiting for a reset. A missing boot unit is work for the command
// that installs it, and is not counted.
func (c Change) Writable() bool {
	work := c.Kind == KindDrift || c.Kind == KindNotProgrammed || c.Kind == KindConflict
	return work && c.Blocked == ""
}
