// Package systems lists the supported switch operating systems. It is the only package of the
// fleet that knows them by name.
package systems

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/cumulus"
	"github.com/roce-fabric/roce-fabric/drivers/eos"
	"github.com/roce-fabric/roce-fabric/drivers/nxos"
	"github.com/roce-fabric/roce-fabric/drivers/sonic"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
)

// All lists the supported switch operating systems, one per line.
var All = drivers.Systems{
	sonic.System,
	eos.System,
	nxos.System,
	cumulus.System,
}

// Of returns the operating system of a switch. The intent accepts only those of [All].
func Of(d *render.Device) drivers.System {
	s, _ := All.Find(d.Switch.OS)
	return s
}

// Saved returns a driver for a switch that reads its configuration from text.
func Saved(sw *intent.Switch, text []byte) (*drivers.Saved, error) {
	s, _ := All.Find(sw.OS)
	return s.Saved(text, drivers.Target{Name: sw.Name, OS: sw.OS, Release: sw.Release.V, Model: sw.Model.V})
}

// Policy returns the limits for one switch: those of the intent, with the ports to other
// switches as uplinks.
func Policy(f *intent.Fabric, sw *intent.Switch) drivers.Policy {
	p := drivers.Policy{PortGroup: f.Rollout.PortGroup.V}
	for _, port := range sw.Ports {
		if port.Uplink() {
			p.Uplinks = append(p.Uplinks, port.Name)
		}
	}
	return p
}
