package fleet

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/cumulus"
	"github.com/roce-fabric/roce-fabric/drivers/eos"
	"github.com/roce-fabric/roce-fabric/drivers/nxos"
	"github.com/roce-fabric/roce-fabric/drivers/sonic"
	"github.com/roce-fabric/roce-fabric/render"
)

// Systems lists the supported switch operating systems, one per line.
var Systems = drivers.Systems{
	sonic.System,
	eos.System,
	nxos.System,
	cumulus.System,
}

// SystemOf returns the operating system of a switch. The intent accepts only those of
// [Systems].
func SystemOf(d *render.Device) drivers.System {
	s, _ := Systems.Find(d.Switch.OS)
	return s
}
