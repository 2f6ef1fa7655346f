package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/trace"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Exit statuses, the same for every command.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDiffers     = 3
	exitPartial     = 4
	exitInterrupted = 130
)

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
	sudo     string   // --sudo
	reports  []string // of --report
	strict   bool     // --strict
	parallel int
	color    term.ColorMode
	lab      string
	nic      nicFlags

	// name stands for standard input in places of the intent; "" is "<stdin>".
	name string
	// verbose, debug and debugFile are flags; log is what they ask for, nil for
	// none.
	verbose, debug bool
	debugFile      string
	log            *trace.Log

	// quiet leaves out talk that the caller has said already.
	quiet bool
	// waited says that the command was to go on until Ctrl-C, which therefore
	// is its success.
	waited bool
	// hinted are the hints that were printed: the same one helps once.
	hinted map[string]bool
}

// run carries out one command line and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil && !a.waited {
		err = interrupted(err)
	}
	if err == nil {
		return exitOK
	}
	status := exitFailed
	var se *statusError
	var wrong *fleet.OptionError
	switch {
	case errors.As(err, &se):
		status = se.status
		if se.err == nil {
			return status
		}
	case errors.As(err, &wrong):
		status = exitUsage
		if wrong.Option != "" {
			err = &statusError{err: fmt.Errorf("--%w", err)}
		}
	case errors.As(err, new(intent.Errors)), errors.As(err, new(*intent.Error)), unpermitted(err):
		status = exitUsage
	}
	if wantsJSON(args) {
		// A command line that is wrong before --output was read.
		a.output = "json"
	}
	a.printError(err)
	return status
}

// talk prints a line for people on standard error; programs do not read it.
func (a *app) talk(format string, args ...any) {
	if a.output != "json" && !a.quiet {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}

// talkClean is talk of what a host says.
func (a *app) talkClean(format string, args ...any) {
	a.talk("%s", term.CleanLine(fmt.Sprintf(format, args...)))
}

func (a *app) warn(format string, args ...any) {
	if a.output == "json" {
		a.jsonLine("warnings", []string{fmt.Sprintf(format, args...)})
		return
	}
	fmt.Fprintln(a.stderr, a.styler(a.stderr).Yellow("warning:"), term.Clean(fmt.Sprintf(format, args...)))
}

func (a *app) terminal(w io.Writer) bool { return term.IsTerminal(term.File(w)) }

// width is that of a terminal, in columns; 0 for anything else.
func (a *app) width(w io.Writer) int {
	if a.terminal(w) {
		return term.Width(term.File(w))
	}
	return 0
}

func (a *app) styler(w io.Writer) term.Styler {
	return term.NewStyler(term.Color(a.color, a.getenv, a.terminal(w)))
}

// intentFlags adds the flags of commands that read an intent.
func (a *app) intentFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&a.file, "file", "f", "fabric.yaml", "the intent: a file, a folder, or - for standard input")
	f.StringSliceVar(&a.only, "only", nil, "only these switches: name, glob, role:NAME or os:NAME; !NAME leaves out")
	_ = c.MarkFlagFilename("file", "yaml", "yml")
}

// allFlags adds the flags of commands over switches and hosts.
func (a *app) allFlags(c *cobra.Command) {
	a.intentFlags(c)
	c.Flags().Lookup("only").Usage = "only these devices: name, glob, role:NAME (role:host is all hosts) or os:NAME; !NAME leaves out"
	a.deviceFlags(c)
	a.sudoFlag(c)
}

// outputFlag adds --output with the forms that the command has.
func (a *app) outputFlag(c *cobra.Command, forms ...string) {
	short := "o"
	if c.Flags().ShorthandLookup(short) != nil {
		short = "" // the file that an intent or a rendering is written to
	}
	c.Flags().StringVarP(&a.output, "output", short, forms[0], "form of the result: "+strings.Join(forms, "|"))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	pre := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(forms, a.output) {
			bad := a.output
			a.output = forms[0]
			return usageHint(fmt.Sprintf("see %s --help", cmd.CommandPath()), "--output %s: %s writes %s", bad, cmd.CommandPath(), strings.Join(forms, " or "))
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
	f.BoolVarP(&a.verbose, "verbose", "v", false, "print each operation on a device, with its time, to standard error")
	f.BoolVar(&a.debug, "debug", false, "print each request to a device and its answer, without secrets, to standard error")
	f.StringVar(&a.debugFile, "debug-file", "", "write what --debug prints to this file")
	_ = c.MarkFlagFilename("debug-file")
	pre, run := c.PreRunE, c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		end, err := a.openLog()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		return run(cmd, args)
	}
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if a.parallel < 1 || a.parallel > 1024 {
			return usage("--parallel %d: use 1 to 1024", a.parallel)
		}
		if most, files := fleet.MaxWorkers(); a.parallel > most {
			if cmd.Flags().Changed("parallel") {
				a.warn("--parallel %d needs more than the %d files that a process may open here (ulimit -n): %s at a time", a.parallel, files, words.Count(most, "device"))
			}
			a.parallel = most
		}
		if pre != nil {
			return pre(cmd, args)
		}
		return nil
	}
}

// openLog opens the log that --verbose, --debug and --debug-file ask for. The
// returned function closes it.
func (a *app) openLog() (end func() error, err error) {
	end = func() error { return nil }
	to, level := a.stderr, slog.LevelInfo
	switch {
	case a.debugFile != "":
		f, err := os.OpenFile(a.debugFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, usage("--debug-file: %w", err)
		}
		to, level, end = f, slog.LevelDebug, f.Close
	case a.debug:
		level = slog.LevelDebug
	case !a.verbose:
		return end, nil
	}
	o := &slog.HandlerOptions{Level: level}
	if a.output == "json" {
		a.log = trace.New(slog.NewJSONHandler(to, o))
	} else {
		a.log = trace.New(slog.NewTextHandler(to, o))
	}
	return end, nil
}

func defaultParallel() int { return 16 * min(runtime.NumCPU(), 4) }

// load reads the intent of -f and picks the devices of --only.
func (a *app) load(ctx context.Context, take fleet.Take) (*fleet.Fabric, error) {
	f, err := fleet.Load(ctx, a.file, fleet.LoadOptions{Stdin: a.stdin, Name: a.name, Only: a.only, Take: take})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageHint("name the intent with -f; there is one to start from in examples/quickstart", "%w", err)
	}
	return f, err
}
