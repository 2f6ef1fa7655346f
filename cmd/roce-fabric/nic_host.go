package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/report"
)

// nicTarget is a host that a command is about.
type nicTarget struct {
	*intent.Host
	desired *nic.Host
	// open makes the driver of the host, which has to be closed. It may be called
	// more than once, and beside that of other targets.
	open func() *host.Driver
}

// with opens the host and closes it when do is through.
func (t nicTarget) with(do func(*host.Driver) error) (err error) {
	d := t.open()
	defer func() { err = errors.Join(err, d.Close()) }()
	return do(d)
}

// nicTargets returns the hosts of a command: this machine with --local, else the
// hosts of --only, by default all, as far as they can be reached, or the one of
// --host. What the intent leaves open on them is said.
func (a *app) nicTargets(ctx context.Context, o nicOptions) (*intent.Fabric, []nicTarget, error) {
	c, err := a.load(ctx, fleet.TakeHosts)
	if err != nil {
		return nil, nil, err
	}
	f := c.Fabric()
	if o.local {
		h, err := hostNamed(f, o.host)
		if err != nil {
			return nil, nil, err
		}
		return f, []nicTarget{a.nicTarget(f, h, o, nil)}, nil
	}
	open, err := a.access()
	if err != nil {
		return nil, nil, err
	}
	hosts, err := a.nicHosts(c, o, open)
	if err != nil {
		return nil, nil, err
	}
	var out []nicTarget
	for _, h := range hosts {
		out = append(out, a.nicTarget(f, h, o, open))
	}
	return f, out, nil
}

// nicTarget is a host of the intent, this machine where open is nil. What the intent
// leaves open on it is said.
func (a *app) nicTarget(f *intent.Fabric, h *intent.Host, o nicOptions, open *fleet.Access) nicTarget {
	desired, problems := nic.Desired(f, h)
	for _, p := range problems {
		a.warn("%s: %s (%s)", strings.TrimSpace(h.Name+" "+p.Port), term.CleanLine(p.What), p.Where)
	}
	c := host.Config{
		Name: h.Name, Desired: desired, Options: local.Options{CutOff: o.cutOff, Peer: a.peer(o)},
		Accepted: func(check, port string) bool {
			now := time.Now()
			return slices.ContainsFunc(f.Suppressions, func(s *intent.Suppression) bool {
				return s.Check == check && !s.Over(now) && s.Covers(h.Name, port)
			})
		},
	}
	if open != nil {
		c.Connect = func(ctx context.Context) (host.Conn, error) { return open.Connect(ctx, h) }
	}
	return nicTarget{Host: h, desired: desired, open: func() *host.Driver { return host.New(c) }}
}

// nicHosts returns the hosts that a command reaches over SSH, and there is one.
// The one of --host is tried whether it has an address or not.
func (a *app) nicHosts(f *fleet.Fabric, o nicOptions, open *fleet.Access) ([]*intent.Host, error) {
	if o.host != "" {
		h := f.Fabric().Host(o.host)
		switch {
		case h == nil:
			return nil, usage("the intent has no host %q", o.host)
		case !slices.Contains(f.Hosts, h):
			return nil, usage("--host %s is none of the hosts of --only", o.host)
		}
		return []*intent.Host{h}, nil
	}
	if !slices.ContainsFunc(f.Hosts, open.Reaches) {
		what := "no host of " + f.Fabric().Name
		if len(a.only) > 0 {
			what = "none of the hosts of --only"
		}
		return nil, usageHint("give hosts an address, or run it on the host with --local", "%s has an address", what)
	}
	return a.reachable(f.Hosts, open), nil
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
