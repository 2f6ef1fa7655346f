package cumulus

import (
	"context"
	"sync"
	"time"
)

// Faults makes a switch misbehave. Faults that affect the next write are used up by it; the others
// stay until they are switched off or cleared. It is safe for concurrent use.
type Faults struct {
	mu sync.Mutex
	s  *Switch

	reject, dropBefore, dropAfter, failAfter, pretend, pretendSave, failApply, restart bool
	refuse, truncate, readOnly, noModel, badCert, noTimer, noMessage, refusePatch      bool
	asks                                                                               string
	beforeWrite                                                                        func()
	giveUp                                                                             <-chan struct{}
	delay                                                                              time.Duration
	cleared                                                                            chan struct{}
}

// RejectNext makes the next apply fail as invalid.
func (f *Faults) RejectNext() { f.set(&f.reject, true) }

// DropBefore cuts the connection of the next write, which changes nothing.
func (f *Faults) DropBefore() { f.set(&f.dropBefore, true) }

// DropAfter cuts the connection of the next apply, which continues.
func (f *Faults) DropAfter() { f.set(&f.dropAfter, true) }

// FailAfterApply answers the next apply with an internal error, but the apply continues.
func (f *Faults) FailAfterApply() { f.set(&f.failAfter, true) }

// PretendNext makes the next apply end as applied without changing anything.
func (f *Faults) PretendNext() { f.set(&f.pretend, true) }

// PretendSave makes the next save or apply report that it saved, without saving anything.
func (f *Faults) PretendSave() { f.set(&f.pretendSave, true) }

// RefusePatch rejects a value in each patch of a configuration.
func (f *Faults) RefusePatch(on bool) { f.set(&f.refusePatch, on) }

// FailApply makes the next apply fail while services reload. The switch then asks whether to
// ignore the failure.
func (f *Faults) FailApply() { f.set(&f.failApply, true) }

// RestartInside restarts the switch during the next apply.
func (f *Faults) RestartInside() { f.set(&f.restart, true) }

// Asks makes each apply ask "Are you sure?" with the given message; "" turns it off.
func (f *Faults) Asks(message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asks = message
}

// GiveUp leaves the next apply unanswered. It is executed when release is closed.
func (f *Faults) GiveUp(release <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.giveUp = release
}

// Delay delays every answer by d. A delay ends early at Clear or Close, or when the client leaves.
func (f *Faults) Delay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// TruncateAnswers cuts off the second half of each answer.
func (f *Faults) TruncateAnswers(on bool) { f.set(&f.truncate, on) }

// ReadOnly makes the account read-only.
func (f *Faults) ReadOnly(on bool) { f.set(&f.readOnly, on) }

// NoModel makes the switch look like another product that uses NVUE.
func (f *Faults) NoModel(on bool) { f.set(&f.noModel, on) }

// NoTimer rejects an apply with confirmation over REST.
func (f *Faults) NoTimer(on bool) { f.set(&f.noTimer, on) }

// NoMessage rejects an apply with a message.
func (f *Faults) NoMessage(on bool) { f.set(&f.noMessage, on) }

// WrongCertificate makes new connections present a certificate that the CA did not sign, and a
// different SSH host key.
func (f *Faults) WrongCertificate(on bool) { f.set(&f.badCert, on) }

// RefuseConnections closes new connections at once and cuts the open ones.
func (f *Faults) RefuseConnections(on bool) {
	f.set(&f.refuse, on)
	if on {
		f.s.dropAll()
	}
}

// BeforeWrite runs fn before each apply changes anything; nil turns it off.
func (f *Faults) BeforeWrite(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beforeWrite = fn
}

// Clear ends all faults and the current delays.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reject, f.dropBefore, f.dropAfter, f.failAfter, f.pretend, f.pretendSave, f.failApply, f.restart = false, false, false, false, false, false, false, false
	f.refuse, f.truncate, f.readOnly, f.noModel, f.badCert, f.noTimer, f.noMessage, f.refusePatch = false, false, false, false, false, false, false, false
	f.asks, f.beforeWrite, f.giveUp, f.delay = "", nil, nil, 0
	close(f.cleared)
	f.cleared = make(chan struct{})
}

func (f *Faults) set(b *bool, v bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*b = v
}

func (f *Faults) on(b *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *b
}

// take reports whether a fault for the next write is on, and uses it up.
func (f *Faults) take(b *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := *b
	*b = false
	return v
}

func (f *Faults) takeGiveUp() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.giveUp
	f.giveUp = nil
	return c
}

func (f *Faults) question() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asks
}

func (f *Faults) hook() {
	f.mu.Lock()
	fn := f.beforeWrite
	f.mu.Unlock()
	if fn != nil {
		fn()
	}
}

// hold waits for the delay of an answer. It returns an error if the client leaves meanwhile.
func (f *Faults) hold(ctx context.Context) error {
	f.mu.Lock()
	d, cleared := f.delay, f.cleared
	f.mu.Unlock()
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-cleared:
	case <-ctx.Done():
		return ctx.Err()
	case <-f.s.ctx.Done():
		return context.Canceled
	}
	return nil
}
