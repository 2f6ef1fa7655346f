package cli

// Fate is how a write ends for the client that asked for it.
type Fate int

const (
	Answered     Fate = iota // with the box's words
	Denied                   // the account may not write
	Rejected                 // nothing was done
	FailedAnyway             // done, and answered as an error
	Gone                     // the connection is cut
	Silent                   // no answer comes
)

// Write is one write that takes effect as a whole: a commit, a rollback, a Set.
type Write struct {
	Denied  string        // the box's words where the account may not write
	Failure string        // the box's words of RejectNext and FailAfterCommit
	Attempt func()        // counts a write that ends before it is done
	Do      func() string // changes the box and returns its words
	// Before, where set, is asked when the write arrives. It may count an
	// attempt and cut the connections; false then ends the write.
	Before func() bool
	// Pretend carries Do out as PretendNext has it.
	Pretend func(do func() string) string
	// DropAfter is the fault that cuts the connections when the write is done.
	DropAfter *bool
}

// Write carries a write out as the faults have it, and returns the words of the
// answer, if there is one.
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

// After does the work of a write that nobody waits for any more, when release
// is closed, unless the switch closes before.
func (f *Front) After(release <-chan struct{}, work func()) {
	f.wg.Go(func() {
		select {
		case <-release:
			work()
		case <-f.ctx.Done():
		}
	})
}
