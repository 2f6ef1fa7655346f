package store

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strconv"
	"sync"

	"github.com/roce-fabric/roce-fabric/fleet/keys"
)

// Signed is a store whose records are signed with the key of a ring, with their run and
// their number in it. A record that none of its keys has signed cannot be read, nor one
// that stands where it was not written.
func Signed(s Store, ring *keys.Ring) Store { return &signed{s, ring} }

type signed struct {
	Store
	ring *keys.Ring
}

// signature ends a record: it is the last member of its object.
const signature = `,"sig":"`

// kind is what a signature of a record is for.
func kind(run string, n int64) string { return fmt.Sprintf("journal %s %d", run, n) }

// seal adds the signature to a record, which is an object with a member at least.
func (s *signed) seal(run string, n int64, record []byte) []byte {
	out := bytes.TrimSuffix(record, []byte("}"))
	return fmt.Appendf(bytes.Clone(out), `%s%d:%s"}`, signature, n, s.ring.Sign(kind(run, n), record))
}

// unseal checks a record and takes its signature away. n is its number.
func (s *signed) unseal(run string, sealed []byte) (record []byte, n int64, err error) {
	i := bytes.LastIndex(sealed, []byte(signature))
	tail, ok := bytes.CutSuffix(sealed, []byte(`"}`))
	if i < 0 || !ok {
		return nil, 0, keys.ErrUnsigned
	}
	num, sig, _ := bytes.Cut(tail[i+len(signature):], []byte(":"))
	if n, err = strconv.ParseInt(string(num), 10, 64); err != nil {
		return nil, 0, keys.ErrBad
	}
	record = append(bytes.Clone(sealed[:i]), '}')
	return record, n, s.ring.Verify(kind(run, n), record, string(sig))
}

func (s *signed) Lock(ctx context.Context, o Owner) (Lock, error) {
	if err := s.ring.Ensure(); err != nil {
		return nil, err
	}
	l, err := s.Store.Lock(ctx, o)
	if err != nil {
		return nil, err
	}
	return &signedLock{l, s}, nil
}

func (s *signed) Records(ctx context.Context, id ID, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		next := int64(-1) // not known
		if from == 0 {
			next = 0
		}
		for rec, err := range s.Store.Records(ctx, id, from) {
			if err == nil {
				var n int64
				if rec.Data, n, err = s.unseal(id.Run, rec.Data); err == nil && next >= 0 && n != next {
					err = keys.ErrBad
				}
				if err != nil {
					err = fmt.Errorf("%s: a record is not believed: %w", s.Place(id), err)
				}
			}
			if next >= 0 {
				next++
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// signedLock is a lock whose journals are signed.
type signedLock struct {
	Lock
	s *signed
}

func (l *signedLock) Create(ctx context.Context, run string) (Journal, error) {
	j, err := l.Lock.Create(ctx, run)
	if err != nil {
		return nil, err
	}
	return &signedJournal{Journal: j, s: l.s}, nil
}

type signedJournal struct {
	Journal
	s  *signed
	mu sync.Mutex
	n  int64 // of the next record
}

func (j *signedJournal) Append(ctx context.Context, record []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := CheckRecord(record); err != nil {
		return err
	}
	err := j.Journal.Append(ctx, j.s.seal(j.ID().Run, j.n, record))
	if err == nil {
		j.n++
	}
	return err
}
