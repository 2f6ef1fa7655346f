package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

func (a *app) labCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Simulated devices on loopback",
		Long: `lab starts the switches of an intent as simulations on loopback: real gNMI and
SSH servers that accept, refuse and answer as the box does. Hosts are not
simulated by this version.
` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.labDemoCommand(), a.labUpCommand())
	return c
}

func (a *app) labDemoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Plan, apply and validate the quickstart fabric on simulated switches",
		Long: `demo runs check, plan, apply, validate and a second plan of the quickstart
fabric (examples/quickstart) on simulated switches that are as the factory left
them. It needs no device and leaves nothing behind.
` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.labDemo(cmd.Context()) },
	}
}

func (a *app) labDemo(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "roce-fabric-lab-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	a.file = filepath.Join(dir, "fabric.yaml")
	if err := atomicfile.Write(a.file, examples.Quickstart, 0o600); err != nil {
		return err
	}
	f, err := intent.Load(a.file, intent.Options{})
	if err != nil {
		return err
	}
	l, err := lab.Start(f, dir, lab.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	// The steps read the intent again, as the commands would, from a path that
	// says what it is.
	old, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Chdir(old)) }()
	a.file, a.output, a.parallel = "fabric.yaml", "text", defaultParallel()
	st := a.styler(a.stdout)
	for _, s := range []struct {
		title string
		run   func() error
	}{
		{"roce-fabric check", func() error { return a.check("") }},
		{"roce-fabric plan", func() error { a.lab = lab.Path(dir); return a.plan(ctx, planOptions{save: "demo.plan"}) }},
		{"roce-fabric apply --plan demo.plan --allow traffic-loss --yes", func() error {
			return a.apply(ctx, applyOptions{saved: "demo.plan", yes: true, allow: impactFlag{qos.ImpactLoss}, state: filepath.Join(dir, "state")})
		}},
		{"roce-fabric validate", func() error { return a.validate(ctx) }},
		{"roce-fabric plan --exit-code", func() error { return a.plan(ctx, planOptions{exitCode: true}) }},
	} {
		fmt.Fprintf(a.stdout, "\n%s\n", st.Bold("$ "+s.title+" -f fabric.yaml"))
		if err := s.run(); err != nil {
			return err
		}
	}
	return nil
}

type labUpOptions struct {
	dir   string
	scale float64
}

func (a *app) labUpCommand() *cobra.Command {
	var o labUpOptions
	c := &cobra.Command{
		Use:   "up INTENT",
		Short: "Start the switches of an intent on loopback and wait",
		Long: `up starts every switch that the intent names, as the factory left it, on free
ports of loopback, prints where they are, and waits for Ctrl-C.

Other commands use them from another terminal with --lab or ROCE_FABRIC_LAB, and
so does any gNMI client, with the user, password and CA that up prints.
` + exitHelp,
		Example: "  roce-fabric lab up examples/quickstart/fabric.yaml\n  export ROCE_FABRIC_LAB=/tmp/lab/lab.json   # in another terminal, as up prints it",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.file = args[0]
			return a.labUp(cmd.Context(), o)
		},
	}
	c.Flags().StringVar(&o.dir, "dir", "", "folder for the lab's files; it is made, and kept (default: a temporary one)")
	c.Flags().Float64Var(&o.scale, "time-scale", 0, "how slow the devices are: 0 does not wait, 1 takes the times of the real ones")
	_ = c.MarkFlagDirname("dir")
	return c
}

func (a *app) labUp(ctx context.Context, o labUpOptions) (err error) {
	if o.scale < 0 || o.scale > 10 {
		return usage("--time-scale %v: use 0 to 10", o.scale)
	}
	c, _, err := a.load()
	if err != nil {
		return err
	}
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "roce-fabric-lab-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	l, err := lab.Start(c.Fabric(), dir, lab.Options{TimeScale: o.scale})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "DEVICE\tGNMI\tSSH")
	for _, n := range l.Names() {
		at := l.Devices[n]
		fmt.Fprintf(w, "%s\t%s\t%s\n", n, at.GNMI, at.SSH)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nuser %s, password %s, CA %s\n\nexport ROCE_FABRIC_LAB=%s\n", l.Username, l.Password, l.CA, lab.Path(dir))
	a.talk("ready; Ctrl-C ends it")
	<-ctx.Done()
	return nil
}
