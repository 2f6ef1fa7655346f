package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// maxWindow bounds a look at counters: what is to be watched for longer is not
// for a command that somebody waits for.
const maxWindow = 24 * time.Hour

// window is a look at what a fabric counts over a time.
type window struct {
	length   time.Duration
	devices  []gate.Device
	samples  []gate.Sample
	switches []*intent.Switch // whose counters were read at the start
	hosts    []*intent.Host
	nics     map[string]*nic.Host // what names the ports of those hosts
}

// start is what a device counted at the start of a window; nil where there is
// no window.
type start struct {
	device gate.Device
	// sample is nil where the device shows no counters.
	sample *gate.Sample
	nics   *nic.Host // of a host
}

// add takes in the start of a device.
func (w *window) add(s *start) bool {
	if s == nil {
		return false
	}
	w.devices = append(w.devices, s.device)
	if s.sample != nil {
		w.samples = append(w.samples, *s.sample)
	}
	return s.sample != nil
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

// countable keeps of a host what its counters are read by.
func countable(h *nic.Host) *nic.Host {
	out := &nic.Host{Name: h.Name, Ports: map[string]*nic.Port{}}
	for name, p := range h.Ports {
		out.Ports[name] = &nic.Port{Name: p.Name, RDMA: p.RDMA, RDMAPort: p.RDMAPort, Driver: p.Driver}
	}
	return out
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// judge waits until the window is over for every device, reads the counters
// again, and takes what the gate makes of them into run.
func (a *app) judge(ctx context.Context, f *intent.Fabric, w *window, sudo string, open *opener, run *validate.Run) error {
	a.talk("window: the counters of %s are read again in %s", words.Count(len(w.switches)+len(w.hosts), "device"), drivers.Spell(w.length))
	if err := sleep(ctx, w.length); err != nil {
		return err
	}
	p := a.progress("window", len(w.switches)+len(w.hosts))
	defer p.Close()
	type counted struct {
		name, where string
		sample      *gate.Sample
		err         error
	}
	lost := map[string]bool{} // devices, which is told of each
	take := func(c counted) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.Finish(c.name, c.err)
		if c.err != nil {
			lost[c.name] = true
			run.Note(validate.Finding{ID: "READ", Severity: validate.Error, Device: c.name, What: c.err.Error(), Where: c.where, Fix: adviceOf(c.err)})
		} else if c.sample != nil {
			w.samples = append(w.samples, *c.sample)
		}
		return nil
	}
	ports := map[string]*gate.Device{}
	for i := range w.devices {
		ports[w.devices[i].Name] = &w.devices[i]
	}
	err := pool.Ordered(ctx, a.parallel, w.switches, func(ctx context.Context, sw *intent.Switch) counted {
		p.Start()
		c := counted{name: sw.Name, where: sw.Pos.String()}
		c.sample, c.err = recount(ctx, sw, ports[sw.Name], open)
		return c
	}, take)
	if err != nil {
		return err
	}
	err = pool.Ordered(ctx, a.parallel, w.hosts, func(ctx context.Context, h *intent.Host) counted {
		p.Start()
		c := counted{name: h.Name, where: h.Pos.String()}
		c.sample, c.err = recountHost(ctx, h, w.nics[h.Name], sudo, open)
		return c
	}, take)
	if err != nil {
		return err
	}
	seen := slices.DeleteFunc(w.devices, func(d gate.Device) bool { return lost[d.Name] })
	all := len(w.hosts) == len(f.Hosts) && !slices.ContainsFunc(w.hosts, func(h *intent.Host) bool { return lost[h.Name] })
	run.Gate(gate.Judge(seen, w.samples, gate.Options{AllHosts: all, Traffic: true}))
	return nil
}

// recount reads the counters of a switch once more.
func recount(ctx context.Context, sw *intent.Switch, d *gate.Device, open *opener) (*gate.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	drv, err := open.open(ctx, sw)
	if err != nil {
		return nil, err
	}
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	return countPorts(ctx, drv, d)
}

// recountHost reads the counters of a host once more.
func recountHost(ctx context.Context, h *intent.Host, nics *nic.Host, sudo string, open *opener) (*gate.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	drv := open.hostDriver(h, nics, sudo)
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	return countNICs(ctx, drv, nics)
}

// notPassed is the error of a window that proves nothing.
func notPassed(fs []validate.Finding) error {
	f := validate.Inconclusive(fs)
	if f == nil {
		return nil
	}
	return &statusError{status: exitFailed, err: fmt.Errorf("inconclusive: not enough counters to call it a pass: %s", f.Told()), hint: f.Fix}
}
