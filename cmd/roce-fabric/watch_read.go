package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/watch"
)

// watchReader reads the devices that are watched, as validate does.
type watchReader struct {
	compiler *render.Compiler
	switches []*intent.Switch
	hosts    []*intent.Host
	devices  []watch.Device
	byName   map[string]*intent.Switch
	hostOf   map[string]*intent.Host
	counters bool
	sudo     string

	mu   sync.Mutex
	open *opener
}

func newWatchReader(c *render.Compiler, open *opener, switches []*intent.Switch, hosts []*intent.Host, o watchOptions) *watchReader {
	r := &watchReader{compiler: c, open: open, switches: switches, hosts: hosts, counters: o.counters, sudo: o.sudo,
		byName: map[string]*intent.Switch{}, hostOf: map[string]*intent.Host{}}
	for _, sw := range switches {
		r.byName[sw.Name] = sw
		r.devices = append(r.devices, watch.Device{Name: sw.Name, Where: sw.Pos.String()})
	}
	for _, h := range hosts {
		r.hostOf[h.Name] = h
		r.devices = append(r.devices, watch.Device{Name: h.Name, Host: true, Where: h.Pos.String()})
	}
	return r
}

// read reads a device once.
func (r *watchReader) read(ctx context.Context, d watch.Device, ends watch.Ends) (out watch.Reading) {
	open := r.opener()
	var s *start
	if d.Host {
		got := readHost(ctx, r.compiler.Fabric(), r.hostOf[d.Name], r.sudo, open, ends, r.counters)
		out.Err, out.Findings, out.Host, s = got.err, got.findings, got.kept, got.start
	} else {
		got := readDevice(ctx, r.compiler, r.byName[d.Name], open, nil, r.counters)
		out.Err, out.Switch, s = got.err, got.result, got.start
	}
	if out.Err != nil {
		out.Fix = adviceOf(out.Err)
		r.renew(open)
		return out
	}
	if s != nil {
		out.Gate, out.Sample = s.device, s.sample
	}
	return out
}

// notify keeps a subscription to a switch; see [watch.Config].
func (r *watchReader) notify(ctx context.Context, d watch.Device, ready, changed func()) error {
	open := r.opener()
	drv, err := open.open(ctx, r.byName[d.Name])
	if err != nil {
		return err
	}
	// A session that does not close cleanly changes nothing about what was said.
	defer func() { _ = drv.Close() }()
	n, ok := drv.(drivers.Notifier)
	if !ok {
		return fmt.Errorf("%s: %w: it does not say that it changed", d.Name, drivers.ErrUnsupported)
	}
	err = n.Notify(ctx, ready, changed)
	if errors.Is(err, drivers.ErrAuth) || errors.Is(err, drivers.ErrIdentity) {
		r.renew(open)
	}
	return err
}

func (r *watchReader) opener() *opener {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}

// renew forgets passwords and host keys after a read that failed: they may have
// been changed since, and a watch goes on for months.
func (r *watchReader) renew(used *opener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == used {
		r.open = &opener{lab: used.lab, secrets: map[string]secret.Secret{}, hosts: map[string]*ssh.KnownHosts{}}
	}
}

// report is the report of a round.
func (r *watchReader) report(round *watch.Round) report.Report {
	f := r.compiler.Fabric()
	return report.Report{
		Command: "validate", Version: version, Fabric: f.Name, Time: round.End, Intent: f, Links: len(f.Links),
		Devices: report.Looked(r.switches, r.hosts, report.FromRunning, round.Findings), Findings: round.Findings,
		Counted: round.Counted,
	}
}
