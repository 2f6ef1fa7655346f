// Package host is the driver of hosts: of the NICs of the machine that the
// program runs on, or of one that is reached by nic/remote.
//
// A host takes its settings one by one and is asked what they disturb, so that a
// read asks it for the steps as well. A finding of package nic that no run can fix
// (a pending reset, a value that cannot be read, the boot unit) is a change that is
// Open. Do not put here how a setting is read or written, which is nic/local's.
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

// OS is what the facts of a host say.
const OS = "linux"

// Conn is a connection to a host.
type Conn interface {
	agent.Machine
	Close() error
}

// Config says which host, and what is wanted of it.
type Config struct {
	Name string
	// Desired is what the host should hold. No other port is read, and Plan takes
	// no other host.
	Desired *nic.Host
	// Connect connects to the host; nil is the machine that the program runs on.
	Connect func(context.Context) (Conn, error)
	// Options bound the steps.
	Options local.Options
	// Accepted reports whether the intent accepts a finding about a port; nil accepts
	// none.
	Accepted func(check, port string) bool
}

// Driver is one host. It connects with the first call that needs it.
type Driver struct {
	Config
	conn Conn
	// noCM says why the defaults of RDMA-CM could not be set; "" for they could.
	noCM string
	// gone are the settings that this run wrote and that did not stay, lost the steps
	// that set them.
	gone []nic.Change
	lost []local.Step
	// seen is the host as it was last read.
	seen *nic.Host
	// unmark takes the mark of this run from the host; nil where there is none.
	unmark func()
	ended  []string
}

var (
	_ drivers.Driver  = (*Driver)(nil)
	_ drivers.Checker = (*Driver)(nil)
	_ drivers.Heir    = (*Driver)(nil)
)

// New makes the driver of a host.
func New(c Config) *Driver { return &Driver{Config: c} }

// State is what a snapshot of a host holds.
type State struct {
	Running *nic.Host `json:"-"`
	// Changes are those of [nic.Diff]; Steps make what of them can be made.
	Changes []nic.Change `json:"changes"`
	Steps   []local.Step `json:"steps"`
}

// StateOf returns what a snapshot of a host holds.
func StateOf(s *drivers.Snapshot) State {
	st, _ := s.Native.(State)
	return st
}

// Record is the undo record of a host: what was to be set, each with its old and
// new value, and what is written to undo it.
type Record struct {
	Steps []local.Step `json:"steps"`
	Undo  local.Undo   `json:"undo"`
	Run   string       `json:"run,omitempty"`
}

type here struct {
	agent.Machine
	io.Closer
}

// Machine connects to the host, where no call has done so yet.
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

// Close ends the connection.
func (d *Driver) Close() error {
	d.release()
	conn := d.conn
	if d.conn = nil; conn == nil {
		return nil
	}
	return conn.Close()
}

// kindError is an error that stands for one of package drivers as well.
type kindError struct {
	error
	kind error
}

func (e kindError) Unwrap() []error { return []error{e.error, e.kind} }

// wrap gives an error the sentinel of package drivers that it stands for.
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

// ownWord reports whether an error comes from the host, not from the connection to it.
func (d *Driver) ownWord(err error) bool {
	return d.Connect == nil || errors.As(err, new(*agent.Error))
}

// Probe connects. Everything else about a host comes with a read.
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

// Running reads the settings and the boot unit.
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

// Read takes a snapshot, and asks the host for the steps from there.
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
		if d.loses(c.Port, c.Field) {
			c.Blocked = cmp.Or(c.Blocked, "it did not stay as this run set it")
		}
	}
	if slices.ContainsFunc(s.Changes, nic.Change.Writable) {
		if s.Steps, err = d.conn.Plan(ctx, running, d.Desired, d.Options); err != nil {
			return nil, d.wrap(err)
		}
		s.Steps = slices.DeleteFunc(s.Steps, func(s local.Step) bool {
			return d.noCM != "" && nic.OfCM(s.Field) || d.loses(s.Port, s.Field)
		})
	}
	return &drivers.Snapshot{Native: s}, nil
}

// Identity returns the hostname and the serial number that a host shows; empty for nil.
func Identity(running *nic.Host) drivers.Identity {
	if running == nil {
		return drivers.Identity{}
	}
	hostname, _, _ := strings.Cut(running.Hostname, ".")
	return drivers.Identity{Hostname: hostname, Unit: drivers.UnitOf(running.Serial, "")}
}

// Hostname implements [drivers.Named].
func (d *Driver) Hostname(s *drivers.Snapshot) string { return Identity(StateOf(s).Running).Hostname }

// Unit returns the serial number of the machine that a snapshot was taken of.
func (d *Driver) Unit(s *drivers.Snapshot) drivers.Unit { return Identity(StateOf(s).Running).Unit }

// Digest identifies what of a snapshot a run would fix.
func (d *Driver) Digest(s *drivers.Snapshot, want drivers.Desired) string {
	if d.check(want) != nil {
		return ""
	}
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, c := range StateOf(s).Changes {
		if c.Writable() {
			_ = enc.Encode(c) // texts and numbers, into a hash: neither fails
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// check returns an error unless want is what the driver was made for.
func (d *Driver) check(want drivers.Desired) error {
	desired, err := drivers.Want[*nic.Host](want)
	if err == nil && desired != d.Desired {
		err = fmt.Errorf("%w: the driver was made for another desired state", drivers.ErrUnsupported)
	}
	return err
}

// Plan puts the steps that were worked out with the snapshot into the common form.
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
	// What did not stay is said once, whatever it holds at the moment.
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

// common is a change in the common form. It disturbs what its step disturbs, and
// cannot be made where that may not be.
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

// note says where the host keeps a value, why it differs where that is no drift, and
// what puts it in force.
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

// localSteps reads the steps of a plan, also of one that was saved.
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

// Apply carries the steps out, each with its old value read before and its new one
// after it. Where the module rdma_cm cannot be had all else is carried out, and the
// next plan says so.
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
		// sshd may allow one session at a time (sshd_config(5), MaxSessions).
		d.release()
		if undo, err = m.Before(ctx, steps); err == nil {
			o.Tell("no mark on the host, so that a run of another machine does not see this one: it takes one SSH session at a time")
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

// Confirm has nothing to do: a host keeps no change pending. The boot unit
// restores the settings after a reboot.
func (d *Driver) Confirm(context.Context, *drivers.Token) error {
	d.release()
	return nil
}

// Inherit says which runs have ended: a mark of theirs holds nobody up.
func (d *Driver) Inherit(runs []string) { d.ended = runs }

// hold marks the host for a run, until release or the end of the connection. A mark of
// another run that may be at work is ErrBusy. The note is for the user.
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

// release takes the mark of this run from the host.
func (d *Driver) release() {
	if d.unmark != nil {
		d.unmark()
	}
	d.unmark = nil
}

// Revert writes back what the undo record holds.
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
		// The connection may have gone with the link that it ran over, and no
		// further agent starts on it; the mark has gone with it.
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

// Applied has nothing to compare: what is read of a host is what is in force.
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
