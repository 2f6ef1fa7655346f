package local

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// maxGPUs limits how many accelerators are recorded.
const maxGPUs = 64

// gpuVendors are the vendors whose accelerators support RDMA to their memory. gpuClasses are the
// PCI classes of accelerators: 3D controllers, other display controllers, and processing
// accelerators (PCI Code and ID Assignment Specification).
var (
	gpuVendors = []string{"0x10de", "0x1002", "0x8086"}
	gpuClasses = []string{"0x0302", "0x0380", "0x1200"}
)

// gpus reads the accelerators of the host.
func (m *Machine) gpus() (out []nic.GPU) {
	dir := m.sys("bus", "pci", "devices")
	names, _ := m.list(dir)
	for _, pci := range names {
		if len(out) == maxGPUs || !pciAddress.MatchString(pci) {
			continue
		}
		class, err := m.text(dir + "/" + pci + "/class")
		if err != nil || len(class) < 6 || !slices.Contains(gpuClasses, class[:6]) {
			continue
		}
		if vendor, err := m.text(dir + "/" + pci + "/vendor"); err != nil || !slices.Contains(gpuVendors, vendor) {
			continue
		}
		if seat, ok := m.seat(dir+"/"+pci, dir+"/"+pci); ok {
			out = append(out, nic.GPU{PCI: pci, Seat: seat})
		}
	}
	return out
}

// seat returns the location of a device in the PCIe topology; the target of its link includes the
// root complex.
func (m *Machine) seat(link, device string) (s nic.Seat, ok bool) {
	target, err := m.fs().Readlink(link)
	if err != nil {
		return s, false
	}
	for part := range strings.SplitSeq(target, "/") {
		if pciRoot.MatchString(part) {
			s.Root, ok = part, true
		}
	}
	// The file holds -1 if the node is not known (Linux, drivers/pci/pci-sysfs.c, numa_node_show).
	if n, err := m.number(device + "/numa_node"); err == nil && n < 1<<16 {
		s.Node = qos.Of(int(n))
	}
	return s, ok
}
