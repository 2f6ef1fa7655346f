package drivers

import (
	"context"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Stater is a Driver of a device that shows which states it is in by itself, such as a watchdog that
// has stopped a queue.
type Stater interface {
	// States returns the states that the device is in. ErrUnsupported means that it does not show
	// them.
	States(ctx context.Context) ([]State, error)
}

// State is a state of a device that ends by itself, and during which the device differs from its
// configuration, or will change it.
type State struct {
	Port string // "" for the whole device
	What string // "the PFC watchdog stops queue 3"
	Fix  string
	// Stopped is set if traffic does not pass meanwhile.
	Stopped bool
	// Fields are the attributes of the port that have other values in force meanwhile.
	Fields []qos.Attr
	// Settling is set if any value may not be in force yet.
	Settling bool
	// Reverts is set if the device will change its configuration back unless someone confirms it.
	Reverts bool
}
