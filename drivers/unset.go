package drivers

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
)

// Unset names what an intent states of the forwarding of a switch: packet trimming and
// load balancing, which this tool writes on no system.
func Unset(sw *intent.Switch, system string) (out []string) {
	say := func(what string) {
		out = append(out, fmt.Sprintf("this tool does not set %s on %s: it stays as the switch has it", what, system))
	}
	if sw.Trimming != nil {
		say("packet trimming")
	}
	if sw.LoadBalancing != nil {
		say("load balancing")
	}
	return out
}
