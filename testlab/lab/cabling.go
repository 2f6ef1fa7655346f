package lab

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// wired is a switch whose link state depends on the settings of both ends.
type wired interface {
	Connect(port string, peer func() cli.Wire)
	Wire(port string) cli.Wire
}

// cable makes the switches see each other and the hosts over LLDP.
func (l *Lab) cable(f *intent.Fabric) {
	for _, link := range f.Links {
		for _, e := range [][2]intent.Endpoint{{link.A, link.B}, {link.B, link.A}} {
			if box := l.Switches[e[0].Device]; box != nil {
				box.SetNeighbor(e[0].Port, e[1].Device, announced(f, e[1]))
			}
			near, is := l.Switches[e[0].Device].(wired)
			if far, both := l.Switches[e[1].Device].(wired); is && both {
				near.Connect(e[0].Port, func() cli.Wire { return far.Wire(e[1].Port) })
			}
		}
	}
}

// announced returns the name of a port in its device's LLDP. SONiC announces the alias of the port
// (sonic-buildimage dockers/docker-lldp/lldpmgrd).
func announced(f *intent.Fabric, e intent.Endpoint) string {
	if sw := f.Switch(e.Device); sw != nil {
		if m, ok := catalog.ModelOf(sw.OS, sw.Model.V); ok {
			if p, ok := m.Port(e.Port); ok && p.Alias != "" {
				return p.Alias
			}
		}
	}
	return e.Port
}
