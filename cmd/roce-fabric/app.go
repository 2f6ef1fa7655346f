package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/roce-fabric/roce-fabric/cmd/roce-fabric/internal/defaults"
	"github.com/roce-fabric/roce-fabric/cmd/roce-fabric/internal/man"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/roster"
	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/internal/trace"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/validate/whatif"
)

// app is one run of the program: its console and the flags shared by several commands.
type app struct {
	report.Console

	file     string
	argument bool // file is an argument, not a flag
	only     []string
	sudo     string   // --sudo
	reports  []string // arguments of --report
	files    []report.File
	strict   bool // --strict
	parallel int
	lab      string
	nic      nicFlags
	changes  whatif.Changes   // --set and --without
	again    func() io.Reader // returns standard input anew for each reading of the intent; nil for one reading

	permitted policyFlags
	identity  []string // --accept-identity

	// name is shown instead of "<stdin>" in places of an intent from standard input; "" keeps
	// "<stdin>".
	name string
	// verbose, debug and debugFile are flags; log is the log that they request, nil if none.
	verbose, debug bool
	debugFile      string
	log            *trace.Log

	// defaults are the flag defaults from the user's file. bare ignores that file.
	defaults *defaults.File
	bare     bool

	// dial connects to devices; nil uses the machine's network.
	dial netx.Dialer
	// wrap replaces the store of the runs; nil keeps it.
	wrap func(store.Store) store.Store

	// yaml takes the JSON of a command with --output yaml; nil for others.
	yaml io.WriteCloser

	// completing is set when the shell requests completions.
	completing bool

	// waited is set for commands that run until Ctrl-C, for which Ctrl-C means success.
	waited bool
}

// run executes a command line and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	a.completing = len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if a.yaml != nil {
		if wrong := a.yaml.Close(); wrong != nil {
			err = errors.Join(err, wrong)
		}
	}
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
			a.Hint(se.hint)
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
		// The command line was rejected before --output was read. With --output yaml, errors are
		// JSON as well.
		a.Output = "json"
	}
	a.Error(err)
	return status
}

// fileFlag adds -f. A command without arguments takes the intent as one, too.
func (a *app) fileFlag(c *cobra.Command) {
	usual := cmp.Or(a.Getenv("ROCE_FABRIC_FILE"), "fabric.yaml")
	c.Flags().StringVarP(&a.file, "file", "f", usual, "the intent: a file, a folder, or - for standard input (or ROCE_FABRIC_FILE)")
	_ = c.MarkFlagFilename("file", "yaml", "yml")
	if !takesNone(c) {
		return
	}
	c.Use += " [INTENT]"
	c.Args = cobra.MaximumNArgs(1)
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFile
		}
		return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	addPreCheck(c, func(cmd *cobra.Command) error {
		args := cmd.Flags().Args()
		switch {
		case len(args) == 0:
			return nil
		case cmd.Flags().Changed("file"):
			return usage("INTENT and --file exclude each other")
		}
		if plan, err := fleet.OpenPlan(args[0]); err == nil {
			_ = plan.Close() // nothing was written
			name := words.Shell(args[0])
			return usageHint(fmt.Sprintf("'roce-fabric plan show %s' shows it, 'roce-fabric apply --plan %s' carries it out", name, name),
				"%s is a saved plan, not an intent", args[0])
		}
		a.argument = true
		return cmd.Flags().Set("file", args[0])
	})
}

// takesNone reports whether a command takes no arguments.
func takesNone(c *cobra.Command) bool { return c.Args != nil && c.Args(c, []string{"x"}) != nil }

// intentFlags adds the flags of commands that read an intent; devices describes what --only
// selects.
func (a *app) intentFlags(c *cobra.Command, devices string) {
	a.fileFlag(c)
	c.Flags().StringSliceVar(&a.only, "only", nil, "only these "+devices+"; !NAME leaves out")
	a.completeOnly(c, map[string]roster.Which{onlySwitches: roster.Switches, onlyHosts: roster.Hosts, onlyDevices: roster.All}[devices])
}

const (
	onlySwitches = "switches: name, glob, role:NAME or os:NAME"
	onlyDevices  = "devices: name, glob, role:NAME (role:host is all hosts) or os:NAME"
	onlyHosts    = "hosts: name or glob"
)

// allFlags adds the flags of commands for switches and hosts.
func (a *app) allFlags(c *cobra.Command) {
	a.intentFlags(c, onlyDevices)
	a.deviceFlags(c)
	a.sudoFlag(c)
}

// choice is the flag annotation that holds the allowed values.
const choice = "choice"

// completes sets the completion function of a flag, but only if the shell requests completions:
// cobra keeps these functions and all that they reference until the process ends.
func (a *app) completes(c *cobra.Command, flag string, f cobra.CompletionFunc) {
	if a.completing {
		_ = c.RegisterFlagCompletionFunc(flag, f)
	}
}

// choices sets the values of a flag for completion, and for the suggestion after a wrong value.
func (a *app) choices(c *cobra.Command, flag string, values ...string) {
	for _, set := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		_ = set.SetAnnotation(flag, choice, values) // fails for the set without this flag
	}
	a.completes(c, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// suggestion returns the hint for an unknown word: the most similar known word, if any, followed by
// all. Words that differ only in their number do not count as similar.
func suggestion(word string, known []string, all string) string {
	letters := func(s string) string { return strings.Trim(s, "0123456789") }
	if near := words.Nearest(word, known); near != "" && letters(near) != letters(word) {
		return strings.TrimSpace("did you mean " + near + "? " + all)
	}
	return all
}

// addPreCheck adds a check that runs before a command and its existing checks.
func addPreCheck(c *cobra.Command, check func(cmd *cobra.Command) error) {
	next := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd); err != nil || next == nil {
			return err
		}
		return next(cmd, args)
	}
}

// outputFlag adds --output with the given forms; the first one is the default. A command that writes
// JSON also writes YAML, converted from it.
func (a *app) outputFlag(c *cobra.Command, forms ...string) {
	if i := slices.Index(forms, "json"); i >= 0 {
		forms = slices.Insert(slices.Clone(forms), i+1, "yaml")
	}
	c.Flags().StringVarP(&a.Output, "output", "o", forms[0], "form of the result: "+strings.Join(forms, "|"))
	a.choices(c, "output", forms...)
	addPreCheck(c, func(cmd *cobra.Command) error {
		if bad := a.Output; !slices.Contains(forms, bad) {
			a.Output = forms[0]
			hint := formHint(cmd)
			if near := words.Nearest(bad, forms); near != "" {
				hint = "did you mean --output " + near + "?"
			}
			return usageHint(hint, "--output %s: %s writes %s", bad, cmd.CommandPath(), strings.Join(forms, " or "))
		}
		if a.Output == "yaml" {
			a.yaml = yaml.FromJSON(a.Out)
			a.Output, a.Out = "json", a.yaml
		}
		return nil
	})
}

// formHint returns the hint after an unknown output form, which may have been meant as a path.
func formHint(cmd *cobra.Command) string {
	if cmd.Flags().Lookup("out") != nil {
		return "--out names what to write to"
	}
	return fmt.Sprintf("see %s --help", cmd.CommandPath())
}

// labFlag adds --lab.
func (a *app) labFlag(c *cobra.Command, what string) {
	c.Flags().StringVar(&a.lab, "lab", a.Getenv("ROCE_FABRIC_LAB"), what)
	_ = c.MarkFlagFilename("lab", "json")
}

// deviceFlags adds the flags of commands that connect to devices.
func (a *app) deviceFlags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&a.parallel, "parallel", defaultParallel(), "devices to work on at the same time, 1 to 1024")
	_ = f.SetAnnotation("parallel", man.Usual, []string{"16 for each processor, at most 64"})
	a.labFlag(c, "file of a running lab, to talk to its devices instead (or ROCE_FABRIC_LAB)")
	a.policyFlags(c)
	f.BoolVarP(&a.verbose, "verbose", "v", false, "print each operation on a device, with its time, to standard error")
	f.BoolVar(&a.debug, "debug", false, "print each request to a device and its answer, without secrets, to standard error")
	f.StringVar(&a.debugFile, "debug-file", "", "write what --debug prints to this file")
	_ = c.MarkFlagFilename("debug-file")
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if !a.verbose && !a.debug && a.debugFile == "" {
			return run(cmd, args)
		}
		log, end, err := trace.Open(a.debugFile, a.Err, a.debug || a.debugFile != "", a.Output == "json")
		if err != nil {
			return usage("--debug-file: %w", err)
		}
		a.log = log
		defer func() { err = errors.Join(err, end()) }()
		return run(cmd, args)
	}
	addPreCheck(c, func(cmd *cobra.Command) error {
		if a.parallel < 1 || a.parallel > 1024 {
			return usage("--parallel %d: use 1 to 1024", a.parallel)
		}
		if most, files := fleet.MaxWorkers(); a.parallel > most {
			if cmd.Flags().Changed("parallel") {
				a.Warn("--parallel %d needs more than the %d files that a process may open here (ulimit -n): %s at a time", a.parallel, files, words.Count(most, "device"))
			}
			a.parallel = most
		}
		return nil
	})
}

func defaultParallel() int { return 16 * min(runtime.NumCPU(), 4) }

// load reads the intent of -f with the changes of --set and --without, and selects the devices of
// --only.
func (a *app) load(ctx context.Context, take fleet.Take) (*fleet.Fabric, error) {
	return a.loadWith(ctx, take, a.changes)
}

// loadWith is like load, with these changes instead of those of the flags.
func (a *app) loadWith(ctx context.Context, take fleet.Take, changes whatif.Changes) (*fleet.Fabric, error) {
	if err := a.ownFiles(); err != nil {
		return nil, err
	}
	in := a.In
	if a.again != nil {
		in = a.again()
	}
	f, err := fleet.Load(ctx, a.file, fleet.LoadOptions{Stdin: in, Name: a.name, Only: a.only, Take: take, Changes: changes})
	if errors.Is(err, fs.ErrNotExist) && a.argument && !strings.ContainsAny(a.file, "./") {
		return nil, usageHint(fmt.Sprintf("the intent is a file or a folder; --only %s picks a device of it", words.Shell(a.file)), "%w", err)
	}
	return f, missingIntent(err)
}

// missingIntent adds advice to the error for a missing intent.
func missingIntent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usageHint("name the intent with -f, or write one with 'roce-fabric init'", "%w", err)
	}
	return err
}

// loadDevices loads the intent for commands that connect to devices, and returns how to reach
// them. It takes switches and hosts; for nic commands only hosts.
func (a *app) loadDevices(ctx context.Context) (*fleet.Fabric, *fleet.Access, error) {
	take := fleet.TakeAll
	if a.nic.on {
		take = fleet.TakeHosts
	}
	f, err := a.load(ctx, take)
	if err != nil {
		return nil, nil, err
	}
	at, err := a.access()
	if err != nil {
		return nil, nil, err
	}
	at.CutOff = a.nic.cutOff
	if err := at.Permit(f.Switches, f.Hosts); err != nil {
		return nil, nil, err
	}
	a.warnUnverified(f.Switches)
	switch {
	case a.nic.local || a.nic.host != "":
		err = f.OneHost(at, a.nic.host)
	case a.nic.on:
		if err = f.SomeHost(at); err == nil {
			f.Hosts = a.reachable(f.Hosts, at)
		}
	}
	return f, at, err
}

// devices is like loadDevices, for commands that change devices. It skips hosts that cannot be
// reached, and says so.
func (a *app) devices(ctx context.Context) (*fleet.Fabric, *fleet.Access, []fleet.Device, error) {
	f, at, err := a.loadDevices(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	f.Hosts = a.reachable(f.Hosts, at)
	devices, open := f.Devices(at)
	a.warnOpen(open)
	return f, at, devices, nil
}

// reachable returns the hosts that have an access method, and prints those without one.
func (a *app) reachable(hosts []*intent.Host, at *fleet.Access) []*intent.Host {
	out, without := at.Reachable(hosts)
	for _, l := range without {
		a.Talk("%s", l)
	}
	return out
}

// access returns how devices are reached: as the intent says, in the lab of --lab, or as this
// machine.
func (a *app) access() (*fleet.Access, error) {
	p, err := a.policy()
	if err != nil {
		return nil, err
	}
	if a.nic.local {
		return &fleet.Access{Policy: p, AcceptIdentity: a.identity, Local: true, Peer: local.Peer(a.Getenv)}, nil
	}
	out := &fleet.Access{Policy: p, AcceptIdentity: a.identity, Sudo: a.sudo, Log: a.log, Workers: a.parallel, Dial: a.dial}
	if a.lab == "" {
		out.Images, _ = fleet.ImageDir() // without a home folder, no images are kept
		return out, nil
	}
	f, err := a.labFile()
	if err != nil {
		return nil, err
	}
	a.Talk("lab: the devices of %s answer on loopback (%s)", f.Fabric, a.lab)
	// Devices of a lab with time scale 0 still take some time, so Scale must not be 0.
	out.At, out.Scale = f.At, max(f.TimeScale, 0.001)
	return out, nil
}

func (a *app) labFile() (*lab.File, error) {
	f, err := lab.Read(a.lab)
	if err != nil {
		return nil, usageHint("start the lab with 'roce-fabric lab up INTENT', or unset ROCE_FABRIC_LAB to talk to real devices", "%w", err)
	}
	return f, nil
}

// warnUnverified warns about unverified certificates and unencrypted connections.
func (a *app) warnUnverified(switches []*intent.Switch) {
	for _, sw := range switches {
		switch t := sw.Access.TLS; {
		case t.Insecure.V:
			a.Warn("%s: the certificate is not verified (%s)", sw.Name, t.Insecure.From)
		case t.Plaintext.V:
			a.Warn("%s: the connection is not encrypted (%s)", sw.Name, t.Plaintext.From)
		}
	}
}
