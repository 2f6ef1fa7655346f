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
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// RunOptions are the options common to all runs: applies, rollbacks and resets.
type RunOptions struct {
	// Fabric is the intent of the devices.
	Fabric *intent.Fabric
	// Store holds the lock and the journals; by default [store.Dir] of [StateDir].
	Store store.Store
	// Workers is how many devices are read at a time before the first write, Writers how
	// many are changed at a time; 0 is one.
	Workers, Writers int
	// AppliedTimeout is how long to wait for the daemons of a device to apply what was
	// written; 0 is 30 s.
	AppliedTimeout time.Duration
	// Keys are the keys whose plans are trusted; nil trusts every file. For journals see
	// [store.Signed].
	Keys *keys.Ring
	// Audit receives the audit log, one [AuditRecord] in JSON per line; nil keeps none.
	Audit io.Writer
	// OutsideWindow allows writes outside the maintenance windows of the intent.
	OutsideWindow bool
	// Approver is asked before the first write; nil approves.
	Approver Approver
	// Now is the clock for the maintenance windows; nil is [time.Now].
	Now func() time.Time
	// Progress is called with each event; may be nil.
	Progress Progress
	// Gate checks each wave of an apply before it is confirmed; nil is no gate.
	Gate *Gate
	// DeviceLock takes the lock of a device before the device is written to, and may wait for
	// it. The lock is released when the device is confirmed, reverted or left alone. If nil,
	// only the lock of the fabric keeps other runs away.
	DeviceLock func(ctx context.Context, device string) (store.Lock, error)
}

// ApplyOptions are the options of [Apply].
type ApplyOptions struct {
	RunOptions
	// Allow is the largest impact that the operator allows.
	Allow qos.Impact
	// SkipFailed applies the rest of a plan if some devices could not be planned.
	SkipFailed bool
	// SkipUnreachable leaves out devices that cannot be reached before the first write.
	SkipUnreachable bool
	// AcceptWarnings answers yes to devices that ask before they continue. Without it, such a
	// device is not changed and the run stops.
	AcceptWarnings bool
	// Confirm is called once the plan has passed all checks, before the approver is asked. An
	// error ends the run; nil confirms. All devices are read again afterwards, because the
	// answer may take hours.
	Confirm func() error
}

// Apply applies a plan: one that [Prepare] made for these devices, or a saved one, which must
// be a plan that this tool makes from their intent. Apply first judges the plan as a whole: if
// one device cannot be changed as planned, no device is changed.
//
// An [*Error] with the operation OpJudge says why nothing was written; the result, if not
// nil, then tells which devices are the reason. If the error is nil, the result has the
// outcome of each device; it is not an error of Apply if the run stopped at a device. Any
// other error is not about a device but, for example, about the journal.
func Apply(ctx context.Context, devices []Device, plan *PlanFile, o ApplyOptions) (_ *Result, err error) {
	r := newRun(devicesOfRun(plan.Rollout.Interim, devices), o.RunOptions)
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
	judged, err := plan.checkAllowed(o, r.devices)
	if err != nil {
		return judged, err
	}
	if err := r.inWindow(); err != nil {
		return nil, err
	}
	var names, idle []string
	for _, p := range plan.devices {
		switch {
		case !r.isIdle(p):
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
		// Skip the check for a plan that was made just now, if nobody was asked meanwhile.
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
				hold[name] = g.holdTime(w)
			}
		}
	}
	outs, err := r.runWaves(ctx, plan.waves(), func(ctx context.Context, device string, out *Outcome) (*pending, error) {
		i := at[device]
		return r.applyJudged(ctx, out, judged.Outcomes[i], func() (task, error) {
			d, err := plan.device(plan.devices[i])
			dev := r.devices[device]
			return task{Device: dev, plan: d, desired: dev.Desired(), steps: plan.devices[i].steps, hold: hold[device]}, err
		})
	})
	ordered.Sort(outs, func(a, b Outcome) int { return cmp.Compare(at[a.Device], at[b.Device]) })
	return r.endRun(outs, err)
}

// isIdle reports whether a run has nothing to change and nothing to check on a device.
func (r *run) isIdle(p planSummary) bool {
	return p.err != nil || p.empty && r.devices[p.name].Volatile
}

// waves returns the devices of a plan in the order in which they are worked on: first the
// devices that nothing is written to, then the waves of the rollout.
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

// isOf returns an error unless the plan was made for this fabric and this version of its
// intent.
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
		return engine.ErrorOf("", OpJudge, KindStale, fmt.Errorf("%s was made from a different version of %s; nothing was written", p.path, from))
	}
	return nil
}

// newRun returns a run that has not begun.
func newRun(devices []Device, o RunOptions) *run {
	r := &run{RunOptions: o.withDefaults(), devices: map[string]Device{}}
	for _, d := range devices {
		r.devices[d.Name] = d
	}
	return r
}

// begin takes the lock and opens the journal of a run. of is the run to roll back; "" for an
// apply. The run works on devices; there is nothing to do on those in idle.
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

// newID returns a name for a run: the time to the millisecond, so that names sort in the order
// of the runs, and a random part, so that no two runs share a name.
func newID() (string, error) {
	var b [2]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("name the run: %w", err)
	}
	now := time.Now().UTC()
	return fmt.Sprintf("%s%03d-%s", now.Format("20060102-150405"), now.Nanosecond()/1e6, hex.EncodeToString(b[:])), nil
}

// intentPath returns the absolute path of the first file of an intent; "" if the intent did not
// come from a file.
func intentPath(f *intent.Fabric) string {
	if len(f.Files) == 0 {
		return ""
	}
	if path, err := filepath.Abs(f.Files[0]); err == nil && f.Files[0] != "<stdin>" {
		return path
	}
	return ""
}

// endRun ends a run and returns its result. err is the error, if any, that ended it early.
func (r *run) endRun(outs []Outcome, err error) (*Result, error) {
	if errors.Is(err, errStopped) {
		err = nil // the outcomes tell where and why it stopped
	}
	last := r.journal.verify()
	if last == nil {
		last = r.journal.Write(entry{Event: "end"})
	}
	return &Result{Journal: r.journal.Path(), Continues: r.journal.continues(), Outcomes: outs}, errors.Join(err, last, r.audit.write(AuditRecord{Event: "end"}))
}
