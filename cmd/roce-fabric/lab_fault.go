package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent/roster"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

func (a *app) labFaultCommand() *cobra.Command {
	var r lab.Request
	c := &cobra.Command{
		Use:  "fault NAME",
		Args: cobra.MaximumNArgs(1),
		Long: faultNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			names := namesOf(lab.Faults(), func(f lab.Fault) string { return f.Name })
			if !slices.Contains(names, args[0]) {
				return usageHint(suggestion(args[0], names, "'roce-fabric lab fault' lists them"), "there is no fault %q", args[0])
			}
			if r.Device == "" {
				return usageHint("--device names a switch or a host of the lab", "lab fault %s needs a device", args[0])
			}
			r.Fault = args[0]
			return a.labFaults(cmd.Context(), r)
		},
	}
	for _, f := range lab.Faults() {
		c.ValidArgs = append(c.ValidArgs, f.Name+"\t"+f.What)
	}
	a.labFaultFlags(c)
	a.labDeviceFlag(c, &r)
	c.Flags().StringVar(&r.Port, "port", "", "the port (default: the first one with a link, or the first NIC)")
	a.completes(c, "port", a.names(func(names roster.Roster, _ []string, typed string) []roster.Name {
		// The lab file does not list ports; use those of the intent if it describes the lab's
		// fabric.
		if f, err := a.labFile(); err != nil || f.Fabric != names.Fabric() {
			return nil
		}
		return names.Ports(r.Device, typed)
	}))
	c.Flags().StringVar(&r.Value, "value", "", "the value, for a fault that has one (default: see the list)")
	a.choices(c, "value")
	c.AddCommand(a.labFaultListCommand(), a.labFaultClearCommand())
	return c
}

// faultNames returns the list of faults for the help.
func faultNames() string {
	var b strings.Builder
	for _, group := range []struct {
		title           string
		hosts, switches bool
	}{{"switches and hosts", true, true}, {"switches", false, true}, {"hosts", true, false}} {
		fmt.Fprintf(&b, "\nOf %s:\n", group.title)
		for _, f := range lab.Faults() {
			if f.OfHosts() != group.hosts || f.OfSwitches() != group.switches {
				continue
			}
			fmt.Fprintf(&b, "  %-12s %s", f.Name, f.What)
			if f.Value != "" {
				fmt.Fprintf(&b, " (--value, or %s)", f.Value)
			}
			if len(f.Finds) > 0 {
				fmt.Fprintf(&b, ": %s", strings.Join(f.Finds, ", "))
			}
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "\n%s\n", report.Fill("Counters of switches: "+strings.Join(lab.CounterNames(), ", ")+"."))
	return strings.TrimPrefix(b.String(), "\n")
}

func (a *app) labFaultListCommand() *cobra.Command {
	c := &cobra.Command{
		Use:  "list",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.labFaults(cmd.Context(), lab.Request{}) },
	}
	a.labFaultFlags(c)
	return c
}

func (a *app) labFaultClearCommand() *cobra.Command {
	r := lab.Request{Clear: true}
	c := &cobra.Command{
		Use: "clear [NUMBER...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range args {
				n, err := strconv.Atoi(s)
				if err != nil {
					return usageHint("'roce-fabric lab fault list' shows the numbers", "%q is not the number of a fault", s)
				}
				r.Numbers = append(r.Numbers, n)
			}
			return a.labFaults(cmd.Context(), r)
		},
	}
	a.labFaultFlags(c)
	a.labDeviceFlag(c, &r)
	return c
}

// labFaultFlags adds the flags common to all commands about lab faults.
func (a *app) labFaultFlags(c *cobra.Command) {
	a.labFlag(c, "file of the running lab (or ROCE_FABRIC_LAB)")
	a.outputFlag(c, "text", "json")
}

func (a *app) labDeviceFlag(c *cobra.Command, r *lab.Request) {
	c.Flags().StringVar(&r.Device, "device", "", "the switch or host")
	a.completes(c, "device", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		f, err := a.labFile()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append(natural.Keys(f.Devices), natural.Keys(f.Hosts)...), cobra.ShellCompDirectiveNoFileComp
	})
}

// labFaults sends a request to the running lab and prints the faults that its devices then have.
func (a *app) labFaults(ctx context.Context, r lab.Request) error {
	if a.lab == "" {
		return usageHint("start one with 'roce-fabric lab up INTENT'", "no lab: set --lab or ROCE_FABRIC_LAB to the file of a running lab")
	}
	f, err := a.labFile()
	if err != nil {
		return err
	}
	reply, err := f.Do(ctx, r)
	if err != nil {
		return err
	}
	if a.Output == "json" {
		return report.WriteJSON(a.Out, map[string]any{"format": report.Format, "fabric": f.Fabric, "changed": reply.Changed, "faults": reply.Faults})
	}
	show := reply.Faults
	if r.Fault != "" || r.Clear {
		show = reply.Changed
	}
	for _, in := range show {
		if r.Clear {
			fmt.Fprint(a.Out, "removed: ")
		}
		fmt.Fprintln(a.Out, in)
	}
	return nil
}
