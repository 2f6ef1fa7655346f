package localtest

import (
	"path/filepath"
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Reboot starts the machine again: drivers and the RDMA stack come up with their
// defaults. Settings that a card's firmware keeps stay.
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
	ports, stack := h.ports, h.stack
	h.stack = map[string]*stacked{}
	h.ports, h.cm, h.stale = map[string]*port{}, map[string]map[string]string{}, map[string]bool{}
	h.cc, h.ccWaits, h.pairs = map[string]map[string]int{}, map[string]int{}, nil
	for _, name := range natural.Keys(ports) {
		h.add(ports[name].Port)
	}
	h.restack(stack)
}

// SetCNP is how the firmware of mlx5 marks congestion notifications from now on,
// wherever its driver shows that.
func (h *Host) SetCNP(name string, dscp, priority int) {
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
		}
	}
}
