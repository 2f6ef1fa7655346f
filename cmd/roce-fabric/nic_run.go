package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/unit"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
)

// nicPlanned is one host in the JSON of nic plan.
type nicPlanned struct {
	Host    string       `json:"host"`
	Changes []nic.Change `json:"changes"`
	Steps   []local.Step `json:"steps"`
}

func (a *app) nicPlan(ctx context.Context, o nicOptions) error {
	differs := false
	out := []nicPlanned{}
	t := report.Text{W: a.stdout, S: a.styler(a.stdout)}
	err := a.nicHosts(ctx, o, func(h *nicHost) error {
		changes := nic.Diff(h.running, h.desired)
		steps, err := h.Plan(ctx, h.running, h.desired, local.Options{Bounce: true, CutOff: true, Peer: sshPeer(a.getenv)})
		if err != nil {
			return fmt.Errorf("%s: %w", h.host.Name, err)
		}
		differs = differs || len(changes) > 0
		if a.output == "json" {
			out = append(out, nicPlanned{h.host.Name, append([]nic.Change{}, changes...), append([]local.Step{}, steps...)})
			return nil
		}
		t.NIC(h.host.Name, changes, steps)
		return t.Err()
	})
	if err != nil {
		return err
	}
	if a.output == "json" {
		if err := report.WriteJSON(a.stdout, map[string]any{"format": report.Format, "hosts": out}); err != nil {
			return err
		}
	}
	if o.code && differs {
		return &statusError{status: exitDiffers}
	}
	return nil
}

func (a *app) nicApply(ctx context.Context, o nicOptions) error {
	if !o.yes && !a.canAsk() {
		return usageHint("look at 'roce-fabric nic plan' first, then use --yes", "nobody to ask on standard input")
	}
	return a.nicHosts(ctx, o, func(h *nicHost) error { return a.nicApplyOne(ctx, o, h) })
}

func (a *app) nicApplyOne(ctx context.Context, o nicOptions, h *nicHost) error {
	steps, err := h.Plan(ctx, h.running, h.desired, local.Options{Bounce: o.allow.Impact >= qos.ImpactPortFlap, CutOff: o.cutOff, Peer: sshPeer(a.getenv)})
	if err != nil {
		return fmt.Errorf("%s: %w", h.host.Name, err)
	}
	t := report.Text{W: a.stderr, S: a.styler(a.stderr)}
	t.NIC(h.host.Name, nic.Diff(h.running, h.desired), steps)
	for _, s := range steps {
		if s.Blocked != "" {
			return fmt.Errorf("%s: %s: %s; nothing was written", h.host.Name, s.What, s.Blocked)
		}
	}
	if len(steps) == 0 {
		fmt.Fprintf(a.stdout, "%s  unchanged\n", h.host.Name)
		return nil
	}
	if err := a.confirm(ctx, o.yes, fmt.Sprintf("Set %s on %s?", words.Count(len(steps), "value"), h.host.Name)); err != nil {
		return err
	}
	undo, err := h.Apply(ctx, steps, func(i, n int, s local.Step) {
		fmt.Fprintf(a.stderr, "%s %s\n", t.S.Dim(fmt.Sprintf("%s %d/%d", h.host.Name, i+1, n)), term.CleanLine(s.What))
	})
	if err == nil {
		err = h.proven(ctx)
	}
	if err == nil {
		fmt.Fprintf(a.stdout, "%s  applied, %s\n", h.host.Name, words.Count(len(steps), "step"))
		return nil
	}
	err = fmt.Errorf("%s: %w", h.host.Name, err)
	if len(undo.Steps) == 0 {
		return err
	}
	// Ctrl-C, too, leaves the host as it was or as intended.
	if rerr := h.Revert(context.WithoutCancel(ctx), undo); rerr != nil {
		return &statusError{exitPartial, fmt.Errorf("%w; and it could not be taken back: %w", err, rerr), ""}
	}
	return fmt.Errorf("%w; it was taken back", err)
}

// proven reads back: nothing that could be written is left to write.
func (h *nicHost) proven(ctx context.Context) error {
	if err := h.read(ctx); err != nil {
		return err
	}
	for _, c := range nic.Diff(h.running, h.desired) {
		if c.Writable() {
			return fmt.Errorf("read back, %s is %s, not %s", c.Path(), c.Old, c.New)
		}
	}
	return nil
}

func (a *app) nicValidate(ctx context.Context, o nicOptions) error {
	out := findings{Format: report.Format}
	ports := 0
	var names []string
	err := a.nicHosts(ctx, o, func(h *nicHost) error {
		out.Fabric = h.fabric.Name
		names = append(names, h.host.Name)
		ports += len(h.running.Ports)
		// The switches are not read here: their ends are held to be as intended.
		out.Findings = append(out.Findings, validate.Host(h.fabric, h.host, h.running, h.desired, func(intent.Endpoint) validate.End { return validate.End{} })...)
		return nil
	})
	if err != nil {
		return err
	}
	out.Devices, out.Findings = len(names), validate.Sort(out.Findings)
	return a.findings(out, fmt.Sprintf("%s as the intent says: %s read", words.Are(len(names), "host"), words.Count(ports, "port")))
}

func (a *app) unitInstall(ctx context.Context, o nicOptions, binary string) error {
	if !o.local {
		return usageHint("run it on the host, with --local", "a unit is not installed over SSH by this version")
	}
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
	}
	return a.nicHosts(ctx, o, func(h *nicHost) error {
		wrote, err := unit.Install(ctx, local.Roots{}, runner.Local{}, unit.Settings{Binary: binary, Host: h.desired})
		for _, f := range wrote {
			a.talk("wrote %s", f)
		}
		if err == nil && len(wrote) == 0 {
			a.talk("the unit is up to date")
		}
		return err
	})
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
			signal.Ignore(syscall.SIGPIPE)
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
	m, err := local.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
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
	// Without the module there is no ToS to set; one that cannot be loaded
	// shows in what is left.
	_, _ = m.Tools.Run(ctx, "modprobe", "rdma_cm")
	running, err := m.Read(ctx, names)
	if err != nil {
		return err
	}
	steps := m.Plan(running, s.Host, local.Options{Bounce: true, CutOff: true})
	_, err = m.Apply(ctx, steps, func(i, n int, s local.Step) { a.talk("%d/%d %s", i+1, n, s.What) })
	return err
}

// sshPeer is the machine that this session comes from, so that its path is not
// cut.
func sshPeer(getenv func(string) string) netip.Addr {
	from, _, _ := strings.Cut(getenv("SSH_CONNECTION"), " ")
	addr, err := netip.ParseAddr(from)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}
