package fleet

import "syscall"

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
