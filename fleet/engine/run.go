package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Options are the options of a [Run].
type Options struct {
	// Fabric names the fabric and the version of its intent.
	Fabric Subject
	// Store holds the lock and the journals.
	Store store.Store
	// Writers is how many devices are changed at a time; 0 is one.
	Writers int
	// AppliedTimeout is how long to wait for the daemons of a device to apply what was
	// written; 0 is 30 s. DeviceTimeout is the timeout for the work on a device; 0 is none.
	AppliedTimeout, DeviceTimeout time.Duration
	// Allow is the largest impact that the operator allows.
	Allow qos.Impact
	// AcceptWarnings answers yes to devices that ask before they continue.
	AcceptWarnings bool
	// Audit receives the audit log, one [AuditRecord] in JSON per line; nil keeps none.
	Audit io.Writer
	// Progress is called with each event; may be nil.
	Progress Progress
	// Gate checks each wave before it is confirmed; nil is no gate.
	Gate WaveGate
	// Window returns an error once no further device may start; may be nil.
	Window func() error
	// ApproveWave is called before wave n of all waves of the run, counted from 1. An error
	// stops the run. May be nil.
	ApproveWave func(ctx context.Context, w rollout.Wave, n, of int) error
	// DeviceLock takes the lock of a device before the device is written to, and may wait for
	// it. May be nil.
	DeviceLock func(ctx context.Context, device string) (store.Lock, error)
}

// Subject is the fabric that a run works on.
type Subject struct {
	Name   string
	Intent string // hash of the files of the intent
	Path   string // absolute path of the intent; "" if it did not come from a file
}

// WaveGate checks a wave before it is confirmed.
type WaveGate interface {
	// Baseline is called before the first wave.
	Baseline(ctx context.Context, waves []rollout.Wave) error
	// Before reads what must be back after a wave. It returns false if the wave has no gate.
	Before(ctx context.Context, w rollout.Wave) (bool, error)
	// Check returns an error unless the wave may be confirmed.
	Check(ctx context.Context, w rollout.Wave) error
	// Passed returns the mode of the gate, or "" if the last wave did not pass by itself.
	Passed() rollout.GateMode
}

// Run changes devices: it applies a plan, rolls back an earlier run, or resets devices.
type Run struct {
	Options
	id      string
	devices map[string]Device
	journal *journal // nil for a run that writes none
	audit   *audit
}

// NewRun returns a run that has not begun.
func NewRun(devices []Device, o Options) *Run {
	o.AppliedTimeout = cmp.Or(o.AppliedTimeout, 30*time.Second)
	r := &Run{Options: o, devices: map[string]Device{}}
	for _, d := range devices {
		r.devices[d.Name] = d
	}
	return r
}

// Begin takes the lock of the fabric and opens the journal and the audit log. of is the run to
// roll back; "" for an apply. The run works on devices; there is nothing to do on those in
// idle. first is the first record of the audit log.
func (r *Run) Begin(of string, devices, idle []string, first AuditRecord) (err error) {
	if r.id, err = NewID(); err != nil {
		return err
	}
	r.journal, err = begin(r.Store, r.id, entry{Fabric: r.Fabric.Name, Intent: r.Fabric.Intent, Path: r.Fabric.Path, Of: of, Devices: devices, idle: idle})
	if err != nil {
		return err
	}
	first.Of = of
	if err := r.beginAudit(store.Self(r.id, ""), first); err != nil {
		return errors.Join(err, r.journal.Close())
	}
	return nil
}

// Journal returns where the journal is stored; "" if the run has not begun.
func (r *Run) Journal() string { return r.journal.Path() }

// History returns the history of earlier runs; nil if the run has not begun.
func (r *Run) History() (*History, error) { return r.journal.pastRuns() }

// Guard returns a context that ends when the lock of the run is lost.
func (r *Run) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	return r.journal.guard(ctx)
}

// Record writes the outcome of a device to the journal.
func (r *Run) Record(out Outcome) error { return r.journal.record(out) }

// GiveUp records that the run ends before it wrote to a device.
func (r *Run) GiveUp() error { return r.journal.Write(entry{Event: "end"}) }

// Close closes the journal and releases the lock.
func (r *Run) Close() error { return r.journal.Close() }

// windowClosed returns an error once no further device may start.
func (r *Run) windowClosed() error {
	if r.Window == nil {
		return nil
	}
	return r.Window()
}

// errStopped means that a run stopped before its end.
var errStopped = errors.New("run stopped")

// Task is a device with what is to be done on it.
type Task struct {
	Device
	Plan  *DevicePlan
	Want  drivers.Desired
	Steps string // digest of the plan's steps
	// Hold is how long it may take from the first write until the device is confirmed.
	Hold time.Duration
	// Plain is the device without the interim run; nil if there is none.
	Plain *Device
}

// NewID returns a name for a run: the time to the millisecond, so that names sort in the order
// of the runs, and a random part, so that no two runs share a name.
func NewID() (string, error) {
	var b [2]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("name the run: %w", err)
	}
	now := time.Now().UTC()
	return fmt.Sprintf("%s%03d-%s", now.Format("20060102-150405"), now.Nanosecond()/1e6, hex.EncodeToString(b[:])), nil
}

// End ends a run and returns its result. err is the error, if any, that ended it early.
func (r *Run) End(outs []Outcome, err error) (*Result, error) {
	if errors.Is(err, errStopped) {
		err = nil // the outcomes tell where and why it stopped
	}
	last := r.journal.verify()
	if last == nil {
		last = r.journal.Write(entry{Event: "end"})
	}
	return &Result{Journal: r.journal.Path(), Continues: r.journal.continues(), Outcomes: outs}, errors.Join(err, last, r.audit.write(AuditRecord{Event: "end"}))
}

// Refusal returns the error for a run that is refused as a whole.
func Refusal(kind Kind, why []string) *Error {
	return ErrorOf("", OpJudge, kind, fmt.Errorf("%s; nothing was written", strings.Join(why, ", ")))
}

// beginAudit starts the audit log of a run, if the run has one, with a "begin" record.
func (r *Run) beginAudit(me store.Owner, first AuditRecord) error {
	if r.Audit == nil {
		return nil
	}
	r.audit = &audit{run: r.id, by: me.User + "@" + me.Host, w: r.Audit, open: map[string]AuditRecord{}, accepted: map[string]bool{}}
	first.Event, first.Fabric, first.Intent = "begin", r.Fabric.Name, r.Fabric.Intent
	return r.audit.write(first)
}

// pending is a device whose changes were written and read back, but not confirmed.
type pending struct {
	Task
	drv   drivers.Driver
	token *drivers.Token
	unfit string
	facts drivers.Facts
	blind bool // the device did not show what was in force before the change either
}
