// Package eos simulates an Arista EOS switch: an SSH server with the EOS
// command line and a gNMI server, both real servers on loopback, over one
// configuration engine with modes, configuration sessions and commit timers.
//
// It is for tests and for the lab, to be talked to as a switch is talked to.
// It is an independent reading of what EOS does and knows nothing of the
// renderer and the driver that are tested against it; keep it so. Where it
// knows a box to be strict it is strict, and a line that it does not know it
// refuses. It forwards no packets.
package eos

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// EOS is one simulated switch. All methods are safe for concurrent use.
type EOS struct {
	o      Options
	sand   bool // Jericho family: Sand, else Strata
	refuse []*regexp.Regexp
	ports  map[string]bool // Ethernet ports that the box has
	front  *front
	done   chan struct{}  // closed by Close
	timers sync.WaitGroup // commit timers that may still run out
	dice   sim.Shuffler

	mu       sync.Mutex
	running  *config
	startup  *config
	sessions map[string]*candidate
	timer    *commitTimer // nil: none runs
	booted   time.Time
	flaps    map[string]int
	commits  int
	serial   int // of completed sessions, to forget the oldest
	started  bool
	closed   bool
}

// New makes a switch that runs its startup configuration; Start opens its
// servers. A line of Options.Config that the box refuses is an error with its
// number, as is a regular expression that does not compile.
func New(o Options) (*EOS, error) {
	e := &EOS{sessions: map[string]*candidate{}, ports: map[string]bool{}, flaps: map[string]int{},
		booted: time.Now(), done: make(chan struct{})}
	e.o = withDefaults(o)
	e.dice.Shuffle(o.Shuffle)
	e.sand = isSand(e.o.Model)
	if e.o.QueueKeyword == "" {
		e.o.QueueKeyword = "uc-tx-queue"
		if e.sand {
			e.o.QueueKeyword = "tx-queue"
		}
	}
	if k := e.o.QueueKeyword; k != "uc-tx-queue" && k != "tx-queue" {
		return nil, fmt.Errorf("switch %s: queue keyword %q: not uc-tx-queue or tx-queue", e.o.Hostname, k)
	}
	for _, expr := range o.Refuse {
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("switch %s: refused lines: %w", e.o.Hostname, err)
		}
		e.refuse = append(e.refuse, re)
	}
	if err := e.boot(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", e.o.Hostname, err)
	}
	var err error
	e.front, err = newFront(e, e.o)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func withDefaults(o Options) Options {
	def := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	def(&o.Model, "DCS-7060DX5-64S")
	def(&o.Version, "4.34.2F")
	if o.Config == "" {
		def(&o.Hostname, defaultHostname)
	}
	if o.Username == "" {
		o.Username, o.Password = "admin", "admin"
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 5
	}
	if o.Interfaces == nil {
		for i := range 32 {
			o.Interfaces = append(o.Interfaces, fmt.Sprintf("Ethernet%d/1", i+1))
		}
	}
	return o
}

// isSand reports whether a model is of the Jericho family.
func isSand(model string) bool {
	m := strings.TrimPrefix(strings.ToUpper(model), "DCS-")
	for _, p := range []string{"7280", "7500", "7800"} {
		if strings.HasPrefix(m, p) {
			return true
		}
	}
	return false
}

// boot reads the startup configuration.
func (e *EOS) boot() error {
	text, named := e.o.Config, e.o.Config != ""
	if !named {
		text = e.factory()
	}
	cfg := newConfig()
	s := &session{e: e, user: "startup", boot: cfg}
	for i, l := range cli.SplitLines(text) {
		if out := s.run(l); strings.HasPrefix(out, "%") {
			return fmt.Errorf("config line %d: %q: %s", i+1, cli.Clip(strings.TrimSpace(l)), out)
		}
	}
	if s.heredoc != nil {
		return errors.New("config: banner without its EOF")
	}
	if e.o.Hostname != "" && cfg.hostname() == defaultHostname {
		s.stack = nil
		if out := s.run("hostname " + e.o.Hostname); out != "" {
			return fmt.Errorf("hostname %q: %s", e.o.Hostname, out)
		}
	}
	if e.o.Hostname == "" {
		e.o.Hostname = cfg.hostname()
	}
	for _, b := range cfg.root.Subs {
		if b.Mode == modeEthernet {
			e.ports[b.Name()] = true
		}
	}
	e.running, e.startup = cfg, cfg.clone()
	e.o.Config = "" // a second copy of every switch would be kept alive
	return nil
}

func (e *EOS) factory() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no aaa root\nservice routing protocols model multi-agent\nspanning-tree mode mstp\nmanagement api gnmi\n transport grpc default\n")
	for _, p := range e.o.Interfaces {
		fmt.Fprintf(&b, "interface %s\n", p)
		if e.o.Routed {
			b.WriteString(" no switchport\n")
		}
	}
	b.WriteString("interface Management1\n ip address 192.0.2.1/24\nip routing\n")
	return b.String()
}

// Start opens the servers. It fails when loopback has no port left, and when
// the switch runs or was closed.
func (e *EOS) Start() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started || e.closed {
		return fmt.Errorf("switch %s: already started", e.o.Hostname)
	}
	if err := e.front.Start(); err != nil {
		return err
	}
	e.started = true
	return nil
}

// Close stops both servers and the commit timer and waits for everything they
// started. A second Close does nothing.
func (e *EOS) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.stopTimer()
	close(e.done)
	e.mu.Unlock()
	e.front.Close()
	e.timers.Wait()
	return nil
}

// SSHAddr is the host:port of the SSH server, "" before Start and where there
// is none.
func (e *EOS) SSHAddr() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.front.SSHAddr()
}

// GNMIAddr is the host:port of the gNMI server, "" before Start and where
// there is none.
func (e *EOS) GNMIAddr() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.front.GNMIAddr()
}

// HostKeyLine is the known_hosts line of the SSH server, "" before Start and
// where there is none.
func (e *EOS) HostKeyLine() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.front.HostKeyLine()
}

// Shuffle has the switch answer as another one of its kind from now on.
func (e *EOS) Shuffle(seed uint64) { e.dice.Shuffle(seed) }

// Faults is the switch's fault injection.
func (e *EOS) Faults() *Faults { return e.front.faults }

// Running is the output of "show running-config".
func (e *EOS) Running() string { return e.runningText(false, nil) }

// Startup is the output of "show startup-config".
func (e *EOS) Startup() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.document("show startup-config", e.startup, false)
}

// Configure is another writer at a terminal: each line takes effect at once,
// up to the first one that is refused, which is the error.
func (e *EOS) Configure(lines string) error {
	s := e.openTerminal("other")
	for i, l := range cli.SplitLines(lines) {
		if out := s.line(l); strings.HasPrefix(out, "%") {
			return fmt.Errorf("line %d: %q: %s", i+1, cli.Clip(strings.TrimSpace(l)), out)
		}
	}
	return nil
}

// Commits counts the write attempts that reached the box: commits of sessions,
// also refused ones, and Sets. A confirmation is none.
func (e *EOS) Commits() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.commits
}

// attempt counts a write that ends before its commit.
func (e *EOS) attempt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.commits++
}

// Flaps counts, by port, how often a port that was shut down came up again.
func (e *EOS) Flaps() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.flaps)
}

// Down lists the interfaces that are shut down, in natural order.
func (e *EOS) Down() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return natural.Keys(e.running.down())
}

// Restart reboots the switch: pending sessions, timers and what was not saved
// are lost, and all connections are cut.
func (e *EOS) Restart() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return fmt.Errorf("switch %s: closed", e.o.Hostname)
	}
	e.stopTimer()
	for name, c := range e.sessions {
		c.state, c.cfg = stateLost, nil
		delete(e.sessions, name)
	}
	e.replace(e.startup.clone())
	e.booted = time.Now()
	e.mu.Unlock()
	e.front.DropConnections()
	return nil
}

// replace makes cfg the running configuration. The caller holds mu.
func (e *EOS) replace(cfg *config) {
	before := e.running.down()
	e.running = cfg
	e.countFlaps(before)
}

func (e *EOS) countFlaps(before map[string]bool) {
	now := e.running.down()
	for p := range before {
		if !now[p] {
			e.flaps[p]++
		}
	}
}

// uptime is the number of seconds since the last start, the clock that commit
// timers are shown on.
func (e *EOS) uptime() float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.booted).Seconds()
}

// hostname is the name in prompts.
func (e *EOS) hostname() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running.hostname()
}

// runningText is `show running-config`, with every default where all is set.
// A section {"interfaces", NAME} is those interfaces alone, without header and
// end; "" where there is none of that name.
func (e *EOS) runningText(all bool, section []string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(section) == 0 {
		cmd := "show running-config"
		if all {
			cmd += " all"
		}
		return e.document(cmd, e.running, all)
	}
	if len(section) < 2 || !strings.HasPrefix("interfaces", strings.ToLower(section[0])) {
		return ""
	}
	names, ok := parseInterfaces(strings.Join(section[1:], ""))
	if !ok {
		return ""
	}
	p := e.printer(e.running, all)
	for _, n := range names {
		if b := e.running.root.Subs["interface "+n]; b != nil {
			p.block(b, "")
		}
	}
	return p.String()
}

// Save is somebody's "write memory".
func (e *EOS) Save() { e.save() }

// save is `write memory`.
func (e *EOS) save() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.startup = e.running.clone()
}

// portState is what show commands say of one interface.
type portState struct {
	Name, Description string
	Kind              string // as in the name: "Ethernet", "Port-Channel", ...
	MTU               int    // bytes; routed: as configured or by default; bridged: 9214
	L3MTUConfigured   bool
	L2MTU             int    // bytes; 0 where not configured
	Address           string // as configured, "" without
	Routed, Shutdown  bool
	NoLink            bool // enabled, and nothing at the other end
}

// portStates lists the interfaces of the running configuration in natural
// order.
func (e *EOS) portStates() []portState {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []portState
	for _, head := range natural.Keys(e.running.root.Subs) {
		if b := e.running.root.Subs[head]; interfaceModes[b.Mode] {
			out = append(out, e.running.portOf(b))
		}
	}
	return out
}

// Sessions returns the state of each configuration session by name: "pending",
// "pendingCommitTimer" or "completed".
func (e *EOS) Sessions() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string]string{}
	for name, c := range e.sessions {
		out[name] = c.state
	}
	return out
}
