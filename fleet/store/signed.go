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

// Signed returns a store that signs each record, together with its run and its number,
// with the signing key of ring. It yields an error for a record that no key of the ring
// has signed, and for a record that was moved within a journal or to another one.
func Signed(s Store, ring *keys.Ring) Store { return &signed{s, ring} }

type signed struct {
	Store
	ring *keys.Ring
}

// signature introduces the signature, which is the last member of a record's object.
const signature = `,"sig":"`

// kind returns what the signature of record n of a run covers besides its content.
func kind(run string, n int64) string { return fmt.Sprintf("journal %s %d", run, n) }

// seal adds the signature to a record, which must be an object with at least one member.
func (s *signed) seal(run string, n int64, record []byte) []byte {
	out := bytes.TrimSuffix(record, []byte("}"))
	return fmt.Appendf(bytes.Clone(out), `%s%d:%s"}`, signature, n, s.ring.Sign(kind(run, n), record))
}

// unseal verifies a record and returns it without its signature, with its number n.
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
		next := int64(-1) // unknown
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
					err = fmt.Errorf("%s: a record is not trusted: %w", s.Place(id), err)
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

// signedLock is a lock that creates signed journals.
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
	n  int64 // number of the next record
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
