//go:build !unix

package atomicfile

import "os"

// openPipe opens a named pipe for its writer.
func openPipe(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }
