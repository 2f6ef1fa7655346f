package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/remote"
	"github.com/roce-fabric/roce-fabric/report"
)

// nicHost is a host at work: this machine, or one over SSH.
type nicHost struct {
	agent.Machine
	close            func() error
	fabric           *intent.Fabric
	host             *intent.Host
	running, desired *nic.Host
}

// nicTarget is a host that a command is about.
type nicTarget struct {
	name    string
	desired *nic.Host
	// suppressions are what the intent accepts.
	suppressions []*intent.Suppression
	// open reaches the host, which has to be closed. It may be called more than
	// once, and beside that of other targets.
	open func(ctx context.Context) (*nicHost, error)
}

// manages reports whether the intent has a NIC of that name on the host.
func (t nicTarget) manages(port string) bool { return t.desired.Ports[port] != nil }

// with opens the host and closes it when do is through.
func (t nicTarget) with(ctx context.Context, do func(*nicHost) error) (err error) {
	h, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return do(h)
}

// read is with for a host that is read first.
func (t nicTarget) read(ctx context.Context, do func(*nicHost) error) error {
	return t.with(ctx, func(h *nicHost) error {
		if err := h.read(ctx); err != nil {
			return fmt.Errorf("%s: %w", h.host.Name, err)
		}
		return do(h)
	})
}

// nicTargets returns the hosts of a command: this machine with --local, else the
// hosts of --only, by default all, as far as they can be reached, or the one of
// --host. What the intent leaves open on them is said.
func (a *app) nicTargets(o nicOptions) (*intent.Fabric, []nicTarget, error) {
	c, err := a.loadFabric()
	if err != nil {
		return nil, nil, err
	}
	f := c.Fabric()
	if o.local {
		h, err := hostNamed(f, o.host)
		if err != nil {
			return nil, nil, err
		}
		t := nicTarget{name: h.Name, desired: a.desiredNICs(f, h), suppressions: f.Suppressions}
		t.open = func(context.Context) (*nicHost, error) {
			m, err := local.Open()
			if err != nil {
				return nil, err
			}
			return &nicHost{Machine: agent.Local(m), close: m.Close, fabric: f, host: h, desired: t.desired}, nil
		}
		return f, []nicTarget{t}, nil
	}
	open, err := a.opener()
	if err != nil {
		return nil, nil, err
	}
	hosts, err := a.nicHosts(f, o, open)
	if err != nil {
		return nil, nil, err
	}
	var out []nicTarget
	for _, h := range hosts {
		t := nicTarget{name: h.Name, desired: a.desiredNICs(f, h), suppressions: f.Suppressions}
		t.open = func(ctx context.Context) (*nicHost, error) {
			n := &nicHost{fabric: f, host: h, desired: t.desired}
			if err := n.overSSH(ctx, o, open); err != nil {
				return nil, fmt.Errorf("%s: %w", h.Name, err)
			}
			return n, nil
		}
		out = append(out, t)
	}
	return f, out, nil
}

// nicHosts returns the hosts that a command reaches over SSH, and there is one.
// The one of --host is tried whether it has an address or not.
func (a *app) nicHosts(f *intent.Fabric, o nicOptions, open *opener) ([]*intent.Host, error) {
	hosts, err := f.SelectHosts(a.only)
	if err != nil {
		return nil, notSelected(err)
	}
	if o.host != "" {
		h := f.Host(o.host)
		switch {
		case h == nil:
			return nil, usage("the intent has no host %q", o.host)
		case !slices.Contains(hosts, h):
			return nil, usage("--host %s is none of the hosts of --only", o.host)
		}
		return []*intent.Host{h}, nil
	}
	if !slices.ContainsFunc(hosts, open.reaches) {
		what := "no host of " + f.Name
		if len(a.only) > 0 {
			what = "none of the hosts of --only"
		}
		return nil, usageHint("give hosts an address, or run it on the host with --local", "%s has an address", what)
	}
	return a.reachable(hosts, open), nil
}

// nicText writes what differs on hosts, and those that have the same to do
// together.
type nicText struct {
	report.Text
	names   []string
	changes []nic.Change
	steps   []local.Step
}

// add takes in the next host.
func (t *nicText) add(name string, changes []nic.Change, steps []local.Step) {
	if len(t.names) > 0 && (!slices.EqualFunc(changes, t.changes, sameChange) || !slices.EqualFunc(steps, t.steps, sameStep)) {
		t.flush()
	}
	if t.names = append(t.names, name); len(t.names) == 1 {
		t.changes, t.steps = slices.Clone(changes), steps
		return
	}
	for i, c := range changes {
		if had := &t.changes[i].Reason; c.Reason != *had && !strings.HasSuffix(*had, andOthers) {
			*had += andOthers
		}
	}
}

// andOthers ends the line of the intent that is behind a change of the first of
// several hosts.
const andOthers = " and others"

// sameChange and sameStep leave out which line of the intent is behind them: the
// cable of each host has one of its own.
func sameChange(a, b nic.Change) bool {
	a.Reason, b.Reason = "", ""
	return a == b
}

func sameStep(a, b local.Step) bool {
	changes := slices.EqualFunc(a.Changes, b.Changes, sameChange)
	a.Changes, b.Changes = nil, nil
	return changes && reflect.DeepEqual(a, b)
}

// flush writes the hosts that are still held.
func (t *nicText) flush() {
	if len(t.names) > 0 {
		t.NIC(natural.Fold(t.names), t.changes, t.steps)
	}
	t.names = nil
}

// desiredNICs is what the NICs of a host should hold. It says what the intent
// leaves open.
func (a *app) desiredNICs(f *intent.Fabric, h *intent.Host) *nic.Host {
	desired, open := nic.Desired(f, h)
	for _, p := range open {
		a.warn("%s: %s (%s)", strings.TrimSpace(h.Name+" "+p.Port), term.CleanLine(p.What), p.Where)
	}
	return desired
}

// overSSH connects to the host.
func (h *nicHost) overSSH(ctx context.Context, o nicOptions, open *opener) error {
	cfg, opts, err := open.host(ctx, h.host, o.sudo)
	if err != nil {
		return err
	}
	r, err := remote.Open(ctx, *cfg, opts)
	if err != nil {
		return err
	}
	h.Machine, h.close = r, r.Close
	return nil
}

// read takes a fresh look at the host.
func (h *nicHost) read(ctx context.Context) (err error) {
	if h.running, err = h.Read(ctx, natural.Keys(h.desired.Ports)); err != nil {
		return err
	}
	h.running.Name = h.host.Name
	return nil
}

// hostNamed returns the host of that name, or the one that this machine calls
// itself.
func hostNamed(f *intent.Fabric, name string) (*intent.Host, error) {
	stated := name != ""
	if !stated {
		full, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("host name: %w", err)
		}
		name, _, _ = strings.Cut(full, ".")
	}
	if h := f.Host(name); h != nil {
		return h, nil
	}
	if stated {
		return nil, usage("the intent has no host %q", name)
	}
	return nil, usageHint("say which host of the intent this is with --host", "the intent has no host %q, which is what this machine calls itself", name)
}
