package ownfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Open rejects links and other non-regular files at once, and leaves what they point to unchanged.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(in("target"), []byte("kept"), 0o600))
	must(os.Symlink("target", in("link")))
	must(os.Symlink("missing", in("dangling")))
	must(os.Link(in("target"), in("second name")))
	must(syscall.Mkfifo(in("pipe"), 0o600))
	must(os.Mkdir(in("folder"), 0o700))
	for name, want := range map[string]string{"link": "symbolic link", "dangling": "symbolic link", "pipe": "a pipe", "folder": "a folder", "second name": "2 hard links"} {
		for _, flag := range []int{os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_APPEND | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_TRUNC} {
			f, err := Open(in(name), flag, 0o600)
			if err == nil {
				_ = f.Close()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, flags %#x: %v, want %q", name, flag, err, want)
			}
		}
		if _, err := Read(in(name), 10); name != "second name" && err == nil {
			t.Errorf("%s is read", name)
		}
	}
	if b, err := os.ReadFile(in("target")); err != nil || string(b) != "kept" {
		t.Errorf("the target holds %q, %v", b, err)
	}
	if _, err := os.Lstat(in("missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to nothing was followed: %v", err)
	}
}

func TestRegularFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, err := Read(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for _, c := range []struct {
		flag int
		want string
	}{{os.O_CREATE | os.O_WRONLY, "abc"}, {os.O_APPEND | os.O_WRONLY, "abcabc"}, {os.O_TRUNC | os.O_RDWR, "abc"}} {
		f, err := Open(path, c.flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("abc")
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if b, err := Read(path, 6); err != nil || string(b) != c.want {
			t.Errorf("flags %#x: %q, %v, want %q", c.flag, b, err, c.want)
		}
	}
	if _, err := Read(path, 2); err == nil {
		t.Error("a file above the limit is read")
	}
}
