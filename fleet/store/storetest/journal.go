package storetest

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// order checks that journals are listed in the order of creation, even if the clock, and
// so the times at the start of their names, goes backwards.
func order(b *bench) {
	s := b.store()
	var want []string
	for i := range 12 {
		run := fmt.Sprintf("2026%02d01-000000000-%04d", 12-i, i)
		o := owner("host1", run)
		o.Since = o.Since.Add(-time.Duration(i) * time.Hour)
		l, err := s.Lock(b.ctx(), o)
		b.must(err)
		b.must(b.journal(l, run, 1).Close())
		b.must(l.Release())
		want = append(want, run)
	}
	ids, err := b.store().Journals(b.ctx())
	b.must(err)
	var got []string
	for i, id := range ids {
		got = append(got, id.Run)
		if i > 0 && id.Number <= ids[i-1].Number {
			b.Errorf("%v comes after %v", id, ids[i-1])
		}
		b.has(s, id, 1)
		if !strings.Contains(s.Place(id), id.Run) {
			b.Errorf("%v is at %s", id, s.Place(id))
		}
	}
	if !slices.Equal(got, want) {
		b.Errorf("the journals are %q", got)
	}
}

func recordsOfAllSizes(b *bench) {
	s := b.store()
	l := b.lock(s, "run1")
	j := b.journal(l, "run1", 0)
	if ids, err := s.Journals(b.ctx()); err != nil || len(ids) > 0 {
		b.Errorf("before its first record a journal is in the store: %v, %v", ids, err)
	}
	var want []string
	for _, n := range []int{0, 1, 100, 1 << 10, 512<<10 - 2, 512 << 10, 5 << 20, 7} {
		want = append(want, `"`+strings.Repeat("x", n)+`"`)
		b.must(j.Append(b.ctx(), []byte(want[len(want)-1])))
		// Another reader must see the record once Append has returned.
		if got, _, errs := b.read(b.store(), j.ID(), 0); errs != nil || !slices.Equal(got, want) {
			b.Fatalf("after a record of %d bytes: %d records, %v", n, len(got), errs)
		}
	}
	_, at, _ := b.read(s, j.ID(), 0)
	for i, from := range at {
		if got, _, errs := b.read(s, j.ID(), from); errs != nil || !slices.Equal(got, want[i:]) {
			b.Errorf("from record %d: %d records, %v", i, len(got), errs)
		}
	}
	for _, err := range s.Records(b.ctx(), j.ID(), 0) {
		b.must(err)
		break // the iterator must not continue
	}
	_, _, errs := b.read(s, store.ID{Number: 77, Run: "none"}, 0)
	if len(errs) != 1 {
		b.Fatalf("no journal: %v", errs)
	}
	b.is(errs[0], fs.ErrNotExist)
}

func notRecords(b *bench) {
	s := b.store()
	j := b.journal(b.lock(s, "run1"), "run1", 1)
	for _, bad := range []string{"", "x", "{", "{}\n{}", "{\n}", `"` + strings.Repeat("x", store.MaxRecord) + `"`} {
		if err := j.Append(b.ctx(), []byte(bad)); err == nil {
			b.Errorf("%.20q is a record", bad)
		}
	}
	b.must(j.Append(b.ctx(), record(1)))
	b.has(s, j.ID(), 2)
}

// damaged checks that the readable records of a damaged journal are read, and that the
// damage does not hide other journals.
func damaged(b *bench) {
	s := b.store()
	l := b.lock(s, "run1")
	var ids []store.ID
	for _, run := range []string{"run1", "run2", "run3"} {
		j := b.journal(l, run, 4)
		ids = append(ids, j.ID())
		b.must(j.Close())
	}
	b.must(l.Release())
	_, at, _ := b.read(s, ids[0], 0)
	b.place.Damage(b.T, ids[0], at[1])
	b.place.Tear(b.T, ids[1])
	if got, err := s.Journals(b.ctx()); err != nil || !slices.Equal(got, ids) {
		b.Errorf("the journals are %v, %v", got, err)
	}
	got, _, errs := b.read(s, ids[0], 0)
	if want := []string{string(record(0)), string(record(2)), string(record(3))}; !slices.Equal(got, want) || len(errs) != 1 || !strings.Contains(errs[0].Error(), s.Place(ids[0])) {
		b.Errorf("with a damaged record: %q, %v", got, errs)
	}
	got, _, errs = b.read(s, ids[1], 0)
	if want := []string{string(record(0)), string(record(1)), string(record(2))}; !slices.Equal(got, want) || len(errs) != 1 || !strings.Contains(errs[0].Error(), s.Place(ids[1])) {
		b.Fatalf("with a torn record: %q, %v", got, errs)
	}
	b.is(errs[0], store.ErrCutOff)
	b.has(s, ids[2], 4)
	j := b.journal(b.lock(s, "run4"), "run4", 2)
	b.has(s, j.ID(), 2)
}

// changed checks that a journal accepts no more records once someone else has changed it
// during its run.
func changed(b *bench) {
	s := b.store()
	l := b.lock(s, "run1")
	j := b.journal(l, "run1", 4)
	b.place.Tear(b.T, j.ID())
	if err := j.Append(b.ctx(), record(4)); err == nil {
		b.Error("a record follows on what someone else wrote")
	}
	b.must(l.Release())
}

// writers checks that records written concurrently are each stored whole and once.
func writers(b *bench) {
	s := b.store()
	l := b.lock(s, "run1")
	j := b.journal(l, "run1", 0)
	var want []string
	var wg sync.WaitGroup
	for w := range 6 {
		for i := range 10 {
			want = append(want, fmt.Sprintf(`"%d-%d"`, w, i))
		}
		wg.Go(func() {
			for i := range 10 {
				if err := j.Append(b.ctx(), fmt.Appendf(nil, `"%d-%d"`, w, i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, _, errs := b.read(s, j.ID(), 0)
	slices.Sort(got)
	if slices.Sort(want); errs != nil || !slices.Equal(got, want) {
		b.Errorf("%d records, %v", len(got), errs)
	}
}

func many(b *bench) {
	const n = 10_000
	b.place.Many(b.T, n)
	s := b.store()
	begun := time.Now()
	ids, err := s.Journals(b.ctx())
	b.must(err)
	b.Logf("%d journals are listed in %s", len(ids), time.Since(begun))
	if len(ids) != n || !slices.IsSortedFunc(ids, func(a, b store.ID) int { return int(a.Number) - int(b.Number) }) {
		b.Errorf("%d journals", len(ids))
	}
	if j := b.journal(b.lock(s, "run1"), "run1", 1); j.ID().Number != n+1 {
		b.Errorf("the next is %v", j.ID())
	}
}

func hostile(b *bench) {
	s := b.store()
	l := b.lock(s, "run1")
	for _, run := range []string{"", ".", "..", "../x", "a/b", `a\b`, "a\x00b", "a\nb", ".x", strings.Repeat("x", 300)} {
		if _, err := l.Create(b.ctx(), run); err == nil {
			b.Errorf("%.20q is a run", run)
		}
		for _, id := range []store.ID{{Number: 1, Run: run}, {Run: run}} {
			if got, _, errs := b.read(s, id, 0); len(got) > 0 || len(errs) != 1 {
				b.Errorf("%.20q: %q, %v", run, got, errs)
			}
		}
	}
	if ids, err := s.Journals(b.ctx()); err != nil || len(ids) > 0 {
		b.Errorf("the journals are %v, %v", ids, err)
	}
	j := b.journal(l, "run 1.é-_", 1)
	if ids, err := s.Journals(b.ctx()); err != nil || !slices.Equal(ids, []store.ID{j.ID()}) {
		b.Errorf("the journals are %v, %v", ids, err)
	}
}

// noRoom fills the place. Stored records must stay, and a record that did not fit must not
// spoil the next one, whether nothing, half or all of it was stored: etcd checks its quota
// again after it has applied a write, and then reports that there was no room.
func noRoom(b *bench, room func()) {
	s := b.store()
	l := b.lock(s, "run1")
	j := b.journal(l, "run1", 1)
	big := `"` + strings.Repeat("x", 100_000) + `"`
	want := []string{string(record(0))}
	var err error
	for range 1000 {
		if err = j.Append(b.ctx(), []byte(big)); err != nil {
			break
		}
		want = append(want, big)
	}
	if err == nil || len(want) < 2 {
		b.Fatalf("there is room for %d records: %v", len(want), err)
	}
	b.Logf("after %d records: %v", len(want), err)
	got, _, errs := b.read(s, j.ID(), 0)
	if errs != nil || !slices.Equal(got, want) && !slices.Equal(got, append(slices.Clone(want), big)) {
		b.Errorf("without room: %d records, %v; want %d, and perhaps the one that was refused", len(got), errs, len(want))
	}
	room()
	b.must(j.Append(b.ctx(), record(1)))
	if got, _, errs := b.read(s, j.ID(), 0); errs != nil || !slices.Equal(got, append(want, string(record(1)))) {
		b.Errorf("with room again: %d records, %v; want %d", len(got), errs, len(want)+1)
	}
	b.must(l.Release())
}
