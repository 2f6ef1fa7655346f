// Package watch repeats a validation until it is stopped. It decides when to read each device,
// finds what changed between rounds, and keeps a short history.
//
// Each round reads every device once. The first round reads as fast as it can; later rounds
// spread the reads over the interval, each at a random moment of its own slot. A device is never
// read twice at the same time, and one that cannot be read is retried after increasing delays of
// up to half an hour.
//
// A switch that notifies a change is also read before its turn, and the result is delivered at
// once as an update of the last round. Updates do not affect the schedule of the rounds.
//
// The caller reads the devices. This package does not print, serve or send anything: it delivers
// each [Round] to the caller, and the packages metrics, serve and webhook present it.
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
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Clock tells the time and sets timers; tests use one that they advance.
type Clock interface {
	Now() time.Time
	// Timer returns a channel that receives the time once, after d, and a function that stops
	// the timer.
	Timer(d time.Duration) (<-chan time.Time, func())
}

// System is the system clock.
var System Clock = systemClock{}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Device is a device to read.
type Device struct {
	Name  string
	Host  bool
	Where string // its place in the intent, for the finding that it could not be read
}

// Kind returns "switch" or "host".
func (d Device) Kind() string {
	if d.Host {
		return "host"
	}
	return "switch"
}

// Config configures a [Watcher].
type Config struct {
	Fabric *intent.Fabric
	// Devices lists the switches, then the hosts.
	Devices []Device
	// Read reads a device. It is called from up to Parallel goroutines, but never twice at the
	// same time for one device. It returns when its context ends, and has its own timeout.
	Read func(ctx context.Context, d Device, ends fleet.Ends) fleet.Reading
	// Notify keeps a subscription to a switch until ctx ends or it breaks, and returns the
	// reason; see [drivers.Notifier]. There is at most one per switch. A broken subscription is
	// retried unless the error wraps [drivers.ErrUnsupported]. nil disables subscriptions.
	Notify func(ctx context.Context, d Device, ready, changed func()) error
	// Interval is the time between the starts of two rounds; it must be positive.
	Interval time.Duration
	Parallel int // maximum number of concurrent reads, at least 1
	Rounds   int // 0 means until the context ends
	// Round is called with each finished round and each update, on the goroutine of
	// [Watcher.Run]; it may be nil.
	Round func(*Round)
	Clock Clock          // nil means [watch.System]
	Rand  func() float64 // returns a number in [0, 1); nil means math/rand
}

// Watcher watches a fabric. [Watcher.Run] must be called only once; the other methods are safe
// for concurrent use.
type Watcher struct {
	cfg  Config
	ends map[string][]intent.Endpoint // link ends of each switch
	// tiers maps each switch to its tier.
	tiers map[string]int

	mu            sync.RWMutex
	seen          map[intent.Endpoint]checks.End
	devices       []device
	inFlight      int
	beat          time.Time // time of the last loop iteration
	running       bool
	history       []Record
	updates       []Event // events of the updates since the last round
	last          *Round
	subscriptions subscriptions

	known state // the last known faults; used only by the loop
}

// device is the loop's state of a device.
type device struct {
	Device
	reading  bool
	urgent   bool           // the result of the read in progress is delivered as an update
	kept     *fleet.Reading // last successful reading of a switch
	failures int            // consecutive failures
	skip     int            // number of rounds to skip the device
	left     int            // consecutive rounds that did not reach it
	err      checks.Finding
	settled  time.Time // end of the last read
	read     time.Time // end of the last successful read
	took     time.Duration
	failed   uint64 // total number of failed reads
	gate     gate.Device
	samples  []gate.Sample // counter samples to judge, oldest first
}

// New returns a Watcher.
func New(cfg Config) *Watcher {
	if cfg.Clock == nil {
		cfg.Clock = System
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Float64
	}
	w := &Watcher{cfg: cfg, ends: map[string][]intent.Endpoint{}, seen: map[intent.Endpoint]checks.End{}, known: state{}, tiers: validate.Tiers(cfg.Fabric)}
	for _, l := range cfg.Fabric.Links {
		for _, e := range []intent.Endpoint{l.A, l.B} {
			w.ends[e.Device] = append(w.ends[e.Device], e)
		}
	}
	for _, d := range cfg.Devices {
		w.devices = append(w.devices, device{Device: d})
	}
	w.subscriptions = newTold(&w.cfg)
	return w
}

type result struct {
	i       int
	reading fleet.Reading
	took    time.Duration
}

// Run watches until ctx ends, which is not an error, or until all rounds are done. When it
// returns, all reads and subscriptions have ended.
func (w *Watcher) Run(ctx context.Context) error {
	if len(w.devices) == 0 {
		return errors.New("there is no device to watch")
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(w.devices)) // at most one result per device, so that no sender blocks
	start := w.cfg.Clock.Now()
	defer w.recordBeat(false)
	for n := 1; w.cfg.Rounds == 0 || n <= w.cfg.Rounds; n++ {
		r := w.planRound(n, start)
		for !w.complete(r) {
			w.recordBeat(true)
			for _, i := range w.due(r) {
				calls.Go(func() { results <- w.readOne(ctx, i) })
			}
			for _, i := range w.toSubscribe() {
				calls.Go(func() { w.subscriptions.ended <- w.subscribe(ctx, i) })
			}
			tick, stop := w.cfg.Clock.Timer(w.wait(r))
			select {
			case <-ctx.Done():
				stop()
				return nil
			case res := <-results:
				stop()
				w.addReading(r, res)
			case e := <-w.subscriptions.ended:
				stop()
				w.unsubscribed(e)
			case <-w.subscriptions.wake:
				stop()
			case <-tick:
			}
			if names := w.toUpdate(); names != nil {
				w.hand(w.update(ctx, names))
			}
		}
		if ctx.Err() != nil { // the last reads were cancelled; discard the round
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

// end implements [fleet.Ends].
func (w *Watcher) end(e intent.Endpoint) checks.End {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.seen[e]
}

// recordBeat records an iteration of the loop, or its end.
func (w *Watcher) recordBeat(running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beat, w.running = w.cfg.Clock.Now(), running
}

// Alive reports whether the loop is running and not stuck; it iterates several times per
// interval.
func (w *Watcher) Alive() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.running && w.cfg.Clock.Now().Sub(w.beat) <= 2*w.cfg.Interval+time.Minute
}

// Last returns the last finished round with its updates; nil before the first.
func (w *Watcher) Last() *Round {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.last
}

// Subscriptions returns the number of switches with an established subscription.
func (w *Watcher) Subscriptions() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.subscriptions.since)
}

// Interval returns the time between the starts of two rounds.
func (w *Watcher) Interval() time.Duration { return w.cfg.Interval }

// Status is the known state of a device.
type Status struct {
	Device
	// Up is set if the last read succeeded.
	Up       bool
	LastRead time.Time     // time of the last successful read; zero if there was none
	Took     time.Duration // duration of the last read, including a failed one
	Failures uint64        // total number of failed reads
	Gate     gate.Device
	// Sample holds the counters of the last read; nil if the device is down or shows no
	// counters.
	Sample *gate.Sample
}

// Devices returns the status of each device, in order, and the number of reads in progress.
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
