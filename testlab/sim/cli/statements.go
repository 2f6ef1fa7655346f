package cli

import "github.com/roce-fabric/roce-fabric/testlab/sim"

// Statements holds the lab's statements for faults that every switch with a [World] has: "fec PORT
// CODE" sets the FEC that the port uses.
var Statements = map[string]sim.Statement{"fec": {Args: 2, Do: func(s sim.Switch, args []string) {
	s.(interface{ SetFEC(port, fec string) }).SetFEC(args[0], args[1])
}}}
