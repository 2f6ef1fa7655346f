package store

import (
	"bufio"
	"bytes"
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

	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/ownfile"
)

// oldHosts is a folder that has journals from before hosts and switches shared runs.
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
		defer func() { _ = f.Close() }() // it was only read
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

// readLine reads a line without its end. Of one that is too long to be a record it
// keeps no more than shows that. n is how much was read.
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

// Create makes the file and syncs the folder, or a power cut might take the whole
// journal.
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
	j := &dirJournal{l: l, id: Next(ids, run), sum: sha256.New()}
	if j.f, err = ownfile.Open(l.d.Place(j.id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	folder, err := os.Open(l.d.path)
	if err == nil {
		err = errors.Join(folder.Sync(), folder.Close())
	}
	if err != nil {
		return nil, errors.Join(err, j.f.Close())
	}
	return j, nil
}

// dirJournal is a file with a record a line.
type dirJournal struct {
	l  *dirLock
	id ID

	mu   sync.Mutex
	f    *os.File
	size int64       // of the whole records
	sum  hash.Hash   // of them
	last fs.FileInfo // of the file after the last of them; nil before the first
	bad  error       // the file is in an unknown state
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
	if err := j.unchanged(); err != nil {
		j.bad = err
		return err
	}
	line := slices.Concat(record, []byte("\n"))
	if _, err := j.f.WriteAt(line, j.size); err != nil {
		// On a full disk a part of the line may be there, and the next record must not
		// follow on it.
		j.bad, j.last = j.f.Truncate(j.size), nil
		return errors.Join(err, j.bad)
	}
	if err := j.f.Sync(); err != nil {
		// Nobody can say what a failed sync left, and a second one may hide it.
		j.bad = err
		return err
	}
	j.size += int64(len(line))
	_, _ = j.sum.Write(line) // a hash takes everything
	j.last, _ = j.f.Stat()   // without it the next record reads the file
	return nil
}

// unchanged returns an error unless the file under the name of the journal holds what was
// written, and nothing else. It reads the file only where something has touched it.
func (j *dirJournal) unchanged() error {
	now, err := os.Lstat(j.f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", j.f.Name(), ErrChanged)
	}
	if err != nil {
		return err
	}
	open, err := j.f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(now, open) || open.Size() != j.size {
		return fmt.Errorf("%s: %w", j.f.Name(), ErrChanged)
	}
	if j.last != nil && open.ModTime().Equal(j.last.ModTime()) {
		return nil
	}
	held := sha256.New()
	if _, err := io.Copy(held, io.NewSectionReader(j.f, 0, j.size)); err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if !bytes.Equal(held.Sum(nil), j.sum.Sum(nil)) {
		return fmt.Errorf("%s: %w", j.f.Name(), ErrChanged)
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
	return j.f.Close()
}
