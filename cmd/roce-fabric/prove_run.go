package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/prove"
)

type proveRunFlags struct {
	state             fleet.StoreOptions
	plan, out, allow  string
	yes, outsideHours bool
}

func (a *app) proveRunCommand() *cobra.Command {
	var o proveRunFlags
	c := &cobra.Command{
		Use:  "run",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.proveRun(cmd.Context(), o) },
	}
	a.fileFlag(c)
	a.deviceFlags(c)
	a.sudoFlag(c)
	a.outputFlag(c, "text", "json", "markdown")
	f := c.Flags()
	f.StringVar(&o.plan, "plan", "", "the rounds: a file of 'prove plan --out'")
	_ = c.MarkFlagRequired("plan")
	f.StringVar(&o.out, "out", "", "write the signed certificate to this file")
	_ = c.MarkFlagRequired("out")
	f.StringVar(&o.allow, "allow", "", "traffic: load the fabric although others use it")
	a.choices(c, "allow", "traffic")
	yesFlag(c, &o.yes)
	outsideFlag(c, &o.outsideHours)
	a.stateFlags(c, &o.state)
	return c
}

// permitted is a plan that may run now: it is bound to the intent f, and at reaches the devices.
type permitted struct {
	*prove.Saved
	f  *fleet.Fabric
	at *fleet.Access
}

// proveInputs reads the plan and the intent, and returns an error unless one may run for the other
// now.
func (a *app) proveInputs(ctx context.Context, o proveRunFlags) (p permitted, err error) {
	if o.allow != "" && o.allow != "traffic" {
		return p, usage("--allow %s: only traffic can be allowed", o.allow)
	}
	if err := a.mustAsk(o.yes, "prove show "+words.Shell(o.plan)); err != nil {
		return p, err
	}
	if _, err := atomicfile.CheckOutput(o.out); err != nil {
		return p, err
	}
	if p.Saved, err = prove.OpenPlan(o.plan); err != nil {
		return p, err
	}
	if p.f, p.at, err = a.loadDevices(ctx); err != nil {
		return p, err
	}
	if err := permitCallouts(p.at, p.f.Fabric().Rollout.Approval); err != nil {
		return p, err
	}
	if err := a.inWindow(p.f.Fabric(), o.outsideHours); err != nil {
		return p, err
	}
	if err := p.Bind(p.f.Fabric()); err != nil {
		return p, usage("%s: %w", o.plan, err)
	}
	return p, nil
}

// proveRun runs the rounds of a plan and writes the certificate.
func (a *app) proveRun(ctx context.Context, o proveRunFlags) (err error) {
	p, err := a.proveInputs(ctx, o)
	if err != nil {
		return err
	}
	f, at := p.f, p.at
	s, err := fleet.OpenStore(ctx, f.Fabric(), o.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := p.Trusted(s.Keys); err != nil {
		return err
	}
	if err := p.Ready(ctx, f, at, a.parallel); err != nil {
		return fmt.Errorf("%w; nothing was run", err)
	}
	if err := a.confirm(ctx, o.yes, fmt.Sprintf("Load %s for about %s?", natural.Fold(p.Hosts), prove.Span(p.Seconds))); err != nil {
		return err
	}
	run, err := fleet.NewID()
	if err != nil {
		return err
	}
	// No apply may change the fabric while it is measured.
	me := store.Self(run, a.file)
	lock, err := s.Lock(ctx, me)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	ctx, end := lock.Guard(ctx)
	defer end()
	if by := a.approver(f.Fabric(), at); by != nil {
		if err := by.Approve(ctx, p.Request(me.User, me.Host, o.outsideHours)); err != nil {
			return &fleet.Error{Op: fleet.OpJudge, Kind: fleet.KindRefused, Text: fmt.Sprintf("not approved by %s: %v; nothing was run", by, err)}
		}
	}
	if err := a.notBusy(ctx, f, at, o.allow); err != nil {
		return err
	}
	return a.certify(ctx, p, run, o.out, s)
}

// certify runs the rounds, and writes and shows the certificate.
func (a *app) certify(ctx context.Context, p permitted, run, out string, s *fleet.Store) error {
	c, err := prove.Run(ctx, p.f, p.at, p.Saved, prove.RunOptions{Run: run, Tool: version, Read: fleet.ReadOptions{Workers: a.parallel}, Round: func(n, of int, s prove.Stage) {
		a.Talk("round %d of %d: %s", n, of, s.Name())
	}})
	if err != nil {
		return err
	}
	signed, err := c.Save(out, s.Keys)
	if err != nil {
		return err
	}
	a.Talk("wrote the certificate to %s, digest %s", out, signed.Digest)
	if err := a.showCertificate(signed); err != nil {
		return err
	}
	switch c.Verdict {
	case prove.Failed:
		return &statusError{status: exitDiffers}
	case prove.Inconclusive:
		return &statusError{status: exitFailed, err: errors.New("inconclusive: not everything was measured")}
	}
	return nil
}

// lookFirst is how long the counters are watched for other traffic before the first round.
const lookFirst = 5 * time.Second

// notBusy returns an error if others use the fabric, unless that is allowed.
func (a *app) notBusy(ctx context.Context, f *fleet.Fabric, at *fleet.Access, allow string) error {
	window := time.Duration(float64(lookFirst) * cmp.Or(at.Scale, 1))
	v, err := fleet.Validate(ctx, f, at, fleet.ValidateOptions{ReadOptions: fleet.ReadOptions{Workers: a.parallel}, Window: window})
	if err != nil {
		return err
	}
	what, hint := prove.Others(f.Fabric(), v.Counted, v.Findings)
	switch {
	case what == "":
		return nil
	case allow == "":
		return usageHint(hint, "%s; nothing was run", what)
	}
	a.Warn("%s", what)
	return nil
}
