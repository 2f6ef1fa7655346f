//go:build !unix

package atomicfile

import "os"

// openPipe opens a file that may be a named pipe for its writer.
func openPipe(path string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}
