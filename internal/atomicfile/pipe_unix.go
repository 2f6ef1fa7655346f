//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// openPipe opens a file, which may be a named pipe, for writing. It waits up to pipeWait for the
// pipe's reader.
func openPipe(path string, flag int, perm os.FileMode) (*os.File, error) {
	for end := time.Now().Add(pipeWait); ; {
		f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, perm)
		if !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		if time.Now().After(end) {
			return nil, errors.New("the pipe has no reader")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
