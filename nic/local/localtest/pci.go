package localtest

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Offsets of the capabilities in a card's configuration space.
const (
	powerAt   = 0x40
	expressAt = 0x60
	controlAt = expressAt + 8
)

// configSpace returns the configuration space of a card after a reset: read requests of up to 512
// bytes.
func configSpace() string {
	b := make([]byte, 256)
	b[0x06] = 0x10 // a capability list is present
	b[0x34] = powerAt
	b[powerAt], b[powerAt+1] = 0x01, expressAt
	b[expressAt] = 0x10
	b[controlAt], b[controlAt+1] = 0x3f, 0x29
	return string(b)
}

// setpci simulates the part of pciutils' setpci that sets bits of Device Control.
func (h *Host) setpci(_ context.Context, args []string) (runner.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var value, mask uint16
	if len(args) == 3 && args[0] == "-s" {
		_, _ = fmt.Sscanf(args[2], "CAP_EXP+08.w=%x:%x", &value, &mask)
	}
	if mask == 0 {
		return runner.Result{Stderr: []byte("Usage: setpci [<options>] (<device>+ <reg>[=<values>]*)*\n"), Code: 1}, nil
	}
	file := h.sys("devices", "pci0000:00", args[1], "config")
	b, err := h.tree.ReadFile(file)
	if err != nil {
		return runner.Result{Stderr: []byte("setpci: Warning: No devices selected for `" + args[2] + "'.\n")}, nil
	}
	h.wrote("setpci %s %s", args[1], args[2])
	switch {
	case h.faults.NotRoot, h.faults.Lockdown:
		return runner.Result{Stderr: []byte("pcilib: sysfs_write: write failed: Operation not permitted\n")}, nil
	case h.faults.Ignore:
		return runner.Result{}, nil
	}
	word := uint16(b[controlAt]) | uint16(b[controlAt+1])<<8
	word = word&^mask | value&mask
	b[controlAt], b[controlAt+1] = byte(word), byte(word>>8)
	h.put(file, string(b))
	return runner.Result{}, nil
}

// AddGPU adds an accelerator to the host, given its PCI address, its root complex, such as
// pci0000:97, and its NUMA node, -1 if not known.
func (h *Host) AddGPU(pci, root string, node int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dir := h.sys("devices", root, "0000:00:01.0", pci)
	h.put(filepath.Join(dir, "class"), "0x030200\n")
	h.put(filepath.Join(dir, "vendor"), "0x10de\n")
	h.put(filepath.Join(dir, "numa_node"), fmt.Sprintln(node))
	h.link("../../../devices/"+root+"/0000:00:01.0/"+pci, h.sys("bus", "pci", "devices", pci))
}
