package localtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// Namespace is another network namespace of the machine, and the one process in it.
type Namespace struct {
	Process int
	Comm    string
	// Group is the path of the process's control group.
	Group string
}

// PodGroup is the control group of a container of a pod, as kubelet and containerd name it with
// cgroup v2 and systemd.
const PodGroup = "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f3c5a2e_7b1d_4c8e_9a60_5d2f1e8b7c34.slice/cri-containerd-7d1e0f6b2a9c7d1e0f6b2a9c7d1e0f6b2a9c7d1e0f6b2a9c7d1e0f6b2a9c7d1e.scope"

// MoveTo moves an interface to another network namespace under a new name. It returns an error if
// the host no longer has the interface.
func (h *Host) MoveTo(name string, to Namespace, ifname string) error {
	h.mu.Lock()
	pci, mtu := h.ports[name].PCI, 1500
	if h.has(h.sys("class", "net", name)) {
		mtu = h.mtuOf(name)
	}
	h.mu.Unlock()
	if err := h.MoveAway(name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.move(to, nic.Elsewhere{Interface: ifname, PCI: pci, MTU: mtu, Up: true})
	return nil
}

func (h *Host) move(to Namespace, e nic.Elsewhere) {
	id := strconv.Itoa(to.Process)
	file := h.proc(id, "ns", "net")
	if _, err := h.tree.Readlink(file); err != nil {
		delete(h.links, file) // those of a process that is gone
		h.put(h.proc(id, "comm"), to.Comm+"\n")
		h.put(h.proc(id, "cgroup"), to.Group+"\n")
		h.link(fmt.Sprintf("net:[%d]", 4026532000+to.Process), file)
	}
	h.links[file] = append(h.links[file], e)
}

// namespaces implements local.Namespaces.
type namespaces struct{ view }

var _ local.Namespaces = namespaces{}

// Links implements local.Namespaces.
func (n namespaces) Links(ctx context.Context, file string) ([]nic.Elsewhere, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.notRoot() {
		return nil, syscall.EACCES
	}
	return slices.Clone(n.links[file]), ctx.Err()
}
