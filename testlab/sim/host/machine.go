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

// kinds are the drivers of the kinds of NICs.
var kinds = map[Kind]struct {
	driver string
	ofed   bool
	cc     string
}{
	"": {driver: nic.DriverMLX5}, MLX5: {driver: nic.DriverMLX5}, MLX5OFED: {driver: nic.DriverMLX5, ofed: true},
	BNXT: {driver: nic.DriverBNXT}, BNXTDebugFS: {driver: nic.DriverBNXT, cc: localtest.CCDebugFS}, BNXTConfigFS: {driver: nic.DriverBNXT, cc: localtest.CCConfigFS},
	ICE: {driver: nic.DriverICE}, Ionic: {driver: nic.DriverIonic},
}

// maxVFs is how many VFs the firmware of each NIC offers, maxSFs how many SFs that of mlx5.
const (
	maxVFs = 16
	maxSFs = 16
)

// The NICs are on PCI buses of their own, from this one.
const (
	firstBus = 0x18
	maxNICs  = 0x80
)

// Kernel is the machine below the agent, for tests that change something behind
// everybody's back.
func (h *Host) Kernel() *localtest.Host { return h.kernel() }

// release is that of the kernel, debugFSRelease that of one whose bnxt_re has congestion
// control in debugfs.
const (
	release        = "6.12.0"
	debugFSRelease = "6.13.0"
)

// kernel returns the machine below the agent, made when it is first needed: a
// lab has hundreds of hosts, and most are never asked.
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
	var devices []string // of AMD's cards
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
	// The machine is managed over a port of its own.
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
	h.fake = k
	h.firmware(h.cards)
	h.faults.hand(k, h.cards)
}

// AMD returns AMD's cards, nil where the host has none.
func (h *Host) AMD() *nicctltest.Host {
	h.kernel()
	return h.amd
}

// EditAMD changes the port of an AMD card behind everybody's back, and the classification of
// all such cards; it reports false for another NIC.
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

// SetNVM stores the option for RDMA in the NVM of a Broadcom card behind everybody's back,
// with the RDMA device as a boot finds it; false where the NIC has no such card.
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

// NVM returns Broadcom's cards behind niccli, nil where the host has none.
func (h *Host) NVM() *nicclitest.Host {
	h.kernel()
	return h.nvm
}

// withoutRDMA takes the RDMA devices of Broadcom's cards away that have none by their NVM.
func (h *Host) withoutRDMA() {
	for name, pci := range h.bnxt {
		if !h.nvm.On(pci) {
			h.fake.WithoutRoCE(name)
		}
	}
}

// newCard is a card as it leaves the factory.
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

// HoldFirmware has the firmware of a NIC's card run with another value of a setting than that
// of its next boot, until the faults are cleared; false where the NIC has no such card. The
// driver shows what it did.
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

// SetResetLevels has mlxfwreset support these levels on each card, with a type by default.
func (h *Host) SetResetLevels(typ int, levels ...int) {
	h.kernel()
	for _, c := range h.cards {
		c.SetResets(typ, levels...)
	}
}

// firmware has the drivers of cards show what the firmware runs.
func (h *Host) firmware(cards map[string]*mlxconfigtest.Card) {
	for name, c := range cards {
		h.fake.SetCNP(name, int(c.Get("CNP_DSCP_P1").Current), int(c.Get("CNP_802P_PRIO_P1").Current))
	}
}

// local returns the machine as an agent has it.
func (h *Host) local(root bool) *local.Machine {
	k := h.kernel()
	// systemd makes it, and who asks for systemd looks for it (sd_booted(3)): where
	// it cannot be made, the host has none.
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

// stayTime is how long an agent looks whether settings stay.
const stayTime = 5 * time.Second

// unordered is DCB whose APP table has no order, as the kernel's has none
// (net/dcb/dcbnl.c, dcb_app_list).
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

// tools run the programs of the host as the login may.
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
		if !t.root && !slices.Contains(args, "is-failed") && (name != "devlink" || !slices.Contains(args, "show")) && (name != "rdma" || slices.Contains(args, "-r")) { // which anybody may ask
			return runner.Result{Stderr: []byte(name + ": Operation not permitted\n"), Code: 1}, nil
		}
	}
	return t.Runner.Run(ctx, name, args...)
}

// connectionEnd is the server's half of SSH_CONNECTION.
func connectionEnd(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	return host + " " + port
}
