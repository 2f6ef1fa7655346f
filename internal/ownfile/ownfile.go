// Package ownfile opens the files that this program keeps for itself: locks, journals, logs. Other
// users may be able to write to the folder of such a file, so its name may have become a link or a
// pipe.
//
// Do not use it for a file that the user names, which may legitimately be a link or a pipe: see
// packages atomicfile and boundedfile.
package ownfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a regular file like [os.OpenFile]. It does not follow a link in the last part of the
// path, does not wait for a pipe, and fails for anything but a regular file. A file opened for
// writing must not have a second hard link, because writes would show up there too.
func Open(path string, flag int, perm fs.FileMode) (_ *os.File, err error) {
	// Truncate only after the checks below, so that nothing else is changed.
	cut := flag & os.O_TRUNC
	f, err := os.OpenFile(path, flag&^os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, perm)
	if err != nil {
		if st, e := os.Lstat(path); e == nil && !st.Mode().IsRegular() {
			err = notRegular(path, st)
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // nothing was written
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, notRegular(path, st)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Nlink > 1 && flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		return nil, fmt.Errorf("%s has %d hard links; expected only one name", path, sys.Nlink)
	}
	if cut != 0 {
		return f, f.Truncate(0)
	}
	return f, nil
}

func notRegular(path string, st fs.FileInfo) error {
	return fmt.Errorf("%s is %s, not a regular file", path, kind(st.Mode()))
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Read returns the content of a regular file of at most limit bytes, opened as [Open] does.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return b, nil
}
