package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/deadlock"
	"github.com/roce-fabric/roce-fabric/validate/whatif"
)

func (a *app) explainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:  "explain DEVICE PORT | DEVICE/PORT | blast-radius HOST/NIC | CHECK",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Accept DEVICE/PORT too; no check ID contains a slash.
			if device, port, ok := strings.Cut(args[0], "/"); ok && len(args) == 1 {
				args = []string{device, port}
			}
			if err := a.noEach(cmd); err != nil {
				return err
			}
			switch {
			case len(args) == 2 && !a.changes.None():
				return a.explainIf(cmd.Context(), args)
			case len(args) == 2:
				e, err := a.explained(cmd.Context(), args, whatif.Changes{})
				if err != nil {
					return err
				}
				return a.Explained(e)
			case !a.changes.None():
				return usageHint("name a device and a port", "--set and --without change the intent, and no intent is read to explain a check")
			}
			return a.explainCheck(args[0])
		},

		ValidArgsFunction: a.names(completeExplained),
	}
	a.fileFlag(c)
	a.outputFlag(c, "text", "json")
	a.changeFlags(c)
	return c
}

// explainIf explains the intent with the changes of the flags, compared with the intent as it is.
func (a *app) explainIf(ctx context.Context, args []string) error {
	a.keepStdin()
	now, err := a.explained(ctx, args, a.changes)
	if err != nil {
		return err
	}
	// The unchanged intent may have nothing to explain.
	was, err := a.explained(ctx, args, whatif.Changes{})
	if err != nil {
		a.Talk("nothing to compare with; as the intent is, this cannot be explained: %v", err)
	}
	return a.ExplainedIf(a.changes, was, now)
}

// explained returns the explanation for args, with the given changes of the intent.
func (a *app) explained(ctx context.Context, args []string, changes whatif.Changes) (report.Explained, error) {
	c, err := a.loadWith(ctx, fleet.TakeSwitches, changes)
	if err != nil {
		return nil, err
	}
	if args[0] == "blast-radius" {
		return explainedBlast(ctx, c, args[1])
	}
	device, port := args[0], args[1]
	f := c.Fabric()
	sw := f.Switch(device)
	if sw == nil {
		if h := f.Host(device); h != nil {
			return explainedNIC(f, h, port)
		}
		names := append(namesOf(f.Switches, func(sw *intent.Switch) string { return sw.Name }), namesOf(f.Hosts, hostName)...)
		return nil, usageHint(suggestion(device, names, "its devices: "+fold(names)), "no device %s in %s", device, f.Name)
	}
	p := sw.Port(port)
	if p == nil {
		names := namesOf(sw.Ports, func(p *intent.Port) string { return p.Name })
		return nil, usageHint(suggestion(port, names, "its ports there: "+fold(names)), "the intent does not name %s %s", device, port)
	}
	return report.ExplainedPort{Explanation: render.Explain(c.Device(sw), p)}, nil
}

func (a *app) explainCheck(id string) error {
	c := validate.Lookup(id)
	if c == nil {
		ids := namesOf(validate.Checks(), func(c *checks.Check) string { return c.ID })
		return usageHint(suggestion(id, ids, "'roce-fabric check --list' shows them; of a device, name a port as well"), "there is no check %s", id)
	}
	if a.Output == "json" {
		return report.WriteDocument(a.Out, c)
	}
	t := a.Text()
	t.Check(c)
	return t.Err()
}

func explainedBlast(ctx context.Context, c *fleet.Fabric, nic string) (report.Explained, error) {
	host, port, ok := strings.Cut(nic, "/")
	if !ok {
		return nil, usageHint("write gpu1/ens1f0np0", "%q is not a NIC of a host", nic)
	}
	an, err := deadlock.New(ctx, c.Fabric())
	if err != nil {
		return nil, err
	}
	r, err := an.BlastRadius(host, port)
	if err != nil {
		return nil, usageHint(blastHint(c.Fabric(), host, port), "%w", err)
	}
	return r, nil
}

func explainedNIC(f *intent.Fabric, h *intent.Host, name string) (report.Explained, error) {
	e, err := nic.Explain(f, h, name)
	if err != nil {
		return nil, usageHint(nicHint(h, name), "%w", err)
	}
	return e, nil
}

// nicHint lists the NICs of a host.
func nicHint(h *intent.Host, name string) string {
	names := namesOf(h.NICs, func(n *intent.NIC) string { return n.Name })
	return suggestion(name, names, "its NICs: "+fold(names))
}

// blastHint lists the hosts or, if the host exists, its NICs.
func blastHint(f *intent.Fabric, host, port string) string {
	h := f.Host(host)
	switch {
	case h != nil && h.NIC(port) != nil:
		return "" // the error has another cause
	case h != nil:
		return nicHint(h, port)
	}
	names := namesOf(f.Hosts, hostName)
	return suggestion(host, names, "its hosts: "+fold(names))
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
