package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

const (
	// settling is the delay between a change notification and the read, because a change
	// consists of many rows that the device applies one after another. It is also the shortest
	// time between two early reads of a device.
	settling = 2 * time.Second
	// gather is how long the result of an early read waits at most for other switches that
	// changed too, because links are judged by both ends.
	gather = 10 * time.Second
	// firstRetry is the delay before a broken subscription is retried; it doubles with each
	// failure, up to maxBackoff. A subscription that lasted for steady starts again at
	// firstRetry.
	firstRetry = 10 * time.Second
	steady     = time.Minute
)

// subscriptions tracks subscriptions and the changes that devices notify. The watcher's mu guards
// it.
type subscriptions struct {
	begin    map[int]time.Time // when to subscribe, for devices without a subscription
	failures map[int]int       // consecutive failures
	since    map[int]time.Time // start of each established subscription
	starting int
	changed  map[int]time.Time // devices that changed since their last read, with the time of the first notification
	urgent   int               // reads in progress of changed devices
	fresh    map[string]bool   // changed devices whose read ended but whose update has not been delivered
	oldest   time.Time         // when the first of those reads ended
	wake     chan struct{}     // capacity 1; makes the loop check again
	ended    chan ending
}

type ending struct {
	i   int
	err error
}

func newTold(cfg *Config) subscriptions {
	t := subscriptions{begin: map[int]time.Time{}, failures: map[int]int{}, since: map[int]time.Time{}, changed: map[int]time.Time{}, fresh: map[string]bool{},
		wake: make(chan struct{}, 1), ended: make(chan ending, len(cfg.Devices))} // at most one entry per device, so that no sender blocks
	for i, d := range cfg.Devices {
		if cfg.Notify != nil && !d.Host {
			t.begin[i] = time.Time{}
		}
	}
	return t
}

// subscribe keeps a subscription to one device until it ends.
func (w *Watcher) subscribe(ctx context.Context, i int) ending {
	tell := func(fn func()) func() {
		return func() {
			w.mu.Lock()
			fn()
			w.mu.Unlock()
			select {
			case w.subscriptions.wake <- struct{}{}:
			default:
			}
		}
	}
	err := w.cfg.Notify(ctx, w.cfg.Devices[i], tell(func() {
		w.subscriptions.starting--
		w.subscriptions.since[i] = w.cfg.Clock.Now()
	}), tell(func() {
		if w.subscriptions.changed[i].IsZero() {
			w.subscriptions.changed[i] = w.cfg.Clock.Now()
		}
	}))
	return ending{i, err}
}

// toSubscribe returns and removes the devices to subscribe to now. There are none until the
// first round, which reads all devices as fast as it can, has ended.
func (w *Watcher) toSubscribe() (out []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return nil
	}
	now := w.cfg.Clock.Now()
	for _, i := range slices.Sorted(maps.Keys(w.subscriptions.begin)) {
		if w.subscriptions.starting < w.cfg.Parallel && !w.subscriptions.begin[i].After(now) {
			delete(w.subscriptions.begin, i)
			w.subscriptions.starting++
			out = append(out, i)
		}
	}
	return out
}

// unsubscribed schedules the retry of a subscription that ended. A broken subscription is not a
// finding, because each round reads the device anyway.
func (w *Watcher) unsubscribed(e ending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.cfg.Clock.Now()
	since, held := w.subscriptions.since[e.i]
	if !held {
		w.subscriptions.starting--
	}
	delete(w.subscriptions.since, e.i)
	if errors.Is(e.err, drivers.ErrUnsupported) {
		return
	}
	if held && now.Sub(since) >= steady {
		w.subscriptions.failures[e.i] = 0
	}
	wait := min(firstRetry<<min(w.subscriptions.failures[e.i], 10), maxBackoff)
	w.subscriptions.failures[e.i]++
	w.subscriptions.begin[e.i] = now.Add(time.Duration((0.5 + 0.5*w.cfg.Rand()) * float64(wait)))
}

// earlyReadTime returns when a changed device is read. The caller holds mu.
func (w *Watcher) earlyReadTime(i int) time.Time {
	at := w.subscriptions.changed[i]
	if at.Before(w.devices[i].settled) {
		at = w.devices[i].settled
	}
	return at.Add(settling)
}

// mayBeEarly lists, in order, the changed devices that may be read before their turn. Devices
// that could not be read are left to the rounds. The caller holds mu.
func (w *Watcher) mayBeEarly() []int {
	if w.last == nil || len(w.subscriptions.changed) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.subscriptions.changed)), func(i int) bool {
		return w.devices[i].reading || w.devices[i].err.ID != ""
	})
}

// nextDue returns the earliest time, at most until, at which a notification requires work. The
// caller holds mu.
func (w *Watcher) nextDue(until time.Time) time.Time {
	sooner := func(at time.Time) {
		if at.Before(until) {
			until = at
		}
	}
	if len(w.subscriptions.fresh) > 0 {
		sooner(w.subscriptions.oldest.Add(gather))
	}
	if w.inFlight < w.cfg.Parallel {
		for _, i := range w.mayBeEarly() {
			sooner(w.earlyReadTime(i))
		}
	}
	if w.last != nil && w.subscriptions.starting < w.cfg.Parallel {
		for _, at := range w.subscriptions.begin {
			sooner(at)
		}
	}
	return until
}

// toUpdate returns and removes the switches to deliver an update for, once all switches that
// changed at the same time have been read.
func (w *Watcher) toUpdate() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	more := w.subscriptions.urgent > 0 || len(w.mayBeEarly()) > 0
	if len(w.subscriptions.fresh) == 0 || more && w.cfg.Clock.Now().Sub(w.subscriptions.oldest) < gather {
		return nil
	}
	names := w.subscriptions.fresh
	w.subscriptions.fresh = map[string]bool{}
	return names
}

// update compares the fabric with the last round after switches were read before their turn.
// Other devices count as last read; findings that only a round can check, about hosts and
// counters, are kept.
func (w *Watcher) update(ctx context.Context, names map[string]bool) *Round {
	now := w.cfg.Clock.Now()
	run := validate.NewRun(w.cfg.Fabric)
	looked := map[string]bool{}
	for k := range w.devices {
		if d := &w.devices[k]; d.kept != nil && d.err.ID == "" {
			if d.kept.Switch != nil {
				run.Add(d.kept.Switch)
			}
			run.Note(d.kept.Findings...)
			looked[d.Name] = true
		}
	}
	run.Note(w.deadlocks(ctx)...)
	found := run.Findings(now)
	for _, f := range w.last.Findings {
		if f.Suppressed != nil && (!looked[f.Device] || isAboutCounters(f)) {
			found = append(found, f)
		}
	}
	out := &Round{N: w.last.N, Update: natural.Keys(names), Fabric: w.last.Fabric, Start: w.last.Start, Took: w.last.Took, End: now, Read: w.last.Read, Devices: w.last.Devices, Counted: w.last.Counted, Pauses: w.last.Pauses, Previous: w.last.Verdict}
	ends := bothEnds(func(device string) bool { return looked[device] })
	out.Findings, out.Appeared, out.Cleared = w.known.update(found, func(f checks.Finding) bool {
		return !isAboutCounters(f) && ends(f) && (names[f.Device] || len(f.Peers) > 0 && names[checks.PeerDevice(f.Peers[0])])
	})
	out.Verdict = verdictOf(out.Findings)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = out
	if w.updates = append(w.updates, out.Events()...); len(w.updates) > maxUpdates {
		w.updates = slices.Clone(w.updates[len(w.updates)-maxUpdates:])
	}
	return out
}

// maxUpdates is the number of update events kept until a round ends.
const maxUpdates = 1000

// isAboutCounters reports whether a finding is about counters, which early reads do not check.
func isAboutCounters(f checks.Finding) bool {
	c := validate.Lookup(f.ID)
	return c != nil && c.Reads&checks.ReadsCounters != 0
}
