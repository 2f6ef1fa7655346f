// Package keep keeps one host in its wanted state: it is the daemon of 'nic agent', which runs
// on the host itself. (Package nic/agent is different: it is the program that a run over SSH
// starts on a host for one request.)
//
// A [Keeper] checks the host once per interval, and shortly after the kernel reports a change of
// a device. It reports differences from the wanted state and, under the policy [Repair],
// corrects those it may: each setting at a decreasing rate, while holding the host's mark, so
// that it never writes at the same time as a run over SSH. A setting written by such a run is
// left alone as long as it keeps the value from the run, until the wanted state is written
// again. Firmware settings are neither read nor written.
package keep

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/watch"
)

// Policy says how differences are handled.
type Policy string

// The policies.
const (
	Report Policy = "report"
	Repair Policy = "repair"
)

// Policies lists all policies.
var Policies = []Policy{Report, Repair}

// Wanted is the state that a host should have.
type Wanted struct {
	Host *nic.Host
	// Written is when the state was written; later runs take precedence over it.
	Written time.Time
}

// Source provides the wanted state.
type Source interface {
	Load(ctx context.Context) (Wanted, error)
	// Stamp changes whenever Load may return a different state.
	Stamp() string
	String() string
}

// Config configures a [Keeper].
type Config struct {
	Machine *local.Machine
	Source  Source
	Policy  Policy
	// Allow is the largest impact that a repair may have; CutOff allows repairs that take down
	// the port with the machine's only management path.
	Allow  qos.Impact
	CutOff bool
	// Interval is the time between two checks if nothing happens; it must be positive.
	Interval time.Duration
	Rounds   int // 0 means until the context ends
	// Started is called once the wanted state is loaded; it may be nil.
	Started func()
	// Emit is called with each event, on the goroutine of [Keeper.Run].
	Emit func(Event)
	// Looked is called after each check, on the same goroutine, with the state and the host as
	// just read, nil if reading failed. It may be nil.
	Looked func(State, *nic.Host)
	Clock  watch.Clock // nil means [watch.System]
}

// Times between two checks.
const (
	// settle is the delay between the first notification of a change and the check, because a
	// change consists of many writes. spacing is the shortest time between two checks caused by
	// changes.
	settle  = 2 * time.Second
	spacing = 10 * time.Second
	// busyWait is how long a repair waits for another run.
	busyWait = 30 * time.Second
)

// Causes of a check.
const (
	causeStart  = "start"
	causePeriod = "period"
	causeEvent  = "event"
	causeReload = "reload"
)

var causes = []string{causeStart, causePeriod, causeEvent, causeReload}

// Keeper keeps a host in its wanted state. [Keeper.Run] must be called only once; the other
// methods are safe for concurrent use.
type Keeper struct {
	cfg            Config
	wakes, reloads chan struct{}

	// The fields up to written are used only by the loop.
	stamp string
	// again is when to check before the interval is over; zero means not before.
	again time.Time
	// host is the host as last read in this check; nil if reading failed.
	host *nic.Host
	// since is when the wanted state was written or last reloaded; settings that runs wrote
	// later are left alone.
	since time.Time
	// index holds the kernel's index of each interface when it was last present.
	index map[string]string
	known map[setting]*open
	// written holds the time and the number of repairs of each setting.
	written map[setting]pace

	mu      sync.Mutex
	wanted  Wanted
	beat    time.Time
	running bool
	working bool
	state   State
	count   counts
}

// setting identifies a field of a port, or of the host if port is "".
type setting struct{ port, field string }

func (s setting) compare(o setting) int {
	return cmp.Or(natural.Compare(s.port, o.port), cmp.Compare(s.field, o.field))
}

func settingOf(c nic.Change) setting { return setting{c.Port, c.Field} }

// New returns a Keeper. It makes the machine ignore its firmware settings.
func New(cfg Config) *Keeper {
	if cfg.Clock == nil {
		cfg.Clock = watch.System
	}
	if cfg.Emit == nil {
		cfg.Emit = func(Event) {}
	}
	cfg.Machine.NoFirmware = true
	return &Keeper{cfg: cfg, wakes: make(chan struct{}, 1), reloads: make(chan struct{}, 1), index: map[string]string{}, known: map[setting]*open{}, written: map[setting]pace{}, count: newCounts()}
}

// Wake triggers a check soon if the changed device belongs to the wanted state; "" means any
// device.
func (k *Keeper) Wake(ifname string) {
	k.mu.Lock()
	h := k.wanted.Host
	k.mu.Unlock()
	of := ifname == "" || h != nil && h.Manages(ifname)
	if !of && h != nil {
		_, of = k.cfg.Machine.Chosen(ifname)
	}
	if of {
		poke(k.wakes)
	}
}

// Reload triggers a reload of the wanted state and a check.
func (k *Keeper) Reload() { poke(k.reloads) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// longest is how long a running check may take before it counts as stuck: reading an AMD card
// takes minutes, and a repair reports progress at each step.
const longest = 15 * time.Minute

// Alive reports whether the loop is running and no check is stuck.
func (k *Keeper) Alive() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running && (!k.working || k.cfg.Clock.Now().Sub(k.beat) <= longest)
}

// Ready reports whether the last check could read the host.
func (k *Keeper) Ready() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running && !k.state.Looked.IsZero() && k.state.Error == ""
}

// Run keeps the host in its wanted state until ctx ends or the configured number of rounds is
// over. It fails if the wanted state cannot be loaded at the start.
func (k *Keeper) Run(ctx context.Context) error {
	if err := k.load(ctx); err != nil {
		return err
	}
	k.since = k.wanted.Written
	if k.cfg.Started != nil {
		k.cfg.Started()
	}
	defer k.recordBeat(false, false)
	cause := causeStart
	for n := 1; ; n++ {
		k.recordBeat(true, true)
		k.check(ctx, cause)
		if ctx.Err() != nil || n == k.cfg.Rounds {
			return nil
		}
		if cause = k.wait(ctx); cause == "" {
			return nil
		}
	}
}

// recordBeat records whether the loop is running, and whether a check is in progress.
func (k *Keeper) recordBeat(running, working bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running, k.working, k.beat = running, working, k.cfg.Clock.Now()
}

// wait waits for the next check and returns its cause; "" if ctx ends.
func (k *Keeper) wait(ctx context.Context) string {
	last := k.cfg.Clock.Now()
	next, cause := last.Add(k.cfg.Interval), causePeriod
	sooner := func(at time.Time, why string) {
		if at.Before(next) {
			next, cause = at, why
		}
	}
	if !k.again.IsZero() {
		sooner(k.again, causePeriod)
	}
	for {
		k.recordBeat(true, false)
		due, free := k.cfg.Clock.Timer(next.Sub(k.cfg.Clock.Now()))
		select {
		case <-ctx.Done():
			free()
			return ""
		case <-due:
			return cause
		case <-k.reloads:
			free()
			return causeReload
		case <-k.wakes:
			free()
			at := k.cfg.Clock.Now().Add(settle)
			if least := last.Add(spacing); at.Before(least) {
				at = least
			}
			sooner(at, causeEvent)
		}
	}
}

// load reads the wanted state. If it changed, the repair rates start afresh.
func (k *Keeper) load(ctx context.Context) error {
	stamp := k.cfg.Source.Stamp()
	w, err := k.cfg.Source.Load(ctx)
	if err != nil {
		k.mu.Lock()
		k.count.loadFailures++
		k.mu.Unlock()
		return err
	}
	h := *w.Host
	h.Unit = nic.UnitState{} // whether the unit is installed is not the Keeper's concern
	digest := nic.Digest(&h)
	k.stamp = stamp
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted = Wanted{&h, w.Written}
	k.cfg.Machine.Select(h.Selectors())
	if digest != k.state.Digest {
		clear(k.written)
	}
	k.state.Host, k.state.Policy, k.state.From, k.state.Digest = h.Name, k.cfg.Policy, k.cfg.Source.String(), digest
	k.state.Loaded, k.state.LoadError = k.cfg.Clock.Now(), ""
	return nil
}
