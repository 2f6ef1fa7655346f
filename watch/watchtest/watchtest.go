// Package watchtest lets tests step through a watch round by round, without
// waiting for the time to pass. Only tests import it.
package watchtest

import (
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/watch"
)

// Clock stands still until it is moved to what the watch waits for. One watch uses
// it, and nobody else sets timers on it.
type Clock struct {
	mu     sync.Mutex
	cond   *sync.Cond
	now    time.Time
	timers map[*timer]bool
	ended  bool
}

type timer struct {
	at time.Time
	c  chan time.Time
}

// epoch is the time that a clock begins with.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// NewClock makes a clock.
func NewClock() *Clock {
	c := &Clock{now: epoch, timers: map[*timer]bool{}}
	c.cond = sync.NewCond(&c.mu)
	return c
}

// Now is of [watch.Clock].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since is the time that has passed.
func (c *Clock) Since() time.Duration { return c.Now().Sub(epoch) }

// Timer is of [watch.Clock].
func (c *Clock) Timer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		t.c <- c.now
	} else {
		c.timers[t] = true
	}
	c.cond.Broadcast()
	return t.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

// End says that the watch has ended, and wakes who waits for it.
func (c *Clock) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.cond.Broadcast()
}

// Parked waits until the watch waits.
func (c *Clock) Parked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers) == 0 && !c.ended {
		c.cond.Wait()
	}
}

// Pass lets time pass, and wakes nobody.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// quiet waits until the watch waits, with at most that many reads under way, and
// returns what it waits for; nil says that it has ended.
func (c *Clock) quiet(w *watch.Watcher, reads int) *timer {
	for {
		c.mu.Lock()
		for len(c.timers) == 0 && !c.ended {
			c.cond.Wait()
		}
		var next *timer
		for t := range c.timers {
			next = t
		}
		c.mu.Unlock()
		if next == nil {
			return nil
		}
		_, n := w.Devices()
		c.mu.Lock()
		switch {
		case n <= reads && c.timers[next]:
			c.mu.Unlock()
			return next
		case c.timers[next] && !c.ended:
			c.cond.Wait() // until a read ends, and the watch waits anew
		}
		c.mu.Unlock()
	}
}

// fire moves to a timer.
func (c *Clock) fire(t *timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timers[t] {
		c.now = t.at
		t.c <- t.at
		delete(c.timers, t)
	}
}

// Step moves to what the watch waits for next, and waits until it is done.
func (c *Clock) Step(w *watch.Watcher) { c.StepWith(w, 0) }

// StepWith is Step where so many reads are under way that nobody lets end.
func (c *Clock) StepWith(w *watch.Watcher, stuck int) {
	if next := c.quiet(w, stuck); next != nil {
		c.fire(next)
		c.quiet(w, stuck)
	}
}

// Near waits until the watch waits for something that is at most d away, because
// someone told it of it.
func (c *Clock) Near(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.ended && !c.near(d) {
		c.cond.Wait()
	}
}

// Soon is Near, and steps there.
func (c *Clock) Soon(w *watch.Watcher, d time.Duration) {
	c.Near(d)
	c.Step(w)
}

// near reports whether a timer ends within d. The caller holds mu.
func (c *Clock) near(d time.Duration) bool {
	for t := range c.timers {
		if t.at.Sub(c.now) <= d {
			return true
		}
	}
	return false
}

// To steps a watch until so many rounds are over, and returns the last; stuck is
// how many reads may be under way that nobody lets end. nil says that the watch
// ended before.
func (c *Clock) To(w *watch.Watcher, n, stuck int) *watch.Round {
	for {
		next := c.quiet(w, stuck)
		r := w.Last()
		switch {
		case r != nil && r.N >= n:
			return r
		case next == nil:
			return nil
		}
		c.fire(next)
	}
}
