package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// oneWorks runs two processes on one fabric: one gets the lock, and the other reports who
// holds it and since when.
func oneWorks(b *bench) {
	one, two := b.place.Start(b.T, "host1"), b.place.Start(b.T, "host2")
	before := time.Now().UTC().Truncate(time.Second)
	if got := one.Do(b.T, "lock run1"); got != "ok" {
		b.Fatal(got)
	}
	s := b.store()
	o, err := s.Holder(b.ctx())
	b.must(err)
	if o == nil || o.Host != "host1" || o.Process != one.Process.Pid || o.Run != "run1" || o.Since.Before(before) || o.Since.After(time.Now()) || o.Intent == "" {
		b.Fatalf("the holder is %+v", o)
	}
	want := fmt.Sprintf("error: another run is changing this fabric: run run1, process %d of %s on host1, since %s, with %s", o.Process, o.User, o.Since.Format(time.RFC3339), o.Intent)
	if got := two.Do(b.T, "lock run2"); got != want {
		b.Errorf("the other says %q, want %q", got, want)
	}
	_, err = s.Lock(b.ctx(), owner("host3", "run3"))
	var held *store.HeldError
	if !errors.As(err, &held) || held.Owner.String() != o.String() {
		b.Errorf("a third says %v", err)
	}
	b.is(err, store.ErrHeld)
	for _, do := range []struct {
		p       *Process
		command string
	}{{one, "append"}, {one, "release"}, {two, "lock run2"}, {two, "append"}} {
		if got := do.p.Do(b.T, do.command); got != "ok" {
			b.Errorf("%s: %s", do.command, got)
		}
	}
	if got := one.Do(b.T, "append"); got == "ok" {
		b.Error("who gave the lock back can write")
	}
	if o, err := s.Holder(b.ctx()); err != nil || o == nil || o.Host != "host2" {
		b.Errorf("the second holder is %v, %v", o, err)
	}
	if got := two.Do(b.T, "release"); got != "ok" {
		b.Error(got)
	}
	if o, err := s.Holder(b.ctx()); err != nil || o != nil {
		b.Errorf("nobody has it, and it says %v, %v", o, err)
	}
}

func oneWins(b *bench) {
	const n = 8
	var stores []store.Store
	for range n {
		stores = append(stores, b.store())
	}
	for round := range 3 {
		var wg sync.WaitGroup
		var won atomic.Int32
		locks := make([]store.Lock, n)
		for i, s := range stores {
			wg.Go(func() {
				l, err := s.Lock(b.ctx(), owner("host1", fmt.Sprintf("run%d-%d", round, i)))
				if err == nil {
					locks[i] = l
					won.Add(1)
				} else if !errors.Is(err, store.ErrHeld) {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			b.Errorf("%d have the lock", won.Load())
		}
		for _, l := range locks {
			if l != nil {
				b.must(l.Release())
			}
		}
	}
}

// crash kills a process that holds the lock, before and after the first record of its journal.
func crash(b *bench) {
	s := b.store()
	for i, commands := range [][]string{{"lock run0"}, {"lock run1", "append run1"}} {
		one := b.place.Start(b.T, "host1")
		for _, c := range commands {
			if got := one.Do(b.T, c); got != "ok" {
				b.Fatal(got)
			}
		}
		b.must(one.Process.Kill())
		_ = one.Wait() // it was killed
		b.until("the lock is free", func() bool {
			l, err := s.Lock(b.ctx(), owner("host2", "run2"))
			if err == nil {
				b.must(l.Release())
			} else {
				b.is(err, store.ErrHeld)
			}
			return err == nil
		})
		ids, err := s.Journals(b.ctx())
		if b.must(err); len(ids) != i || i > 0 && ids[0].Run != "run1" {
			b.Errorf("after %q the journals are %v", commands, ids)
		}
	}
}

func lostLease(b *bench) {
	l := b.lock(b.store(), "run1")
	j := b.journal(l, "run1", 2)
	ctx, cancel := l.Guard(context.Background())
	defer cancel()
	b.must(ctx.Err())
	b.place.Lose(b.T)
	b.is(b.ended(ctx), store.ErrLost)
	b.is(j.Append(b.ctx(), record(2)), store.ErrLost)
	_, err := l.Create(b.ctx(), "run2")
	b.is(err, store.ErrLost)
	late, cancel := l.Guard(context.Background())
	defer cancel()
	b.is(b.ended(late), store.ErrLost)
	two := b.store()
	var next store.Lock
	b.until("the lock is free", func() bool {
		next, err = two.Lock(b.ctx(), owner("host2", "run2"))
		return err == nil
	})
	b.must(l.Release())
	if o, err := two.Holder(b.ctx()); err != nil || o == nil || o.Run != "run2" {
		b.Errorf("the old holder took the lock of the new one: %v, %v", o, err)
	}
	k := b.journal(next, "run2", 1)
	b.has(two, j.ID(), 2)
	b.has(two, k.ID(), 1)
	b.must(next.Release())
}

func forcedBreak(b *bench) {
	s, two := b.store(), b.store()
	if err := s.Break(b.ctx(), owner("host1", "run0"), owner("host2", "")); err == nil {
		b.Error("a lock that nobody has is broken")
	}
	l := b.lock(s, "run1")
	j := b.journal(l, "run1", 1)
	ctx, cancel := l.Guard(context.Background())
	defer cancel()
	by := owner("host2", "")
	by.User = "bob"
	if err := two.Break(b.ctx(), owner("host1", "run0"), by); err == nil {
		b.Error("the lock of another holder is broken")
	}
	b.must(j.Append(b.ctx(), record(1)))
	held, err := two.Holder(b.ctx())
	b.must(err)
	b.must(two.Break(b.ctx(), *held, by))
	next := b.lock(two, "run2")
	// The next write detects the loss, even before the lease is checked.
	err = j.Append(b.ctx(), record(2))
	b.is(err, store.ErrLost)
	if err == nil || !strings.Contains(err.Error(), "broken by process ") || !strings.Contains(err.Error(), "of bob on host2, since ") {
		b.Errorf("the error does not say who broke it: %v", err)
	}
	b.is(b.ended(ctx), store.ErrLost)
	b.must(l.Release())
	b.journal(next, "run2", 1)
	b.must(next.Release())
	breaks, err := b.store().Breaks(b.ctx())
	if err != nil || len(breaks) != 1 || breaks[0].Held.String() != held.String() || breaks[0].By.String() != by.String() {
		b.Errorf("the record is %v, %v", breaks, err)
	}
}

// checkouts checks that the checkouts of a fabric are distinguished by path and host.
func checkouts(b *bench) {
	s := b.store()
	for _, o := range []store.Owner{
		{Host: "host1", Intent: "/a/fabric.yaml", Run: "run1"}, {Host: "host2", Intent: "/a/fabric.yaml", Run: "run2"},
		{Host: "host1", Intent: "/b b/ü/fabric.yaml", Run: "run3"}, {Host: "host1", Intent: "/a/fabric.yaml", Run: "run4"}, {Host: "host1", Run: "run5"},
	} {
		l, err := s.Lock(b.ctx(), o)
		b.must(err)
		b.must(l.Release())
	}
	all, err := s.Checkouts(b.ctx())
	b.must(err)
	var got []string
	for _, o := range all {
		got = append(got, o.Host+" "+o.Intent+" "+o.Run)
	}
	slices.Sort(got)
	if want := []string{"host1 /a/fabric.yaml run4", "host1 /b b/ü/fabric.yaml run3", "host2 /a/fabric.yaml run2"}; !slices.Equal(got, want) {
		b.Errorf("the checkouts are %q, want %q", got, want)
	}
}

func deadlines(b *bench) {
	s := b.store()
	l := b.lock(s, "run1")
	j := b.journal(l, "run1", 1)
	b.calls(s, l, j, func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx, cancel
	}, context.Canceled)
	b.has(s, j.ID(), 1)
}

func frozen(b *bench) {
	if b.place.Freeze == nil {
		b.Skip("the place cannot be frozen")
	}
	s := b.store()
	l := b.lock(s, "run1")
	j := b.journal(l, "run1", 1)
	thaw := sync.OnceFunc(b.place.Freeze(b.T))
	defer thaw()
	b.calls(s, l, j, func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), 100*time.Millisecond)
	}, context.DeadlineExceeded)
	thaw()
	b.must(l.Release())
}

// calls makes each call that takes a context, with a context from with, and checks that
// it returns the error want.
func (b *bench) calls(s store.Store, l store.Lock, j store.Journal, with func() (context.Context, context.CancelFunc), want error) {
	for name, call := range map[string]func(context.Context) error{
		"Lock":      func(ctx context.Context) error { _, err := s.Lock(ctx, owner("host2", "run2")); return err },
		"Holder":    func(ctx context.Context) error { _, err := s.Holder(ctx); return err },
		"Break":     func(ctx context.Context) error { return s.Break(ctx, owner("h", "r"), owner("h", "r")) },
		"Breaks":    func(ctx context.Context) error { _, err := s.Breaks(ctx); return err },
		"Checkouts": func(ctx context.Context) error { _, err := s.Checkouts(ctx); return err },
		"Journals":  func(ctx context.Context) error { _, err := s.Journals(ctx); return err },
		"Create":    func(ctx context.Context) error { _, err := l.Create(ctx, "run3"); return err },
		"Append":    func(ctx context.Context) error { return j.Append(ctx, record(1)) },
		"Records": func(ctx context.Context) error {
			for _, err := range s.Records(ctx, j.ID(), 0) {
				return err
			}
			return nil
		},
	} {
		ctx, cancel := with()
		done := make(chan error, 1)
		go func() { done <- call(ctx) }()
		select {
		case err := <-done:
			if !errors.Is(err, want) {
				b.Errorf("%s: %v, want %v", name, err, want)
			}
		case <-b.ctx().Done():
			b.Fatalf("%s goes on after its deadline", name)
		}
		cancel()
	}
}

func closedTwice(b *bench) {
	s := b.store()
	l := b.lock(s, "run1")
	j := b.journal(l, "run1", 1)
	for range 2 {
		b.must(j.Close())
	}
	b.is(j.Append(b.ctx(), record(1)), os.ErrClosed)
	for range 2 {
		b.must(l.Release())
	}
	if _, err := l.Create(b.ctx(), "run2"); err == nil {
		b.Error("a lock that was given back begins a journal")
	}
	for range 2 {
		b.must(s.Close())
	}
}
