// Package inventory reads descriptions of a fabric: exports of NetBox and Nautobot (REST lists and
// GraphQL answers), structured configurations of arista.avd and containerlab topologies. The result
// says which devices exist, what they are, and which cables connect which ports.
//
// Files are added to a [Reader] one by one, in any order and number. [Reader.Finish] resolves
// references, follows cables through patch panels, and translates systems, models and ports to the
// names used by this tool. Objects that it cannot resolve are left out and reported with file, line
// and position in the JSON.
//
// The package does no I/O and queries no device. Comparing the result with running devices is the
// task of package derive.
package inventory

import (
	"fmt"
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// The limits for an inventory.
const (
	// MaxFile is the maximum size of one file, in bytes; MaxBytes the maximum of all files.
	MaxFile  = 256 << 20
	MaxBytes = 1 << 30
	// maxObjects is the maximum number of objects in all files.
	maxObjects = 4_000_000
	// maxHops is the maximum number of cables on a path through patch panels.
	maxHops = 64
)

// Inventory is the combined result of all files.
type Inventory struct {
	Switches []Switch
	Hosts    []derive.Host
	// Cables holds the cables between switches, and between switches and hosts. Source is the place
	// in the files.
	Cables []derive.Cable
	// Recorded gives the place of each device, including those left out, by its name in lower case.
	Recorded map[string]string
	// Unclear holds the switch ports ("leaf1/Ethernet1") and the pairs of devices ("leaf1 gpu1", in
	// order) whose cables are in the inventory but could not be followed.
	Unclear map[string]bool
	// Assumed lists assumptions, LeftOut what is not imported.
	Assumed, LeftOut []derive.Note
}

// Switch is a switch of the inventory.
type Switch struct {
	Name, OS, Role string
	// Model is the name in the catalogue, else the name in the inventory; "" if unknown. Recorded
	// is always the name in the inventory.
	Model, Recorded string
	// Taken explains why Model differs from Recorded, and Doubt why it is not in the catalogue.
	// Both matter only if the switch itself does not report its model.
	Taken, Doubt string
	Address      string // a host; "" if none
	Place        string
	// Ports are the ports of the model and those that cables name.
	Ports []Port
}

// Port is a port of a switch.
type Port struct {
	Name  string
	Speed units.Rate // 0 if unknown
	LAG   string     // "" if none
}

// place is the position of an object in the files.
type place struct {
	file, list string // "cables.json", "results"
	line, i    int
}

func (p place) String() string {
	s := p.file
	if p.line > 0 {
		s += ":" + strconv.Itoa(p.line)
	}
	if p.list != "" {
		s += " " + p.list + "[" + strconv.Itoa(p.i) + "]"
	}
	return s
}

// Error is an error in a file.
type Error struct {
	Place string
	Msg   string
	Tip   string
}

func (e *Error) Error() string { return e.Place + ": " + e.Msg }

// Hint returns the advice.
func (e *Error) Hint() string { return e.Tip }

func faultf(at fmt.Stringer, tip, format string, a ...any) error {
	return &Error{Place: at.String(), Msg: fmt.Sprintf(format, a...), Tip: tip}
}
