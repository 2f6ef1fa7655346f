// Package watch repeats a validation for as long as it is let: it decides when
// which device is read, says what changed from one round to the next, and keeps
// a short history.
//
// In a round each device is read once. The first round reads them as fast as it
// may; the later ones spread the reads over the interval, each at a random
// moment of a slot of its own. A device is never read twice at one time, and one
// that cannot be read is left alone for longer and longer, up to half an hour.
//
// A switch that says by itself that it changed is read before its turn as well, and
// what that shows is handed out at once, as an update of the last round. Rounds go
// on as if there were none.
//
// The caller reads the devices. Do not print, serve or send anything here: a
// [Round] is handed out, and packages metrics, serve and webhook below show it.
package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Clock tells the time and waits; tests have one that they move.
type Clock interface {
	Now() time.Time
	// Timer returns a channel that gets the time once, after d, and what frees
	// the timer before.
	Timer(d time.Duration) (<-chan time.Time, func())
}

// System is the clock of the machine.
var System Clock = systemClock{}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Device is a device that is read.
type Device struct {
	Name  string
	Host  bool
	Where string // of the intent, for the finding that it could not be read
}

// Kind returns "switch" or "host".
func (d Device) Kind() string {
	if d.Host {
		return "host"
	}
	return "switch"
}

// Config says what is watched and how.
type Config struct {
	Fabric *intent.Fabric
	// Devices are the switches, then the hosts.
	Devices []Device
	// Read reads a device. It is called from up to Parallel goroutines, and
	// never twice at one time for one device; it gives up when its context ends
	// and has a deadline of its own.
	Read func(ctx context.Context, d Device, ends fleet.Ends) fleet.Reading
	// Notify keeps a subscription to a switch until ctx ends or it breaks, and
	// returns why; see [drivers.Notifier]. There is one at most for a switch; one
	// that breaks is tried again, but for an error that wraps
	// [drivers.ErrUnsupported]. nil is for none.
	Notify func(ctx context.Context, d Device, ready, changed func()) error
	// Interval is from the start of a round to that of the next; it is positive.
	Interval time.Duration
	Parallel int // reads at the same time, at least 1
	Rounds   int // 0: until the context ends
	// Round is handed each round when it is over, and each update of one, on the
	// goroutine of [Watcher.Run]; nil does nothing.
	Round func(*Round)
	Clock Clock          // nil is [System]
	Rand  func() float64 // in [0, 1); nil is of package math/rand
}

// Watcher watches a fabric. [Watcher.Run] is called once; the other methods may
// be called at any time and from several goroutines.
type Watcher struct {
	cfg  Config
	ends map[string][]intent.Endpoint // of the links of each switch
	// tiers are the tiers of the switches.
	tiers map[string]int

	mu       sync.RWMutex
	seen     map[intent.Endpoint]validate.End
	devices  []device
	inFlight int
	beat     time.Time // when the loop last turned
	running  bool
	history  []Record
	updates  []Event // of the updates since the last round
	last     *Round
	told     told

	known state // what was last known to be wrong; of the loop alone
}

// device is what the loop knows of a device.
type device struct {
	Device
	reading  bool
	urgent   bool           // what the read that is under way shows is handed out at once
	kept     *fleet.Reading // the last that succeeded, of a switch
	failures int            // in a row
	skip     int            // rounds that it is left alone for
	left     int            // rounds in a row that did not come to it
	err      validate.Finding
	settled  time.Time // when a read last ended
	read     time.Time // when one last succeeded
	took     time.Duration
	failed   uint64 // reads, ever
	gate     gate.Device
	samples  []gate.Sample // what is judged, oldest first
}

// New makes a Watcher.
func New(cfg Config) *Watcher {
	if cfg.Clock == nil {
		cfg.Clock = System
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Float64
	}
	w := &Watcher{cfg: cfg, ends: map[string][]intent.Endpoint{}, seen: map[intent.Endpoint]validate.End{}, known: state{}, tiers: validate.Tiers(cfg.Fabric)}
	for _, l := range cfg.Fabric.Links {
		for _, e := range []intent.Endpoint{l.A, l.B} {
			w.ends[e.Device] = append(w.ends[e.Device], e)
		}
	}
	for _, d := range cfg.Devices {
		w.devices = append(w.devices, device{Device: d})
	}
	w.told = newTold(&w.cfg)
	return w
}

type result struct {
	i       int
	reading fleet.Reading
	took    time.Duration
}

// Run watches until ctx ends, which is no error, or the rounds are over. All
// reads and subscriptions have ended when it returns.
func (w *Watcher) Run(ctx context.Context) error {
	if len(w.devices) == 0 {
		return errors.New("there is no device to watch")
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(w.devices)) // one at most of each: nobody waits
	start := w.cfg.Clock.Now()
	defer w.turn(false)
	for n := 1; w.cfg.Rounds == 0 || n <= w.cfg.Rounds; n++ {
		r := w.begin(n, start)
		for !w.over(r) {
			w.turn(true)
			for _, i := range w.due(r) {
				calls.Go(func() { results <- w.readOne(ctx, i) })
			}
			for _, i := range w.toSubscribe() {
				calls.Go(func() { w.told.ended <- w.subscribe(ctx, i) })
			}
			tick, stop := w.cfg.Clock.Timer(w.wait(r))
			select {
			case <-ctx.Done():
				stop()
				return nil
			case res := <-results:
				stop()
				w.settle(r, res)
			case e := <-w.told.ended:
				stop()
				w.unsubscribed(e)
			case <-w.told.wake:
				stop()
			case <-tick:
			}
			if names := w.toUpdate(); names != nil {
				w.hand(w.update(ctx, names))
			}
		}
		if ctx.Err() != nil { // the last reads were cut off: nothing was learned
			return nil
		}
		w.hand(w.finish(ctx, r))
		if start = start.Add(w.cfg.Interval); start.Before(w.cfg.Clock.Now()) {
			start = w.cfg.Clock.Now()
		}
	}
	return nil
}

func (w *Watcher) hand(r *Round) {
	if w.cfg.Round != nil {
		w.cfg.Round(r)
	}
}

func (w *Watcher) readOne(ctx context.Context, i int) result {
	began := w.cfg.Clock.Now()
	r := w.cfg.Read(ctx, w.cfg.Devices[i], w.end)
	return result{i, r, w.cfg.Clock.Now().Sub(began)}
}

// end is a [fleet.Ends].
func (w *Watcher) end(e intent.Endpoint) validate.End {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.seen[e]
}

// turn notes that the loop turns, or has ended.
func (w *Watcher) turn(running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beat, w.running = w.cfg.Clock.Now(), running
}

// Alive reports whether the loop runs and turns: it does so several times in an
// interval.
func (w *Watcher) Alive() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.running && w.cfg.Clock.Now().Sub(w.beat) <= 2*w.cfg.Interval+time.Minute
}

// Last returns the last round that is over, with what was updated since; nil
// before the first.
func (w *Watcher) Last() *Round {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.last
}

// Subscriptions returns how many switches say by themselves that they changed.
func (w *Watcher) Subscriptions() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.told.since)
}

// Interval returns the time from round to round.
func (w *Watcher) Interval() time.Duration { return w.cfg.Interval }

// Status is what is known of a device.
type Status struct {
	Device
	// Up says that the last read succeeded.
	Up       bool
	LastRead time.Time     // of the last read that succeeded; zero for none
	Took     time.Duration // the last read, also one that failed
	Failures uint64        // reads that failed, ever
	Gate     gate.Device
	// Sample is what the device counted when it was last read; nil where it is
	// not up or shows no counters.
	Sample *gate.Sample
}

// Devices returns what is known of each device, in their order, and how many
// reads run.
func (w *Watcher) Devices() (all []Status, inFlight int) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for i := range w.devices {
		d := &w.devices[i]
		s := Status{Device: d.Device, Up: !d.read.IsZero() && d.err.ID == "", LastRead: d.read, Took: d.took, Failures: d.failed, Gate: d.gate}
		if n := len(d.samples); s.Up && n > 0 {
			s.Sample = &d.samples[n-1]
		}
		all = append(all, s)
	}
	return all, w.inFlight
}
