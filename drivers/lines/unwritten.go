package lines

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Unwritten lists the stated settings of a switch that this tool does not write on a system.
// Package render/lines removes them from the ports.
func Unwritten(sw *intent.Switch, system string) []string {
	var ports []string
	for _, p := range sw.Ports {
		if p.FEC.V != "" {
			ports = append(ports, p.Name)
		}
	}
	out := drivers.Unset(sw, system, drivers.Why{})
	if len(ports) > 0 {
		out = append(out, fmt.Sprintf("this tool does not set FEC on %s: that of %s stays as the switch has it", system, natural.Fold(ports)))
	}
	return out
}
