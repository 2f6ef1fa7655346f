package nxos

import (
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Faults make a switch misbehave. Those that concern the next write are used
// up by it; the others stay until they are switched off or cleared. A write is
// what happens between entering and leaving the configuration mode, a commit of
// the dual-stage mode, or a rollback. Safe for concurrent use.
//
// In the configuration mode, RejectNext refuses every line of a write,
// BeforeWrite runs before the first line, GiveUp holds the first line back,
// FailAfterCommit answers the end of the mode with an error, and PretendNext
// undoes all lines at its end.
type Faults struct {
	cli.Faults

	dropAt, restartAt                          int
	dropAfter, dropInRollback                  bool
	rollbackFails, errorAmongNormal, crLineEnd bool
}

// DropAt cuts all connections before the n-th configuration line of the next
// write, from 1; what came before stays.
func (f *Faults) DropAt(n int) { f.SetCount(&f.dropAt, n) }

// RestartAt reboots the switch before the n-th configuration line of the next
// write, from 1: what was not saved is lost.
func (f *Faults) RestartAt(n int) { f.SetCount(&f.restartAt, n) }

// DropAfterWrite cuts all connections when the next write is done, before its
// answer: on leaving the configuration mode, or at the end of a commit or a
// rollback.
func (f *Faults) DropAfterWrite() { f.Set(&f.dropAfter, true) }

// DropInRollback cuts all connections when the next rollback begins; the box
// carries it out all the same.
func (f *Faults) DropInRollback() { f.Set(&f.dropInRollback, true) }

// RollbackFails refuses every rollback with "Rollback failed."; nothing is
// done.
func (f *Faults) RollbackFails(on bool) { f.Set(&f.rollbackFails, on) }

// ErrorAmongNormal prints a line that begins with "ERROR:" among the normal
// output of configuration lines that are accepted.
func (f *Faults) ErrorAmongNormal(on bool) { f.Set(&f.errorAmongNormal, on) }

// DoubleReturn ends lines in shells with CR CR LF, as a box does now and then
// (ktbyers/netmiko cisco_nxos.py).
func (f *Faults) DoubleReturn(on bool) { f.Set(&f.crLineEnd, on) }

// Clear ends every fault, and the delays that are running.
func (f *Faults) Clear() {
	f.DropAt(0)
	f.RestartAt(0)
	for _, b := range []*bool{&f.dropAfter, &f.dropInRollback, &f.rollbackFails, &f.errorAmongNormal, &f.crLineEnd} {
		f.Set(b, false)
	}
	f.Faults.Clear()
}

// denied is what an account hears that may not write.
const denied = "% Permission denied for the role"

// internalError is what RejectNext and FailAfterCommit say in the
// configuration mode.
const internalError = "ERROR: internal error while processing the command"

// unsure is what ErrorAmongNormal says.
const unsure = "Note: statistics of the object are reset\nERROR: no statistics were kept for the object\nNote: done"

// entry is one write in the configuration mode: what the faults make of it.
type entry struct {
	lines             int // that came
	rejected          bool
	dropAt, restartAt int
	restore           func() // of PretendNext; nil without
}

// open begins a write with its first line.
func (f *Faults) open() entry {
	return entry{rejected: f.TakeReject(), dropAt: f.TakeCount(&f.dropAt), restartAt: f.TakeCount(&f.restartAt)}
}
