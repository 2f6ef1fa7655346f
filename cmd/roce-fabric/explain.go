package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/deadlock"
)

func (a *app) explainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain DEVICE PORT | blast-radius HOST/NIC | CHECK",
		Short: "Explain the settings of a port, or a check",
		Long: `explain shows how a switch port treats each class (DSCP -> class -> queue ->
priority group), its ECN thresholds in bytes and in drain time, its headroom with
every term of the sum, and the line of the intent behind each value. For a NIC it
shows each setting, where it is stored, and for how long.

blast-radius traces PFC backpressure from a stuck NIC: which ports, classes and
hosts it can stop, and how far away.

Given a check ID such as CLS-08, it shows what is checked, why it matters, how
severe it is, and how to fix it; no intent is read.`,
		Example: "  roce-fabric explain leaf1 Ethernet0 -f fabric.yaml\n  roce-fabric explain gpu1 ens1f0np0 --output json\n  roce-fabric explain blast-radius gpu1/ens1f0np0\n  roce-fabric explain CLS-08",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1:
				return a.explainCheck(args[0])
			case args[0] == "blast-radius":
				return a.explainBlast(cmd.Context(), args[1])
			}
			return a.explain(cmd.Context(), args[0], args[1])
		},
	}
	c.Flags().StringVarP(&a.file, "file", "f", "fabric.yaml", "the intent: a file, a folder, or - for standard input")
	_ = c.MarkFlagFilename("file", "yaml", "yml")
	a.outputFlag(c, "text", "json")
	return c
}

func (a *app) explain(ctx context.Context, device, port string) error {
	c, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	f := c.Fabric()
	sw := f.Switch(device)
	if sw == nil {
		if h := f.Host(device); h != nil {
			return a.explainNIC(f, h, port)
		}
		var names []string
		for _, sw := range f.Switches {
			names = append(names, sw.Name)
		}
		for _, h := range f.Hosts {
			names = append(names, h.Name)
		}
		return usageHint("its devices: "+fold(names), "no device %s in %s", device, f.Name)
	}
	p := sw.Port(port)
	if p == nil {
		var names []string
		for _, p := range sw.Ports {
			names = append(names, p.Name)
		}
		return usageHint("its ports there: "+fold(names), "the intent does not name %s %s", device, port)
	}
	e := render.Explain(c.Device(sw), p)
	if a.output == "json" {
		return report.WriteJSON(a.stdout, struct {
			Format int `json:"format"`
			render.Explanation
		}{report.Format, e})
	}
	t := report.Text{W: a.stdout, S: a.styler(a.stdout)}
	t.Explain(e)
	return t.Err()
}

func (a *app) explainCheck(id string) error {
	c := validate.Lookup(id)
	if c == nil {
		return usageHint("'roce-fabric check --list' shows them; of a device, name a port as well", "there is no check %s", id)
	}
	if a.output == "json" {
		return report.WriteJSON(a.stdout, struct {
			Format int `json:"format"`
			*validate.Check
		}{report.Format, c})
	}
	t := report.Text{W: a.stdout, S: a.styler(a.stdout)}
	t.Check(c)
	return t.Err()
}

func (a *app) explainBlast(ctx context.Context, nic string) error {
	host, port, ok := strings.Cut(nic, "/")
	if !ok {
		return usageHint("write gpu1/ens1f0np0", "%q names no NIC of a host", nic)
	}
	c, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	an, err := deadlock.New(ctx, c.Fabric())
	if err != nil {
		return err
	}
	r, err := an.BlastRadius(host, port)
	if err != nil {
		return usage("%w", err)
	}
	if a.output == "json" {
		return report.WriteJSON(a.stdout, struct {
			Format int `json:"format"`
			*deadlock.Radius
		}{report.Format, r})
	}
	for _, l := range r.Lines() {
		fmt.Fprintln(a.stdout, l)
	}
	return nil
}

func (a *app) explainNIC(f *intent.Fabric, h *intent.Host, name string) error {
	e, err := nic.Explain(f, h, name)
	if err != nil {
		var names []string
		for _, n := range h.NICs {
			names = append(names, n.Name)
		}
		return usageHint("its NICs: "+fold(names), "%w", err)
	}
	if a.output == "json" {
		return report.WriteJSON(a.stdout, struct {
			Format int `json:"format"`
			*nic.Explanation
		}{report.Format, e})
	}
	for _, l := range e.Lines() {
		text := strings.TrimLeft(l, " ")
		fmt.Fprintln(a.stdout, l[:len(l)-len(text)]+term.CleanLine(text))
	}
	return nil
}

func fold(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.ReplaceAll(natural.Fold(names), ",", ", ")
}
