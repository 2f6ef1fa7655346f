// Package eos simulates an Arista EOS switch: an SSH server with the EOS command line and a gNMI
// server. Both are real servers on loopback and share one configuration engine with modes,
// configuration sessions and commit timers.
//
// It is for tests and for the lab, and is used like a real switch. It is written independently
// from documentation of EOS and does not use the renderer and the driver that are tested against
// it; keep it so. It is strict where boxes are known to be strict, and rejects every line that it
// does not know. It forwards no packets.
package eos

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// EOS is a simulated switch. All methods are safe for concurrent use.
type EOS struct {
	cli.Box[commitTimer]
	o     Options
	sand  bool // Jericho family (Sand); otherwise Strata
	front *front

	running  *config
	startup  *config
	sessions map[string]*candidate
	serial   int // number of completed sessions, used to find the oldest
	refused  []string
}

// New returns a switch that runs its startup configuration; Start opens its servers. New returns
// an error with the line number if the box rejects a line of Options.Config, and an error if a
// regular expression is invalid.
func New(o Options) (*EOS, error) {
	e, err := unserved(o)
	if err != nil {
		return nil, err
	}
	if e.front, err = newFront(e, e.o); err != nil {
		return nil, err
	}
	e.Serve(e.front.Front)
	return e, nil
}

// unserved returns a switch without servers.
func unserved(o Options) (*EOS, error) {
	e := &EOS{sessions: map[string]*candidate{}, o: withDefaults(o)}
	e.sand = isSand(e.o.Model)
	if e.o.QueueKeyword == "" {
		e.o.QueueKeyword = cmp.Or(keywordOf(o.Model, string(e.o.Running)), map[bool]string{true: "tx-queue", false: "uc-tx-queue"}[e.sand])
	}
	if k := e.o.QueueKeyword; k != "uc-tx-queue" && k != "tx-queue" {
		return nil, fmt.Errorf("switch %s: queue keyword %q: not uc-tx-queue or tx-queue", e.o.Hostname, k)
	}
	err := e.Init(cli.Setup{Name: e.o.Hostname, Model: e.o.Model, TimeScale: o.TimeScale, Refuse: o.Refuse, Shuffle: o.Shuffle,
		ShutDown: func() map[string]bool { return e.running.down() }, Reboot: e.reboot,
		Keep: func() func() { before := e.running.clone(); return func() { e.replace(before) } }})
	if err != nil {
		return nil, err
	}
	if err := e.boot(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", e.o.Hostname, err)
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
	if o.Config == "" && o.Running == nil {
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

// isSand reports whether a model belongs to the Jericho family.
func isSand(model string) bool {
	m := strings.TrimPrefix(strings.ToUpper(model), "DCS-")
	for _, p := range []string{"7280", "7500", "7800"} {
		if strings.HasPrefix(m, p) {
			return true
		}
	}
	return false
}

// boot loads the startup configuration.
func (e *EOS) boot() error {
	text, named := e.o.Config, e.o.Config != ""
	if !named {
		text = e.factory()
	}
	cfg := newConfig()
	s := &session{e: e, user: "startup", boot: cfg}
	if e.o.Running != nil {
		e.take(s, string(e.o.Running))
	} else if err := cli.RunLines(text, refusal(s.run)); err != nil {
		return fmt.Errorf("config %w", err)
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
			e.Ports[b.Name()] = true
		}
	}
	e.running, e.startup = cfg, cfg.clone()
	e.o.Config, e.o.Running = "", nil // free the text, which would otherwise be kept for every switch
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

// Faults returns the switch's fault injection.
func (e *EOS) Faults() *Faults { return e.front.faults }

// Running returns the text of "show running-config".
func (e *EOS) Running() string { return e.runningText(false, nil) }

// Startup returns the text of "show startup-config".
func (e *EOS) Startup() string {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	return e.document("show startup-config", e.startup, false)
}

// Configure simulates another user at a terminal. Each line takes effect at once; the first
// rejected line is returned as an error.
func (e *EOS) Configure(lines string) error {
	return cli.RunLines(lines, refusal(e.openTerminal("other").line))
}

// refusal wraps a function that executes a line so that it returns only rejections.
func refusal(run func(string) string) func(string) string {
	return func(line string) string {
		if out := run(line); failed(out) {
			return out
		}
		return ""
	}
}

// reboot discards pending sessions and unsaved changes.
func (e *EOS) reboot() {
	for name, c := range e.sessions {
		c.state, c.cfg = stateLost, nil
		delete(e.sessions, name)
	}
	e.replace(e.startup.clone())
}

// replace makes cfg the running configuration. The caller must hold Mu.
func (e *EOS) replace(cfg *config) {
	before := e.running.down()
	e.running = cfg
	e.CountFlaps(before)
}

// hostname returns the name shown in prompts.
func (e *EOS) hostname() string {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	return e.running.hostname()
}

// runningText returns the output of `show running-config`, with all defaults if all is set. A
// section {"interfaces", NAME} selects only these interfaces, without header and end; the result
// is "" if no interface has that name.
func (e *EOS) runningText(all bool, section []string) string {
	e.Mu.Lock()
	defer e.Mu.Unlock()
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

// Save simulates "write memory" by another user.
func (e *EOS) Save() { e.save() }

// save executes `write memory`.
func (e *EOS) save() {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	e.startup = e.running.clone()
}

// portState is the state of an interface in show commands.
type portState struct {
	Name, Description string
	Kind              string // type in the name: "Ethernet", "Port-Channel", ...
	MTU               int    // bytes; routed: configured or default; bridged: 9214
	L3MTUConfigured   bool
	L2MTU             int    // bytes; 0 if not configured
	Address           string // as configured; "" if none
	Routed, Shutdown  bool
	NoLink            bool // enabled, but without a link
	Wire              cli.Wire
}

// portStates returns the interfaces of the running configuration in natural order.
func (e *EOS) portStates() []portState {
	e.Mu.Lock()
	defer e.Mu.Unlock()
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
	e.Mu.Lock()
	defer e.Mu.Unlock()
	out := map[string]string{}
	for name, c := range e.sessions {
		out[name] = c.state
	}
	return out
}

// Keep returns a function that restores the current state of the switch: its running and startup
// configuration, and its cables. A commit timer that has been started since ends.
func (e *EOS) Keep() (back func()) {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	running, startup, world := e.running.clone(), e.startup.clone(), e.World.Remember()
	timer := e.Timer
	return func() {
		e.Mu.Lock()
		defer e.Mu.Unlock()
		if e.Timer != nil && e.Timer != timer {
			e.rollBack()
		}
		e.running, e.startup = running.clone(), startup.clone()
		world()
	}
}
