//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// openPipe opens a named pipe for its writer, and waits for a reader.
func openPipe(path string) (*os.File, error) {
	for end := time.Now().Add(pipeWait); ; {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		if time.Now().After(end) {
			return nil, errors.New("the pipe has no reader")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
