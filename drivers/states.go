package drivers

import (
	"context"
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Stater is a Driver of a device that shows which states it is in by itself, such as a commit timer
// that is running.
type Stater interface {
	// States returns the states that the device is in, besides those in its [Observation].
	// ErrUnsupported means that it does not show them.
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

// Storm says what the PFC watchdog does with a queue that it finds stuck.
type Storm int

// The stages of a storm.
const (
	StormCounted Storm = iota // a storm is counted, its end is not
	StormNear                 // the watchdog stops the queue if the pauses last
	StormStopped              // the queue is stopped
)

// storms describes each stage of a storm for users.
var storms = map[Storm]struct {
	what, fix string // what is formatted with the queue
}{
	StormCounted: {"the PFC watchdog has counted a storm on queue %d and not its end: the queue may be stopped",
		"look for the device at the other end that does not stop pausing; if the queue sends, clear the counters of the watchdog"},
	StormNear: {"the PFC watchdog is about to stop queue %d: the port receives pauses without end",
		"look for the device at the other end that does not stop pausing"},
	StormStopped: {"the PFC watchdog has stopped queue %d: the port received pauses without end, and packets of the queue are lost until they stop",
		"look for the device at the other end that does not stop pausing; the switch restores the queue by itself"},
}

// States returns the states that the ports of a device are in by themselves.
func (o *Observation) States() (out []State) {
	if o == nil {
		return nil
	}
	for _, port := range natural.Keys(o.Ports) {
		for q := range qos.NumPriorities {
			if stage, ok := o.Ports[port].Storms[q]; ok {
				out = append(out, State{Port: port, What: fmt.Sprintf(storms[stage].what, q), Fix: storms[stage].fix, Stopped: stage == StormStopped})
			}
		}
	}
	return out
}
