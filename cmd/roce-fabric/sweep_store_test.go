package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// shownStore is the store of one session. It injects faults, and records the devices' state when
// the session takes the lock, first writes, and releases the lock.
type shownStore struct {
	store.Store
	s *session
}

var errKilled = errors.New("the process was killed")

// ask performs a request to the store, with the faults that strike it.
func (s *session) ask(op func() error) error {
	s.mu.Lock()
	after := false
	s.asked++
	for n, k := range s.Strikes {
		if k.Device >= 0 || s.fired[n] || s.asked < k.At {
			continue
		}
		s.strikes(n, fmt.Sprintf("request %d to the store", s.asked))
		switch k.Fault {
		case sigkill:
			if after = k.Variant%2 == 1; !after {
				s.kill()
			}
		case diskFull:
			s.full = 1 + k.Variant%2*1000
		case ctrlC:
			s.cancel()
		}
	}
	err := s.gone()
	if err == nil && s.full > 0 {
		s.full--
		err = &fs.PathError{Op: "write", Path: "the state folder", Err: syscall.ENOSPC}
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	err = op()
	if after {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.kill()
		return errKilled
	}
	return err
}

// gone returns an error once the session has been killed.
func (s *session) gone() error {
	select {
	case <-s.dead:
		return errKilled
	default:
		return nil
	}
}

func (k *shownStore) Lock(ctx context.Context, o store.Owner) (l store.Lock, err error) {
	err = k.s.ask(func() error {
		l, err = k.Store.Lock(ctx, o)
		return err
	})
	if err != nil {
		if l != nil { // killed after taking the lock
			_ = l.Release()
		}
		return nil, err
	}
	k.s.locks()
	return &shownLock{l, k.s}, nil
}

type shownLock struct {
	store.Lock
	s *session
}

func (l *shownLock) Create(ctx context.Context, run string) (j store.Journal, err error) {
	err = l.s.ask(func() error {
		j, err = l.Lock.Create(ctx, run)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &shownJournal{j, l.s}, nil
}

func (l *shownLock) Release() error {
	l.s.unlocks()
	return l.Lock.Release()
}

type shownJournal struct {
	store.Journal
	s *session
}

func (j *shownJournal) Append(ctx context.Context, record []byte) error {
	if bytes.Contains(record, []byte(`"event":"start"`)) {
		j.s.writes()
	}
	return j.s.ask(func() error { return j.Journal.Append(ctx, record) })
}

// leased is a store with leases that is shared by sessions on several machines. A session that
// cannot reach the store for a while loses its lock, and another session may take it.
type leased struct {
	mu       sync.Mutex
	owner    *store.Owner
	rev      int       // revision of the lock
	until    time.Time // when the lock expires
	breaks   []store.Break
	shared   []store.Owner
	ids      []store.ID
	journals map[string][][]byte
}

// leasedSession is a session's connection to the store.
type leasedSession struct {
	*leased
	s      *session
	fabric string
	place  string
}

// answerTime limits the wait for an answer of the store, as with etcd.
const answerTime = 10 * time.Second

// reach performs do in the store. If the store is out of reach, it fails after answerTime; do is
// then performed only if the answer alone is to be lost.
func (k *leasedSession) reach(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k.s.mu.Lock()
	err := k.s.gone()
	apart, lost := time.Now().Before(k.s.apart), k.s.lost
	k.s.lost = false
	k.s.mu.Unlock()
	if err != nil {
		return err
	}
	if !apart || lost {
		k.mu.Lock()
		err = do()
		k.mu.Unlock()
	}
	if !apart {
		return err
	}
	timer := time.NewTimer(answerTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return errors.New("no answer of the store")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// held returns the owner of the lock; nil if it is free.
func (k *leased) held() *store.Owner {
	if k.owner != nil && time.Now().After(k.until) {
		k.owner = nil
	}
	return k.owner
}

func (k *leasedSession) Lock(ctx context.Context, o store.Owner) (store.Lock, error) {
	l, begun := &leasedLock{k: k, owner: o}, time.Now()
	err := k.reach(ctx, func() error {
		if held := k.held(); held != nil {
			return &store.HeldError{Owner: *held}
		}
		k.rev++
		k.owner, k.until, l.rev = &o, begun.Add(store.TTL), k.rev
		k.shared = append(slices.DeleteFunc(k.shared, func(p store.Owner) bool { return p.Host == o.Host && p.Intent == o.Intent }), o)
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.Lease = store.Keep(begun, store.TTL, l.beat)
	return l, nil
}

func (k *leasedSession) Holder(ctx context.Context) (out *store.Owner, err error) {
	err = k.reach(ctx, func() error {
		out = k.held()
		return nil
	})
	return out, err
}

func (k *leasedSession) Break(ctx context.Context, held, by store.Owner) error {
	return k.reach(ctx, func() error {
		if err := store.CheckBreak(k.held(), held); err != nil {
			return err
		}
		k.owner, k.breaks = nil, append(k.breaks, store.Break{Held: held, By: by})
		return nil
	})
}

func (k *leasedSession) Breaks(ctx context.Context) (out []store.Break, err error) {
	err = k.reach(ctx, func() error {
		out = slices.Clone(k.breaks)
		return nil
	})
	return out, err
}

func (k *leasedSession) Checkouts(ctx context.Context) (out []store.Owner, err error) {
	err = k.reach(ctx, func() error {
		out = slices.Clone(k.shared)
		return nil
	})
	return out, err
}

func (k *leasedSession) Journals(ctx context.Context) (out []store.ID, err error) {
	err = k.reach(ctx, func() error {
		out = slices.Clone(k.ids)
		return nil
	})
	return out, err
}

func (k *leasedSession) Records(ctx context.Context, id store.ID, from int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		var all [][]byte
		there := false
		err := k.reach(ctx, func() error {
			all, there = k.journals[id.String()]
			all = slices.Clone(all)
			return nil
		})
		if err == nil && !there {
			err = fmt.Errorf("%s: %w", k.Place(id), fs.ErrNotExist)
		}
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		for at, data := range all {
			if int64(at) >= from && !yield(store.Record{At: int64(at), Data: data}, nil) {
				return
			}
		}
	}
}

func (k *leasedSession) Fabric() string           { return k.fabric }
func (k *leasedSession) Place(id store.ID) string { return k.place + "/" + id.String() }
func (k *leasedSession) String() string           { return k.place }
func (k *leasedSession) Close() error             { return nil }

type leasedLock struct {
	*store.Lease
	k     *leasedSession
	owner store.Owner
	rev   int
	once  sync.Once
}

// mine performs do if the session still holds the lock.
func (l *leasedLock) mine(ctx context.Context, do func()) error {
	lost := false
	err := l.k.reach(ctx, func() error {
		if lost = l.k.held() == nil || l.k.rev != l.rev; !lost {
			do()
		}
		return nil
	})
	if lost {
		l.Lose(store.ErrLost)
		return store.ErrLost
	}
	return err
}

func (l *leasedLock) beat(ctx context.Context) error {
	now := time.Now()
	return l.mine(ctx, func() { l.k.until = now.Add(store.TTL) })
}

// write retries until it succeeds or the lock expires.
func (l *leasedLock) write(ctx context.Context, do func()) error {
	ctx, cancel := l.Guard(ctx)
	defer cancel()
	for {
		if err := errors.Join(l.Err(), ctx.Err()); err != nil {
			return err
		}
		err := l.mine(ctx, do)
		if err == nil || errors.Is(err, store.ErrLost) || errors.Is(err, errKilled) {
			return err
		}
	}
}

func (l *leasedLock) Create(ctx context.Context, run string) (store.Journal, error) {
	ids, err := l.k.Journals(ctx)
	if err != nil {
		return nil, err
	}
	return &leasedJournal{l: l, id: store.Next(ids, run)}, nil
}

func (l *leasedLock) Release() (err error) {
	l.once.Do(func() {
		l.Stop()
		if err = l.mine(context.Background(), func() { l.k.owner = nil }); errors.Is(err, store.ErrLost) {
			err = nil
		}
	})
	return err
}

type leasedJournal struct {
	l  *leasedLock
	id store.ID

	mu sync.Mutex
	n  int
}

func (j *leasedJournal) ID() store.ID { return j.id }

func (j *leasedJournal) Append(ctx context.Context, record []byte) error {
	if err := store.CheckRecord(record); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	record = bytes.Clone(record)
	err := j.l.write(ctx, func() {
		if !slices.Contains(j.l.k.ids, j.id) {
			j.l.k.ids = append(j.l.k.ids, j.id)
		}
		all := j.l.k.journals[j.id.String()]
		j.l.k.journals[j.id.String()] = append(all[:j.n:j.n], record) // replaces a record left by an earlier attempt
	})
	if err == nil {
		j.n++
	}
	return err
}

func (j *leasedJournal) Close() error { return nil }
