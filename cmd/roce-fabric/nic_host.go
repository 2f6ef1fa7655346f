package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/remote"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

// nicHost is a host at work: this machine, or one over SSH.
type nicHost struct {
	agent.Machine
	close            func() error
	fabric           *intent.Fabric
	host             *intent.Host
	running, desired *nic.Host
	// unit reads the boot unit; nil where it is not reached.
	unit func() (nic.UnitState, string, error)
}

// nicHosts calls do for the hosts of a command: this machine with --local, else
// every host of the intent that has an address, or the one of --host. The first
// error ends it.
func (a *app) nicHosts(ctx context.Context, o nicOptions, do func(*nicHost) error) error {
	c, _, err := a.load()
	if err != nil {
		return err
	}
	f := c.Fabric()
	if o.local {
		h, err := hostNamed(f, o.host)
		if err != nil {
			return err
		}
		m, err := local.Open()
		if err != nil {
			return err
		}
		return a.withHost(ctx, &nicHost{
			Machine: agent.Local(m), close: m.Close, fabric: f, host: h,
			unit: func() (nic.UnitState, string, error) { return unit.Read(m.Roots) },
		}, do)
	}
	if a.lab != "" {
		return usageHint("use --local, or unset ROCE_FABRIC_LAB", "the lab has no hosts")
	}
	open, err := a.opener()
	if err != nil {
		return err
	}
	var todo []*intent.Host
	for _, h := range f.Hosts {
		if o.host == h.Name || o.host == "" && h.Address.V != "" {
			todo = append(todo, h)
		}
	}
	switch {
	case len(todo) == 0 && o.host != "":
		return usage("the intent has no host %q", o.host)
	case len(todo) == 0:
		return usageHint("give hosts an address, or run it on the host with --local", "no host of %s has an address", f.Name)
	}
	for _, h := range todo {
		if err := a.overSSH(ctx, o, open, f, h, do); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) overSSH(ctx context.Context, o nicOptions, open *opener, f *intent.Fabric, h *intent.Host, do func(*nicHost) error) error {
	cfg, err := open.ssh(ctx, h.Access.SSH)
	if err != nil {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	opts := remote.Options{Sudo: remote.SudoNoPassword, Password: cfg.Password}
	switch {
	case o.sudo == "password":
		opts.Sudo = remote.SudoPassword
	case o.sudo == "none" || o.sudo == "" && cfg.User == "root":
		opts.Sudo = remote.SudoNone
	}
	r, err := remote.Open(ctx, *cfg, opts)
	if err != nil {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	return a.withHost(ctx, &nicHost{Machine: r, close: r.Close, fabric: f, host: h}, do)
}

// withHost works out what the host should hold, reads it, and closes it when do
// is through.
func (a *app) withHost(ctx context.Context, h *nicHost, do func(*nicHost) error) (err error) {
	defer func() { err = errors.Join(err, h.close()) }()
	var open []nic.Problem
	h.desired, open = nic.Desired(h.fabric, h.host)
	for _, p := range open {
		a.warn("%s: %s (%s)", strings.TrimSpace(h.host.Name+" "+p.Port), term.CleanLine(p.What), p.Where)
	}
	if err := h.read(ctx); err != nil {
		return fmt.Errorf("%s: %w", h.host.Name, err)
	}
	return do(h)
}

// read takes a fresh look at the host.
func (h *nicHost) read(ctx context.Context) (err error) {
	if h.running, err = h.Read(ctx, natural.Keys(h.desired.Ports)); err != nil {
		return err
	}
	h.running.Name = h.host.Name
	why := "not read over SSH"
	if h.unit != nil {
		if h.running.Unit, why, err = h.unit(); err != nil {
			return err
		}
	}
	if why != "" {
		if h.running.Missing == nil {
			h.running.Missing = map[string]string{}
		}
		h.running.Missing["unit"] = why
	}
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
