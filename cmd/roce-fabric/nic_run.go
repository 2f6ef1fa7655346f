package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet"
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

// nicJSON is one host in the JSON of nic plan.
type nicJSON struct {
	Host    string       `json:"host"`
	Changes []nic.Change `json:"changes"`
	Steps   []local.Step `json:"steps"`
	Error   string       `json:"error,omitempty"`
}

// nicPlanTimeout bounds the reading and planning of one host: a card takes its tool
// 20 seconds to read, and a host may have eight.
const nicPlanTimeout = agent.ReadTimeout + agent.PlanTimeout

func (a *app) nicPlanOptions(f *intent.Fabric) fleet.PlanOptions {
	return fleet.PlanOptions{Fabric: f, Workers: a.parallel, Timeout: nicPlanTimeout}
}

// nicDevices returns the hosts as devices. readOf returns what was read of each, for
// one plan after the other.
func nicDevices(targets []nicTarget) (devices []fleet.Device, readOf func() host.State) {
	read := make([]host.State, len(targets))
	for i, t := range targets {
		devices = append(devices, fleet.Device{
			Name: t.Name, OS: host.OS,
			Open:    func(context.Context) (drivers.Driver, error) { return t.open(), nil },
			Desired: func() drivers.Desired { return t.desired },
			Explain: func(_ drivers.Driver, s *drivers.Snapshot, _ drivers.Desired, _ *drivers.Steps) {
				read[i] = host.StateOf(s)
			},
		})
	}
	i := -1
	return devices, func() host.State {
		i++
		s := read[i]
		read[i] = host.State{} // memory that does not grow with the hosts
		return s
	}
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
	o.cutOff = true // it is shown, and not done
	f, targets, err := a.nicTargets(ctx, o)
	if err != nil {
		return err
	}
	differs := false
	out := []nicJSON{}
	var failed []error
	t := nicText{Text: report.Text{W: a.stdout, S: a.styler(a.stdout)}}
	devices, readOf := nicDevices(targets)
	err = fleet.Plan(ctx, devices, a.nicPlanOptions(f), func(d *fleet.DevicePlan) error {
		s, text := readOf(), ""
		differs = differs || len(s.Changes) > 0
		if d.Error != nil {
			failed, text = append(failed, d.Error), d.Error.Text
		}
		if a.output == "json" {
			out = append(out, nicJSON{d.Name, append([]nic.Change{}, s.Changes...), append([]local.Step{}, s.Steps...), text})
		} else if d.Error == nil {
			t.add(d.Name, s.Changes, s.Steps)
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
	f, targets, err := a.nicTargets(ctx, o)
	if err != nil {
		return err
	}
	type checked struct {
		host     *intent.Host
		ports    int
		findings []validate.Finding
		err      error
	}
	out := report.Report{Command: "nic validate", Fabric: f.Name, Intent: f}
	run := validate.NewRun(f)
	var hosts []*intent.Host
	err = pool.Ordered(ctx, a.parallel, targets, func(ctx context.Context, target nicTarget) (c checked) {
		c.host = target.Host
		c.err = target.with(func(d *host.Driver) error {
			running, err := d.Running(ctx)
			if err != nil {
				return err
			}
			c.ports = len(running.Ports)
			// The switches are not read here: their ends are taken to be as intended.
			c.findings = validate.Host(f, target.Host, running, target.desired, func(intent.Endpoint) validate.End { return validate.End{} })
			return nil
		})
		return c
	}, func(c checked) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := c.host
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
	desired := &nic.Host{Name: s.Host.Name, Ports: map[string]*nic.Port{}}
	for _, name := range names {
		desired.Ports[name] = s.Host.Ports[name]
	}
	running, err := m.Read(ctx, names)
	if err != nil {
		return err
	}
	steps := m.Plan(running, desired, local.Options{CutOff: true})
	var failed error
	for name, want := range desired.Ports {
		have := running.Ports[name]
		if noCM != nil && have != nil && have.RDMA != "" && (want.Mode.Set || want.ToS.Set) {
			failed = fmt.Errorf("%s: %w", device, noCM)
		}
	}
	if _, err := m.Apply(ctx, steps, func(i, n int, s local.Step) { a.talk("%d/%d %s", i+1, n, s.What) }); err != nil && !errors.Is(err, local.ErrNoCM) {
		return err
	}
	if running, err = m.Read(ctx, names); err != nil {
		a.talk("left: not read: %s", term.CleanLine(err.Error()))
		return failed
	}
	left := slices.DeleteFunc(nic.Diff(running, desired), func(c nic.Change) bool { return c.Layer == nic.LayerFirmware })
	// That is no failure: where the RDMA device is still to come, this is started
	// again when it does.
	lines, _ := host.Left(left, nil)
	for _, l := range lines {
		a.talk("left: %s", term.CleanLine(l))
	}
	return failed
}
