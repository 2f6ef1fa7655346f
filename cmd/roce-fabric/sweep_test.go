package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"
)

var (
	sweepSeed    = flag.Uint64("sweep.seed", 0, "the first story of TestFaultSweep; 0 is by chance")
	sweepStories = flag.Int("sweep.stories", 0, "how many stories TestFaultSweep tells at most; 0 is two, or as many as -sweep.for allows")
	sweepFor     = flag.Duration("sweep.for", 0, "for how long TestFaultSweep begins stories; 0 is for as long as it takes")
	sweepWay     = flag.String("sweep.way", "", "only this way in, such as \"sonic gnmi\"")
	sweepFault   = flag.String("sweep.fault", "", "the first fault of each command is this one, such as \"half-open\"")
	sweepPairs   = flag.Int("sweep.pairs", 12, "from how many pairs of an intent before and after stories choose")
	sweepStory   = flag.String("sweep.story", "", "only this story, as a failure prints it")
)

// acquaintance holds the results of a pair of intents without faults.
type acquaintance struct {
	once  sync.Once
	after [2][]view // state after applying to the intent before, and to the factory configuration
	talk  map[string]int
	wrong string // why the pair cannot be used
}

// acquaintances holds the pairs used so far.
type acquaintances struct {
	mu  sync.Mutex
	all map[string]*acquaintance
}

func (a *acquaintances) of(t *testing.T, way kind, pair int) *acquaintance {
	key := fmt.Sprint(way.name, " ", pair)
	a.mu.Lock()
	found := a.all[key]
	if found == nil {
		found = &acquaintance{talk: map[string]int{}}
		a.all[key] = found
	}
	a.mu.Unlock()
	// The gate takes the same time for each pair.
	gate := 0
	if pair > 0 {
		gate = a.of(t, way, 0).talk["gate"]
	}
	found.once.Do(func() { found.meet(t, way, pair, gate) })
	return found
}

// meet runs the commands of a story without faults.
func (a *acquaintance) meet(t *testing.T, way kind, pair, gate int) {
	w := newWorld(t, story{Way: way.name, Pair: pair})
	if pair > 0 { // names and defaults may depend on the earlier configuration
		a.note(w, w.do(deed{Command: "apply"})[0])
		w = newWorld(t, w.story)
	}
	if !w.begin() {
		a.wrong = strings.Join(w.told, "\n")
		return
	}
	deeds := []deed{{Command: "apply"}}
	if a.talk["gate"] = gate; pair == 0 {
		deeds = append(deeds, deed{Command: "rollback"}, deed{Command: "apply", Gate: true})
	}
	for n, d := range deeds {
		s := w.do(d)[0]
		want := exitOK
		if way.cannotSave() && d.Command == "apply" {
			want = exitPartial // the configuration is not saved
		}
		if s.rep.status != want {
			a.wrong = strings.Join(w.told, "\n")
			return
		}
		pieces := max(s.count[0], s.count[1])
		if d.Gate {
			a.talk["gate"] = pieces - a.talk["apply"]
			continue
		}
		a.talk[d.Command] = pieces
		if n == 0 {
			a.talk["store"] = max(1, s.asked)
			a.note(w, s)
		}
	}
	for _, command := range []string{"resume", "rollback", "validate", "watch", "plan"} {
		if a.talk[command] == 0 {
			a.talk[command] = a.talk["apply"]
		}
	}
}

// note records the devices' state after an apply.
func (a *acquaintance) note(w *world, s *session) {
	for i, v := range s.end {
		v.meaning = meaning(w.boxes[i])
		a.after[i] = append(a.after[i], v)
	}
}

// told is the result of a story.
type told struct {
	story story
	wrong []string
	log   []string
	tally tally
}

// tellAt plays the story returned by make in its own bubble.
func tellAt(t *testing.T, known *acquaintances, make func(t *testing.T) story) (out told) {
	synctest.Test(t, func(t *testing.T) {
		s := make(t)
		a := known.of(t, s.way(), s.Pair)
		if a.wrong != "" {
			t.Errorf("%s, pair %d without a fault: %s", s.Way, s.Pair, a.wrong)
			return
		}
		w := newWorld(t, s)
		w.after = [2][]view{slices.Clip(a.after[0]), slices.Clip(a.after[1])}
		if w.begin() {
			w.play()
		} else {
			w.fail("the intent before: %s", strings.Join(w.told, "\n"))
		}
		out = told{story: s, wrong: w.wrong, log: w.told, tally: w.tally}
	})
	return out
}

// shrink removes deeds, faults and other parts of a story as long as it still fails.
func shrink(t *testing.T, known *acquaintances, s story) story {
	wrong := func(s story) bool {
		return len(tellAt(t, known, func(*testing.T) story { return s }).wrong) > 0
	}
	for again, tries := true, 0; again && tries < 40; {
		again = false
		for _, less := range s.smaller() {
			if tries++; wrong(less) {
				s, again = less, true
				break
			}
		}
	}
	return s
}

// smaller returns the stories with one thing removed.
func (s story) smaller() (out []story) {
	with := func(change func(*story)) {
		var c story
		must(json.Unmarshal([]byte(s.String()), &c))
		change(&c)
		out = append(out, c)
	}
	for i, d := range s.Deeds {
		with(func(c *story) { c.Deeds = slices.Delete(c.Deeds, i, i+1) })
		for n := range d.Strikes {
			with(func(c *story) { c.Deeds[i].Strikes = slices.Delete(c.Deeds[i].Strikes, n, n+1) })
		}
		if d.Rival != "" {
			with(func(c *story) { c.Deeds[i].Rival, c.Deeds[i].Later = "", 0 })
		}
		if d.Gate {
			with(func(c *story) { c.Deeds[i].Gate = false })
		}
	}
	if s.Together {
		with(func(c *story) { c.Together = false })
	}
	if s.Leases {
		with(func(c *story) { c.Leases = false })
	}
	if s.Pair != 0 {
		with(func(c *story) { c.Pair = 0 })
	}
	return out
}

// sweep plays stories and collects their results.
type sweep struct {
	known *acquaintances
	of    []kind

	mu    sync.Mutex
	tally tally
}

func newSweep() *sweep {
	w := &sweep{known: &acquaintances{all: map[string]*acquaintance{}}, tally: newTally()}
	w.of = slices.DeleteFunc(slices.Clone(ways), func(k kind) bool { return *sweepWay != "" && k.name != *sweepWay })
	return w
}

// seeded returns the story of a seed.
func (w *sweep) seeded(seed uint64) func(t *testing.T) story {
	return func(t *testing.T) story {
		rnd := rand.New(rand.NewPCG(seed, 0))
		way := w.of[rnd.IntN(len(w.of))]
		pair := 0
		if rnd.IntN(2) == 0 {
			pair = 1 + rnd.IntN(*sweepPairs)
		}
		a := w.known.of(t, way, pair)
		if a.wrong != "" {
			return story{Way: way.name, Pair: pair} // tellAt reports why
		}
		return tell(rnd, way, pair, a.talk)
	}
}

func (w *sweep) tell(t *testing.T, seed uint64, make func(t *testing.T) story) {
	out := tellAt(t, w.known, make)
	w.mu.Lock()
	w.tally.add(out)
	w.mu.Unlock()
	if len(out.wrong) == 0 {
		return
	}
	again := tellAt(t, w.known, func(*testing.T) story { return out.story })
	least := out.story
	if len(again.wrong) > 0 {
		least = shrink(t, w.known, out.story)
	}
	t.Errorf("seed %d, told again: %t\n%s\n%s\nthe smallest story that is wrong: go test ./cmd/roce-fabric -run TestFaultSweep -sweep.story '%s'",
		seed, len(again.wrong) > 0, strings.Join(out.wrong, "\n"), strings.Join(out.log, "\n"), least)
}

func (a *tally) add(out told) {
	a.stories++
	a.commands += out.tally.commands
	for f, n := range out.tally.struck {
		a.struck[f] += n
	}
	maps.Copy(a.states, out.tally.states)
	for c, d := range out.tally.longest {
		a.longest[c] = max(a.longest[c], d)
	}
	if len(out.wrong) > 0 {
		a.wrong++
	}
}

// table formats the results of a sweep. spent is the processor time.
func (a tally) table(spent time.Duration) string {
	var b strings.Builder
	sum := 0
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range slices.Sorted(maps.Keys(a.struck)) {
		fmt.Fprintf(w, "%s\t%d\n", f, a.struck[f])
		sum += a.struck[f]
	}
	for _, c := range slices.Sorted(maps.Keys(a.longest)) {
		fmt.Fprintf(w, "longest %s\t%s\n", c, a.longest[c].Round(time.Millisecond))
	}
	_ = w.Flush() // cannot fail: w writes to memory
	return fmt.Sprintf("%d stories, %d commands, %d faults struck, %d distinct states, %d wrong, %.1f stories a minute of one processor\n%s",
		a.stories, a.commands, sum, len(a.states), a.wrong, float64(a.stories)/spent.Minutes(), b.String())
}

// spent returns the processor time of this process.
func spent() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestFaultSweep plays stories: sequences of commands, each with faults. Every report must be
// true, and after a final command without faults every device must be as before or as intended.
// A failure prints the smallest story that still fails.
func TestFaultSweep(t *testing.T) {
	t.Parallel()
	quietSignals()
	w := newSweep()
	if *sweepStory != "" {
		var s story
		if err := json.Unmarshal([]byte(*sweepStory), &s); err != nil {
			t.Fatal(err)
		}
		w.tell(t, 0, func(*testing.T) story { return s })
		return
	}
	seed := cmp.Or(*sweepSeed, rand.Uint64())
	most, until, before := int64(*sweepStories), time.Now().Add(*sweepFor), spent()
	if most == 0 && *sweepFor == 0 {
		most = 2
	}
	var next atomic.Int64
	t.Run("stories", func(t *testing.T) {
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for {
					n := next.Add(1) - 1
					if most > 0 && n >= most || *sweepFor > 0 && time.Now().After(until) {
						return
					}
					at := seed + uint64(n)
					t.Run(fmt.Sprint(at), func(t *testing.T) { w.tell(t, at, w.seeded(at)) })
				}
			})
		}
	})
	text := fmt.Sprintf("seed %d: %s", seed, w.tally.table(spent()-before))
	t.Log(text)
	artifact(t, "sweep.txt", text)
}

// quietSignals starts the goroutine that the first signal.Notify of a process starts and that
// never ends, so that it is outside every bubble.
func quietSignals() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
}
