//go:build unix

package unit

import (
	"io/fs"
	"syscall"
)

// owner returns the user ID of a file's owner; known is false if the file system does not provide
// it.
func owner(st fs.FileInfo) (uid int, known bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
