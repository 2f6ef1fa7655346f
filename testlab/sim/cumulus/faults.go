package cumulus

import (
	"context"
	"sync"
	"time"
)

// Faults are the ways to misbehave. Those of the next write are used up by it; the others
// stay until they are switched off or cleared. Safe for concurrent use.
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

// RejectNext has the next apply found invalid.
func (f *Faults) RejectNext() { f.set(&f.reject, true) }

// DropBefore cuts the connection of the next write, of which nothing is done.
func (f *Faults) DropBefore() { f.set(&f.dropBefore, true) }

// DropAfter cuts the connection of the next apply, which goes on.
func (f *Faults) DropAfter() { f.set(&f.dropAfter, true) }

// FailAfterApply answers the next apply with an internal error, and goes on with it.
func (f *Faults) FailAfterApply() { f.set(&f.failAfter, true) }

// PretendNext has the next apply end as applied, and change nothing.
func (f *Faults) PretendNext() { f.set(&f.pretend, true) }

// PretendSave has the next save, or the next apply, save nothing and say that it did.
func (f *Faults) PretendSave() { f.set(&f.pretendSave, true) }

// RefusePatch finds a value of each patch of a configuration wrong.
func (f *Faults) RefusePatch(on bool) { f.set(&f.refusePatch, on) }

// FailApply has the next apply fail while services reload: it asks whether to ignore that.
func (f *Faults) FailApply() { f.set(&f.failApply, true) }

// RestartInside restarts the switch in the middle of the next apply.
func (f *Faults) RestartInside() { f.set(&f.restart, true) }

// Asks has each apply ask whether the user is sure, with a message; "" ends it.
func (f *Faults) Asks(message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asks = message
}

// GiveUp leaves the next apply without an answer. It is carried out when release is closed.
func (f *Faults) GiveUp(release <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.giveUp = release
}

// Delay holds every answer back for d, or until Clear, Close or the client's leaving.
func (f *Faults) Delay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// TruncateAnswers cuts answers in the middle.
func (f *Faults) TruncateAnswers(on bool) { f.set(&f.truncate, on) }

// ReadOnly is an account that may only read.
func (f *Faults) ReadOnly(on bool) { f.set(&f.readOnly, on) }

// NoModel is another product that speaks NVUE.
func (f *Faults) NoModel(on bool) { f.set(&f.noModel, on) }

// NoTimer refuses an apply that is to be confirmed, over REST.
func (f *Faults) NoTimer(on bool) { f.set(&f.noTimer, on) }

// NoMessage refuses an apply with a message.
func (f *Faults) NoMessage(on bool) { f.set(&f.noMessage, on) }

// WrongCertificate presents a certificate that the CA did not sign, and another host key.
func (f *Faults) WrongCertificate(on bool) { f.set(&f.badCert, on) }

// RefuseConnections closes new connections at once and cuts those there are.
func (f *Faults) RefuseConnections(on bool) {
	f.set(&f.refuse, on)
	if on {
		f.s.dropAll()
	}
}

// BeforeWrite runs fn before each apply changes anything. Nil ends it.
func (f *Faults) BeforeWrite(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beforeWrite = fn
}

// Clear ends the faults, and the delays that are running.
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

// take reads a fault of the next write and uses it up.
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

// hold waits the delay of an answer out. The error is that nobody waits for it any more.
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
