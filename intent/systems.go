package intent

import (
	"slices"
	"strings"
)

// System describes a switch operating system as far as it is known without a driver. The record
// in package drivers embeds it and adds the rest.
type System struct {
	// Name is the name used in the intent.
	Name string
	// Port is the port of the management API, for addresses without a port.
	Port string
	// BufferModel is true if the system offers a choice of buffer model: computing headroom or
	// looking it up.
	BufferModel bool
	// StrictFirst is true if the system serves every strict queue before every weighted one. On
	// other systems this is known only for strict queues with a higher number.
	StrictFirst bool
}

// Supported switch operating systems.
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

// SystemOf returns the system with this name; the zero System for an unknown name.
func SystemOf(name string) System {
	if i := slices.IndexFunc(systems, func(s System) bool { return s.Name == name }); i >= 0 {
		return systems[i]
	}
	return System{}
}

// ofSystems replaces the placeholders {systems} and {ports} in the tags of raw types by the
// systems' names and ports.
var ofSystems = func() *strings.Replacer {
	var names, ports []string
	for _, s := range systems {
		names, ports = append(names, s.Name), append(ports, s.Port+" for "+s.Name)
	}
	return strings.NewReplacer("{systems}", strings.Join(names, ","), "{ports}", strings.Join(ports, ", "))
}()
