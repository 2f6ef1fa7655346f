package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/sonic"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
)

// registry lists the switch systems: one line each.
var registry = drivers.Registry{"sonic": sonic.Open}

// Exit statuses, the same for every command.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDiffers     = 3
	exitPartial     = 4
	exitInterrupted = 130
)

// exitHelp ends the help of every command.
const exitHelp = `
Exit status:
  0    done, nothing to report
  1    failed: could not reach, could not read, an operation broke
  2    the command line or the intent is wrong
  3    there are differences (plan --exit-code) or findings of severity error
  4    applied in part: the report says which device is in which state
  130  interrupted
`

// statusError carries an exit status. A nil err prints nothing: the result
// has said it.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

func usage(format string, a ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, a...)}
}

// app is one run of the program: what it talks to and its global flags.
//
// Output rules: standard output is the result and nothing else; talk, progress
// and warnings go to standard error; colour and moving lines only on a
// terminal.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string

	file     string
	only     []string
	output   string
	parallel int
	color    term.ColorMode
	lab      string
}

// run carries out one command line and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil {
		err = &statusError{exitInterrupted, err}
	}
	if err == nil {
		return exitOK
	}
	status := exitFailed
	var se *statusError
	var faults intent.Errors
	var fault *intent.Error
	switch {
	case errors.As(err, &se):
		status = se.status
		if se.err == nil {
			return status
		}
	case errors.As(err, &faults), errors.As(err, &fault):
		status = exitUsage
	}
	a.printError(err)
	return status
}

// hinter is an error with advice.
type hinter interface{ Hint() string }

// printError states the fact, and hints apart from it.
func (a *app) printError(err error) {
	type item struct {
		Error string `json:"error"`
		Place string `json:"place,omitempty"`
		Hint  string `json:"hint,omitempty"`
	}
	var items []item
	var faults intent.Errors
	var fault *intent.Error
	var h hinter
	switch {
	case errors.As(err, &faults):
		for _, f := range faults {
			items = append(items, item{f.Msg, f.Pos.String(), f.Hint})
		}
	case errors.As(err, &fault):
		items = []item{{fault.Msg, fault.Pos.String(), fault.Hint}}
	case errors.As(err, &h):
		items = []item{{Error: err.Error(), Hint: h.Hint()}}
	default:
		items = []item{{Error: err.Error()}}
	}
	if a.output == "json" {
		enc := json.NewEncoder(a.stderr)
		enc.SetEscapeHTML(false)
		// Standard error that cannot be written leaves nobody to tell.
		_ = enc.Encode(map[string]any{"format": report.Format, "errors": items})
		return
	}
	st := a.styler(a.stderr)
	for _, it := range items {
		text := term.Clean(it.Error)
		if it.Place != "" {
			text = it.Place + ": " + text
		}
		fmt.Fprintln(a.stderr, st.Red("error:"), text)
		if it.Hint != "" {
			fmt.Fprintln(a.stderr, st.Dim("hint: "), term.Clean(it.Hint))
		}
	}
}

// talk prints a line for people on standard error.
func (a *app) talk(format string, args ...any) {
	fmt.Fprintf(a.stderr, format+"\n", args...)
}

func (a *app) warn(format string, args ...any) {
	fmt.Fprintln(a.stderr, a.styler(a.stderr).Yellow("warning:"), term.Clean(fmt.Sprintf(format, args...)))
}

func (a *app) terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f)
}

func (a *app) styler(w io.Writer) term.Styler {
	return term.NewStyler(term.Color(a.color, a.getenv, a.terminal(w)))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "roce-fabric",
		Short: "Plan, apply and prove lossless RoCE fabrics from one intent file",
		Long: `roce-fabric keeps an RDMA network lossless: PFC, ECN, DSCP maps, buffers, MTU
that agree on every port of every switch.

  roce-fabric check  -f fabric.yaml     what is wrong with the intent
  roce-fabric plan   -f fabric.yaml     what would change, and what that disturbs
  roce-fabric apply  -f fabric.yaml     change it, device by device
  roce-fabric validate -f fabric.yaml   prove from running state that it is so
  roce-fabric lab demo                  see all of it on simulated switches
` + exitHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w (see %s --help)", err, cmd.CommandPath())
	})
	pf := root.PersistentFlags()
	a.color = "auto"
	pf.Var(&a.color, "color", "colour the output")
	root.AddGroup(&cobra.Group{ID: "offline", Title: "Without devices:"}, &cobra.Group{ID: "devices", Title: "With devices:"}, &cobra.Group{ID: "more", Title: "More:"})
	for _, c := range []struct {
		group string
		cmd   *cobra.Command
	}{
		{"offline", a.checkCommand()}, {"offline", a.explainCommand()}, {"offline", a.renderCommand()},
		{"devices", a.planCommand()}, {"devices", a.applyCommand()}, {"devices", a.validateCommand()}, {"devices", a.labCommand()},
		{"more", a.schemaCommand()}, {"more", a.versionCommand()},
	} {
		c.cmd.GroupID = c.group
		root.AddCommand(c.cmd)
	}
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	wrapArgs(root)
	return root
}

// wrapArgs makes wrong arguments a usage error on every command.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage("%w (see %s --help)", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// intentFlags adds the flags of commands that read an intent.
func (a *app) intentFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&a.file, "file", "f", "fabric.yaml", "the intent: a file, a folder, or - for standard input")
	f.StringSliceVar(&a.only, "only", nil, "only these switches: name, glob, role:NAME or os:NAME")
	_ = c.MarkFlagFilename("file", "yaml", "yml")
}

// outputFlag adds --output with the forms that the command has.
func (a *app) outputFlag(c *cobra.Command, forms ...string) {
	c.Flags().StringVarP(&a.output, "output", "o", forms[0], "form of the result: "+strings.Join(forms, "|"))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	pre := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(forms, a.output) {
			bad := a.output
			a.output = forms[0]
			return usage("--output %s: this command writes %s", bad, strings.Join(forms, " or "))
		}
		if pre != nil {
			return pre(cmd, args)
		}
		return nil
	}
}

// deviceFlags adds the flags of commands that talk to devices.
func (a *app) deviceFlags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&a.parallel, "parallel", defaultParallel(), "devices to work on at the same time, 1 to 1024")
	f.StringVar(&a.lab, "lab", a.getenv("ROCE_FABRIC_LAB"), "file of a running lab, to talk to its devices instead (or ROCE_FABRIC_LAB)")
	_ = c.MarkFlagFilename("lab", "json")
	pre := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if a.parallel < 1 || a.parallel > 1024 {
			return usage("--parallel %d: use 1 to 1024", a.parallel)
		}
		if pre != nil {
			return pre(cmd, args)
		}
		return nil
	}
}

func defaultParallel() int { return 16 * min(runtime.NumCPU(), 4) }

// load reads the intent and picks the switches.
func (a *app) load() (*render.Compiler, []*intent.Switch, error) {
	f, err := intent.Load(a.file, intent.Options{Stdin: a.stdin})
	if err != nil {
		if errors.As(err, new(intent.Errors)) {
			return nil, nil, err
		}
		return nil, nil, &statusError{exitUsage, err}
	}
	c, err := render.New(f)
	if err != nil {
		return nil, nil, err
	}
	sw, err := f.Select(a.only)
	if err != nil {
		return nil, nil, &statusError{exitUsage, fmt.Errorf("--only: %w", err)}
	}
	return c, sw, nil
}
