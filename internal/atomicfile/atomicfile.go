// Package atomicfile replaces whole files: after a crash or a power failure, and at any time in
// between, a reader finds either the old content or the new content.
//
// Do not use it for files that others keep open or that grow line by line, because it creates a
// new file under the old name. If the name is a symbolic link, the link itself is replaced, not
// its target; use [Output] for a path that the user named.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// errDone is returned by a File after Commit or Close.
var errDone = fmt.Errorf("atomic file: %w", os.ErrClosed)

// Write replaces path with data and sets its mode to exactly perm, whatever the umask. On an error
// the old file is unchanged and no temporary file remains.
func Write(path string, data []byte, perm fs.FileMode) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	return f.writeAndCommit(data)
}

// WriteBelow writes a file below dir and creates the folders in between. It fails if a symbolic
// link on the way leads out of dir.
func WriteBelow(dir, name string, data []byte, perm fs.FileMode) error {
	at := filepath.Join(dir, filepath.Dir(name))
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		// Nothing exists there yet, or only a dangling link, which is replaced.
		if real, err = filepath.EvalSymlinks(at); err == nil {
			real = filepath.Join(real, filepath.Base(name))
		}
	}
	if err != nil {
		return err
	}
	if in, err := filepath.Rel(base, real); err != nil || !filepath.IsLocal(in) {
		return fmt.Errorf("%s is a link that leads out of %s, to %s", filepath.Join(dir, name), dir, real)
	}
	return Write(real, data, perm)
}

// File is new content being written for a path. It is not safe for concurrent use.
type File struct {
	path string
	tmp  *os.File
	perm fs.FileMode
	err  error // the first failed write; Commit then fails too
	// direct holds the content for a path that is written in place instead of replaced, such as a
	// pipe; tmp is then nil.
	direct *bytes.Buffer
}

// Create begins to replace path with content that is written piece by piece. Nothing changes at
// path until [File.Commit]. The caller must call [File.Close], usually deferred, which discards
// uncommitted content.
func Create(path string, perm fs.FileMode) (*File, error) {
	// The name is short whatever path is, so it never exceeds NAME_MAX. CreateTemp makes the file
	// private (0600) until the content is complete.
	tmp, err := os.CreateTemp(filepath.Dir(path), ".roce-fabric-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return &File{path: path, tmp: tmp, perm: perm}, nil
}

// writeAndCommit writes data and commits it.
func (f *File) writeAndCommit(data []byte) error {
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// Write appends to the new content.
func (f *File) Write(p []byte) (int, error) {
	if f.direct != nil {
		return f.direct.Write(p)
	}
	if f.tmp == nil {
		return 0, errDone
	}
	n, err := f.tmp.Write(p)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("cannot write %s: %w", f.path, err)
	}
	return n, f.err
}

// Commit puts the content in place and waits until it is on disk. It fails if an earlier Write
// failed, so an unchecked Write cannot commit half a file. On an error no temporary file remains,
// and path keeps the old content unless the message says that only the directory was not synced.
func (f *File) Commit() error {
	if f.direct != nil {
		data := f.direct.Bytes()
		f.direct = nil
		if err := writeInPlace(f.path, data); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.path, err)
		}
		return nil
	}
	if f.tmp == nil {
		return errDone
	}
	tmp := f.tmp
	f.tmp = nil
	err := f.err
	if err == nil {
		err = tmp.Chmod(f.perm)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err != nil {
		if rerr := os.Remove(tmp.Name()); rerr != nil {
			err = errors.Join(err, rerr)
		}
		if f.err != nil {
			return err
		}
		return fmt.Errorf("cannot write %s: %w", f.path, err)
	}
	if err := syncDir(filepath.Dir(f.path)); err != nil {
		return fmt.Errorf("%s is written but its directory is not synced: %w", f.path, err)
	}
	return nil
}

// Close discards content that was not committed. It may be called at any time, more than once.
func (f *File) Close() error {
	f.direct = nil
	if f.tmp == nil {
		return nil
	}
	tmp := f.tmp
	f.tmp = nil
	return errors.Join(tmp.Close(), os.Remove(tmp.Name()))
}

// syncDir makes a rename in the directory durable. Windows cannot sync a directory and does not
// need to.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
