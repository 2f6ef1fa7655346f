package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "roce-fabric",
		Short: "Plan, apply and prove lossless RoCE fabrics from one intent file",
		Long: `roce-fabric keeps an RDMA network lossless: PFC, ECN, DSCP maps, buffers and MTU
that agree on every port of every switch.`,
		Example: `  roce-fabric lab demo                   see all of it on simulated devices
  roce-fabric check    -f fabric.yaml    what is wrong with the intent
  roce-fabric plan     -f fabric.yaml    what would change, and what that disturbs
  roce-fabric apply    -f fabric.yaml    change it, wave by wave
  roce-fabric validate -f fabric.yaml    prove from running state that it is so`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetHelpTemplate(root.HelpTemplate() + "\n" + exitHelp)
	root.SetFlagErrorFunc(flagError)
	pf := root.PersistentFlags()
	a.color = "auto"
	pf.Var(&a.color, "color", "colour the output")
	root.AddGroup(&cobra.Group{ID: "offline", Title: "Without devices:"}, &cobra.Group{ID: "devices", Title: "With devices:"}, &cobra.Group{ID: "more", Title: "More:"})
	for _, c := range []struct {
		group string
		cmd   *cobra.Command
	}{
		{"offline", a.checkCommand()}, {"offline", a.explainCommand()}, {"offline", a.renderCommand()},
		{"devices", a.planCommand()}, {"devices", a.applyCommand()}, {"devices", a.validateCommand()}, {"devices", a.watchCommand()}, {"devices", a.rollbackCommand()}, {"devices", a.unlockCommand()}, {"devices", a.importCommand()}, {"devices", a.nicCommand()}, {"devices", a.labCommand()},
		{"more", a.schemaCommand()}, {"more", a.versionCommand()},
	} {
		c.cmd.GroupID = c.group
		root.AddCommand(c.cmd)
	}
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	groupOnly(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "  roce-fabric help apply"
			c.Run, c.RunE = nil, helpFor
		case "completion":
			groupOnly(c)
			c.Example = "  roce-fabric completion bash > ~/.local/share/bash-completion/completions/roce-fabric"
			for _, shell := range c.Commands() {
				shell.Example = "  roce-fabric completion " + shell.Name() + " --no-descriptions"
			}
		}
	}
	wrapArgs(root)
	return root
}

// helpFor is the help command; unlike cobra's it fails on what there is no
// help for.
func helpFor(cmd *cobra.Command, args []string) error {
	at, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return unknownCommand(at, strings.Join(args, " "))
	}
	at.InitDefaultHelpFlag()
	return at.Help()
}

// groupOnly makes a command that has subcommands show its help if it is called
// without one, and refuse any other argument.
func groupOnly(c *cobra.Command) {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

func unknownCommand(parent *cobra.Command, name string) error {
	hint := fmt.Sprintf("see %s --help", parent.CommandPath())
	parent.SuggestionsMinimumDistance = 2
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s %s?", parent.CommandPath(), near[0])
	}
	return usageHint(hint, "unknown command %q", name)
}

// flagError is a usage error with advice. If a command with subcommands does not
// know a flag, an argument before that flag is an unknown subcommand.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedName() == "output" {
		return usageHint(hint, "%s has no --output: its result has one form", cmd.CommandPath())
	}
	return usageHint(hint, "%w", err)
}

// wrapArgs makes wrong arguments a usage error on every command.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || errors.As(err, new(*statusError)) {
				return err
			}
			takes := strings.TrimSuffix(strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath()), "[flags]")
			if takes = strings.TrimSpace(takes); takes == "" {
				takes = "no arguments"
			}
			return usageHint(fmt.Sprintf("see %s --help", cmd.CommandPath()), "%s takes %s, not %q", cmd.CommandPath(), takes, args)
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}
