package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestOutputFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	target, first, dangling := filepath.Join(dir, "sub", "f"), filepath.Join(dir, "a"), filepath.Join(dir, "c")
	link(t, "b", first)
	link(t, filepath.Join("sub", "f"), filepath.Join(dir, "b"))
	link(t, "sub/new", dangling)
	for _, data := range []string{"one", "a longer second"} {
		if err := WriteOutput(first, []byte(data), 0o640); err != nil {
			t.Fatal(err)
		}
		st, err := os.Lstat(target)
		if err != nil || st.Mode() != 0o640 || content(t, target) != data {
			t.Errorf("the target is %v (%v)", st, err)
		}
	}
	if replaced, err := CheckOutput(dangling); err != nil || replaced {
		t.Errorf("of a link to nothing: %t, %v", replaced, err)
	}
	if err := WriteOutput(dangling, []byte("x"), 0o640); err != nil {
		t.Fatal(err)
	}
	only(t, filepath.Join(dir, "sub"), "f", "new")
	for _, name := range []string{"a", "b", "c"} {
		if st, err := os.Lstat(filepath.Join(dir, name)); err != nil || st.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	if replaced, err := CheckOutput(first); err != nil || !replaced {
		t.Errorf("of a link to a file: %t, %v", replaced, err)
	}
}

// TestOutputAboveALink checks that ".." after a link to a folder means that folder's parent.
func TestOutputAboveALink(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"releases/42", "releases/shared", "shared"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "releases/42", filepath.Join(dir, "current"))
	link(t, "current/../shared/f", filepath.Join(dir, "out"))
	for _, data := range []string{"one", "two"} { // the link dangles only the first time
		if err := WriteOutput(filepath.Join(dir, "out"), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := content(t, filepath.Join(dir, "releases", "shared", "f")); got != data {
			t.Errorf("it holds %q, want %q", got, data)
		}
	}
	only(t, filepath.Join(dir, "shared"))
}

func TestOutputToAPipeOrDevice(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// Opened for reading and writing, so that neither end blocks.
	r, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	link(t, "pipe", filepath.Join(dir, "to-pipe"))
	for _, name := range []string{pipe, filepath.Join(dir, "to-pipe")} {
		if replaced, err := CheckOutput(name); err != nil || replaced {
			t.Errorf("of a pipe: %t, %v", replaced, err)
		}
		f, err := Output(name, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("lost")); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil { // discards the content
			t.Fatal(err)
		}
		if err := WriteOutput(name, []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 10)
		if n, err := r.Read(got); err != nil || string(got[:n]) != "new" {
			t.Errorf("the pipe got %q, %v", got[:n], err)
		}
	}
	only(t, dir, "pipe", "to-pipe")
	if st, err := os.Lstat(pipe); err != nil || st.Mode() != fs.ModeNamedPipe|0o600 {
		t.Errorf("the pipe is %v (%v)", st, err)
	}
	if err := WriteOutput(os.DevNull, []byte("x"), 0o644); err != nil {
		t.Error(err)
	}
	if st, err := os.Lstat(os.DevNull); err != nil || st.Mode()&fs.ModeCharDevice == 0 {
		t.Errorf("the device is %v (%v)", st, err)
	}
}

// A pipe without a reader, or whose reader stops reading, makes the write fail instead of hang.
func TestOutputToAPipeThatNobodyReads(t *testing.T) {
	defer func(d time.Duration) { pipeWait = d }(pipeWait)
	pipeWait = 10 * time.Millisecond
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteOutput(pipe, []byte("x"), 0o644); err == nil || !strings.Contains(err.Error(), "the pipe has no reader") {
		t.Errorf("without a reader: %v", err)
	}
	r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := WriteOutput(pipe, make([]byte, 4<<20), 0o644); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("with a reader that stops: %v", err)
	}
}

func TestOutputRefuses(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	link(t, "loop", filepath.Join(dir, "loop"))
	for name, want := range map[string]string{".": "is a folder", "s": "is not a file, device or pipe", "loop": "too many", "no/f": "no such file", "s/f": "not a directory"} {
		path := filepath.Join(dir, name)
		_, err := CheckOutput(path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if err := WriteOutput(path, nil, 0o600); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s is written: %v", name, err)
		}
	}
	only(t, dir, "loop", "s")
}

// Stream appends to files that the user named, also through links, and to a pipe with a reader. It
// does not wait forever for the reader of another pipe.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	log, link, fifo := filepath.Join(dir, "log"), filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.Symlink("log", link), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	const flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	add := func(path string) error {
		w, err := Stream(path, flag, 0o600)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, "line\n")
		return errors.Join(err, w.Close())
	}
	if err := errors.Join(add(log), add(link)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(log); err != nil || string(b) != "line\nline\n" {
		t.Errorf("%q, %v", b, err)
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	if err := add(fifo); err != nil {
		t.Error(err)
	}
	if s := <-got; s != "line\n" {
		t.Errorf("the reader got %q", s)
	}
	defer func(d time.Duration) { pipeWait = d }(pipeWait)
	pipeWait = 0
	if err := add(fifo); err == nil || !strings.Contains(err.Error(), "no reader") {
		t.Errorf("a pipe without a reader: %v", err)
	}
}
