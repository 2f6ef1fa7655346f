package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/roster"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/report"
)

type importOptions struct {
	devices, configs, topologies, inventory      []string
	username, password, file, name, out, mapping string
	ssh, force, allPorts, coverage, offline      bool
}

func (a *app) importCommand() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:  "import",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.file = o.file // unlike other commands, no default
			return a.importFabric(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.devices, "device", nil, "a switch to read: NAME=OS://HOST[:PORT]; may be repeated")
	f.StringArrayVar(&o.configs, "config", nil, "a saved configuration: NAME=FILE, or NAME:OS=FILE where the text does not show the system; may be repeated, for a switch as well")
	f.StringArrayVar(&o.topologies, "topology", nil, "links: a containerlab file, or LLDP neighbours as 'lldpctl -f json' in a file named after the device; may be repeated")
	f.StringArrayVar(&o.inventory, "inventory", nil, "devices and cables: exports of NetBox or Nautobot as JSON, structured configurations of arista.avd, or a containerlab file; a file, or a folder of them; may be repeated")
	f.StringVar(&o.mapping, "map", "", "a YAML file that translates roles, platforms, models and port names of --inventory")
	f.BoolVar(&o.offline, "offline", false, "read no switch: import those without a --config file from --inventory alone")
	f.StringVarP(&o.file, "file", "f", "", "an intent that names switches, credentials, hosts or links: a file, a folder, or -")
	f.StringSliceVar(&a.only, "only", nil, "only these switches of -f and --inventory: name, glob, role:NAME or os:NAME; !NAME leaves out")
	f.StringVar(&o.username, "username", "", "user of the switches of --device: a name, env:NAME, file:PATH or keyring:SERVICE/USER")
	f.StringVar(&o.password, "password", "", "reference to their password: env:NAME, file:PATH or keyring:SERVICE/USER, never the password")
	f.BoolVar(&o.ssh, "ssh", false, "also reach the switches of --device over SSH (needed by "+fleet.Systems.Titles(func(s drivers.System) bool { return s.NeedsSSH })+")")
	f.StringVar(&o.name, "name", "", "name of the fabric (default: that of -f or of the lab, else imported)")
	f.StringVar(&o.out, "out", "", "file to write the intent to (default: standard output)")
	f.BoolVar(&o.force, "force", false, "replace the file of --out")
	f.BoolVar(&o.allPorts, "all-ports", false, "also import ports with QoS but no neighbour, on switches where other ports have one")
	f.BoolVar(&o.coverage, "coverage", false, "print the fate of each line about QoS, PFC, ECN, buffers and MTU instead of the intent, which --out still writes")
	_ = c.MarkFlagFilename("file", "yaml", "yml")
	_ = c.MarkFlagFilename("out", "yaml", "yml")
	_ = c.MarkFlagFilename("map", "yaml", "yml")
	a.completeOnly(c, roster.Switches)
	for _, n := range []string{"device", "username", "password", "name"} {
		a.choices(c, n)
	}
	a.deviceFlags(c)
	a.outputFlag(c, "text", "json")
	return c
}

func (a *app) importFabric(ctx context.Context, o importOptions) (err error) {
	if o.out != "" {
		replaced, err := atomicfile.CheckOutput(o.out)
		if err != nil {
			return usage("--out: %w", err)
		}
		if replaced && !o.force {
			return usageHint("--force replaces it", "%s already exists", o.out)
		}
	}
	if err := a.ownFiles(); err != nil {
		return err
	}
	s, err := a.importSources(ctx, o)
	if err != nil {
		return err
	}
	at := &fleet.Access{}
	if live := s.Live(); len(live) > 0 {
		if at, err = a.access(); err != nil {
			return err
		}
		o.permitTyped(at.Policy)
		if err := at.Permit(live, nil); err != nil {
			return err
		}
		a.warnUnverified(live)
	}
	opts := fleet.ImportOptions{AllPorts: o.allPorts, ReadOptions: fleet.ReadOptions{Workers: a.parallel, Progress: a.Progress(a.Steps())}}
	if s.Known != nil {
		past, end := a.historyOf(ctx, s.Known, fleet.StoreOptions{})
		defer func() { err = errors.Join(err, end()) }()
		opts.History = past
	}
	r, err := fleet.Import(ctx, s, at, opts)
	if r != nil {
		for _, f := range r.Failed {
			a.Error(f)
		}
		for _, d := range r.Doubts {
			a.Warn("%s", d)
		}
		for _, read := range r.Accounts {
			if a.debug && read.Recognised != "" {
				a.Talk("%s: %s", read.Device, term.Clean(read.Recognised))
			}
		}
	}
	if err != nil {
		return err
	}
	return a.imported(r, o)
}

// imported writes the imported intent to its file or to standard output, and prints the summary.
func (a *app) imported(r *fleet.Imported, o importOptions) error {
	if o.out != "" {
		if err := atomicfile.WriteOutput(o.out, r.Text, 0o644); err != nil {
			return err
		}
	}
	var err error
	switch {
	case a.Output == "json":
		if err := report.WriteImport(a.Out, r, o.out, o.coverage); err != nil {
			return err
		}
		return contradicted(r)
	case o.coverage:
		err = report.WriteCoverage(a.Out, r)
	case o.out == "":
		_, err = a.Out.Write(r.Text)
	}
	if err != nil {
		return err
	}
	said := report.ImportText(r, o.out, o.coverage)
	for _, l := range said.Lines {
		a.Talk("%s", l)
	}
	if said.Warning != "" {
		a.Warn("%s", said.Warning)
	}
	a.Hint(said.Hint)
	return contradicted(r)
}

// contradicted returns the exit status of an import whose inventory contradicts what was found;
// nil if there is no contradiction.
func contradicted(r *fleet.Imported) error {
	if len(r.Contradictions) == 0 {
		return nil
	}
	return &statusError{status: exitDiffers}
}

// importSources resolves the sources named by the flags.
func (a *app) importSources(ctx context.Context, o importOptions) (*fleet.Sources, error) {
	if len(a.only) > 0 && a.file == "" && len(o.inventory) == 0 {
		return nil, usage("--only needs -f or --inventory")
	}
	switches, err := fleet.ParseSources(o.configs, o.devices)
	if err != nil {
		return nil, err
	}
	so := fleet.SourceOptions{
		Name: o.name, Switches: switches, Username: o.username, Password: o.password, SSH: o.ssh, Topologies: o.topologies,
		Inventory: o.inventory, Map: o.mapping, Offline: o.offline,
		Intent: a.file, Stdin: a.In, StdinName: a.name, Only: a.only,
	}
	if a.lab != "" && a.file == "" && len(o.devices) == 0 && len(o.configs) == 0 && len(o.inventory) == 0 {
		f, err := a.labFile()
		if err != nil {
			return nil, err
		}
		so.Switches, so.Name = f.Sources(), cmp.Or(so.Name, f.Fabric)
	}
	s, err := fleet.FindSources(ctx, so)
	if wrong := (*fleet.OptionError)(nil); errors.As(err, &wrong) && wrong.Option == "" && errors.Is(err, fs.ErrNotExist) {
		err = usageHint("-f names an intent with the switches to read", "%w", err)
	}
	return s, err
}
