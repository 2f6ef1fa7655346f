package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
)

func (a *app) validateCommand() *cobra.Command {
	var sudo, state string
	var length time.Duration
	c := &cobra.Command{
		Use:   "validate",
		Short: "Prove from running state that the fabric matches the intent",
		Long: `validate reads every switch, and over SSH every host that has an address. It
compares their configuration with the intent, what is in force with what is
configured, both ends of every link, and NICs of the same kind with each other.
Nothing is written, except that this program is copied to each host once
(~/.cache/roce-fabric). At most one gNMI and one SSH connection is open to a
device at a time.

With --window the counters are read at the start and at the end of that time, and
the difference is judged: packets lost in lossless classes, actions of the PFC
watchdog, pause on a priority that should not be paused. Switches update their
counters every few seconds to a minute, so take two minutes or more. A window is
inconclusive if counters could not be read, or if a lossless class carried no
packets: run it while RDMA traffic flows. An inconclusive window ends with exit
status 1.

A port of the intent that is shut or has no link is an error, on the switch and on
the host. For a port that is meant to be down, the intent says admin: down.

--only selects switches and hosts.`,
		Example: "  roce-fabric validate -f fabric.yaml\n  roce-fabric validate -f fabric.yaml --only 'leaf[1-2],gpu*'\n  roce-fabric validate -f fabric.yaml --window 2m\n  roce-fabric validate -f fabric.yaml --output json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("window") && (length <= 0 || length > maxWindow) {
				return usageHint("take --window 2m", "--window %s: use more than 0 and at most %s", length, drivers.Spell(maxWindow))
			}
			return a.validateOver(cmd.Context(), sudo, state, length)
		},
	}
	a.intentFlags(c)
	c.Flags().Lookup("only").Usage = "only these switches and hosts: name, glob, role:NAME or os:NAME"
	c.Flags().DurationVar(&length, "window", 0, "read the counters at the start and at the end of this time, and judge the difference: 120s")
	sudoFlag(c, &sudo)
	a.stateFlag(c, &state)
	a.deviceFlags(c)
	a.reportFlags(c)
	return c
}

// readTimeout bounds the reading of one device.
const readTimeout = 2 * time.Minute

// reading is what was found on one device.
type reading struct {
	sw     *intent.Switch
	result *validate.Result
	start  *start
	err    error
}

// validate looks at the fabric as it is.
func (a *app) validate(ctx context.Context, sudo string) error {
	return a.validateOver(ctx, sudo, "", 0)
}

// toRead loads the intent, and picks the switches and hosts to read and what
// opens them.
func (a *app) toRead() (c *render.Compiler, switches []*intent.Switch, hosts []*intent.Host, open *opener, err error) {
	if c, err = a.loadFabric(); err != nil {
		return nil, nil, nil, nil, err
	}
	if switches, hosts, err = c.Fabric().SelectDevices(a.only); err != nil {
		return nil, nil, nil, nil, notSelected(err)
	}
	if open, err = a.opener(); err != nil {
		return nil, nil, nil, nil, err
	}
	return c, switches, hosts, open, nil
}

// validateOver looks at the fabric, and at its counters for as long as length; 0
// is not at all.
func (a *app) validateOver(ctx context.Context, sudo, state string, length time.Duration) error {
	c, switches, hosts, open, err := a.toRead()
	if err != nil {
		return err
	}
	var past *fleet.History
	// Where no folder is known there is nothing to wait for.
	if dir, err := stateDir(state, c.Fabric().Name); err == nil {
		past = a.history(dir)
	}
	a.loud(switches)
	run := validate.NewRun(c.Fabric())
	for _, h := range hosts {
		if !open.reaches(h) {
			run.Note(validate.Finding{ID: "READ", Severity: validate.Info, Device: h.Name, Where: h.Pos.String(), Unchecked: "hosts",
				What: "the host has no address and was not read", Fix: "state its address in the intent"})
		}
	}
	hosts = a.reachable(hosts, open)
	w := &window{length: length, nics: map[string]*nic.Host{}}
	p := a.progress("validate", len(switches)+len(hosts))
	defer p.Close()
	err = pool.Ordered(ctx, a.parallel, switches, func(ctx context.Context, sw *intent.Switch) reading {
		p.Start()
		return readDevice(ctx, c, sw, open, past, length > 0)
	}, func(r reading) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.Finish(r.sw.Name, r.err)
		if r.err != nil {
			run.Note(validate.Finding{ID: "READ", Severity: validate.Error, Device: r.sw.Name, What: r.err.Error(), Where: r.sw.Pos.String(), Fix: adviceOf(r.err)})
			return nil
		}
		run.Add(r.result)
		if w.add(r.start) {
			w.switches = append(w.switches, r.sw)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Their links end at switches, which are known now.
	err = a.validateHosts(ctx, c.Fabric(), hosts, sudo, open, run, p, w)
	p.Close()
	if err == nil && length > 0 {
		err = a.judge(ctx, c.Fabric(), w, sudo, open, run)
	}
	if err != nil {
		return err
	}
	found := run.Findings(time.Now())
	err = a.report(report.Report{
		Command: "validate", Fabric: c.Fabric().Name, Intent: c.Fabric(), Links: len(c.Fabric().Links),
		Devices: report.Looked(switches, hosts, report.FromRunning, found), Findings: found, Counted: run.Counted(),
	})
	if err == nil && length > 0 {
		err = notPassed(found)
	}
	return err
}

// readDevice reads a switch, once it has done what a run that was cut off sent
// it, and, where it is to count, its counters.
func readDevice(ctx context.Context, c *render.Compiler, sw *intent.Switch, open *opener, past *fleet.History, count bool) (r reading) {
	r.sw = sw
	drv, err := open.open(ctx, sw)
	if err != nil {
		r.err = err
		return r
	}
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	if r.err = settled(ctx, past, sw, drv); r.err != nil {
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if _, r.err = drv.Probe(ctx); r.err != nil {
		return r
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		r.err = err
		return r
	}
	running, unknown, err := drivers.Decode(sw.Name, drv, snap)
	if err != nil {
		r.err = err
		return r
	}
	state := &validate.State{Unknown: unknown}
	if o, ok := drv.(drivers.Observer); ok {
		seen, err := o.Observe(ctx)
		switch {
		case err == nil:
			seen.Complete(running)
			state.Ports = seen.Ports
		case !errors.Is(err, drivers.ErrUnsupported):
			r.err = err
			return r
		}
	}
	d := c.Device(sw)
	switch state.InForce, err = drv.Applied(ctx, d.Desired); {
	case errors.Is(err, drivers.ErrUnsupported), errors.Is(err, drivers.ErrNoState):
		state.NotInForce = unsupported(sw, err)
	case err != nil:
		r.err = err
		return r
	}
	if s, ok := drv.(drivers.Saver); ok {
		switch state.Unsaved, err = s.Unsaved(ctx); {
		case errors.Is(err, drivers.ErrUnsupported):
			state.NotSaved = unsupported(sw, err)
		case err != nil:
			r.err = err
			return r
		}
	}
	if count {
		r.start = &start{device: validate.GateSwitch(d, running)}
		if r.start.sample, r.err = countPorts(ctx, drv, &r.start.device); r.err != nil {
			return r
		}
	}
	r.result = validate.Switch(d, running, validate.Running, state)
	return r
}

// unsupported says why a switch does not show something, without its name and what
// marks the error.
func unsupported(sw *intent.Switch, err error) string {
	why := strings.TrimPrefix(err.Error(), sw.Name+": ")
	return strings.TrimPrefix(strings.TrimPrefix(why, drivers.ErrUnsupported.Error()+": "), drivers.ErrNoState.Error()+": ")
}
