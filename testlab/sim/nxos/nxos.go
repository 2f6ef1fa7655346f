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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// defaultHostname is the name of a box that was given none.
const defaultHostname = "switch"

// NXOS is one simulated switch. All methods are safe for concurrent use. A write
// is each entry into configuration mode that brought a line, and each rollback
// and dual-stage commit.
type NXOS struct {
	cli.Box[confirmTimer]
	o           Options
	stageRefuse []*regexp.Regexp
	front       *front

	running     *cli.Block
	startup     *cli.Block
	changed     time.Time // when the running configuration last was
	carved      bool      // the TCAM has its QoS region
	checkpoints []*checkpoint
	lastRoll    string // what show rollback status says of the last rollback
	lastCommit  int
}

// New makes a switch that runs its startup configuration; Start opens its
// servers. A line of Options.Config that the box refuses is an error with its
// number, as is a regular expression that does not compile.
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
	def(&o.Model, "N9K-C9332D-GX2B")
	def(&o.Version, "10.4(3)")
	if o.Running != nil {
		o.FourQueue = o.FourQueue || fourQueues(o.Model, o.Running)
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

// boot reads the startup configuration.
func (n *NXOS) boot() error {
	text := n.o.Config
	if text == "" {
		text = n.factory()
	}
	n.carved = true // what was saved once was accepted
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
	n.o.Config, n.o.Running = "", nil // a second copy of every switch would be kept alive
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

// Faults is the switch's fault injection.
func (n *NXOS) Faults() *Faults { return n.front.faults }

// Running is the output of "show running-config".
func (n *NXOS) Running() string { return n.runningText(false, nil) }

// Startup is the output of "show startup-config".
func (n *NXOS) Startup() string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	p := n.printer(n.startup, false)
	p.header("show startup-config")
	p.root()
	return p.String()
}

// Configure is another writer at a terminal: each line takes effect at once,
// up to the first one that is refused, which is the error. It counts as a write
// as every entry into configuration mode does.
func (n *NXOS) Configure(lines string) error {
	return cli.RunLines(lines, refusal(n.openTerminal("other").line))
}

// refusal makes of what runs a line what returns its refusal alone.
func refusal(run func(string) string) func(string) string {
	return func(line string) string {
		if out := run(line); failed(out) {
			return lastLine(out)
		}
		return ""
	}
}

// Checkpoints lists the user's checkpoints, the oldest first.
func (n *NXOS) Checkpoints() []string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	out := make([]string, len(n.checkpoints))
	for i, c := range n.checkpoints {
		out[i] = c.name
	}
	return out
}

// reboot loses what was not saved; checkpoints stay.
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

// touched notes that the running configuration changed, from one with these
// interfaces down. The caller holds mu.
func (n *NXOS) touched(before map[string]bool) {
	n.changed = time.Now()
	n.CountFlaps(before)
}

// feature reports whether a feature is on.
func (n *NXOS) feature(name string) bool {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return n.running.Get("feature "+name) != ""
}

// hostname is the name in prompts.
func (n *NXOS) hostname() string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return hostnameOf(n.running)
}

// Save is someone's "copy running-config startup-config".
func (n *NXOS) Save() { n.save() }

// save is "copy running-config startup-config".
func (n *NXOS) save() {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	n.startup = n.running.Clone()
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

// Keep returns what brings the switch back to where it is now: its running and startup
// configuration, and what is plugged in.
func (n *NXOS) Keep() (back func()) {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	running, startup, world := n.running.Clone(), n.startup.Clone(), n.World.Remember()
	return func() {
		n.Mu.Lock()
		defer n.Mu.Unlock()
		n.running, n.startup, n.changed = running.Clone(), startup.Clone(), time.Now()
		world()
	}
}
