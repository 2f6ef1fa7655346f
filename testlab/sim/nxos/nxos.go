// Package nxos simulates a Cisco Nexus 9000 with NX-OS: an SSH server with the
// NX-OS command line and a gNMI server with the native model, both real servers
// on loopback, over one configuration engine with modes, checkpoints and
// dual-stage commits.
//
// It is for tests and for the lab, to be talked to as a switch is talked to.
// It is an independent reading of what NX-OS does and knows nothing of the
// renderer and the driver that are tested against it; keep it so. Where it
// knows a box to be strict it is strict, and a line that it does not know it
// refuses. It forwards no packets.
package nxos

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// defaultHostname is the name of a box that was given none.
const defaultHostname = "switch"

// NXOS is one simulated switch. All methods are safe for concurrent use.
type NXOS struct {
	o                   Options
	refuse, stageRefuse []*regexp.Regexp
	ports               map[string]bool // Ethernet ports that the box has
	front               *front
	done                chan struct{}  // closed by Close
	timers              sync.WaitGroup // confirmation timers that may still run out
	dice                sim.Shuffler

	mu          sync.Mutex
	running     *cli.Block
	startup     *cli.Block
	changed     time.Time // when the running configuration last was
	booted      time.Time
	carved      bool // the TCAM has its QoS region
	checkpoints []*checkpoint
	lastRoll    string // what show rollback status says of the last rollback
	lastCommit  int
	timer       *confirmTimer // nil: none runs
	flaps       map[string]int
	writes      int
	started     bool
	closed      bool
}

// New makes a switch that runs its startup configuration; Start opens its
// servers. A line of Options.Config that the box refuses is an error with its
// number, as is a regular expression that does not compile.
func New(o Options) (*NXOS, error) {
	n := &NXOS{o: withDefaults(o), ports: map[string]bool{}, flaps: map[string]int{}, changed: time.Now(), booted: time.Now(), done: make(chan struct{})}
	n.dice.Shuffle(o.Shuffle)
	var err error
	if n.refuse, err = compile(n.o.Refuse); err == nil {
		n.stageRefuse, err = compile(n.o.DualStageRefuse)
	}
	if err != nil {
		return nil, fmt.Errorf("switch %s: refused lines: %w", n.o.Hostname, err)
	}
	if err := n.boot(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", n.o.Hostname, err)
	}
	if n.front, err = newFront(n, n.o); err != nil {
		return nil, err
	}
	return n, nil
}

func withDefaults(o Options) Options {
	def := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	def(&o.Model, "N9K-C9332D-GX2B")
	def(&o.Version, "10.4(3)")
	if o.Config == "" {
		def(&o.Hostname, defaultHostname)
	}
	if o.Username == "" {
		o.Username, o.Password = "admin", "admin"
	}
	if o.MaxCheckpoints <= 0 {
		o.MaxCheckpoints = 10
	}
	if o.Interfaces == nil {
		for i := range 32 {
			o.Interfaces = append(o.Interfaces, "Ethernet1/"+strconv.Itoa(i+1))
		}
	}
	return o
}

// boot reads the startup configuration.
func (n *NXOS) boot() error {
	text := n.o.Config
	if text == "" {
		text = n.factory()
	}
	n.carved = true // what was saved once was accepted
	root := &cli.Block{}
	c := &configurer{n: n, user: "startup", root: root}
	for i, l := range cli.SplitLines(text) {
		if out := c.run(l); failed(out) {
			return fmt.Errorf("config line %d: %q: %s", i+1, cli.Clip(strings.TrimSpace(l)), lastLine(out))
		}
	}
	if c.heredoc != nil {
		return errors.New("config: banner without its end")
	}
	if n.o.Hostname != "" && hostnameOf(root) == defaultHostname {
		c.stack = nil
		if out := c.run("hostname " + n.o.Hostname); out != "" {
			return fmt.Errorf("hostname %q: %s", n.o.Hostname, lastLine(out))
		}
	}
	n.o.Hostname = hostnameOf(root)
	for _, b := range root.Subs {
		if b.Mode == modeEthernet {
			n.ports[b.Name()] = true
		}
	}
	n.running, n.startup = root, root.Clone()
	n.carve()
	n.o.Config = "" // a second copy of every switch would be kept alive
	return nil
}

// carve makes the TCAM as the configuration that is booted wants it.
func (n *NXOS) carve() {
	n.carved = !n.o.TCAM
	for _, region := range []string{"ing-l2-qos", "qos"} {
		size := strings.TrimPrefix(n.running.Get("tcam "+region), "hardware access-list tcam region "+region+" ")
		if size != "" && size != "0" {
			n.carved = true
		}
	}
}

func (n *NXOS) factory() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hostname %s\nvdc %s id 1\n  limit-resource vlan minimum 16 maximum 4094\n  limit-resource vrf minimum 2 maximum 4096\n"+
		"feature lldp\nfeature grpc\nvrf context management\n", n.o.Hostname, n.o.Hostname)
	for _, p := range n.o.Interfaces {
		fmt.Fprintf(&b, "interface %s\n", p)
		if n.o.Routed {
			b.WriteString("  no switchport\n  no shutdown\n")
		}
	}
	b.WriteString("interface mgmt0\n  vrf member management\n  ip address 192.0.2.1/24\ncopp profile strict\nline console\nline vty\n")
	return b.String()
}

// Start opens the servers. It fails when loopback has no port left, and when
// the switch runs or was closed.
func (n *NXOS) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.started || n.closed {
		return fmt.Errorf("switch %s: already started", n.o.Hostname)
	}
	if err := n.front.Start(); err != nil {
		return err
	}
	n.started = true
	return nil
}

// Close stops both servers and the confirmation timer and waits for everything
// they started. A second Close does nothing.
func (n *NXOS) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	n.stopTimer()
	close(n.done)
	n.mu.Unlock()
	n.front.Close()
	n.timers.Wait()
	return nil
}

// SSHAddr is the host:port of the SSH server, "" before Start and where there
// is none.
func (n *NXOS) SSHAddr() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.front.SSHAddr()
}

// GNMIAddr is the host:port of the gNMI server, "" before Start and where
// there is none.
func (n *NXOS) GNMIAddr() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.front.GNMIAddr()
}

// HostKeyLine is the known_hosts line of the SSH server, "" before Start and
// where there is none.
func (n *NXOS) HostKeyLine() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.front.HostKeyLine()
}

// Shuffle has the switch answer as another one of its kind from now on.
func (n *NXOS) Shuffle(seed uint64) { n.dice.Shuffle(seed) }

// Faults is the switch's fault injection.
func (n *NXOS) Faults() *Faults { return n.front.faults }

// Running is the output of "show running-config".
func (n *NXOS) Running() string { return n.runningText(false, nil) }

// Startup is the output of "show startup-config".
func (n *NXOS) Startup() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.printer(n.startup, false)
	p.header("show startup-config")
	p.root()
	return p.String()
}

// Configure is another writer at a terminal: each line takes effect at once,
// up to the first one that is refused, which is the error. It counts as a write
// as every entry into configuration mode does.
func (n *NXOS) Configure(lines string) error {
	c := n.openTerminal("other")
	for i, l := range cli.SplitLines(lines) {
		if out := c.line(l); failed(out) {
			return fmt.Errorf("line %d: %q: %s", i+1, cli.Clip(strings.TrimSpace(l)), lastLine(out))
		}
	}
	return nil
}

// Writes counts the requests that may change the running configuration and
// reached the box: each entry into configuration mode that brought a line, and
// each rollback and dual-stage commit, also those that were refused. A
// confirmation is none.
func (n *NXOS) Writes() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.writes
}

// attempt counts a write that ends before it is carried out.
func (n *NXOS) attempt() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writes++
}

// Flaps counts, by port, how often a port that was shut down came up again.
func (n *NXOS) Flaps() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.flaps)
}

// Down lists the interfaces that are shut down, in natural order.
func (n *NXOS) Down() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return natural.Keys(downIn(n.running))
}

// Checkpoints lists the user's checkpoints, the oldest first.
func (n *NXOS) Checkpoints() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]string, len(n.checkpoints))
	for i, c := range n.checkpoints {
		out[i] = c.name
	}
	return out
}

// Restart reboots the switch: the confirmation timer and what was not saved
// are lost, checkpoints are not, and all connections are cut.
func (n *NXOS) Restart() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return fmt.Errorf("switch %s: closed", n.o.Hostname)
	}
	n.stopTimer()
	n.replace(n.startup.Clone())
	n.carve()
	n.booted = time.Now()
	n.mu.Unlock()
	n.front.DropConnections()
	return nil
}

// replace makes root the running configuration. The caller holds mu.
func (n *NXOS) replace(root *cli.Block) {
	before := downIn(n.running)
	n.running = root
	n.touched(before)
}

// touched notes that the running configuration changed, from one with these
// interfaces down. The caller holds mu.
func (n *NXOS) touched(before map[string]bool) {
	n.changed = time.Now()
	now := downIn(n.running)
	for p := range before {
		if !now[p] {
			n.flaps[p]++
		}
	}
}

// uptime is the time since the last start.
func (n *NXOS) uptime() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Since(n.booted)
}

// feature reports whether a feature is on.
func (n *NXOS) feature(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running.Get("feature "+name) != ""
}

// hostname is the name in prompts.
func (n *NXOS) hostname() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return hostnameOf(n.running)
}

// save is "copy running-config startup-config".
func (n *NXOS) save() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.startup = n.running.Clone()
}

// work takes the time of a rollback or a commit. False when the switch closes
// meanwhile.
func (n *NXOS) work() bool {
	if n.o.TimeScale <= 0 {
		return true
	}
	t := time.NewTimer(time.Duration(n.o.TimeScale * float64(time.Second)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-n.done:
		return false
	}
}

// moduleStatus begins a refusal that comes from the hardware.
const moduleStatus = "Module 1 returned status"

// failed reports whether output of the box holds a refusal.
func failed(out string) bool {
	return slices.ContainsFunc(strings.Split(out, "\n"), func(l string) bool {
		return strings.HasPrefix(l, "%") || strings.HasPrefix(l, "ERROR:") || strings.HasPrefix(l, moduleStatus) || strings.HasPrefix(l, "Failed.") || strings.HasPrefix(l, "Rollback failed")
	})
}

// lastLine is the refusal without the line that marks the place.
func lastLine(out string) string {
	out = strings.TrimRight(out, "\n")
	return out[strings.LastIndexByte(out, '\n')+1:]
}
