package store

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/ownfile"
)

// oldHosts is the subfolder where earlier versions kept the journals of hosts, before
// hosts and switches shared runs.
const oldHosts = "hosts"

func (d *dir) Journals(ctx context.Context) (ids []ID, _ error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, folder := range []string{"", oldHosts} {
		es, err := os.ReadDir(filepath.Join(d.path, folder)) // sorted
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the journals: %w", err)
		}
		for _, e := range es {
			if name, ok := strings.CutSuffix(e.Name(), suffix); ok && e.Type().IsRegular() {
				id := ParseID(name)
				id.folder = folder
				ids = append(ids, id)
			}
		}
	}
	ordered.Sort(ids, ByNumber)
	return ids, nil
}

func (d *dir) Records(ctx context.Context, id ID, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		place := d.Place(id)
		if err := CheckRun(id.Run); err != nil {
			yield(Record{}, err)
			return
		}
		f, err := ownfile.Open(place, os.O_RDONLY, 0)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer func() { _ = f.Close() }() // opened only for reading
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			yield(Record{}, fmt.Errorf("%s: %w", place, err))
			return
		}
		r := bufio.NewReaderSize(f, 64<<10)
		var buf []byte
		for at := from; ; {
			var n int64
			buf, n, err = readLine(r, buf[:0])
			if n == 0 && errors.Is(err, io.EOF) {
				return
			}
			whole := err == nil
			switch {
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			case errors.Is(err, io.EOF):
				err = fmt.Errorf("%s: the line at byte %d is %w", place, at, ErrCutOff)
			case err == nil:
				if err = CheckRecord(buf); err != nil {
					err = fmt.Errorf("%s: the line at byte %d is %w", place, at, err)
				}
			default:
				err = fmt.Errorf("%s: %w", place, err)
			}
			if !yield(Record{at, buf}, err) || !whole || ctx.Err() != nil {
				return
			}
			at += n
		}
	}
}

// readLine reads a line and returns it without its newline; n is the number of bytes
// read. It keeps only the start of a line that is too long to be a record, enough for
// CheckRecord to reject it.
func readLine(r *bufio.Reader, buf []byte) (_ []byte, n int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if len(buf) <= MaxRecord {
			buf = append(buf, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil && len(buf) > 0 && buf[len(buf)-1] == '\n' {
			buf = buf[:len(buf)-1]
		}
		return buf, n, err
	}
}

func (l *dirLock) Create(ctx context.Context, run string) (_ Journal, err error) {
	if err := CheckRun(run); err != nil {
		return nil, err
	}
	if err := l.check(ctx); err != nil {
		return nil, err
	}
	ids, err := l.d.Journals(ctx)
	if err != nil {
		return nil, err
	}
	return &dirJournal{l: l, id: Next(ids, run), sum: sha256.New()}, nil
}

// dirJournal is a file with one record per line.
type dirJournal struct {
	l  *dirLock
	id ID

	mu   sync.Mutex
	f    *os.File    // nil before the first record
	size int64       // total size of the complete records
	sum  hash.Hash   // hash of the complete records
	last fs.FileInfo // the file's info after the last record; nil before the second
	bad  error       // set once the file is closed or its state is unknown
}

func (j *dirJournal) ID() ID { return j.id }

func (j *dirJournal) Append(ctx context.Context, record []byte) error {
	if err := CheckRecord(record); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := errors.Join(j.bad, ctx.Err()); err != nil {
		return err
	}
	if err := j.l.check(ctx); err != nil {
		return err
	}
	line := slices.Concat(record, []byte("\n"))
	write := j.write
	if j.f == nil {
		write = j.begin
	}
	if err := write(line); err != nil {
		return err
	}
	j.size += int64(len(line))
	_, _ = j.sum.Write(line) // a hash never returns an error
	return nil
}

// begin creates the journal's file with its first line, whole or not at all: a journal without its
// first record is one that someone has emptied.
func (j *dirJournal) begin(line []byte) error {
	place := j.l.d.Place(j.id)
	if _, err := os.Lstat(place); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("%s: %w", place, fs.ErrExist))
	}
	if err := atomicfile.Write(place, line, 0o600); err != nil {
		return err
	}
	j.f, j.bad = ownfile.Open(place, os.O_RDWR, 0)
	return j.bad
}

// write adds a line to the journal's file.
func (j *dirJournal) write(line []byte) error {
	if err := j.unchanged(); err != nil {
		j.bad = err
		return err
	}
	if _, err := j.f.WriteAt(line, j.size); err != nil {
		// On a full disk a part of the line may have been written. The next record must
		// not follow it.
		j.bad, j.last = j.f.Truncate(j.size), nil
		return errors.Join(err, j.bad)
	}
	// The file's content is unknown after a failed sync, and a second sync may hide that.
	if j.bad = j.f.Sync(); j.bad == nil {
		j.last, _ = j.f.Stat() // if this fails, the next Append rereads the file
	}
	return j.bad
}

// unchanged returns an error unless the journal's file holds exactly what this process
// wrote. It reads the file only if its modification time has changed.
func (j *dirJournal) unchanged() error {
	place := j.l.d.Place(j.id)
	now, err := os.Lstat(place)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", place, ErrChanged)
	}
	if err != nil {
		return err
	}
	open, err := j.f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(now, open) || open.Size() != j.size {
		return fmt.Errorf("%s: %w", place, ErrChanged)
	}
	if j.last != nil && open.ModTime().Equal(j.last.ModTime()) {
		return nil
	}
	held := sha256.New()
	if _, err := io.Copy(held, io.NewSectionReader(j.f, 0, j.size)); err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if !bytes.Equal(held.Sum(nil), j.sum.Sum(nil)) {
		return fmt.Errorf("%s: %w", place, ErrChanged)
	}
	return nil
}

func (j *dirJournal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.bad, os.ErrClosed) {
		return nil
	}
	j.bad = fmt.Errorf("%s: %w", j.l.d.Place(j.id), os.ErrClosed)
	if j.f == nil {
		return nil
	}
	return j.f.Close()
}
