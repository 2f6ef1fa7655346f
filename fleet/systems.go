package fleet

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/cumulus"
	"github.com/roce-fabric/roce-fabric/drivers/eos"
	"github.com/roce-fabric/roce-fabric/drivers/nxos"
	"github.com/roce-fabric/roce-fabric/drivers/sonic"
	"github.com/roce-fabric/roce-fabric/render"
)

// Systems are the switch systems: one line each.
var Systems = drivers.Systems{
	sonic.System,
	eos.System,
	nxos.System,
	cumulus.System,
}

// SystemOf returns the system of a switch of the intent, which takes no other.
func SystemOf(d *render.Device) drivers.System {
	s, _ := Systems.Find(d.Switch.OS)
	return s
}
