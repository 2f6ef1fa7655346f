// Package keep keeps one host as it is wanted: it is the daemon of 'nic agent', which runs
// on the host itself. (nic/agent is another thing: the program that a run over SSH starts
// on a host for one request.)
//
// A [Keeper] looks at the host once in an interval, and soon after the kernel says that a
// device of it changed. It says what differs from the wanted state, and under the policy
// [Repair] writes what may be written: one setting at a decreasing rate, with the mark of
// the host, so that it and a run over SSH never write at the same time. What such a run
// set is left to it, for as long as it stays as the run set it, until the wanted state is
// written anew. Firmware settings are neither read nor written.
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

// Policy says what becomes of a difference.
type Policy string

// The policies.
const (
	Report Policy = "report"
	Repair Policy = "repair"
)

// Policies are all policies.
var Policies = []Policy{Report, Repair}

// Wanted is the state that a host is kept in.
type Wanted struct {
	Host *nic.Host
	// Written is when it was written, for the runs that ended since.
	Written time.Time
}

// Source is where the wanted state is kept.
type Source interface {
	Load(ctx context.Context) (Wanted, error)
	// Stamp is another one whenever Load may return something else.
	Stamp() string
	String() string
}

// Config says what is kept and how.
type Config struct {
	Machine *local.Machine
	Source  Source
	Policy  Policy
	// Allow is the largest impact of a repair; CutOff allows one that takes down the port
	// that carries the only management path of the machine.
	Allow  qos.Impact
	CutOff bool
	// Interval is from one look to the next unless something happens; it is positive.
	Interval time.Duration
	Rounds   int // 0: until the context ends
	// Started is called once there is a wanted state; nil is for nobody.
	Started func()
	// Emit is handed what happens, on the goroutine of [Keeper.Run].
	Emit func(Event)
	// Looked is handed what is known after each look, on the same goroutine, with the host
	// as it was last read: nil where that failed. nil is for nobody.
	Looked func(State, *nic.Host)
	Clock  watch.Clock // nil is [watch.System]
}

// The times between two looks.
const (
	// settle is from the first word of a change to the look: a change is many writes, and
	// spacing the least between two looks for changes.
	settle  = 2 * time.Second
	spacing = 10 * time.Second
	// busyWait is how long a run of another is left alone.
	busyWait = 30 * time.Second
)

// Why a look is taken.
const (
	causeStart  = "start"
	causePeriod = "period"
	causeEvent  = "event"
	causeReload = "reload"
)

var causes = []string{causeStart, causePeriod, causeEvent, causeReload}

// Keeper keeps a host. [Keeper.Run] is called once; the other methods may be called at any
// time and from several goroutines.
type Keeper struct {
	cfg            Config
	wakes, reloads chan struct{}

	// Of the loop alone.
	stamp string
	// again is when to look before the interval is over; zero for not.
	again time.Time
	// host is as it was read last in this look; nil where that failed.
	host *nic.Host
	// since is when the wanted state was written or last asked for: what runs have set
	// later is left to them.
	since time.Time
	// index is the kernel's number of each interface when it was last there.
	index map[string]string
	known map[setting]*open
	// written are the settings that were repaired, with when, and how often.
	written map[setting]pace

	mu      sync.Mutex
	wanted  Wanted
	beat    time.Time
	running bool
	working bool
	state   State
	count   counts
}

// setting is a field of a port, or of the host.
type setting struct{ port, field string }

func (s setting) compare(o setting) int {
	return cmp.Or(natural.Compare(s.port, o.port), cmp.Compare(s.field, o.field))
}

func settingOf(c nic.Change) setting { return setting{c.Port, c.Field} }

// New makes a Keeper. The machine leaves its firmware alone from now on.
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

// Wake has the host looked at soon, if the device that changed is one of it; "" is any.
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

// Reload has the wanted state read again, and the host looked at.
func (k *Keeper) Reload() { poke(k.reloads) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// longest is how long a look may take that goes on: a card of AMD takes minutes to read,
// and a repair says at each step that it goes on.
const longest = 15 * time.Minute

// Alive reports whether the loop runs, and no look is stuck.
func (k *Keeper) Alive() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running && (!k.working || k.cfg.Clock.Now().Sub(k.beat) <= longest)
}

// Ready reports whether the last look at the host succeeded.
func (k *Keeper) Ready() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running && !k.state.Looked.IsZero() && k.state.Error == ""
}

// Run keeps the host until ctx ends, or for so many rounds. The error is that there is no
// wanted state at the start.
func (k *Keeper) Run(ctx context.Context) error {
	if err := k.load(ctx); err != nil {
		return err
	}
	k.since = k.wanted.Written
	if k.cfg.Started != nil {
		k.cfg.Started()
	}
	defer k.turns(false, false)
	cause := causeStart
	for n := 1; ; n++ {
		k.turns(true, true)
		k.look(ctx, cause)
		if ctx.Err() != nil || n == k.cfg.Rounds {
			return nil
		}
		if cause = k.wait(ctx); cause == "" {
			return nil
		}
	}
}

// turns notes whether the loop runs, and is at work.
func (k *Keeper) turns(running, working bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running, k.working, k.beat = running, working, k.cfg.Clock.Now()
}

// wait returns why the next look is taken; "" for the end of ctx.
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
		k.turns(true, false)
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

// load reads the wanted state. Where it is another one, repairs begin anew.
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
	h.Unit = nic.UnitState{} // whether it is installed is another's question
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
