// Package drivers defines what the rest of the tool may ask of a device, and
// holds the registry of the systems that can answer.
//
// A driver turns what a device should hold into native steps and carries them
// out; it never decides what is desired. Code outside the drivers asks
// [Facts] and [Steps], never for the name of an operating system.
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

// The errors that a Driver returns, wrapped; test with errors.Is.
var (
	// ErrUnreachable: no answer from the device. Nothing was written, unless
	// the error is ErrPartial as well.
	ErrUnreachable = errors.New("unreachable")
	// ErrAuth: the device refuses the user. Nothing was written.
	ErrAuth = errors.New("not authorised")
	// ErrIdentity: the device's certificate or host key is not the one that the
	// intent trusts. Nothing was written.
	ErrIdentity = errors.New("the device's identity could not be verified")
	// ErrUnsupported: the device lacks what the driver needs.
	ErrUnsupported = errors.New("unsupported")
	// ErrTooLarge: an answer of the device has more bytes than one may have.
	ErrTooLarge = errors.New("the answer is too large")
	// ErrNoState: the device can show what is in force, but has nothing to show now.
	ErrNoState = errors.New("no state to read")
	// ErrStale: the device is not in the state that the steps were made for. Nothing
	// was written.
	ErrStale = errors.New("device changed since the plan was made")
	// ErrRejected: the device refused a step and holds what it held before it;
	// with ErrPartial as well, earlier steps stand.
	ErrRejected = errors.New("rejected by the device")
	// ErrPartial: the device holds neither the old nor the new state, or it is
	// not known which. Read it again before anything else.
	ErrPartial = errors.New("applied in part")
	// ErrUnsaved is an ErrPartial: the device runs what is desired, and its
	// startup configuration does not have it.
	ErrUnsaved error = &kind{"all is in force, and the switch would lose it in a restart", ErrPartial}
	// ErrNoSave: the transports of the device cannot save at all. Another try, or a revert,
	// would not help.
	ErrNoSave = errors.New("saving needs another transport")
	// ErrBusy is an ErrRejected: another run is at work on the device. Nothing was
	// written.
	ErrBusy error = &kind{"another run is at work on the device, and nothing was written", ErrRejected}
	// ErrNoRoom is an ErrNotReady: the device could not save its configuration.
	ErrNoRoom error = &kind{"the disk of the device is full", ErrNotReady}
	// ErrNotReady is an ErrRejected: the device would take what it is sent, and put nothing
	// of it in force.
	ErrNotReady error = &kind{"the device does not put in force what it is sent", ErrRejected}
)

// kind is an error that is also another one.
type kind struct {
	text string
	of   error
}

func (k *kind) Error() string { return k.text }

func (k *kind) Unwrap() error { return k.of }

// Driver is one device. Its methods are called one at a time. Every method
// that takes a context gives up when it ends; Apply and Revert then leave the
// device between two steps and, where one was carried out, say so with
// ErrPartial. Package drivertest holds what every Driver must do.
type Driver interface {
	// Probe asks what the device is.
	Probe(ctx context.Context) (Facts, error)
	// Read takes a snapshot of the configuration.
	Read(ctx context.Context) (*Snapshot, error)
	// Plan works out the steps from the snapshot to desired. It does no I/O.
	// Changes that this device cannot take are marked blocked and have no
	// step.
	Plan(Facts, *Snapshot, Desired, Policy) (*Steps, error)
	// Digest identifies the part of a snapshot that desired speaks of. A plan
	// is good for a device as long as it equals Steps.Base. It does no I/O.
	Digest(*Snapshot, Desired) string
	// Apply carries the steps out, in order, on a device that the snapshot
	// was just taken of. It returns a token to revert them with, which is
	// valid also where an error is returned; it is nil where the device was
	// not touched. An answer that failed, or never came, is no error where the
	// device did what it was asked to do; Apply waits and reads to find out, for as
	// long as the device may take, also when ctx has ended.
	Apply(context.Context, *Snapshot, *Steps, ApplyOptions) (*Token, error)
	// Confirm makes an apply last: it ends a pending timer and saves.
	Confirm(context.Context, *Token) error
	// Revert restores what the token remembers and saves it, once the device
	// has ended what it works on. It may be called again, and by another
	// process.
	Revert(context.Context, *Token) error
	// Applied compares what the device's daemons made of the configuration
	// with desired, and returns what differs. ErrUnsupported means that the
	// device shows no such state, ErrNoState that it has none at the moment.
	Applied(ctx context.Context, desired Desired) ([]Mismatch, error)
	// Close ends all sessions.
	Close() error
}

// Desired is what a device should hold: a [qos.Device] for a switch, a nic.Host
// for a host. A driver takes the type of its own devices, see [Want].
type Desired interface {
	// Manages reports whether a port is one of the intent.
	Manages(port string) bool
	// Raises reports whether a port that a run took down for a step and left down
	// is brought up again: the intent has the port, and says nothing of whether it
	// is up.
	Raises(port string) bool
	// Empty reports whether the intent manages nothing of the device.
	Empty() bool
}

// Want returns desired as the type that a driver works with.
func Want[T Desired](desired Desired) (T, error) {
	want, ok := desired.(T)
	if !ok {
		return want, fmt.Errorf("%w: this driver takes a %T, not a %T", ErrUnsupported, want, desired)
	}
	return want, nil
}

// Decoder is a Driver of a device whose configuration has the common model.
type Decoder interface {
	// Decode turns a snapshot into a running model. It does no I/O.
	Decode(*Snapshot) (*qos.Device, []Unknown)
	// Account is what becomes of each line of the configuration in a snapshot.
	Account(*Snapshot) []render.Line
}

// Model returns what decodes the snapshots of a driver of a switch.
func Model(d Driver) (Decoder, error) {
	model, ok := d.(Decoder)
	if !ok {
		return nil, fmt.Errorf("%w: the device does not have the model of a switch", ErrUnsupported)
	}
	return model, nil
}

// Decode turns a snapshot of a driver's device into a running model.
func Decode(d Driver, s *Snapshot) (*qos.Device, []Unknown, error) {
	model, err := Model(d)
	if err != nil {
		return nil, nil, err
	}
	running, unknown := model.Decode(s)
	return running, unknown, nil
}

// Keeper is a Driver of a device on which an earlier run may have put something
// in force that does not last: it is not confirmed, or not saved.
type Keeper interface {
	// Keep makes what an earlier run put in force and left unconfirmed or
	// unsaved last, and reports whether there was any. It is called where the
	// device holds what is desired. ErrUnsaved says that it could not be saved.
	Keep(ctx context.Context) (bool, error)
}

// Starter is a Driver of a device that keeps a configuration for its next start.
type Starter interface {
	// Startup reads that configuration. ErrUnsupported says that the device does not show
	// it, or that this tool does not save it.
	Startup(ctx context.Context) (*Snapshot, error)
	// Undone reports whether nothing of an apply is in a configuration. It does no I/O.
	Undone(*Snapshot, *Token) (bool, error)
}

// Readier is a Driver of a device that stores what it is sent, for its daemons to put in
// force.
type Readier interface {
	// Ready returns an error that wraps ErrNotReady if the daemons do not run, or leave
	// what they were sent. sure says that they are known to run. It changes nothing.
	Ready(ctx context.Context) (sure bool, err error)
}

// Settler is a Driver of a device that goes on with what it was sent when the
// sender is gone, and shows the state before that until it is through.
type Settler interface {
	// Settle waits until the device has done all that it was sent. It changes
	// nothing; an error says that the device may still be at it.
	Settle(ctx context.Context) error
}

// Resumer is a Driver of a device on which some steps take ports down and bring them up
// again.
type Resumer interface {
	// Resume tells what earlier runs left on the device. Plan, Apply and Revert
	// then bring up the ports that are left down, and take any other port that
	// is down as meant to be down.
	Resume(Leftover)
}

// Bounded is a Driver whose Revert takes ports down.
type Bounded interface {
	// Bound says what Revert may disturb at once, whatever the token says of that: a
	// token may come from a file.
	Bound(Policy)
}

// Leftover is what interrupted runs left on a device, as far as their records tell.
type Leftover struct {
	// Run is the newest of them; "" for none.
	Run string
	// Down are ports that a run took down and did not bring up again, each with the
	// name of that run.
	Down map[string]string
	// Record is called with the ports that are about to go down for a step, and
	// with those that are up again, so that a run that is cut off leaves a
	// record of them; an error stops the step. nil keeps none.
	Record func(down, up []string) error
}

// Narrator is a Driver whose Settle and Revert may take minutes.
type Narrator interface {
	// Narrate has say called with what either of them begins to do, such as "bring up
	// Ethernet0".
	Narrate(say func(what string))
}

// Heir is a Driver that finds what other runs left on the device.
type Heir interface {
	// Inherit tells the IDs of runs that have ended, however they did. Without
	// it what a run of a moment ago left may be that of one that is at work.
	Inherit(runs []string)
}

// Notifier is a Driver of a device that says by itself when its configuration changes.
type Notifier interface {
	// Notify keeps a subscription until ctx ends or the device breaks it, and
	// returns why, never nil. ready is called once, when it holds, and changed
	// for each change after that that this tool may know; both must not block. It
	// is a hint that a read is worth it: some changes are not told of. No other
	// method is called meanwhile. An error that wraps ErrUnsupported means that
	// the device takes no subscriptions.
	Notify(ctx context.Context, ready, changed func()) error
}

// Facts are what a device is and can do.
type Facts struct {
	OS      string `json:"os"`
	Version string `json:"version"` // as the device prints it
	Release string `json:"release"` // as the driver understands it
	Model   string `json:"model"`
	ASIC    string `json:"asic,omitempty"` // as the device's own rules name it; "" for unknown
	Unit    Unit   `json:"unit,omitzero"`
	Caps    Caps   `json:"caps"`
}

// Caps are capabilities as data.
type Caps struct {
	// Undo says how an apply is reverted, for people.
	Undo string `json:"undo"`
	// Writes names the ways in, "gnmi" and "ssh", the one that a plan prefers first.
	Writes []string `json:"writes"`
	// AppliedState: the device shows what its daemons made of the
	// configuration.
	AppliedState bool `json:"applied_state"`
}

// Snapshot is a device's configuration at one moment. Only the driver that took it
// looks inside.
type Snapshot struct {
	Native any
}

// Unknown is a piece of configuration that the model has no place for. It stays on the
// device as it is.
type Unknown struct {
	Where string `json:"where"`
	Why   string `json:"why"`
	// Text is the line or value as the device spells it; "" where it is no single one.
	Text string `json:"text,omitempty"`
	// Open says that it may change what the device does with the traffic of the intent,
	// so that what is judged without it is not certain.
	Open bool `json:"open,omitempty"`
}

// LeftAlone puts what a renderer's decoder could not place into the form of
// drivers; of returns all but the place of one.
func LeftAlone[U interface{ Where() string }](unknown []U, of func(U) Unknown) []Unknown {
	var out []Unknown
	for _, u := range unknown {
		one := of(u)
		one.Where = u.Where()
		out = append(out, one)
	}
	return out
}

// Mismatch is a value that is configured and not in force.
type Mismatch struct {
	Port  string
	Field qos.Attr
	// Part names the part of the field that is meant, where that is not all of it:
	// "maps.dscp_to_tc[26]".
	Part string
	Want string
	Have string
	// Fix is what is typed to fix it, modes and lines with " / " between
	// them; "" where the driver knows of nothing.
	Fix string
	// Unsure says that the switch does not show it, or that no public source
	// tells how to read what it shows: Want could not be confirmed, and need not
	// be wrong.
	Unsure bool
	// Slow says that devices are known to take minutes over it, or that no change of
	// this tool brings it about: shortly after one it is no reason to revert that.
	Slow bool
}

// What returns the name of the value that is not in force.
func (m Mismatch) What() string { return cmp.Or(m.Part, m.Field.String()) }

// Policy bounds what a plan may disturb at once.
type Policy struct {
	// PortGroup is how many ports may be down at the same time, at least 1.
	PortGroup int `json:"port_group"`
	// Uplinks are the ports towards other switches: they are never all down
	// at once where there is more than one.
	Uplinks []string `json:"uplinks,omitempty"`
}

// Steps is a plan for one device.
type Steps struct {
	Device string `json:"device"`
	// Base is the digest of the managed state that the steps start from.
	Base    string       `json:"base"`
	Changes []qos.Change `json:"changes"`
	Items   []Step       `json:"steps"`
	Notes   []string     `json:"notes,omitempty"`
	Policy  Policy       `json:"policy"`
	// Unknown is what the device holds in addition to what the model has a place for.
	Unknown []Unknown `json:"unknown,omitempty"`
	// Left says, a line each, what is not as desired and stays so: changes that are
	// Open, as far as they count.
	Left []string `json:"left,omitempty"`
	// Unfit says why the device is not as intended after the steps; "" where it is.
	Unfit string `json:"unfit,omitempty"`
	// Resets are what of the device waits for a reset.
	Resets []Reset `json:"resets,omitempty"`
	// Takes is how long the items take as a rule; 0 is not known.
	Takes time.Duration `json:"-"`
	// Running is what the device holds, which nobody may change; nil for a host.
	Running *qos.Device `json:"-"`
}

// Reset is a part of a device, such as a card, whose stored settings are in force only
// after a reset.
type Reset struct {
	Part  string   `json:"part"` // a PCI address: "0000:3b:00"
	Ports []string `json:"ports"`
	// Settings are those of the intent: "CNP_DSCP_P1 4 -> 48".
	Settings []string `json:"settings"`
	// Others come into force with them, and are not of the intent.
	Others []string `json:"others,omitempty"`
	How    string   `json:"how"` // which reset does it

	// What a [Resetter] adds.

	// Also are the ports of the part in addition to Ports, which go down with them.
	Also   []string   `json:"also,omitempty"`
	Does   string     `json:"does,omitempty"` // the command that resets it
	Impact qos.Impact `json:"impact,omitempty"`
	// Blocked says why this tool does not reset it; "" where it can.
	Blocked string `json:"blocked,omitempty"`
}

// Resetter is a Driver that resets parts of its device.
type Resetter interface {
	// Ways says how the parts that wait are reset. It changes nothing.
	Ways(ctx context.Context, waiting []Reset) ([]Reset, error)
	// Reset resets a part as Ways said, and waits until the device is back with the ports
	// and links that it had, and with what restores its settings at boot. An error that
	// wraps ErrPartial says that the device may have been reset.
	Reset(ctx context.Context, part Reset, o ResetOptions) error
}

// ResetOptions tune a reset.
type ResetOptions struct {
	ID     string        // of the run
	Within time.Duration // bounds the wait for the device
}

// Differences returns the changes that are known to be some: without those that are open.
func (s *Steps) Differences() []qos.Change {
	return slices.DeleteFunc(slices.Clone(s.Changes), func(c qos.Change) bool { return c.Open })
}

// Blocked returns the changes that cannot be made, and without which the rest cannot be
// made either.
func (s *Steps) Blocked() []qos.Change {
	return slices.DeleteFunc(s.Differences(), func(c qos.Change) bool { return c.Blocked == "" })
}

// Impact returns the largest impact of the changes that are not blocked, and of the items.
func (s *Steps) Impact() qos.Impact {
	i := ImpactOf(s.Items)
	for _, c := range s.Changes {
		if c.Blocked == "" && !c.Open {
			i = max(i, c.Impact)
		}
	}
	return i
}

// ImpactOf returns what steps disturb, whatever the values that they change mean: one
// that takes a port down, or brings it up, is at least a port flap on every system.
func ImpactOf(steps []Step) qos.Impact {
	i := qos.ImpactNone
	for _, s := range steps {
		i = max(i, s.disturbs())
	}
	return i
}

// disturbs is the impact of the step, with that of the ports that it moves.
func (s Step) disturbs() qos.Impact {
	if len(s.Down)+len(s.Up) > 0 {
		return max(s.Impact, qos.ImpactPortFlap)
	}
	return s.Impact
}

// MarshalJSON writes the impact that counts.
func (s Step) MarshalJSON() ([]byte, error) {
	type step Step
	s.Impact = s.disturbs()
	return json.Marshal(step(s))
}

// Step is one native operation.
type Step struct {
	Via string `json:"via"` // "gnmi", "ssh"
	// What describes the step for people: "take down Ethernet0, Ethernet8".
	What string `json:"what"`
	// Impact is what the step disturbs by what it does, as far as the driver knows.
	Impact qos.Impact `json:"impact"`
	// Down are the ports that the step takes down, Up those it brings back.
	Down []string `json:"down,omitempty"`
	Up   []string `json:"up,omitempty"`
	// Lines show a person what is sent: typed lines, or a database row or field each.
	Lines  []string        `json:"lines,omitempty"`
	Native json.RawMessage `json:"native"`
}

// ApplyOptions tune an apply.
type ApplyOptions struct {
	// Progress is called before each step; nil is silence.
	Progress func(i, n int, s Step)
	// Token is called with the undo record before the first write, so that it can be
	// kept where it survives this process; an error stops the apply. nil
	// keeps it nowhere.
	Token func(*Token) error
	// ID names the run in what is left on the device (checkpoints, marks).
	ID string
	// Note is called with what the user should know of the mark that the run makes on
	// the device; nil is silence.
	Note func(text string)
	// AcceptWarnings answers a device that asks before it goes on with yes. Note is called
	// with what it asks.
	AcceptWarnings bool
	// Hold is how long Confirm may be away: a timer of the device is set longer.
	Hold time.Duration
	// Continues are the undo records of runs that were cut off in the middle of the
	// device, the newest first. The undo record of the apply then leads to the state
	// before the oldest of them.
	Continues []*Token
}

// Token remembers how to revert an apply. It is written to the journal, so that another
// process can revert.
type Token struct {
	Device string          `json:"device"`
	Native json.RawMessage `json:"native"`
}

// Target says how to reach a device.
type Target struct {
	Name string
	OS   string
	GNMI gnmi.Config
	SSH  *ssh.Config // nil where SSH is not configured
	// Release and Model override what the device says, where the intent
	// states them; "" takes the device's word.
	Release, Model string
	// Images is a folder for what all devices of one image have alike, "" for none.
	Images string
	// Write is the way in that a plan takes, where a system has several; "" is WriteAuto.
	Write intent.Write
	// Reads says that nothing is planned or written: what only a plan needs is left out.
	Reads bool
	// Whole says that a saved configuration is all that a switch starts with: where it says
	// nothing, the switch does what it does by default. Else it may be a part of one.
	Whole bool
}
