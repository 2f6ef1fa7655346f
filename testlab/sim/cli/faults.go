package cli

import (
	"context"
	"regexp"
	"sync"
	"time"
)

// Faults holds the misbehavior that all boxes support. Each system embeds it and adds its own
// faults. Faults that affect the next write are used up by it; the others stay until they are
// switched off or cleared. The zero value is ready to use. It is safe for concurrent use.
type Faults struct {
	mu sync.Mutex
	f  *Front

	reject, failAfter, pretend, pretendSave, failSave               bool
	refuse, truncate, readOnly, noModel, badCert, stuck, doubleEcho bool
	echoAhead, flushInput, logs                                     bool

	refuseLines []*regexp.Regexp
	beforeWrite func()
	giveUp      <-chan struct{}
	delay       time.Duration
	cleared     chan struct{} // closed by Clear to end delays
}

func (f *Faults) attach(front *Front) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.f = front
	f.cleared = make(chan struct{})
}

// RejectNext rejects the next write in the system's words. Nothing is changed.
func (f *Faults) RejectNext() { f.Set(&f.reject, true) }

// RefuseLine rejects configuration lines that match re from now on, as invalid input. Each call
// adds an expression.
func (f *Faults) RefuseLine(re *regexp.Regexp) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuseLines = append(f.refuseLines, re)
}

// FailAfterCommit executes the next write completely but answers with an error.
func (f *Faults) FailAfterCommit() { f.Set(&f.failAfter, true) }

// PretendNext answers the next write as successful, but leaves the running configuration
// unchanged, and a timer that waits for confirmation keeps running.
func (f *Faults) PretendNext() { f.Set(&f.pretend, true) }

// PretendSave answers the next save as successful but saves nothing.
func (f *Faults) PretendSave() { f.Set(&f.pretendSave, true) }

// FailSave makes each save fail, as with a full flash; the startup configuration stays unchanged.
func (f *Faults) FailSave(on bool) { f.Set(&f.failSave, on) }

// GiveUp leaves the next write unanswered: a gNMI call fails with DeadlineExceeded at once, and a
// shell stays silent until the client hangs up. The write is executed when release is closed, or
// never if the switch is closed first.
func (f *Faults) GiveUp(release <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.giveUp = release
}

// GaveUp reports whether GiveUp has been used up by a write. That write may still wait for its
// release.
func (f *Faults) GaveUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.giveUp == nil
}

// Delay delays every answer of both servers by d. A delay ends early at Clear or Close, or when
// the client leaves.
func (f *Faults) Delay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// TruncateAnswers cuts long answers in half: configurations, and the structured output of "show
// version".
func (f *Faults) TruncateAnswers(on bool) { f.Set(&f.truncate, on) }

// WrongCertificate makes new connections present a TLS certificate that the CA did not sign, and a
// different SSH host key.
func (f *Faults) WrongCertificate(on bool) { f.Set(&f.badCert, on) }

// RefuseConnections closes new connections at once and cuts the open ones.
func (f *Faults) RefuseConnections(on bool) {
	f.Set(&f.refuse, on)
	if on {
		f.f.DropConnections()
	}
}

// ReadOnly makes the account read-only: changes are rejected in the system's words.
func (f *Faults) ReadOnly(on bool) { f.Set(&f.readOnly, on) }

// NoModel makes the box look like another vendor's: `show version` names another system, and the
// gNMI server does not know the models of this one.
func (f *Faults) NoModel(on bool) { f.Set(&f.noModel, on) }

// StuckPager makes shells ignore `terminal length`.
func (f *Faults) StuckPager(on bool) { f.Set(&f.stuck, on) }

// DoubleEcho echoes each line a second time when it is executed, as a slow box does
// (ktbyers/netmiko arista.py, cisco_nxos.py).
func (f *Faults) DoubleEcho(on bool) { f.Set(&f.doubleEcho, on) }

// EchoAhead echoes input that arrives while a command runs at once, in the middle of the output,
// as a terminal's line discipline does. The input is echoed again when it is read.
func (f *Faults) EchoAhead(on bool) { f.Set(&f.echoAhead, on) }

// FlushInput discards input typed before a prompt (TCSAFLUSH).
func (f *Faults) FlushInput(on bool) { f.Set(&f.flushInput, on) }

// Logs prints log messages between prompts and lines, and between lines and their answers. The
// prompt is not repeated.
func (f *Faults) Logs(on bool) { f.Set(&f.logs, on) }

// BeforeWrite runs fn before each write changes anything, to simulate another writer. nil turns it
// off.
func (f *Faults) BeforeWrite(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beforeWrite = fn
}

// Clear ends these faults and the current delays.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reject, f.failAfter, f.pretend, f.pretendSave, f.failSave = false, false, false, false, false
	f.refuse, f.truncate, f.readOnly, f.noModel, f.badCert, f.stuck, f.doubleEcho = false, false, false, false, false, false, false
	f.echoAhead, f.flushInput, f.logs = false, false, false
	f.refuseLines, f.beforeWrite, f.giveUp, f.delay = nil, nil, nil, 0
	close(f.cleared)
	f.cleared = make(chan struct{})
}

// The following is for the simulators.

// Set sets a value that is read by On or Take.
func (f *Faults) Set(b *bool, v bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*b = v
}

// SetCount sets a number that is read by TakeCount.
func (f *Faults) SetCount(n *int, v int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*n = v
}

// TakeCount returns the number for the next write and uses it up; 0 means off.
func (f *Faults) TakeCount(n *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := *n
	*n = 0
	return v
}

// On reports whether a permanent fault is on.
func (f *Faults) On(b *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *b
}

// Take reports whether a fault for the next write is on, and uses it up.
func (f *Faults) Take(b *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := *b
	*b = false
	return v
}

// IsReadOnly reports whether ReadOnly is on.
func (f *Faults) IsReadOnly() bool { return f.On(&f.readOnly) }

// IsNoModel reports whether NoModel is on.
func (f *Faults) IsNoModel() bool { return f.On(&f.noModel) }

// IsStuck reports whether StuckPager is on.
func (f *Faults) IsStuck() bool { return f.On(&f.stuck) }

// IsDoubleEcho reports whether DoubleEcho is on.
func (f *Faults) IsDoubleEcho() bool { return f.On(&f.doubleEcho) }

// TakeReject reports whether RejectNext is on, and uses it up.
func (f *Faults) TakeReject() bool { return f.Take(&f.reject) }

// TakeFailure reports whether FailAfterCommit is on, and uses it up.
func (f *Faults) TakeFailure() bool { return f.Take(&f.failAfter) }

// TakePretend reports whether PretendNext is on, and uses it up.
func (f *Faults) TakePretend() bool { return f.Take(&f.pretend) }

// TakePretendSave reports whether PretendSave is on, and uses it up.
func (f *Faults) TakePretendSave() bool { return f.Take(&f.pretendSave) }

// SaveFails reports whether FailSave is on.
func (f *Faults) SaveFails() bool { return f.On(&f.failSave) }

// TakeGiveUp returns the channel given to GiveUp and uses it up; nil if GiveUp is off.
func (f *Faults) TakeGiveUp() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.giveUp
	f.giveUp = nil
	return c
}

// Refuses reports whether RefuseLine applies to a configuration line.
func (f *Faults) Refuses(line string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, re := range f.refuseLines {
		if re.MatchString(line) {
			return true
		}
	}
	return false
}

// Hook runs the function set by BeforeWrite.
func (f *Faults) Hook() {
	f.mu.Lock()
	fn := f.beforeWrite
	f.mu.Unlock()
	if fn != nil {
		fn()
	}
}

// Hold waits for the delay of an answer. Without a delay it always succeeds, even for a request
// whose client has left.
func (f *Faults) Hold(ctx context.Context) error {
	f.mu.Lock()
	d := f.delay
	f.mu.Unlock()
	return f.Pause(ctx, d)
}

// Pause waits for d. It returns early with an error if the client leaves or the switch is closed,
// and early without an error at Clear.
func (f *Faults) Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
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

// Cut returns a configuration truncated by TruncateAnswers, if that is on.
func (f *Faults) Cut(text string) string {
	if f.On(&f.truncate) {
		return text[:len(text)/2]
	}
	return text
}
