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

	api "github.com/roce-fabric/roce-fabric/internal/etcd"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// chunk is the part of a record that one key has: etcd refuses requests of more than
// 1.5 MiB unless told otherwise.
const chunk = 512 << 10

// page is how many keys of records are read at a time.
const page = 32

// part says which part of which record a key has.
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
	all := api.Prefix("journals/")
	all.KeysOnly = true
	found, err := e.get(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, kv := range found.KVs {
		ids = append(ids, ParseID(strings.TrimPrefix(string(kv.Key), e.root+"journals/")))
	}
	ordered.Sort(ids, ByNumber)
	return ids, nil
}

func (l *etcdLock) Create(ctx context.Context, run string) (Journal, error) {
	if err := CheckRun(run); err != nil {
		return nil, err
	}
	ids, err := l.e.Journals(ctx)
	if err != nil {
		return nil, err
	}
	j := &etcdJournal{l: l, id: Next(ids, run)}
	head := l.e.put("journals/"+j.id.String(), l.owner)
	rev, err := l.commit(ctx, "", api.Created{}, head)
	j.wrote(head.Key, rev)
	return j, err
}

func (e *etcd) Records(ctx context.Context, id ID, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := CheckRun(id.Run); err != nil {
			yield(Record{}, err)
			return
		}
		a := assembly{place: e.Place(id), at: from, yield: yield}
		prefix := records(id)
		limit := int64(1) // many look at the first record alone
		for key, more := prefix+fmt.Sprintf("%010d", from), true; more; limit = page {
			found, err := e.get(ctx, api.Range{Key: key, End: api.EndOf(prefix), Limit: limit})
			if err != nil {
				yield(Record{At: a.at}, err)
				return
			}
			for _, kv := range found.KVs {
				key = strings.TrimPrefix(string(kv.Key), e.root)
				if !a.add(strings.TrimPrefix(key, prefix), kv.Value) {
					return
				}
				key += "\x00"
			}
			more = found.More
		}
		if a.flush(ErrCutOff) && !a.some {
			if found, err := e.get(ctx, api.Range{Key: "journals/" + id.String(), CountOnly: true}); err != nil || found.Count == 0 {
				yield(Record{}, errors.Join(err, fmt.Errorf("%s: %w", a.place, fs.ErrNotExist)))
			}
		}
	}
}

// assembly puts the parts of records together.
type assembly struct {
	place string
	at    int64 // the record
	seen  bool  // a part of it
	n, of int64 // of its parts
	buf   []byte
	some  bool // anything was seen
	yield func(Record, error) bool
}

// add takes the next part in the order of keys.
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
	// A part of another try at the record is not of it.
	if p.n == a.n && p.of == a.of && len(a.buf) <= MaxRecord {
		a.n++
		a.buf = append(a.buf, value...)
	}
	return true
}

var errParts = errors.New("missing, or a part of it")

// flush hands on the record that is complete, or the error of one that is not.
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
	n     int64       // of the next record
	last  api.Created // of the keys of the journal; zero where that is not known
	dirty bool        // parts of a failed try at it may be there
	bad   error       // closed, or changed by someone else
}

// wrote notes the last key that was written.
func (j *etcdJournal) wrote(key string, rev int64) {
	if j.last = (api.Created{Key: key, Revision: rev}); rev == 0 {
		j.last = api.Created{}
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

// write makes the keys of a record, after it has removed those of a failed try at it.
func (j *etcdJournal) write(ctx context.Context, record []byte) error {
	place := j.l.e.root + records(j.id)
	fresh := fmt.Sprintf("%s%010d.", place, j.n)
	if j.dirty {
		// The last key may be one of these.
		j.last = api.Created{}
		if _, err := j.l.commit(ctx, "", j.last, api.Delete{Key: fresh, End: api.EndOf(fresh)}); err != nil {
			return err
		}
	}
	parts := slices.Collect(slices.Chunk(record, chunk))
	for i, b := range parts {
		key := place + part{j.n, int64(i), int64(len(parts))}.String()
		if i > 0 {
			fresh = key
		}
		rev, err := j.l.commit(ctx, fresh, j.last, api.Put{Key: key, Value: string(b)})
		if err != nil {
			j.dirty = true
			return err
		}
		j.wrote(key, rev)
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
