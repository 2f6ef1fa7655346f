// Package drivers defines what the rest of the tool may ask of a device, and the registry of
// supported systems.
//
// A driver translates the desired state of a device to native steps and executes them; it never
// decides what is desired. Code outside the drivers depends on [Facts] and [Steps], never on the
// name of an operating system.
package drivers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
)

// Errors that a Driver returns, wrapped; test with errors.Is.
var (
	// ErrUnreachable means that the device does not answer. Nothing was written, unless the error
	// is also ErrPartial.
	ErrUnreachable = errors.New("unreachable")
	// ErrAuth means that the device rejects the user. Nothing was written.
	ErrAuth = errors.New("not authorised")
	// ErrIdentity means that the device's certificate or host key is not the one that the intent
	// trusts. Nothing was written.
	ErrIdentity = errors.New("the device's identity could not be verified")
	// ErrUnsupported means that the device lacks something that the driver needs.
	ErrUnsupported = errors.New("unsupported")
	// ErrTooLarge means that a response of the device exceeds the size limit.
	ErrTooLarge = errors.New("the answer is too large")
	// ErrNoState means that the device can show applied state, but has none to show now.
	ErrNoState = errors.New("no state to read")
	// ErrStale means that the device is not in the state that the steps start from. Nothing was
	// written.
	ErrStale = errors.New("device changed since the plan was made")
	// ErrRejected means that the device refused a step and is unchanged by it; if the error is
	// also ErrPartial, earlier steps remain applied.
	ErrRejected = errors.New("rejected by the device")
	// ErrPartial means that the device is neither in the old nor in the new state, or that its
	// state is unknown. Read the device again before anything else.
	ErrPartial = errors.New("applied in part")
	// ErrUnsaved is an ErrPartial: the desired configuration is running but missing in the
	// startup configuration.
	ErrUnsaved error = &kind{"the change is active but not saved: a restart would lose it", ErrPartial}
	// ErrGone means that neither a change nor what was there before it is running or saved, so
	// that undoing the change would not lead back to the state before it.
	ErrGone = errors.New("nothing was written: neither the change nor what was there before it is running or saved")
	// ErrNoSave means that the transports of the device cannot save the configuration. Neither a
	// retry nor a revert would help.
	ErrNoSave = errors.New("saving needs another transport")
	// ErrBusy is an ErrRejected: another run is changing the device. Nothing was written.
	ErrBusy error = &kind{"another run is changing the device; nothing was written", ErrRejected}
	// ErrNoRoom is an ErrNotReady: the device could not save its configuration.
	ErrNoRoom error = &kind{"the disk of the device is full", ErrNotReady}
	// ErrNotReady is an ErrRejected: the device would accept requests but not apply them.
	ErrNotReady error = &kind{"the device does not apply what it is sent", ErrRejected}
)

// kind is an error that also matches another error.
type kind struct {
	text string
	of   error
}

func (k *kind) Error() string { return k.text }

func (k *kind) Unwrap() error { return k.of }

// Driver controls one device. Its methods are called one at a time. Every method with a context
// stops when the context ends; Apply and Revert then stop between two steps and, if a step was
// executed, return ErrPartial. Package drivertest tests the requirements on every Driver.
type Driver interface {
	// Probe identifies the device.
	Probe(ctx context.Context) (Facts, error)
	// Read takes a snapshot of the configuration.
	Read(ctx context.Context) (*Snapshot, error)
	// Plan computes the steps from the snapshot to desired. It does no I/O. Changes that the
	// device does not support are marked blocked and get no step.
	Plan(Facts, *Snapshot, Desired, Policy) (*Steps, error)
	// Digest identifies the part of a snapshot that desired manages. A plan applies to a device
	// as long as the digest equals Steps.Base. It does no I/O.
	Digest(*Snapshot, Desired) string
	// Apply executes the steps in order; the snapshot must have just been read from the device.
	// It returns a token to revert them, also in case of an error; the token is nil if the device
	// was not changed. A failed or missing response is not an error if the device did execute the
	// request: Apply reads the device to find out, waiting as long as the device may take, even
	// after ctx has ended.
	Apply(context.Context, *Snapshot, *Steps, ApplyOptions) (*Token, error)
	// Confirm makes an apply permanent: it stops a pending timer and saves.
	Confirm(context.Context, *Token) error
	// Revert restores and saves the state that the token describes, after the device has finished
	// pending work. It may be called repeatedly, and by another process.
	Revert(context.Context, *Token) error
	// Applied compares the state that the device's daemons have applied with desired, and returns
	// the differences. ErrUnsupported means that the device does not show this state, ErrNoState
	// that it has none at the moment.
	Applied(ctx context.Context, desired Desired) ([]Mismatch, error)
	// Close closes all sessions.
	Close() error
}

// Desired is the desired state of a device: a [qos.Device] for a switch, a nic.Host for a host. A
// driver accepts the type for its own devices, see [Want].
type Desired interface {
	// Manages reports whether the intent manages a port.
	Manages(port string) bool
	// Raises reports whether to bring up a port that an interrupted run shut down for a step: the
	// intent lists the port and does not state whether it is up.
	Raises(port string) bool
	// Empty reports whether the intent manages nothing on the device.
	Empty() bool
}

// Want converts desired to the type that a driver accepts.
func Want[T Desired](desired Desired) (T, error) {
	want, ok := desired.(T)
	if !ok {
		return want, fmt.Errorf("%w: this driver takes a %T, not a %T", ErrUnsupported, want, desired)
	}
	return want, nil
}

// Decoder is a Driver of a device whose configuration can be decoded to a [qos.Device].
type Decoder interface {
	// Decode converts a snapshot to a running model. It does no I/O.
	Decode(*Snapshot) (*qos.Device, []Unknown)
	// Account says for each line of the configuration in a snapshot how the tool treats it.
	Account(*Snapshot) []render.Line
}

// Model returns the Decoder of a switch driver.
func Model(d Driver) (Decoder, error) {
	model, ok := d.(Decoder)
	if !ok {
		return nil, fmt.Errorf("%w: the device does not have the model of a switch", ErrUnsupported)
	}
	return model, nil
}

// Decode converts a snapshot of a driver's device to a running model.
func Decode(d Driver, s *Snapshot) (*qos.Device, []Unknown, error) {
	model, err := Model(d)
	if err != nil {
		return nil, nil, err
	}
	running, unknown := model.Decode(s)
	return running, unknown, nil
}

// Keeper is a Driver of a device on which an earlier run may have applied changes that do not
// last, because they are not confirmed or not saved.
type Keeper interface {
	// Keep confirms and saves the changes that an earlier run left unconfirmed or unsaved, and
	// reports whether there were any. It is called when the device is in the desired state.
	// ErrUnsaved means that they could not be saved.
	Keep(ctx context.Context) (bool, error)
}

// Starter is a Driver of a device with a startup configuration.
type Starter interface {
	// Startup reads the startup configuration. ErrUnsupported means that the device does not show
	// it, or that this tool does not save it.
	Startup(ctx context.Context) (*Snapshot, error)
	// Undone reports whether a configuration contains nothing of an apply. It does no I/O.
	Undone(*Snapshot, *Token) (bool, error)
}

// Readier is a Driver of a device that stores requests, which its daemons apply later.
type Readier interface {
	// Ready returns an error that wraps ErrNotReady if the daemons are not running or leave
	// requests unprocessed. sure reports that they are known to run. It changes nothing.
	Ready(ctx context.Context) (sure bool, err error)
}

// Settler is a Driver of a device that continues processing requests after the client is gone,
// and shows the old state until it has finished.
type Settler interface {
	// Settle waits until the device has processed all requests. It changes nothing; an error
	// means that the device may still be busy.
	Settle(ctx context.Context) error
}

// Resumer is a Driver of a device on which some steps shut ports down and bring them up again.
type Resumer interface {
	// Resume passes the leftovers of earlier runs to the driver. Plan, Apply and Revert then
	// bring up the ports that these runs left down, and treat any other port that is down as
	// intentionally down.
	Resume(Leftover)
}

// Bounded is a Driver whose Revert shuts ports down.
type Bounded interface {
	// Bound sets the policy that Revert obeys, regardless of the token, which may come from a
	// file.
	Bound(Policy)
}

// Leftover describes what interrupted runs left on a device, according to their records.
type Leftover struct {
	// Run is the ID of the newest of these runs; "" if there are none.
	Run string
	// Down maps each port that a run shut down and did not bring up again to the ID of that run.
	Down map[string]string
	// Record is called with the ports that a step is about to shut down, and with those that are
	// up again, so that an interrupted run leaves a record of them. An error stops the step; a
	// nil Record records nothing.
	Record func(down, up []string) error
}

// Narrator is a Driver whose Settle and Revert may take minutes.
type Narrator interface {
	// Narrate sets a function that is called with each action that Settle or Revert starts, such
	// as "bring up Ethernet0".
	Narrate(say func(what string))
}

// Heir is a Driver that recognizes leftovers of other runs on the device.
type Heir interface {
	// Inherit passes the IDs of runs that have ended, successfully or not. Without it, recent
	// leftovers are assumed to belong to a run that is still in progress.
	Inherit(runs []string)
}

// Notifier is a Driver of a device that reports changes of its configuration.
type Notifier interface {
	// Notify keeps a subscription until ctx ends or the device drops it, and returns the reason,
	// never nil. It calls ready once, when the subscription is active, and changed for every
	// later change that the device reports; both must not block. A call of changed only suggests
	// reading the device: some changes are not reported. No other method is called meanwhile. An
	// error that wraps ErrUnsupported means that the device does not support subscriptions.
	Notify(ctx context.Context, ready, changed func()) error
}

// Facts identify a device and its capabilities.
type Facts struct {
	OS      string `json:"os"`
	Version string `json:"version"` // as the device prints it
	Release string `json:"release"` // normalized by the driver
	Model   string `json:"model"`
	ASIC    string `json:"asic,omitempty"` // named as in the device's own rules; "" if unknown
	Unit    Unit   `json:"unit,omitzero"`
	Caps    Caps   `json:"caps"`
}

// Caps lists the capabilities of a device.
type Caps struct {
	// Undo describes for users how an apply is reverted.
	Undo string `json:"undo"`
	// Writes lists the transports for writes, such as "gnmi" and "ssh", the preferred one first.
	Writes []string `json:"writes"`
	// AppliedState is set if the device shows the state that its daemons have applied.
	AppliedState bool `json:"applied_state"`
}

// Snapshot is a device's configuration at one moment. Only the driver that took it interprets
// Native.
type Snapshot struct {
	Native any
}

// Unknown is a piece of configuration that the model cannot represent. It stays unchanged on the
// device.
type Unknown struct {
	Where string `json:"where"`
	Why   string `json:"why"`
	// Text is the line or value in native spelling; "" if it is not a single one.
	Text string `json:"text,omitempty"`
	// Open is set if the configuration may affect the intent's traffic, so that checks that
	// ignore it are inconclusive.
	Open bool `json:"open,omitempty"`
}

// LeftAlone converts unknown items of a renderer's decoder to type Unknown; of returns all fields
// except Where.
func LeftAlone[U interface{ Where() string }](unknown []U, of func(U) Unknown) []Unknown {
	var out []Unknown
	for _, u := range unknown {
		one := of(u)
		one.Where = u.Where()
		out = append(out, one)
	}
	return out
}

// Mismatch is a value that is configured but not applied.
type Mismatch struct {
	Port  string
	Field qos.Attr
	// Part names the affected part of the field: "maps.dscp_to_tc[26]"; "" for the whole field.
	Part string
	Want string
	Have string
	// Fix is the command that fixes it, with " / " between modes and lines; "" if the driver
	// knows none.
	Fix string
	// Unsure is set if the switch does not show the value, or if no public documentation explains
	// its output: Want could not be confirmed, but may be applied.
	Unsure bool
	// Slow is set if devices are known to take minutes to apply the value, or if no change of
	// this tool affects it: shortly after a change it is no reason to revert that change.
	Slow bool
	// Needed is set if Want is not a configured value, but what the configuration needs in force.
	Needed bool
}

// What returns the name of the value that is not applied.
func (m Mismatch) What() string { return cmp.Or(m.Part, m.Field.String()) }

// Policy limits how disruptive a plan may be at any moment.
type Policy struct {
	// PortGroup is the maximum number of ports that may be down at the same time, at least 1.
	PortGroup int `json:"port_group"`
	// Uplinks are the ports that face other switches. If there are several, they are never all
	// down at once.
	Uplinks []string `json:"uplinks,omitempty"`
}

// Steps is a plan for one device.
type Steps struct {
	Device string `json:"device"`
	// Base is the digest of the managed state from which the steps start.
	Base    string       `json:"base"`
	Changes []qos.Change `json:"changes"`
	Items   []Step       `json:"steps"`
	Notes   []string     `json:"notes,omitempty"`
	Policy  Policy       `json:"policy"`
	// Unknown lists configuration that the model cannot represent.
	Unknown []Unknown `json:"unknown,omitempty"`
	// Left says, one per line, which settings differ from desired and stay so: the Open changes
	// that matter.
	Left []string `json:"left,omitempty"`
	// Unfit says why the device does not match the intent after the steps; "" if it does.
	Unfit string `json:"unfit,omitempty"`
	// Resets are the parts of the device that are waiting for a reset.
	Resets []Reset `json:"resets,omitempty"`
	// Takes is the usual duration of the items; 0 if unknown.
	Takes time.Duration `json:"-"`
	// Running is the running state of the device, which must not be modified; nil for a host.
	Running *qos.Device `json:"-"`
}

// Reset is a part of a device, such as a card, whose stored settings take effect only after a
// reset.
type Reset struct {
	Part  string   `json:"part"` // a PCI address: "0000:3b:00"
	Ports []string `json:"ports"`
	// Settings lists the waiting settings that the intent states: "CNP_DSCP_P1 4 -> 48".
	Settings []string `json:"settings"`
	// Others lists further settings that take effect with the reset but are not part of the
	// intent.
	Others []string `json:"others,omitempty"`
	How    string   `json:"how"` // the kind of reset needed

	// The fields below are set by a [Resetter].

	// Also lists the part's ports that are not in Ports but also go down.
	Also   []string   `json:"also,omitempty"`
	Does   string     `json:"does,omitempty"` // the command that performs the reset
	Impact qos.Impact `json:"impact,omitempty"`
	// Blocked says why this tool cannot reset the part; "" if it can.
	Blocked string `json:"blocked,omitempty"`
}

// Resetter is a Driver that can reset parts of its device.
type Resetter interface {
	// Ways fills in how each waiting part is reset. It changes nothing.
	Ways(ctx context.Context, waiting []Reset) ([]Reset, error)
	// Reset resets a part as Ways described, and waits until the device is back with the same
	// ports and links and with the mechanism that restores its settings at boot. An error that
	// wraps ErrPartial means that the device may have been reset.
	Reset(ctx context.Context, part Reset, o ResetOptions) error
}

// ResetOptions configures a reset.
type ResetOptions struct {
	ID     string        // run ID
	Within time.Duration // maximum wait for the device
}

// Differences returns the changes that are certain, without those that are Open.
func (s *Steps) Differences() []qos.Change {
	return slices.DeleteFunc(slices.Clone(s.Changes), func(c qos.Change) bool { return c.Open })
}

// Blocked returns the changes that cannot be made. Because of them, the other changes cannot be
// made either.
func (s *Steps) Blocked() []qos.Change {
	return slices.DeleteFunc(s.Differences(), func(c qos.Change) bool { return c.Blocked == "" })
}

// Impact returns the largest impact of the items and of the changes that are not blocked.
func (s *Steps) Impact() qos.Impact {
	i := ImpactOf(s.Items)
	for _, c := range s.Changes {
		if c.Blocked == "" && !c.Open {
			i = max(i, c.Impact)
		}
	}
	return i
}

// ImpactOf returns the impact of steps, independent of the values that they change: a step that
// shuts a port down or brings it up is at least a port flap on every system.
func ImpactOf(steps []Step) qos.Impact {
	i := qos.ImpactNone
	for _, s := range steps {
		i = max(i, s.disturbs())
	}
	return i
}

// disturbs returns the impact of the step, which is at least a port flap if it moves ports.
func (s Step) disturbs() qos.Impact {
	if len(s.Down)+len(s.Up) > 0 {
		return max(s.Impact, qos.ImpactPortFlap)
	}
	return s.Impact
}

// MarshalJSON encodes the step with the impact from disturbs.
func (s Step) MarshalJSON() ([]byte, error) {
	type step Step
	s.Impact = s.disturbs()
	return json.Marshal(step(s))
}

// Step is one native operation.
type Step struct {
	Via string `json:"via"` // "gnmi", "ssh"
	// What describes the step for users: "take down Ethernet0, Ethernet8".
	What string `json:"what"`
	// Impact is the impact of the operation itself, as far as the driver knows it.
	Impact qos.Impact `json:"impact"`
	// Down are the ports that the step shuts down, Up those it brings up.
	Down []string `json:"down,omitempty"`
	Up   []string `json:"up,omitempty"`
	// Lines shows users what is sent: typed lines, or one line per database row or field.
	Lines  []string        `json:"lines,omitempty"`
	Native json.RawMessage `json:"native"`
}

// ApplyOptions configures an apply.
type ApplyOptions struct {
	// Progress is called before each step; may be nil.
	Progress func(i, n int, s Step)
	// Token is called with the undo record before the first write, so that the caller can persist
	// it; an error stops the apply. It may be nil.
	Token func(*Token) error
	// ID names the run in objects left on the device (checkpoints, marks).
	ID string
	// Note is called with information for the user about the mark that the run leaves on the
	// device; may be nil.
	Note func(text string)
	// AcceptWarnings answers yes if the device asks for confirmation. Note is called with the
	// device's question.
	AcceptWarnings bool
	// Hold is the longest time until Confirm is called: a timer on the device is set longer than
	// this.
	Hold time.Duration
	// Continues are the undo records of runs that were interrupted on this device, newest first.
	// The undo record of the apply then leads back to the state before the oldest of them.
	Continues []*Token
}

// Token is the undo record of an apply. It is written to the journal, so that another process can
// revert.
type Token struct {
	Device string          `json:"device"`
	Native json.RawMessage `json:"native"`
}

// Target says how to reach a device.
type Target struct {
	Name string
	OS   string
	GNMI gnmi.Config
	SSH  *ssh.Config // nil if SSH is not configured
	// Release and Model override what the device reports if the intent states them; "" uses the
	// device's report.
	Release, Model string
	// Images is a folder that caches data shared by all devices with the same image; "" for none.
	Images string
	// Write is the transport that a plan uses if a system has several; "" is WriteAuto.
	Write intent.Write
	// Reads is set if nothing is planned or written, so that data needed only for a plan is not
	// read.
	Reads bool
	// Whole is set if a saved configuration is the switch's complete startup configuration: the
	// switch uses its defaults for everything that is missing. Otherwise it may be only a part.
	Whole bool
}
