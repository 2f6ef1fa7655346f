package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/fleet/store/storetest"
)

// edit replaces the content of a file with what change returns for it.
func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func place(dir string) *storetest.Place {
	file := func(id store.ID) string { return filepath.Join(dir, id.String()+".journal") }
	return &storetest.Place{
		Where: dir, Fabric: "pod1", Virtual: true,
		Lose: func(t *testing.T) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
				t.Fatal(err)
			}
		},
		Damage: func(t *testing.T, id store.ID, at int64) {
			t.Helper()
			edit(t, file(id), func(b []byte) []byte { copy(b[at:], "\x00\x00\x00"); return b })
		},
		Tear: func(t *testing.T, id store.ID) {
			t.Helper()
			edit(t, file(id), func(b []byte) []byte { return b[:len(b)-4] })
		},
		Many: func(t *testing.T, n int) {
			t.Helper()
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if err := os.WriteFile(file(store.ID{Number: uint64(i + 1), Run: "run"}), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
}

func TestDir(t *testing.T) {
	storetest.Run(t, store.Open,
		func(t *testing.T) *storetest.Place { return place(filepath.Join(t.TempDir(), "pod1")) },
		func(t *testing.T) (*storetest.Place, func()) {
			dir := t.TempDir()
			if err := syscall.Mount("none", dir, "tmpfs", 0, "size=600k"); err != nil {
				t.Skipf("no small disk: %v; TestDirWithLimitedFiles bounds the size of files instead", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(dir, 0); err != nil {
					t.Error(err)
				}
			})
			filler := filepath.Join(dir, "filler")
			if err := os.WriteFile(filler, make([]byte, 200_000), 0o600); err != nil {
				t.Fatal(err)
			}
			return place(dir), func() {
				if err := os.Remove(filler); err != nil {
					t.Fatal(err)
				}
			}
		})
}

// TestDirWithLimitedFiles simulates a full disk without root, with RLIMIT_FSIZE. It runs
// in a process of its own, because the limit applies to the whole process, in which go
// test has files open.
func TestDirWithLimitedFiles(t *testing.T) {
	dir := os.Getenv("STORE_LIMITED")
	if dir == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDirWithLimitedFiles$", "-test.v")
		cmd.Env = append(os.Environ(), "STORE_LIMITED="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 450_000, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	l, err := store.Dir(dir).Lock(t.Context(), store.Self("run1", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	j, err := l.Create(t.Context(), "run1")
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(`"` + strings.Repeat("x", 300_000) + `"`)
	if err := errors.Join(j.Append(t.Context(), line), j.Append(t.Context(), []byte("1"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, j.ID().String()+".journal")
	if err := j.Append(t.Context(), line); !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), path) {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old), j.Append(t.Context(), []byte("2"))); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, slices.Concat(line, []byte("\n1\n2\n"))) {
		t.Errorf("it holds %d bytes, %v", len(b), err)
	}
}

// Journals of earlier versions have names that begin with a time instead of a number.
func TestJournalsWithoutNumbers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"20260102-030405678-abcd", "20251231-235959999-0001", "run7"} {
		if err := os.WriteFile(filepath.Join(dir, name+".journal"), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"x.txt", "dir.journal"} {
		if err := os.Mkdir(filepath.Join(dir, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := store.Dir(dir)
	l, err := s.Lock(t.Context(), store.Self("new", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	j, err := l.Create(t.Context(), "20200101-000000000-0000")
	if err == nil {
		err = errors.Join(j.Append(t.Context(), []byte("{}")), j.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	ids, err := s.Journals(t.Context())
	if got := fmt.Sprint(ids); err != nil || got != "[20251231-235959999-0001 20260102-030405678-abcd run7 n000000000001.20200101-000000000-0000]" {
		t.Errorf("%s, %v", got, err)
	}
	for r, err := range s.Records(t.Context(), ids[0], 0) {
		if err != nil || string(r.Data) != "{}" {
			t.Errorf("%q, %v", r.Data, err)
		}
	}
}

// A killed process loses its lock at once on its own machine, even if its note is fresh.
func TestCrashFreesTheLockAtOnce(t *testing.T) {
	p := place(t.TempDir())
	one := p.Start(t, "host1")
	if got := one.Do(t, "lock run1"); got != "ok" {
		t.Fatal(got)
	}
	if err := one.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = one.Wait() // it was killed
	// A machine with another kernel cannot see that the process is gone, and must wait.
	if o, err := store.Machine(p.Where, "other", time.Hour).Holder(t.Context()); err != nil || o == nil || o.Run != "run1" {
		t.Errorf("from another machine: %v, %v", o, err)
	}
	l, err := store.Dir(p.Where).Lock(t.Context(), store.Self("run2", ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// For a holder on another machine only the age of its note counts, by the file system's
// clock.
func TestHolderOnAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	lock := filepath.Join(dir, "lock")
	note := `{"user":"ann","host":"far","process":1,"since":"2001-01-01T00:00:00Z","run":"run1","boot":"other"}`
	if err := os.WriteFile(lock, []byte(note), 0o600); err != nil {
		t.Fatal(err)
	}
	s := store.Dir(dir)
	_, err := s.Lock(t.Context(), store.Self("run2", ""))
	if !errors.Is(err, store.ErrHeld) || !strings.Contains(err.Error(), "of ann on far, since 2001-01-01") {
		t.Errorf("a fresh note: %v", err)
	}
	if o, err := s.Holder(t.Context()); err != nil || o == nil || o.Host != "far" {
		t.Errorf("a fresh note: %v, %v", o, err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if o, err := s.Holder(t.Context()); err != nil || o != nil {
		t.Errorf("an old note: %v, %v", o, err)
	}
	l, err := s.Lock(t.Context(), store.Self("run2", ""))
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Create(t.Context(), "run2")
	if err != nil {
		t.Fatal(err)
	}
	// The other holder was only slow, and its file system let it take the lock as well.
	edit(t, lock, func([]byte) []byte { return []byte(note) })
	if err := j.Append(t.Context(), []byte("1")); !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "of ann on far") {
		t.Errorf("after another took it: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(lock); err != nil || string(b) != note {
		t.Errorf("the note of the other is %q, %v", b, err)
	}
}

// A held lock is renewed. It is lost as soon as someone else, or nobody, holds it.
func TestLeaseInAFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		const ttl = 3 * time.Second
		l, err := store.Machine(dir, "one", ttl).Lock(t.Context(), store.Self("run1", ""))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := l.Guard(t.Context())
		defer cancel()
		lock := filepath.Join(dir, "lock")
		old := time.Unix(1, 0)
		for range 20 {
			if err := os.Chtimes(lock, old, old); err != nil {
				t.Fatal(err)
			}
			time.Sleep(ttl / 5)
			if st, err := os.Stat(lock); err != nil || !st.ModTime().After(old) || ctx.Err() != nil {
				t.Fatalf("not renewed: %v, %v", err, context.Cause(ctx))
			}
		}
		if err := os.Rename(lock, lock+".away"); err != nil {
			t.Fatal(err)
		}
		lost := time.Now()
		<-ctx.Done()
		if err := context.Cause(ctx); !errors.Is(err, store.ErrLost) || time.Since(lost) > ttl/5 {
			t.Errorf("after %s: %v", time.Since(lost), err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	})
}

// A lock that cannot be renewed is lost before another run may take it.
func TestLeaseThatCannotBeRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l, err := store.Machine(dir, "one", store.TTL).Lock(t.Context(), store.Self("run1", ""))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := l.Guard(t.Context())
		defer cancel()
		// A folder in place of the lock file exists but cannot be read.
		lock := filepath.Join(dir, "lock")
		if err := errors.Join(os.Rename(lock, lock+".away"), os.Mkdir(lock, 0o700)); err != nil {
			t.Fatal(err)
		}
		taken := time.Now()
		<-ctx.Done()
		if err := context.Cause(ctx); !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "not renewed within") || time.Since(taken) >= store.TTL {
			t.Errorf("after %s: %v", time.Since(taken), err)
		}
		if err := l.Release(); err == nil {
			t.Error("a lock that cannot be read is given back")
		}
	})
}

// A process that waits for a lock while the lock is broken waits on a removed file, and
// must then take the lock of the new file.
func TestLockThatIsBrokenMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "lock")
		f, err := os.Create(path)
		if err == nil {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		}
		if err != nil {
			t.Fatal(err)
		}
		waits := make(chan error, 1)
		go func() {
			l, err := store.Dir(dir).Lock(t.Context(), store.Self("run2", ""))
			if err == nil {
				_, err = l.Create(t.Context(), "run2") // needs the lock on the current file
			}
			if err == nil {
				err = l.Release()
			}
			waits <- err
		}()
		synctest.Wait() // until the other waits for the lock
		if len(waits) > 0 {
			t.Fatal(<-waits)
		}
		if err := errors.Join(os.Remove(path), f.Close(), <-waits); err != nil {
			t.Error(err)
		}
	})
}

// Earlier versions wrote plain text, not JSON, to the lock file.
func TestLockOfAnEarlierVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f, err := os.Create(filepath.Join(dir, "lock"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(f, "run run1, process 1 on host1, since 2026-01-02T03:04:05Z")
		s := store.Dir(dir)
		if o, err := s.Holder(t.Context()); err != nil || o != nil {
			t.Errorf("its process is gone: %v, %v", o, err)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if o, err := s.Holder(t.Context()); err != nil || o == nil || o.Run != "run1" {
			t.Errorf("its process holds it: %v, %v", o, err)
		}
		if _, err := s.Lock(t.Context(), store.Self("run2", "")); !errors.Is(err, store.ErrHeld) || !strings.Contains(err.Error(), "run run1") {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if o, err := store.Dir(filepath.Join(dir, "none")).Holder(t.Context()); err != nil || o != nil {
			t.Errorf("no folder: %v, %v", o, err)
		}
	})
}

// A journal that is emptied, removed, extended, replaced or edited during its run accepts
// no more records; a journal that was only touched does.
func TestJournalChangedDuringTheRun(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"emptied":  func(path string) error { return os.Truncate(path, 0) },
		"removed":  os.Remove,
		"extended": func(path string) error { return os.WriteFile(path, []byte("{\"n\":1}\n{}\n"), 0o600) },
		"edited":   func(path string) error { return os.WriteFile(path, []byte("{\"n\":2}\n"), 0o600) },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("{\"n\":1}\n"), 0o600), os.Rename(path+".new", path))
		},
		"touched": func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
	} {
		s := store.Dir(t.TempDir())
		l, err := s.Lock(t.Context(), store.Self("run1", ""))
		if err != nil {
			t.Fatal(err)
		}
		j, err := l.Create(t.Context(), "run1")
		if err == nil {
			err = j.Append(t.Context(), []byte(`{"n":1}`))
		}
		if err := errors.Join(err, change(s.Place(j.ID()))); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			err := j.Append(t.Context(), []byte("{}"))
			if name == "touched" {
				if err != nil {
					t.Errorf("touched: %v", err)
				}
			} else if !errors.Is(err, store.ErrChanged) || !strings.Contains(err.Error(), s.Place(j.ID())) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := errors.Join(j.Close(), l.Release()); err != nil {
			t.Error(err)
		}
	}
}

// Links and pipes in the folder are rejected at once, and the target of a link is not
// changed.
func TestForeignFiles(t *testing.T) {
	use := map[string]func(s store.Store) error{
		"lock": func(s store.Store) error {
			l, err := s.Lock(t.Context(), store.Self("run2", ""))
			if err == nil {
				err = l.Release()
			}
			_, look := s.Holder(t.Context())
			if look == nil {
				t.Error("the holder is read from it")
			}
			return err
		},
		"breaks": func(s store.Store) error {
			l, err := s.Lock(t.Context(), store.Self("run2", ""))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Release()
			o, err := s.Holder(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s.Break(t.Context(), *o, store.Self("", ""))
		},
		"checkouts": func(s store.Store) error { _, err := s.Checkouts(t.Context()); return err },
		"n000000000001.run1.journal": func(s store.Store) (err error) {
			for _, err = range s.Records(t.Context(), store.ID{Number: 1, Run: "run1"}, 0) {
				break
			}
			return err
		},
	}
	for name, do := range use {
		for kind, spoil := range map[string]func(path string) error{
			"symbolic link": func(path string) error { return os.Symlink("precious", path) },
			"a pipe":        func(path string) error { return syscall.Mkfifo(path, 0o600) },
		} {
			dir := t.TempDir()
			precious := filepath.Join(dir, "precious")
			if err := errors.Join(os.WriteFile(precious, []byte("kept\n"), 0o600), spoil(filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
			if err := do(store.Dir(dir)); err == nil || !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is %s: %v", name, kind, err)
			}
			if b, err := os.ReadFile(precious); err != nil || string(b) != "kept\n" {
				t.Errorf("%s is %s: the target holds %q, %v", name, kind, b, err)
			}
		}
	}
}
