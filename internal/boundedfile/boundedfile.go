// Package boundedfile reads whole files that someone else wrote. It returns an error for a file
// larger than the caller expects, instead of using up memory, and for anything that is not a file.
//
// Do not use it for secrets, whose file mode must be checked as well.
package boundedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// pipeWait is how long to wait for a writer of a pipe, checked every pipePause. Tests shorten it.
var pipeWait = 10 * time.Second

const pipePause = 20 * time.Millisecond

// Read returns the content of a file of at most limit bytes. It also reads a pipe. A folder, a
// larger file or a pipe without a writer is an error.
func Read(path string, limit int64) (b []byte, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if st.IsDir() {
		return nil, fmt.Errorf("%s is a folder", path)
	}
	b, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return b, nil
}

// File is a file opened for reading.
type File struct {
	*os.File
	silent time.Time // when a pipe must have had a writer; zero once it has had one
}

// Open opens a file for reading. Unlike [os.Open] it does not wait for the writer of a pipe: Read
// waits, and fails if no writer comes.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	out := &File{File: f}
	if st, err := f.Stat(); err == nil && st.Mode()&fs.ModeNamedPipe != 0 {
		out.silent = time.Now().Add(pipeWait)
	}
	return out, nil
}

// Read implements [io.Reader].
func (f *File) Read(b []byte) (n int, err error) {
	for {
		n, err = f.File.Read(b)
		if n > 0 {
			f.silent = time.Time{}
		}
		if f.silent.IsZero() || !errors.Is(err, io.EOF) {
			return n, err
		}
		// Reading a pipe without a writer returns EOF, but a writer may still come.
		if time.Now().After(f.silent) {
			return 0, fmt.Errorf("%s: no process writes to this pipe", f.Name())
		}
		time.Sleep(pipePause)
	}
}
