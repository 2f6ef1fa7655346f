package eos

import (
	"context"
	"crypto/tls"
	"regexp"
	"sync"
	"time"
)

// Faults make a switch misbehave. Those that concern the next write, a commit
// of a session or a gNMI Set, are used up by it; the others stay until they
// are switched off or cleared. Safe for concurrent use.
type Faults struct {
	f  *front
	mu sync.Mutex

	reject, dropBefore, dropAfter, failAfter, restart bool
	refuse, truncate, readOnly, noModel, badCert      bool
	stuckPager, slowEcho, doubleEcho                  bool

	refuseLines []*regexp.Regexp
	beforeWrite func()
	giveUp      <-chan struct{}
	delay       time.Duration
	cleared     chan struct{} // closed by Clear, so that delays end
}

func newFaults(f *front) *Faults { return &Faults{f: f, cleared: make(chan struct{})} }

func (f *Faults) change(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

// RejectNext refuses the next write: "% Error: ..." in a shell, Aborted over
// gNMI. Nothing is done.
func (f *Faults) RejectNext() { f.change(func() { f.reject = true }) }

// RefuseLine refuses the configuration lines that match re from now on, as
// "% Invalid input", in sessions and Sets alike. Each call adds one.
func (f *Faults) RefuseLine(re *regexp.Regexp) {
	f.change(func() { f.refuseLines = append(f.refuseLines, re) })
}

// DropBeforeCommit cuts all connections when the next write arrives; nothing
// is done.
func (f *Faults) DropBeforeCommit() { f.change(func() { f.dropBefore = true }) }

// DropAfterCommit cuts all connections when the next write is done, before
// its answer.
func (f *Faults) DropAfterCommit() { f.change(func() { f.dropAfter = true }) }

// FailAfterCommit does the next write in full and answers it as an error:
// "% Error: ..." in a shell, Internal over gNMI.
func (f *Faults) FailAfterCommit() { f.change(func() { f.failAfter = true }) }

// GiveUp leaves the next write unanswered: a Set gets DeadlineExceeded at
// once, a shell stays silent until the client hangs up. The work is done when
// release is closed; Close does without it.
func (f *Faults) GiveUp(release <-chan struct{}) { f.change(func() { f.giveUp = release }) }

// RestartAtCommit reboots the switch when the next write arrives: the write
// is lost with everything that was not saved.
func (f *Faults) RestartAtCommit() { f.change(func() { f.restart = true }) }

// Delay holds every answer of both servers back for d, or until Clear, Close
// or the client's leaving.
func (f *Faults) Delay(d time.Duration) { f.change(func() { f.delay = d }) }

// TruncateAnswers cuts running configurations in the middle.
func (f *Faults) TruncateAnswers(on bool) { f.change(func() { f.truncate = on }) }

// WrongCertificate presents a TLS certificate that the CA did not sign, and
// another SSH host key, to new connections.
func (f *Faults) WrongCertificate(on bool) { f.change(func() { f.badCert = on }) }

// RefuseConnections closes new connections at once and cuts those there are.
func (f *Faults) RefuseConnections(on bool) {
	f.change(func() { f.refuse = on })
	if on {
		f.f.dropConnections()
	}
}

// ReadOnly is an account that may only read: what changes the switch is
// "% Authorization denied for command '...'", and PermissionDenied over gNMI.
func (f *Faults) ReadOnly(on bool) { f.change(func() { f.readOnly = on }) }

// NoModel is a box that is no EOS: `show version` names another maker, and
// the gNMI server knows neither OpenConfig nor the CLI origin.
func (f *Faults) NoModel(on bool) { f.change(func() { f.noModel = on }) }

// StuckPager makes shells ignore `terminal length`.
func (f *Faults) StuckPager(on bool) { f.change(func() { f.stuckPager = on }) }

// SlowEcho echoes input byte by byte with a short pause before each.
func (f *Faults) SlowEcho(on bool) { f.change(func() { f.slowEcho = on }) }

// DoubleEcho echoes each line a second time when it is carried out, as a slow
// box does (ktbyers/netmiko arista.py).
func (f *Faults) DoubleEcho(on bool) { f.change(func() { f.doubleEcho = on }) }

// BeforeWrite runs fn before each write changes anything: another writer gets
// in between. Before a Set it runs ahead of the session that the Set opens,
// before a commit ahead of the commit. Nil ends it.
func (f *Faults) BeforeWrite(fn func()) { f.change(func() { f.beforeWrite = fn }) }

// Clear ends every fault, and the delays that are running.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reject, f.dropBefore, f.dropAfter, f.failAfter, f.restart = false, false, false, false, false
	f.refuse, f.truncate, f.readOnly, f.noModel, f.badCert = false, false, false, false, false
	f.stuckPager, f.slowEcho, f.doubleEcho = false, false, false
	f.refuseLines, f.beforeWrite, f.giveUp, f.delay = nil, nil, nil, 0
	close(f.cleared)
	f.cleared = make(chan struct{})
}

// take reads a fault of the next write and uses it up.
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

func (f *Faults) takeGiveUp() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.giveUp
	f.giveUp = nil
	return c
}

// refusesLine reports whether a configuration line meets RefuseLine.
func (f *Faults) refusesLine(line string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, re := range f.refuseLines {
		if re.MatchString(line) {
			return true
		}
	}
	return false
}

func (f *Faults) hook() {
	f.mu.Lock()
	fn := f.beforeWrite
	f.mu.Unlock()
	if fn != nil {
		fn()
	}
}

// hold waits the delay of an answer out.
func (f *Faults) hold(ctx context.Context) error {
	f.mu.Lock()
	d := f.delay
	f.mu.Unlock()
	return f.pause(ctx, d)
}

// pause waits for d, or until the client leaves or the switch closes, which
// are errors, or until Clear, which is none.
func (f *Faults) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	f.mu.Lock()
	cleared := f.cleared
	f.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-cleared:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-f.f.ctx.Done():
		return context.Canceled
	}
}

// cut is a running configuration as TruncateAnswers leaves it.
func (f *Faults) cut(text string) string {
	if f.on(&f.truncate) {
		return text[:len(text)/2]
	}
	return text
}

func (f *Faults) tlsConfig() *tls.Config {
	if f.on(&f.badCert) {
		return f.f.badTLS
	}
	return nil
}
