// Package host is the driver for the NICs of hosts: of this machine, or of one that is reached
// through nic/remote.
//
// A host takes its settings one by one, and only the host knows the impact of a step, so Read
// also asks the host for the steps. A finding of package nic that no run can fix (a pending
// reset, an unreadable value, the boot unit) becomes an Open change. Do not put code that reads
// or writes a setting here: it belongs in nic/local.
package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// OS is the operating system in the facts of a host.
const OS = "linux"

// Conn is a connection to a host.
type Conn interface {
	agent.Machine
	Close() error
}

// Config identifies a host and its desired state.
type Config struct {
	Name string
	// Desired is the desired state of the host. Other ports are not read, and Plan accepts no
	// other desired state.
	Desired *nic.Host
	// Connect connects to the host; nil uses this machine.
	Connect func(context.Context) (Conn, error)
	// Options limit the steps.
	Options local.Options
	// Accepted reports whether the intent accepts a finding about a port; nil accepts none.
	Accepted func(check, port string) bool
}

// Driver controls one host. It connects with the first call that needs it.
type Driver struct {
	Config
	conn Conn
	// noCM says why the RDMA-CM defaults could not be set; "" if they could.
	noCM string
	// gone lists the settings that this run wrote and that something else changed back; lost
	// lists the steps that wrote them.
	gone []nic.Change
	lost []local.Step
	// seen is the state of the host at the last read.
	seen *nic.Host
	// unmark removes the mark of this run from the host; nil if there is none.
	unmark func()
	ended  []string
}

var (
	_ drivers.Driver  = (*Driver)(nil)
	_ drivers.Checker = (*Driver)(nil)
	_ drivers.Heir    = (*Driver)(nil)
)

// New creates the driver of a host.
func New(c Config) *Driver { return &Driver{Config: c} }

// State is the content of a host snapshot.
type State struct {
	Running *nic.Host `json:"-"`
	// Changes are the result of [nic.Diff]; Steps make those changes that can be made.
	Changes []nic.Change `json:"changes"`
	Steps   []local.Step `json:"steps"`
}

// StateOf returns the content of a host snapshot.
func StateOf(s *drivers.Snapshot) State {
	st, _ := s.Native.(State)
	return st
}

// Record is the undo record of a host: the steps with old and new values, and the writes that
// undo them.
type Record struct {
	Steps []local.Step `json:"steps"`
	Undo  local.Undo   `json:"undo"`
	Run   string       `json:"run,omitempty"`
}

type here struct {
	agent.Machine
	io.Closer
}

// Machine returns the connection to the host, connecting on the first call.
func (d *Driver) Machine(ctx context.Context) (agent.Machine, error) {
	if d.conn != nil {
		return d.conn, nil
	}
	connect := d.Connect
	if connect == nil {
		connect = func(context.Context) (Conn, error) {
			m, err := local.Open()
			if err != nil {
				return nil, err
			}
			return here{agent.Local(m), m}, nil
		}
	}
	conn, err := connect(ctx)
	if err != nil {
		return nil, d.wrap(err)
	}
	if d.Desired != nil {
		conn.Select(d.Desired.Selectors())
	}
	d.conn = conn
	return conn, nil
}

// Close closes the connection.
func (d *Driver) Close() error {
	d.release()
	conn := d.conn
	if d.conn = nil; conn == nil {
		return nil
	}
	return conn.Close()
}

// kindError is an error that also matches an error of package drivers.
type kindError struct {
	error
	kind error
}

func (e kindError) Unwrap() []error { return []error{e.error, e.kind} }

// wrap adds the matching error of package drivers.
func (d *Driver) wrap(err error) error {
	for _, k := range []struct{ is, kind error }{
		{local.ErrPartial, drivers.ErrPartial}, {agent.ErrEnded, drivers.ErrUnreachable},
	} {
		if errors.Is(err, k.is) {
			err = kindError{err, k.kind}
		}
	}
	return drivers.TransportError(err)
}

// ownWord reports whether an error comes from the host itself, not from the connection to it.
func (d *Driver) ownWord(err error) bool {
	return d.Connect == nil || errors.As(err, new(*agent.Error))
}

// Probe connects to the host. Everything else comes with a read.
func (d *Driver) Probe(ctx context.Context) (drivers.Facts, error) {
	if _, err := d.Machine(ctx); err != nil {
		return drivers.Facts{}, err
	}
	way := "ssh"
	if d.Connect == nil {
		way = "local"
	}
	return drivers.Facts{OS: OS, Caps: drivers.Caps{
		Undo: "each setting is written back", Writes: []string{way},
	}}, nil
}

// Running reads the current settings and the boot unit.
func (d *Driver) Running(ctx context.Context) (*nic.Host, error) {
	m, err := d.Machine(ctx)
	if err != nil {
		return nil, err
	}
	h, err := m.Read(ctx, natural.Keys(d.Desired.Ports))
	if err != nil {
		return nil, d.wrap(err)
	}
	h.Name = d.Name
	d.seen = h
	return h, nil
}

// Read takes a snapshot, including the steps from there, which the host computes.
func (d *Driver) Read(ctx context.Context) (*drivers.Snapshot, error) {
	running, err := d.Running(ctx)
	if err != nil {
		return nil, err
	}
	s := State{Running: running, Changes: nic.Diff(running, d.Desired)}
	for i := range s.Changes {
		c := &s.Changes[i]
		if d.noCM != "" && nic.OfCM(c.Field) {
			c.Blocked = cmp.Or(c.Blocked, d.noCM)
		}
		if d.lostBy(c.Port, c.Field) {
			c.Blocked = cmp.Or(c.Blocked, "it did not stay as this run set it")
		}
	}
	if slices.ContainsFunc(s.Changes, nic.Change.Writable) {
		if s.Steps, err = d.conn.Plan(ctx, running, d.Desired, d.Options); err != nil {
			return nil, d.wrap(err)
		}
		s.Steps = slices.DeleteFunc(s.Steps, func(s local.Step) bool {
			return d.noCM != "" && nic.OfCM(s.Field) || d.lostBy(s.Port, s.Field)
		})
	}
	return &drivers.Snapshot{Native: s}, nil
}

// Identity returns the host name and the serial number that a host shows; empty for nil.
func Identity(running *nic.Host) drivers.Identity {
	if running == nil {
		return drivers.Identity{}
	}
	hostname, _, _ := strings.Cut(running.Hostname, ".")
	return drivers.Identity{Hostname: hostname, Unit: drivers.UnitOf(running.Serial, "")}
}

// Hostname implements [drivers.Named].
func (d *Driver) Hostname(s *drivers.Snapshot) string { return Identity(StateOf(s).Running).Hostname }

// Unit returns the serial number of the machine from a snapshot.
func (d *Driver) Unit(s *drivers.Snapshot) drivers.Unit { return Identity(StateOf(s).Running).Unit }

// Digest identifies the changes in a snapshot that a run would make.
func (d *Driver) Digest(s *drivers.Snapshot, want drivers.Desired) string {
	if d.check(want) != nil {
		return ""
	}
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, c := range StateOf(s).Changes {
		if c.Writable() {
			_ = enc.Encode(c) // encoding texts and numbers to a hash cannot fail
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// check returns an error unless want is the driver's own desired state.
func (d *Driver) check(want drivers.Desired) error {
	desired, err := drivers.Want[*nic.Host](want)
	if err == nil && desired != d.Desired {
		err = fmt.Errorf("%w: the driver was made for another desired state", drivers.ErrUnsupported)
	}
	return err
}

// Plan converts the steps in the snapshot to the common form.
func (d *Driver) Plan(_ drivers.Facts, snap *drivers.Snapshot, want drivers.Desired, policy drivers.Policy) (*drivers.Steps, error) {
	if err := d.check(want); err != nil {
		return nil, err
	}
	s := StateOf(snap)
	out := &drivers.Steps{Device: d.Name, Base: d.Digest(snap, want), Policy: policy}
	open := s.Changes
	if len(s.Steps) > 0 {
		open = slices.DeleteFunc(slices.Clone(open), nic.Change.Writable)
	}
	// Settings that something else changed back are reported only once, by notStaying.
	open = slices.DeleteFunc(slices.Clone(open), func(c nic.Change) bool {
		return slices.ContainsFunc(d.gone, func(g nic.Change) bool { return g.Port == c.Port && g.Field == c.Field })
	})
	out.Left, out.Unfit = Left(open, d.Accepted)
	out.Unfit = unfit(out.Unfit, d.notStaying())
	out.Resets = Resets(s.Running, s.Changes)
	for _, c := range s.Changes {
		out.Changes = append(out.Changes, common(c, s.Steps))
	}
	for _, s := range s.Steps {
		if len(s.Changes) == 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: %s, impact %s", s.Port, s.What, s.Impact))
		}
		if s.Blocked != "" {
			continue
		}
		native, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		item := drivers.Step{Via: "agent", What: s.What, Impact: max(s.Impact, s.Least()), Native: native}
		if s.Bounces() {
			item.Down, item.Up = []string{s.Port}, []string{s.Port}
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// common converts a change to the common form. It gets the impact of its step, and is blocked if
// the step is blocked.
func common(c nic.Change, steps []local.Step) qos.Change {
	out := qos.Change{Port: c.Port, Field: qos.NIC(c.Field), Old: c.Old, New: c.New, Reason: c.Reason, Impact: c.Impact, Blocked: c.Blocked, Open: !c.Writable(), Note: note(c)}
	if c.Field == nic.FieldUnit {
		out.Blocked = cmp.Or(out.Blocked, "'roce-fabric nic unit install' installs it")
	}
	for _, s := range steps {
		if slices.ContainsFunc(s.Changes, func(of nic.Change) bool { return of.Port == c.Port && of.Field == c.Field }) {
			out.Impact, out.Blocked = max(out.Impact, s.Impact), cmp.Or(out.Blocked, s.Blocked)
		}
	}
	return out
}

// note says why a value differs if that is not drift, where the host stores it, and what
// activates it.
func note(c nic.Change) string {
	var parts []string
	if c.Kind != nic.KindDrift {
		parts = append(parts, string(c.Kind))
	}
	if c.Layer != "" {
		parts = append(parts, string(c.Layer))
	}
	if c.After != "" {
		parts = append(parts, "in force after: "+c.After)
	}
	return strings.Join(parts, ", ")
}

// localSteps decodes the steps of a plan, which may come from a file.
func localSteps(items []drivers.Step) ([]local.Step, error) {
	out := []local.Step{}
	for i, item := range items {
		var s local.Step
		if err := json.Unmarshal(item.Native, &s); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Apply executes the steps, reading the value before and after each. If the module rdma_cm cannot
// be loaded, all other steps are executed, and the next plan reports it.
func (d *Driver) Apply(ctx context.Context, _ *drivers.Snapshot, st *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	if len(st.Items) == 0 {
		return nil, nil
	}
	steps, err := localSteps(st.Items)
	if err != nil {
		return nil, err
	}
	m, err := d.Machine(ctx)
	if err != nil {
		return nil, err
	}
	note, err := d.hold(ctx, m, o.ID)
	if err != nil {
		return nil, err
	}
	o.Tell(note)
	token, err := d.apply(ctx, m, steps, st.Items, o)
	if token == nil {
		d.release()
	}
	return token, err
}

func (d *Driver) apply(ctx context.Context, m agent.Machine, steps []local.Step, items []drivers.Step, o drivers.ApplyOptions) (*drivers.Token, error) {
	undo, err := m.Before(ctx, steps)
	if errors.Is(err, agent.ErrStart) && d.unmark != nil && ctx.Err() == nil {
		// sshd may allow only one session at a time (sshd_config(5), MaxSessions).
		d.release()
		if undo, err = m.Before(ctx, steps); err == nil {
			o.Tell("cannot mark the host, so a run on another machine does not notice this one: it takes one SSH session at a time")
		}
	}
	if err != nil {
		return nil, d.wrap(err)
	}
	if err := undo.Check(d.Desired.Manages); err != nil {
		return nil, fmt.Errorf("nothing was written, as this tool could not undo it: %w", err)
	}
	for _, t := range o.Continues {
		var run Record
		if err := t.Read(d.Name, &run); err != nil {
			return nil, err
		}
		undo = undo.After(run.Undo)
	}
	token, err := drivers.NewToken(d.Name, Record{steps, undo, o.ID})
	if err != nil {
		return nil, err
	}
	if o.Token != nil {
		if err := o.Token(token); err != nil {
			return nil, err
		}
	}
	done, err := m.Apply(ctx, steps, func(i, n int, _ local.Step) {
		if o.Progress != nil {
			o.Progress(i, n, items[i])
		}
	})
	switch {
	case errors.Is(err, local.ErrNoCM):
		d.noCM = err.Error()
		if e, ok := errors.AsType[*agent.Error](err); ok {
			d.noCM = e.Text
		}
		return token, d.watch(ctx, m, steps)
	case err == nil:
		return token, d.watch(ctx, m, steps)
	case len(done.Steps) == 0 && (d.ownWord(err) || errors.Is(err, agent.ErrStart)):
		return nil, d.wrap(err)
	}
	return token, d.wrap(err)
}

// Confirm only removes the mark, because changes of a host are never pending. The boot unit
// restores the settings after a reboot.
func (d *Driver) Confirm(context.Context, *drivers.Token) error {
	d.release()
	return nil
}

// Inherit sets the IDs of runs that have ended, whose marks are ignored.
func (d *Driver) Inherit(runs []string) { d.ended = runs }

// hold marks the host as used by a run, until release or the end of the connection. If another
// run that may be in progress has marked it, the error is ErrBusy. note is a message for the
// user.
func (d *Driver) hold(ctx context.Context, m agent.Machine, run string) (note string, err error) {
	if d.unmark != nil {
		return "", nil
	}
	h, err := m.Hold(ctx, mark.New(run))
	switch {
	case err != nil:
		return "", fmt.Errorf("nothing was written: %w", d.wrap(err))
	case h.Other == nil:
		d.unmark = h.End
		return h.Note, nil
	case h.Other.Run == run, slices.Contains(d.ended, h.Other.Run):
		return fmt.Sprintf("the host still has the mark of %s, which has ended", h.Other), nil
	}
	return "", fmt.Errorf("%w: %s: wait until it ends, or, if it is gone, remove its mark on the host (rm /run/%s)", drivers.ErrBusy, h.Other, mark.Name)
}

// release removes the mark of this run from the host.
func (d *Driver) release() {
	if d.unmark != nil {
		d.unmark()
	}
	d.unmark = nil
}

// Revert writes the old values of the undo record.
func (d *Driver) Revert(ctx context.Context, t *drivers.Token) error {
	if t == nil {
		return nil
	}
	var rec Record
	if err := t.Read(d.Name, &rec); err != nil {
		return err
	}
	m, err := d.Machine(ctx)
	if err != nil {
		return err
	}
	defer d.release()
	_, err = d.hold(ctx, m, rec.Run)
	if errors.Is(err, drivers.ErrBusy) {
		return err
	}
	if err == nil {
		err = m.Revert(ctx, rec.Undo)
	}
	if err != nil && !d.ownWord(err) {
		// The connection may be lost with the link that it used, or it may refuse another agent.
		// The mark ends with the connection.
		one := errors.Is(err, agent.ErrStart)
		_ = d.Close()
		if m, err = d.Machine(ctx); err != nil {
			return err
		}
		if _, err = d.hold(ctx, m, rec.Run); err == nil {
			if one {
				d.release() // as in Apply
			}
			err = m.Revert(ctx, rec.Undo)
		}
	}
	if err == nil {
		return nil
	}
	return kindError{d.wrap(err), drivers.ErrPartial}
}

// Applied returns no mismatches, because the values read from a host are the active ones.
func (d *Driver) Applied(_ context.Context, want drivers.Desired) ([]drivers.Mismatch, error) {
	return nil, d.check(want)
}

// CheckSteps implements [drivers.Checker].
func (d *Driver) CheckSteps(items []drivers.Step, managed func(port string) bool) (qos.Impact, error) {
	steps, err := localSteps(items)
	if err != nil {
		return 0, err
	}
	least := qos.ImpactNone
	for i, s := range steps {
		if err := s.Check(managed); err != nil {
			return 0, fmt.Errorf("step %d: %w", i+1, err)
		}
		least = max(least, s.Least())
	}
	return least, nil
}

// CheckUndo implements [drivers.Checker].
func (d *Driver) CheckUndo(t *drivers.Token, managed func(port string) bool) (qos.Impact, error) {
	var rec Record
	if err := t.Read(d.Name, &rec); err != nil {
		return 0, err
	}
	return rec.Undo.Least(), rec.Undo.Check(managed)
}
