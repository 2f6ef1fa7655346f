package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/ownfile"
)

// dir is a store in a folder, with the files "lock", "breaks", "checkouts" and
// "ID.journal". The lock is a flock on the file "lock", so the kernel drops it when the
// process ends. Several machines may share the folder without seeing each other's
// flocks. Therefore the file also holds a note about the holder, which counts as long as
// the holder keeps updating it. The age of the note is measured by the clock of the file
// system, because the clocks of two machines differ.
type dir struct {
	path   string
	fabric string // "" for any
	boot   string // ID of the running kernel
	ttl    time.Duration
}

// Dir returns a store that keeps the lock and the journals of any one fabric in a folder
// of their own. The folder need not exist yet.
func Dir(path string) Store { return newDir(path) }

// Folder returns the folder of a store made by [Dir]; ok is false for other stores.
func Folder(s Store) (path string, ok bool) {
	if w, ok := s.(*signed); ok {
		s = w.Store
	}
	d, ok := s.(*dir)
	if !ok {
		return "", false
	}
	return d.path, true
}

func newDir(path string) *dir {
	d := &dir{path: path, ttl: TTL}
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if d.boot = strings.TrimSpace(string(b)); err != nil {
		d.boot, _ = os.Hostname() // the next best where there is no boot ID
	}
	return d
}

// note is the content of the file "lock".
type note struct {
	Owner
	Boot string `json:"boot"`
}

const (
	maxNote = 64 << 10
	maxList = 64 << 20 // size of the file of breaks or of checkouts
	suffix  = ".journal"
)

func (d *dir) file(name string) string { return filepath.Join(d.path, name) }

func (d *dir) Close() error { return nil }

func (d *dir) Fabric() string { return d.fabric }

func (d *dir) String() string { return d.path }

func (d *dir) Place(id ID) string { return filepath.Join(d.path, id.folder, id.String()+suffix) }

// flock locks a file; how is LOCK_EX or LOCK_SH. Because Holder takes a shared lock for a
// moment just to look, flock retries for half a second before it reports the file busy.
func flock(ctx context.Context, f *os.File, how int) (busy bool, err error) {
	const patience, pause = 500 * time.Millisecond, 10 * time.Millisecond
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			if err != nil {
				err = fmt.Errorf("lock %s: %w", f.Name(), err)
			}
			return false, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case <-limit.C:
			return true, nil
		}
	}
}

// isCurrentFile reports whether f is still the file under its name. Break removes the lock file,
// and another run may have created a new one.
func isCurrentFile(f *os.File) bool {
	a, err := f.Stat()
	b, err2 := os.Lstat(f.Name())
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// Lock takes the flock, checks for a holder on another machine, and writes a note.
func (d *dir) Lock(ctx context.Context, o Owner) (_ Lock, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return nil, err
	}
	begun := time.Now()
	f, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	l := &dirLock{d: d, f: f, owner: o}
	if l.note, err = json.Marshal(note{o, d.boot}); err == nil {
		err = l.write()
	}
	if err == nil {
		err = d.register(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(err, l.giveBack())
	}
	l.Lease = Keep(begun, d.ttl, l.beat)
	return l, nil
}

// open opens the lock file and takes its flock. It returns a [*HeldError] if a process on
// this or another machine holds the lock.
func (d *dir) open(ctx context.Context) (*os.File, error) {
	for {
		f, err := ownfile.Open(d.file("lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		busy, err := flock(ctx, f, syscall.LOCK_EX)
		if !busy && err == nil && !isCurrentFile(f) {
			if err := f.Close(); err != nil {
				return nil, err
			}
			continue
		}
		var held *Owner
		if err == nil {
			held, err = d.holder(f, busy)
		}
		if err == nil && held != nil {
			err = &HeldError{*held}
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

// holder reads the note and returns the holder, or nil if the lock is free. busy tells
// that a process on this machine has the flock; otherwise only a process on another
// machine can hold the lock. Earlier versions wrote notes without a boot ID.
func (d *dir) holder(f *os.File, busy bool) (*Owner, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxNote))
	if err != nil {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	var n note
	if json.Unmarshal(b, &n) != nil {
		n = note{}
		if run, ok := strings.CutPrefix(string(b), "run "); ok {
			n.Run, _, _ = strings.Cut(run, ",")
		}
	}
	if busy {
		return &n.Owner, nil
	}
	if n.Boot == "" || n.Boot == d.boot {
		return nil, nil
	}
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	if d.now().Sub(st.ModTime()) < d.ttl {
		return &n.Owner, nil
	}
	return nil, nil
}

// now returns the time by the clock of the file system, or by the clock of this machine
// if the folder is not writable.
func (d *dir) now() time.Time {
	f, err := os.CreateTemp(d.path, ".now-*")
	if err != nil {
		return time.Now()
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }() // the file is empty
	st, err := f.Stat()
	if err != nil {
		return time.Now()
	}
	return st.ModTime()
}

func (d *dir) Holder(ctx context.Context) (_ *Owner, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := ownfile.Open(d.file("lock"), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the lock: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }() // also drops the flock
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("look at the lock: %w", err)
	}
	return d.holder(f, err != nil)
}

func (d *dir) Break(ctx context.Context, held, by Owner) (err error) {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	f, err := ownfile.Open(d.file("breaks"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// Serialize breaks: the second of two must not break the lock of the next holder.
	if busy, err := flock(ctx, f, syscall.LOCK_EX); err != nil {
		return err
	} else if busy {
		return errors.New("the lock is being broken by another process")
	}
	now, err := d.Holder(ctx)
	if err != nil {
		return err
	}
	if err := CheckBreak(now, held); err != nil {
		return err
	}
	line, err := json.Marshal(Break{held, by})
	if err != nil {
		return err
	}
	// Start a new line, even after a line that was cut off.
	if _, err := f.Write(slices.Concat([]byte("\n"), line, []byte("\n"))); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Remove(d.file("lock"))
}

func (d *dir) Breaks(ctx context.Context) ([]Break, error) { return list[Break](ctx, d, "breaks") }

func (d *dir) Checkouts(ctx context.Context) ([]Owner, error) {
	return list[Owner](ctx, d, "checkouts")
}

// list reads a file that has one JSON value per line, and skips lines that were cut off.
func list[T any](ctx context.Context, d *dir, name string) (out []T, _ error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, err := ownfile.Read(d.file(name), maxList)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		var v T
		if json.Unmarshal(line, &v) == nil {
			out = append(out, v)
		}
	}
	return out, nil
}

// register records the host and intent from which the folder is used.
func (d *dir) register(ctx context.Context, o Owner) error {
	if o.Intent == "" {
		return nil
	}
	all, err := d.Checkouts(ctx)
	if err != nil {
		return err
	}
	all = append(slices.DeleteFunc(all, func(p Owner) bool { return p.Host == o.Host && p.Intent == o.Intent }), o)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, o := range all {
		if err := enc.Encode(o); err != nil {
			return err
		}
	}
	return atomicfile.Write(d.file("checkouts"), b.Bytes(), 0o600)
}

// dirLock is the lock of a folder.
type dirLock struct {
	*Lease
	d       *dir
	f       *os.File
	owner   Owner
	note    []byte
	release sync.Once
}

// write writes the note, which also sets the file's time by the clock of the file system.
func (l *dirLock) write() error {
	if err := l.f.Truncate(int64(len(l.note))); err != nil {
		return err
	}
	if _, err := l.f.WriteAt(l.note, 0); err != nil {
		return err
	}
	return l.f.Sync()
}

// holdsOwnNote reports whether the lock file holds the note of this holder.
func (l *dirLock) holdsOwnNote() (bool, error) {
	b, err := ownfile.Read(l.d.file("lock"), maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return bytes.Equal(b, l.note), err
}

// check returns an error unless this process still holds the lock. The error is [ErrLost]
// if someone else, or nobody, holds it.
func (l *dirLock) check(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	ok, err := l.holdsOwnNote()
	if err == nil && !ok {
		err = LostTo(context.WithoutCancel(ctx), l.d, l.owner)
		l.Lose(err)
	}
	return err
}

func (l *dirLock) beat(ctx context.Context) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	return l.write()
}

func (l *dirLock) Release() (err error) {
	l.release.Do(func() {
		l.Stop()
		err = l.giveBack()
	})
	return err
}

// giveBack erases the note, unless it belongs to the next holder, and drops the flock.
func (l *dirLock) giveBack() error {
	ok, err := l.holdsOwnNote()
	if ok {
		err = l.f.Truncate(0)
	}
	return errors.Join(err, l.f.Close())
}
