package eos

import (
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Faults make a switch misbehave. Those that concern the next write, a commit
// of a session or a gNMI Set, are used up by it; the others stay until they
// are switched off or cleared. A refusal is "% Error: ..." in a shell; over
// gNMI RejectNext is Aborted, FailAfterCommit Internal and ReadOnly
// PermissionDenied. BeforeWrite runs ahead of the session that a Set opens, and
// ahead of the commit of a session. Safe for concurrent use.
type Faults struct {
	cli.Faults

	dropBefore, dropAfter, restart, slowEcho bool
}

// DropBeforeCommit cuts all connections when the next write arrives; nothing
// is done.
func (f *Faults) DropBeforeCommit() { f.Set(&f.dropBefore, true) }

// DropAfterCommit cuts all connections when the next write is done, before
// its answer.
func (f *Faults) DropAfterCommit() { f.Set(&f.dropAfter, true) }

// RestartAtCommit reboots the switch when the next write arrives: the write
// is lost with everything that was not saved.
func (f *Faults) RestartAtCommit() { f.Set(&f.restart, true) }

// SlowEcho echoes input byte by byte with a short pause before each.
func (f *Faults) SlowEcho(on bool) { f.Set(&f.slowEcho, on) }

// Clear ends every fault, and the delays that are running.
func (f *Faults) Clear() {
	for _, b := range []*bool{&f.dropBefore, &f.dropAfter, &f.restart, &f.slowEcho} {
		f.Set(b, false)
	}
	f.Faults.Clear()
}

// echoPause is how long SlowEcho waits before each byte.
const echoPause = 2 * time.Millisecond

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
func (f *front) write(command string, do func() string) (string, cli.Fate) {
	return f.Write(cli.Write{Denied: notAuthorised(command), Failure: commitError, Attempt: f.e.Attempt, Do: do, Pretend: f.e.Pretend,
		Before: f.survives, DropAfter: &f.faults.dropAfter})
}

// survives reports whether no fault ends a write at its arrival.
func (f *front) survives() bool {
	switch {
	case f.faults.Take(&f.faults.dropBefore):
		f.e.Attempt()
		f.DropConnections()
		return false
	case f.faults.Take(&f.faults.restart):
		f.e.Attempt()
		_ = f.e.Restart() // fails where the switch is closed, which cuts as well
		return false
	}
	return true
}

// configLine gives a configuration line to a session, unless a fault or the
// account's rights refuse it first.
func (f *front) configLine(s *session, line string) string {
	if f.faults.IsReadOnly() {
		return notAuthorised(line)
	}
	if f.faults.Refuses(strings.TrimSpace(line)) {
		return invalid(line, 0)
	}
	return s.line(line)
}
