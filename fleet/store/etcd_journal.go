package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/client/v3"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// chunk is the maximum number of bytes of a record in one key. By default etcd rejects
// requests of more than 1.5 MiB.
const chunk = 512 << 10

// page is the number of record keys read at a time.
const page = 32

// part identifies the part of a record that a key holds: its index n, from 0, and the number
// of parts.
type part struct{ record, n, of int64 }

func (p part) String() string { return fmt.Sprintf("%010d.%05d.%05d", p.record, p.n, p.of) }

func parsePart(s string) (p part, err error) {
	var rest string
	if n, _ := fmt.Sscanf(s+" .", "%d.%d.%d %s", &p.record, &p.n, &p.of, &rest); n != 4 || rest != "." || p.String() != s {
		return p, fmt.Errorf("%q is not a key of a record", s)
	}
	return p, nil
}

func records(id ID) string { return "records/" + id.String() + "/" }

func (e *etcd) Journals(ctx context.Context) (ids []ID, _ error) {
	found, err := e.get(ctx, "journals/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	for _, kv := range found.Kvs {
		ids = append(ids, ParseID(strings.TrimPrefix(string(kv.Key), e.root+"journals/")))
	}
	ordered.Sort(ids, ByNumber)
	return ids, nil
}

func (l *etcdLock) Create(ctx context.Context, run string) (Journal, error) {
	if err := CheckRun(run); err != nil {
		return nil, err
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	ids, err := l.e.Journals(ctx)
	if err != nil {
		return nil, err
	}
	return &etcdJournal{l: l, id: Next(ids, run)}, nil
}

func (e *etcd) Records(ctx context.Context, id ID, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := CheckRun(id.Run); err != nil {
			yield(Record{}, err)
			return
		}
		a := assembly{place: e.Place(id), at: from, yield: yield}
		prefix := records(id)
		end := clientv3.WithRange(clientv3.GetPrefixRangeEnd(e.root + prefix))
		limit := int64(1) // many callers read only the first record
		for key, more := prefix+fmt.Sprintf("%010d", from), true; more; limit = page {
			found, err := e.get(ctx, key, end, clientv3.WithLimit(limit))
			if err != nil {
				yield(Record{At: a.at}, err)
				return
			}
			for _, kv := range found.Kvs {
				key = strings.TrimPrefix(string(kv.Key), e.root)
				if !a.add(strings.TrimPrefix(key, prefix), kv.Value) {
					return
				}
				key += "\x00"
			}
			more = found.More
		}
		if a.flush(ErrCutOff) && !a.some {
			if found, err := e.get(ctx, "journals/"+id.String(), clientv3.WithCountOnly()); err != nil || found.Count == 0 {
				yield(Record{}, errors.Join(err, fmt.Errorf("%s: %w", a.place, fs.ErrNotExist)))
			}
		}
	}
}

// assembly joins the parts of records.
type assembly struct {
	place string
	at    int64 // number of the current record
	seen  bool  // a part of the current record was read
	n, of int64 // parts read, and their total
	buf   []byte
	some  bool // any key was read
	yield func(Record, error) bool
}

// add adds the next part, in the order of the keys. It reports whether to continue.
func (a *assembly) add(key string, value []byte) bool {
	a.some = true
	p, err := parsePart(key)
	if err != nil {
		return a.yield(Record{At: a.at}, fmt.Errorf("%s: %w", a.place, err))
	}
	if p.record != a.at {
		if !a.flush(errParts) {
			return false
		}
		if p.record > a.at {
			if !a.yield(Record{At: a.at}, fmt.Errorf("%s: record %d is %w", a.place, a.at, errParts)) {
				return false
			}
		}
		a.at = p.record
	}
	if !a.seen {
		a.seen, a.of = true, p.of
	}
	// Skip parts left by an earlier attempt.
	if p.n == a.n && p.of == a.of && len(a.buf) <= MaxRecord {
		a.n++
		a.buf = append(a.buf, value...)
	}
	return true
}

var errParts = errors.New("missing or incomplete")

// flush yields the current record if it is complete, and otherwise the error incomplete.
// It reports whether to continue.
func (a *assembly) flush(incomplete error) bool {
	if !a.seen {
		return true
	}
	err := incomplete
	if a.n == a.of {
		err = CheckRecord(a.buf)
	}
	if err != nil {
		err = fmt.Errorf("%s: record %d is %w", a.place, a.at, err)
	}
	ok := a.yield(Record{a.at, a.buf}, err)
	a.at, a.seen, a.n, a.buf = a.at+1, false, 0, a.buf[:0]
	return ok
}

// etcdJournal is a journal in etcd.
type etcdJournal struct {
	l  *etcdLock
	id ID

	mu    sync.Mutex
	n     int64   // number of the next record
	last  created // the last key written; zero if unknown
	dirty bool    // parts of a failed attempt at record n may exist
	bad   error   // set once the journal is closed, or changed by someone else
}

// wrote records the last key written and its revision, 0 if unknown.
func (j *etcdJournal) wrote(key string, rev int64) {
	if j.last = (created{key, rev}); rev == 0 {
		j.last = created{}
	}
}

func (j *etcdJournal) ID() ID { return j.id }

func (j *etcdJournal) Append(ctx context.Context, record []byte) error {
	if err := CheckRecord(record); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.bad != nil {
		return j.bad
	}
	err := j.write(ctx, record)
	if errors.Is(err, errThere) {
		err = j.write(ctx, record)
	}
	switch {
	case err == nil:
		j.n++
	case errors.Is(err, ErrChanged):
		j.bad = err
	}
	return err
}

// write creates the keys of a record, after it has deleted the keys of a failed attempt. The journal's
// own key follows those of the first record.
func (j *etcdJournal) write(ctx context.Context, record []byte) error {
	place := j.l.e.root + records(j.id)
	fresh := fmt.Sprintf("%s%010d.", place, j.n)
	if j.dirty {
		// The last key may be one of the deleted keys.
		j.last = created{}
		if _, err := j.l.commit(ctx, "", j.last, clientv3.OpDelete(fresh, clientv3.WithPrefix())); err != nil {
			return err
		}
	}
	parts := slices.Collect(slices.Chunk(record, chunk))
	for i, b := range parts {
		key := place + part{j.n, int64(i), int64(len(parts))}.String()
		if i > 0 {
			fresh = key
		}
		rev, err := j.l.commit(ctx, fresh, j.last, clientv3.OpPut(key, string(b)))
		if err != nil {
			j.dirty = true
			return err
		}
		j.wrote(key, rev)
	}
	if j.n == 0 {
		head := j.l.e.put("journals/"+j.id.String(), j.l.owner)
		rev, err := j.l.commit(ctx, string(head.KeyBytes()), j.last, head)
		if err != nil {
			j.dirty = true
			return err
		}
		j.wrote(string(head.KeyBytes()), rev)
	}
	j.dirty = false
	return nil
}

func (j *etcdJournal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bad = fmt.Errorf("%s: %w", j.l.e.Place(j.id), os.ErrClosed)
	return nil
}
