package eos

import (
	"google.golang.org/grpc"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// front is what clients reach of a switch: the SSH and the gNMI server, the
// faults of both, and the world around the box.
type front struct {
	*cli.Front
	e      *EOS
	o      Options
	faults *Faults
	world  *cli.World

	setLock chan struct{} // a box carries out one Set at a time
}

func newFront(e *EOS, o Options) (*front, error) {
	f := &front{e: e, o: o, world: cli.NewWorld(), setLock: make(chan struct{}, 1), faults: &Faults{}}
	var err error
	f.Front, err = cli.NewFront(cli.Config{Name: o.Hostname, Username: o.Username, Password: o.Password, Banner: o.Banner,
		TLS: o.TLS, HostKey: o.HostKey, NoSSH: o.NoSSH, NoGNMI: o.NoGNMI, Faults: &f.faults.Faults, Shuffler: &e.dice, Shell: f.serveShell,
		Register: func(s *grpc.Server) { gnmi.RegisterGNMIServer(s, &gnmiServer{f: f}) }})
	return f, err
}

// CAPEM is the certificate that a client trusts to reach the gNMI server, as
// PEM; nil where there is no such server.
func (e *EOS) CAPEM() []byte { return e.front.CAPEM() }

// MostSessions are the largest numbers of connections to each of the two
// servers that there were at once.
func (e *EOS) MostSessions() (gnmi, ssh int) { return e.front.MostSessions() }

// SetNeighbor says which port of which device LLDP sees on a port, by its full
// name ("Ethernet1/1"). An empty device takes the neighbour away.
func (e *EOS) SetNeighbor(port, device, remotePort string) {
	e.front.world.SetNeighbor(port, device, remotePort)
}

// Unplug takes the cable out of a port, by its full name, or puts it in again.
func (e *EOS) Unplug(port string, out bool) { e.front.world.Unplug(port, out) }

// SetCounter sets a counter of a port, by its full name. queue is the unicast
// queue, for pfc-rx and pfc-tx the priority, 0 to 7. name is pfc-rx, pfc-tx
// (frames), tx-pkts, tx-octets, drop-pkts, drop-octets, ecn-marked (packets),
// wd-stuck or wd-recovery (times). Another name or queue is a slip of the
// caller and panics.
func (e *EOS) SetCounter(port string, queue int, name string, value uint64) {
	e.front.world.Tally.Set(port, queue, name, value)
}

// Counters are what the ports count: [EOS.SetCounter] and more.
func (e *EOS) Counters() *sim.Tally { return &e.front.world.Tally }
