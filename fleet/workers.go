package fleet

import (
	"runtime/debug"
	"syscall"
)

// Numbers of file descriptors: for the process itself, and at most for one device (gNMI,
// SSH, and a jump host).
const (
	ownFiles    = 32
	deviceFiles = 3
)

// MaxWorkers returns how many devices can be worked on at the same time within the limit
// of open files of this process, at least one; files is that limit. Package os raises it to
// the hard limit when the program starts.
func MaxWorkers() (workers int, files uint64) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1 << 20, 1 << 20 // unknown: opening a file fails once the limit is reached
	}
	free := min(l.Cur, 1<<20) - min(l.Cur, ownFiles)
	return int(max(1, free/deviceFiles)), l.Cur
}

// Smallest and largest limit on one answer of a device, in bytes, and the memory that
// decoding takes as a multiple of the answer: 48 MB of JSON took 281 MB. The whole CONFIG_DB
// of a large switch exceeds 4 MB.
const (
	leastAnswer = 8 << 20
	mostAnswer  = 64 << 20
	madeOut     = 6
)

// maxAnswer returns the maximum size in bytes of one answer of a device when workers
// devices are worked on at a time. All answers together then take at most half of the
// memory limit ([debug.SetMemoryLimit]), unless leastAnswer is more than the share.
func maxAnswer(workers int) int {
	share := debug.SetMemoryLimit(-1) / (2 * madeOut * int64(max(1, workers)))
	return int(min(max(share, leastAnswer), mostAnswer))
}
