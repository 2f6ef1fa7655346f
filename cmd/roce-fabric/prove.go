package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/prove"
	"github.com/roce-fabric/roce-fabric/report"
)

func (a *app) proveCommand() *cobra.Command {
	c := &cobra.Command{Use: "prove"}
	groupOnly(c)
	c.AddCommand(a.provePlanCommand(), a.proveRunCommand(), a.proveShowCommand(), a.proveCompareCommand(), a.proveVerifyCommand())
	return c
}

type provePlanFlags struct {
	state    fleet.StoreOptions
	total    time.Duration
	each     time.Duration
	out      string
	commands bool
}

func (a *app) provePlanCommand() *cobra.Command {
	var o provePlanFlags
	c := &cobra.Command{
		Use:  "plan",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.provePlan(cmd.Context(), o) },
	}
	a.fileFlag(c)
	a.outputFlag(c, "text", "json")
	f := c.Flags()
	f.DurationVar(&o.total, "for", 30*time.Minute, "the most time that the rounds may take")
	f.DurationVar(&o.each, "each", 10*time.Second, "how long bandwidth is measured in each round, 4s to 10m")
	f.StringVar(&o.out, "out", "", "write the plan to this file, signed")
	_ = c.MarkFlagFilename("out", "json")
	f.BoolVar(&o.commands, "commands", false, "also show the commands of the first flow of each stage")
	a.stateFlags(c, &o.state)
	return c
}

func (a *app) provePlan(ctx context.Context, o provePlanFlags) (err error) {
	if o.total <= 0 || o.total > prove.MostFor {
		return usage("--for %s: use a time above 0 and at most %s", o.total, prove.Span(int(prove.MostFor.Seconds())))
	}
	if o.each < prove.LeastEach || o.each > prove.MostEach || o.each%time.Second != 0 {
		return usage("--each %s: use whole seconds, %s to %s", o.each, prove.LeastEach, prove.MostEach)
	}
	if o.out != "" {
		if _, err := atomicfile.CheckOutput(o.out); err != nil {
			return err
		}
	}
	f, err := a.load(ctx, fleet.TakeAll)
	if err != nil {
		return err
	}
	p, err := prove.NewPlan(f.Fabric(), prove.Options{For: o.total, Each: o.each, Tool: version, Now: time.Now()})
	if err != nil {
		return usage("%w", err)
	}
	if o.out != "" {
		s, err := fleet.OpenStore(ctx, f.Fabric(), o.state)
		if err != nil {
			return err
		}
		digest, err := p.Save(o.out, s.Keys)
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				a.Talk("saved the plan to %s, digest %s", o.out, digest)
			}
		}()
	}
	return a.showProvePlan(p, o.commands)
}

func (a *app) showProvePlan(p *prove.Plan, commands bool) error {
	if a.Output == "json" {
		return report.WriteDocument(a.Out, p)
	}
	t := a.Text()
	t.ProvePlan(p, commands)
	return t.Err()
}

func (a *app) proveShowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:  "show FILE",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.proveShow(args[0]) },
	}
	a.outputFlag(c, "text", "json", "markdown")
	return c
}

func (a *app) proveShow(file string) error {
	if c, err := prove.OpenCertificate(file); err == nil {
		return a.showCertificate(c)
	}
	p, err := prove.OpenPlan(file)
	if err != nil {
		return err
	}
	if a.Output == "markdown" {
		return usage("--output markdown is for certificates, and %s is a plan", file)
	}
	if err := a.showProvePlan(p.Plan, false); err != nil || a.Output != "text" {
		return err
	}
	return a.sealed("plan", p.Fabric, p.Created, p.SignedBy, p.Digest)
}

// sealed prints who made a file.
func (a *app) sealed(what, fabric string, at time.Time, by, digest string) error {
	signed := "not signed"
	if by != "" {
		signed = "signed with " + by
	}
	_, err := fmt.Fprintf(a.Out, "%s of %s, made %s, %s, digest %s\n", what, term.CleanLine(fabric), at.Local().Format(time.DateTime), signed, digest)
	return err
}

func (a *app) showCertificate(c *prove.Signed) error {
	switch a.Output {
	case "json":
		return report.WriteDocument(a.Out, c.Certificate)
	case "markdown":
		_, err := fmt.Fprint(a.Out, report.CertificateMarkdown(c))
		return err
	}
	t := a.Text()
	t.Certificate(c.Certificate)
	if err := t.Err(); err != nil {
		return err
	}
	return a.sealed("certificate", c.Fabric, c.Ended, c.SignedBy, c.Digest)
}

func (a *app) proveCompareCommand() *cobra.Command {
	c := &cobra.Command{
		Use:  "compare BEFORE AFTER",
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return a.proveCompare(args[0], args[1]) },
	}
	a.outputFlag(c, "text", "json")
	return c
}

func (a *app) proveCompare(before, after string) error {
	x, err := prove.OpenCertificate(before)
	if err != nil {
		return err
	}
	y, err := prove.OpenCertificate(after)
	if err != nil {
		return err
	}
	if x.Fabric != y.Fabric {
		return usage("%s is of fabric %s, %s of %s", before, x.Fabric, after, y.Fabric)
	}
	all, alone := prove.Compare(x.Certificate, y.Certificate)
	if a.Output == "json" {
		err = report.WriteDocument(a.Out, struct {
			Stages      []prove.Difference `json:"stages"`
			NotCompared []string           `json:"not_compared"`
		}{append([]prove.Difference{}, all...), append([]string{}, alone...)})
	} else {
		t := a.Text()
		t.Differences(all, alone)
		err = t.Err()
	}
	if err == nil && slices.ContainsFunc(all, func(d prove.Difference) bool { return d.Worse }) {
		return &statusError{status: exitDiffers}
	}
	return err
}

func (a *app) proveVerifyCommand() *cobra.Command {
	var trusted []string
	c := &cobra.Command{
		Use:  "verify FILE",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.proveVerify(args[0], trusted) },
	}
	c.Flags().StringArrayVar(&trusted, "key", nil, "file of a public key, PEM, that must have signed it; may be repeated")
	_ = c.MarkFlagRequired("key")
	_ = c.MarkFlagFilename("key", "pub", "pem")
	return c
}

func (a *app) proveVerify(file string, trusted []string) error {
	ring := keys.None()
	for _, k := range trusted {
		if err := ring.Trust(k); err != nil {
			return usage("--key: %w", err)
		}
	}
	c, err := prove.OpenCertificate(file)
	if err != nil {
		return err
	}
	if err := c.Verify(ring); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return a.sealed("certificate", c.Fabric, c.Ended, c.SignedBy, c.Digest)
}
