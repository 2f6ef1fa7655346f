// Package localtest simulates a Linux host for package local: a tree of sysfs, configfs, debugfs
// and proc below a directory, with the kernel's behaviour where plain files would behave
// differently (drivers/infiniband/core/cma_configfs.c, fs/debugfs/file.c, en_ecn.c of MLNX_OFED),
// and DCB and ethtool with the rules of mlx5, bnxt and ice.
//
// Only tests and simulators use it.
package localtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

// Port describes a port for [Host.Add].
type Port struct {
	Name string
	// RDMA is the RDMA device; "" if there is none, or if Bond is set and the port shares the
	// device of another member.
	RDMA   string
	PCI    string // "0000:3b:00.0"
	Driver string // "mlx5_core", "bnxt_en", "ice" or "ionic"
	// CC says where bnxt_en keeps its congestion control settings; "" if it has none.
	CC  string
	MAC string
	VF  bool
	// FixedSpeed makes ice and bnxt negotiate neither the speed nor pause.
	FixedSpeed bool
	// OFED adds the files of NVIDIA's own driver.
	OFED bool
	Bond string
	// Model is the PCI ID of the device; "" stands for 1021. Part and Serial are in the card's
	// vital product data, which exist if one of them is set.
	Model, Part, Serial string
	// MaxVFs is how many virtual functions the firmware offers; 0 means no SR-IOV.
	MaxVFs int
	// MaxSFs is how many scalable functions the firmware offers. Switchdev puts the card into
	// switchdev mode at each boot.
	MaxSFs    int
	Switchdev bool
	// Restricted makes the port the host's side of a BlueField in DPU mode.
	Restricted bool
}

// Faults selects what goes wrong. The zero value is a machine without faults.
type Faults struct {
	// NotRoot rejects all writes, and reads that require root.
	NotRoot bool
	// Lockdown simulates Secure Boot lockdown.
	Lockdown bool
	// Ignore makes drivers report success and change nothing.
	Ignore bool
	// LinkDead keeps a link down that a change took down; LinkSlow keeps it down for that many
	// reads; LinkLate passes before it goes down.
	LinkDead bool
	LinkSlow int
	LinkLate time.Duration
	// FirmwareDCBX makes firmware refuse to hand over DCBX.
	FirmwareDCBX bool
	// NoDCB leaves all ports without DCB operations, as in the server of a BlueField in DPU mode.
	NoDCB bool
	// NoDCBNL simulates a kernel built without DCB (CONFIG_DCB).
	NoDCBNL bool
}

// Host is the simulated machine. Its methods may be called from several goroutines.
type Host struct {
	Roots local.Roots
	// Programs are the programs that the host can run. A test may set or delete entries before it
	// uses the machine.
	Programs map[string]runnertest.Program

	mu     sync.Mutex
	tree   tree
	faults Faults
	ports  map[string]*port
	stack  map[string]*stacked          // bonds, VLANs, bridges
	cm     map[string]map[string]string // RDMA device -> file -> value
	stale  map[string]bool              // stale configfs directories of recreated devices
	cc     map[string]map[string]int    // RDMA device -> congestion control settings of bnxt_re
	// ccWaits holds the settings that take effect at the next apply.
	ccWaits map[string]int
	writes  []string
	boots   int
	created int // number of network devices created so far
	// auxiliary is the last number used on the auxiliary bus.
	auxiliary int
	onRead    map[string]func()
	pairs     []Pair
	// links holds the interfaces in other network namespaces, by the file of the namespace.
	links map[string][]nic.Elsewhere
}

// New creates a host without ports below a directory.
func New(dir string) *Host {
	for _, d := range []string{"run", "etc"} {
		must(os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	return newHost(dir, disk{})
}

// InMemory creates a host without ports whose kernel files are in memory, visible only to its
// Machine. Its directories Run and Etc are real ones below dir, as for [New], but are created only
// when something is put there.
func InMemory(dir string) *Host { return newHost(dir, newMemory()) }

func newHost(dir string, t tree) *Host {
	h := &Host{
		tree: t,
		Roots: local.Roots{
			Sys: filepath.Join(dir, "sys"), ConfigFS: filepath.Join(dir, "config"), DebugFS: filepath.Join(dir, "debug"),
			Proc: filepath.Join(dir, "proc"), Run: filepath.Join(dir, "run"), Etc: filepath.Join(dir, "etc"),
		},
		Programs: map[string]runnertest.Program{}, ports: map[string]*port{}, stack: map[string]*stacked{}, cm: map[string]map[string]string{},
		stale: map[string]bool{}, onRead: map[string]func(){},
		links: map[string][]nic.Elsewhere{}, cc: map[string]map[string]int{}, ccWaits: map[string]int{},
	}
	for _, d := range []string{h.sys("class", "net"), h.sys("class", "infiniband"), h.sys("kernel", "security"), h.Roots.DebugFS} {
		t.mkdirs(d)
	}
	h.put(h.sys("kernel", "security", "lockdown"), "[none] integrity confidentiality\n")
	h.put(h.proc("sys", "kernel", "hostname"), "gpu1\n")
	h.put(h.proc("sys", "kernel", "osrelease"), "6.12.117\n")
	h.put(h.proc("1", "comm"), "systemd\n")
	for _, id := range []string{"self", "1"} {
		h.link("net:[4026531840]", h.proc(id, "ns", "net"))
	}
	h.newBoot()
	h.Routes()
	t.mkdirs(filepath.Join(h.Roots.ConfigFS, "rdma_cm"))
	h.Programs["ibv_devinfo"] = h.devinfo
	h.Programs["setpci"] = h.setpci
	h.Programs["rdma"] = h.rdmaTool
	h.Programs["ip"] = h.ipTool
	h.Programs["devlink"] = h.devlink
	h.Programs["ethtool"] = h.ethtoolFEC
	return h
}

func must(err error) {
	if err != nil {
		panic("localtest: " + err.Error())
	}
}

func (h *Host) sys(elem ...string) string {
	return filepath.Join(append([]string{h.Roots.Sys}, elem...)...)
}

func (h *Host) proc(elem ...string) string {
	return filepath.Join(append([]string{h.Roots.Proc}, elem...)...)
}

func (h *Host) put(name, content string) { h.tree.put(name, content) }

func (h *Host) link(target, name string) { h.tree.link(target, name) }

// number reads a file that holds a number.
func (h *Host) number(name string) int {
	b, err := h.tree.ReadFile(name)
	must(err)
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	must(err)
	return n
}

// Machine returns a machine that works on the host. It waits only briefly for links, so that tests
// are fast.
func (h *Host) Machine() *local.Machine { return h.machine(false) }

// MachineOf is like Machine for a user who is not root.
func (h *Host) MachineOf() *local.Machine { return h.machine(true) }

func (h *Host) machine(user bool) *local.Machine {
	v := view{h, user}
	return &local.Machine{
		Roots: h.Roots, FS: files{v}, DCB: dcbnl{v}, Ethtool: ethtool{v}, VLANs: vlans{v}, VFs: vfs{v}, Namespaces: namespaces{v},
		Tools: &runnertest.Fake{Programs: h.Programs}, Settle: time.Millisecond, CarrierWait: 2 * time.Second, Stay: time.Millisecond,
	}
}

// SetFaults replaces the faults.
func (h *Host) SetFaults(f Faults) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = f
	mode := "[none] integrity confidentiality\n"
	if f.Lockdown {
		mode = "none [integrity] confidentiality\n"
	}
	h.put(h.sys("kernel", "security", "lockdown"), mode)
}

// Writes returns the writes so far, and clears the list.
func (h *Host) Writes() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.writes
	h.writes = nil
	return w
}

// OnRead makes f be called once, before the first read of a file whose name ends with suffix. f may
// call OnRead again.
func (h *Host) OnRead(suffix string, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.onRead[suffix] = f
}

// Put writes a file, given by its path below the root of sysfs.
func (h *Host) Put(sysPath, content string) { h.put(h.sys(sysPath), content) }

// PutIn is like Put, but fails if the file's directory does not exist.
func (h *Host) PutIn(sysPath, content string) error {
	if _, err := h.tree.ReadDir(filepath.Dir(h.sys(sysPath))); err != nil {
		return err
	}
	h.Put(sysPath, content)
	return nil
}

// SetName sets the machine's hostname and kernel release.
func (h *Host) SetName(name, kernel string) {
	h.put(h.proc("sys", "kernel", "hostname"), name+"\n")
	h.put(h.proc("sys", "kernel", "osrelease"), kernel+"\n")
}

// Process adds a process with the given command line.
func (h *Host) Process(id int, comm string, args ...string) {
	h.put(h.proc(strconv.Itoa(id), "comm"), comm+"\n")
	h.put(h.proc(strconv.Itoa(id), "cmdline"), strings.Join(args, "\x00")+"\x00")
}

// Routes replaces the routes by the given lines of /proc/net/route.
func (h *Host) Routes(lines ...string) {
	h.put(h.proc("net", "route"), "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"+strings.Join(append(lines, ""), "\n"))
}

// UnloadCM removes the rdma_cm module, and makes modprobe load it again.
func (h *Host) UnloadCM() {
	dir := filepath.Join(h.Roots.ConfigFS, "rdma_cm")
	h.tree.removeAll(dir)
	h.Programs["modprobe"] = func(context.Context, []string) (runner.Result, error) {
		h.tree.mkdirs(dir)
		return runner.Result{}, nil
	}
}

// SetCard makes mlxconfig work on a card.
func (h *Host) SetCard(c *mlxconfigtest.Card) { h.SetMLXCards([]*mlxconfigtest.Card{c}) }

// SetMLXCards makes one tool work on several cards, each under its Device.
func (h *Host) SetMLXCards(cards []*mlxconfigtest.Card) {
	tool := cards[0].Tool
	for _, name := range []string{tool, strings.Replace(tool, "config", "fwreset", 1)} {
		h.Programs[name] = func(ctx context.Context, args []string) (runner.Result, error) {
			// If no card has the device's name, the first card rejects it.
			c := cards[0]
			if i := slices.Index(args, "-d"); i >= 0 && i+1 < len(args) {
				if j := slices.IndexFunc(cards, func(c *mlxconfigtest.Card) bool { return c.Device == args[i+1] }); j >= 0 {
					c = cards[j]
				}
			}
			return c.Run(ctx, name, args...)
		}
	}
}

// Add adds a port to the host, in the state after its driver is loaded.
func (h *Host) Add(p Port) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(p)
}

func (h *Host) add(p Port) {
	h.ports[p.Name] = newPort(p)
	dev := h.sys("devices", "pci0000:00", p.PCI)
	vendor := map[string]string{nic.DriverMLX5: "0x15b3", nic.DriverBNXT: "0x14e4", nic.DriverICE: "0x8086", nic.DriverIonic: "0x1dd8"}[p.Driver]
	h.put(filepath.Join(dev, "vendor"), vendor+"\n")
	h.put(filepath.Join(dev, "device"), "0x"+cmp.Or(p.Model, "1021")+"\n")
	if p.Part != "" || p.Serial != "" {
		h.put(filepath.Join(dev, "vpd"), vpd(p.Part, p.Serial))
	}
	h.link("../../../bus/pci/drivers/"+p.Driver, filepath.Join(dev, "driver"))
	speed, width := "32.0 GT/s PCIe", "16" // as Linux 6.12 shows it
	if p.VF {
		speed, width = "Unknown", "0"
	}
	for _, of := range []string{"current", "max"} {
		h.put(filepath.Join(dev, of+"_link_speed"), speed+"\n")
		h.put(filepath.Join(dev, of+"_link_width"), width+"\n")
	}
	h.put(filepath.Join(dev, "config"), configSpace())
	h.put(filepath.Join(dev, "numa_node"), "0\n")
	if p.VF {
		h.link("../0000:00:00.0", filepath.Join(dev, "physfn"))
	}
	if p.MaxVFs > 0 {
		h.put(filepath.Join(dev, "sriov_totalvfs"), strconv.Itoa(p.MaxVFs)+"\n")
		h.put(filepath.Join(dev, "sriov_numvfs"), "0\n")
	}
	net := filepath.Join(dev, "net", p.Name)
	h.put(filepath.Join(net, "mtu"), "1500\n")
	h.put(filepath.Join(net, "carrier"), "1\n")
	h.put(filepath.Join(net, "carrier_changes"), "2\n")
	h.put(filepath.Join(net, "dev_port"), "0\n")
	h.putIndex(net)
	h.put(filepath.Join(net, "address"), p.MAC+"\n")
	h.link("../../../"+p.PCI, filepath.Join(net, "device"))
	h.link("../../devices/pci0000:00/"+p.PCI+"/net/"+p.Name, h.sys("class", "net", p.Name))
	if p.Switchdev {
		h.switchdev(p.Name)
	}
	if p.Bond != "" {
		h.bond(p.Bond, p.Name)
	}
	if p.RDMA != "" {
		h.addRDMA(p)
	}
	h.addCC(p)
	switch {
	case p.OFED:
		for prio := range 8 {
			h.put(filepath.Join(net, "ecn", "roce_np", "enable", strconv.Itoa(prio)), "0\n")
			h.put(filepath.Join(net, "ecn", "roce_rp", "enable", strconv.Itoa(prio)), "0\n")
		}
		h.put(filepath.Join(net, "ecn", "roce_np", "cnp_dscp"), "0\n")
		h.put(filepath.Join(net, "ecn", "roce_np", "cnp_802p_prio"), "0\n")
		h.put(filepath.Join(net, "ecn", "roce_rp", "rpg_ai_rate"), "5\n")
		// The driver's default is "default", which is longer than any switch's watchdog waits: on
		// this host the operator has changed it.
		h.put(filepath.Join(net, "settings", "pfc_stall_prevention"), nic.StallAuto+"\n")
	case p.Driver == nic.DriverMLX5 && !p.VF && !p.Restricted:
		cc := filepath.Join(h.Roots.DebugFS, "mlx5", p.PCI, "cc_params")
		for _, name := range ccParams {
			h.put(filepath.Join(cc, name), fmt.Sprintln(ccStart[name]))
		}
	}
}

// ccParams are the congestion control parameters of mlx5 (drivers/infiniband/hw/mlx5/cong.c).
// ccStart holds those that are not 0 initially.
var (
	ccParams = []string{
		"rp_clamp_tgt_rate", "rp_clamp_tgt_rate_ati", "rp_time_reset", "rp_byte_reset", "rp_threshold", "rp_ai_rate", "rp_max_rate",
		"rp_hai_rate", "rp_min_dec_fac", "rp_min_rate", "rp_rate_to_set_on_first_cnp", "rp_dce_tcp_g", "rp_dce_tcp_rtt",
		"rp_rate_reduce_monitor_period", "rp_initial_alpha_value", "rp_gd", "np_min_time_between_cnps", "np_cnp_dscp", "np_cnp_prio_mode", "np_cnp_prio",
	}
	ccStart = map[string]int{"rp_ai_rate": 5, "rp_time_reset": 300, "rp_byte_reset": 32767, "rp_threshold": 1, "rp_hai_rate": 50, "rp_min_dec_fac": 50, "rp_min_rate": 1, "rp_dce_tcp_g": 1019, "rp_dce_tcp_rtt": 1, "rp_rate_reduce_monitor_period": 4, "rp_initial_alpha_value": 1023, "rp_gd": 11}
)

// putIndex gives a new network device the next interface index. The kernel gives each device a
// different one (net/core/dev.c).
func (h *Host) putIndex(dir string) (index int) {
	h.created++
	index = 1 + h.created // 1 is lo
	h.put(filepath.Join(dir, "ifindex"), strconv.Itoa(index)+"\n")
	return index
}

// addRDMA creates the RDMA device of a port, with the kernel's defaults.
func (h *Host) addRDMA(p Port) {
	dir := h.sys("devices", "pci0000:00", p.PCI, "infiniband", p.RDMA)
	h.put(filepath.Join(dir, "fw_ver"), "28.40.1000\n")
	h.put(filepath.Join(dir, "node_type"), "1: CA\n")
	h.put(filepath.Join(dir, "ports", "1", "link_layer"), "Ethernet\n")
	h.put(filepath.Join(dir, "ports", "1", "state"), "4: ACTIVE\n")
	h.put(filepath.Join(dir, "ports", "1", "gid_attrs", "ndevs", "0"), p.Name+"\n")
	for i, g := range []struct{ gid, kind string }{
		{"fe80:0000:0000:0000:0a94:efff:fe00:0001", "IB/RoCE v1"}, {"fe80:0000:0000:0000:0a94:efff:fe00:0001", nic.ModeRoCEv2},
		{"0000:0000:0000:0000:0000:ffff:0a00:0001", "IB/RoCE v1"}, {"0000:0000:0000:0000:0000:ffff:0a00:0001", nic.ModeRoCEv2},
		{"0000:0000:0000:0000:0000:0000:0000:0000", ""},
	} {
		h.put(filepath.Join(dir, "ports", "1", "gids", strconv.Itoa(i)), g.gid+"\n")
		if g.kind != "" { // the kernel shows no type for an empty slot
			h.put(filepath.Join(dir, "ports", "1", "gid_attrs", "types", strconv.Itoa(i)), g.kind+"\n")
		}
	}
	h.addCounters(p)
	if p.Driver == nic.DriverBNXT {
		h.put(filepath.Join(h.rdmaAuxiliary(p), "uevent"), "")
	}
	if p.OFED {
		h.put(filepath.Join(dir, "tc", "1", "traffic_class"), "")
	}
	h.link("../../../"+p.PCI, filepath.Join(dir, "device"))
	h.link("../../devices/pci0000:00/"+p.PCI+"/infiniband/"+p.RDMA, h.sys("class", "infiniband", p.RDMA))
	h.cm[p.RDMA] = map[string]string{"default_roce_tos": "0", "default_roce_mode": "IB/RoCE v1"}
}

// DropRDMA removes the RDMA device of a port, as reloading its driver does. Its configfs directory
// remains and is stale. DropRDMA returns an error if the port has no RDMA device.
func (h *Host) DropRDMA(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropRDMA(name)
}

func (h *Host) dropRDMA(name string) error {
	p := h.ports[name].Port
	if err := h.tree.Remove(h.sys("class", "infiniband", p.RDMA)); err != nil {
		return fmt.Errorf("%s has no RDMA device: %w", name, err)
	}
	h.tree.removeAll(h.sys("devices", "pci0000:00", p.PCI, "infiniband"))
	delete(h.cm, p.RDMA)
	if h.has(filepath.Join(h.Roots.ConfigFS, "rdma_cm", p.RDMA)) {
		h.stale[p.RDMA] = true
	}
	return nil
}

// WithoutRoCE makes the port's driver find a Broadcom card without RDMA support.
func (h *Host) WithoutRoCE(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.ports[name].Port
	must(h.dropRDMA(name))
	h.tree.removeAll(h.rdmaAuxiliary(p))
}

// rdmaAuxiliary returns the path of the auxiliary device that Broadcom's driver creates for the
// module that creates RDMA devices.
func (h *Host) rdmaAuxiliary(p Port) string {
	return h.sys("devices", "pci0000:00", p.PCI, "bnxt_en.rdma.0")
}

// RenewRDMA recreates the RDMA device of a port.
func (h *Host) RenewRDMA(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addRDMA(h.ports[name].Port)
}

// Remove removes a port from the host, and returns it for [Host.Add].
func (h *Host) Remove(name string) Port {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.ports[name].Port
	h.without(name)
	return p
}

// Flaps returns how often the link went up or down.
func (h *Host) Flaps(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.number(h.sys("class", "net", name, "carrier_changes"))
}

// Unplug unplugs the cable of a port, or plugs it in again if out is false.
func (h *Host) Unplug(name string, out bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	carrier := "1\n"
	if out {
		carrier = "0\n"
	}
	h.put(h.sys("class", "net", name, "carrier"), carrier)
}

// bounce takes a link down, and up again unless a fault keeps it down.
func (h *Host) bounce(name string) {
	if h.faults.LinkLate == 0 {
		h.bounceNow(name)
		return
	}
	time.AfterFunc(h.faults.LinkLate, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.bounceNow(name)
	})
}

func (h *Host) bounceNow(name string) {
	file := h.sys("class", "net", name, "carrier_changes")
	n := h.number(file)
	carrier := h.sys("class", "net", name, "carrier")
	h.put(carrier, "0\n")
	h.put(file, fmt.Sprintln(n+1))
	up := func() {
		h.put(carrier, "1\n")
		h.put(file, fmt.Sprintln(n+2))
	}
	switch {
	case h.faults.LinkDead:
	case h.faults.LinkSlow > 0:
		h.ports[name].looks, h.ports[name].up = h.faults.LinkSlow, up
	default:
		up()
	}
}

// view is a Host as one user sees it.
type view struct {
	*Host
	user bool // not root
}

func (v view) notRoot() bool { return v.user || v.faults.NotRoot }

// wrote records a write.
func (h *Host) wrote(format string, args ...any) {
	h.writes = append(h.writes, fmt.Sprintf(format, args...))
}

// devinfo simulates ibv_devinfo of rdma-core: the RDMA payload follows from the MTU.
func (h *Host) devinfo(_ context.Context, args []string) (runner.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(args, "-d")
	if i < 0 || i+1 == len(args) || h.cm[args[i+1]] == nil {
		return runner.Result{Stderr: []byte("No IB devices found\n"), Code: 255}, nil
	}
	for _, p := range h.ports {
		if p.RDMA != args[i+1] {
			continue
		}
		active := "1024 (3)"
		if h.roceMTU(p) >= 4200 {
			active = "4096 (5)"
		}
		return runner.Result{Stdout: []byte("hca_id:\t" + p.RDMA + "\n\t\tport:\t1\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t" + active + "\n")}, nil
	}
	return runner.Result{Code: 1}, nil
}

// MoveAway moves an interface to another network namespace. It returns an error if the host no
// longer has the interface.
func (h *Host) MoveAway(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.tree.Remove(h.sys("class", "net", name)); err != nil {
		return fmt.Errorf("the host has no interface %s: %w", name, err)
	}
	h.tree.removeAll(h.sys("devices", "pci0000:00", h.ports[name].PCI, "net"))
	return nil
}
