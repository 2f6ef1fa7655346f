package main

import (
	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// nicOptions are the flags of the nic commands.
type nicOptions struct {
	local  bool
	host   string
	yes    bool
	cutOff bool
	code   bool
	allow  impactFlag
	state  string
	// parallelSet says that the operator has given --parallel.
	parallelSet bool
}

func (a *app) nicCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "nic",
		Short: "Plan, apply, roll back and validate the NICs of hosts",
		Long: `nic sets the NICs of hosts to match the intent: trust, DSCP -> priority, PFC, ETS,
cable length, DCBX owner, link pause, ToS of RDMA connections, CNP, MTU, and the
firmware settings of NVIDIA cards. With --local it works on this machine,
otherwise over SSH on every host that has an address: this program is copied there
once (~/.cache/roce-fabric) and does the work there.

A setting has one of three lifetimes, and each difference names it: firmware
(survives a reboot, takes effect with a reset of the card), driver (lost at a
reboot), rdma (lost with the RDMA device). 'nic unit install' installs a systemd
unit that applies the latter two again at boot.`,
		Example: "  roce-fabric nic plan --local -f fabric.yaml\n  roce-fabric nic apply --host gpu1 -f fabric.yaml --allow traffic-loss",
	}
	groupOnly(c)
	c.AddCommand(a.nicPlanCommand(), a.nicApplyCommand(), a.nicRollbackCommand(), a.nicValidateCommand(), a.nicUnitCommand(), a.nicBootCommand(), a.nicAgentCommand())
	return c
}

func (a *app) nicFlags(c *cobra.Command, o *nicOptions) {
	a.intentFlags(c)
	c.Flags().Lookup("only").Usage = "only these hosts: name or glob; !NAME leaves out"
	a.deviceFlags(c)
	pre := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if o.local && len(a.only) > 0 {
			return usageHint("say which host of the intent this machine is with --host", "--only picks hosts that are reached over SSH, and --local is this machine")
		}
		return pre(cmd, args)
	}
	c.Flags().BoolVar(&o.local, "local", false, "this machine, and not hosts over SSH")
	c.Flags().StringVar(&o.host, "host", "", "one host; with --local the name of this machine in the intent (default: its host name)")
	a.sudoFlag(c)
}

// sudoFlag adds --sudo, which says how the agent becomes root on a host.
func (a *app) sudoFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.sudo, "sudo", "", "over SSH: none|nopassword|password (default: none as root, else nopassword)")
	_ = c.RegisterFlagCompletionFunc("sudo", cobra.FixedCompletions([]string{"none", "nopassword", "password"}, cobra.ShellCompDirectiveNoFileComp))
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
		Short: "Set the NICs to match the intent",
		Long: `apply writes only what differs, one port of a host after another, and reads each
value back. If anything fails, the host is reverted, and no further host is
changed.

Changes that do more than reset counters must be allowed explicitly: a changed PFC
mask takes the link down for a moment (--allow port-flap), a changed MTU may lose
packets (--allow traffic-loss). The port that carries the only management path of
the machine needs --cut-off as well. Firmware settings are staged; the card is
never reset.

Hosts are changed side by side; where links go down or packets may be lost, one
after another, unless --parallel is given. The result gives the state of each
host. So does the journal, with every old value: 'nic rollback' undoes the run,
also one that was cut off.`,
		Example: "  roce-fabric nic apply --local -f fabric.yaml --allow traffic-loss\n  roce-fabric nic apply -f fabric.yaml --allow port-flap --parallel 8 --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.parallelSet = cmd.Flags().Changed("parallel")
			return a.nicApply(cmd.Context(), o)
		},
	}
	a.nicFlags(c, &o)
	a.outputFlag(c, "text", "json")
	a.stateFlag(c, &o.state)
	f := c.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.Var(&o.allow, "allow", "the largest impact: none|counters|port-flap|traffic-loss|reload")
	f.BoolVar(&o.cutOff, "cut-off", false, "also take down the port that carries the only management path of the machine")
	_ = c.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions([]string{"none", "counters", "port-flap", "traffic-loss"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) nicValidateCommand() *cobra.Command {
	var o nicOptions
	c := &cobra.Command{
		Use:   "validate",
		Short: "Prove from running state that the NICs match the intent",
		Long: `validate reads the NICs and checks them: drift with its layer, trust and maps,
PFC, congestion control, buffers, MTU, DCBX, link pause, and whether a boot unit
restores the settings. Nothing is written.`,
		Example: "  roce-fabric nic validate --local -f fabric.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.nicValidate(cmd.Context(), o) },
	}
	a.nicFlags(c, &o)
	a.reportFlags(c)
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
