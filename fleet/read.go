package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// The bounds of the reading of one switch, and of one host: the program may have to
// be copied there first, and a card takes its tool 20 seconds to read.
const (
	readTimeout = 2 * time.Minute
	hostTimeout = 10 * time.Minute
)

// ReadOptions tune the reading of many devices.
type ReadOptions struct {
	// Workers is how many devices are read at a time; 0 is one.
	Workers int
	// History is that of [Reader].
	History *History
	// Progress is called as the work goes on; nil is silence.
	Progress Progress
}

// Reading is what one read of a device gave.
type Reading struct {
	Device string
	Where  string // the line of the intent
	// Err says why the device could not be read; nothing else counts then.
	Err *Error

	Switch   *validate.Result   // of a switch
	Findings []validate.Finding // of a host
	Host     *nic.Host          // what hosts are compared by; nil for a switch
	Open     []nic.Problem      // what the intent leaves open on a host

	// Gate is what the gate has to know of the device, Sample what it counts;
	// nil where it shows no counters, or is not asked for them.
	Gate   gate.Device
	Sample *gate.Sample

	// nics are what the counters of a host are read by.
	nics *nic.Host
}

// Unread is the ID of the finding that a device could not be read.
const Unread = "READ"

// Unread is the finding that the device could not be read.
func (r *Reading) Unread() validate.Finding {
	return validate.Finding{ID: Unread, Severity: validate.Error, Device: r.Device, What: r.Err.Text, Where: r.Where, Fix: r.Err.Hint}
}

// Ends returns what an end of a link was last seen to run; it is not Known where
// its switch was not read.
type Ends func(intent.Endpoint) validate.End

// Reader reads devices of a fabric one at a time and compares each with the intent,
// as [Validate] does with all of them. Its methods may be called side by side.
type Reader struct {
	Fabric *Fabric
	Access *Access
	// History is of the runs over these devices: a switch that one was cut off at is
	// read once it has done what it was sent. nil is no history.
	History *History
	// Counters has the counters read as well.
	Counters bool
	// Once finds, without Counters, what a single reading of those of a switch shows.
	Once bool
	// Progress is told of a switch that is waited for; nil is silence.
	Progress Progress
}

// Read reads a device of the intent, a host with what the switch ends of its links
// run.
func (r *Reader) Read(ctx context.Context, device string, ends Ends) Reading {
	f := r.Fabric.Fabric()
	if sw := f.Switch(device); sw != nil {
		return r.readSwitch(ctx, sw)
	}
	return r.readHost(ctx, f.Host(device), ends)
}

func (r *Reader) readSwitch(ctx context.Context, sw *intent.Switch) Reading {
	out := Reading{Device: sw.Name, Where: sw.Pos.String()}
	d := r.Fabric.Device(sw)
	out.Err = NewError(sw.Name, OpRead, r.on(ctx, sw, func(ctx context.Context, drv drivers.Driver) error {
		h, err := configured(ctx, drv)
		if err != nil {
			return err
		}
		state := &validate.State{Unknown: h.unknown, Account: h.account, Identity: h.identity, LeftDown: r.History.left(sw.Name).Down}
		state.Recorded, state.RecordedBy = r.History.unit(sw.Name)
		switch {
		case h.seen != nil:
			state.Ports = h.seen.Ports
		case h.unseen != nil && !errors.Is(h.unseen, drivers.ErrUnsupported):
			return h.unseen
		}
		switch state.InForce, err = drv.Applied(ctx, d.Desired.AsRun(h.running).AndPaused(h.running)); {
		case errors.Is(err, drivers.ErrUnsupported), errors.Is(err, drivers.ErrNoState):
			state.NotInForce = unsupported(err)
		case err != nil:
			return err
		}
		if s, ok := drv.(drivers.Saver); ok {
			switch state.Unsaved, err = s.Unsaved(ctx); {
			case errors.Is(err, drivers.ErrUnsupported):
				state.NotSaved = unsupported(err)
			case err != nil:
				return err
			}
		}
		if r.Counters {
			out.Gate = validate.GateSwitch(d, h.running)
			if out.Sample, err = countPorts(ctx, drv, &out.Gate); err != nil {
				return err
			}
		}
		if r.Once && !r.Counters {
			out.Findings = countOnce(ctx, drv, d, h)
		}
		out.Switch = validate.Switch(d, h.running, validate.Running, state)
		return nil
	}))
	return out
}

// countOnce is what one reading of the counters of a switch shows. That it cannot be made
// leaves the configuration judged.
func countOnce(ctx context.Context, drv drivers.Driver, d *render.Device, h configuration) []validate.Finding {
	g := validate.GateSwitch(d, h.running)
	ports := natural.Keys(g.Ports)
	var c *drivers.Counters
	if h.seen != nil {
		c = drivers.CountersOf(h.seen, ports, 0)
	}
	if p, ok := drv.(drivers.Pauser); ok && (c == nil || len(c.Ports) == 0) {
		var err error
		if c, err = p.Pauses(ctx, ports); err != nil && !errors.Is(err, drivers.ErrUnsupported) {
			return []validate.Finding{{ID: Unread, Severity: validate.Info, Device: g.Name, Where: d.Switch.Pos.String(), What: fmt.Sprintf("the counters could not be read: %v", err),
				Unchecked: "pauses on lossy priorities", Because: "the counters could not be read", NotMade: []string{gate.PauseBefore}}}
		}
	}
	if c == nil {
		return nil
	}
	return validate.Counted(d.Switch, g, gate.Sample{Device: g.Name, Counters: c})
}

// on opens a switch, waits until it has done what a run that was cut off sent it,
// and has it read in time.
func (r *Reader) on(ctx context.Context, sw *intent.Switch, read func(context.Context, drivers.Driver) error) error {
	drv, err := r.Access.open(ctx, sw, true)
	if err != nil {
		return err
	}
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	if left := r.History.left(sw.Name); left.CutOff != nil {
		if err := r.Progress.settle(ctx, Validating, drv, sw.Name, left); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return read(ctx, drv)
}

// configuration is what a switch says of itself.
type configuration struct {
	facts   drivers.Facts
	running *qos.Device
	// identity is what the switch shows of itself.
	identity drivers.Identity
	unknown  []drivers.Unknown
	account  func() []render.Line
	// plan works out what the switch would be sent. It does no I/O.
	plan   func(drivers.Desired, drivers.Policy) (*drivers.Steps, error)
	seen   *drivers.Observation // of its links; nil where it shows nothing of them,
	unseen error                // and why that is
}

// configured reads what a switch is configured to do, and completes it with what the
// switch shows of its links.
func configured(ctx context.Context, drv drivers.Driver) (c configuration, err error) {
	if c.facts, err = drv.Probe(ctx); err != nil {
		return c, err
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		return c, err
	}
	model, err := drivers.Model(drv)
	if err != nil {
		return c, err
	}
	c.running, c.unknown = model.Decode(snap)
	c.identity = drivers.IdentityOf(drv, c.facts, snap)
	c.account = func() []render.Line { return model.Account(snap) }
	c.plan = func(desired drivers.Desired, p drivers.Policy) (*drivers.Steps, error) {
		return drv.Plan(c.facts, snap, desired, p)
	}
	if o, ok := drv.(drivers.Observer); ok {
		if c.seen, c.unseen = o.Observe(ctx); c.unseen != nil {
			c.seen = nil
		} else {
			c.seen.Complete(c.running)
		}
	}
	return c, nil
}

// unsupported says why a switch does not show something, without what marks the
// error.
func unsupported(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), drivers.ErrUnsupported.Error()+": "), drivers.ErrNoState.Error()+": ")
}

// readHost compares a host with the intent and with what the switch ends of its
// links run.
func (r *Reader) readHost(ctx context.Context, h *intent.Host, ends Ends) Reading {
	f := r.Fabric.Fabric()
	out := Reading{Device: h.Name, Where: h.Pos.String()}
	var desired *nic.Host
	desired, out.Open = nic.Desired(f, h)
	out.Err = NewError(h.Name, OpRead, r.onHost(ctx, h, desired, func(ctx context.Context, drv *host.Driver) error {
		running, err := drv.Running(ctx)
		if err != nil {
			return err
		}
		recorded, run := r.History.unit(h.Name)
		out.Findings = append(validate.HostIdentity(f, h, validate.Evidence{Identity: host.Identity(running), Recorded: recorded, Run: run}),
			validate.Host(f, h, running, desired, ends)...)
		out.Host = sharedTraits(running, desired)
		if r.Counters {
			out.Gate, out.nics = validate.GateHost(f, h), countedBy(running)
			out.Sample, err = countNICs(ctx, drv, out.nics)
		}
		return err
	}))
	return out
}

// onHost opens a host and has it read in time.
func (r *Reader) onHost(ctx context.Context, h *intent.Host, desired *nic.Host, read func(context.Context, *host.Driver) error) error {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	drv := r.Access.host(r.Fabric.Fabric(), h, desired)
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	return read(ctx, drv)
}

// recount reads the counters of a device once more.
func (r *Reader) recount(ctx context.Context, first Reading) Reading {
	out := Reading{Device: first.Device, Where: first.Where, Host: first.Host}
	f := r.Fabric.Fabric()
	var err error
	if sw := f.Switch(first.Device); sw != nil {
		err = r.on(ctx, sw, func(ctx context.Context, drv drivers.Driver) (err error) {
			out.Sample, err = countPorts(ctx, drv, &first.Gate)
			return err
		})
	} else {
		err = r.onHost(ctx, f.Host(first.Device), first.nics, func(ctx context.Context, drv *host.Driver) (err error) {
			out.Sample, err = countNICs(ctx, drv, first.nics)
			return err
		})
	}
	out.Err = NewError(first.Device, OpRead, err)
	return out
}

// sharedTraits keeps of a host what [validate.Hosts] looks at, of the ports that
// the intent lists.
func sharedTraits(running, desired *nic.Host) *nic.Host {
	out := &nic.Host{Name: running.Name, Ports: map[string]*nic.Port{}}
	for name := range desired.Ports {
		if p := running.Ports[name]; p != nil {
			out.Ports[name] = &nic.Port{
				Name: p.Name, RDMA: p.RDMA, Driver: p.Driver, Vendor: p.Vendor, Device: p.Device, VF: p.VF,
				Firmware: p.Firmware, DriverVersion: p.DriverVersion, DCQCN: p.DCQCN, ActiveMTU: p.ActiveMTU,
			}
		}
	}
	return out
}

// countedBy keeps of a host what its counters are read by.
func countedBy(h *nic.Host) *nic.Host {
	out := &nic.Host{Name: h.Name, Ports: map[string]*nic.Port{}}
	for name, p := range h.Ports {
		out.Ports[name] = &nic.Port{Name: p.Name, RDMA: p.RDMA, RDMAPort: p.RDMAPort, Driver: p.Driver}
	}
	return out
}

// countPorts reads the counters of a switch's ports; nil where it shows none.
func countPorts(ctx context.Context, drv drivers.Driver, d *gate.Device) (*gate.Sample, error) {
	m, ok := drv.(drivers.Meter)
	if !ok {
		return nil, nil
	}
	c, err := m.Counters(ctx, natural.Keys(d.Ports))
	if errors.Is(err, drivers.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the counters: %w", err)
	}
	return &gate.Sample{Device: d.Name, Counters: c}, nil
}

// countNICs reads the counters of a host's NICs.
func countNICs(ctx context.Context, d *host.Driver, h *nic.Host) (*gate.Sample, error) {
	m, err := d.Machine(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.Counters(ctx, h); err != nil {
		return nil, fmt.Errorf("read the counters: %w", err)
	}
	return &gate.Sample{Device: h.Name, Counters: gate.OfHost(h, time.Now())}, nil
}

// Notify keeps a subscription to a switch that can say that it changed, until ctx
// ends or it breaks; see [drivers.Notifier].
func (r *Reader) Notify(ctx context.Context, device string, ready, changed func()) error {
	drv, err := r.Access.open(ctx, r.Fabric.Fabric().Switch(device), true)
	if err != nil {
		return err
	}
	// A session that does not close cleanly changes nothing about what was said.
	defer func() { _ = drv.Close() }()
	n, ok := drv.(drivers.Notifier)
	if !ok {
		return fmt.Errorf("%s: %w: it does not say that it changed", device, drivers.ErrUnsupported)
	}
	return n.Notify(ctx, ready, changed)
}
