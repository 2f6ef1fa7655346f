package sonic

import (
	"context"
	"crypto/tls"
	"sync"
	"time"
)

// Faults make a switch misbehave. A fault stays active until it is cleared or, if it applies to the
// next write, used up. Safe for concurrent use.
type Faults struct {
	s  *Switch
	mu sync.Mutex

	dropBefore, dropAfter, failApplied bool
	pretend                            bool
	failAt, restartAt                  int // n+1 for "after n changes", 0 for off
	delay, answerWithin                time.Duration
	refuse, truncate, readOnly         bool
	noSonicDB, noSubscribe, badCert    bool
	noASIC, bareASIC, full             bool
	beforeSet                          func()
	onEvent                            func(Event)
	timeout                            <-chan struct{}
}

func (f *Faults) change(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

// DropBeforeWrite cuts the connection when the next write arrives; nothing is written.
func (f *Faults) DropBeforeWrite() { f.change(func() { f.dropBefore = true }) }

// DropAfterWrite cuts the connection when the next write is done and saved, before its answer.
func (f *Faults) DropAfterWrite() { f.change(func() { f.dropAfter = true }) }

// FailAfterApply makes the next patch fail after it was written completely: the answer is an error
// and nothing is saved (sonic-gnmi issue 238).
func (f *Faults) FailAfterApply() { f.change(func() { f.failApplied = true }) }

// PretendNext answers the next patch, or the next SSH command that writes, as a success without
// changing anything.
func (f *Faults) PretendNext() { f.change(func() { f.pretend = true }) }

// FailAt makes the next patch fail after n changes, or an SSH command after n others that write;
// what was written stays.
func (f *Faults) FailAt(n int) { f.change(func() { f.failAt = n + 1 }) }

// RestartAt reboots the switch after n changes of the next patch, or after n SSH commands that
// write.
func (f *Faults) RestartAt(n int) { f.change(func() { f.restartAt = n + 1 }) }

// Delay holds every answer back for d, or until the client gives up.
func (f *Faults) Delay(d time.Duration) { f.change(func() { f.delay = d }) }

// AnswerWithin answers each Set that takes longer than d with DEADLINE_EXCEEDED, while the work
// continues. Unlike a client's deadline, d counts from the arrival of the request, so that a test
// does not depend on the speed of the machine.
func (f *Faults) AnswerWithin(d time.Duration) { f.change(func() { f.answerWithin = d }) }

// RefuseConnections closes new connections immediately and drops existing ones.
func (f *Faults) RefuseConnections(on bool) {
	f.change(func() { f.refuse = on })
	if on {
		f.s.dropConnections()
	}
}

// NoASIC empties ASIC_DB, as before orchagent has started.
func (f *Faults) NoASIC(on bool) { f.change(func() { f.noASIC = on }) }

// BareASIC leaves only the switch object in ASIC_DB, as while orchagent starts.
func (f *Faults) BareASIC(on bool) { f.change(func() { f.bareASIC = on }) }

// FullDisk leaves no room in /etc/sonic. 'config save', which empties the startup file before it
// writes, leaves as much of it as fits into one block; a Set fails at its checkpoint.
func (f *Faults) FullDisk(on bool) { f.change(func() { f.full = on }) }

// TruncateGet cuts JSON in half, in the values of Get and in the output of commands.
func (f *Faults) TruncateGet(on bool) { f.change(func() { f.truncate = on }) }

// ReadOnly simulates a server without native write, and a database that rejects writes.
func (f *Faults) ReadOnly(on bool) { f.change(func() { f.readOnly = on }) }

// NoSonicDB leaves the sonic-db model out of Capabilities.
func (f *Faults) NoSonicDB(on bool) { f.change(func() { f.noSonicDB = on }) }

// NoSubscribe simulates a server without Subscribe; existing subscriptions stay.
func (f *Faults) NoSubscribe(on bool) { f.change(func() { f.noSubscribe = on }) }

// WrongCertificate presents a certificate that the CA did not sign.
func (f *Faults) WrongCertificate(on bool) { f.change(func() { f.badCert = on }) }

// BeforeSet runs fn before each Set reads the configuration, so that another writer can get in
// between the client's read and its write. Nil turns it off.
func (f *Faults) BeforeSet(fn func()) { f.change(func() { f.beforeSet = fn }) }

// Event is an action of a switch while it works on a request.
type Event string

// The events.
const (
	Asked    Event = "asked"    // a gNMI request has arrived
	Queued   Event = "queued"   // a Set has arrived, and waits for earlier ones
	Writing  Event = "writing"  // a Set that changes something is being carried out
	Changing Event = "changing" // the next change of a patch is about to be made
	Saving   Event = "saving"   // a patch is applied and about to be saved, or "config save" is about to write
	Answer   Event = "answer"   // a Set is done, and about to be answered before the next one starts
	Command  Event = "command"  // a command has arrived over SSH
	Status   Event = "status"   // a command is done and about to be answered
)

// OnEvent runs fn at each event and continues when it returns. Until then, the current request and
// all later ones wait. Nil turns it off.
func (f *Faults) OnEvent(fn func(Event)) { f.change(func() { f.onEvent = fn }) }

func (f *Faults) event(e Event) {
	f.mu.Lock()
	fn := f.onEvent
	f.mu.Unlock()
	if fn != nil {
		fn(e)
	}
}

// TimeoutNext answers the next Set that reaches the config updater like the server does at its 600
// s limit. The change is applied, without a save, once release is closed.
func (f *Faults) TimeoutNext(release <-chan struct{}) { f.change(func() { f.timeout = release }) }

// Clear ends every fault.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropBefore, f.dropAfter, f.failApplied, f.refuse, f.truncate, f.readOnly, f.noSonicDB, f.noSubscribe, f.badCert =
		false, false, false, false, false, false, false, false, false
	f.noASIC, f.bareASIC, f.pretend, f.full = false, false, false, false
	f.failAt, f.restartAt, f.delay, f.answerWithin, f.beforeSet, f.timeout, f.onEvent = 0, 0, 0, 0, nil, nil, nil
}

// take returns a one-shot fault and turns it off.
func (f *Faults) take(b *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := *b
	*b = false
	return v
}

func (f *Faults) on(b *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *b
}

// takeStep returns a step count, -1 if the fault is off, and turns it off.
func (f *Faults) takeStep(n *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := *n - 1
	*n = 0
	return v
}

// countStep counts down a write and returns how many were left, -1 if the fault is off.
func (f *Faults) countStep(n *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := *n - 1
	*n = max(0, left)
	return left
}

func (f *Faults) takeTimeout() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.timeout
	f.timeout = nil
	return c
}

func (f *Faults) hook() {
	f.mu.Lock()
	fn := f.beforeSet
	f.mu.Unlock()
	if fn != nil {
		fn()
	}
}

// overdue returns the timer after which AnswerWithin answers a Set that starts now.
func (f *Faults) overdue() (<-chan time.Time, func() bool) {
	f.mu.Lock()
	d := f.answerWithin
	f.mu.Unlock()
	if d == 0 {
		return nil, func() bool { return false }
	}
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// hold waits for the delay of the answer.
func (f *Faults) hold(ctx context.Context) error {
	f.mu.Lock()
	d := f.delay
	f.mu.Unlock()
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-f.s.ctx.Done():
		return context.Canceled
	}
}

func (f *Faults) tlsConfig() *tls.Config {
	if f.on(&f.badCert) {
		return f.s.badTLS
	}
	return nil
}
