package cli

// Fate is the outcome of a write for the client that requested it.
type Fate int

const (
	Answered     Fate = iota // the box answers with its output
	Denied                   // the account may not write
	Rejected                 // nothing was done
	FailedAnyway             // done, but answered with an error
	Gone                     // the connection is cut
	Silent                   // there is no answer
)

// Write is one atomic write: a commit, a rollback or a Set.
type Write struct {
	Denied  string        // the box's answer if the account may not write
	Failure string        // the box's answer for RejectNext and FailAfterCommit
	Attempt func()        // counts a write that ends before it is executed
	Do      func() string // changes the box and returns its answer
	// Before, if set, is called when the write arrives. It may count an attempt and cut the
	// connections. If it returns false, the write ends.
	Before func() bool
	// Pretend replaces the execution of Do if PretendNext is on.
	Pretend func(do func() string) string
	// DropAfter points to the fault that cuts the connections after the write.
	DropAfter *bool
}

// Write executes a write, subject to the faults, and returns the answer, if there is one.
func (f *Front) Write(w Write) (string, Fate) {
	fl := f.c.Faults
	switch {
	case fl.IsReadOnly():
		w.Attempt()
		return w.Denied, Denied
	case fl.TakeReject():
		w.Attempt()
		return w.Failure, Rejected
	case w.Before != nil && !w.Before():
		return "", Gone
	}
	if release := fl.TakeGiveUp(); release != nil {
		f.After(release, func() {
			fl.Hook()
			w.Do()
		})
		return "", Silent
	}
	fl.Hook()
	if fl.TakePretend() {
		return w.Pretend(w.Do), Answered
	}
	words := w.Do()
	switch {
	case fl.Take(w.DropAfter):
		f.DropConnections()
		return "", Gone
	case fl.TakeFailure():
		return w.Failure, FailedAnyway
	}
	return words, Answered
}

// After executes a write that no client waits for when release is closed, unless the switch is
// closed first.
func (f *Front) After(release <-chan struct{}, work func()) {
	f.wg.Go(func() {
		select {
		case <-release:
			work()
		case <-f.ctx.Done():
		}
	})
}
