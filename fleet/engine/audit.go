package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// AuditRecord is one line of the audit log, in JSON: who did what to which device, when, and
// with what outcome.
type AuditRecord struct {
	Time   time.Time `json:"time"`
	Event  string    `json:"event"` // "begin", "identity", "request", "device", "end"
	Run    string    `json:"run"`
	By     string    `json:"by"` // user@machine
	Fabric string    `json:"fabric,omitempty"`
	Intent string    `json:"intent,omitempty"` // hash of the intent's files
	// Plan is the digest of the plan that is applied, Of the run that is rolled back.
	Plan  string `json:"plan,omitempty"`
	Of    string `json:"of,omitempty"`
	Allow string `json:"allow,omitempty"` // the largest impact that was allowed
	// OutsideWindow is set if the run may write outside the maintenance windows.
	OutsideWindow bool `json:"outside_window,omitempty"`
	// ApprovedBy is the command or the host of the webhook that approved.
	ApprovedBy string `json:"approved_by,omitempty"`

	Device  string `json:"device,omitempty"`
	Via     string `json:"via,omitempty"`
	Request string `json:"request,omitempty"`
	I       int    `json:"i,omitempty"` // number of the request, from 1, out of N
	N       int    `json:"n,omitempty"`
	// Outcome is "done" or "failed" for a request, the [State] for a device, and "accepted"
	// for an identity.
	Outcome string `json:"outcome,omitempty"`
	Error   string `json:"error,omitempty"`
	// Unit is set for "identity": the unit of a device that the operator accepted although it
	// is not the one that the intent means. Error explains why it is not.
	Unit drivers.Unit `json:"unit,omitzero"`
}

// audit writes the audit log of a run. A nil audit writes nothing.
type audit struct {
	run, by string

	mu   sync.Mutex
	w    io.Writer
	open map[string]AuditRecord // the current request of each device
	// accepted holds the devices for which the log has an "identity".
	accepted map[string]bool
}

func (a *audit) write(rec AuditRecord) error {
	if a == nil {
		return nil
	}
	if rec.Time.IsZero() {
		rec.Time = time.Now().UTC()
	}
	rec.Run, rec.By = a.run, a.by
	b, err := json.Marshal(rec)
	if err == nil {
		_, err = a.w.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

// request records that a request to a device begins, and so that the previous request is
// done.
func (a *audit) request(device string, s drivers.Step, i, n int) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.done(device, "done", "")
	a.open[device] = AuditRecord{Time: time.Now().UTC(), Event: "request", Device: device, Via: s.Via, Request: s.What, I: i + 1, N: n}
	return err
}

// done writes the current request of a device with its outcome.
func (a *audit) done(device, outcome, fault string) error {
	rec, ok := a.open[device]
	if !ok {
		return nil
	}
	delete(a.open, device)
	rec.Outcome, rec.Error = outcome, fault
	return a.write(rec)
}

// accept writes, once per device, that the operator accepts the device, and why it seems to
// be a different one.
func (a *audit) accept(device, why string, unit drivers.Unit) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.accepted[device] {
		return nil
	}
	a.accepted[device] = true
	return a.write(AuditRecord{Event: "identity", Device: device, Outcome: "accepted", Error: why, Unit: unit})
}

// device writes the outcome of a device.
func (a *audit) device(out Outcome) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	fault, last := "", "done"
	if out.Error != nil {
		fault = out.Error.Text
	}
	if !out.Done() && out.State != Unsaved {
		last = "failed"
	}
	if err := a.done(out.Device, last, fault); err != nil {
		return err
	}
	return a.write(AuditRecord{Event: "device", Device: out.Device, Outcome: string(out.State), Error: fault})
}
