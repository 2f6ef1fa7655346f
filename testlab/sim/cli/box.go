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

// Box is what every simulated switch has: its servers, the world around it, a
// timer that undoes a change T unless it is confirmed, and what is counted of
// it. A system embeds it.
type Box[T any] struct {
	// Mu guards the configuration of the box, and Timer.
	Mu sync.Mutex
	// Timer is the change that waits for its confirmation; nil for none.
	Timer *T

	World   *World
	Dice    sim.Shuffler
	Chassis sim.Chassis
	Ports   map[string]bool // Ethernet ports that the box has
	// Booted is the time of the last start.
	Booted time.Time

	s       Setup
	front   *Front
	refuse  []*regexp.Regexp
	clock   *time.Timer // of Timer
	expire  func()
	timers  sync.WaitGroup // that may still run out
	flaps   map[string]int
	writes  int
	started bool
	closed  bool
}

// Setup says what a system makes of its box. The caller of the functions holds
// Mu.
type Setup struct {
	Name, Model string
	TimeScale   float64 // seconds that a commit takes; 0: no time
	// Refuse holds regular expressions of lines that the box refuses.
	Refuse  []string
	Shuffle uint64
	// ShutDown returns the interfaces that are shut down.
	ShutDown func() map[string]bool
	// Keep returns what brings the running configuration of now back.
	Keep func() func()
	// Confirmed are the words of a confirmation.
	Confirmed string
	// Reboot makes the startup configuration the running one.
	Reboot func()
}

// Init makes the box. It fails for a regular expression that does not compile.
func (b *Box[T]) Init(s Setup) error {
	b.s, b.World, b.Ports, b.flaps, b.Booted = s, newWorld(), map[string]bool{}, map[string]int{}, time.Now()
	b.Dice.Shuffle(s.Shuffle)
	b.Install("")
	var err error
	b.refuse, err = Compile(s.Name, s.Refuse)
	return err
}

// Install puts the chassis of a name in the place of the one that is there; "" is its own.
func (b *Box[T]) Install(chassis string) {
	b.Chassis.Install(cmp.Or(chassis, b.s.Name+"\x00"+b.s.Model))
}

// Compile makes the regular expressions of lines that a box refuses.
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

// Matches reports whether a line meets one of some expressions.
func Matches(res []*regexp.Regexp, line string) bool {
	return slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.MatchString(line) })
}

// Refuses reports whether the box refuses a line.
func (b *Box[T]) Refuses(line string) bool { return Matches(b.refuse, line) }

// Serve gives the box its servers.
func (b *Box[T]) Serve(f *Front) { b.front = f }

// Start opens the servers. It fails when loopback has no port left, and when
// the switch runs or was closed.
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

// Close stops both servers and the timer and waits for everything they started.
// A second Close does nothing.
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

// Restart reboots the switch: the timer, and what else was not saved, is lost,
// and all connections are cut.
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

// SSHAddr is the host:port of the SSH server, "" before Start and where there
// is none.
func (b *Box[T]) SSHAddr() string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.front.SSHAddr()
}

// GNMIAddr is the host:port of the gNMI server, "" before Start and where
// there is none.
func (b *Box[T]) GNMIAddr() string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.front.GNMIAddr()
}

// HostKeyLine is the known_hosts line of the SSH server, "" before Start and
// where there is none.
func (b *Box[T]) HostKeyLine() string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.front.HostKeyLine()
}

// CAPEM is the certificate that a client trusts to reach the gNMI server, as
// PEM; nil where there is no such server.
func (b *Box[T]) CAPEM() []byte { return b.front.CAPEM() }

// MostSessions are the largest numbers of connections to each of the two
// servers that there were at once.
func (b *Box[T]) MostSessions() (gnmi, ssh int) { return b.front.MostSessions() }

// SetNeighbor says which port of which device LLDP sees on a port, by its full
// name ("Ethernet1/1"). An empty device takes the neighbour away.
func (b *Box[T]) SetNeighbor(port, device, remotePort string) {
	b.World.SetNeighbor(port, device, remotePort)
}

// Unplug takes the cable out of a port, by its full name, or puts it in again.
func (b *Box[T]) Unplug(port string, out bool) { b.World.Unplug(port, out) }

// Connect says how the port at the other end of a link is set.
func (b *Box[T]) Connect(port string, peer func() Wire) { b.World.Connect(port, peer) }

// SetFEC says which forward error correction a port runs with: "rs", "fc" or "none".
func (b *Box[T]) SetFEC(port, fec string) { b.World.SetFEC(port, fec) }

// SetPause gives a group of a port a pause buffer, where the box shows such.
func (b *Box[T]) SetPause(port string, group int, p Pause) { b.World.SetPause(port, group, p) }

// SetCounter sets a counter of a port, by its full name. queue is the unicast
// queue, for pfc-rx and pfc-tx the priority, 0 to 7. name is pfc-rx, pfc-tx
// (frames), tx-pkts, tx-octets, drop-pkts, drop-octets, ecn-marked (packets),
// wd-stuck or wd-recovery (times). Another name or queue is a slip of the
// caller and panics.
func (b *Box[T]) SetCounter(port string, queue int, name string, value uint64) {
	b.World.Tally.Set(port, queue, name, value)
}

// Counters are what the ports count: [Box.SetCounter] and more.
func (b *Box[T]) Counters() *sim.Tally { return &b.World.Tally }

// Shuffle has the switch answer as another one of its kind from now on.
func (b *Box[T]) Shuffle(seed uint64) { b.Dice.Shuffle(seed) }

// Writes counts the requests that may change the running configuration and
// reached the box, also those that were refused. A confirmation is none.
func (b *Box[T]) Writes() int {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.writes
}

// Attempt counts a write that ends before it is carried out.
func (b *Box[T]) Attempt() {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.Wrote()
}

// Wrote counts a write. The caller holds Mu.
func (b *Box[T]) Wrote() { b.writes++ }

// Flaps counts, by port, how often a port that was shut down came up again.
func (b *Box[T]) Flaps() map[string]int {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return maps.Clone(b.flaps)
}

// CountFlaps notes which of the interfaces that were shut down before are not
// so now. The caller holds Mu.
func (b *Box[T]) CountFlaps(before map[string]bool) {
	now := b.s.ShutDown()
	for p := range before {
		if !now[p] {
			b.flaps[p]++
		}
	}
}

// Down lists the interfaces that are shut down, in natural order.
func (b *Box[T]) Down() []string {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return natural.Keys(b.s.ShutDown())
}

// Uptime is the time since the last start.
func (b *Box[T]) Uptime() time.Duration {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return time.Since(b.Booted)
}

// Work takes the time of a commit. False when the switch closes meanwhile.
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

// StartTimer starts the timer of a change, or starts it anew. When it runs out,
// expire undoes the change. The caller holds Mu, and so does that of expire.
func (b *Box[T]) StartTimer(change *T, d time.Duration, expire func()) {
	b.StopTimer()
	if b.closed {
		return // Close would wait for it
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

// StopTimer stops the timer, where it runs. The caller holds Mu.
func (b *Box[T]) StopTimer() {
	if b.Timer == nil {
		return
	}
	if b.clock.Stop() {
		b.timers.Done()
	}
	b.Timer = nil
}

// ExpireTimer lets the timer run out now: the running configuration is what it
// was before the change. False when none runs.
func (b *Box[T]) ExpireTimer() bool {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.Timer == nil {
		return false
	}
	b.expire()
	return true
}

// Pretend is a write that is answered as a success and has changed nothing. do
// is what it would have done; where a timer runs, it is taken for its confirmation.
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

// Keep returns what brings the running configuration of now back.
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

// RunLines runs configuration line by line, up to the first one that is refused,
// which is the error.
func RunLines(text string, run func(line string) (refusal string)) error {
	for i, l := range SplitLines(text) {
		if out := run(l); out != "" {
			return fmt.Errorf("line %d: %q: %s", i+1, Clip(strings.TrimSpace(l)), out)
		}
	}
	return nil
}
