// Package nxos simulates a Cisco Nexus 9000 with NX-OS: an SSH server with the NX-OS command
// line and a gNMI server with the native model, both real servers on loopback, over one
// configuration engine with modes, checkpoints and dual-stage commits.
//
// It is for tests and for the lab; clients talk to it as to a switch. It is an independent
// implementation of NX-OS behaviour and shares nothing with the renderer and the driver that are
// tested against it; keep it so. It is strict wherever a real switch is known to be strict, and
// it refuses lines that it does not know. It forwards no packets.
package nxos

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// defaultHostname is the hostname of a switch without a configured one.
const defaultHostname = "switch"

// NXOS is a simulated switch. All methods are safe for concurrent use. A write is an entry into
// configuration mode in which a line was typed, a rollback, or a dual-stage commit.
type NXOS struct {
	cli.Box[confirmTimer]
	o           Options
	stageRefuse []*regexp.Regexp
	front       *front

	running     *cli.Block
	startup     *cli.Block
	changed     time.Time // time of the last change of the running configuration
	carved      bool      // the TCAM has its QoS region
	checkpoints []*checkpoint
	lastRoll    string // output of "show rollback status" for the last rollback
	lastCommit  int
}

// New returns a switch that runs its startup configuration; Start opens its servers. It returns
// an error if the switch refuses a line of Options.Config, with the line number, or if a regular
// expression does not compile.
func New(o Options) (*NXOS, error) {
	n := &NXOS{o: withDefaults(o), changed: time.Now()}
	err := n.Init(cli.Setup{Name: n.o.Hostname, Model: n.o.Model, TimeScale: o.TimeScale, Refuse: o.Refuse, Shuffle: o.Shuffle,
		ShutDown: func() map[string]bool { return downIn(n.running) }, Reboot: n.reboot,
		Keep: func() func() { before := n.running.Clone(); return func() { n.replace(before) } }, Confirmed: confirming})
	if err == nil {
		n.stageRefuse, err = cli.Compile(n.o.Hostname, n.o.DualStageRefuse)
	}
	if err != nil {
		return nil, err
	}
	if err := n.boot(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", n.o.Hostname, err)
	}
	if n.front, err = newFront(n, n.o); err != nil {
		return nil, err
	}
	n.Serve(n.front.Front)
	return n, nil
}

func withDefaults(o Options) Options {
	def := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	if o.Running != nil {
		o.UserClasses = o.UserClasses || userClasses(o.Model, o.Running)
		o.FourQueue = o.FourQueue || !o.UserClasses && fourQueues(o.Model, o.Running)
	}
	def(&o.Model, "N9K-C9332D-GX2B")
	def(&o.Version, "10.4(3)")
	if o.Running != nil {
		// The text states the hostname.
	} else if o.Config == "" {
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

// boot loads the startup configuration.
func (n *NXOS) boot() error {
	text := n.o.Config
	if text == "" {
		text = n.factory()
	}
	n.carved = true // a saved configuration has been accepted before
	root := &cli.Block{}
	c := &configurer{n: n, user: "startup", root: root}
	if n.o.Running != nil {
		c.take(n.o.Running)
	} else if err := cli.RunLines(text, refusal(c.run)); err != nil {
		return fmt.Errorf("config %w", err)
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
			n.Ports[b.Name()] = true
		}
	}
	n.running, n.startup = root, root.Clone()
	n.carve()
	n.o.Config, n.o.Running = "", nil // release the text, which would otherwise stay in memory for every switch
	return nil
}

// carve sets up the TCAM as the booted configuration requires.
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

// Faults returns the fault injection of the switch.
func (n *NXOS) Faults() *Faults { return n.front.faults }

// Running returns the output of "show running-config".
func (n *NXOS) Running() string { return n.runningText(false, nil) }

// Startup returns the output of "show startup-config".
func (n *NXOS) Startup() string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	p := n.printer(n.startup, false)
	p.header("show startup-config")
	p.root()
	return p.String()
}

// Configure acts as another user at a terminal: each line takes effect at once, up to the first
// refused line, which is returned as the error. It counts as a write, like every entry into
// configuration mode.
func (n *NXOS) Configure(lines string) error {
	return cli.RunLines(lines, refusal(n.openTerminal("other").line))
}

// refusal wraps a function that runs a line so that it returns only the refusal.
func refusal(run func(string) string) func(string) string {
	return func(line string) string {
		if out := run(line); failed(out) {
			return lastLine(out)
		}
		return ""
	}
}

// Checkpoints lists the user's checkpoints, oldest first.
func (n *NXOS) Checkpoints() []string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	out := make([]string, len(n.checkpoints))
	for i, c := range n.checkpoints {
		out[i] = c.name
	}
	return out
}

// reboot discards unsaved configuration; checkpoints stay.
func (n *NXOS) reboot() {
	n.replace(n.startup.Clone())
	n.carve()
}

// replace makes root the running configuration. The caller holds mu.
func (n *NXOS) replace(root *cli.Block) {
	before := downIn(n.running)
	n.running = root
	n.touched(before)
}

// touched records that the running configuration has changed; before holds the interfaces that
// were down. The caller holds mu.
func (n *NXOS) touched(before map[string]bool) {
	n.changed = time.Now()
	n.CountFlaps(before)
}

// feature reports whether a feature is enabled.
func (n *NXOS) feature(name string) bool {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return n.running.Get("feature "+name) != ""
}

// hostname returns the name in prompts.
func (n *NXOS) hostname() string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return hostnameOf(n.running)
}

// Save acts as another user who runs "copy running-config startup-config".
func (n *NXOS) Save() { n.save() }

// save executes "copy running-config startup-config".
func (n *NXOS) save() {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	n.startup = n.running.Clone()
}

// moduleStatus begins a refusal that comes from the hardware.
const moduleStatus = "Module 1 returned status"

// failed reports whether output of the switch contains a refusal.
func failed(out string) bool {
	return slices.ContainsFunc(strings.Split(out, "\n"), func(l string) bool {
		return strings.HasPrefix(l, "%") || strings.HasPrefix(l, "ERROR:") || strings.HasPrefix(l, moduleStatus) || strings.HasPrefix(l, "Failed.") || strings.HasPrefix(l, "Rollback failed")
	})
}

// lastLine returns the last line of a refusal, without the line that marks the place.
func lastLine(out string) string {
	out = strings.TrimRight(out, "\n")
	return out[strings.LastIndexByte(out, '\n')+1:]
}

// Keep returns a function that restores the present state of the switch: its running and startup
// configuration, its checkpoints and its cabling. A commit timer that has been started since ends.
func (n *NXOS) Keep() (back func()) {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	running, startup, world := n.running.Clone(), n.startup.Clone(), n.World.Remember()
	checkpoints, timer := slices.Clone(n.checkpoints), n.Timer
	return func() {
		n.Mu.Lock()
		defer n.Mu.Unlock()
		if n.Timer != nil && n.Timer != timer {
			n.expire()
		}
		n.checkpoints = slices.Clone(checkpoints)
		n.running, n.startup, n.changed = running.Clone(), startup.Clone(), time.Now()
		world()
	}
}
