package atomicfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Output begins to write what a user asked for at a path that the user named. A
// regular file is replaced as [Create] does, after links are followed. A device, a pipe, and
// standard output or error under any name are written in place: their content is kept in memory
// until [File.Commit], which fails if nobody reads the pipe. Output fails for a path that
// [CheckOutput] rejects.
//
// Do not use it for a file that only this program may choose, because it follows links.
func Output(path string, perm fs.FileMode) (*File, error) {
	at, direct, err := destination(path)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	if !direct {
		return Create(at, perm)
	}
	return &File{path: path, direct: &bytes.Buffer{}}, nil
}

// WriteOutput writes data to a path that the user named, as [Output] does.
func WriteOutput(path string, data []byte, perm fs.FileMode) error {
	f, err := Output(path, perm)
	if err != nil {
		return err
	}
	return f.writeAndCommit(data)
}

// CheckOutput reports, before anything is written, why [Output] cannot write to a path: it is a
// folder, a socket or a disk, or its folder does not exist. replaced is true if a file exists
// there, whose content would be lost.
func CheckOutput(path string) (replaced bool, err error) {
	at, direct, err := destination(path)
	if err != nil {
		return false, err
	}
	if direct {
		return false, nil
	}
	if st, err := os.Stat(filepath.Dir(at)); err != nil {
		return false, err
	} else if !st.IsDir() {
		return false, fmt.Errorf("%s is not a folder", filepath.Dir(at))
	}
	if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	return false, nil
}

// maxLinks is the maximum number of links to follow, the same as on Linux.
const maxLinks = 40

// destination follows the links from a path to the file at their end, which need not exist. If
// that is a device or pipe, or standard output or error, it returns the path itself with direct
// set: the content is then written in place.
func destination(path string) (at string, direct bool, err error) {
	there, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		at, err = dangling(path)
		return at, false, err
	case err != nil:
		return "", false, err
	case there.IsDir():
		return "", false, fmt.Errorf("%s is a folder", path)
	case standard(there) != nil, there.Mode()&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0:
		return path, true, nil
	case !there.Mode().IsRegular():
		return "", false, fmt.Errorf("%s is not a file, device or pipe that can be written", path)
	}
	at, err = filepath.EvalSymlinks(path)
	return at, false, err
}

// dangling is destination for a path that leads to nothing yet. After a link to a folder, ".."
// means the parent of the link's target, so paths are joined only after links are resolved.
func dangling(path string) (string, error) {
	for range maxLinks {
		dir, name := filepath.Split(path)
		dir, err := filepath.EvalSymlinks(cmp.Or(dir, "."))
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		at := filepath.Join(dir, name)
		to, err := os.Readlink(at)
		if err != nil {
			return at, nil // not a link
		}
		if path = to; !filepath.IsAbs(to) {
			path = dir + string(filepath.Separator) + to
		}
	}
	return "", fmt.Errorf("%s leads through too many links", path)
}

// standard returns os.Stdout or os.Stderr if the file is one of them, and nil otherwise. Another
// descriptor for the same file would have its own position, so the two would overwrite each other.
func standard(there fs.FileInfo) *os.File {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if st, err := f.Stat(); err == nil && os.SameFile(st, there) {
			return f
		}
	}
	return nil
}

// pipeWait is how long to wait for the reader of a pipe to open it, and to read on. Tests shorten
// it.
var pipeWait = 10 * time.Second

// writeInPlace writes data to a device or pipe in place.
func writeInPlace(path string, data []byte) (err error) {
	there, err := os.Stat(path)
	if err != nil {
		return err
	}
	if std := standard(there); std != nil {
		_, err := std.Write(data)
		return err
	}
	if there.Mode()&fs.ModeNamedPipe == 0 {
		out, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return errors.Join(err, out.Close())
	}
	out, err := openPipe(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = pipe{out}.Write(data)
	return errors.Join(err, out.Close())
}

// pipe is a named pipe whose writes fail if its reader does not read for pipeWait.
type pipe struct{ *os.File }

func (p pipe) Write(data []byte) (n int, _ error) {
	for part := range slices.Chunk(data, 64<<10) {
		if err := p.SetWriteDeadline(time.Now().Add(pipeWait)); err != nil {
			return n, err
		}
		m, err := p.File.Write(part)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Stream opens a file that the user named, with the flags of [os.OpenFile], for writing piece by
// piece. It may be a device or a pipe; a pipe that nobody reads is an error. Stream follows links,
// as [Output] does.
func Stream(path string, flag int, perm fs.FileMode) (io.WriteCloser, error) {
	f, err := openPipe(path, flag, perm)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(err, f.Close())
	case st.Mode()&fs.ModeNamedPipe != 0:
		return pipe{f}, nil
	}
	return f, nil
}
