// Package host simulates a Linux server with RDMA NICs: an SSH server on
// loopback that takes the program by its digest, as nic/remote brings it, and
// answers for it. Behind it are nic/agent and nic/local, as on a real machine,
// over the kernel, drivers and firmware of nic/local/localtest and
// nic/mlxconfig/mlxconfigtest. State outlives connections, and [Host.Reboot]
// loses what a reboot loses.
//
// The copied program is never run: this process answers in its place, wherever
// it runs on. Besides the agent, the host knows the few programs that a login
// needs to put a file there. Do not add ways to configure the machine that a
// real one does not have; [Faults] make it misbehave.
package host

import (
	"cmp"
	"debug/elf"
	"fmt"
	"io/fs"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/niccli/nicclitest"
	"github.com/roce-fabric/roce-fabric/nic/nicctl/nicctltest"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Kind is what a NIC is.
type Kind string

// The kinds, by the driver: NVIDIA ConnectX with the kernel's driver or with NVIDIA's own;
// Broadcom with the kernel's driver, which shows no congestion control before 6.13 and has it
// in debugfs since, or with Broadcom's own, which has it in configfs; Intel E810; AMD Pensando
// behind nicctl.
const (
	MLX5         Kind = "mlx5" // "" as well
	MLX5OFED     Kind = "mlx5-ofed"
	BNXT         Kind = "bnxt"
	BNXTDebugFS  Kind = "bnxt-debugfs"
	BNXTConfigFS Kind = "bnxt-configfs"
	ICE          Kind = "ice"
	Ionic        Kind = "ionic"
)

// Kinds are the names of all of them.
func Kinds() []string {
	return []string{string(MLX5), string(MLX5OFED), string(BNXT), string(BNXTDebugFS), string(BNXTConfigFS), string(ICE), string(Ionic)}
}

// NIC is one port, on a card of its own.
type NIC struct {
	Name string // "ens1f0np0"
	RDMA string // "mlx5_0"; "" for no RDMA device
	Kind Kind
	// PCI is its address; "" is a bus of its own, in the order of the NICs. Model is the PCI
	// number of the device, Part and Serial those of its card; "" is nothing in particular.
	PCI, Model, Part, Serial string
	// Restricted is the host's side of a BlueField in DPU mode.
	Restricted bool
	// Switchdev has the card in switchdev mode after each boot, as a rule of the host's
	// operator does, or the system of a BlueField.
	Switchdev bool
}

// Bond is a bond over NICs, VLAN a VLAN over one device.
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

// Sudo is what sudoers(5) has for the login.
type Sudo string

// The rules.
const (
	SudoFree     Sudo = "" // NOPASSWD
	SudoPassword Sudo = "password"
	SudoNobody   Sudo = "nobody" // the login is not in sudoers
)

// Options say what a host is.
type Options struct {
	Name string
	NICs []NIC
	// Bonds come up before VLANs, with an MTU of 1500 and without maps.
	Bonds []Bond
	VLANs []VLAN
	// Dir is a folder of the host's own for what it keeps on disk; it need not
	// be there and is not made before the agent is first asked.
	Dir string
	// Username and Password are those of the login, and of sudo. "root" needs
	// no sudo.
	Username, Password string
	Sudo               Sudo
	HostKey            ssh.Signer // nil: a new one
	Listen             sim.ListenFunc
	// Processor is the name that uname has for it; "" is "x86_64".
	Processor string
	// Tools is the generation of the firmware tools; -1 for none.
	Tools mlxconfigtest.Version
	// CardType is what mlxconfig calls the cards, "" for "ConnectX7".
	CardType string
	// TimeScale stretches the times that the real tools take: 0 waits for
	// nothing, 1 is real time.
	TimeScale float64
	// Shuffle is the seed of what the host is free to do in one way or another,
	// see [sim.Shuffler]; 0 is nothing.
	Shuffle uint64
}

// NoTools are [Options.Tools] of a host without firmware tools.
const NoTools mlxconfigtest.Version = -1

// processors are the names that uname has (Linux, UTS_MACHINE of
// arch/*/Makefile).
var processors = map[string]elf.Machine{"x86_64": elf.EM_X86_64, "aarch64": elf.EM_AARCH64}

// Host is a simulated server. New makes one, Start and Close start and stop it.
type Host struct {
	*cli.Front
	o       Options
	machine elf.Machine
	files   *homeFiles
	faults  *Faults
	dice    sim.Shuffler

	mu   sync.Mutex
	fake *localtest.Host // nil before it is first asked
	// failed: the boot unit failed when it was last started.
	failed bool
	cards  map[string]*mlxconfigtest.Card
	held   []func()         // undo what HoldFirmware has done
	amd    *nicctltest.Host // AMD's cards; nil for none
	// Broadcom's cards behind niccli, nil for none, and the PCI addresses of their NICs.
	nvm  *nicclitest.Host
	bnxt map[string]string
}

// New prepares a host. It fails where the options make no sense or a key cannot
// be made.
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

// Close stops the host. Its files stay in its folder.
func (h *Host) Close() error {
	h.Front.Close()
	return nil
}

// Shuffle has the host answer as another one of its kind from now on.
func (h *Host) Shuffle(seed uint64) { h.dice.Shuffle(seed) }

// Faults make the host misbehave.
func (h *Host) Faults() *Faults { return h.faults }

// account is who works on the host.
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

// maxScript bounds what a script prints to itself, in bytes.
const maxScript = 64 << 10

// serve is one channel of a login: a single command, since a program has no use
// for a terminal.
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

// Programs are the digests of the programs that were copied to the host, by the
// path.
func (h *Host) Programs() map[string]string {
	out := map[string]string{}
	for name, f := range h.files.names() {
		out[name] = f.digest
	}
	return out
}

// Damage changes a file of the login behind everybody's back; "" takes it away.
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
