package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// unitWork installs or removes the unit on a machine. do returns the files that it wrote or
// removed.
type unitWork struct {
	ask, did, nothing string
	do                func(context.Context, agent.Machine, *nic.Host) ([]string, error)
}

func (a *app) nicUnitCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "unit",
	}
	groupOnly(c)
	var binary string
	var yes, outside bool
	install := &cobra.Command{
		Use:  "install",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.nicUnit(cmd.Context(), yes, outside, unitWork{"Install the boot unit", "wrote", "the unit is up to date", func(ctx context.Context, m agent.Machine, h *nic.Host) ([]string, error) {
				return m.InstallUnit(ctx, h, binary)
			}})
		},
	}
	a.nicFlags(install)
	yesFlag(install, &yes)
	outsideFlag(install, &outside)
	install.Flags().StringVar(&binary, "binary", "", "path of roce-fabric on the host, which only root may replace (default: a copy of this program)")
	removal := unitWork{"Remove the boot unit", "removed", "there is no unit", func(ctx context.Context, m agent.Machine, _ *nic.Host) ([]string, error) {
		return m.RemoveUnit(ctx)
	}}
	remove := &cobra.Command{
		Use:  "remove",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !a.nic.local {
				return a.nicUnit(cmd.Context(), yes, outside, removal)
			}
			if err := a.askUnit(cmd.Context(), yes, removal, "this machine"); err != nil {
				return err
			}
			return onThisMachine(func(m *local.Machine) error {
				gone, err := removal.do(cmd.Context(), agent.Local(m), nil)
				a.sayUnit("", removal, gone, err == nil)
				return err
			})
		},
	}
	a.nicFlags(remove)
	yesFlag(remove, &yes)
	outsideFlag(remove, &outside)
	c.AddCommand(install, remove)
	return c
}

// nicUnit installs or removes the unit on the selected hosts. It continues if a host fails.
func (a *app) nicUnit(ctx context.Context, yes, outside bool, w unitWork) error {
	outliveOutput()
	f, at, _, err := a.devices(ctx)
	if err != nil {
		return err
	}
	if err := a.inWindow(f.Fabric(), outside); err != nil {
		return err
	}
	var names []string
	for _, h := range f.Hosts {
		names = append(names, h.Name)
	}
	if err := a.askUnit(ctx, yes, w, natural.Fold(names)); err != nil {
		return err
	}
	var outs []fleet.Outcome
	err = f.Units(ctx, at, fleet.UnitOptions{Workers: a.parallel, OutsideWindow: outside}, w.do, func(out fleet.Outcome, files []string) {
		a.sayUnit(out.Device+": ", w, files, out.State == fleet.Unchanged)
		outs = append(outs, out)
	})
	if err != nil {
		return err
	}
	return a.reportEnd(f.Fabric().Name, &fleet.Result{Outcomes: outs}, nil, "")
}

// askUnit asks for confirmation before a unit is installed or removed.
func (a *app) askUnit(ctx context.Context, yes bool, w unitWork, where string) error {
	if err := a.mustAsk(yes, "nic plan"); err != nil {
		return err
	}
	return a.confirm(ctx, yes, fmt.Sprintf("%s on %s?", w.ask, where))
}

// sayUnit prints which files of a unit were written or removed on a host.
func (a *app) sayUnit(of string, w unitWork, files []string, done bool) {
	for _, name := range files {
		a.TalkClean("%s%s %s", of, w.did, name)
	}
	if done && len(files) == 0 {
		a.Talk("%s%s", of, w.nothing)
	}
}

// warnOpen warns about what the intent leaves open on hosts.
func (a *app) warnOpen(open map[string][]string) {
	for _, what := range natural.Keys(open) {
		a.Warn("%s: %s", natural.Fold(open[what]), what)
	}
}
