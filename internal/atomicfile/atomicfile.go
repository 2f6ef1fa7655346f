// Package atomicfile replaces a file as a whole: a reader, and a machine that
// loses power, finds the old content or the new one and nothing between.
//
// Do not use it for files that others hold open or that grow line by line: it
// makes a new file under the old name. Where the name is a symbolic link, the
// link is replaced, not what it points to; for a path that a user named there is
// [Output].
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

// errDone is returned by a File that is committed or closed.
var errDone = fmt.Errorf("atomic file: %w", os.ErrClosed)

// Write replaces path with data and gives it mode perm exactly, whatever the
// umask. On an error the old file is as it was and no temporary file is left.
func Write(path string, data []byte, perm fs.FileMode) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	return f.whole(data)
}

// WriteBelow writes a file below a folder, with the folders in between. A link that is
// followed there may not lead out of the folder.
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
		// Nothing yet, or a link to nothing, which is replaced.
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

// File is new content on its way to a path. It is not safe for concurrent
// use.
type File struct {
	path string
	tmp  *os.File
	perm fs.FileMode
	err  error // the first failed write; Commit refuses after it
	// direct is the content of a path that is written to as it is, and not
	// replaced; it has no tmp.
	direct *bytes.Buffer
}

// Create begins to replace path with content that is written piece by piece.
// Nothing is seen under path before [File.Commit]. The caller must call
// [File.Close], most simply deferred: it drops what was not committed.
func Create(path string, perm fs.FileMode) (*File, error) {
	// The name is short whatever the target's is, so it never passes NAME_MAX;
	// CreateTemp makes it private (0600) until the content is complete.
	tmp, err := os.CreateTemp(filepath.Dir(path), ".roce-fabric-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return &File{path: path, tmp: tmp, perm: perm}, nil
}

// whole commits a File of that content alone.
func (f *File) whole(data []byte) error {
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// Write adds to the new content.
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

// Commit puts the content in place and waits until it is on the disk. After a
// write that failed it refuses, so an unchecked Write cannot commit half a
// file. On an error no temporary file is left; path holds the old content,
// unless the message says that only the directory was not synced.
func (f *File) Commit() error {
	if f.direct != nil {
		data := f.direct.Bytes()
		f.direct = nil
		if err := pass(f.path, data); err != nil {
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

// Close drops content that was not committed. It may be called at any time
// and more than once.
func (f *File) Close() error {
	f.direct = nil
	if f.tmp == nil {
		return nil
	}
	tmp := f.tmp
	f.tmp = nil
	return errors.Join(tmp.Close(), os.Remove(tmp.Name()))
}

// syncDir makes a rename durable. Windows cannot sync a directory and does
// not need it.
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
