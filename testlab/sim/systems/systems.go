// Package systems lists the simulated systems.
package systems

import (
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// All lists the records of the simulated systems, one per line.
var All = []sim.System{
	sonic.System,
	eos.System,
	nxos.System,
	cumulus.System,
}

// Of returns the system with a name of the intent; ok is false if there is none.
func Of(name string) (s sim.System, ok bool) {
	for _, s := range All {
		if s.Name == name {
			return s, true
		}
	}
	return sim.System{}, false
}
