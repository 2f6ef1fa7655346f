package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// FS is the part of a file system that is needed to read and write the kernel's pseudo file
// systems. Names are absolute. Errors wrap those of io/fs and [syscall.Errno], as in package os. An
// FS is safe for concurrent use.
type FS interface {
	// ReadFile returns a whole file; it fails if the file has more than [MaxFile] bytes.
	ReadFile(name string) ([]byte, error)
	// WriteFile writes data to an existing file in a single write.
	WriteFile(name string, data []byte) error
	// Mkdir creates one directory; Remove removes an empty one.
	Mkdir(name string) error
	Remove(name string) error
	// ReadDir returns the sorted names in a directory; it fails if there are more than [maxDir].
	ReadDir(name string) ([]string, error)
	// Readlink returns the target of a symbolic link.
	Readlink(name string) (string, error)
}

// Limits for reading: the size of a file in bytes, and the entries of a directory.
const (
	MaxFile = 1 << 20
	maxDir  = 1 << 16
)

// OS is the file system of the machine that the program runs on.
type OS struct{}

var _ FS = OS{}

// ReadFile implements FS.
func (OS) ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(b) > MaxFile {
		err = fmt.Errorf("read %s: more than %d bytes", name, MaxFile)
	}
	return b, err
}

// WriteFile does not create a file, so that it cannot create one that the kernel does not offer.
func (OS) WriteFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Mkdir implements FS.
func (OS) Mkdir(name string) error { return os.Mkdir(name, 0o755) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// ReadDir implements FS.
func (OS) ReadDir(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxDir + 1)
	if errors.Is(err, io.EOF) {
		err = nil // an empty directory
	}
	if err == nil && len(names) > maxDir {
		err = fmt.Errorf("read %s: more than %d entries", name, maxDir)
	}
	slices.Sort(names)
	return names, err
}

// Readlink implements FS.
func (OS) Readlink(name string) (string, error) { return os.Readlink(name) }

// isGone reports whether an error means that a device or file does not exist, or no longer: a
// device may disappear while it is read.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO)
}

// denied reports whether err is a permission error.
func denied(err error) bool { return errors.Is(err, fs.ErrPermission) }

// text returns the first line of a file without surrounding white space.
func (m *Machine) text(name string) (string, error) {
	b, err := m.fs().ReadFile(name)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line), nil
}

// number returns the decimal number in a file, 0..2^63-1.
func (m *Machine) number(name string) (int64, error) {
	s, err := m.text(name)
	if err != nil {
		return 0, err
	}
	n, ok := decimal(s)
	if !ok {
		return 0, fmt.Errorf("%s: %q is not a number", name, clip(s))
	}
	return n, nil
}

// setNumber writes a number into a file.
func (m *Machine) setNumber(name string, n int) error {
	return m.fs().WriteFile(name, []byte(strconv.Itoa(n)+"\n"))
}

// list returns the names in a directory; none if the directory does not exist.
func (m *Machine) list(name string) ([]string, error) {
	l, err := m.fs().ReadDir(name)
	if isGone(err) {
		return nil, nil
	}
	return l, err
}

// has reports whether a directory or link exists and is visible.
func (m *Machine) has(name string) bool {
	if _, err := m.fs().Readlink(name); err == nil {
		return true
	}
	_, err := m.fs().ReadDir(name)
	return err == nil
}
