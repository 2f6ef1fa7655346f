package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/report"
)

type importOptions struct {
	devices, configs   []string
	topologies         []string
	username, password string
	ssh                bool
	file, name, out    string
	force, allPorts    bool
}

func (a *app) importCommand() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import",
		Short: "Make an intent from what switches run",
		Long: `import reads switches, or their saved configurations, and writes an intent that
describes them: classes, thresholds, watchdog, MTU and links, in the short form,
with the exceptions of a role, a switch or a port. Nothing is written to a device.

Switches come from --device, from an intent that names them and says how to reach
them (-f; its classes may be left out), from a running lab, or from files:
config_db.json of SONiC, 'show running-config' of EOS and NX-OS. Links come from
LLDP on the switches, from --topology and from -f.

Standard error lists what is assumed because no device reports it, what is left
out, what this tool does not understand, and what a plan of the new intent would
change: values that an intent cannot express.`,
		Example: `  roce-fabric import --device leaf1=sonic://192.0.2.11 \
      --device spine1=eos://192.0.2.21 --ssh \
      --username env:FABRIC_USER --password env:FABRIC_PASSWORD -o fabric.yaml
  roce-fabric import -f switches.yaml -o fabric.yaml
  roce-fabric import --config leaf1=config_db.json --topology lab.clab.yml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.file = o.file // has no default here
			return a.importFabric(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.devices, "device", nil, "a switch to read: NAME=OS://HOST[:PORT]; may be repeated")
	f.StringArrayVar(&o.configs, "config", nil, "a saved configuration: NAME=FILE, or NAME:OS=FILE where the text does not show the system; may be repeated")
	f.StringArrayVar(&o.topologies, "topology", nil, "links: a containerlab file, or LLDP neighbours as 'lldpctl -f json' in a file named after the device; may be repeated")
	f.StringVarP(&o.file, "file", "f", "", "an intent that names switches, credentials, hosts or links: a file, a folder, or -")
	f.StringSliceVar(&a.only, "only", nil, "only these switches of -f: name, glob, role:NAME or os:NAME")
	f.StringVar(&o.username, "username", "", "user of the switches of --device: a name, env:NAME, file:PATH or keyring:SERVICE/USER")
	f.StringVar(&o.password, "password", "", "reference to their password: env:NAME, file:PATH or keyring:SERVICE/USER, never the password")
	f.BoolVar(&o.ssh, "ssh", false, "reach the switches of --device over SSH as well, which NX-OS needs")
	f.StringVar(&o.name, "name", "", "name of the fabric (default: that of -f or of the lab, else imported)")
	f.StringVarP(&o.out, "out", "o", "", "file to write the intent to (default: standard output)")
	f.BoolVar(&o.force, "force", false, "replace the file of --out")
	f.BoolVar(&o.allPorts, "all-ports", false, "also import ports that carry QoS and have no known neighbour, on switches where others have one")
	_ = c.MarkFlagFilename("file", "yaml", "yml")
	_ = c.MarkFlagFilename("out", "yaml", "yml")
	for _, n := range []string{"device", "username", "password", "name", "only"} {
		_ = c.RegisterFlagCompletionFunc(n, cobra.NoFileCompletions)
	}
	a.deviceFlags(c)
	a.outputFlag(c, "text", "json")
	return c
}

// imported is a switch that was read, and what of it was not understood.
type imported struct {
	source  *importSource
	sw      derive.Switch
	unknown []drivers.Unknown
	// unseen is why the state of the links was not read.
	unseen error
	// doubt is why the file may be of another system than the one stated.
	doubt string
	err   error
}

func (a *app) importFabric(ctx context.Context, o importOptions) error {
	if o.out != "" {
		replaced, err := atomicfile.CheckOutput(o.out)
		if err != nil {
			return usage("--out: %w", err)
		}
		if replaced && !o.force {
			return usageHint("--force replaces it", "%s is there already", o.out)
		}
	}
	s, err := a.importSources(o)
	if err != nil {
		return err
	}
	var past *fleet.History
	if s.known != nil {
		// Where no folder is known there is nothing to wait for.
		if dir, err := stateDir("", s.known.Name); err == nil {
			past = a.history(dir)
		}
	}
	in := derive.Input{Name: s.name, Hosts: s.hosts, Cables: s.cables, ClassNames: s.classes, AllPorts: o.allPorts, Fits: systems.Fits()}
	var lost []lostLine
	var failed []error
	var unseen []string
	p := a.progress("import", len(s.list))
	defer p.Close()
	err = pool.Ordered(ctx, a.parallel, s.list, func(ctx context.Context, src *importSource) imported {
		p.Start()
		return src.read(ctx, s.open, past)
	}, func(r imported) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.Finish(r.source.name, r.err)
		if r.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", r.source.name, unnamed(r.source.name, r.err)))
			return nil
		}
		if r.doubt != "" {
			unseen = append(unseen, r.source.name+": "+r.doubt)
		}
		if r.unseen != nil {
			unseen = append(unseen, fmt.Sprintf("%s: the state of its links could not be read, nor its neighbours: %v", r.source.name, r.unseen))
		}
		in.Switches = append(in.Switches, r.sw)
		for _, u := range r.unknown {
			lost = append(lost, lostLine{r.source.name, u})
		}
		return nil
	})
	// Not before: they would be glued to the moving line.
	p.Close()
	for _, f := range failed {
		a.printError(f)
	}
	for _, u := range unseen {
		a.warn("%s", u)
	}
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s of %d could not be read; no intent is written", words.Plural(len(failed), "switch", "switches"), len(s.list))
	}
	res, err := derive.Derive(in)
	if errors.Is(err, derive.ErrInput) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	if s.known != nil {
		res.LeftOut = append(res.LeftOut, notTaken(s.known, res.Fabric)...)
	}
	if o.out != "" {
		if err := atomicfile.WriteOutput(o.out, res.Text, 0o644); err != nil {
			return err
		}
	}
	return a.imported(res, lost, o.out)
}

// unnamed takes the name of a device off an error that begins with it.
func unnamed(name string, err error) error {
	if text, ok := strings.CutPrefix(err.Error(), name+": "); ok {
		return &renamed{text, err}
	}
	return err
}

// renamed is an error in other words.
type renamed struct {
	text string
	err  error
}

func (e *renamed) Error() string { return e.text }
func (e *renamed) Unwrap() error { return e.err }

// lostLine is a line of a switch that this tool does not understand.
type lostLine struct {
	Device string `json:"device"`
	drivers.Unknown
}

// importDocument is the JSON form of an import. Format counts up when a reader
// of an older one would misread it.
type importDocument struct {
	Format        int                 `json:"format"`
	Fabric        string              `json:"fabric"`
	File          string              `json:"file,omitempty"`
	Intent        string              `json:"intent"`
	Assumed       []derive.Note       `json:"assumed"`
	LeftOut       []derive.Note       `json:"left_out"`
	NotUnderstood []lostLine          `json:"not_understood"`
	WouldChange   []derive.Difference `json:"would_change"`
}

// imported writes the result.
func (a *app) imported(r *derive.Result, lost []lostLine, file string) error {
	if a.output == "json" {
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(importDocument{
			report.Format, r.Fabric.Name, file, string(r.Text), list(r.Assumed), list(r.LeftOut), list(lost), list(r.Differs),
		})
	}
	if file == "" {
		if _, err := a.stdout.Write(r.Text); err != nil {
			return err
		}
	}
	say := func(what string, lines ...string) {
		for _, l := range lines {
			a.talk("%s: %s", what, term.Clean(l)) // much of it is what a device said
		}
	}
	for _, n := range r.Assumed {
		say("assumed", n.Where+": "+n.What)
	}
	for _, n := range r.LeftOut {
		say("left out", n.Where+": "+n.What)
	}
	say("not understood", foldLost(lost)...)
	say("a plan would change", foldChanges(r.Differs)...)
	ports := 0
	for _, s := range r.Fabric.Switches {
		ports += len(s.Ports)
	}
	to := ""
	if file != "" {
		to = ", written to " + file
	}
	a.talk("%s, %s, %s, %s%s", words.Plural(len(r.Fabric.Switches), "switch", "switches"), words.Count(ports, "port"),
		words.Count(len(r.Fabric.Links), "link"), words.Plural(len(r.Fabric.Settings.Classes), "class", "classes"), to)
	if ports == 0 {
		a.warn("nothing was found to manage: no port of these switches is in the intent")
	}
	if len(r.Differs) == 0 {
		a.talk("a plan of this intent is empty")
	} else {
		a.printHint("what a plan would change is what no intent can say, or what differs from most ports without a place of its own; 'roce-fabric plan' shows the lines")
	}
	return nil
}

// list is never null in JSON.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// foldLost writes each thing that is not understood once, with all switches
// that have it.
func foldLost(lost []lostLine) []string {
	by := map[drivers.Unknown][]string{}
	var order []drivers.Unknown
	for _, l := range lost {
		if by[l.Unknown] == nil {
			order = append(order, l.Unknown)
		}
		by[l.Unknown] = append(by[l.Unknown], l.Device)
	}
	var out []string
	for _, u := range order {
		text := ""
		if u.Text != "" {
			text = " [" + u.Text + "]"
		}
		out = append(out, fewNames(by[u])+" "+u.Where+text+": "+u.Why)
	}
	return out
}

// fewNames folds names, and cuts a list that nobody reads.
func fewNames(names []string) string {
	const most = 160
	s := natural.Fold(names)
	if len(s) <= most {
		return s
	}
	return s[:strings.LastIndexByte(s[:most], ',')+1] + fmt.Sprintf("... (%d in all)", len(names))
}

// foldChanges writes equal changes once, with their ports and switches.
func foldChanges(ds []derive.Difference) []string {
	type change struct {
		field     qos.Attr
		was, want string
	}
	type place struct {
		change
		ports string
	}
	var order []place
	devices := map[place][]string{}
	for _, d := range ds {
		ports := map[change][]string{}
		var mine []change
		for _, c := range d.Changes {
			k := change{c.Field, c.Old, c.New}
			if ports[k] == nil {
				mine = append(mine, k)
			}
			if c.Port != "" {
				ports[k] = append(ports[k], c.Port)
			} else {
				ports[k] = []string{}
			}
		}
		for _, k := range mine {
			p := place{k, fewNames(ports[k])}
			if devices[p] == nil {
				order = append(order, p)
			}
			devices[p] = append(devices[p], d.Device)
		}
	}
	var out []string
	for _, p := range order {
		where := fewNames(devices[p])
		if p.ports != "" {
			where += " " + p.ports
		}
		out = append(out, fmt.Sprintf("%s %s %s -> %s", where, p.field, p.was, p.want))
	}
	return out
}

// read reads the switch, from its file or from itself.
func (s *importSource) read(ctx context.Context, open *opener, past *fleet.History) imported {
	if s.file != "" {
		return s.readFile()
	}
	r := imported{source: s, sw: s.switchOf()}
	drv, err := open.open(ctx, s.sw)
	if err != nil {
		r.err = err
		return r
	}
	// A session that does not close cleanly changes nothing about what was read.
	defer func() { _ = drv.Close() }()
	if r.err = settled(ctx, past, s.sw, drv); r.err != nil {
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	facts, err := drv.Probe(ctx)
	if err != nil {
		r.err = err
		return r
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		r.err = err
		return r
	}
	if r.sw.Running, r.unknown, r.err = drivers.Decode(s.sw.Name, drv, snap); r.err != nil {
		return r
	}
	if r.sw.Model == "" {
		r.sw.Model = facts.Model
	}
	// A release that the switch does not print is what the driver makes of that.
	if r.sw.Release == "" && strings.Contains(facts.Version, facts.Release) {
		r.sw.Release = facts.Release
	}
	if obs, ok := drv.(drivers.Observer); ok {
		var o *drivers.Observation
		if o, r.unseen = obs.Observe(ctx); r.unseen == nil {
			seen(&r.sw, o)
		}
	}
	return r
}

// seen adds what the switch shows of its links.
func seen(sw *derive.Switch, o *drivers.Observation) {
	o.Complete(sw.Running)
	sw.Neighbors, sw.Aliases = map[string][]qos.Neighbor{}, map[string]string{}
	for name, p := range o.Ports {
		if len(p.Neighbors) > 0 {
			sw.Neighbors[name] = p.Neighbors
		}
		if p.Alias != "" {
			sw.Aliases[name] = p.Alias
		}
	}
}

// readFile reads the switch from its saved configuration.
func (s *importSource) readFile() imported {
	r := imported{source: s, sw: s.switchOf()}
	text, err := readSaved(s.file)
	if err != nil {
		r.err = err
		return r
	}
	os := s.os
	found, why := systems.Recognise(text)
	switch {
	case os == "" && why != nil:
		hint := "systems are " + strings.Join(systems.Names(), ", ")
		if errors.Is(why, drivers.ErrUnclear) {
			hint = fmt.Sprintf("state it: --config %s:OS=%s; %s", s.name, s.file, hint)
		}
		r.err = &statusError{exitFailed, fmt.Errorf("%s: %w", s.file, why), hint}
		return r
	case os == "":
		os = found
	case why == nil && found != os:
		r.doubt = fmt.Sprintf("%s looks like a configuration of %s, and is read as one of %s", s.file, found, os)
	}
	r.sw.OS = os
	system, _ := systems.Find(os)
	run, unknown, err := system.Decode(text)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", s.file, err)
		return r
	}
	if len(run.Ports) == 0 {
		r.err = &statusError{exitFailed, fmt.Errorf("%s holds no ports that %s has", s.file, os), "give the whole configuration: config_db.json, or the answer to 'show running-config'"}
		return r
	}
	id := system.Identify(text)
	r.sw.Running, r.sw.Saved, r.unknown = run, true, unknown
	if run.Name == "" {
		run.Name = id.Hostname
	}
	if r.sw.Model == "" {
		r.sw.Model = id.Model
	}
	if r.sw.Release == "" {
		r.sw.Release = id.Release
	}
	return r
}
