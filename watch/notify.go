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
)

const (
	// settling is from the first word of a change to the read, and the least
	// between two reads that are brought forward: a change is many rows, and the
	// device works on them.
	settling = 2 * time.Second
	// gather is for how long what a read showed waits at most for other switches
	// that changed as well: links are judged by both ends.
	gather = 10 * time.Second
	// firstRetry is how long a subscription that broke is left alone for; twice
	// as long each time after, up to maxBackoff. One that held for steady begins
	// anew.
	firstRetry = 10 * time.Second
	steady     = time.Minute
)

// told is what devices say by themselves. The watcher's mu guards it.
type told struct {
	begin    map[int]time.Time // devices without a subscription, and when it is tried
	failures map[int]int       // in a row
	since    map[int]time.Time // subscriptions that hold
	starting int
	changed  map[int]time.Time // devices that changed since they were read, and when they first said so
	urgent   int               // reads under way of devices that changed
	fresh    map[string]bool   // devices that such a read of ended, and is not handed out
	oldest   time.Time         // when the first of those ended
	wake     chan struct{}     // of one; the loop is to look again
	ended    chan ending
}

type ending struct {
	i   int
	err error
}

func newTold(cfg *Config) told {
	t := told{begin: map[int]time.Time{}, failures: map[int]int{}, since: map[int]time.Time{}, changed: map[int]time.Time{}, fresh: map[string]bool{},
		wake: make(chan struct{}, 1), ended: make(chan ending, len(cfg.Devices))} // one at most of each: nobody waits
	for i, d := range cfg.Devices {
		if cfg.Notify != nil && !d.Host {
			t.begin[i] = time.Time{}
		}
	}
	return t
}

// subscribe holds one subscription until it ends.
func (w *Watcher) subscribe(ctx context.Context, i int) ending {
	tell := func(fn func()) func() {
		return func() {
			w.mu.Lock()
			fn()
			w.mu.Unlock()
			select {
			case w.told.wake <- struct{}{}:
			default:
			}
		}
	}
	err := w.cfg.Notify(ctx, w.cfg.Devices[i], tell(func() {
		w.told.starting--
		w.told.since[i] = w.cfg.Clock.Now()
	}), tell(func() {
		if w.told.changed[i].IsZero() {
			w.told.changed[i] = w.cfg.Clock.Now()
		}
	}))
	return ending{i, err}
}

// toSubscribe takes out the devices to which a subscription is to be begun now.
// There is none before the first round is over, which reads all devices as fast as
// it may.
func (w *Watcher) toSubscribe() (out []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return nil
	}
	now := w.cfg.Clock.Now()
	for _, i := range slices.Sorted(maps.Keys(w.told.begin)) {
		if w.told.starting < w.cfg.Parallel && !w.told.begin[i].After(now) {
			delete(w.told.begin, i)
			w.told.starting++
			out = append(out, i)
		}
	}
	return out
}

// unsubscribed plans the next try of a subscription that ended. It is no finding:
// the device is read in each round.
func (w *Watcher) unsubscribed(e ending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.cfg.Clock.Now()
	since, held := w.told.since[e.i]
	if !held {
		w.told.starting--
	}
	delete(w.told.since, e.i)
	if errors.Is(e.err, drivers.ErrUnsupported) {
		return
	}
	if held && now.Sub(since) >= steady {
		w.told.failures[e.i] = 0
	}
	wait := min(firstRetry<<min(w.told.failures[e.i], 10), maxBackoff)
	w.told.failures[e.i]++
	w.told.begin[e.i] = now.Add(time.Duration((0.5 + 0.5*w.cfg.Rand()) * float64(wait)))
}

// early is when a device that changed is read. The caller holds mu.
func (w *Watcher) early(i int) time.Time {
	at := w.told.changed[i]
	if at.Before(w.devices[i].settled) {
		at = w.devices[i].settled
	}
	return at.Add(settling)
}

// mayBeEarly lists the devices that changed and may be read before their turn, in
// order. One that could not be read is left to the rounds. The caller holds mu.
func (w *Watcher) mayBeEarly() []int {
	if w.last == nil || len(w.told.changed) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.told.changed)), func(i int) bool {
		return w.devices[i].reading || w.devices[i].err.ID != ""
	})
}

// wanted is the earliest moment, before until, at which something is to be done
// for what devices say. The caller holds mu.
func (w *Watcher) wanted(until time.Time) time.Time {
	sooner := func(at time.Time) {
		if at.Before(until) {
			until = at
		}
	}
	if len(w.told.fresh) > 0 {
		sooner(w.told.oldest.Add(gather))
	}
	if w.inFlight < w.cfg.Parallel {
		for _, i := range w.mayBeEarly() {
			sooner(w.early(i))
		}
	}
	if w.last != nil && w.told.starting < w.cfg.Parallel {
		for _, at := range w.told.begin {
			sooner(at)
		}
	}
	return until
}

// toUpdate takes out the switches to hand an update of out for, once all that
// changed at the same time are read.
func (w *Watcher) toUpdate() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	more := w.told.urgent > 0 || len(w.mayBeEarly()) > 0
	if len(w.told.fresh) == 0 || more && w.cfg.Clock.Now().Sub(w.told.oldest) < gather {
		return nil
	}
	names := w.told.fresh
	w.told.fresh = map[string]bool{}
	return names
}

// update says what is other than in the last round now that switches were read
// before their turn. Others are taken as they were last read; what only a round
// finds (of hosts, of counters) stands.
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
		if f.Suppressed != nil && (!looked[f.Device] || counted(f)) {
			found = append(found, f)
		}
	}
	out := &Round{N: w.last.N, Update: natural.Keys(names), Fabric: w.last.Fabric, Start: w.last.Start, Took: w.last.Took, End: now, Read: w.last.Read, Devices: w.last.Devices, Counted: w.last.Counted, Pauses: w.last.Pauses, Previous: w.last.Verdict}
	ends := bothEnds(func(device string) bool { return looked[device] })
	out.Findings, out.Appeared, out.Cleared = w.known.turn(found, func(f validate.Finding) bool {
		return !counted(f) && ends(f) && (names[f.Device] || len(f.Peers) > 0 && names[validate.PeerDevice(f.Peers[0])])
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

// maxUpdates is how many events of updates are kept until a round is over.
const maxUpdates = 1000

// counted reports whether a finding is of what was counted, which a read before
// its turn does not look at.
func counted(f validate.Finding) bool {
	c := validate.Lookup(f.ID)
	return c != nil && c.Reads&validate.ReadsCounters != 0
}
