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
		Use:  "explain DEVICE PORT | blast-radius HOST/NIC | CHECK",
		Args: cobra.RangeArgs(1, 2),
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
	an, err := deadlock.New(ctx, c.Fabric(), deadlock.Options{})
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
