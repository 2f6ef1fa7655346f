package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

func (a *app) labCommand() *cobra.Command {
	c := &cobra.Command{Use: "lab"}
	groupOnly(c)
	c.AddCommand(a.labDemoCommand(), a.labUpCommand(), a.labFaultCommand(), a.labContainerlabCommand())
	return c
}

func (a *app) labDemoCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "demo [EXAMPLE]",
		Long:      report.Fill("Examples: " + strings.Join(examples.Names(), ", ")),
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: examples.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "mixed"
			if len(args) > 0 {
				name = args[0]
			}
			return a.labDemo(cmd.Context(), name)
		},
	}
}

func (a *app) labDemo(ctx context.Context, name string) (err error) {
	text, err := exampleOf(name)
	if err != nil {
		return err
	}
	base := *a
	base.file, base.name, base.parallel = "-", "fabric.yaml", defaultParallel()
	base.Output, base.Quiet, base.bare = "text", true, true
	base.In = bytes.NewReader(text)
	c, err := base.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	l, err := lab.Start(c.Fabric(), "", lab.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	base.lab = l.Path()
	dir := filepath.Dir(base.lab)
	st := a.Styler()
	of := words.Plural(len(l.Names()), "simulated switch", "simulated switches")
	if n := len(l.HostNames()); n > 0 {
		of += " and " + words.Count(n, "host")
	}
	fmt.Fprintf(a.Out, "%s\n", report.Fill(fmt.Sprintf("%s run on loopback, as they were delivered. fabric.yaml is examples/%s/fabric.yaml.", of, name)))
	for _, step := range examples.Demo {
		why, command := step[0], step[1]
		fmt.Fprintf(a.Out, "\n%s\n%s\n", st.Dim(report.Fill(why)), st.Bold("$ roce-fabric "+command+" -f fabric.yaml"))
		args := append(strings.Fields(command), "-f", "-")
		if command != "check" {
			args = append(args, "--lab", l.Path(), "--state", filepath.Join(dir, "state"))
		}
		for i, arg := range args {
			if arg == "demo.plan" {
				args[i] = filepath.Join(dir, arg)
			}
		}
		one := base
		one.In = bytes.NewReader(text)
		if status := one.run(ctx, args); status != exitOK {
			return &statusError{status: status}
		}
	}
	return nil
}

type labUpOptions struct {
	dir     string
	scale   float64
	latency time.Duration
	nic     string
	configs []string
}

func (a *app) labUpCommand() *cobra.Command {
	var o labUpOptions
	c := &cobra.Command{
		Use:  "up",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(o.configs) > 0 && !cmd.Flags().Changed("file") {
				a.file = ""
			}
			return a.labUp(cmd.Context(), o)
		},
	}
	a.fileFlag(c)
	c.Flags().StringArrayVar(&o.configs, "config", nil, "a switch starts with this configuration: NAME=FILE or NAME:OS=FILE; may be repeated. Without INTENT and --file the lab has these switches")
	c.Flags().StringVar(&o.dir, "dir", "", "folder for the lab's files, created if missing, and kept (default: a temporary one)")
	c.Flags().StringVar(&o.nic, "nic", string(host.MLX5), "type of the hosts' NICs: "+strings.Join(host.Kinds(), "|"))
	a.choices(c, "nic", host.Kinds()...)
	c.Flags().Float64Var(&o.scale, "time-scale", 0, "how slow the devices are: 0 does not wait, 1 is as slow as real ones")
	c.Flags().DurationVar(&o.latency, "latency", 0, "round-trip time to the devices, at most 10s")
	_ = c.MarkFlagDirname("dir")
	return c
}

func (a *app) labUp(ctx context.Context, o labUpOptions) (err error) {
	if o.scale < 0 || o.scale > 10 {
		return usage("--time-scale %v: use 0 to 10", o.scale)
	}
	if o.latency < 0 || o.latency > 10*time.Second {
		return usage("--latency %v: use 0 to 10s", o.latency)
	}
	if !slices.Contains(host.Kinds(), o.nic) {
		return usageHint(suggestion(o.nic, host.Kinds(), ""), "--nic %s: use %s", o.nic, strings.Join(host.Kinds(), ", "))
	}
	f, running, err := a.labFabric(ctx, o.configs)
	if err != nil {
		return err
	}
	l, err := lab.Start(f, o.dir, lab.Options{TimeScale: o.scale, Latency: o.latency, NIC: host.Kind(o.nic), Running: running})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.WriteTable(a.Out); err != nil {
		return err
	}
	a.waited = true
	fmt.Fprintf(a.Out, "\nuser %s, password %s, CA %s\n\nexport ROCE_FABRIC_LAB=%s\n", l.Username, l.Password, l.CA, l.Path())
	a.Talk("ready; Ctrl-C ends it")
	<-ctx.Done()
	return nil
}

// labFabric returns the fabric of a lab, from the intent or from switch configurations, and the
// configuration that each switch starts with.
func (a *app) labFabric(ctx context.Context, configs []string) (*intent.Fabric, map[string][]byte, error) {
	var f *intent.Fabric
	if a.file != "" {
		c, err := a.load(ctx, fleet.TakeSwitches)
		if err != nil {
			return nil, nil, err
		}
		f = c.Fabric()
	}
	f, running, refused, err := lab.Configured(f, configs)
	for _, line := range refused {
		a.Warn("%s", term.Clip(line, 200))
	}
	return f, running, err
}
