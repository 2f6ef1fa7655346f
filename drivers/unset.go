package drivers

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
)

// Why explains why a system does not get settings of the intent; "" if the only reason is that
// this tool does not write them on any system.
type Why struct{ Trimming, LoadBalancing string }

// Unset lists the stated forwarding settings of a switch that this tool does not write on any
// system: packet trimming and load balancing.
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
