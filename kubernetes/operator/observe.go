package operator

import (
	"context"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
)

// seen is what a validation saw of the devices of a fabric.
type seen struct {
	at       time.Time
	devices  map[string]*device
	findings []validate.Finding // of the whole fabric, those of devices included
}

// device is what is known of one.
type device struct {
	host     bool
	read     time.Time // zero where it could not be read
	err      string
	drift    int
	findings []validate.Finding
}

// observe reads the devices, compares them with the intent, and both ends of each link
// with each other. That a device could not be read is a finding.
func (o *Options) observe(ctx context.Context, f *fleet.Fabric, a *fleet.Access, past *fleet.History) (*seen, error) {
	out := &seen{devices: map[string]*device{}}
	run := validate.NewRun(f.Fabric())
	reader := fleet.Reader{Fabric: f, Access: a, History: past, Once: true}
	each := func(names []string, take func(fleet.Reading)) error {
		return pool.Ordered(ctx, o.Parallel, names, func(ctx context.Context, name string) fleet.Reading {
			return reader.Read(ctx, name, run.End)
		}, func(r fleet.Reading) error {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx) // it was cut off: nothing was learned of the device
			}
			d := out.devices[r.Device]
			if r.Err != nil {
				d.err = r.Err.Text
				run.Note(r.Unread())
				return nil
			}
			d.read = time.Now()
			run.Note(r.Findings...)
			take(r)
			return nil
		})
	}
	var switches, hosts []string
	for _, sw := range f.Switches {
		switches = append(switches, sw.Name)
		out.devices[sw.Name] = &device{}
	}
	for _, h := range f.Hosts {
		out.devices[h.Name] = &device{host: true}
		if lacks := a.Lacks(h); lacks != "" {
			out.devices[h.Name].err = "the intent states no " + lacks
			run.Note(validate.Finding{ID: fleet.Unread, Severity: validate.Info, Device: h.Name, Where: h.Pos.String(), Unchecked: "NICs", Because: "no " + lacks + " is stated",
				What: "the host has no " + lacks + " and was not read", Fix: "state its " + lacks + " in the intent"})
			continue
		}
		hosts = append(hosts, h.Name)
	}
	err := each(switches, func(r fleet.Reading) {
		out.devices[r.Device].drift = r.Switch.Drift()
		run.Add(r.Switch)
	})
	if err != nil {
		return nil, err
	}
	var kept []*nic.Host
	if err := each(hosts, func(r fleet.Reading) { kept = append(kept, r.Host) }); err != nil {
		return nil, err
	}
	run.Note(validate.Hosts(kept, nil)...)
	if err := run.Deadlocks(ctx); err != nil {
		return nil, err
	}
	out.at = time.Now()
	out.findings = run.Findings(out.at)
	for _, fd := range out.findings {
		if d := out.devices[fd.Device]; d != nil {
			d.findings = append(d.findings, fd)
		}
	}
	return out, nil
}

// counts are findings by severity.
func counts(fs []validate.Finding) (c v1alpha1.Counts) {
	for _, f := range fs {
		switch {
		case f.Suppressed != nil:
			c.Suppressed++
			continue
		case f.Severity == validate.Error:
			c.Errors++
		case f.Severity == validate.Warning:
			c.Warnings++
		default:
			c.Infos++
		}
		if f.Inconclusive() {
			c.Inconclusive++
		}
	}
	return c
}

// verdict is the outcome of a validation in a word, as watch has it.
func verdict(fs []validate.Finding) v1alpha1.Verdict {
	unread := func(f validate.Finding) bool { return f.ID == fleet.Unread }
	any := func(is func(validate.Finding) bool) bool {
		return slices.ContainsFunc(fs, func(f validate.Finding) bool { return f.Suppressed == nil && is(f) })
	}
	switch {
	case any(func(f validate.Finding) bool { return f.Counts() && !unread(f) }):
		return v1alpha1.Errors
	case any(func(f validate.Finding) bool { return f.Counts() }):
		return v1alpha1.Unreachable
	case any(func(f validate.Finding) bool { return f.Severity == validate.Warning }):
		return v1alpha1.Warnings
	case any(validate.Finding.Inconclusive):
		return v1alpha1.Inconclusive
	}
	return v1alpha1.OK
}
