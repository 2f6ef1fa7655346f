package cli

import (
	"context"
	"regexp"
	"sync"
	"time"
)

// Faults are the ways to misbehave that all boxes share; the faults of a
// system embed them and add their own. Those that concern the next write are
// used up by it; the others stay until they are switched off or cleared. The
// zero value is ready for use; safe for concurrent use.
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
	cleared     chan struct{} // closed by Clear, so that delays end
}

func (f *Faults) attach(front *Front) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.f = front
	f.cleared = make(chan struct{})
}

// RejectNext refuses the next write, as the system does. Nothing is done.
func (f *Faults) RejectNext() { f.Set(&f.reject, true) }

// RefuseLine refuses the configuration lines that match re from now on, as
// invalid input. Each call adds one.
func (f *Faults) RefuseLine(re *regexp.Regexp) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuseLines = append(f.refuseLines, re)
}

// FailAfterCommit does the next write in full and answers it as an error.
func (f *Faults) FailAfterCommit() { f.Set(&f.failAfter, true) }

// PretendNext answers the next write as a success, after which the running
// configuration is what it was, and a timer that was to be confirmed still runs.
func (f *Faults) PretendNext() { f.Set(&f.pretend, true) }

// PretendSave answers the next save as a success and saves nothing.
func (f *Faults) PretendSave() { f.Set(&f.pretendSave, true) }

// FailSave has each save fail, as with a full flash: the startup configuration stays.
func (f *Faults) FailSave(on bool) { f.Set(&f.failSave, on) }

// GiveUp leaves the next write unanswered: a gNMI call gets DeadlineExceeded
// at once, a shell stays silent until the client hangs up. The work is done
// when release is closed; Close does without it.
func (f *Faults) GiveUp(release <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.giveUp = release
}

// GaveUp reports whether a write has met GiveUp, and waits for its release.
func (f *Faults) GaveUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.giveUp == nil
}

// Delay holds every answer of both servers back for d, or until Clear, Close
// or the client's leaving.
func (f *Faults) Delay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// TruncateAnswers cuts in the middle what is long: configurations, and the
// structured form of "show version".
func (f *Faults) TruncateAnswers(on bool) { f.Set(&f.truncate, on) }

// WrongCertificate presents a TLS certificate that the CA did not sign, and
// another SSH host key, to new connections.
func (f *Faults) WrongCertificate(on bool) { f.Set(&f.badCert, on) }

// RefuseConnections closes new connections at once and cuts those there are.
func (f *Faults) RefuseConnections(on bool) {
	f.Set(&f.refuse, on)
	if on {
		f.f.DropConnections()
	}
}

// ReadOnly is an account that may only read: what changes the switch is
// refused as the system refuses it.
func (f *Faults) ReadOnly(on bool) { f.Set(&f.readOnly, on) }

// NoModel is a box of another maker: `show version` names another system, and
// the gNMI server does not know the models of this one.
func (f *Faults) NoModel(on bool) { f.Set(&f.noModel, on) }

// StuckPager makes shells ignore `terminal length`.
func (f *Faults) StuckPager(on bool) { f.Set(&f.stuck, on) }

// DoubleEcho echoes each line a second time when it is carried out, as a slow
// box does (ktbyers/netmiko arista.py, cisco_nxos.py).
func (f *Faults) DoubleEcho(on bool) { f.Set(&f.doubleEcho, on) }

// EchoAhead echoes what is typed while a command runs a first time as it comes, in
// the midst of the output, as the line discipline of a terminal does.
func (f *Faults) EchoAhead(on bool) { f.Set(&f.echoAhead, on) }

// FlushInput drops what was typed before a prompt (TCSAFLUSH).
func (f *Faults) FlushInput(on bool) { f.Set(&f.flushInput, on) }

// Logs prints log messages between prompts and lines, and between lines and their
// answers. The prompt is not printed again.
func (f *Faults) Logs(on bool) { f.Set(&f.logs, on) }

// BeforeWrite runs fn before each write changes anything: another writer gets
// in between. Nil ends it.
func (f *Faults) BeforeWrite(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beforeWrite = fn
}

// Clear ends these faults, and the delays that are running.
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

// Set sets a value that On or Take reads.
func (f *Faults) Set(b *bool, v bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*b = v
}

// SetCount sets a number that TakeCount reads.
func (f *Faults) SetCount(n *int, v int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*n = v
}

// TakeCount reads a number for the next write and uses it up; 0 is off.
func (f *Faults) TakeCount(n *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := *n
	*n = 0
	return v
}

// On reads a fault that stays.
func (f *Faults) On(b *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *b
}

// Take reads a fault of the next write and uses it up.
func (f *Faults) Take(b *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := *b
	*b = false
	return v
}

// IsReadOnly reads ReadOnly.
func (f *Faults) IsReadOnly() bool { return f.On(&f.readOnly) }

// IsNoModel reads NoModel.
func (f *Faults) IsNoModel() bool { return f.On(&f.noModel) }

// IsStuck reads StuckPager.
func (f *Faults) IsStuck() bool { return f.On(&f.stuck) }

// IsDoubleEcho reads DoubleEcho.
func (f *Faults) IsDoubleEcho() bool { return f.On(&f.doubleEcho) }

// TakeReject reads RejectNext and uses it up.
func (f *Faults) TakeReject() bool { return f.Take(&f.reject) }

// TakeFailure reads FailAfterCommit and uses it up.
func (f *Faults) TakeFailure() bool { return f.Take(&f.failAfter) }

// TakePretend reads PretendNext and uses it up.
func (f *Faults) TakePretend() bool { return f.Take(&f.pretend) }

// TakePretendSave reads PretendSave and uses it up.
func (f *Faults) TakePretendSave() bool { return f.Take(&f.pretendSave) }

// SaveFails reads FailSave.
func (f *Faults) SaveFails() bool { return f.On(&f.failSave) }

// TakeGiveUp reads GiveUp and uses it up; nil where it is off.
func (f *Faults) TakeGiveUp() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.giveUp
	f.giveUp = nil
	return c
}

// Refuses reports whether a configuration line meets RefuseLine.
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

// Hook runs the function of BeforeWrite.
func (f *Faults) Hook() {
	f.mu.Lock()
	fn := f.beforeWrite
	f.mu.Unlock()
	if fn != nil {
		fn()
	}
}

// Hold waits the delay of an answer out. Without one it lets everything pass,
// also what a client left behind that is gone.
func (f *Faults) Hold(ctx context.Context) error {
	f.mu.Lock()
	d := f.delay
	f.mu.Unlock()
	return f.Pause(ctx, d)
}

// Pause waits for d, or until the client leaves or the switch closes, which
// are errors, or until Clear, which is none.
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

// Cut is a configuration as TruncateAnswers leaves it.
func (f *Faults) Cut(text string) string {
	if f.On(&f.truncate) {
		return text[:len(text)/2]
	}
	return text
}
