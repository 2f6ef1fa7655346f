package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render/telemetry"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

func (a *app) renderCommand() *cobra.Command {
	var dir, models, reader string
	c := &cobra.Command{
		Use:  "render",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch reader {
			case forSwitches:
				return a.render(cmd.Context(), dir, models)
			case forGnmic:
				return a.renderGnmic(cmd.Context(), dir)
			}
			return usageHint("use "+forSwitches+" or "+forGnmic, "--for: unknown value %q", reader)
		},
	}
	a.intentFlags(c, onlySwitches)
	c.Flags().StringVar(&dir, "out", "", "folder to write to; each device gets a folder in it. With --for gnmic, the file")
	c.Flags().StringVar(&reader, "for", forSwitches, "who reads the result: switches (native configuration), or gnmic (targets and subscriptions to the counters of the intent's ports)")
	a.choices(c, "for", forSwitches, forGnmic)
	c.Flags().StringVar(&models, "yang", "", "folder of .yang files to check the result against first")
	_ = c.MarkFlagDirname("out")
	_ = c.MarkFlagDirname("yang")
	return c
}

// Values of --for.
const (
	forSwitches = "switches"
	forGnmic    = "gnmic"
)

// renderGnmic writes the configuration of a gNMI collector to a file or to standard output.
func (a *app) renderGnmic(ctx context.Context, file string) error {
	c, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	var devices []telemetry.Device
	for _, sw := range c.Switches {
		d := c.Device(sw)
		devices = append(devices, telemetry.Device{Device: d, Source: fleet.SystemOf(d).Telemetry})
	}
	text := telemetry.Gnmic(c.Fabric().Name, devices)
	if file == "" {
		_, err := a.Out.Write(text)
		return err
	}
	if err := atomicfile.WriteOutput(file, text, 0o644); err != nil {
		return err
	}
	a.Talk("wrote %s to %s", words.Count(len(devices), "target"), file)
	return nil
}

func (a *app) render(ctx context.Context, dir, models string) error {
	c, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	if dir == "" && len(c.Switches) != 1 {
		return usageHint("name a folder with --out, or one switch with --only", "standard output can hold the file of only one switch, not of %d", len(c.Switches))
	}
	if err := a.checkYANG(c, models); err != nil {
		return err
	}
	for _, sw := range c.Switches {
		d := c.Device(sw)
		if len(d.Desired.Ports) == 0 {
			a.Talk("%s: the intent names no port of this switch, so there is nothing to configure on it", sw.Name)
		}
		for _, class := range d.Desired.Classes {
			if class.KeepsECN {
				a.Talk("%s: class %s has ecn: keep, so its thresholds are not rendered", sw.Name, class.Name)
			}
		}
		name, text := fleet.SystemOf(d).Encode(d)
		if dir == "" {
			_, err := a.Out.Write(text)
			return err
		}
		if err := atomicfile.WriteBelow(dir, filepath.Join(sw.Name, name), text, 0o644); err != nil {
			return err
		}
	}
	a.Talk("wrote %s to %s", words.Count(len(c.Switches), "device"), dir)
	return nil
}

func (a *app) checkYANG(c *fleet.Fabric, models string) error {
	y, err := a.loadModels(models)
	if err != nil {
		return err
	}
	var found []checks.Finding
	for _, sw := range c.Switches {
		found = append(found, y.Check(c.Device(sw))...)
	}
	for _, f := range checks.Sort(found) {
		a.Talk("%s: %s", f.Device, f.What)
	}
	if len(found) > 0 {
		return &statusError{status: exitDiffers, err: fmt.Errorf("%s not valid against %s; nothing was written", words.Are(len(found), "row"), models)}
	}
	return nil
}
