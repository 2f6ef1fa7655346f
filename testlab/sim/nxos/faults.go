package nxos

import (
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Faults makes a switch misbehave. Faults for the next write apply once; the others stay until
// they are turned off or cleared. A write is everything between entering and leaving
// configuration mode, a dual-stage commit, or a rollback. It is safe for concurrent use.
//
// In configuration mode, RejectNext refuses every line of a write, BeforeWrite runs before the
// first line, GiveUp holds the first line back, FailAfterCommit answers the end of the mode with
// an error, and PretendNext undoes all lines at the end of the write.
type Faults struct {
	cli.Faults

	dropAt, restartAt                          int
	dropAfter, dropInRollback                  bool
	rollbackFails, errorAmongNormal, crLineEnd bool
}

// DropAt drops all connections before configuration line n (from 1) of the next write. The
// effect of earlier lines stays.
func (f *Faults) DropAt(n int) { f.SetCount(&f.dropAt, n) }

// RestartAt reboots the switch before configuration line n (from 1) of the next write. Unsaved
// configuration is lost.
func (f *Faults) RestartAt(n int) { f.SetCount(&f.restartAt, n) }

// DropAfterWrite drops all connections after the next write, before its answer: on leaving
// configuration mode, or at the end of a commit or a rollback.
func (f *Faults) DropAfterWrite() { f.Set(&f.dropAfter, true) }

// DropInRollback drops all connections when the next rollback begins; the switch still completes
// the rollback.
func (f *Faults) DropInRollback() { f.Set(&f.dropInRollback, true) }

// RollbackFails makes every rollback fail with "Rollback failed." and change nothing.
func (f *Faults) RollbackFails(on bool) { f.Set(&f.rollbackFails, on) }

// ErrorAmongNormal prints a line that begins with "ERROR:" within the output of accepted
// configuration lines.
func (f *Faults) ErrorAmongNormal(on bool) { f.Set(&f.errorAmongNormal, on) }

// DoubleReturn ends lines in shells with CR CR LF, as real switches sometimes do
// (ktbyers/netmiko cisco_nxos.py).
func (f *Faults) DoubleReturn(on bool) { f.Set(&f.crLineEnd, on) }

// Clear ends all faults, including delays in progress.
func (f *Faults) Clear() {
	f.DropAt(0)
	f.RestartAt(0)
	for _, b := range []*bool{&f.dropAfter, &f.dropInRollback, &f.rollbackFails, &f.errorAmongNormal, &f.crLineEnd} {
		f.Set(b, false)
	}
	f.Faults.Clear()
}

// denied is the answer to a write from a read-only account.
const denied = "% Permission denied for the role"

// internalError is the answer of RejectNext and FailAfterCommit in configuration mode.
const internalError = "ERROR: internal error while processing the command"

// unsure is the output that ErrorAmongNormal adds.
const unsure = "Note: statistics of the object are reset\nERROR: no statistics were kept for the object\nNote: done"

// entry is a write in configuration mode, with the faults that apply to it.
type entry struct {
	lines             int // number of lines so far
	rejected          bool
	dropAt, restartAt int
	restore           func() // undoes the write for PretendNext; nil if not set
}

// open begins a write at its first line.
func (f *Faults) open() entry {
	return entry{rejected: f.TakeReject(), dropAt: f.TakeCount(&f.dropAt), restartAt: f.TakeCount(&f.restartAt)}
}
