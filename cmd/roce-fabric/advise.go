package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/libraries"
	"github.com/roce-fabric/roce-fabric/report"
)

func (a *app) adviseCommand() *cobra.Command {
	var class string
	c := &cobra.Command{
		Use:  "advise [LIBRARY...]",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.advise(cmd.Context(), args, class)
		},
		ValidArgsFunction: cobra.FixedCompletions(libraries.Names(), cobra.ShellCompDirectiveNoFileComp),
	}
	a.intentFlags(c, onlyHosts)
	a.outputFlag(c, "text", "json", report.AdviceEnv, report.AdviceSlurm, report.AdviceKubernetes)
	c.Flags().StringVar(&class, "class", "", "the class that all libraries must use; default: by the traffic of the intent, else the first class of RDMA")
	return c
}

// advise writes what the libraries must be told to use the classes of the intent.
func (a *app) advise(ctx context.Context, names []string, class string) error {
	if len(names) == 0 {
		names = libraries.Names()
	}
	var wanted []libraries.Library
	for _, name := range names {
		l, ok := libraries.Lookup(strings.ToLower(name))
		if !ok {
			return usageHint(suggestion(name, libraries.Names(), "known are "+strings.Join(libraries.Names(), ", ")), "no library %q", name)
		}
		wanted = append(wanted, l)
	}
	f, err := a.load(ctx, fleet.TakeHosts)
	if err != nil {
		return err
	}
	out := report.JobAdvice{Fabric: f.Fabric().Name}
	for _, l := range wanted {
		marks, err := nic.MarksOf(f.Fabric(), f.Hosts, l.Name, l.Kind, class)
		if err != nil {
			return &statusError{status: exitUsage, err: fmt.Errorf("--class %s: %w", class, err)}
		}
		for _, m := range marks {
			out.Libraries = append(out.Libraries, report.Advised{Library: l.For(m.Mark), Mark: m.Mark, NICs: m.NICs})
		}
		if len(marks) > 1 && !slices.Contains([]string{"text", "json"}, a.Output) {
			return usageHint("choose hosts with --only, or a class with --class", "the NICs of these hosts mark RDMA differently: DSCP %d on %s, DSCP %d on %s", marks[0].DSCP, marks[0].NICs[0], marks[1].DSCP, marks[1].NICs[0])
		}
	}
	if len(out.Libraries) == 0 {
		return &statusError{status: exitUsage, err: fmt.Errorf("%s has no NIC with RDMA and a class of RDMA with a DSCP", out.Fabric)}
	}
	switch a.Output {
	case "json":
		return report.WriteDocument(a.Out, out)
	case "text":
		t := a.Text()
		t.Advice(out)
		return t.Err()
	}
	return report.WriteAdvice(a.Out, out, a.Output)
}
