package main

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/roce-fabric/roce-fabric/internal/words"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "roce-fabric",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.CompletionOptions.HiddenDefaultCmd = false
	// No template is used: text/template makes the linker keep every method of every type.
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var text bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		fmt.Fprint(out, fitHelp(text.String()))
		if own := a.defaults.Of(cmd); len(own) > 0 {
			fmt.Fprintf(out, "\nDefaults from %s:\n  %s\n", a.defaults.Path, strings.Join(own, ", "))
		}
		fmt.Fprint(out, "\n", fitHelp(helpText("exit-status")))
	})
	root.SetFlagErrorFunc(flagError)
	root.Flags().Bool("version", false, "print the version, as the version command does in more words")
	pf := root.PersistentFlags()
	a.Color = "auto"
	pf.Var(&a.Color, "color", "colour the output")
	a.choices(root, "color", "auto", "always", "never")
	root.AddGroup(&cobra.Group{ID: "offline", Title: "Without devices:"}, &cobra.Group{ID: "devices", Title: "With devices:"}, &cobra.Group{ID: "more", Title: "More:"})
	for _, c := range []struct {
		group string
		cmd   *cobra.Command
	}{
		{"offline", a.initCommand()}, {"offline", a.fmtCommand()}, {"offline", a.checkCommand()}, {"offline", a.explainCommand()}, {"offline", a.simulateCommand()}, {"offline", a.adviseCommand()}, {"offline", a.renderCommand()},
		{"devices", a.diffCommand()}, {"devices", a.planCommand()}, {"devices", a.applyCommand()}, {"devices", a.validateCommand()}, {"devices", a.watchCommand()}, {"devices", a.proveCommand()}, {"devices", a.rollbackCommand(a.allFlags)}, {"devices", a.unlockCommand()}, {"devices", a.importCommand()}, {"devices", a.nicCommand()}, {"devices", a.labCommand()},
		{"more", a.schemaCommand()}, {"more", a.versionCommand()}, {"more", a.manCommand()},
	} {
		c.cmd.GroupID = c.group
		root.AddCommand(c.cmd)
	}
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	groupOnly(root)
	showHelp := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if asked, _ := cmd.Flags().GetBool("version"); asked {
			_, err := fmt.Fprintln(a.Out, "roce-fabric", version)
			return err
		}
		return showHelp(cmd, args)
	}
	addHelp(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "  roce-fabric help apply"
			c.Run, c.RunE = nil, helpFor
		case "completion":
			groupOnly(c)
			for _, cobras := range append(c.Commands(), c) {
				cobras.Long = ""
			}
			addHelp(c)
			for _, shell := range c.Commands() {
				if shell.Name() == "bash" {
					a.forBash(shell)
				}
			}
		}
	}
	a.quietly(root)
	wrapArgs(root)
	a.takeDefaults(root)
	return root
}

// The help of each command is in a file named after it: a summary line, details, and examples.
//
//go:embed help
var helpFiles embed.FS

func helpText(name string) string {
	text, err := helpFiles.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // cannot happen: the file is embedded
	}
	return string(text)
}

// addHelp sets the help of a command and its subcommands. Text that a command has set itself
// follows the text of its file.
func addHelp(c *cobra.Command) {
	name := strings.TrimPrefix(strings.ReplaceAll(c.CommandPath(), " ", "-"), "roce-fabric-")
	text, example, _ := strings.Cut(helpText(name), "\nExample:\n")
	short, long, _ := strings.Cut(text, "\n")
	c.Short, c.Long, c.Example = short, strings.TrimSpace(long+"\n"+c.Long), strings.TrimSuffix(example, "\n")
	for _, sub := range c.Commands() {
		addHelp(sub)
	}
}

// helpFor is the help command; unlike cobra's, it fails for an unknown topic.
func helpFor(cmd *cobra.Command, args []string) error {
	at, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return unknownCommand(at, strings.Join(args, " "))
	}
	at.InitDefaultHelpFlag()
	return at.Help()
}

// groupOnly makes a command with subcommands print its help if called without one, and reject
// other arguments.
func groupOnly(c *cobra.Command) {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// otherWords maps words of other tools to the command that does here what is meant.
var otherWords = map[string]string{
	"lint": "check", "test": "check", "audit": "check",
	"deploy": "apply", "push": "apply", "install": "apply", "set": "apply",
	"destroy": "rollback", "undo": "rollback", "revert": "rollback", "delete": "rollback",
	"verify": "validate", "status": "validate", "get": "validate", "health": "validate",
	"monitor": "watch", "drift": "diff", "preview": "plan", "show": "plan show",
	"template": "render", "build": "render", "generate": "render", "new": "init", "create": "init",
	"describe": "explain", "why": "explain", "predict": "simulate", "accept": "prove", "benchmark": "prove", "certify": "prove", "up": "lab up", "demo": "lab demo", "format": "fmt",
}

func unknownCommand(parent *cobra.Command, name string) error {
	if meant, ok := otherWords[name]; ok && !parent.HasParent() {
		return usageHint(fmt.Sprintf("did you mean %s %s?", parent.CommandPath(), meant), "unknown command %q", name)
	}
	hint := fmt.Sprintf("see %s --help", parent.CommandPath())
	parent.SuggestionsMinimumDistance = 2
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s %s?", parent.CommandPath(), cmp.Or(words.Nearest(name, near), near[0]))
	}
	return usageHint(hint, "unknown command %q", name)
}

// otherFlags maps flags of other tools to the flag that does here what is meant.
var otherFlags = map[string]string{
	"auto-approve": "yes", "assumeyes": "yes", "non-interactive": "yes", "target": "only", "limit": "only", "filename": "file",
	"values": "set", "format": "output", "json": "output json", "yaml": "output yaml", "jobs": "parallel", "forks": "parallel",
}

// otherFlag returns the hint for a flag of another tool; "" if nothing here does the same.
func otherFlag(cmd *cobra.Command, name string) string {
	flag := otherFlags[name]
	if name == "dry-run" || name == "check" || name == "noop" {
		flag = "plan"
		if f := cmd.Flags().Lookup(flag); cmd.HasParent() && (f == nil || f.Value.Type() != "bool") {
			return fmt.Sprintf("'%s plan' shows what would change, and changes nothing", cmd.Parent().CommandPath())
		}
	}
	known, _, _ := strings.Cut(flag, " ")
	if flag == "" || cmd.Flags().Lookup(known) == nil {
		return ""
	}
	return "did you mean --" + flag + "?"
}

// flagError returns a usage error with a hint. If a command with subcommands gets an unknown
// flag after an argument, the argument is reported as an unknown command.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 && takesNone(cmd) {
		return unknownCommand(cmd, args[0])
	}
	hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if name == "output" || name == "o" && cmd.Flags().Lookup("out") != nil {
			return usageHint(formHint(cmd), "%s has no --output: its result has one form", cmd.CommandPath())
		}
		if long := unknown.GetSpecifiedShortnames(); len(long) > 2 {
			name = long // a long flag with one dash, as other tools have
		}
		if near := nearFlag(cmd, name); near != "" {
			hint = "did you mean --" + near + "?"
		} else if other := otherFlag(cmd, name); other != "" {
			hint = other
		}
	}
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		if near := words.Nearest(wrong.GetValue(), wrong.GetFlag().Annotations[choice]); near != "" {
			hint = fmt.Sprintf("did you mean --%s %s?", wrong.GetFlag().Name, near)
		}
	}
	return usageHint(hint, "%w", err)
}

// nearFlag returns the flag most similar to an unknown one, or starting with it; "" if there is
// none.
func nearFlag(cmd *cobra.Command, name string) (near string) {
	best := 3
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		d := words.Distance(name, f.Name, 2)
		if len(name) > 1 && strings.HasPrefix(f.Name, name) {
			d = min(d, 1)
		}
		if len(name) > 2 && d < best {
			near, best = f.Name, d
		}
	})
	return near
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
