package cli

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Box is the part that all simulated switches share: its servers, the world around it, its
// counters, and a timer that reverts a change of type T unless the change is confirmed. Each
// system embeds it.
type Box[T any] struct {
	// Mu guards Timer and the configuration of the box.
	Mu sync.Mutex
	// Timer is the change that waits for confirmation; nil if there is none.
	Timer *T

	World   *World
	Dice    sim.Shuffler
	Chassis sim.Chassis
	Ports   map[string]bool // Ethernet ports of the box
	// Booted is the time of the last boot.
	Booted time.Time

	s       Setup
	front   *Front
	refuse  []*regexp.Regexp
	clock   *time.Timer // for Timer
	expire  func()
	timers  sync.WaitGroup // timers that may still fire
	flaps   map[string]int
	writes  int
	started bool
	closed  bool
}

// Setup defines a system's box. Its functions are called with Mu held.
type Setup struct {
	Name, Model string
	TimeScale   float64 // duration of a commit in seconds; 0 means no delay
	// Refuse lists regular expressions for lines that the box rejects.
	Refuse  []string
	Shuffle uint64
	// ShutDown returns the interfaces that are shut down.
	ShutDown func() map[string]bool
	// Keep returns a function that restores the current running configuration.
	Keep func() func()
	// Confirmed is the answer to a confirmation.
	Confirmed string
	// Reboot makes the startup configuration the running configuration.
	Reboot func()
}

// Init initializes the box. It fails if a regular expression is invalid.
func (b *Box[T]) Init(s Setup) error {
	b.s, b.World, b.Ports, b.flaps, b.Booted = s, newWorld(), map[string]bool{}, map[string]int{}, time.Now()
	b.Dice.Shuffle(s.Shuffle)
	b.Install("")
	var err error
	b.refuse, err = Compile(s.Name, s.Refuse)
	return err
}

// Install replaces the chassis with the one of the given name; "" means the box's own.
func (b *Box[T]) Install(chassis string) {
	b.Chassis.Install(cmp.Or(chassis, b.s.Name+"\x00"+b.s.Model))
}

// Compile compiles the regular expressions for lines that a box rejects.
func Compile(name string, exprs []string) ([]*regexp.Regexp, error) {
	out := make([]*regexp.Regexp, len(exprs))
	for i, expr := range exprs {
		var err error
		if out[i], err = regexp.Compile(expr); err != nil {
			return nil, fmt.Errorf("switch %s: refused lines: %w", name, err)
		}
	}
	return out, nil
}

// Matches reports whether a line matches any of the expressions.
func Matches(res []*regexp.Regexp, line string) bool {
	return slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.MatchString(line) })
}

// Refuses reports whether the box rejects a line.
func (b *Box[T]) Refuses(line string) bool { return Matches(b.refuse, line) }

// Serve sets the servers of the box.
func (b *Box[T]) Serve(f *Front) { b.front = f }

// Start opens the servers. It fails if loopback has no free port, or if the switch is running or
// closed.
func (b *Box[T]) Start() error {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.started || b.closed {
		return fmt.Errorf("switch %s: already started", b.front.c.Name)
	}
	if err := b.front.Start(); err != nil {
		return err
	}
	b.started = true
	return nil
}

// Close stops both servers and the timer, and waits for everything they started. Further calls do
// nothing.
func (b *Box[T]) Close() error {
	b.Mu.Lock()
	if b.closed {
		b.Mu.Unlock()
		return nil
	}
	b.closed = true
	b.StopTimer()
	b.Mu.Unlock()
	b.front.Close()
	b.timers.Wait()
	return nil
}

// Restart reboots the switch: the timer and all unsaved changes are lost, and all connections are
// cut.
func (b *Box[T]) Restart() error {
	b.Mu.Lock()
	if b.closed {
		b.Mu.Unlock()
		return fmt.Errorf("switch %s: closed", b.front.c.Name)
	}
	b.StopTimer()
	b.s.Reboot()
	b.Booted = time.Now()
	b.Mu.Unlock()
	b.front.DropConnections()
	return nil
}

// SSHAddr returns the host:port of the SSH server, or "" before Start or without an SSH server.
func (b *Box[T]) SSHAddr() string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.front.SSHAddr()
}

// GNMIAddr returns the host:port of the gNMI server, or "" before Start or without a gNMI server.
func (b *Box[T]) GNMIAddr() string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.front.GNMIAddr()
}

// HostKeyLine returns the known_hosts line of the SSH server, or "" before Start or without an SSH
// server.
func (b *Box[T]) HostKeyLine() string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.front.HostKeyLine()
}

// CAPEM returns the CA certificate for the gNMI server as PEM, or nil without a gNMI server.
func (b *Box[T]) CAPEM() []byte { return b.front.CAPEM() }

// MostSessions returns the largest number of simultaneous connections to each server so far.
func (b *Box[T]) MostSessions() (gnmi, ssh int) { return b.front.MostSessions() }

// SetNeighbor sets the device and port that LLDP shows on a port, which is given by its full name
// ("Ethernet1/1"). An empty device removes the neighbor.
func (b *Box[T]) SetNeighbor(port, device, remotePort string) {
	b.World.SetNeighbor(port, device, remotePort)
}

// Unplug unplugs or plugs in the cable of a port, given by its full name.
func (b *Box[T]) Unplug(port string, out bool) { b.World.Unplug(port, out) }

// Connect sets the function that returns the settings of the port at the other end of the link.
func (b *Box[T]) Connect(port string, peer func() Wire) { b.World.Connect(port, peer) }

// SetFEC sets the FEC that a port uses: "rs", "fc" or "none".
func (b *Box[T]) SetFEC(port, fec string) { b.World.SetFEC(port, fec) }

// SetPause sets the pause buffer of a priority group, on boxes that show one.
func (b *Box[T]) SetPause(port string, group int, p Pause) { b.World.SetPause(port, group, p) }

// SetCounter sets a counter of a port, given by its full name. queue is the unicast queue or, for
// pfc-rx and pfc-tx, the priority, 0 to 7. name is pfc-rx, pfc-tx (frames), tx-pkts, tx-octets,
// drop-pkts, drop-octets, ecn-marked (packets), wd-stuck, wd-recovery (times), or another counter
// of package sim. It panics for other names or queues.
func (b *Box[T]) SetCounter(port string, queue int, name string, value uint64) {
	b.World.Tally.Set(port, queue, name, value)
}

// Counters returns all counters of the ports, see [Box.SetCounter].
func (b *Box[T]) Counters() *sim.Tally { return &b.World.Tally }

// Shuffle makes the switch answer like a different one of its kind from now on.
func (b *Box[T]) Shuffle(seed uint64) { b.Dice.Shuffle(seed) }

// Writes counts the requests that reached the box and could change the running configuration,
// including rejected ones. Confirmations do not count.
func (b *Box[T]) Writes() int {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.writes
}

// Attempt counts a write that ends before it is executed.
func (b *Box[T]) Attempt() {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.Wrote()
}

// Wrote counts a write. The caller must hold Mu.
func (b *Box[T]) Wrote() { b.writes++ }

// Flaps returns, by port, how often the port came up again after it was shut down.
func (b *Box[T]) Flaps() map[string]int {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return maps.Clone(b.flaps)
}

// CountFlaps counts the interfaces in before, which were shut down, that are no longer shut down.
// The caller must hold Mu.
func (b *Box[T]) CountFlaps(before map[string]bool) {
	now := b.s.ShutDown()
	for p := range before {
		if !now[p] {
			b.flaps[p]++
		}
	}
}

// Down returns the interfaces that are shut down, in natural order.
func (b *Box[T]) Down() []string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return natural.Keys(b.s.ShutDown())
}

// Uptime returns the time since the last boot.
func (b *Box[T]) Uptime() time.Duration {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return time.Since(b.Booted)
}

// Work waits as long as a commit takes. It returns false if the switch is closed meanwhile.
func (b *Box[T]) Work() bool {
	if b.s.TimeScale <= 0 {
		return true
	}
	t := time.NewTimer(time.Duration(b.s.TimeScale * float64(time.Second)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-b.front.Context().Done():
		return false
	}
}

// StartTimer starts or restarts the timer for a change. When it fires, expire is called to revert
// the change. StartTimer and expire must be called with Mu held.
func (b *Box[T]) StartTimer(change *T, d time.Duration, expire func()) {
	b.StopTimer()
	if b.closed {
		return // Close would wait for the timer
	}
	b.timers.Add(1)
	b.Timer, b.expire = change, expire
	b.clock = time.AfterFunc(d, func() {
		defer b.timers.Done()
		b.Mu.Lock()
		defer b.Mu.Unlock()
		if b.Timer == change {
			expire()
		}
	})
}

// StopTimer stops the timer if it is running. The caller must hold Mu.
func (b *Box[T]) StopTimer() {
	if b.Timer == nil {
		return
	}
	if b.clock.Stop() {
		b.timers.Done()
	}
	b.Timer = nil
}

// ExpireTimer makes the timer fire now, which restores the running configuration from before the
// change. It returns false if no timer is running.
func (b *Box[T]) ExpireTimer() bool {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.Timer == nil {
		return false
	}
	b.expire()
	return true
}

// Pretend answers a write as successful without changing anything. do performs the actual write.
// If a timer is running, the write is taken for its confirmation.
func (b *Box[T]) Pretend(do func() string) string {
	b.Mu.Lock()
	pending := b.Timer != nil
	b.Mu.Unlock()
	if pending {
		return b.s.Confirmed
	}
	restore := b.Keep()
	words := do()
	if !b.ExpireTimer() {
		restore()
	}
	return words
}

// Keep returns a function that restores the current running configuration.
func (b *Box[T]) Keep() (restore func()) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	back := b.s.Keep()
	return func() {
		b.Mu.Lock()
		defer b.Mu.Unlock()
		back()
	}
}

// RunLines executes configuration lines until one is rejected, and returns an error for that line.
func RunLines(text string, run func(line string) (refusal string)) error {
	for i, l := range SplitLines(text) {
		if out := run(l); out != "" {
			return fmt.Errorf("line %d: %q: %s", i+1, Clip(strings.TrimSpace(l)), out)
		}
	}
	return nil
}
