package simulate

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Events come out by time, and in the order in which they went in where times are equal.
func TestWheelOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, perMicrosecond := range []int64{1, 200, 1_000_000} {
		w := newWheel(perMicrosecond)
		type entry struct {
			at Time
			id int32
		}
		var want []entry
		now, id := Time(0), int32(0)
		add := func() {
			span := []Time{1, 5000, Microsecond, 200 * Microsecond, 3 * Millisecond}[r.IntN(5)]
			at := now + Time(r.Int64N(int64(span)))
			w.add(at, evArrive, id, 0)
			want = append(want, entry{at, id})
			id++
		}
		for range 20_000 {
			for range r.IntN(3) {
				add()
			}
			if len(want) == 0 || r.IntN(8) == 0 {
				continue
			}
			slices.SortFunc(want, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
			e, ok := w.pop()
			if !ok || e.at != want[0].at || e.a != want[0].id {
				t.Fatalf("popped %v (%v), want %v", e, ok, want[0])
			}
			now, want = e.at, want[1:]
			if len(want) > 300 {
				want = want[:0]
				w = newWheel(perMicrosecond)
			}
		}
	}
}
