package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Output begins to write what a user asked for at a path that the user named. A
// file is replaced as [Create] does, at the end of the links that lead to it. A
// device or a pipe stays what it is and gets the content at [File.Commit]; so does
// standard output or error, whatever it is called and wherever it leads. What
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
	tmp, err := os.CreateTemp("", "roce-fabric-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return &File{path: path, tmp: tmp, direct: true}, nil
}

// WriteOutput writes data to a path that a user named, as [Output] does.
func WriteOutput(path string, data []byte, perm fs.FileMode) error {
	f, err := Output(path, perm)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
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
		there = nil
	case err != nil:
		return "", false, err
	case there.IsDir():
		return "", false, fmt.Errorf("%s is a folder", path)
	case standard(there) != nil, there.Mode()&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0:
		return path, true, nil
	case !there.Mode().IsRegular():
		return "", false, fmt.Errorf("%s is no file, device or pipe that can be written", path)
	}
	at = path
	for range maxLinks {
		st, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && there == nil:
			return at, false, nil
		case err != nil:
			return "", false, err
		case st.Mode()&fs.ModeSymlink == 0:
			return at, false, nil
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", false, err
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(at))
			if err != nil {
				return "", false, err
			}
			to = filepath.Join(dir, to)
		}
		at = to
	}
	return "", false, fmt.Errorf("%s leads through too many links", path)
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

// pass copies what is written to the device or pipe that it is for.
func (f *File) pass(tmp *os.File) (err error) {
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	there, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if std := standard(there); std != nil {
		_, err := io.Copy(std, tmp)
		return err
	}
	out, err := os.OpenFile(f.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, tmp)
	return err
}
