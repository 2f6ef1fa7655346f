package cli

import "github.com/roce-fabric/roce-fabric/testlab/sim"

// FEC is the lab's statement "fec PORT CODE", which sets the FEC that a port uses, of every switch
// with a [World].
var FEC = sim.Statement{Args: 2, Do: func(s sim.Switch, args []string) {
	s.(interface{ SetFEC(port, fec string) }).SetFEC(args[0], args[1])
}}
