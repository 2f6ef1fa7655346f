package intent

import (
	"slices"
	"strings"
)

// System is what is known of an operating system of switches before a driver
// talks to one. The rest of it is a record of package drivers, which holds this.
type System struct {
	// Name is what the intent calls it.
	Name string
	// Port is that of the management API, for an address that names none.
	Port string
	// BufferModel says that its switches have a buffer model to choose: they
	// compute headroom, or look it up.
	BufferModel bool
	// StrictFirst says that every strict queue is served before every weighted one. Of
	// other systems that is known of strict queues of a higher number alone.
	StrictFirst bool
}

// The systems of switches.
var (
	SONiC   = System{Name: "sonic", Port: "8080", BufferModel: true, StrictFirst: true}
	EOS     = System{Name: "eos", Port: "6030"}
	NXOS    = System{Name: "nxos", Port: "50051", StrictFirst: true}
	Cumulus = System{Name: "cumulus", Port: "8765"}

	systems = []System{SONiC, EOS, NXOS, Cumulus}
)

// Systems returns the names of all systems.
func Systems() (names []string) {
	for _, s := range systems {
		names = append(names, s.Name)
	}
	return names
}

// SystemOf returns the system that the intent calls by a name; an empty one for a
// name that it does not take.
func SystemOf(name string) System {
	if i := slices.IndexFunc(systems, func(s System) bool { return s.Name == name }); i >= 0 {
		return systems[i]
	}
	return System{}
}

// ofSystems fills in, in the tags of raw types, the names of the systems and their
// ports.
var ofSystems = func() *strings.Replacer {
	var names, ports []string
	for _, s := range systems {
		names, ports = append(names, s.Name), append(ports, s.Port+" for "+s.Name)
	}
	return strings.NewReplacer("{systems}", strings.Join(names, ","), "{ports}", strings.Join(ports, ", "))
}()
