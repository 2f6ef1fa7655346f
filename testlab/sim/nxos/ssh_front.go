package nxos

import (
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// front is the outside of a switch: the SSH and gNMI servers, their faults, and the environment
// of the switch.
type front struct {
	*cli.Front
	n      *NXOS
	o      Options
	faults *Faults
	world  *cli.World
}

func newFront(n *NXOS, o Options) (*front, error) {
	f := &front{n: n, o: o, faults: &Faults{}, world: n.World}
	var err error
	f.Front, err = cli.NewFront(cli.Config{Name: o.Hostname, Username: o.Username, Password: o.Password, Banner: o.Banner,
		TLS: o.TLS, HostKey: o.HostKey, Listen: o.Listen, NoSSH: o.NoSSH, NoGNMI: o.NoGNMI, Faults: &f.faults.Faults, Shuffler: &n.Dice, Shell: f.serveShell,
		Register: func(s *grpc.Server) { gnmi.RegisterGNMIServer(s, &gnmiServer{f: f}) }})
	return f, err
}
