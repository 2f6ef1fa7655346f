// Package host simulates a Linux server with RDMA NICs: an SSH server on loopback that accepts the
// program copied by nic/remote, identifies it by its digest, and answers in its place. Behind it
// are nic/agent and nic/local, as on a real machine, over the simulated kernel, drivers and
// firmware of nic/local/localtest and nic/mlxconfig/mlxconfigtest. The state survives connections,
// and [Host.Reboot] loses what a real reboot loses.
//
// The copied program is never run: this process answers in its place, on any operating system.
// Besides the agent, the host knows the few programs that a login needs to copy a file. Do not add
// ways to configure the machine that a real one does not have; [Faults] make it misbehave.
package host

import (
	"cmp"
	"debug/elf"
	"fmt"
	"io/fs"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/niccli/nicclitest"
	"github.com/roce-fabric/roce-fabric/nic/nicctl/nicctltest"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Kind is the kind of a NIC.
type Kind string

// The kinds of NICs, by driver: NVIDIA ConnectX with the kernel's driver or NVIDIA's own; Broadcom
// with the kernel's driver, which has no congestion control settings before 6.13 and has them in
// debugfs since then, or with Broadcom's own driver, which has them in configfs; Intel E810; AMD
// Pensando behind nicctl.
const (
	MLX5         Kind = "mlx5" // same as ""
	MLX5OFED     Kind = "mlx5-ofed"
	BNXT         Kind = "bnxt"
	BNXTDebugFS  Kind = "bnxt-debugfs"
	BNXTConfigFS Kind = "bnxt-configfs"
	ICE          Kind = "ice"
	Ionic        Kind = "ionic"
)

// Kinds returns the names of all kinds.
func Kinds() []string {
	return []string{string(MLX5), string(MLX5OFED), string(BNXT), string(BNXTDebugFS), string(BNXTConfigFS), string(ICE), string(Ionic)}
}

// NIC is one port on its own card.
type NIC struct {
	Name string // "ens1f0np0"
	RDMA string // "mlx5_0"; "" for no RDMA device
	Kind Kind
	// PCI is the address; "" puts the card on its own bus, in the order of the NICs. Model is the
	// PCI ID of the device; Part and Serial are the card's numbers; "" stands for a default.
	PCI, Model, Part, Serial string
	// Restricted makes the NIC the host's side of a BlueField in DPU mode.
	Restricted bool
	// Speed is that of the link; 0 stands for 400 Gb/s.
	Speed units.Rate
	// Switchdev puts the card into switchdev mode at each boot, as an operator's rule or the system
	// of a BlueField does.
	Switchdev bool
}

// Bond is a bond over NICs; VLAN is a VLAN over one device.
type (
	Bond struct {
		Name    string
		Members []string
	}
	VLAN struct {
		Name, On string
		ID       int
	}
)

// Sudo is the rule for the login in sudoers(5).
type Sudo string

// The sudo rules.
const (
	SudoFree     Sudo = "" // NOPASSWD
	SudoPassword Sudo = "password"
	SudoNobody   Sudo = "nobody" // the login is not in sudoers
)

// Options describe a host.
type Options struct {
	Name string
	NICs []NIC
	// Bonds come up before VLANs, with an MTU of 1500 and without maps.
	Bonds []Bond
	VLANs []VLAN
	// Dir is a directory, used only by this host, for what it stores on disk. It need not exist and
	// is not created before the agent is first used.
	Dir string
	// Username and Password are those of the login, also used for sudo. "root" needs no sudo.
	Username, Password string
	Sudo               Sudo
	HostKey            ssh.Signer // nil generates a new one
	Listen             sim.ListenFunc
	// Processor is the processor name printed by uname; "" stands for "x86_64".
	Processor string
	// Tools is the generation of the firmware tools; -1 means that there are none.
	Tools mlxconfigtest.Version
	// CardType is the card type shown by mlxconfig; "" stands for "ConnectX7".
	CardType string
	// TimeScale scales the run times of the real tools: 0 does not wait, 1 is real time.
	TimeScale float64
	// Wire connects the perftest programs of hosts; without one they find no server. Address is
	// where other hosts reach this one.
	Wire    *Wire
	Address string
	// Shuffle seeds the choices that a host may make either way, see [sim.Shuffler]; 0 turns it
	// off.
	Shuffle uint64
}

// NoTools is the value of [Options.Tools] for a host without firmware tools.
const NoTools mlxconfigtest.Version = -1

// processors maps the processor names printed by uname (Linux, UTS_MACHINE of arch/*/Makefile).
var processors = map[string]elf.Machine{"x86_64": elf.EM_X86_64, "aarch64": elf.EM_AARCH64}

// Host is a simulated server. Call New to create one, and Start and Close to start and stop it.
type Host struct {
	*cli.Front
	o       Options
	machine elf.Machine
	files   *homeFiles
	faults  *Faults
	dice    sim.Shuffler

	mu   sync.Mutex
	fake *localtest.Host // nil before it is first used
	// failed reports whether the boot unit failed when it was last started.
	failed bool
	cards  map[string]*mlxconfigtest.Card
	held   []func()         // undo the changes of HoldFirmware
	amd    *nicctltest.Host // AMD's cards; nil if there are none
	// nvm holds Broadcom's cards behind niccli, nil if there are none; bnxt holds the PCI addresses
	// of their NICs.
	nvm  *nicclitest.Host
	bnxt map[string]string
}

// New prepares a host. It fails if the options are invalid or a key cannot be generated.
func New(o Options) (*Host, error) {
	o.Processor = cmp.Or(o.Processor, "x86_64")
	machine, ok := processors[o.Processor]
	if !ok {
		return nil, fmt.Errorf("host %s: processor %q is not simulated", o.Name, o.Processor)
	}
	if o.Dir == "" {
		return nil, fmt.Errorf("host %s: no folder", o.Name)
	}
	seen := map[string]bool{}
	for _, n := range o.NICs {
		if _, ok := kinds[n.Kind]; !ok {
			return nil, fmt.Errorf("host %s: NIC %s is of kind %q, which is not simulated", o.Name, n.Name, n.Kind)
		}
		if n.Name == "" || len(n.Name) > 15 || seen[n.Name] {
			return nil, fmt.Errorf("host %s: a NIC cannot be called %q", o.Name, n.Name)
		}
		seen[n.Name] = true
	}
	if len(o.NICs) > maxNICs {
		return nil, fmt.Errorf("host %s: %d NICs, and at most %d are simulated", o.Name, len(o.NICs), maxNICs)
	}
	h := &Host{o: o, machine: machine, files: &homeFiles{files: map[string]*homeFile{}}}
	h.files.files["/"] = &homeFile{dir: true, mode: 0o755}
	if err := h.files.mkdirAll(h.account().home(), 0o700); err != nil {
		return nil, fmt.Errorf("host %s: %w", o.Name, err)
	}
	h.dice.Shuffle(o.Shuffle)
	h.faults = &Faults{host: h, shared: &cli.Faults{}}
	var err error
	h.Front, err = cli.NewFront(cli.Config{Name: o.Name, Username: o.Username, Password: o.Password, Listen: o.Listen,
		HostKey: o.HostKey, NoGNMI: true, Faults: h.faults.shared, Shuffler: &h.dice, Shell: h.serve})
	return h, err
}

// Close stops the host. Its files remain in its directory.
func (h *Host) Close() error {
	h.Front.Close()
	return nil
}

// Shuffle reseeds the choices that the host may make either way.
func (h *Host) Shuffle(seed uint64) { h.dice.Shuffle(seed) }

// Faults returns the faults, which make the host misbehave.
func (h *Host) Faults() *Faults { return h.faults }

// account is the account that a command runs as.
type account struct {
	name string
	root bool
}

func (h *Host) account() account { return account{h.o.Username, h.o.Username == "root"} }

func (a account) home() string {
	if a.name == "root" {
		return "/root"
	}
	return "/home/" + a.name
}

func (a account) uid() int {
	if a.root {
		return 0
	}
	return 1000
}

// maxScript limits what a script substitutes for a command, in bytes.
const maxScript = 64 << 10

// serve handles one channel of a login: a single command, because a program has no use for a
// terminal.
func (h *Host) serve(c *cli.Channel) {
	ch := c.Raw()
	s := streams{in: ch, out: ch, err: ch.Stderr()}
	if !c.Single {
		fmt.Fprintln(s.err, "This simulated host has no interactive shell.")
		c.Exit(1)
		return
	}
	if h.faults.shared.Hold(c.Ctx) != nil || h.dice.Answer().Pause(c.Ctx) != nil {
		return
	}
	acct := h.account()
	sh := &shell{host: h, ctx: c.Ctx, acct: acct, name: "bash", mask: 0o022, vars: map[string]string{
		"HOME": acct.home(), "USER": acct.name, "SSH_CONNECTION": "127.0.0.1 0 " + connectionEnd(h.SSHAddr()),
	}}
	c.Exit(sh.run(c.Command, s))
}

// Programs returns the digests of the programs that were copied to the host, by path.
func (h *Host) Programs() map[string]string {
	out := map[string]string{}
	for name, f := range h.files.names() {
		out[name] = f.digest
	}
	return out
}

// Damage changes the digest of a login's file without a command; "" removes the file.
func (h *Host) Damage(name, digest string) error {
	h.files.mu.Lock()
	defer h.files.mu.Unlock()
	f, name, err := h.files.at(name)
	switch {
	case err != nil:
		return &fs.PathError{Op: "damage", Path: name, Err: err}
	case digest == "":
		delete(h.files.files, name)
	default:
		f.digest = digest
	}
	return nil
}
