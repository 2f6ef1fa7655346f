package cli

import (
	"errors"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Statements holds the lab's statements for faults that every switch with a [World] has: "fec PORT
// CODE" sets the FEC that the port uses.
var Statements = map[string]func(sim.Switch, []string) error{"fec": func(s sim.Switch, args []string) error {
	if len(args) != 2 {
		return errors.New("fec takes a port and a code")
	}
	s.(interface{ SetFEC(port, fec string) }).SetFEC(args[0], args[1])
	return nil
}}
