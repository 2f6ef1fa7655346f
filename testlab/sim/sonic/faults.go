package sonic

import (
	"context"
	"crypto/tls"
	"sync"
	"time"
)

// Faults make a switch misbehave. Each stays until it is used up (where it is
// for the next write) or cleared. Safe for concurrent use.
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

// DropAfterWrite cuts the connection when the next write is done and saved,
// before its answer.
func (f *Faults) DropAfterWrite() { f.change(func() { f.dropAfter = true }) }

// FailAfterApply lets the next patch be written in full, then fail: the answer
// is an error and nothing is saved (sonic-gnmi issue 238).
func (f *Faults) FailAfterApply() { f.change(func() { f.failApplied = true }) }

// PretendNext answers the next patch, or the next command over SSH that writes, as a
// success and changes nothing.
func (f *Faults) PretendNext() { f.change(func() { f.pretend = true }) }

// FailAt breaks the next patch after n changes, or the next command over SSH after n
// others that write; what was written stays.
func (f *Faults) FailAt(n int) { f.change(func() { f.failAt = n + 1 }) }

// RestartAt reboots the switch after n changes of the next patch, or n commands over SSH
// that write.
func (f *Faults) RestartAt(n int) { f.change(func() { f.restartAt = n + 1 }) }

// Delay holds every answer back for d, or until the client gives up.
func (f *Faults) Delay(d time.Duration) { f.change(func() { f.delay = d }) }

// AnswerWithin answers each Set that takes longer than d with DEADLINE_EXCEEDED,
// and the work goes on. Unlike a client's deadline it counts from the arrival of
// the request, so that a test with it does not depend on how fast the machine is.
func (f *Faults) AnswerWithin(d time.Duration) { f.change(func() { f.answerWithin = d }) }

// RefuseConnections closes new connections at once and drops those there are.
func (f *Faults) RefuseConnections(on bool) {
	f.change(func() { f.refuse = on })
	if on {
		f.s.dropConnections()
	}
}

// NoASIC empties ASIC_DB, as before orchagent has come up.
func (f *Faults) NoASIC(on bool) { f.change(func() { f.noASIC = on }) }

// BareASIC leaves nothing but the switch itself in ASIC_DB, as while orchagent
// comes up.
func (f *Faults) BareASIC(on bool) { f.change(func() { f.bareASIC = on }) }

// FullDisk leaves no room in /etc/sonic. 'config save', which empties the startup file
// before it writes, leaves what goes into one block of it; a Set fails by its checkpoint.
func (f *Faults) FullDisk(on bool) { f.change(func() { f.full = on }) }

// TruncateGet cuts JSON in half, in the values of Get and in what a command prints.
func (f *Faults) TruncateGet(on bool) { f.change(func() { f.truncate = on }) }

// ReadOnly is a server that runs without native write, and a database that takes none.
func (f *Faults) ReadOnly(on bool) { f.change(func() { f.readOnly = on }) }

// NoSonicDB leaves the sonic-db model out of Capabilities.
func (f *Faults) NoSonicDB(on bool) { f.change(func() { f.noSonicDB = on }) }

// NoSubscribe is a server without Subscribe; subscriptions that are held stay.
func (f *Faults) NoSubscribe(on bool) { f.change(func() { f.noSubscribe = on }) }

// WrongCertificate presents a certificate that the CA did not sign.
func (f *Faults) WrongCertificate(on bool) { f.change(func() { f.badCert = on }) }

// BeforeSet runs fn before each Set reads the configuration: another writer
// gets in between the client's read and its write. Nil ends it.
func (f *Faults) BeforeSet(fn func()) { f.change(func() { f.beforeSet = fn }) }

// Event is something that a switch does in its work on a request.
type Event string

// The events.
const (
	Asked    Event = "asked"    // a gNMI request has arrived
	Queued   Event = "queued"   // a Set has arrived, and waits for those before it
	Writing  Event = "writing"  // a Set that changes something is worked on
	Changing Event = "changing" // the next change of a patch is about to be made
	Saving   Event = "saving"   // a patch is applied and about to be saved, or "config save" about to write
	Answer   Event = "answer"   // a Set is done, and about to be answered and to let the next one in
	Command  Event = "command"  // a command has arrived over SSH
	Status   Event = "status"   // a command is done and about to be answered
)

// OnEvent runs fn at each event, and goes on when it returns: a request that is
// worked on waits with all that comes after it. Nil ends it.
func (f *Faults) OnEvent(fn func(Event)) { f.change(func() { f.onEvent = fn }) }

func (f *Faults) event(e Event) {
	f.mu.Lock()
	fn := f.onEvent
	f.mu.Unlock()
	if fn != nil {
		fn(e)
	}
}

// TimeoutNext lets the next Set that reaches the config updater be answered as
// the server's 600 s limit answers it. The application goes on, unsaved, once
// release is closed.
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

// take reads a one-shot fault and uses it up.
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

// takeStep returns a step count, -1 where the fault is off, and uses it up.
func (f *Faults) takeStep(n *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := *n - 1
	*n = 0
	return v
}

// countStep counts a write down, and returns how many were left, -1 where the fault is off.
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

// overdue ends when a Set that starts now is to be answered by AnswerWithin.
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

// hold waits the answer's delay out.
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
