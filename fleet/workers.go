package fleet

import (
	"runtime/debug"
	"syscall"
)

// Files that a process needs: for itself, and at most for one device, over gNMI, over
// SSH and to a jump host.
const (
	ownFiles    = 32
	deviceFiles = 3
)

// MaxWorkers is how many devices can be worked on at the same time with the files that
// this process may open, at least one; files is that limit. Go has raised it to the
// hard limit at the start (package os).
func MaxWorkers() (workers int, files uint64) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1 << 20, 1 << 20 // the limit shows itself where it is met
	}
	free := min(l.Cur, 1<<20) - min(l.Cur, ownFiles)
	return int(max(1, free/deviceFiles)), l.Cur
}

// The bounds of one answer of a device, in bytes, and how much memory it takes while it
// is made out: 48 MB of JSON took 281 MB. The whole CONFIG_DB of a large switch passes
// 4 MB.
const (
	leastAnswer = 8 << 20
	mostAnswer  = 64 << 20
	madeOut     = 6
)

// maxAnswer is how many bytes one answer of a device may have, where so many are worked on
// at a time, so that the answers to all of them take at most half of the memory limit
// ([debug.SetMemoryLimit]).
func maxAnswer(workers int) int {
	share := debug.SetMemoryLimit(-1) / (2 * madeOut * int64(max(1, workers)))
	return int(min(max(share, leastAnswer), mostAnswer))
}
