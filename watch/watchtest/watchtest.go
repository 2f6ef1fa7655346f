// Package watchtest lets tests step through a watch round by round without waiting. Only tests
// import it.
package watchtest

import (
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/watch"
)

// Clock is a clock that moves only when a test advances it to the watch's next timer. Only one
// watch may use it, and nothing else may set timers on it.
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

// epoch is the initial time of a clock.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// NewClock returns a Clock set to epoch.
func NewClock() *Clock {
	c := &Clock{now: epoch, timers: map[*timer]bool{}}
	c.cond = sync.NewCond(&c.mu)
	return c
}

// Now implements [watch.Clock].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since returns the time since the clock's creation.
func (c *Clock) Since() time.Duration { return c.Now().Sub(epoch) }

// Timer implements [watch.Clock].
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

// End records that the watch has ended, and wakes all waiters.
func (c *Clock) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.cond.Broadcast()
}

// Parked blocks until the watch has set a timer or has ended.
func (c *Clock) Parked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers) == 0 && !c.ended {
		c.cond.Wait()
	}
}

// Pass advances the clock without firing timers.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// quiet blocks until the watch waits for a timer with at most the given number of reads in
// progress. It returns that timer; nil if the watch has ended.
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
			c.cond.Wait() // until a read ends and the watch sets another timer
		}
		c.mu.Unlock()
	}
}

// fire advances the clock to a timer and fires it.
func (c *Clock) fire(t *timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timers[t] {
		c.now = t.at
		t.c <- t.at
		delete(c.timers, t)
	}
}

// Step advances to the watch's next timer and waits until the watch has handled it.
func (c *Clock) Step(w *watch.Watcher) { c.StepWith(w, 0) }

// StepWith is like Step, but allows stuck reads that never end.
func (c *Clock) StepWith(w *watch.Watcher, stuck int) {
	if next := c.quiet(w, stuck); next != nil {
		c.fire(next)
		c.quiet(w, stuck)
	}
}

// Near blocks until the watch has a timer at most d away, as it has after a notification.
func (c *Clock) Near(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.ended && !c.near(d) {
		c.cond.Wait()
	}
}

// Soon is Near followed by Step.
func (c *Clock) Soon(w *watch.Watcher, d time.Duration) {
	c.Near(d)
	c.Step(w)
}

// near reports whether a timer fires within d. The caller holds mu.
func (c *Clock) near(d time.Duration) bool {
	for t := range c.timers {
		if t.at.Sub(c.now) <= d {
			return true
		}
	}
	return false
}

// To steps a watch until n rounds are over and returns the last one; stuck is the number of
// reads that may never end. It returns nil if the watch ends earlier.
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
