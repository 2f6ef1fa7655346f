package atomicfile

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// only checks that dir contains exactly these names.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range es {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("directory holds %q, want %q", got, names)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWrite(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := t.TempDir()
	p := filepath.Join(dir, "f")
	for _, c := range []struct {
		data string
		perm os.FileMode
	}{{"one", 0o644}, {"a longer second", 0o600}, {"", 0o640}} {
		if err := Write(p, []byte(c.data), c.perm); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if content(t, p) != c.data || st.Mode().Perm() != c.perm {
			t.Errorf("got %q mode %o, want %q mode %o", content(t, p), st.Mode().Perm(), c.data, c.perm)
		}
	}
	only(t, dir, "f")
}

func TestLongestName(t *testing.T) {
	p := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
	if err := Write(p, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLinkIsReplacedNotFollowed(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "a-target"), filepath.Join(dir, "b-link")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if content(t, target) != "old" || content(t, link) != "new" {
		t.Errorf("target %q, link %q", content(t, target), content(t, link))
	}
}

func TestFailedRenameLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "d")
	if err := os.MkdirAll(filepath.Join(p, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := Write(p, []byte("x"), 0o600)
	if err == nil || !strings.Contains(err.Error(), p) {
		t.Errorf("error %v does not name %s", err, p)
	}
	only(t, dir, "d")
	if err := Write(filepath.Join(dir, "no", "f"), nil, 0o600); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "f")
	if err := Write(p, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	dropped, err := Create(p, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dropped.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if content(t, p) != "old" {
		t.Error("content is seen before Commit")
	}
	if err := errors.Join(dropped.Close(), dropped.Close()); err != nil {
		t.Error(err)
	}
	if err := dropped.Commit(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Commit after Close: %v", err)
	}
	only(t, dir, "f")
	if content(t, p) != "old" {
		t.Error("a dropped file was put in place")
	}

	f, err := Create(p, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"n", "e", "w"} {
		if _, err := f.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Commit(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Commit: %v", err)
	}
	if content(t, p) != "new" {
		t.Errorf("content %q", content(t, p))
	}
	only(t, dir, "f")
}

func TestReadersSeeWholeFiles(t *testing.T) {
	p := filepath.Join(t.TempDir(), "f")
	a, b := bytes.Repeat([]byte("a"), 100<<10), bytes.Repeat([]byte("b"), 70<<10)
	if err := Write(p, a, 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			got, err := os.ReadFile(p)
			if err != nil || (!bytes.Equal(got, a) && !bytes.Equal(got, b)) {
				t.Errorf("a reader saw %d bytes, %v", len(got), err)
				return
			}
		}
	})
	for i := range 40 {
		if err := Write(p, [][]byte{a, b}[i%2], 0o600); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// TestFullDisk runs itself again with a limit on file sizes: a write that fails half way must not
// be committed, even if the caller ignored the error.
func TestFullDisk(t *testing.T) {
	if p := os.Getenv("ATOMICFILE_LIMITED"); p != "" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000}); err != nil {
			t.Fatal(err)
		}
		if err := Write(p, make([]byte, 5000), 0o600); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("Write: %v", err)
		}
		f, err := Create(p, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(make([]byte, 5000))
		if err := f.Commit(); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("Commit: %v", err)
		}
		return
	}
	dir := t.TempDir()
	p := filepath.Join(dir, "f")
	if err := Write(p, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), "ATOMICFILE_LIMITED="+p)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if content(t, p) != "old" {
		t.Errorf("content %q", content(t, p))
	}
	only(t, dir, "f")
}
