package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
)

func (a *app) validateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "validate",
		Short: "Prove from running state that the fabric is as the intent says",
		Long: `validate reads every switch and compares what it is configured to do with the
intent, what is in force with what is configured, and the two ends of every link
with each other. Nothing is written.

Hosts are not read by this command; see 'roce-fabric nic validate'.`,
		Example: "  roce-fabric validate -f fabric.yaml\n  roce-fabric validate -f fabric.yaml --output json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.validate(cmd.Context()) },
	}
	a.intentFlags(c)
	a.deviceFlags(c)
	a.outputFlag(c, "text", "json")
	return c
}

// readTimeout bounds the reading of one device.
const readTimeout = 2 * time.Minute

// reading is what was found on one device.
type reading struct {
	sw       *intent.Switch
	findings []validate.Finding
	ends     map[string]validate.End
	err      error
}

func (a *app) validate(ctx context.Context) error {
	c, switches, open, err := a.loadDevices()
	if err != nil {
		return err
	}
	var found []validate.Finding
	ends := map[intent.Endpoint]validate.End{}
	failed := 0
	p := a.progress("validate", len(switches))
	defer p.Close()
	err = pool.Ordered(ctx, a.parallel, switches, func(ctx context.Context, sw *intent.Switch) reading {
		p.Start()
		return readDevice(ctx, c, sw, open)
	}, func(r reading) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.Finish(r.sw.Name, r.err)
		if r.err != nil {
			failed++
			found = append(found, validate.Finding{ID: "READ", Severity: validate.Error, Device: r.sw.Name, What: r.err.Error(), Where: r.sw.Pos.String(), Fix: adviceOf(r.err)})
		}
		found = append(found, r.findings...)
		for port, e := range r.ends {
			ends[intent.Endpoint{Device: r.sw.Name, Port: port}] = e
		}
		return nil
	})
	p.Close()
	if err != nil {
		return err
	}
	found = append(found, validate.Links(c.Fabric(), func(e intent.Endpoint) validate.End { return ends[e] })...)
	out := findings{report.Format, c.Fabric().Name, len(switches), validate.Sort(found)}
	err = a.findings(out, fmt.Sprintf("%s runs as the intent says: %s read, and both ends of every link between them agree", c.Fabric().Name, words.Plural(len(switches), "switch", "switches")))
	if failed > 0 && (err == nil || errors.As(err, new(*statusError))) {
		return &statusError{status: exitFailed}
	}
	return err
}

func readDevice(ctx context.Context, c *render.Compiler, sw *intent.Switch, open *opener) (r reading) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	r.sw = sw
	drv, err := open.open(ctx, sw)
	if err != nil {
		r.err = err
		return r
	}
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	if _, r.err = drv.Probe(ctx); r.err != nil {
		return r
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		r.err = err
		return r
	}
	running, unknown := drv.Decode(snap)
	desired := c.Device(sw).Desired
	inForce, err := drv.Applied(ctx, desired)
	if err != nil && !errors.Is(err, drivers.ErrUnsupported) {
		r.err = err
		return r
	}
	r.findings = validate.Device(sw, running, desired, inForce)
	for _, u := range unknown {
		r.findings = append(r.findings, validate.Finding{ID: "UNKNOWN", Severity: validate.Info, Device: sw.Name, What: u.Where + ": " + u.Why})
	}
	r.ends = map[string]validate.End{}
	for _, p := range sw.Ports {
		if p.Link != nil {
			r.ends[p.Name] = validate.EndOf(running, p.Name)
		}
	}
	return r
}
