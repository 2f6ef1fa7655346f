package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// A story that is played twice meets the same faults, and each command ends with the same result
// at the same virtual times to a millisecond; nearly all times are equal to the nanosecond, and
// the test counts them. The test does not compare bytes, nor the number of pieces into which the
// data of one moment is split, because both depend on the order in which Go runs goroutines that
// are ready at the same time.
func TestStoryTwice(t *testing.T) {
	quietSignals()
	// Goroutines that are ready at the same virtual time run in the order of their processor.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	talk := map[string]int{"apply": 100, "resume": 100, "rollback": 100, "validate": 50, "watch": 50, "gate": 20, "store": 12}
	times, pieces, all := 0, 0, 0
	for _, way := range ways[:sharedtest.Sized(2, len(ways))] {
		for seed := range uint64(sharedtest.Sized(1, 4)) {
			t.Run(fmt.Sprint(way.name, " ", seed), func(t *testing.T) {
				s := tell(rand.New(rand.NewPCG(seed, 7)), way, 0, talk)
				s.Together = false // parallel work on two devices has no fixed order
				var first *world
				for range 2 {
					cryptotest.SetGlobalRandom(t, seed)
					var w *world
					synctest.Test(t, func(t *testing.T) {
						w = newWorld(t, s)
						w.after = [2][]view{make([]view, 1), make([]view, 1)} // so that the story is not judged
						w.play()
					})
					if first == nil {
						first = w
						continue
					}
					if len(w.ends) != len(first.ends) {
						t.Fatalf("%s: %d commands, and then %d", s, len(first.ends), len(w.ends))
					}
					for i, a := range first.ends {
						b := w.ends[i]
						if a.text != b.text || !slices.EqualFunc(a.times, b.times, func(a, b time.Duration) bool { return (a - b).Abs() <= time.Millisecond }) {
							t.Fatalf("%s differs:\n%v\n%v", s, a, b)
						}
						all++
						if slices.Equal(a.times, b.times) {
							times++
						}
						if a.pieces == b.pieces {
							pieces++
						}
					}
				}
			})
		}
	}
	t.Logf("of %d commands, %d ended and met their faults at the same nanosecond, and %d exchanged all their data at the same nanoseconds", all, times, pieces)
}
