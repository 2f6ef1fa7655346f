package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// nicFlags are the flags that the nic commands have in addition to those of the
// commands for all devices.
type nicFlags struct {
	on     bool // this is a nic command: it is about hosts alone
	local  bool
	host   string
	cutOff bool
}

func (a *app) nicCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "nic",
	}
	groupOnly(c)
	c.AddCommand(a.nicPlanCommand(), a.nicApplyCommand(), a.nicRollbackCommand(), a.nicValidateCommand(), a.nicUnitCommand(), a.nicBootCommand(), a.nicAgentCommand())
	return c
}

// nicFlags adds the flags of a nic command, and makes it one.
func (a *app) nicFlags(c *cobra.Command) {
	a.intentFlags(c)
	c.Flags().Lookup("only").Usage = "only these hosts: name or glob; !NAME leaves out"
	a.deviceFlags(c)
	pre := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		a.nic.on = true
		if a.nic.local && len(a.only) > 0 {
			return usageHint("say which host of the intent this machine is with --host", "--only picks hosts that are reached over SSH, and --local is this machine")
		}
		return pre(cmd, args)
	}
	c.Flags().BoolVar(&a.nic.local, "local", false, "this machine, and not hosts over SSH")
	c.Flags().StringVar(&a.nic.host, "host", "", "one host; with --local the name of this machine in the intent (default: its host name)")
	a.sudoFlag(c)
}

// sudoFlag adds --sudo, which says how the agent becomes root on a host.
func (a *app) sudoFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.sudo, "sudo", "", "over SSH: none|nopassword|password (default: none as root, else nopassword)")
	_ = c.RegisterFlagCompletionFunc("sudo", cobra.FixedCompletions([]string{"none", "nopassword", "password"}, cobra.ShellCompDirectiveNoFileComp))
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
			a.nic.cutOff = true // it is shown, and not done
			return a.plan(cmd.Context(), o)
		},
	}
	a.nicFlags(c)
	a.outputFlag(c, "text", "json")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with status 3 where something differs")
	o.planView.flags(c)
	return c
}

func (a *app) nicApplyCommand() *cobra.Command {
	o := applyOptions{allow: counters}
	c := &cobra.Command{
		Use:  "apply",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.apply(cmd.Context(), o) },
	}
	a.nicFlags(c)
	a.outputFlag(c, "text", "json")
	a.applyFlags(c, &o)
	return c
}

func (a *app) nicRollbackCommand() *cobra.Command {
	var o rollbackOptions
	c := &cobra.Command{
		Use:  "rollback [RUN]",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.rollback(cmd.Context(), args, o) },
	}
	a.nicFlags(c)
	a.outputFlag(c, "text", "json")
	a.rollbackFlags(c, &o)
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

// nicBootCommand is what the unit runs.
func (a *app) nicBootCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "boot DEVICE",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onThisMachine(func(m *local.Machine) error { return host.Boot(cmd.Context(), m, args[0], a.talkClean) })
		},
	}
}

// nicAgentCommand is what runs on a host that is reached over SSH.
func (a *app) nicAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "agent",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return onThisMachine(func(m *local.Machine) error {
				return agent.Serve(cmd.Context(), a.stdin, a.stdout, agent.Local(m))
			})
		},
	}
}

// onThisMachine has do work on the machine itself. A broken connection ends the work
// in an orderly way.
func onThisMachine(do func(*local.Machine) error) (err error) {
	outliveOutput()
	m, err := local.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return do(m)
}

// pickHosts picks the hosts of a nic command: this machine with --local, the one of
// --host, or those of --only, by default all, as far as they can be reached.
func (a *app) pickHosts(f *fleet.Fabric, at *fleet.Access) error {
	switch {
	case a.nic.local || a.nic.host != "":
		h, err := hostNamed(f.Fabric(), a.nic.host)
		if err != nil {
			return err
		}
		if !slices.Contains(f.Hosts, h) {
			return usage("--host %s is none of the hosts of --only", a.nic.host)
		}
		if f.Hosts = []*intent.Host{h}; at.Reaches(h) {
			return nil
		}
		return usageHint(wayIn, "%s has no %s", h.Name, at.Lacks(h))
	case !slices.ContainsFunc(f.Hosts, at.Reaches):
		none := "no host of " + f.Fabric().Name
		if len(a.only) > 0 {
			none = "none of the hosts of --only"
		}
		return usageHint(wayIn, "%s has an address and a user name", none)
	}
	f.Hosts = a.reachable(f.Hosts, at)
	return nil
}

const wayIn = "give hosts an address and credentials.hosts, or run it on the host with --local"

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
