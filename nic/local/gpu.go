package local

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// maxGPUs bounds how many are kept.
const maxGPUs = 64

// gpuVendors are those whose accelerators do RDMA to their memory; gpuClasses are the
// classes of PCI that accelerators have: 3D controllers, other displays, and processing
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

// seat reads where a device is: its link leads through the root complex.
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
	// -1 where it is not known (Linux, drivers/pci/pci-sysfs.c, numa_node_show).
	if n, err := m.number(device + "/numa_node"); err == nil && n < 1<<16 {
		s.Node = qos.Of(int(n))
	}
	return s, ok
}
