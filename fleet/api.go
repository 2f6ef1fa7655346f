package fleet

import (
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent"
)

// The types of this file belong to the API of this package. They are defined further down, where
// more packages need them.

type (
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

// WindowNow describes whether a maintenance window of the intent is open and until when,
// or when the next one opens. It returns "" for an intent without windows.
func WindowNow(f *intent.Fabric, now time.Time) string { return rollout.WindowNow(f, now) }
