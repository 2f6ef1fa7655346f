// Package drivertest is the suite that every driver passes, whatever it
// drives: what Apply, Revert and the readers promise in package drivers,
// tried against a device that misbehaves on demand.
//
// A driver's test describes its simulated device in a [Fixture] and calls
// [Run]. Do not put anything of one operating system here: what a device
// cannot be made to do is a nil function, and the cases that need it are
// skipped by name.
package drivertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Fixture makes devices.
type Fixture struct {
	// New makes a running device that is not as desired, and stops it when t
	// ends.
	New func(t *testing.T, o Options) *Device
	// Only names the cases to run; nil is all. A driver passes all of them on
	// some device, and may repeat a few on many.
	Only []string
	// Not are the cases that do not apply to the device at all, each with the
	// reason.
	Not map[string]string
}

// Options select a device.
type Options struct {
	// Slow is a device that takes longer to write than its driver waits for
	// an answer.
	Slow bool
	// Listen and Dial are the network of the test.
	Listen sim.ListenFunc
	Dial   netx.Dialer
}

// Networked returns the options with a network in memory, unless they have one.
func (o Options) Networked() Options {
	if o.Dial == nil {
		network := memnet.New(1)
		o.Listen, o.Dial = network.Listen, network.Client(nil).Dial
	}
	return o
}

// Device is one simulated device under test. Funcs that are nil are things
// that it cannot do.
type Device struct {
	// Desired needs several steps and takes ports down.
	Desired drivers.Desired
	Policy  drivers.Policy
	// Open makes a driver. It is closed when the test ends.
	Open func() drivers.Driver
	// OpenWrongPassword makes one whose password the device refuses.
	OpenWrongPassword func() drivers.Driver
	// State is everything that the device holds, in a canonical form.
	State func() []byte
	// Startup is what the device will hold after a restart, likewise.
	Startup func() []byte
	// Requests counts the requests to write that reached the device.
	Requests func() int
	// Flaps counts, by port, how often it went down and up again.
	Flaps func() map[string]int
	// BeforeWrite has fn called before each request changes anything.
	BeforeWrite func(fn func())
	// Down lists the ports that are down.
	Down func() []string

	// Marked reports whether the device shows that a run is at work, or was.
	Marked  func() bool
	Restart func() error
	// AddForeign puts objects of other owners on the device, of kinds that the
	// driver writes as well; HasForeign says whether all are there unchanged.
	AddForeign func()
	HasForeign func() bool
	// AddUnknown puts something there that the model has no place for.
	AddUnknown func()
	// ChangeManaged and ChangeForeign are another writer at work.
	ChangeManaged, ChangeForeign func()

	// Count sets what a port counts, and says whether the device counts that;
	// ResetCounters sets all to 0, HoldCounters has the device show what it
	// showed.
	Count         func(port string, index int, m drivers.Metric, n uint64) bool
	ResetCounters func()
	HoldCounters  func(bool)

	Faults Faults
}

// Faults make a device misbehave. Those of a write concern the next one.
type Faults struct {
	Reject         func() // refused, nothing done
	DropBefore     func() // connection cut, nothing done
	DropAfter      func() // done, then the connection cut
	FailAfterApply func() // done, answered as failed
	FailHalfWay    func() // part of it done, answered as failed
	RestartInside  func() // the device restarts in the middle
	// GiveUp answers as timed out, and does the work a moment later.
	GiveUp func()

	Delay            func(time.Duration) // before every answer
	ReadOnly         func(bool)
	TruncateAnswers  func(bool)
	WrongCertificate func(bool)
	Unreachable      func(bool)
	NoModel          func(bool)
	Clear            func()
}

// patience bounds a case; it is virtual time, in which slow devices work for minutes.
const patience = time.Hour

// Run runs the cases, each on a device of its own, in the virtual time of testing/synctest
// and over a network in memory.
func Run(t *testing.T, f Fixture) {
	known := map[string]bool{}
	for _, c := range slices.Concat(cases, counterCases) {
		known[c.name] = true
		if f.Only != nil && !slices.Contains(f.Only, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if why, ok := f.Not[c.name]; ok {
				t.Skip(why)
			}
			synctest.Test(t, func(t *testing.T) { c.try(t, f) })
		})
	}
	for _, name := range append(slices.Collect(maps.Keys(f.Not)), f.Only...) {
		if !known[name] {
			t.Errorf("no case is called %q", name)
		}
	}
}

type testCase struct {
	name  string
	slow  bool
	needs func(*Device) bool
	run   func(*bench)
}

// try runs a case on a device.
func (c testCase) try(t *testing.T, f Fixture) {
	t.Helper()
	w := &wire{}
	network := memnet.New(1)
	d := f.New(t, Options{Slow: c.slow, Listen: network.Listen, Dial: network.Client(w.fate).Dial})
	if c.needs != nil && !c.needs(d) {
		t.Skipf("%s: this device cannot be made to do that", c.name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c.run(&bench{T: t, Device: d, ctx: ctx, wire: w})
}

// bench is one case at work.
type bench struct {
	*testing.T
	*Device
	ctx  context.Context
	wire *wire
}

func (b *bench) open() drivers.Driver {
	d := b.Open()
	b.Cleanup(func() {
		if err := d.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
	})
	return d
}

// planned is a driver with the plan it just made.
type planned struct {
	drivers.Driver
	snap  *drivers.Snapshot
	steps *drivers.Steps
}

func (p planned) decode(b *bench, s *drivers.Snapshot) (*qos.Device, []drivers.Unknown) {
	b.Helper()
	dev, unknown, err := drivers.Decode(p.Driver, s)
	if err != nil {
		b.Fatal(err)
	}
	return dev, unknown
}

func (b *bench) plan(d drivers.Driver) planned {
	b.Helper()
	facts, err := d.Probe(b.ctx)
	if err != nil {
		b.Fatalf("probe: %v", err)
	}
	snap, err := d.Read(b.ctx)
	if err != nil {
		b.Fatalf("read: %v", err)
	}
	steps, err := d.Plan(facts, snap, b.Desired, b.Policy)
	if err != nil {
		b.Fatalf("plan: %v", err)
	}
	return planned{d, snap, steps}
}

func (b *bench) fresh() planned {
	b.Helper()
	p := b.plan(b.open())
	if len(p.steps.Items) == 0 {
		b.Fatalf("the device has nothing to change: %v", p.steps.Changes)
	}
	return p
}

func (b *bench) apply(p planned) (*drivers.Token, error) {
	return p.Apply(b.ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test"})
}

func (b *bench) mustApply(p planned) *drivers.Token {
	b.Helper()
	tok, err := b.apply(p)
	if err != nil {
		b.Fatalf("apply: %v", err)
	}
	return tok
}

// settled fails the test unless a new plan has nothing to do: what is left is
// blocked, and was blocked before.
func (b *bench) settled(d drivers.Driver, before *drivers.Steps) {
	b.Helper()
	p := b.plan(d)
	was := map[string]bool{}
	for _, c := range before.Blocked() {
		was[c.Path()] = true
	}
	for _, c := range p.steps.Changes {
		if c.Blocked == "" || !was[c.Path()] {
			b.Errorf("still to change: %s: %s -> %s %s", c.Path(), c.Old, c.New, c.Blocked)
		}
	}
	for _, s := range p.steps.Items {
		b.Errorf("still a step: %s %s", s.What, s.Native)
	}
}

func (b *bench) same(what string, was []byte) {
	b.Helper()
	if now := b.State(); !bytes.Equal(was, now) {
		b.Errorf("%s: the device is not as it was (-was +is):\n%s", what, cmp.Diff(lines(was), lines(now)))
	}
}

func lines(b []byte) []string {
	var out []string
	for l := range bytes.Lines(b) {
		out = append(out, string(l))
	}
	return out
}

func (b *bench) revert(d drivers.Driver, tok *drivers.Token) {
	b.Helper()
	if err := d.Revert(b.ctx, tok); err != nil {
		b.Errorf("revert: %v", err)
	}
}

// is reports which sentinel an error wraps, checking that it is wanted.
func (b *bench) is(err error, want ...error) {
	b.Helper()
	if err == nil {
		b.Errorf("no error, want %v", want)
		return
	}
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	b.Errorf("error %q is none of %v", err, want)
}

func (b *bench) isNot(err, unwanted error) {
	b.Helper()
	if errors.Is(err, unwanted) {
		b.Errorf("error %q claims %q", err, unwanted)
	}
}

// later is what another process has of a token: its JSON.
func (b *bench) later(tok *drivers.Token) *drivers.Token {
	b.Helper()
	raw, err := json.Marshal(tok)
	if err != nil {
		b.Fatal(err)
	}
	var out drivers.Token
	if err := json.Unmarshal(raw, &out); err != nil {
		b.Fatal(err)
	}
	return &out
}

// Check is [rapid.Check] inside a bubble of testing/synctest, where no test may ask for its
// deadline.
func Check(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	rapid.Check(struct{ rapid.TB }{t}, prop)
}
