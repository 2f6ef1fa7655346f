package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/approval"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// runFlags are the flags of commands that change devices.
type runFlags struct {
	state fleet.StoreOptions
	audit string // --audit-log
	yes   bool
	allow impactFlag
	gate  gateFlag
	// outside allows writing outside the maintenance windows.
	outside bool
}

// identityFlag adds --accept-identity.
func (a *app) identityFlag(c *cobra.Command) {
	c.Flags().StringSliceVar(&a.identity, "accept-identity", nil, "write to these devices even if they show another identity than the intent states or an earlier run recorded; the audit log names them")
	a.choices(c, "accept-identity")
}

// impactFlag is the value of --allow.
type impactFlag struct{ qos.Impact }

func (f *impactFlag) Set(s string) error { return f.UnmarshalText([]byte(s)) }
func (f *impactFlag) Type() string       { return "impact" }

// gateFlag is the value of --gate.
type gateFlag struct{ fleet.GateMode }

var gateModes = []string{"off", "quick", "full"}

func (f *gateFlag) String() string { return string(f.GateMode) }
func (f *gateFlag) Type() string   { return "mode" }
func (f *gateFlag) Set(s string) error {
	if !slices.Contains(gateModes, s) {
		return errors.New("must be off, quick or full")
	}
	f.GateMode = fleet.GateMode(s)
	return nil
}

// runFlags adds the flags of a command that changes devices. usual is the gate mode if neither
// the command line nor the environment sets one.
func (a *app) runFlags(c *cobra.Command, o *runFlags, usual fleet.GateMode) {
	a.writeFlags(c, o)
	a.gateFlag(c, &o.gate, usual)
}

// gateFlag adds --gate.
func (a *app) gateFlag(c *cobra.Command, o *gateFlag, usual fleet.GateMode) {
	o.GateMode = cmp.Or(fleet.GateMode(a.Getenv("ROCE_FABRIC_GATE")), usual)
	c.Flags().Var(o, "gate", "how each wave is proven before the next: off|quick|full (or ROCE_FABRIC_GATE)")
	a.choices(c, "gate", gateModes...)
}

// valid returns an error if the environment sets an invalid mode.
func (f *gateFlag) valid() error {
	if mode := f.String(); !slices.Contains(gateModes, mode) {
		return usage("ROCE_FABRIC_GATE must be off, quick or full, not %q", mode)
	}
	return nil
}

// writeFlags adds the flags of a run without a gate.
func (a *app) writeFlags(c *cobra.Command, o *runFlags) {
	f := c.Flags()
	o.gate.GateMode = fleet.GateOff
	a.stateFlags(c, &o.state)
	f.StringVar(&o.audit, "audit-log", a.Getenv("ROCE_FABRIC_AUDIT_LOG"), "append who did what and when to this file, as JSON lines (or ROCE_FABRIC_AUDIT_LOG; default audit.jsonl in a folder of --state)")
	_ = c.MarkFlagFilename("audit-log", "jsonl")
	yesFlag(c, &o.yes)
	o.allow.Impact = qos.ImpactCounters
	f.Var(&o.allow, "allow", "the largest impact: none|counters|port-flap|traffic-loss|reload")
	a.choices(c, "allow", "none", "counters", "port-flap", "traffic-loss", "reload")
	outsideFlag(c, &o.outside)
	a.identityFlag(c)
}

func yesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

func outsideFlag(c *cobra.Command, outside *bool) {
	c.Flags().BoolVar(outside, "outside-window", false, "write even outside the maintenance windows of the intent")
}

// stateFlags adds --state and the flags for keys.
func (a *app) stateFlags(c *cobra.Command, o *fleet.StoreOptions) {
	o.Wrap = a.wrap
	f := c.Flags()
	f.StringVar(&o.Where, "state", a.Getenv("ROCE_FABRIC_STATE"), "folder for journal and lock, or etcd://HOST:2379 (or ROCE_FABRIC_STATE; default ~/.local/state/roce-fabric/FABRIC)")
	_ = c.MarkFlagDirname("state")
	f.StringVar(&o.SignKey, "sign-key", a.Getenv("ROCE_FABRIC_SIGN_KEY"), "reference to the private key that signs plans and journals, PEM: env:NAME, file:PATH (or ROCE_FABRIC_SIGN_KEY; default: one made in the state folder)")
	f.StringArrayVar(&o.TrustKeys, "trust-key", nil, "file of a public key, PEM: also trust plans and journals signed with it; may be repeated")
	_ = c.MarkFlagFilename("trust-key", "pub", "pem")
}

// running is a run with open devices and store that has not written anything yet.
type running struct {
	*fleet.Store
	c       *fleet.Fabric
	f       *intent.Fabric
	at      *fleet.Access
	devices []fleet.Device
	audit   *fleet.AuditFile
	options fleet.RunOptions
}

// begin prepares a run. asked means that no confirmation is needed; look is the command that
// shows what the run would do. The caller must call Close on the result.
func (a *app) begin(ctx context.Context, o runFlags, asked bool, look string) (*running, error) {
	if err := o.gate.valid(); err != nil {
		return nil, err
	}
	if err := a.mustAsk(asked, look); err != nil {
		return nil, err
	}
	outliveOutput()
	c, at, devices, err := a.devices(ctx)
	if err != nil {
		return nil, err
	}
	r := &running{c: c, f: c.Fabric(), at: at, devices: devices}
	if err := permitCallouts(at, r.f.Rollout.Approval); err != nil {
		return nil, err
	}
	if err := a.inWindow(r.f, o.outside); err != nil {
		return nil, err
	}
	if r.Store, err = fleet.OpenStore(ctx, r.f, o.state); err != nil {
		return nil, err
	}
	r.audit = r.AuditFile(o.audit)
	r.options = fleet.RunOptions{
		Fabric: r.f, Store: r.Store, Keys: r.Keys, Audit: r.audit, OutsideWindow: o.outside, Approver: a.approver(r.f, at),
		Workers: a.parallel, Writers: a.parallel, Gate: &fleet.Gate{Mode: o.gate.GateMode, Fabric: c, Access: at},
	}
	return r, nil
}

func (r *running) Close() error { return errors.Join(r.audit.Close(), r.Store.Close()) }

// inWindow rejects a run outside the maintenance window before anything is read for it, and
// prints how long the window is open.
func (a *app) inWindow(f *intent.Fabric, outside bool) error {
	if !outside {
		if err := fleet.InWindow(f, time.Now()); err != nil {
			return err
		}
	}
	a.sayWindow(f)
	return nil
}

// sayWindow prints whether the maintenance window is open.
func (a *app) sayWindow(f *intent.Fabric) {
	if now := fleet.WindowNow(f, time.Now()); now != "" {
		a.Talk("maintenance window: %s", now)
	}
}

// approver returns the approver that the intent names; nil if it names none.
func (a *app) approver(f *intent.Fabric, at *fleet.Access) fleet.Approver {
	by := approval.Of(f.Rollout.Approval, at.Policy, "roce-fabric/"+version)
	if by == nil {
		return nil
	}
	return toldApprover{by, a}
}

// toldApprover is an Approver that prints whose approval the run waits for.
type toldApprover struct {
	fleet.Approver
	a *app
}

func (t toldApprover) Approve(ctx context.Context, r fleet.ApprovalRequest) error {
	t.a.TalkClean("waiting for the approval of %s, digest %s", t, r.Digest)
	return t.Approver.Approve(ctx, r)
}

// mustAsk returns an error if the command needs confirmation and nobody can be asked. first is
// the command that shows the changes without making them.
func (a *app) mustAsk(answered bool, first string) error {
	if answered || a.CanAsk() && a.file != "-" {
		return nil
	}
	return usageHint(fmt.Sprintf("look at 'roce-fabric %s' first, then use --yes", first), "stdin is not a terminal; cannot ask for confirmation")
}

// confirm asks for confirmation, unless yes is set.
func (a *app) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	return a.Confirm(ctx, question)
}

// command returns the full name of a command in the current group.
func (a *app) command(name string) string {
	if a.nic.on {
		return "nic " + name
	}
	return name
}

// noun returns what the devices of a command are called.
func (a *app) noun() string {
	if a.nic.on {
		return "host"
	}
	return "device"
}

// sayRun prints which run is rolled back or resumed.
func (a *app) sayRun(p *fleet.Past, what string) {
	a.TalkClean("run %s of %s by %s: %s", p.ID, p.Begun.Local().Format(time.DateTime), p.By, what)
}

// history opens the history of a store, and says if a run is in progress. If the history cannot
// be read, it warns and returns an empty one, because reading devices does not require access to
// it.
func (a *app) history(s *fleet.Store) *fleet.History {
	past, busy, err := fleet.OpenHistory(s)
	if err != nil {
		a.Warn("cannot read the runs in %s, so it is unknown what they left on devices: %v", s, err)
		return &fleet.History{}
	}
	if busy != nil {
		a.Talk("%v: its devices may be read in the middle of a change", busy)
	}
	return past
}

// historyOf returns the history of a fabric's runs; nil if no store can be opened, because there
// is then no run to wait for. end closes the store.
func (a *app) historyOf(ctx context.Context, f *intent.Fabric, o fleet.StoreOptions) (_ *fleet.History, end func() error) {
	o.ReadOnly = true
	s, err := fleet.OpenStore(ctx, f, o)
	if err != nil {
		return nil, func() error { return nil }
	}
	return a.history(s), s.Close
}

// reportEnd reports the end of a run: the state of each device, what to do about it, and where the
// journal is. It returns the error with the exit status. advice is the hint for a plan that
// blocks itself.
func (a *app) reportEnd(fabric string, r *fleet.Result, err error, advice string) error {
	if r == nil {
		return err
	}
	var refused *fleet.Error
	if err != nil && !errors.As(err, &refused) {
		status := exitFailed
		if r.Wrote() {
			status = exitPartial
		}
		return &statusError{status, errors.Join(err, a.Outcomes(fabric, r)), ""}
	}
	if err := a.Outcomes(fabric, r); err != nil {
		return err
	}
	for _, o := range r.Outcomes {
		if o.Error != nil {
			a.Hint(o.Error.Hint)
		}
	}
	if r.Journal != "" {
		a.Talk("journal: %s", r.Journal)
	}
	if r.Continues != "" {
		a.Talk("run %s was interrupted and this run resumed it; 'roce-fabric %s' rolls back both", r.Continues, a.command("rollback"))
	}
	switch {
	case refused != nil && refused.Hint == "" && refused.Kind == fleet.KindImpact:
		return &statusError{exitFailed, err, fmt.Sprintf("allow it with --allow %s", r.Needs)}
	case refused != nil && refused.Hint == "":
		return &statusError{exitFailed, err, advice}
	case refused != nil:
		return err
	case r.InPart():
		return &statusError{status: exitPartial}
	case r.Failed():
		return &statusError{status: exitFailed}
	}
	return nil
}
