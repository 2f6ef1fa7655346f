package engine

import (
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// entry is one line of the journal.
type entry struct {
	Time   time.Time `json:"time"`
	Device string    `json:"device,omitempty"`
	Event  string    `json:"event"` // "begin", "wave", "start", "undo", "down", "up", a State, "end"
	Steps  int       `json:"steps,omitempty"`
	// Changes lists the changes of a "start", with Ports listing the ports that go down for
	// them. Impact is the impact of its steps; nil in journals of older versions.
	Changes []Group     `json:"changes,omitempty"`
	Impact  *qos.Impact `json:"impact,omitempty"`
	// Kind is the kind of the device of a "start", see [DevicePlan.kind]. Gate is the gate
	// that an applied device has passed.
	Kind string           `json:"kind,omitempty"`
	Gate rollout.GateMode `json:"gate,omitempty"`
	// Wave is the wave that begins with a "wave", shortened by [Wave.Brief].
	Wave   *rollout.Wave  `json:"wave,omitempty"`
	Undo   *drivers.Token `json:"undo,omitempty"`
	Ports  []string       `json:"ports,omitempty"` // ports that are about to go "down", or are "up" again
	Error  string         `json:"error,omitempty"`
	Fabric string         `json:"fabric,omitempty"`
	// Journal is, in a "begin", the ID of this journal.
	Journal string `json:"journal,omitempty"`
	Intent  string `json:"intent,omitempty"`
	Base    string `json:"base,omitempty"` // digest of the state that a "start" found
	// Unit is the unit of the device, in a "start" and in the State of a device that nothing
	// was written to.
	Unit drivers.Unit `json:"unit,omitzero"`
	Path string       `json:"path,omitempty"` // absolute path of the intent
	Of   string       `json:"of,omitempty"`   // the run that this run rolls back
	By   string       `json:"by,omitempty"`   // who started the run: user@machine
	// Continues is the earlier, unfinished run that this run continues.
	Continues string `json:"continues,omitempty"`
	// Devices lists, in a "begin", the devices that the run is to change or check.
	Devices []string `json:"devices,omitempty"`
	// idle lists the devices of the run on which there is nothing to do. They are not written
	// to the journal.
	idle []string
}
