package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

func (a *app) nicUnitCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "unit",
		Short: "A systemd unit that applies the settings at boot",
		Long: `unit installs or removes a systemd unit with a udev trigger. It applies the
settings again at boot, when the driver is loaded and when an RDMA device is
added, from a small host file that is made from the intent. With --local it works
on this machine, otherwise over SSH; it needs root there.

The unit runs as root, and so it runs a program that only root can replace: a
copy of this one at /usr/local/sbin/roce-fabric-nic, which goes with the unit.`,
		Example: "  roce-fabric nic unit install -f fabric.yaml\n  sudo roce-fabric nic unit remove --local",
	}
	groupOnly(c)
	var o nicOptions
	var binary string
	install := &cobra.Command{
		Use:     "install",
		Short:   "Install the unit, or bring it up to date",
		Example: "  roce-fabric nic unit install --host gpu1 -f fabric.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.nicUnit(cmd.Context(), o, "wrote", "the unit is up to date", func(ctx context.Context, m agent.Machine, t nicTarget) ([]string, error) {
				return m.InstallUnit(ctx, t.desired, binary)
			})
		},
	}
	a.nicFlags(install, &o)
	install.Flags().StringVar(&binary, "binary", "", "path of roce-fabric on the host, for root alone to replace (default: a copy of this program)")
	remove := &cobra.Command{
		Use:     "remove",
		Short:   "Remove the unit and its files",
		Long:    "remove stops the unit and removes its files and its copy of the program. The\nsettings stay until the next boot. With --local it needs no intent.",
		Example: "  roce-fabric nic unit remove --host gpu1 -f fabric.yaml\n  sudo roce-fabric nic unit remove --local",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.local {
				return a.removeHere(cmd.Context())
			}
			return a.nicUnit(cmd.Context(), o, "removed", "there is no unit", func(ctx context.Context, m agent.Machine, _ nicTarget) ([]string, error) {
				return m.RemoveUnit(ctx)
			})
		},
	}
	a.nicFlags(remove, &o)
	c.AddCommand(install, remove)
	return c
}

// nicUnit installs or removes the unit on the hosts of a command. A host that
// fails does not hold up the others.
func (a *app) nicUnit(ctx context.Context, o nicOptions, did, nothing string, do func(context.Context, agent.Machine, nicTarget) ([]string, error)) error {
	outliveOutput()
	f, targets, err := a.nicTargets(ctx, o)
	if err != nil {
		return err
	}
	type result struct {
		fleet.Outcome
		files []string
	}
	var outs []fleet.Outcome
	err = pool.Ordered(ctx, a.parallel, targets, func(ctx context.Context, t nicTarget) (r result) {
		r.Device = t.Name
		if ctx.Err() != nil {
			r.State = fleet.Skipped
			return r
		}
		err := t.with(func(d *host.Driver) error {
			m, err := d.Machine(ctx)
			if err != nil {
				return err
			}
			r.files, err = do(ctx, m, t)
			return err
		})
		switch {
		case err != nil && len(r.files) > 0:
			r.State = fleet.Partial
		case err != nil:
			r.State = fleet.Failed
		case len(r.files) > 0:
			r.State = fleet.Applied
		default:
			r.State = fleet.Unchanged
		}
		r.Error = fleet.NewError(t.Name, fleet.OpApply, err)
		return r
	}, func(r result) error {
		for _, name := range r.files {
			a.talk("%s: %s %s", r.Device, did, term.CleanLine(name))
		}
		if r.State == fleet.Unchanged {
			a.talk("%s: %s", r.Device, nothing)
		}
		outs = append(outs, r.Outcome)
		return nil
	})
	if err != nil {
		return err
	}
	return a.ended(f.Name, &fleet.Result{Outcomes: outs}, nil, "")
}

// removeHere takes the unit away from a machine whose intent may be gone.
func (a *app) removeHere(ctx context.Context) (err error) {
	outliveOutput()
	m, err := local.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	gone, err := agent.Local(m).RemoveUnit(ctx)
	for _, name := range gone {
		a.talk("removed %s", name)
	}
	if err == nil && len(gone) == 0 {
		a.talk("there is no unit")
	}
	return err
}
