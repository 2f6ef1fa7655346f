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
// "ID.journal". The lock is the kernel's, on the file "lock", so that it goes with its
// process. Where several kernels share the folder, which may or may not
// show each other their locks, the note in the file counts as well: it is of a holder
// as long as that goes on touching it. Its age is by the clock of the file system,
// because those of two machines differ.
type dir struct {
	path   string
	fabric string // "" for any
	boot   string // tells this kernel from others
	ttl    time.Duration
}

// Dir keeps the lock and the journals of a fabric, whichever it is, in a folder of its
// own, which need not exist.
func Dir(path string) Store { return newDir(path) }

// Folder returns the folder of a store that is one.
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
		d.boot, _ = os.Hostname() // the next best on a system without
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
	maxList = 64 << 20 // of breaks, or of checkouts
	suffix  = ".journal"
)

func (d *dir) file(name string) string { return filepath.Join(d.path, name) }

func (d *dir) Close() error { return nil }

func (d *dir) Fabric() string { return d.fabric }

func (d *dir) String() string { return d.path }

func (d *dir) Place(id ID) string { return filepath.Join(d.path, id.folder, id.String()+suffix) }

// flock takes the lock of a file, of the kind given. A question whether it is held
// holds it for a moment, so that one refusal is not yet an answer: it waits a little.
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

// there reports whether an open file is still the one of its name: who breaks a lock
// removes the file.
func there(f *os.File) bool {
	a, err := f.Stat()
	b, err2 := os.Lstat(f.Name())
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// Lock takes the lock of the kernel, looks for a holder under another one, and leaves
// a note.
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

// open opens the lock file with the lock of the kernel, where no other kernel has a
// holder.
func (d *dir) open(ctx context.Context) (*os.File, error) {
	for {
		f, err := ownfile.Open(d.file("lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		busy, err := flock(ctx, f, syscall.LOCK_EX)
		if !busy && err == nil && !there(f) {
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

// holder reads the note. busy says that a process under this kernel has the lock; else
// only one under another kernel can have it. A note without a kernel is from a time
// when that was not noted.
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

// now is the time by the clock of the file system, or of this machine where nothing
// can be written.
func (d *dir) now() time.Time {
	f, err := os.CreateTemp(d.path, ".now-*")
	if err != nil {
		return time.Now()
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }() // nothing is in it
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
	defer func() { err = errors.Join(err, f.Close()) }() // which gives it back
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
	// Two who break it at once must not break that of the next holder.
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
	// A line of its own even after one that was cut off.
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

// list reads a file with a value a line, without those that were cut off.
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

// register notes from which intent the folder is used.
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

// write writes the note, and so touches the file by the clock of the file system.
func (l *dirLock) write() error {
	if err := l.f.Truncate(int64(len(l.note))); err != nil {
		return err
	}
	if _, err := l.f.WriteAt(l.note, 0); err != nil {
		return err
	}
	return l.f.Sync()
}

// mine reports whether the note under the name is this holder's.
func (l *dirLock) mine() (bool, error) {
	b, err := ownfile.Read(l.d.file("lock"), maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return bytes.Equal(b, l.note), err
}

// check returns an error, which is [ErrLost] where the lock is someone else's or nobody's.
func (l *dirLock) check(ctx context.Context) error {
	if err := l.Over(); err != nil {
		return err
	}
	ok, err := l.mine()
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

// giveBack takes the note away, unless it is that of the next holder.
func (l *dirLock) giveBack() error {
	ok, err := l.mine()
	if ok {
		err = l.f.Truncate(0)
	}
	return errors.Join(err, l.f.Close())
}
