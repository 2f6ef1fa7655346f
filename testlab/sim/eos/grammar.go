package eos

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// grammar holds the commands of all modes.
type grammar struct{ cli.Grammar[*exec] }

// action executes a matched command. It returns "", a warning that begins with "! ", or an error
// that begins with "% "; after an error nothing has changed.
type action = cli.Action[*exec]

type block = cli.Block

type value = cli.Value

// refusalText returns the box's answer to a line that it does not understand.
func refusalText(f cli.Misfit, w cli.Words) string {
	switch {
	case f.At >= len(w.Word):
		return "% Incomplete command"
	case f.Ambiguous:
		return fmt.Sprintf("%% Ambiguous command (at token %d: '%s')", f.At, cli.Clip(w.Word[f.At]))
	}
	return fmt.Sprintf("%% Invalid input (at token %d: '%s')", f.At, cli.Clip(w.Word[f.At]))
}
