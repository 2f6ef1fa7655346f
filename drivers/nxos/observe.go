package nxos

import (
	"context"
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/nxos/dme"
	"github.com/roce-fabric/roce-fabric/drivers/nxos/show"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
)

// Observe reads the state of all ports: over gNMI if the target has a gNMI server that knows the
// native model, and with show commands for the values still missing. A gNMI server that does not
// answer or lacks the model is not an error; SSH must answer. Values of commands that a release
// lacks, or whose output has an unknown form, are not set.
func (d *Driver) Observe(ctx context.Context) (*drivers.Observation, error) {
	return d.observe(ctx, append([]showCommand{
		{"show interface", show.Interfaces, lacksLink},
		{"show lldp neighbors", show.Neighbors, lacksNeighbors},
		{"show lldp neighbors detail", show.Neighbors, lacksNeighbors}, // includes the device names
	}, counterShows...))
}

// showCommand is a command and the decoder of its JSON output.
type showCommand struct {
	cmd  string
	into func([]byte, *drivers.Observation) error
	// lacks reports whether a port misses values that the command shows; nil if gNMI never
	// provides all of them.
	lacks func(*drivers.PortState) bool
}

// counterShows lists the commands that show counters.
var counterShows = []showCommand{
	{"show queuing interface", show.Queuing, nil}, // includes PFC frames of priorities without PFC
	{"show queuing tabular", show.Tabular, lacksECN},
	{"show queuing pfc-queue detail", show.Watchdog, nil},
}

func (d *Driver) observe(ctx context.Context, commands []showCommand) (*drivers.Observation, error) {
	o := d.overGNMI(ctx)
	for _, c := range commands {
		if c.lacks != nil && !lacking(o.read, c.lacks) {
			continue
		}
		if err := d.into(ctx, c.cmd, o.shown, c.into); err != nil {
			if d.noState != nil {
				err = fmt.Errorf("%w (over gNMI: %v)", err, d.noState)
			}
			return nil, err
		}
	}
	complete(o.read, o.shown)
	return o.read, nil
}

// sources holds the observations over the two transports.
type sources struct {
	read  *drivers.Observation // over gNMI; empty without gNMI
	shown *drivers.Observation // with show commands
}

// overGNMI reads the state over gNMI. After one failure the driver no longer uses the server,
// because counters of the two transports must not alternate.
func (d *Driver) overGNMI(ctx context.Context) sources {
	none := func() *drivers.Observation {
		return &drivers.Observation{Taken: time.Now(), Ports: map[string]*drivers.PortState{}}
	}
	if d.t.GNMI.Address == "" || d.noState != nil {
		return sources{none(), none()}
	}
	o, err := d.readState(ctx)
	if err == nil {
		return sources{o, none()}
	}
	// A cancelled context says nothing about the server.
	if ctx.Err() == nil {
		d.noState = err
		if err := drivers.HangUp(&d.state); err != nil {
			d.noState = fmt.Errorf("%w, and %w", d.noState, err)
		}
	}
	return sources{none(), none()}
}

func (d *Driver) readState(ctx context.Context) (*drivers.Observation, error) {
	if d.state == nil {
		dialCtx, cancel := context.WithTimeout(ctx, d.dial)
		defer cancel()
		c, err := gnmi.Dial(dialCtx, d.t.GNMI)
		if err != nil {
			return nil, err
		}
		d.state = c
	}
	if !d.state.Capabilities().HasModel(dme.Model) {
		return nil, fmt.Errorf("%w: the gNMI server at %s has no model %s", drivers.ErrUnsupported, d.state.Addr(), dme.Model)
	}
	return dme.Observe(ctx, d.state)
}

// lacking reports whether there are no Ethernet ports, or one of them misses values.
// Port-channels have no queues, and seldom LLDP.
func lacking(o *drivers.Observation, lacks func(*drivers.PortState) bool) bool {
	seen := false
	for name, p := range o.Ports {
		if isPort(name) {
			seen = true
			if lacks(p) {
				return true
			}
		}
	}
	return !seen
}

// lacksLink ignores the speed of a port that is down, which has none.
func lacksLink(p *drivers.PortState) bool {
	return !p.AdminUp.Set || !p.OperUp.Set || !p.MTU.Set || p.OperUp.V && !p.Speed.Set
}

func lacksNeighbors(p *drivers.PortState) bool { return p.Neighbors == nil }

func lacksECN(p *drivers.PortState) bool {
	for id := range p.Counters {
		if id.Metric == drivers.QueueMarked {
			return false
		}
	}
	return true
}

// complete copies values that o lacks from another observation.
func complete(o, from *drivers.Observation) {
	for name, f := range from.Ports {
		p := o.Port(name)
		fill(&p.AdminUp, f.AdminUp)
		fill(&p.OperUp, f.OperUp)
		fill(&p.MTU, f.MTU)
		fill(&p.Speed, f.Speed)
		if p.Groups == nil {
			p.Groups = f.Groups
		}
		if p.Neighbors == nil {
			p.Neighbors = f.Neighbors
		}
		if p.Storms == nil {
			p.Storms = f.Storms
		}
		for id, n := range f.Counters {
			if _, known := p.Counters[id]; !known {
				p.Counters.Put(id, qos.Of(n))
			}
		}
	}
}

func fill[T any](dst *qos.Opt[T], v qos.Opt[T]) {
	if !dst.Set {
		*dst = v
	}
}
