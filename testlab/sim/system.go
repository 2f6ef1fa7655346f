package sim

import (
	"crypto/tls"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// Switch is a running simulated switch. Tests that need more of one know its simulator.
type Switch interface {
	GNMIAddr() string
	SSHAddr() string
	// Shuffle makes the switch vary its answers, as different switches of its kind do; see
	// [Shuffler].
	Shuffle(seed uint64)
	// MostSessions returns the largest number of simultaneous connections to each of its two
	// servers.
	MostSessions() (gnmi, ssh int)
	Close() error

	// Configure changes the running configuration without the tool's knowledge; Save saves it.
	// Keep returns a function that restores the current one.
	Configure(lines string) error
	Save()
	Keep() (restore func())
	// SetNeighbor sets what LLDP shows at a port, Unplug the state of its cable, Counters its
	// counters.
	SetNeighbor(port, device, remotePort string)
	Unplug(port string, out bool)
	Counters() *Tally
	// Install replaces the hardware; "" installs the original again.
	Install(chassis string)
	// RefuseConnections makes the switch reject all connections, or accept them again.
	RefuseConnections(on bool)
}

// System is the record of a simulated system: everything that the labs know about it.
type System struct {
	// Name is the name used in the intent.
	Name string
	// Start starts a switch in factory state, or with a given configuration.
	Start func(Setup) (Switch, error)
	// Refuses returns the lines or rows of a configuration that a switch of a model rejects.
	Refuses func(model string, config []byte) []string
	// Faults holds the statements that inject the lab's named faults into a switch. Faults that
	// the lab injects into every switch in the same way need no entry.
	Faults map[string]string
	// Statements holds the statements for faults that only switches of this system have. The
	// others are lines for [Switch.Configure].
	Statements map[string]Statement
	// Nodes lists the kinds of containerlab nodes that run the system's software, the usual one
	// first. There are none if no image is free.
	Nodes []Node
}

// Statement is a statement for a fault. A line with the same first word and another number of
// arguments is not one.
type Statement struct {
	Args int // number of arguments
	Do   func(s Switch, args []string)
}

// Setup says how a switch of a lab starts.
type Setup struct {
	Name           string
	Model, Release string           // "" if the intent does not state them
	Ports          []string         // the ports in the intent
	Speeds         map[string]int64 // those that the intent sets, in bits per second
	DynamicBuffers *bool            // nil for the usual buffer model of the model
	// Running is the configuration to start with; nil means factory state.
	Running []byte

	Username, Password string
	TLS                *tls.Config
	HostKey            ssh.Signer
	Listen             ListenFunc
	TimeScale          float64
	Shuffle            uint64
}

// Started starts a newly created switch.
func Started[S interface {
	Switch
	Start() error
}](box S, err error) (Switch, error) {
	if err != nil {
		return nil, err
	}
	if err := box.Start(); err != nil {
		return nil, err
	}
	return box, nil
}

// Node is a kind of containerlab node: a system's software in a container, or in a virtual machine
// inside a container.
type Node struct {
	Kind string // name in containerlab
	// Image returns the usual image for a release; "" means any release.
	Image func(release string) string
	// ImageName selects this kind of the system for images whose name contains it.
	ImageName string
	// Release returns the release of an image from its tag; "" if the tag does not tell.
	Release func(tag string) string
	// Interface returns containerlab's name for a port; "" if the kind has no such port.
	Interface func(port string) string
	// Ports describes the available ports for people.
	Ports string
	// Fixed returns the ports of a virtual switch that always has the same ports, each with the
	// speed PortSpeed. It is nil for other kinds.
	Fixed     func() []string
	PortSpeed string
	// Startup is the text of the file with which a node starts, and StartupName its name: a shell
	// script (*.sh) that runs after deployment, or a configuration.
	StartupName string
	Startup     []byte
	// Intent changes the model and the access settings in a switch's entry of the intent; lab is
	// the name of the lab. It may be nil.
	Intent func(entry *yaml.Node, lab string)
}

// TagMatch returns a [Node.Release] that takes the part of a tag matching an expression.
func TagMatch(re *lazyre.Regexp) func(tag string) string {
	return func(tag string) string {
		if m := re.FindStringSubmatch(tag); m != nil {
			return m[0]
		}
		return ""
	}
}
