package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// nicFlags are the additional flags of the nic commands.
type nicFlags struct {
	on     bool // set for nic commands, which act only on hosts
	local  bool
	host   string
	cutOff bool
}

func (a *app) nicCommand() *cobra.Command {
	c := &cobra.Command{Use: "nic"}
	groupOnly(c)
	c.AddCommand(a.nicPlanCommand(), a.nicApplyCommand(), a.rollbackCommand(a.nicFlags), a.nicValidateCommand(), a.nicResetCommand(), a.nicUnitCommand(), a.nicAgentCommand(), a.nicFragmentsCommand(), a.nicBootCommand(), a.nicServeCommand())
	return c
}

// nicFlags adds the flags of a nic command and marks the command as one.
func (a *app) nicFlags(c *cobra.Command) {
	a.intentFlags(c, onlyHosts)
	a.deviceFlags(c)
	addPreCheck(c, func(*cobra.Command) error {
		a.nic.on = true
		if a.nic.local && len(a.only) > 0 {
			return usageHint("say which host of the intent this machine is with --host", "--only picks hosts that are reached over SSH, and --local is this machine")
		}
		return nil
	})
	c.Flags().BoolVar(&a.nic.local, "local", false, "work on this machine, not on hosts over SSH")
	c.Flags().StringVar(&a.nic.host, "host", "", "one host; with --local the name of this machine in the intent (default: its host name)")
	a.completeHost(c)
	a.sudoFlag(c)
}

// sudoFlag adds --sudo, which selects how the agent becomes root on a host.
func (a *app) sudoFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.sudo, "sudo", "", "over SSH: none|nopassword|password (default: none as root, else nopassword)")
	ways := []string{"", "none", "nopassword", "password"}
	a.choices(c, "sudo", ways[1:]...)
	addPreCheck(c, func(*cobra.Command) error {
		if !slices.Contains(ways, a.sudo) {
			return usage("--sudo %s: use none, nopassword or password", a.sudo)
		}
		return nil
	})
}

// cutOffFlag adds --cut-off.
func (a *app) cutOffFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.nic.cutOff, "cut-off", false, "on hosts, also take down the port that carries the only management path of the machine")
}

func (a *app) nicPlanCommand() *cobra.Command {
	var o planFlags
	c := &cobra.Command{
		Use:  "plan",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.nic.cutOff = true // plan shows these steps but does not carry them out
			return a.plan(cmd.Context(), o)
		},
	}
	a.nicFlags(c)
	a.outputFlag(c, "text", "json")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with status 3 if anything differs")
	a.gateFlag(c, &o.gate, fleet.GateFull)
	viewFlags(c, &o.view)
	return c
}

func (a *app) nicApplyCommand() *cobra.Command {
	var o applyOptions
	c := &cobra.Command{
		Use:  "apply",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.apply(cmd.Context(), o) },
	}
	a.nicFlags(c)
	a.outputFlag(c, "text", "json")
	a.runFlags(c, &o.runFlags, fleet.GateFull)
	a.cutOffFlag(c)
	return c
}

func (a *app) nicValidateCommand() *cobra.Command {
	var o validateOptions
	c := &cobra.Command{
		Use:  "validate",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.validate(cmd.Context(), o) },
	}
	a.nicFlags(c)
	a.reportFlags(c)
	return c
}

// nicBootCommand returns the command that the boot unit runs.
func (a *app) nicBootCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "boot DEVICE",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onThisMachine(func(m *local.Machine) error { return host.Boot(cmd.Context(), m, args[0], a.TalkClean) })
		},
	}
}

// nicServeCommand returns the command that runs on a host reached over SSH.
func (a *app) nicServeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "serve",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return onThisMachine(func(m *local.Machine) error {
				return agent.Serve(cmd.Context(), a.In, a.Out, agent.Local(m))
			})
		},
	}
}

// onThisMachine calls do for the local machine. A broken connection does not kill the work in
// the middle.
func onThisMachine(do func(*local.Machine) error) (err error) {
	outliveOutput()
	m, err := local.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return do(m)
}
