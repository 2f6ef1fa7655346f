package eos

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// grammar is the commands of all modes.
type grammar struct{ cli.Grammar[*exec] }

// action carries a matched command out. It returns "", "! " and a warning, or
// "% " and an error, in which case it has changed nothing.
type action = cli.Action[*exec]

type block = cli.Block

type value = cli.Value

// say is the box's answer to a line that it does not understand.
func say(f cli.Misfit, w cli.Words) string {
	switch {
	case f.At >= len(w.Word):
		return "% Incomplete command"
	case f.Ambiguous:
		return fmt.Sprintf("%% Ambiguous command (at token %d: '%s')", f.At, cli.Clip(w.Word[f.At]))
	}
	return fmt.Sprintf("%% Invalid input (at token %d: '%s')", f.At, cli.Clip(w.Word[f.At]))
}
