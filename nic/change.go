package nic

import "github.com/roce-fabric/roce-fabric/intent/qos"

// Kind classifies a difference.
type Kind string

// The kinds of differences.
const (
	// KindDrift: the running value differs; writing it fixes that.
	KindDrift Kind = "drift"
	// KindNotProgrammed: the firmware's value for the next boot differs. A written value takes
	// effect only after a reset of the card.
	KindNotProgrammed Kind = "not-programmed"
	// KindResetPending: the firmware's value for the next boot is as desired, but the value in
	// force is not. Nothing is left to write.
	KindResetPending Kind = "reset-pending"
	// KindNotPersistent: the boot unit is missing, incomplete or failed, or applies other settings.
	KindNotPersistent Kind = "not-persistent"
	// KindConflict: a daemon or the firmware's DCBX agent writes the settings too.
	KindConflict Kind = "conflict"
	// KindMissing: the host has no such interface, and so no settings for it.
	KindMissing Kind = "missing"
	// KindUnknown: the value could not be read, so it may or may not differ.
	KindUnknown Kind = "unknown"
)

// Change is one difference between a running and a desired host.
type Change struct {
	Port   string     `json:"port,omitempty"` // "" for the whole host
	Field  string     `json:"field"`
	Layer  Layer      `json:"layer,omitempty"`
	Kind   Kind       `json:"kind"`
	Old    string     `json:"old"` // [qos.Absent] if the host holds no value or the value is not known
	New    string     `json:"new"`
	Reason string     `json:"reason,omitempty"` // line of the intent, or a rule
	Impact qos.Impact `json:"impact"`
	// How names what is written if Field does not: a driver's flag or a program.
	How string `json:"how,omitempty"`
	// After says what puts the written value into force.
	After string `json:"after,omitempty"`
	// Blocked explains why this tool cannot make the change, and what to do instead; for
	// KindUnknown, why the value could not be read.
	Blocked string `json:"blocked,omitempty"`
}

// Path names the value, for example "ports[ens1f0np0].pfc".
func (c Change) Path() string { return qos.Path(c.Port, c.Field) }

// Writable reports whether the tool can make the change by writing it: it is not blocked, unknown
// or waiting for a reset. A missing boot unit does not count, because the install command adds it.
func (c Change) Writable() bool {
	work := c.Kind == KindDrift || c.Kind == KindNotProgrammed || c.Kind == KindConflict
	return work && c.Blocked == ""
}
