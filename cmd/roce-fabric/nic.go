package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/unit"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
)

// nicOptions are the flags of the nic commands.
type nicOptions struct {
	local  bool
	host   string
	yes    bool
	cutOff bool
	code   bool
	allow  impactFlag
}

func (a *app) nicCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "nic",
		Short: "The NICs of a host: plan, apply, validate, and a unit for the boot",
		Long: `nic sets the NICs of the machine that it runs on (--local) as the intent says:
trust, DSCP -> priority, PFC, ETS, cable length, DCBX owner, link pause, ToS of
RDMA connections, CNP, MTU, and the firmware settings of NVIDIA cards.

A setting has one of three lifetimes, and each difference says which: firmware
(survives a reboot, needs a reset of the card), driver (lost at a reboot), rdma
(lost with the RDMA device). 'nic unit install' has the latter two applied again
at boot. Hosts over SSH are not reached by this version.`,
		Example: "  roce-fabric nic plan --local -f fabric.yaml\n  roce-fabric nic apply --local -f fabric.yaml --allow port-flap",
	}
	groupOnly(c)
	c.AddCommand(a.nicPlanCommand(), a.nicApplyCommand(), a.nicValidateCommand(), a.nicUnitCommand(), a.nicBootCommand())
	return c
}

func (a *app) nicFlags(c *cobra.Command, o *nicOptions) {
	a.intentFlags(c)
	c.Flags().BoolVar(&o.local, "local", false, "this machine (the only way of this version)")
	c.Flags().StringVar(&o.host, "host", "", "name of this machine in the intent (default: its host name)")
}

func (a *app) nicPlanCommand() *cobra.Command {
	var o nicOptions
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show how the NICs differ from the intent",
		Long: `plan reads the NICs and shows how they differ from the intent, in which layer,
and what changing it disturbs. Nothing is written.`,
		Example: "  roce-fabric nic plan --local -f fabric.yaml --exit-code",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.nicPlan(cmd.Context(), o) },
	}
	a.nicFlags(c, &o)
	a.outputFlag(c, "text", "json")
	c.Flags().BoolVar(&o.code, "exit-code", false, "end with status 3 where something differs")
	return c
}

func (a *app) nicApplyCommand() *cobra.Command {
	o := nicOptions{allow: impactFlag{qos.ImpactCounters}}
	c := &cobra.Command{
		Use:   "apply",
		Short: "Set the NICs as the intent says",
		Long: `apply writes what differs and nothing else, one port after the other, and reads
each value back. What fails is taken back. A changed PFC mask takes the link
down for a moment, and needs --allow port-flap; on the port that carries the
machine's only management path it needs --cut-off as well. Firmware settings
are staged and never reset.`,
		Example: "  roce-fabric nic apply --local -f fabric.yaml --allow port-flap",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.nicApply(cmd.Context(), o) },
	}
	a.nicFlags(c, &o)
	f := c.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.Var(&o.allow, "allow", "the largest impact: none|counters|port-flap|traffic-loss|reload")
	f.BoolVar(&o.cutOff, "cut-off", false, "also take the port down that the machine is managed over")
	_ = c.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions([]string{"none", "counters", "port-flap"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) nicValidateCommand() *cobra.Command {
	var o nicOptions
	c := &cobra.Command{
		Use:   "validate",
		Short: "Prove that the NICs run as the intent says",
		Long: `validate reads the NICs and checks them: drift with its layer, trust and maps,
PFC, congestion control, buffers, MTU, DCBX, link pause, and whether a boot unit
keeps it all. Nothing is written.`,
		Example: "  roce-fabric nic validate --local -f fabric.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.nicValidate(cmd.Context(), o) },
	}
	a.nicFlags(c, &o)
	a.outputFlag(c, "text", "json")
	return c
}

func (a *app) nicUnitCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "unit",
		Short: "A systemd unit that applies the settings at boot",
		Long: `unit installs or removes a systemd unit with a udev trigger: the settings are
applied again at boot, when the driver is loaded and when an RDMA device is
added, from a small host file that it derives from the intent.`,
		Example: "  roce-fabric nic unit install --local -f fabric.yaml\n  roce-fabric nic unit remove",
	}
	groupOnly(c)
	var o nicOptions
	var binary string
	install := &cobra.Command{
		Use:     "install",
		Short:   "Install the unit, or bring it up to date",
		Example: "  roce-fabric nic unit install --local -f fabric.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.unitInstall(cmd.Context(), o, binary) },
	}
	a.nicFlags(install, &o)
	install.Flags().StringVar(&binary, "binary", "", "path of roce-fabric on this machine (default: this program)")
	_ = install.MarkFlagFilename("binary")
	remove := &cobra.Command{
		Use:     "remove",
		Short:   "Remove the unit and its files",
		Example: "  roce-fabric nic unit remove",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			gone, err := unit.Remove(cmd.Context(), local.Roots{}, runner.Local{})
			for _, f := range gone {
				a.talk("removed %s", f)
			}
			return err
		},
	}
	c.AddCommand(install, remove)
	return c
}

// nicBootCommand is what the unit runs.
func (a *app) nicBootCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "boot DEVICE",
		Short:   "Apply the settings of the boot unit to a device",
		Example: "  roce-fabric nic boot ens1f0np0",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.nicBoot(cmd.Context(), args[0]) },
	}
}

// thisHost is the machine that the program runs on, as the intent has it.
type thisHost struct {
	*local.Machine
	fabric           *intent.Fabric
	host             *intent.Host
	running, desired *nic.Host
}

// names are the ports that are desired.
func (h *thisHost) names() []string { return natural.Keys(h.desired.Ports) }

// openHost reads the machine's NICs. Close must be called on what it returns.
func (a *app) openHost(ctx context.Context, o nicOptions) (_ *thisHost, err error) {
	if !o.local {
		return nil, usageHint("run it on the host, with --local", "hosts over SSH are not reached by this version")
	}
	c, _, err := a.load()
	if err != nil {
		return nil, err
	}
	h := &thisHost{fabric: c.Fabric()}
	if h.host, err = hostNamed(h.fabric, o.host); err != nil {
		return nil, err
	}
	var open []nic.Problem
	h.desired, open = nic.Desired(h.fabric, h.host)
	for _, p := range open {
		a.warn("%s: %s (%s)", strings.TrimSpace(h.host.Name+" "+p.Port), term.CleanLine(p.What), p.Where)
	}
	if h.Machine, err = local.Open(); err != nil {
		return nil, err
	}
	if err := h.read(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// read takes a fresh look at the machine.
func (h *thisHost) read(ctx context.Context) (err error) {
	if h.running, err = h.Read(ctx, h.names()); err != nil {
		return err
	}
	h.running.Name = h.host.Name
	state, why, err := unit.Read(h.Roots)
	if err != nil {
		return err
	}
	h.running.Unit = state
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

// nicPlanned is the JSON of nic plan.
type nicPlanned struct {
	Format  int          `json:"format"`
	Host    string       `json:"host"`
	Changes []nic.Change `json:"changes"`
	Steps   []local.Step `json:"steps"`
}

func (a *app) nicPlan(ctx context.Context, o nicOptions) (err error) {
	h, err := a.openHost(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	changes := nic.Diff(h.running, h.desired)
	steps := h.Plan(h.running, h.desired, local.Options{Bounce: true, CutOff: true, Peer: sshPeer(a.getenv)})
	if a.output == "json" {
		out := nicPlanned{report.Format, h.host.Name, append([]nic.Change{}, changes...), append([]local.Step{}, steps...)}
		if err := report.WriteJSON(a.stdout, out); err != nil {
			return err
		}
	} else {
		t := report.Text{W: a.stdout, S: a.styler(a.stdout)}
		t.NIC(h.host.Name, changes, steps)
		if err := t.Err(); err != nil {
			return err
		}
	}
	if o.code && len(changes) > 0 {
		return &statusError{status: exitDiffers}
	}
	return nil
}

func (a *app) nicApply(ctx context.Context, o nicOptions) (err error) {
	if !o.yes && !a.canAsk() {
		return usageHint("look at 'roce-fabric nic plan' first, then use --yes", "nobody to ask on standard input")
	}
	h, err := a.openHost(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	steps := h.Plan(h.running, h.desired, local.Options{Bounce: o.allow.Impact >= qos.ImpactPortFlap, CutOff: o.cutOff, Peer: sshPeer(a.getenv)})
	t := report.Text{W: a.stderr, S: a.styler(a.stderr)}
	t.NIC(h.host.Name, nic.Diff(h.running, h.desired), steps)
	for _, s := range steps {
		if s.Blocked != "" {
			return fmt.Errorf("%s: %s; nothing was written", s.What, s.Blocked)
		}
	}
	if len(steps) == 0 {
		fmt.Fprintf(a.stdout, "%s  unchanged\n", h.host.Name)
		return nil
	}
	if err := a.confirm(ctx, o.yes, fmt.Sprintf("Set %s?", words.Count(len(steps), "value"))); err != nil {
		return err
	}
	undo, err := h.Apply(ctx, steps, func(i, n int, s local.Step) {
		fmt.Fprintf(a.stderr, "%s %s\n", t.S.Dim(fmt.Sprintf("%d/%d", i+1, n)), term.CleanLine(s.What))
	})
	if err == nil {
		err = h.proven(ctx)
	}
	if err == nil {
		fmt.Fprintf(a.stdout, "%s  applied, %s\n", h.host.Name, words.Count(len(steps), "step"))
		return nil
	}
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
func (h *thisHost) proven(ctx context.Context) error {
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

func (a *app) nicValidate(ctx context.Context, o nicOptions) (err error) {
	h, err := a.openHost(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	// The switches are not read here: their ends are held to be as intended.
	found := validate.Host(h.fabric, h.host, h.running, h.desired, func(intent.Endpoint) validate.End { return validate.End{} })
	out := findings{report.Format, h.fabric.Name, 1, validate.Sort(found)}
	return a.findings(out, fmt.Sprintf("%s runs as the intent says: %s read", h.host.Name, words.Count(len(h.running.Ports), "port")))
}

func (a *app) unitInstall(ctx context.Context, o nicOptions, binary string) (err error) {
	h, err := a.openHost(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if binary == "" {
		if binary, err = os.Executable(); err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
	}
	wrote, err := unit.Install(ctx, h.Roots, h.Tools, unit.Settings{Binary: binary, Host: h.desired})
	for _, f := range wrote {
		a.talk("wrote %s", f)
	}
	if err == nil && len(wrote) == 0 {
		a.talk("the unit is up to date")
	}
	return err
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
