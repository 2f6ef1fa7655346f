package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
)

// hostTimeout bounds the reading of one host: the program may have to be copied
// there first, and a card takes its tool 20 seconds to read.
const hostTimeout = 10 * time.Minute

// hostReading is what was found on one host.
type hostReading struct {
	host     *intent.Host
	kept     *nic.Host // what is held against other hosts
	start    *start
	findings []validate.Finding
	open     []nic.Problem
	err      error
}

// reachable parts the hosts that can be read from the others, of which it says
// who they are.
func (a *app) reachable(hosts []*intent.Host, open *opener) (out []*intent.Host) {
	var without []string
	for _, h := range hosts {
		if open.reaches(h) {
			out = append(out, h)
		} else {
			without = append(without, h.Name)
		}
	}
	if n := len(without); n > 0 {
		a.talk("%s no address and %s not read: %s", words.Plural(n, "host has", "hosts have"), wasWere(n), natural.Fold(without))
	}
	return out
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// validateHosts reads the hosts and takes what it finds into run, which has the
// switches, and what they count into w.
func (a *app) validateHosts(ctx context.Context, f *intent.Fabric, hosts []*intent.Host, sudo string, open *opener, run *validate.Run, p *term.Progress, w *window) error {
	var kept []*nic.Host
	left := map[string][]string{} // what the intent leaves open -> where
	err := pool.Ordered(ctx, a.parallel, hosts, func(ctx context.Context, h *intent.Host) hostReading {
		p.Start()
		return readHost(ctx, f, h, sudo, open, run.End, w.length > 0)
	}, func(r hostReading) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.Finish(r.host.Name, r.err)
		for _, o := range r.open {
			what := fmt.Sprintf("%s (%s)", o.What, o.Where)
			left[what] = append(left[what], strings.TrimSpace(r.host.Name+" "+o.Port))
		}
		if r.err != nil {
			run.Note(validate.Finding{ID: "READ", Severity: validate.Error, Device: r.host.Name, What: r.err.Error(), Where: r.host.Pos.String(), Fix: adviceOf(r.err)})
			return nil
		}
		run.Note(r.findings...)
		kept = append(kept, r.kept)
		if w.add(r.start) {
			w.hosts, w.nics[r.host.Name] = append(w.hosts, r.host), r.start.nics
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, what := range natural.Keys(left) {
		a.warn("%s: %s", natural.Fold(left[what]), what)
	}
	run.Note(validate.Hosts(kept, nil)...)
	return nil
}

// readHost reads a host and holds it against the intent and against what the
// switch ends of its links run; where it is to count, it reads the counters too.
func readHost(ctx context.Context, f *intent.Fabric, h *intent.Host, sudo string, open *opener, ends func(intent.Endpoint) validate.End, count bool) (r hostReading) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	r.host = h
	var desired *nic.Host
	desired, r.open = nic.Desired(f, h)
	drv := open.hostDriver(h, desired, sudo)
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	running, err := drv.Running(ctx)
	if err != nil {
		r.err = err
		return r
	}
	r.findings = validate.Host(f, h, running, desired, ends)
	r.kept = sharedTraits(running, desired)
	if count {
		r.start = &start{device: validate.GateHost(f, h), nics: countable(running)}
		r.start.sample, r.err = countNICs(ctx, drv, r.start.nics)
	}
	return r
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
