package localtest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Reboot reboots the machine: drivers and the RDMA stack come up with their defaults. Settings kept
// by a card's firmware stay.
func (h *Host) Reboot() {
	h.mu.Lock()
	defer h.mu.Unlock()
	cm := filepath.Join(h.Roots.ConfigFS, "rdma_cm")
	loaded := h.has(cm)
	for _, dir := range []string{h.sys("devices"), h.sys("class", "net"), h.sys("class", "infiniband"), h.Roots.DebugFS, cm, filepath.Join(h.Roots.ConfigFS, "bnxt_re")} {
		h.tree.removeAll(dir)
	}
	for _, dir := range []string{h.sys("class", "net"), h.sys("class", "infiniband"), h.Roots.DebugFS} {
		h.tree.mkdirs(dir)
	}
	if loaded {
		h.tree.mkdirs(cm)
	}
	h.newBoot()
	ports, stack := h.ports, h.stack
	h.stack = map[string]*stacked{}
	h.ports, h.cm, h.stale = map[string]*port{}, map[string]map[string]string{}, map[string]bool{}
	h.cc, h.ccWaits, h.pairs = map[string]map[string]int{}, map[string]int{}, nil
	for _, name := range natural.Keys(ports) {
		h.add(ports[name].Port)
	}
	h.restack(stack)
}

// newBoot changes the boot ID that the kernel shows.
func (h *Host) newBoot() {
	h.boots++
	h.put(h.proc("sys", "kernel", "random", "boot_id"), fmt.Sprintf("5b1d0c3e-6f0a-4c5e-9a51-%012d\n", h.boots))
}

// Reload reloads the driver of a port, as a reset of its card does: the port and its RDMA device
// come up with their defaults, and the machine's network configuration puts the port back below its
// former bonds, bridges and VLANs. That configuration sets neither MTUs nor maps.
func (h *Host) Reload(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.ports[name].Port
	gone, left := h.without(name)
	h.add(p)
	for _, over := range left {
		switch {
		case h.stack[over].kind == nic.UpperBridge:
			h.bridge(over, []string{name})
		case p.Bond != over:
			h.bond(over, name)
		}
	}
	h.restack(gone)
}

// without removes a port from the host. gone are the VLANs over the port, which are removed with it
// (net/8021q/vlan.c, vlan_device_event), and the devices over those VLANs. left are the bonds and
// bridges that the port leaves.
func (h *Host) without(name string) (gone map[string]*stacked, left []string) {
	p := h.ports[name].Port
	gone = map[string]*stacked{}
	var leave func(name string)
	leave = func(below string) {
		for _, over := range natural.Keys(h.stack) {
			s := h.stack[over]
			switch {
			case s == nil || !slices.Contains(s.on, below):
			case s.kind == nic.UpperVLAN:
				gone[over] = s.copy()
				leave(over)
				must(h.tree.Remove(h.sys("class", "net", over)))
				h.tree.removeAll(h.sys("devices", "virtual", "net", over))
				delete(h.stack, over)
			default:
				left = append(left, over)
				s.on = slices.DeleteFunc(s.on, func(on string) bool { return on == below })
				must(h.tree.Remove(h.sys("class", "net", over, "lower_"+below)))
			}
		}
	}
	leave(name)
	if p.RDMA != "" {
		h.dropRDMA(name)
	}
	must(h.tree.Remove(h.sys("class", "net", name)))
	h.tree.removeAll(h.sys("devices", "pci0000:00", p.PCI))
	h.tree.removeAll(filepath.Join(h.Roots.DebugFS, "mlx5", p.PCI))
	delete(h.ports, name)
	return gone, left
}

// SetCNP sets how the mlx5 firmware marks congestion notifications, in every place where the driver
// shows it; it reports whether there is such a place.
func (h *Host) SetCNP(name string, dscp, priority int) (shown bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ofed := h.sys("class", "net", name, "ecn", "roce_np")
	kernel := filepath.Join(h.Roots.DebugFS, "mlx5", h.ports[name].PCI, "cc_params")
	for file, v := range map[string]int{
		filepath.Join(ofed, "cnp_dscp"): dscp, filepath.Join(ofed, "cnp_802p_prio"): priority,
		filepath.Join(kernel, "np_cnp_dscp"): dscp, filepath.Join(kernel, "np_cnp_prio"): priority,
	} {
		if h.has(file) {
			h.put(file, strconv.Itoa(v)+"\n")
			shown = true
		}
	}
	return shown
}
