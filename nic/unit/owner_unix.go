//go:build unix

package unit

import (
	"io/fs"
	"syscall"
)

// owner returns whose a file is; known is false where the file system does not say.
func owner(st fs.FileInfo) (uid int, known bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
