package nxos

import (
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// front is what clients reach of a switch: the SSH and the gNMI server, the
// faults of both, and the world around the box.
type front struct {
	*cli.Front
	n      *NXOS
	o      Options
	faults *Faults
	world  *cli.World
}

func newFront(n *NXOS, o Options) (*front, error) {
	f := &front{n: n, o: o, faults: &Faults{}, world: cli.NewWorld()}
	var err error
	f.Front, err = cli.NewFront(cli.Config{Name: o.Hostname, Username: o.Username, Password: o.Password, Banner: o.Banner,
		TLS: o.TLS, HostKey: o.HostKey, NoSSH: o.NoSSH, NoGNMI: o.NoGNMI, Faults: &f.faults.Faults, Shuffler: &n.dice, Shell: f.serveShell,
		Register: func(s *grpc.Server) { gnmi.RegisterGNMIServer(s, &gnmiServer{f: f}) }})
	return f, err
}

// CAPEM is the certificate that a client trusts to reach the gNMI server, as
// PEM; nil where there is no such server.
func (n *NXOS) CAPEM() []byte { return n.front.CAPEM() }

// MostSessions are the largest numbers of connections to each of the two
// servers that there were at once.
func (n *NXOS) MostSessions() (gnmi, ssh int) { return n.front.MostSessions() }

// SetNeighbor says which port of which device LLDP sees on a port, by its full
// name ("Ethernet1/1"). An empty device takes the neighbour away.
func (n *NXOS) SetNeighbor(port, device, remotePort string) {
	n.front.world.SetNeighbor(port, device, remotePort)
}

// Unplug takes the cable out of a port, by its full name, or puts it in again.
func (n *NXOS) Unplug(port string, out bool) { n.front.world.Unplug(port, out) }

// SetCounter sets a counter of a port, by its full name. queue is the egress
// queue, which is the qos-group, for pfc-rx and pfc-tx the priority, 0 to 7.
// name is pfc-rx, pfc-tx (frames), tx-pkts, tx-octets, drop-pkts, drop-octets,
// ecn-marked (packets), wd-stuck or wd-recovery (times). Another name or queue
// is a slip of the caller and panics.
func (n *NXOS) SetCounter(port string, queue int, name string, value uint64) {
	n.front.world.Tally.Set(port, queue, name, value)
}

// Counters are what the ports count: [NXOS.SetCounter] and more.
func (n *NXOS) Counters() *sim.Tally { return &n.front.world.Tally }
