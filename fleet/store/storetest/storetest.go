// Package storetest is the test suite that every implementation of [store.Store] must
// pass. It tests what package store promises, with several processes and with places that
// fail on demand.
//
// A store's test calls [Main] from its TestMain, describes where it keeps its data in a
// [Place], and calls [Run]. Do not put code for one particular store here.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// Place is where a store keeps its data. It starts empty. Only Freeze may be nil.
type Place struct {
	// Where and Fabric are the arguments of Open, in this process and in others.
	Where, Fabric string
	// Lose takes the lock away from its holder, as if the holder had not renewed it.
	Lose func(t *testing.T)
	// Damage makes a record unreadable; Tear cuts off the last record.
	Damage func(t *testing.T, id store.ID, at int64)
	Tear   func(t *testing.T, id store.ID)
	// Many creates n journals.
	Many func(t *testing.T, n int)
	// Freeze keeps the place from answering until thaw is called. It is nil if the place
	// cannot be frozen.
	Freeze func(t *testing.T) (thaw func())
	// Virtual runs the tests that need no other process in virtual time: the store waits for
	// nothing outside this process.
	Virtual bool
}

// run runs a test of the suite on the place.
func (p *Place) run(t *testing.T, open Open, test func(*bench)) {
	if !p.Virtual {
		test(&bench{t, open, p})
		return
	}
	synctest.Test(t, func(t *testing.T) { test(&bench{t, open, p}) })
}

// Open opens a store.
type Open func(ctx context.Context, where, fabric string) (store.Store, error)

// patience is the timeout for expected events, such as the expiry of a lease on a busy
// machine.
const patience = 90 * time.Second

// Run runs the suite. fresh returns an empty place. full returns a place with room for a
// few hundred KB, and a function that makes more room.
func Run(t *testing.T, open Open, fresh func(t *testing.T) *Place, full func(t *testing.T) (_ *Place, room func())) {
	for name, test := range map[string]func(*bench){
		"one works and the other says who": oneWorks,
		"a crash frees the lock":           crash,
	} {
		t.Run(name, func(t *testing.T) { test(&bench{t, open, fresh(t)}) })
	}
	for name, test := range map[string]func(*bench){
		"one of many wins":               oneWins,
		"a lost lease":                   lostLease,
		"a forced break":                 forcedBreak,
		"checkouts":                      checkouts,
		"order without clocks":           order,
		"records":                        recordsOfAllSizes,
		"invalid records are rejected":   notRecords,
		"a damaged journal":              damaged,
		"writers at once":                writers,
		"ten thousand journals":          many,
		"a journal that someone changes": changed,
		"hostile names":                  hostile,
		"deadlines":                      deadlines,
		"a place that does not answer":   frozen,
		"closed twice":                   closedTwice,
	} {
		t.Run(name, func(t *testing.T) { fresh(t).run(t, open, test) })
	}
	t.Run("no room", func(t *testing.T) {
		p, room := full(t)
		p.run(t, open, func(b *bench) { noRoom(b, room) })
	})
}

// bench is a test and the place that it works on.
type bench struct {
	*testing.T
	open  Open
	place *Place
}

// ctx returns a context that ends after patience.
func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	b.Cleanup(cancel)
	return ctx
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) is(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Errorf("error %v, want %v", err, want)
	}
}

// store opens the store again, as another process would.
func (b *bench) store() store.Store {
	b.Helper()
	s, err := b.open(b.ctx(), b.place.Where, b.place.Fabric)
	b.must(err)
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// lock takes the lock for a run.
func (b *bench) lock(s store.Store, run string) store.Lock {
	b.Helper()
	l, err := s.Lock(b.ctx(), owner("host1", run))
	b.must(err)
	b.Cleanup(func() { _ = l.Release() }) // most tests have released it already
	return l
}

// journal creates a journal and appends n records.
func (b *bench) journal(l store.Lock, run string, n int) store.Journal {
	b.Helper()
	j, err := l.Create(b.ctx(), run)
	b.must(err)
	b.Cleanup(func() { _ = j.Close() }) // some tests have closed it already
	for i := range n {
		b.must(j.Append(b.ctx(), record(i)))
	}
	return j
}

func record(i int) []byte {
	return fmt.Appendf(nil, `{"n":%d,"text":"%s"}`, i, strings.Repeat("é", i%7))
}

// read returns the records of a journal as text, their positions, and the errors of
// unreadable records.
func (b *bench) read(s store.Store, id store.ID, from int64) (out []string, at []int64, errs []error) {
	for r, err := range s.Records(b.ctx(), id, from) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out, at = append(out, string(r.Data)), append(at, r.At)
	}
	return out, at, errs
}

// has checks that a journal holds exactly the records 0 to n-1.
func (b *bench) has(s store.Store, id store.ID, n int) {
	b.Helper()
	var want []string
	for i := range n {
		want = append(want, string(record(i)))
	}
	if got, _, errs := b.read(s, id, 0); errs != nil || !slices.Equal(got, want) {
		b.Errorf("%v: %d records %.200q, %v; want %d", id, len(got), got, errs, n)
	}
}

// until calls ok repeatedly until it returns true; what names the condition.
func (b *bench) until(what string, ok func() bool) {
	b.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := b.ctx(); !ok(); {
		select {
		case <-tick.C:
		case <-end.Done():
			b.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// ended waits until ctx is cancelled and returns the cause.
func (b *bench) ended(ctx context.Context) error {
	b.Helper()
	select {
	case <-ctx.Done():
	case <-b.ctx().Done():
		b.Fatal("the lock is not lost")
	}
	return context.Cause(ctx)
}

func owner(host, run string) store.Owner {
	o := store.Self(run, "/home/ann/"+run+"/fabric.yaml")
	o.Host = host
	return o
}
