package drivers

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
)

// Why says why a system is not given what an intent states; "" where there is no more to
// say than that this tool writes it on no system.
type Why struct{ Trimming, LoadBalancing string }

// Unset names what an intent states of the forwarding of a switch: packet trimming and
// load balancing, which this tool writes on no system.
func Unset(sw *intent.Switch, system string, why Why) (out []string) {
	say := func(what, why string) {
		if why != "" {
			why = "; " + why
		}
		out = append(out, fmt.Sprintf("this tool does not set %s on %s: it stays as the switch has it%s", what, system, why))
	}
	if sw.Trimming != nil {
		say("packet trimming", why.Trimming)
	}
	if sw.LoadBalancing != nil {
		say("load balancing", why.LoadBalancing)
	}
	return out
}
