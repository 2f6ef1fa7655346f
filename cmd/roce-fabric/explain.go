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

		ValidArgsFunction: a.names(completeExplained),
	}
	a.fileFlag(c)
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
		names := append(namesOf(f.Switches, func(sw *intent.Switch) string { return sw.Name }), namesOf(f.Hosts, hostName)...)
		return usageHint(meant(device, names, "its devices: "+fold(names)), "no device %s in %s", device, f.Name)
	}
	p := sw.Port(port)
	if p == nil {
		names := namesOf(sw.Ports, func(p *intent.Port) string { return p.Name })
		return usageHint(meant(port, names, "its ports there: "+fold(names)), "the intent does not name %s %s", device, port)
	}
	e := render.Explain(c.Device(sw), p)
	if a.Output == "json" {
		return report.WriteDocument(a.Out, e)
	}
	t := a.Text()
	t.Explain(e)
	return t.Err()
}

func (a *app) explainCheck(id string) error {
	c := validate.Lookup(id)
	if c == nil {
		ids := namesOf(validate.Checks(), func(c *validate.Check) string { return c.ID })
		return usageHint(meant(id, ids, "'roce-fabric check --list' shows them; of a device, name a port as well"), "there is no check %s", id)
	}
	if a.Output == "json" {
		return report.WriteDocument(a.Out, c)
	}
	t := a.Text()
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
		return usageHint(blastHint(c.Fabric(), host, port), "%w", err)
	}
	if a.Output == "json" {
		return report.WriteDocument(a.Out, r)
	}
	for _, l := range r.Lines() {
		fmt.Fprintln(a.Out, l)
	}
	return nil
}

func (a *app) explainNIC(f *intent.Fabric, h *intent.Host, name string) error {
	e, err := nic.Explain(f, h, name)
	if err != nil {
		return usageHint(nicHint(h, name), "%w", err)
	}
	if a.Output == "json" {
		return report.WriteDocument(a.Out, e)
	}
	for _, l := range e.Lines() {
		text := strings.TrimLeft(l, " ")
		fmt.Fprintln(a.Out, l[:len(l)-len(text)]+term.CleanLine(text))
	}
	return nil
}

// nicHint names the NICs of a host.
func nicHint(h *intent.Host, name string) string {
	names := namesOf(h.NICs, func(n *intent.NIC) string { return n.Name })
	return meant(name, names, "its NICs: "+fold(names))
}

// blastHint names the hosts, or the NICs of the host that there is.
func blastHint(f *intent.Fabric, host, port string) string {
	h := f.Host(host)
	switch {
	case h != nil && h.NIC(port) != nil:
		return "" // it is another fault
	case h != nil:
		return nicHint(h, port)
	}
	names := namesOf(f.Hosts, hostName)
	return meant(host, names, "its hosts: "+fold(names))
}

func fold(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.ReplaceAll(natural.Fold(names), ",", ", ")
}

func namesOf[T any](all []T, name func(T) string) (out []string) {
	for _, v := range all {
		out = append(out, name(v))
	}
	return out
}

func hostName(h *intent.Host) string { return h.Name }
