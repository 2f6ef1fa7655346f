package fleet

import (
	"context"
	"io"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
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

// run is the state of an apply, a rollback or a reset.
type run struct {
	RunOptions
	*engine.Run
	// approved names the approver that approved the run; "" for none.
	approved string
	request  ApprovalRequest // the request that was approved
}

// newRun returns a run that has not begun.
func newRun(devices []Device, o RunOptions, allow qos.Impact) *run {
	r := &run{RunOptions: o}
	of := engine.Options{
		Store: o.Store, Writers: o.Writers, AppliedTimeout: o.AppliedTimeout, Allow: allow,
		Audit: o.Audit, Progress: o.Progress, DeviceLock: o.DeviceLock, Window: o.stillInWindow, ApproveWave: r.approveWave,
	}
	if f := o.Fabric; f != nil {
		of.Fabric = engine.Subject{Name: f.Name, Intent: f.Hash, Path: intentPath(f)}
		of.DeviceTimeout = f.Rollout.DeviceTimeout.V
	}
	r.Run = engine.NewRun(devices, of)
	return r
}

// begins returns the first record of the audit log of the run.
func (r *run) begins() AuditRecord {
	return AuditRecord{OutsideWindow: r.OutsideWindow, ApprovedBy: r.approved}
}
