package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/niccli/nicclitest"
	"github.com/roce-fabric/roce-fabric/nic/nicctl/nicctltest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// kinds maps the kinds of NICs to their drivers.
var kinds = map[Kind]struct {
	driver string
	ofed   bool
	cc     string
}{
	"": {driver: nic.DriverMLX5}, MLX5: {driver: nic.DriverMLX5}, MLX5OFED: {driver: nic.DriverMLX5, ofed: true},
	BNXT: {driver: nic.DriverBNXT}, BNXTDebugFS: {driver: nic.DriverBNXT, cc: localtest.CCDebugFS}, BNXTConfigFS: {driver: nic.DriverBNXT, cc: localtest.CCConfigFS},
	ICE: {driver: nic.DriverICE}, Ionic: {driver: nic.DriverIonic},
}

// maxVFs is how many VFs the firmware of each NIC offers; maxSFs is how many SFs mlx5's offers.
const (
	maxVFs = 16
	maxSFs = 16
)

// Each NIC is on its own PCI bus, counted from firstBus.
const (
	firstBus = 0x18
	maxNICs  = 0x80
)

// Kernel returns the machine below the agent, for tests that change something without a request.
func (h *Host) Kernel() *localtest.Host { return h.kernel() }

// release is the simulated kernel release; debugFSRelease is one whose bnxt_re has congestion
// control settings in debugfs.
const (
	release        = "6.12.0"
	debugFSRelease = "6.13.0"
)

// kernel returns the machine below the agent, creating it on first use: a lab has hundreds of
// hosts, most of which are never used.
func (h *Host) kernel() *localtest.Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fake == nil {
		h.build()
	}
	return h.fake
}

func (h *Host) build() {
	k := localtest.InMemory(h.o.Dir)
	k.SetName(h.o.Name, release)
	var chassis sim.Chassis
	chassis.Install(h.o.Name)
	k.Put("class/dmi/id/product_serial", chassis.Serial()+"\n")
	h.cards, h.bnxt = map[string]*mlxconfigtest.Card{}, map[string]string{}
	var cards []*mlxconfigtest.Card
	var devices []string // RDMA devices of AMD's cards
	management := "eth0"
	for i, n := range h.o.NICs {
		kind := kinds[n.Kind]
		pci := cmp.Or(n.PCI, fmt.Sprintf("0000:%02x:00.0", firstBus+i))
		port := localtest.Port{Name: n.Name, RDMA: n.RDMA, PCI: pci, Driver: kind.driver, OFED: kind.ofed, CC: kind.cc, Model: n.Model, Part: n.Part, Serial: n.Serial, MaxVFs: maxVFs, Restricted: n.Restricted, Switchdev: n.Switchdev}
		if kind.driver == nic.DriverMLX5 {
			port.MaxSFs = maxSFs
		}
		if n.Kind == BNXTDebugFS {
			k.SetName(h.o.Name, debugFSRelease)
		}
		if n.Kind == Ionic && n.RDMA != "" {
			port.MAC = nicctltest.MAC(len(devices))
			devices = append(devices, n.RDMA)
		}
		k.Add(port)
		if kind.driver == nic.DriverBNXT && h.o.Tools != NoTools {
			h.bnxt[n.Name] = pci
		}
		if n.Name == management {
			management = "mgmt0"
		}
		if kind.driver == nic.DriverMLX5 && h.o.Tools != NoTools {
			h.cards[n.Name] = h.newCard(pci)
			h.cards[n.Name].OnReset = func(level int) { h.cardReset(n.Name, level) }
			cards = append(cards, h.cards[n.Name])
		}
	}
	for _, b := range h.o.Bonds {
		k.AddBond(b.Name, b.Members...)
	}
	for _, v := range h.o.VLANs {
		k.AddVLAN(v.Name, v.On, v.ID)
	}
	// The machine is managed over a separate port.
	k.Add(localtest.Port{Name: management, PCI: "0000:01:00.0", Driver: "igb"})
	k.Routes(management + "\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0")
	if len(cards) > 0 {
		k.SetMLXCards(cards)
	}
	if len(devices) > 0 {
		h.amd = nicctltest.New(devices...)
		k.SetAMD(h.amd)
	}
	if len(h.bnxt) > 0 {
		h.nvm = nicclitest.New(slices.Sorted(maps.Values(h.bnxt))...)
		for _, pci := range h.bnxt {
			h.nvm.Set(pci, true)
		}
		k.Programs["niccli"] = h.nvm.Run
	}
	k.Programs["udevadm"] = func(context.Context, []string) (runner.Result, error) { return runner.Result{}, nil }
	k.Programs["systemctl"] = h.systemctl
	k.Programs["timeout"] = h.timeout
	h.fake = k
	h.firmware(h.cards)
	h.faults.hand(k, h.cards)
}

// AMD returns AMD's cards; nil if the host has none.
func (h *Host) AMD() *nicctltest.Host {
	h.kernel()
	return h.amd
}

// EditAMD changes the port of an AMD card, and the classification of all such cards, without the
// tool. It returns false for any other NIC.
func (h *Host) EditAMD(name string, f func(*nicctltest.Port, *qos.Trust)) bool {
	at := slices.IndexFunc(h.o.NICs, func(n NIC) bool { return n.Name == name && n.Kind == Ionic })
	amd := h.AMD()
	if amd == nil || at < 0 {
		return false
	}
	amd.Edit(func(cards []*nicctltest.Card, trust *qos.Trust) {
		for _, c := range cards {
			if c.Devices[0].Name == h.o.NICs[at].RDMA {
				f(c.Ports[0], trust)
			}
		}
	})
	return true
}

// SetNVM stores the RDMA option in the NVM of a Broadcom card without the tool, and adds or removes
// the RDMA device as a boot would. It returns false if the NIC is not on such a card.
func (h *Host) SetNVM(name string, on bool) bool {
	k := h.kernel()
	pci, ok := h.bnxt[name]
	if !ok {
		return false
	}
	if was := h.nvm.On(pci); was && !on {
		k.WithoutRoCE(name)
	} else if on && !was {
		k.RenewRDMA(name)
	}
	h.nvm.Set(pci, on)
	return true
}

// NVM returns Broadcom's cards behind niccli; nil if the host has none.
func (h *Host) NVM() *nicclitest.Host {
	h.kernel()
	return h.nvm
}

// withoutRDMA removes the RDMA devices of Broadcom's cards whose NVM turns RDMA off.
func (h *Host) withoutRDMA() {
	for name, pci := range h.bnxt {
		if !h.nvm.On(pci) {
			h.fake.WithoutRoCE(name)
		}
	}
}

// newCard returns a card in its factory state.
func (h *Host) newCard(pci string) *mlxconfigtest.Card {
	c := mlxconfigtest.New("mlxconfig", pci)
	c.Version = h.o.Tools
	c.Type = cmp.Or(h.o.CardType, c.Type)
	for _, p := range []string{"_P1", "_P2"} {
		for _, name := range []string{"LLDP_NB_DCBX", "LLDP_NB_RX_MODE", "LLDP_NB_TX_MODE"} {
			c.Change(name+p, func(p *mlxconfigtest.Param) { p.Default, p.Current, p.Next = 0, 0, 0 })
		}
	}
	return c
}

// HoldFirmware makes the firmware of a NIC's card run with a different value of a setting than the
// one for the next boot, until the faults are cleared. The driver still shows the old value. It
// returns false if the NIC has no such card.
func (h *Host) HoldFirmware(name, setting string, current uint32) bool {
	h.kernel()
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.cards[name]
	if c == nil {
		return false
	}
	was := c.Get(setting).Current
	c.Change(setting, func(p *mlxconfigtest.Param) { p.Current = current })
	h.held = append(h.held, func() { c.Change(setting, func(p *mlxconfigtest.Param) { p.Current = was }) })
	return true
}

// SetResetLevels sets the reset levels that mlxfwreset supports on each card, and its default type.
func (h *Host) SetResetLevels(typ int, levels ...int) {
	h.kernel()
	for _, c := range h.cards {
		c.SetResets(typ, levels...)
	}
}

// firmware makes the drivers of cards show the values that the firmware runs with.
func (h *Host) firmware(cards map[string]*mlxconfigtest.Card) {
	for name, c := range cards {
		h.fake.SetCNP(name, int(c.Get("CNP_DSCP_P1").Current), int(c.Get("CNP_802P_PRIO_P1").Current))
	}
}

// local returns the machine that an agent works on.
func (h *Host) local(root bool) *local.Machine {
	k := h.kernel()
	// systemd creates this directory, and programs that need systemd look for it (sd_booted(3)). If
	// it cannot be created, the host has no systemd.
	_ = os.MkdirAll(filepath.Join(k.Roots.Run, "systemd", "system"), 0o755)
	m := k.Machine()
	if !root {
		m = k.MachineOf()
	}
	if h.o.TimeScale > 0 {
		m.Stay = time.Duration(h.o.TimeScale * float64(stayTime))
	}
	m.Tools, m.DCB = tools{h, root, m.Tools}, unordered{m.DCB, h}
	return m
}

// stayTime is how long an agent checks whether settings stay.
const stayTime = 5 * time.Second

// unordered is DCB with an unordered APP table, like the kernel's (net/dcb/dcbnl.c, dcb_app_list).
type unordered struct {
	local.DCB
	host *Host
}

// Get implements local.DCB.
func (u unordered) Get(ctx context.Context, ifname string) (*dcb.State, error) {
	s, err := u.DCB.Get(ctx, ifname)
	if err == nil {
		sim.Reorder(u.host.dice.Answer(), s.Apps)
	}
	return s, err
}

// tools runs the programs of the host with the privileges of the login.
type tools struct {
	host *Host
	root bool
	runner.Runner
}

// queryTime is how long a tool takes to read a card.
const queryTime = 10 * time.Second

// Run implements runner.Runner.
func (t tools) Run(ctx context.Context, name string, args ...string) (runner.Result, error) {
	f := t.host.faults
	switch name {
	case "mlxconfig", "mstconfig", "mlxfwreset", "mstfwreset":
		if f.on(&f.noTools) {
			return runner.Result{}, fmt.Errorf("%s: %w", name, runner.ErrNotFound)
		}
		if slices.Equal(args, []string{"-v"}) {
			break
		}
		if err := f.shared.Pause(ctx, time.Duration(t.host.o.TimeScale*float64(queryTime))); err != nil {
			return runner.Result{}, fmt.Errorf("%s: %w", name, err)
		}
		if !t.root {
			return runner.Result{Stdout: []byte("-E- Failed to open the device\n"), Code: 3}, nil
		}
	case "niccli":
		if !t.root {
			return runner.Result{Stdout: []byte("ERROR: Permission denied\n"), Code: 1}, nil
		}
	case "modprobe", "systemctl", "udevadm", "setpci", "rdma", "devlink":
		if !t.root && !slices.Contains(args, "is-failed") && (name != "devlink" || !slices.Contains(args, "show")) && (name != "rdma" || slices.Contains(args, "-r")) { // commands that any user may run
			return runner.Result{Stderr: []byte(name + ": Operation not permitted\n"), Code: 1}, nil
		}
	}
	return t.Runner.Run(ctx, name, args...)
}

// connectionEnd returns the server's half of SSH_CONNECTION.
func connectionEnd(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	return host + " " + port
}
