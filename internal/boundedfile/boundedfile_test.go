package boundedfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := Read(file, 4); err != nil || string(b) != "1234" {
		t.Errorf("%q, %v", b, err)
	}
	for path, want := range map[string]string{file: "more than 3 bytes", dir: "is a folder", filepath.Join(dir, "none"): "no such file"} {
		if _, err := Read(path, 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A pipe is read to its end, even if its writer comes late. A pipe without a writer is an error.
func TestReadPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() { // opening blocks until the reader opens the pipe
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("1234")
			err = errors.Join(err, f.Close())
		}
		written <- err
	}()
	if b, err := Read(pipe, 4); err != nil || string(b) != "1234" {
		t.Errorf("%q, %v", b, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	defer func(d time.Duration) { pipeWait = d }(pipeWait)
	pipeWait = 0
	if _, err := Read(pipe, 4); err == nil || !strings.Contains(err.Error(), "no process writes to this pipe") {
		t.Errorf("without a writer: %v", err)
	}
}
