package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/counters"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// hostTimeout is the timeout for reading one host. This program may have to be copied to the
// host first, and reading a card with its tool takes 20 seconds.
const hostTimeout = 10 * time.Minute

// The phases of a validation: read the devices, wait for the end of the window, and read
// the counters again.
const (
	Validating Phase = "validate"
	Waiting    Phase = "wait"
	Recounting Phase = "window"
)

// ReadOptions are the options for reading many devices.
type ReadOptions struct {
	// Workers is how many devices are read at a time; 0 is one.
	Workers int
	// History is passed to [Reader].
	History *History
	// Progress is called with each event; may be nil.
	Progress Progress
}

// Reading is the result of reading a device once.
type Reading struct {
	Device string
	Where  string // position of the device in the intent
	// Err is why the device could not be read; if it is set, ignore all other fields.
	Err *Error

	Switch   *validate.Result // result for a switch
	Findings []checks.Finding // findings for a host, and about the counters of a switch
	Host     *nic.Host        // traits that are compared between hosts; nil for a switch
	Open     []nic.Problem    // settings that the intent leaves open on a host

	// Gate describes the device to the gate, and Sample holds its counters. Sample is nil if
	// the device shows no counters or they were not requested.
	Gate   gate.Device
	Sample *gate.Sample

	// nics holds what is needed to read the counters of a host again.
	nics *nic.Host
}

// Unread returns the finding that the device could not be read. Its address is a field, so that the
// same fault of many devices is one cause.
func (r *Reading) Unread() checks.Finding {
	what, address := apartFromAddress(r.Err.Text)
	return checks.Finding{ID: Unread, Severity: checks.Error, Device: r.Device, Address: address, What: what, Where: r.Where, Fix: r.Err.Hint}
}

// addressed matches an address in an error, with the operation before it.
var addressed = lazyre.New(`(?:(?:connect|get|dial tcp) )?((?:\[[0-9a-fA-F:.%]+\]|[\w-]+(?:\.[\w-]+)+|localhost):\d{1,5}): `)

// apartFromAddress returns an error without the addresses in it, and the first of them.
func apartFromAddress(text string) (what, address string) {
	if m := addressed.FindStringSubmatch(text); m != nil {
		address = m[1]
	}
	what = addressed.ReplaceAllString(text, "")
	return strings.Replace(what, "unreachable: device is unreachable: ", "unreachable: ", 1), address
}

// Ends returns the last known state of a switch end of a link. The state is not Known if the
// switch was not read.
type Ends func(intent.Endpoint) checks.End

// Reader reads devices of a fabric one at a time and compares each with the intent, as
// [Validate] does for all of them. Its methods are safe for concurrent use.
type Reader struct {
	Fabric *Fabric
	Access *Access
	// History is the history of runs on these devices. If a run was cut off at a switch, the
	// switch is read only after it has processed the writes of that run. May be nil.
	History *History
	// Counters makes Read read the counters too.
	Counters bool
	// Once, without Counters, reports what a single reading of a switch's counters shows.
	Once bool
	// Progress is called while the Reader waits for a switch; may be nil.
	Progress Progress
}

// Read reads a device of the intent. For a host, ends returns the state of the switch ends of
// its links.
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
	out.Err = NewError(sw.Name, OpRead, r.withSwitch(ctx, sw, func(ctx context.Context, drv drivers.Driver) error {
		h, err := engine.ReadConfiguration(ctx, drv)
		if err != nil {
			return err
		}
		state := &checks.State{Unknown: h.Unknown, Account: h.Account, Identity: h.Identity, LeftDown: r.History.Down(sw.Name)}
		state.Recorded, state.RecordedBy = r.History.UnitOf(sw.Name)
		switch {
		case h.Seen != nil:
			state.Ports = h.Seen.Ports
		case h.Unseen != nil && !errors.Is(h.Unseen, drivers.ErrUnsupported):
			return h.Unseen
		}
		switch state.InForce, err = drv.Applied(ctx, d.Desired.AsRun(h.Running).AndPaused(h.Running)); {
		case errors.Is(err, drivers.ErrUnsupported), errors.Is(err, drivers.ErrNoState):
			state.NotInForce = unsupported(err)
		case err != nil:
			return err
		}
		if state.Own, err = statesOf(ctx, drv); err != nil {
			return err
		}
		state.Own = append(state.Own, h.Seen.States()...)
		if s, ok := drv.(drivers.Saver); ok {
			switch state.Unsaved, err = s.Unsaved(ctx); {
			case errors.Is(err, drivers.ErrUnsupported):
				state.NotSaved = unsupported(err)
			case err != nil:
				return err
			}
		}
		if r.Counters {
			out.Gate = counters.GateSwitch(d, h.Running)
			if out.Sample, err = countPorts(ctx, drv, &out.Gate); err != nil {
				return err
			}
		}
		if r.Once && !r.Counters {
			out.Findings = countOnce(ctx, drv, d, h)
		}
		out.Switch = validate.Switch(d, h.Running, checks.Running, state)
		return nil
	}))
	return out
}

// statesOf returns the states that a device is in by itself, as far as its driver reads them.
func statesOf(ctx context.Context, drv drivers.Driver) ([]drivers.State, error) {
	s, ok := drv.(drivers.Stater)
	if !ok {
		return nil, nil
	}
	states, err := s.States(ctx)
	if errors.Is(err, drivers.ErrUnsupported) {
		return nil, nil
	}
	return states, err
}

// countOnce returns the findings from a single reading of the counters of a switch. If the
// counters cannot be read, that is a finding too, so that the configuration is still judged.
func countOnce(ctx context.Context, drv drivers.Driver, d *render.Device, h engine.Configuration) []checks.Finding {
	g := counters.GateSwitch(d, h.Running)
	ports := natural.Keys(g.Ports)
	var c *drivers.Counters
	if h.Seen != nil {
		c = drivers.CountersOf(h.Seen, ports, 0)
	}
	if p, ok := drv.(drivers.Pauser); ok && (c == nil || len(c.Ports) == 0) {
		var err error
		if c, err = p.Pauses(ctx, ports); err != nil && !errors.Is(err, drivers.ErrUnsupported) {
			return []checks.Finding{{ID: Unread, Severity: checks.Info, Device: g.Name, Where: d.Switch.Pos.String(), What: fmt.Sprintf("the counters could not be read: %v", err),
				Unchecked: "pauses on lossy priorities", Because: "the counters could not be read", NotMade: []string{gate.PauseBefore}}}
		}
	}
	if c == nil {
		return nil
	}
	return counters.Counted(d.Switch, g, gate.Sample{Device: g.Name, Counters: c})
}

// Running reads the configurations of the switches of a fabric as they run, by name. It fails if one
// of them cannot be read.
func Running(ctx context.Context, f *Fabric, at *Access, o ReadOptions) (map[string]*qos.Device, error) {
	defer o.Progress.Phase(Validating, len(f.Switches))()
	r := Reader{Fabric: f, Access: at, History: o.History, Progress: o.Progress}
	type read struct {
		name    string
		running *qos.Device
		err     *Error
	}
	out := map[string]*qos.Device{}
	err := pool.Ordered(ctx, o.Workers, f.Switches, func(ctx context.Context, sw *intent.Switch) (x read) {
		o.Progress.Report(Event{Kind: DeviceBegins, Phase: Validating, Device: sw.Name})
		x.name = sw.Name
		x.err = NewError(sw.Name, OpRead, r.withSwitch(ctx, sw, func(ctx context.Context, drv drivers.Driver) error {
			c, err := engine.ReadConfiguration(ctx, drv)
			x.running = c.Running
			return err
		}))
		return x
	}, func(x read) error {
		o.Progress.Report(Event{Kind: DeviceEnds, Phase: Validating, Device: x.name, Error: x.err})
		if x.err != nil {
			return x.err
		}
		out[x.name] = x.running
		return nil
	})
	return out, err
}

// withSwitch connects to a switch, waits until it has processed the writes of a run that was cut
// off, and calls read with a timeout.
func (r *Reader) withSwitch(ctx context.Context, sw *intent.Switch, read func(context.Context, drivers.Driver) error) error {
	drv, err := r.Access.open(ctx, sw, true)
	if err != nil {
		return err
	}
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	if err := r.History.Settle(ctx, r.Progress, Validating, drv, sw.Name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, engine.ReadTimeout)
	defer cancel()
	return read(ctx, drv)
}

// unsupported returns the text of an error without the prefix of ErrUnsupported or ErrNoState.
func unsupported(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), drivers.ErrUnsupported.Error()+": "), drivers.ErrNoState.Error()+": ")
}

// readHost reads a host and compares it with the intent and with the state of the switch ends
// of its links.
func (r *Reader) readHost(ctx context.Context, h *intent.Host, ends Ends) Reading {
	f := r.Fabric.Fabric()
	out := Reading{Device: h.Name, Where: h.Pos.String()}
	var desired *nic.Host
	desired, out.Open = nic.Desired(f, h)
	out.Err = NewError(h.Name, OpRead, r.withHost(ctx, h, desired, func(ctx context.Context, drv *host.Driver) error {
		running, err := drv.Running(ctx)
		if err != nil {
			return err
		}
		recorded, run := r.History.UnitOf(h.Name)
		out.Findings = append(identity.CheckHost(f, h, identity.Evidence{Identity: host.Identity(running), Recorded: recorded, Run: run}),
			validate.Host(f, h, running, desired, ends)...)
		out.Host = sharedTraits(running, desired)
		if r.Counters {
			out.Gate, out.nics = counters.GateHost(f, h), countedBy(running)
			out.Sample, err = countNICs(ctx, drv, out.nics)
		}
		return err
	}))
	return out
}

// withHost connects to a host and calls read with a timeout.
func (r *Reader) withHost(ctx context.Context, h *intent.Host, desired *nic.Host, read func(context.Context, *host.Driver) error) error {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	drv := r.Access.host(r.Fabric.Fabric(), h, desired)
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	return read(ctx, drv)
}

// recount reads the counters of a device again.
func (r *Reader) recount(ctx context.Context, first Reading) Reading {
	out := Reading{Device: first.Device, Where: first.Where, Host: first.Host}
	f := r.Fabric.Fabric()
	var err error
	if sw := f.Switch(first.Device); sw != nil {
		err = r.withSwitch(ctx, sw, func(ctx context.Context, drv drivers.Driver) (err error) {
			out.Sample, err = countPorts(ctx, drv, &first.Gate)
			return err
		})
	} else {
		err = r.withHost(ctx, f.Host(first.Device), first.nics, func(ctx context.Context, drv *host.Driver) (err error) {
			out.Sample, err = countNICs(ctx, drv, first.nics)
			return err
		})
	}
	out.Err = NewError(first.Device, OpRead, err)
	return out
}

// sharedTraits returns the traits of a host that [validate.Hosts] compares, for the ports in
// the intent.
func sharedTraits(running, desired *nic.Host) *nic.Host {
	out := &nic.Host{Name: running.Name, Ports: map[string]*nic.Port{}}
	for name := range desired.Ports {
		if p := running.Ports[name]; p != nil {
			out.Ports[name] = &nic.Port{
				Name: p.Name, RDMA: p.RDMA, Driver: p.Driver, Vendor: p.Vendor, Device: p.Device, VF: p.VF,
				Firmware: p.Firmware, DriverVersion: p.DriverVersion, DCQCN: p.DCQCN, ActiveMTU: p.ActiveMTU,
				GIDs: p.GIDs, Reach: p.Reach,
			}
			if why := p.Missing[nic.FieldReach]; why != "" {
				out.Ports[name].Missing = map[string]string{nic.FieldReach: why}
			}
		}
	}
	return out
}

// countedBy returns the parts of a host that are needed to read its counters.
func countedBy(h *nic.Host) *nic.Host {
	out := &nic.Host{Name: h.Name, Ports: map[string]*nic.Port{}}
	for name, p := range h.Ports {
		out.Ports[name] = &nic.Port{Name: p.Name, RDMA: p.RDMA, RDMAPort: p.RDMAPort, Driver: p.Driver}
	}
	return out
}

// countPorts reads the counters of a switch's ports; it returns nil if the switch shows none.
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

// Notify subscribes to changes of a switch until ctx ends or the subscription breaks; see
// [drivers.Notifier]. It returns an error if the switch cannot report changes.
func (r *Reader) Notify(ctx context.Context, device string, ready, changed func()) error {
	drv, err := r.Access.open(ctx, r.Fabric.Fabric().Switch(device), true)
	if err != nil {
		return err
	}
	// A session that does not close cleanly changes nothing about what was reported.
	defer func() { _ = drv.Close() }()
	n, ok := drv.(drivers.Notifier)
	if !ok {
		return fmt.Errorf("%s: %w: it does not say that it changed", device, drivers.ErrUnsupported)
	}
	return n.Notify(ctx, ready, changed)
}
