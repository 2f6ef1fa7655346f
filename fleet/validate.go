package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// ValidateOptions are the options of [Validate].
type ValidateOptions struct {
	ReadOptions
	// Window is the time between two readings of the counters, whose differences are judged;
	// 0 reads no counters.
	Window time.Duration
	// During, if not nil, is called in place of waiting for the end of the window, which lasts
	// until it returns. An error ends the validation.
	During func(ctx context.Context) error
	// Baseline is the JSON report of an earlier validation of the same fabric with a window,
	// whose rates are compared with the current ones; "" is none.
	Baseline string
}

// counts reports whether the counters are read.
func (o ValidateOptions) counts() bool { return o.Window > 0 || o.During != nil }

// Validation is the result of [Validate].
type Validation struct {
	Findings []checks.Finding
	// Counted holds the counts of each port in the window.
	Counted []gate.PortWindow
	// Pauses lists the sources of the pauses in the window.
	Pauses []gate.Source
	// Watermarks lists what the lossless groups held at most, the fullest headroom first.
	Watermarks []gate.Watermark
	// Open maps each setting that the intent leaves open on hosts to the hosts concerned.
	Open map[string][]string
	// Ports is the number of host ports that were read.
	Ports int
}

// validation is the state of a running validation.
type validation struct {
	Reader
	o   ValidateOptions
	run *validate.Run
	out *Validation
	// counted holds the devices whose counters were read at the start of the window.
	counted []Reading
	devices []gate.Device // all devices that were read, also those without counters
	samples []gate.Sample
	base    *gate.Result
}

// Validate reads the devices of a fabric. It compares the running state with the intent, and
// the two ends of each link with each other. A device that cannot be read is a finding, not
// an error.
func Validate(ctx context.Context, f *Fabric, a *Access, o ValidateOptions) (*Validation, error) {
	base, err := baseline(o.Baseline, f.Fabric().Name, o.Window)
	if err != nil {
		return nil, err
	}
	out := &Validation{Open: map[string][]string{}}
	v := &validation{Reader: Reader{Fabric: f, Access: a, History: o.History, Counters: o.counts(), Once: true, Progress: o.Progress}, o: o, run: validate.NewRun(f.Fabric()), out: out}
	var switches, hosts []string
	for _, sw := range f.Switches {
		switches = append(switches, sw.Name)
	}
	for _, h := range f.Hosts {
		lacks := a.Lacks(h)
		if lacks == "" {
			hosts = append(hosts, h.Name)
			continue
		}
		v.run.Note(checks.Finding{ID: Unread, Severity: checks.Info, Device: h.Name, Where: h.Pos.String(), Unchecked: "NICs", Because: "no " + lacks + " is stated",
			What: "the host has no " + lacks + " and was not read", Fix: "state its " + lacks + " in the intent"})
	}
	v.base = base
	err = v.readAll(ctx, switches, hosts)
	if err == nil {
		err = v.run.Deadlocks(ctx)
	}
	if err == nil && o.counts() {
		err = v.judge(ctx)
	}
	if err != nil {
		return nil, err
	}
	out.Findings, out.Counted, out.Pauses, out.Watermarks = v.run.Findings(time.Now()), v.run.Counted(), v.run.Pauses(), v.run.Watermarks()
	return out, nil
}

// readAll reads the switches before the hosts, because the checks of a host need the switch
// ends of its links.
func (v *validation) readAll(ctx context.Context, switches, hosts []string) error {
	defer v.o.Progress.Phase(Validating, len(switches)+len(hosts))()
	read := func(ctx context.Context, name string) Reading { return v.Read(ctx, name, v.run.End) }
	err := v.each(ctx, Validating, switches, read, func(r Reading) {
		v.run.Note(r.Findings...)
		v.run.Add(r.Switch)
		v.begin(r)
	})
	if err != nil {
		return err
	}
	var kept []*nic.Host
	err = v.each(ctx, Validating, hosts, read, func(r Reading) {
		v.run.Note(r.Findings...)
		kept = append(kept, r.Host)
		v.out.Ports += len(r.Host.Ports)
		v.begin(r)
	})
	v.run.Note(validate.Hosts(v.Fabric.Fabric(), kept, nil)...)
	return err
}

// each reads devices in parallel and passes their readings to take in order.
func (v *validation) each(ctx context.Context, p Phase, names []string, read func(context.Context, string) Reading, take func(Reading)) error {
	return pool.Ordered(ctx, v.o.Workers, names, func(ctx context.Context, name string) Reading {
		v.o.Progress.Report(Event{Kind: DeviceBegins, Phase: p, Device: name})
		return read(ctx, name)
	}, func(r Reading) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		v.o.Progress.Report(Event{Kind: DeviceEnds, Phase: p, Device: r.Device, Error: r.Err})
		for _, o := range r.Open {
			isOpen(v.out.Open, r.Device, o)
		}
		if r.Err != nil {
			v.run.Note(r.Unread())
			return nil
		}
		take(r)
		return nil
	})
}

// begin stores the counters of a device at the start of the window.
func (v *validation) begin(r Reading) {
	if !v.Counters {
		return
	}
	v.devices = append(v.devices, r.Gate)
	if r.Sample != nil {
		v.samples = append(v.samples, *r.Sample)
		r.Switch, r.Findings = nil, nil // no longer needed: keep memory small on a large fabric
		v.counted = append(v.counted, r)
	}
}

// judge waits for the end of the window, reads the counters again, and adds the result of
// the gate.
func (v *validation) judge(ctx context.Context) error {
	if err := v.wait(ctx); err != nil {
		return err
	}
	defer v.o.Progress.Phase(Recounting, len(v.counted))()
	hosts, lost := 0, map[string]bool{}
	first := map[string]Reading{}
	var names []string
	for _, r := range v.counted {
		first[r.Device], lost[r.Device] = r, true
		names = append(names, r.Device)
	}
	err := v.each(ctx, Recounting, names, func(ctx context.Context, name string) Reading {
		return v.recount(ctx, first[name])
	}, func(r Reading) {
		if r.Sample != nil {
			v.samples = append(v.samples, *r.Sample)
		}
		if r.Host != nil {
			hosts++
		}
		delete(lost, r.Device)
	})
	if err != nil {
		return err
	}
	seen := slices.DeleteFunc(v.devices, func(d gate.Device) bool { return lost[d.Name] })
	f := v.Fabric.Fabric()
	v.run.Gate(gate.Judge(seen, v.samples, gate.Options{AllHosts: hosts == len(f.Hosts), Traffic: true, Tiers: validate.Tiers(f), Baseline: v.base}))
	return nil
}

// wait waits until the window is over for every device.
func (v *validation) wait(ctx context.Context) error {
	if v.o.During != nil {
		return v.o.During(ctx)
	}
	defer v.o.Progress.Phase(Waiting, len(v.counted))()
	t := time.NewTimer(v.o.Window)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
