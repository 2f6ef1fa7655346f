package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// checkOptions are the flags of check.
type checkOptions struct {
	models string
	config []string
	// topology is a file of links to hold those of the intent against.
	topology string
	list     bool
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check",
		Short: "Check an intent, without devices",
		Long: `check reads the intent and reports errors and risks in the file itself, on each
switch, on each link and across the fabric. 'roce-fabric explain CHECK' says what
a check looks at, why it matters and how to fix it; --list shows all checks.

With --config it also compares saved configurations with the intent:
config_db.json of SONiC, 'show running-config' of EOS and NX-OS. Switches
without one are taken to match the intent at the other ends of links.

With --topology it compares the links of the intent with a containerlab file or
with LLDP: the output of 'lldpctl -f json' in a file named after its switch. With
--yang it checks the rendered configuration with the YANG models of a switch image
(/usr/local/yang-models of a SONiC switch).`,
		Example: "  roce-fabric check -f fabric.yaml\n  roce-fabric check -f fabric/ --config leaf1=config_db.json\n  roce-fabric check -f fabric/ --yang ./yang-models --output json\n  roce-fabric check --list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.list {
				return a.listChecks()
			}
			return a.check(cmd.Context(), o)
		},
	}
	a.intentFlags(c)
	a.reportFlags(c)
	f := c.Flags()
	f.StringVar(&o.models, "yang", "", "folder of .yang files to check rendered SONiC configuration against")
	f.StringArrayVar(&o.config, "config", nil, "SWITCH=FILE: a saved configuration to compare with the intent; may be repeated")
	f.StringVar(&o.topology, "topology", "", "links to compare the intent's with: a containerlab file, or the output of 'lldpctl -f json' in a file named after its switch, leaf1.json")
	f.BoolVar(&o.list, "list", false, "list all checks")
	_ = c.MarkFlagDirname("yang")
	_ = c.MarkFlagFilename("topology", "yml", "yaml", "json")
	return c
}

func (a *app) check(ctx context.Context, o checkOptions) error {
	c, switches, err := a.load()
	if err != nil {
		return err
	}
	y, err := a.loadModels(o.models)
	if err != nil {
		return err
	}
	found, err := a.checkCables(c.Fabric(), o.topology)
	if err != nil {
		return err
	}
	chosen := map[string]bool{}
	for _, sw := range switches {
		chosen[sw.Name] = true
		d := c.Device(sw)
		found = append(append(found, refused(d)...), y.check(d)...)
	}
	if found, err = validate.Intent(ctx, c, time.Now(), found...); err != nil {
		return err
	}
	saved, err := a.checkConfigs(c, o.config)
	if err != nil {
		return err
	}
	found = append(found, saved...)
	if len(a.only) > 0 {
		found = validate.Concerns(found, func(name string) bool { return chosen[name] })
	}
	found = validate.Sort(found)
	return a.report(report.Report{
		Command: "check", Fabric: c.Fabric().Name, Intent: c.Fabric(), Links: len(c.Fabric().Links),
		Devices: checked(switches, o.config), Findings: found,
	})
}

// checked lists the switches, those with a saved configuration as such.
func checked(switches []*intent.Switch, config []string) []report.Device {
	out := report.Looked(switches, nil, report.FromIntent, nil)
	for _, arg := range config {
		name, file, _ := strings.Cut(arg, "=")
		for i := range out {
			if out[i].Name == name {
				out[i].Source, out[i].File = report.FromSaved, file
			}
		}
	}
	return out
}

// checkCables holds a topology file against the links of the intent.
func (a *app) checkCables(f *intent.Fabric, file string) ([]validate.Finding, error) {
	if file == "" {
		return nil, nil
	}
	text, err := boundedfile.Read(file, maxConfig)
	if err != nil {
		return nil, usage("--topology: %w", err)
	}
	cables, err := topology.ReadCables(file, text)
	if err != nil {
		return nil, usage("--topology: %w", err)
	}
	if device, ok := topology.Stranger(f, cables); ok {
		return nil, usageHint(`name the file for the switch, leaf1.json, or write {"devices": {"leaf1": ...}} around what lldpctl answers`,
			"--topology: %s does not say which device it is of, and the intent has no device %q", file, device)
	}
	return validate.Cabling(f, file, cables), nil
}

// checkConfigs compares saved configurations with the intent.
func (a *app) checkConfigs(c *render.Compiler, files []string) ([]validate.Finding, error) {
	if len(files) == 0 {
		return nil, nil
	}
	run := validate.NewRun(c.Fabric())
	seen, near := map[string]bool{}, map[string]bool{}
	for _, arg := range files {
		name, file, ok := strings.Cut(arg, "=")
		sw := c.Fabric().Switch(name)
		switch {
		case !ok:
			return nil, usageHint("write --config leaf1=config_db.json", "--config %q names no switch", arg)
		case sw == nil:
			return nil, usage("--config %s: the intent has no switch %q", arg, name)
		case seen[name]:
			return nil, usage("--config: %s is named twice", name)
		}
		seen[name] = true
		text, err := boundedfile.Read(file, maxConfig)
		if err != nil {
			return nil, usage("--config: %w", err)
		}
		d := c.Device(sw)
		cfg, unknown, err := systemOf(d).Decode(plain(text))
		if err != nil {
			return nil, usage("--config %s: %w", file, err)
		}
		run.Add(validate.Switch(d, cfg, validate.Saved, &validate.State{Unknown: unknown}))
		for _, p := range sw.Ports {
			if peer, linked := p.Peer(); linked {
				near[peer.Device] = true
			}
		}
	}
	for name := range near {
		if sw := c.Fabric().Switch(name); sw != nil && !seen[name] {
			run.Assume(c.Device(sw))
		}
	}
	return run.Findings(time.Now()), nil
}

// maxConfig bounds a saved configuration, in bytes: a config_db.json of 512
// ports has about 2 MB.
const maxConfig = 64 << 20

// listChecks writes what the program can check.
func (a *app) listChecks() error {
	all := validate.Checks()
	if a.output != "text" && a.output != "json" || len(a.reports) > 0 {
		return usage("check --list writes text or json to standard output")
	}
	if a.output == "json" {
		return report.WriteJSON(a.stdout, map[string]any{"format": report.Format, "checks": all})
	}
	t := report.Text{W: a.stdout, S: a.styler(a.stdout)}
	t.Checks(all)
	return t.Err()
}

// loadModels reads a folder of YANG models, and says what of it cannot be
// used; nil where no folder is named.
func (a *app) loadModels(dir string) (models, error) {
	if dir == "" {
		return nil, nil
	}
	out := models{}
	for _, s := range systems {
		if s.YANG == nil {
			continue
		}
		check, notes, err := s.YANG(dir)
		if err != nil {
			return nil, usage("--yang: %w", err)
		}
		for _, n := range notes {
			a.warn("--yang: %s", n)
		}
		out[s.Name] = check
	}
	return out, nil
}
