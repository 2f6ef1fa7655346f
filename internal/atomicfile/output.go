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
// file is replaced as [Create] does, at the end of the links that lead to it. A
// device or a pipe stays what it is and gets the content at [File.Commit], which is
// kept in memory until then and fails where nobody reads a pipe; so does standard
// output or error, whatever it is called and wherever it leads. A path that
// [CheckOutput] refuses is an error.
//
// Do not use it where nobody but this program may choose the file: it follows
// links.
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

// WriteOutput writes data to a path that a user named, as [Output] does.
func WriteOutput(path string, data []byte, perm fs.FileMode) error {
	f, err := Output(path, perm)
	if err != nil {
		return err
	}
	return f.whole(data)
}

// CheckOutput says, before there is anything to write, why [Output] cannot write to
// a path: it is a folder, a socket or a disk, or its folder is not there. replaced
// says that a file is there, whose content would be gone.
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
		return false, fmt.Errorf("%s is no folder", filepath.Dir(at))
	}
	if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	return false, nil
}

// maxLinks is how many links are followed, as many as Linux does.
const maxLinks = 40

// destination is the file at the end of the links from a path, which need not be
// there, or else the path itself with direct set: what is there is written to as it
// is.
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

// dangling is destination for a path that leads to nothing yet. ".." is that of the
// folder that a link leads to, hence no filepath.Join before it is known.
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
			return at, nil // no link
		}
		if path = to; !filepath.IsAbs(to) {
			path = dir + string(filepath.Separator) + to
		}
	}
	return "", fmt.Errorf("%s leads through too many links", path)
}

// standard is standard output or error where a file is one of them, else nil.
// Another descriptor of the same file would have a position of its own, and the two
// would overwrite each other.
func standard(there fs.FileInfo) *os.File {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if st, err := f.Stat(); err == nil && os.SameFile(st, there) {
			return f
		}
	}
	return nil
}

// pipeWait bounds the wait for a pipe's reader: to come, and to go on. Tests
// shorten it.
var pipeWait = 10 * time.Second

// pass writes to a device or pipe.
func pass(path string, data []byte) (err error) {
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

// pipe bounds the wait for its reader.
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

// Stream opens a file that a user named, with the flags of [os.OpenFile], to write to it
// piece by piece. It may be a device or a pipe, which is an error where nobody reads it.
// It follows links, as [Output] does.
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
