package eos

import (
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Faults makes a switch misbehave. Faults that affect the next write (a commit of a session or a
// gNMI Set) are used up by it; the others stay until they are switched off or cleared. A rejection
// is "% Error: ..." in a shell. Over gNMI, RejectNext is Aborted, FailAfterCommit Internal and
// ReadOnly PermissionDenied. BeforeWrite runs before a Set opens its session, and before a session
// is committed. It is safe for concurrent use.
type Faults struct {
	cli.Faults

	dropBefore, dropAfter, restart, slowEcho bool
}

// DropBeforeCommit cuts all connections when the next write arrives. Nothing is changed.
func (f *Faults) DropBeforeCommit() { f.Set(&f.dropBefore, true) }

// DropAfterCommit cuts all connections after the next write is done, before it is answered.
func (f *Faults) DropAfterCommit() { f.Set(&f.dropAfter, true) }

// RestartAtCommit reboots the switch when the next write arrives. The write and all unsaved
// changes are lost.
func (f *Faults) RestartAtCommit() { f.Set(&f.restart, true) }

// SlowEcho echoes input byte by byte, with a short pause before each byte.
func (f *Faults) SlowEcho(on bool) { f.Set(&f.slowEcho, on) }

// Clear ends all faults and the current delays.
func (f *Faults) Clear() {
	for _, b := range []*bool{&f.dropBefore, &f.dropAfter, &f.restart, &f.slowEcho} {
		f.Set(b, false)
	}
	f.Faults.Clear()
}

// echoPause is the pause of SlowEcho before each byte.
const echoPause = 2 * time.Millisecond

// commitError is the answer for RejectNext and FailAfterCommit.
const commitError = "% Error: internal error while committing the session"

// failed reports whether the box's answer is an error. Warnings begin with "! "
// (ansible-collections/arista.eos plugins/terminal/eos.py).
func failed(words string) bool { return strings.HasPrefix(words, "%") }

func notAuthorised(command string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	return "% Authorization denied for command '" + first + "'"
}

// write executes a commit or a Set, subject to the faults. command is the client's command; do
// changes the box and returns its answer.
func (f *front) write(command string, do func() string) (string, cli.Fate) {
	return f.Write(cli.Write{Denied: notAuthorised(command), Failure: commitError, Attempt: f.e.Attempt, Do: do, Pretend: f.e.Pretend,
		Before: f.survives, DropAfter: &f.faults.dropAfter})
}

// survives reports whether no fault ends a write when it arrives.
func (f *front) survives() bool {
	switch {
	case f.faults.Take(&f.faults.dropBefore):
		f.e.Attempt()
		f.DropConnections()
		return false
	case f.faults.Take(&f.faults.restart):
		f.e.Attempt()
		_ = f.e.Restart() // fails if the switch is closed, which also cuts the connections
		return false
	}
	return true
}

// configLine passes a configuration line to a session, unless a fault or missing privileges reject
// it first.
func (f *front) configLine(s *session, line string) string {
	if f.faults.IsReadOnly() {
		return notAuthorised(line)
	}
	if f.faults.Refuses(strings.TrimSpace(line)) {
		return invalid(line, 0)
	}
	return s.line(line)
}
