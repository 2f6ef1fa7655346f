// Package inventory reads what an inventory says of a fabric: exports of NetBox and
// Nautobot (the REST lists and the answers of GraphQL) and containerlab topologies. It
// says which devices there are, what they are, and which cable joins which ports.
//
// Files are added to a [Reader] one by one, in any order and number; [Reader.Finish]
// resolves what refers to what, follows cables through patch panels, and names
// systems, models and ports as this tool does. What it cannot place it says, with the
// file, the line and the place in the JSON, and leaves out.
//
// The package does no I/O and asks no device. Do not compare with what devices run
// here: that is package derive.
package inventory

import (
	"fmt"
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// The bounds of an inventory.
const (
	// MaxFile is the size of the largest file, in bytes; MaxBytes that of all files.
	MaxFile  = 256 << 20
	MaxBytes = 1 << 30
	// maxObjects is how many objects all files may hold.
	maxObjects = 4_000_000
	// maxHops is how many cables a path through patch panels may have.
	maxHops = 64
)

// Inventory is what all files say together.
type Inventory struct {
	Switches []Switch
	Hosts    []derive.Host
	// Cables are those between switches, and between switches and hosts, each with its
	// place as its source.
	Cables []derive.Cable
	// Recorded has the place of each device, also of those that are left out, by its
	// name in lower case.
	Recorded map[string]string
	// Unclear has the ports of switches ("leaf1/Ethernet1") and the pairs of devices
	// ("leaf1 gpu1", in order) whose cables the inventory has and could not be followed.
	Unclear map[string]bool
	// Assumed is what was taken for granted, and LeftOut what is not imported.
	Assumed, LeftOut []derive.Note
}

// Switch is a switch of the inventory.
type Switch struct {
	Name, OS, Role string
	// Model is that of the catalogue, else as the inventory has it; "" for unknown.
	// Recorded is always as the inventory has it.
	Model, Recorded string
	// Taken says why Model is not Recorded, and Doubt why it is not of the catalogue:
	// both count where the switch does not tell.
	Taken, Doubt string
	Address      string // a host; "" for none
	Place        string
	// Ports are those that the model has and that cables name.
	Ports []Port
}

// Port is a port of a switch.
type Port struct {
	Name  string
	Speed units.Rate // 0 for unknown
	LAG   string     // "" for none
}

// place is where an object stands.
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

// Error is a fault of a file.
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
