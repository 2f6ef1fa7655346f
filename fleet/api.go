package fleet

import (
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
)

// The types of this file belong to the API of this package. They are defined further down, where
// more packages need them.

type (
	OptionError = input.OptionError

	Rollout  = rollout.Rollout
	Wave     = rollout.Wave
	Together = rollout.Together
	Seen     = rollout.Seen
	Interim  = rollout.Interim
	GateMode = rollout.GateMode
)

// The modes of the gate.
const (
	GateOff   = rollout.GateOff
	GateQuick = rollout.GateQuick
	GateFull  = rollout.GateFull
)

// Unread is the ID of the finding for a device that could not be read.
const Unread = rollout.Unread

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
