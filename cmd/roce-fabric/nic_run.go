package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/unit"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
)

// nicPlanned is one host in the JSON of nic plan.
type nicPlanned struct {
	Host    string       `json:"host"`
	Changes []nic.Change `json:"changes"`
	Steps   []local.Step `json:"steps"`
	Error   string       `json:"error,omitempty"`

	err error
}

// nicFailures ends a command that has said of each host why it failed.
func (a *app) nicFailures(failed []error) error {
	for _, err := range failed {
		if len(failed) == 1 {
			return err
		}
		a.warn("%s", err)
		a.printHint(adviceOf(err))
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%s could not be read", words.Count(len(failed), "host"))
}

func (a *app) nicPlan(ctx context.Context, o nicOptions) error {
	_, targets, err := a.nicTargets(o)
	if err != nil {
		return err
	}
	differs := false
	out := []nicPlanned{}
	var failed []error
	t := nicText{Text: report.Text{W: a.stdout, S: a.styler(a.stdout)}}
	err = pool.Ordered(ctx, a.parallel, targets, func(ctx context.Context, target nicTarget) nicPlanned {
		p := nicPlanned{Host: target.name, Changes: []nic.Change{}, Steps: []local.Step{}}
		p.err = target.read(ctx, func(h *nicHost) error {
			steps, err := h.Plan(ctx, h.running, h.desired, local.Options{Bounce: true, CutOff: true, Peer: a.peer(o)})
			if err != nil {
				return fmt.Errorf("%s: %w", h.host.Name, err)
			}
			p.Changes, p.Steps = append(p.Changes, nic.Diff(h.running, h.desired)...), append(p.Steps, steps...)
			return nil
		})
		if p.err != nil {
			p.Error = p.err.Error()
		}
		return p
	}, func(p nicPlanned) error {
		differs = differs || len(p.Changes) > 0
		if p.err != nil {
			failed = append(failed, p.err)
		}
		if a.output == "json" {
			out = append(out, p)
		} else if p.err == nil {
			t.add(p.Host, p.Changes, p.Steps)
		}
		return t.Err()
	})
	t.flush()
	if err := errors.Join(err, t.Err()); err != nil {
		return err
	}
	if a.output == "json" {
		if err := report.WriteJSON(a.stdout, map[string]any{"format": report.Format, "hosts": out}); err != nil {
			return err
		}
	}
	if err := a.nicFailures(failed); err != nil {
		return err
	}
	if o.code && differs {
		return &statusError{status: exitDiffers}
	}
	return nil
}

func (a *app) nicValidate(ctx context.Context, o nicOptions) error {
	f, targets, err := a.nicTargets(o)
	if err != nil {
		return err
	}
	type checked struct {
		name     string
		ports    int
		findings []validate.Finding
		err      error
	}
	out := report.Report{Command: "nic validate", Fabric: f.Name, Intent: f}
	run := validate.NewRun(f)
	var hosts []*intent.Host
	err = pool.Ordered(ctx, a.parallel, targets, func(ctx context.Context, target nicTarget) (c checked) {
		c.name = target.name
		c.err = target.read(ctx, func(h *nicHost) error {
			c.ports = len(h.running.Ports)
			// The switches are not read here: their ends are held to be as intended.
			c.findings = validate.Host(h.fabric, h.host, h.running, h.desired, func(intent.Endpoint) validate.End { return validate.End{} })
			return nil
		})
		return c
	}, func(c checked) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := f.Host(c.name)
		hosts = append(hosts, h)
		if c.err != nil {
			run.Note(validate.Finding{ID: "READ", Severity: validate.Error, Device: h.Name, What: c.err.Error(), Where: h.Pos.String(), Fix: adviceOf(c.err)})
			return nil
		}
		out.Ports += c.ports
		run.Note(c.findings...)
		return nil
	})
	if err != nil {
		return err
	}
	out.Findings = run.Findings(time.Now())
	out.Devices = report.Looked(nil, hosts, report.FromRunning, out.Findings)
	return a.report(out)
}

// nicAgentCommand is what runs on a host that is reached over SSH.
func (a *app) nicAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "agent",
		Short:   "Answer one request on standard input, in JSON",
		Example: "  roce-fabric nic agent",
		Hidden:  true,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			// A broken connection ends the work in an orderly way.
			outliveOutput()
			m, err := local.Open()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, m.Close()) }()
			return agent.Serve(cmd.Context(), a.stdin, a.stdout, agent.Local(m))
		},
	}
}

func (a *app) nicBoot(ctx context.Context, device string) (err error) {
	outliveOutput()
	m, err := local.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return a.nicBootOn(ctx, m, device)
}

// nicBootOn sets the ports of a device of a machine. The error is that something
// was not set, also where all the rest was.
func (a *app) nicBootOn(ctx context.Context, m *local.Machine, device string) error {
	// Firmware keeps its settings by itself.
	m.NoFirmware = true
	s, err := unit.Load(m.Roots)
	if err != nil {
		return err
	}
	names := unit.PortsOf(s.Host, device)
	if len(names) == 0 {
		return fmt.Errorf("the host file has no device %s", device)
	}
	// Loaded before the read: what cannot be loaded does not hold up the rest.
	noCM := m.LoadCM(ctx)
	t := nicTarget{name: device, desired: &nic.Host{Name: s.Host.Name, Ports: map[string]*nic.Port{}}}
	for _, name := range names {
		t.desired.Ports[name] = s.Host.Ports[name]
	}
	h := &nicHost{Machine: agent.Local(m), host: &intent.Host{Name: s.Host.Name}, desired: t.desired}
	if err := h.read(ctx); err != nil {
		return err
	}
	steps := m.Plan(h.running, t.desired, local.Options{Bounce: true, CutOff: true})
	var failed error
	for name, want := range t.desired.Ports {
		have := h.running.Ports[name]
		if noCM != nil && have != nil && have.RDMA != "" && (want.Mode.Set || want.ToS.Set) {
			failed = fmt.Errorf("%s: %w", device, noCM)
		}
	}
	if _, err := m.Apply(ctx, steps, func(i, n int, s local.Step) { a.talk("%d/%d %s", i+1, n, s.What) }); err != nil && !errors.Is(err, local.ErrNoCM) {
		return err
	}
	if err := h.read(ctx); err != nil {
		a.talk("left: not read: %s", term.CleanLine(err.Error()))
		return failed
	}
	left := slices.DeleteFunc(nic.Diff(h.running, t.desired), func(c nic.Change) bool { return c.Layer == nic.LayerFirmware })
	// That is no failure: where the RDMA device is still to come, this is started
	// again when it does.
	lines, _ := t.left(left)
	for _, l := range lines {
		a.talk("left: %s", term.CleanLine(l))
	}
	return failed
}
