//go:build !unix

package atomicfile

import "os"

// openPipe opens a file, which may be a named pipe, for writing.
func openPipe(path string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}
