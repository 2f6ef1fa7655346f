package eos

import (
	"google.golang.org/grpc"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// front holds the parts of a switch that clients reach: the SSH and the gNMI server, their faults,
// and the world around the box.
type front struct {
	*cli.Front
	e      *EOS
	o      Options
	faults *Faults
	world  *cli.World

	setLock chan struct{} // held during a Set, because a box executes one at a time
}

func newFront(e *EOS, o Options) (*front, error) {
	f := &front{e: e, o: o, world: e.World, setLock: make(chan struct{}, 1), faults: &Faults{}}
	var err error
	f.Front, err = cli.NewFront(cli.Config{Name: o.Hostname, Username: o.Username, Password: o.Password, Banner: o.Banner,
		TLS: o.TLS, HostKey: o.HostKey, Listen: o.Listen, NoSSH: o.NoSSH, NoGNMI: o.NoGNMI, Faults: &f.faults.Faults, Shuffler: &e.Dice, Shell: f.serveShell,
		Register: func(s *grpc.Server) { gnmi.RegisterGNMIServer(s, &gnmiServer{f: f}) }})
	return f, err
}
