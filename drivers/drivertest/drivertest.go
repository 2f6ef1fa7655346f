// Package drivertest is the test suite for all drivers: it checks what package drivers requires
// of Apply, Revert and the readers, on a device that misbehaves on demand.
//
// A driver's test describes its simulated device in a [Fixture] and calls [Run]. Do not put
// anything specific to one operating system here: if a device cannot be made to do something, the
// function is nil and the cases that need it are skipped by name.
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

// Fixture creates devices.
type Fixture struct {
	// New creates a running device that differs from its desired state, and stops it when t ends.
	New func(t *testing.T, o Options) *Device
	// Only names the cases to run; nil runs all. A driver passes all cases on some device, and
	// may repeat a few on many.
	Only []string
	// Not holds the cases that do not apply to the device, each with the reason.
	Not map[string]string
}

// Options select a device.
type Options struct {
	// Slow requests a device that takes longer to write than its driver waits for a response.
	Slow bool
	// Listen and Dial are the test's network.
	Listen sim.ListenFunc
	Dial   netx.Dialer
}

// Networked returns the options with an in-memory network, unless they have one.
func (o Options) Networked() Options {
	if o.Dial == nil {
		network := memnet.New(1)
		o.Listen, o.Dial = network.Listen, network.Client(nil).Dial
	}
	return o
}

// Device is one simulated device under test. A nil function means that the device cannot do that.
type Device struct {
	// Desired needs several steps and shuts ports down.
	Desired drivers.Desired
	Policy  drivers.Policy
	// Open creates a driver, which is closed when the test ends.
	Open func() drivers.Driver
	// OpenWrongPassword creates a driver whose password the device rejects.
	OpenWrongPassword func() drivers.Driver
	// State returns everything that the device has configured, in a canonical form.
	State func() []byte
	// Startup returns the state after a restart, in the same form.
	Startup func() []byte
	// Requests counts the write requests that reached the device.
	Requests func() int
	// Flaps counts how often each port went down and up again.
	Flaps func() map[string]int
	// BeforeWrite makes the device call fn before each request changes anything.
	BeforeWrite func(fn func())
	// Down lists the ports that are down.
	Down func() []string

	// Marked reports whether the device shows that a run is or was in progress.
	Marked  func() bool
	Restart func() error
	// AddForeign adds objects of other owners to the device, of kinds that the driver also
	// writes; HasForeign reports whether all of them are still there unchanged.
	AddForeign func()
	HasForeign func() bool
	// AddUnknown adds configuration that the model cannot represent.
	AddUnknown func()
	// ChangeManaged and ChangeForeign simulate changes by another user.
	ChangeManaged, ChangeForeign func()

	// Count sets a counter of a port, and reports whether the device has it. ResetCounters sets
	// all counters to 0. HoldCounters makes the device keep showing the current values.
	Count         func(port string, index int, m drivers.Metric, n uint64) bool
	ResetCounters func()
	HoldCounters  func(bool)

	Faults Faults
}

// Faults make a device misbehave. Faults of a write affect the next write.
type Faults struct {
	Reject         func() // refuse without any effect
	DropBefore     func() // cut the connection before executing
	DropAfter      func() // execute, then cut the connection
	FailAfterApply func() // execute, then report failure
	FailHalfWay    func() // execute a part, then report failure
	RestartInside  func() // restart the device in the middle
	// GiveUp reports a timeout and executes the write a moment later.
	GiveUp func()

	Delay            func(time.Duration) // before every response
	ReadOnly         func(bool)
	TruncateAnswers  func(bool)
	WrongCertificate func(bool)
	Unreachable      func(bool)
	NoModel          func(bool)
	Clear            func()
}

// patience limits a case, in virtual time, in which slow devices work for minutes.
const patience = time.Hour

// Run runs each case on a new device, in the virtual time of testing/synctest and over an
// in-memory network.
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

// bench is one running case.
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

// planned is a driver with the plan that it has just made.
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

// settled fails the test unless a new plan has nothing to do except changes that were already
// blocked before.
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

// is fails the test unless an error wraps one of the wanted errors.
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

// later returns a token as another process reads it, from its JSON.
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

// Check is [rapid.Check] for use inside a bubble of testing/synctest, where a test must not ask
// for its deadline.
func Check(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	rapid.Check(struct{ rapid.TB }{t}, prop)
}
