package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// RunOptions tune a run, an apply or a rollback.
type RunOptions struct {
	// Fabric is the intent that the devices are of.
	Fabric *intent.Fabric
	// Store has the lock and the journals, by default [store.Dir] of [StateDir].
	Store store.Store
	// Workers is how many devices are read at a time before the first write, Writers
	// how many are changed; 0 is one.
	Workers, Writers int
	// AppliedTimeout bounds the wait for the daemons of a device to take up
	// what was written; 0 is 30 s.
	AppliedTimeout time.Duration
	// Keys say whose plans are believed; nil believes every file. For journals see
	// [store.Signed].
	Keys *keys.Ring
	// Audit gets the audit log, an [AuditRecord] in JSON a line; nil keeps none.
	Audit io.Writer
	// OutsideWindow writes outside of the maintenance windows of the intent, too.
	OutsideWindow bool
	// Approver is asked before the first write; nil is a yes.
	Approver Approver
	// Now is the clock that the windows go by; nil is [time.Now].
	Now func() time.Time
	// Progress is called as the work goes on; nil is silence.
	Progress Progress
	// Gate looks at each wave of an apply before it is confirmed; nil is none.
	Gate *Gate
	// DeviceLock takes the lock of a device before it is written to, and may wait for it.
	// The lock is given back when the device is confirmed, reverted or left alone. nil is
	// none: the lock of the fabric keeps other runs over it away.
	DeviceLock func(ctx context.Context, device string) (store.Lock, error)
}

// ApplyOptions tune an apply.
type ApplyOptions struct {
	RunOptions
	// Allow is the largest impact that the operator allows.
	Allow qos.Impact
	// SkipFailed carries out the rest of a plan in which devices could not be planned.
	SkipFailed bool
	// SkipUnreachable leaves devices out that cannot be reached before the first write.
	SkipUnreachable bool
	// AcceptWarnings answers devices that ask before they go on with yes; otherwise such a
	// device is not changed, and the run stops.
	AcceptWarnings bool
	// Confirm is asked once nothing forbids the plan, and before the approver; an error
	// ends it. nil is a yes. As the answer may take hours, all devices are read again after it.
	Confirm func() error
}

// Result is what became of the devices of a run.
type Result struct {
	Journal string // the path of the journal; "" where nothing was begun
	// Continues is the run before it that did not come to its end and that this one went
	// on with: both are rolled back together. "" for none.
	Continues string
	Outcomes  []Outcome
	// Needs is the impact that would have to be allowed, where the run was refused
	// for that.
	Needs qos.Impact
}

func (r *Result) count() map[State]int {
	n := map[State]int{}
	for _, o := range r.Outcomes {
		n[o.State]++
	}
	return n
}

// Failed reports whether a device is not as the run was to leave it.
func (r *Result) Failed() bool {
	return slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return !o.done() && o.State != Unchanged })
}

// InPart reports whether some devices are as the run was to leave them and others
// are not, or one is in between.
func (r *Result) InPart() bool {
	n := r.count()
	return n[Partial]+n[Unsaved]+n[LeftOut] > 0 || r.Failed() && slices.ContainsFunc(r.Outcomes, Outcome.done)
}

// Wrote reports whether a device is not as it was before the run.
func (r *Result) Wrote() bool {
	return r.InPart() || slices.ContainsFunc(r.Outcomes, Outcome.done)
}

// Stopped reports whether the run changed some devices and did not come to others.
func (r *Result) Stopped() bool {
	n := r.count()
	return n[Skipped] > 0 && n[Applied] > 0
}

// done reports whether the run changed the device as it was to.
func (o Outcome) done() bool {
	return o.State == Applied || o.State == Restored || o.State == WasReset
}

// Apply carries out a plan: one that [Prepare] made of these devices, or one that
// was saved, which must be one that this tool makes of their intent. The plan is
// judged as a whole first: where one device cannot be changed as planned, none is.
//
// An error that is an [*Error] with the operation OpJudge says why nothing was
// written, and the result, where there is one, says of which devices. With a nil
// error the result says what became of each device; a run that stopped at one is no
// error of Apply. Any other error comes from what surrounds the devices, such as the
// journal.
func Apply(ctx context.Context, devices []Device, plan *PlanFile, o ApplyOptions) (_ *Result, err error) {
	r := newRun(plan.Rollout.Interim.devices(devices), o.RunOptions)
	if plan.Rollout.Interim != nil {
		r.plain = newRun(devices, o.RunOptions).devices
	}
	r.allow, r.accepts, r.plan = o.Allow, o.AcceptWarnings, plan.Digest
	if err := plan.isOf(o.Fabric); err != nil {
		return nil, err
	}
	if err := plan.verify(o.Keys); err != nil {
		return nil, err
	}
	if err := r.trust(ctx, plan); err != nil {
		return nil, err
	}
	judged, err := plan.judge(o, r.devices)
	if err != nil {
		return judged, err
	}
	if err := r.inWindow(); err != nil {
		return nil, err
	}
	var names, idle []string
	for _, p := range plan.devices {
		switch {
		case !r.idle(p):
			names = append(names, p.name)
		case p.err == nil:
			idle = append(idle, p.name)
		}
	}
	if len(names) > 0 {
		if err := r.ask(ctx, o.Confirm, plan.request); err != nil {
			return nil, err
		}
		if err := r.begin("", names, idle); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.journal.Close()) }()
		// A plan that was made just now, without a question, needs no second look.
		if !plan.fresh() || o.Confirm != nil || o.Approver != nil {
			if refused, err := r.checkAll(ctx, plan, judged, o); err != nil {
				return refused, err
			}
		}
	}
	at := map[string]int{}
	for i, p := range plan.devices {
		at[p.name] = i
	}
	hold := map[string]time.Duration{}
	if g := r.newGated(plan.Rollout.Waves); g != nil {
		for _, w := range plan.Rollout.Waves {
			for _, name := range w.Devices {
				hold[name] = g.hold(w)
			}
		}
	}
	outs, err := r.each(ctx, plan.waves(), func(ctx context.Context, device string, out *Outcome) (*pending, error) {
		i := at[device]
		return r.apply(ctx, out, judged.Outcomes[i], func() (task, error) {
			d, err := plan.device(plan.devices[i])
			dev := r.devices[device]
			return task{Device: dev, plan: d, desired: dev.Desired(), steps: plan.devices[i].steps, hold: hold[device]}, err
		})
	})
	ordered.Sort(outs, func(a, b Outcome) int { return cmp.Compare(at[a.Device], at[b.Device]) })
	return r.ended(outs, err)
}

// idle reports whether a run has nothing to do on a device, and nothing to look after.
func (r *run) idle(p planned) bool { return p.err != nil || p.empty && r.devices[p.name].Volatile }

// waves are the devices of a plan in the order in which they are worked on: first those
// that nothing is written to, then the waves of the rollout.
func (p *PlanFile) waves() []Wave {
	var idle Wave
	in := map[string]bool{}
	for _, w := range p.Rollout.Waves {
		for _, name := range w.Devices {
			in[name] = true
		}
	}
	for _, d := range p.devices {
		if !in[d.name] {
			idle.Devices = append(idle.Devices, d.name)
		}
	}
	return append([]Wave{idle}, p.Rollout.Waves...)
}

// isOf returns an error unless the plan is of this fabric, and of this version of
// its intent.
func (p *PlanFile) isOf(f *intent.Fabric) error {
	switch {
	case p.Fabric != f.Name:
		return NewError("", OpJudge, fmt.Errorf("%s is a plan for fabric %s, the intent is for %s; nothing was written", p.path, p.Fabric, f.Name))
	case p.Intent != f.Hash:
		from := "the intent"
		switch len(f.Files) {
		case 0:
		case 1:
			from = f.Files[0]
		default:
			from = filepath.Dir(f.Files[0])
		}
		return errorAs("", OpJudge, KindStale, fmt.Errorf("%s was made from a different version of %s; nothing was written", p.path, from))
	}
	return nil
}

// newRun makes a run that has not begun.
func newRun(devices []Device, o RunOptions) *run {
	r := &run{RunOptions: o.withDefaults(), devices: map[string]Device{}}
	for _, d := range devices {
		r.devices[d.Name] = d
	}
	return r
}

// begin takes the lock and opens the journal of a run, or of the rollback of one. The run
// works on devices; on those of idle there is nothing to do.
func (r *run) begin(of string, devices, idle []string) (err error) {
	if r.id, err = newID(); err != nil {
		return err
	}
	r.journal, err = begin(r.Store, r.id, entry{Fabric: r.Fabric.Name, Intent: r.Fabric.Hash, Path: intentPath(r.Fabric), Of: of, Devices: devices, idle: idle})
	if err != nil {
		return err
	}
	if err := r.beginAudit(store.Self(r.id, ""), of); err != nil {
		return errors.Join(err, r.journal.Close())
	}
	return nil
}

// newID names a run by the time to the millisecond, so that names sort as the runs came,
// and enough chance that two never share one.
func newID() (string, error) {
	var b [2]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("name the run: %w", err)
	}
	now := time.Now().UTC()
	return fmt.Sprintf("%s%03d-%s", now.Format("20060102-150405"), now.Nanosecond()/1e6, hex.EncodeToString(b[:])), nil
}

// intentPath is where an intent is on this machine, "" where it came from elsewhere.
func intentPath(f *intent.Fabric) string {
	if len(f.Files) == 0 {
		return ""
	}
	if path, err := filepath.Abs(f.Files[0]); err == nil && f.Files[0] != "<stdin>" {
		return path
	}
	return ""
}

// ended ends a run. err is what kept it from a regular end.
func (r *run) ended(outs []Outcome, err error) (*Result, error) {
	if errors.Is(err, errStopped) {
		err = nil // the outcomes say where, and why
	}
	last := r.journal.verify()
	if last == nil {
		last = r.journal.Write(entry{Event: "end"})
	}
	return &Result{Journal: r.journal.Path(), Continues: r.journal.continues(), Outcomes: outs}, errors.Join(err, last, r.audit.write(AuditRecord{Event: "end"}))
}
