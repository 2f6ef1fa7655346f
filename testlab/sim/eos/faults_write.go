package eos

import "strings"

// fate is how a write ends for the client that asked for it.
type fate int

const (
	answered     fate = iota // with the box's words, none for success
	denied                   // the account may not write
	rejected                 // nothing was done
	failedAnyway             // done, and answered as an error
	cut                      // the connection is gone
	silent                   // no answer comes
)

// commitError is what RejectNext and FailAfterCommit answer.
const commitError = "% Error: internal error while committing the session"

// failed reports whether words of the box are an error. Warnings begin with
// "! " (ansible-collections/arista.eos plugins/terminal/eos.py).
func failed(words string) bool { return strings.HasPrefix(words, "%") }

func notAuthorised(command string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	return "% Authorization denied for command '" + first + "'"
}

// write carries out one write, a commit or a Set, as the faults have it.
// command is how the client asked for it; do changes the box and returns the
// box's words.
func (f *front) write(command string, do func() string) (string, fate) {
	fl := f.faults
	switch {
	case fl.on(&fl.readOnly):
		f.e.attempt()
		return notAuthorised(command), denied
	case fl.take(&fl.reject):
		f.e.attempt()
		return commitError, rejected
	case fl.take(&fl.dropBefore):
		f.e.attempt()
		f.dropConnections()
		return "", cut
	case fl.take(&fl.restart):
		f.e.attempt()
		if err := f.e.Restart(); err != nil {
			return "% Error: " + err.Error(), rejected
		}
		return "", cut // the restart cut the connections
	}
	if release := fl.takeGiveUp(); release != nil {
		f.wg.Go(func() {
			select {
			case <-release:
				fl.hook()
				do()
			case <-f.ctx.Done():
			}
		})
		return "", silent
	}
	fl.hook()
	words := do()
	switch {
	case fl.take(&fl.dropAfter):
		f.dropConnections()
		return "", cut
	case fl.take(&fl.failAfter):
		return commitError, failedAnyway
	}
	return words, answered
}

// configLine gives a configuration line to a session, unless a fault or the
// account's rights refuse it first.
func (f *front) configLine(s *session, line string) string {
	if f.faults.on(&f.faults.readOnly) {
		return notAuthorised(line)
	}
	if f.faults.refusesLine(strings.TrimSpace(line)) {
		return invalid(line, 0)
	}
	return s.line(line)
}
