package local_test

import (
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// GPUs and ports are read with their root complex and NUMA node; devices that are not GPUs are left
// out.
func TestSeats(t *testing.T) {
	h := newHost(t, mlx5(false))
	h.AddGPU("0000:9b:00.0", "pci0000:97", 1)
	h.AddGPU("0000:17:00.0", "pci0000:00", -1)
	h.AddGPU("0000:18:00.0", "pci0000:00", 0)
	h.Put("bus/pci/devices/0000:18:00.0/class", "0x020700\n")
	got := read(t, h.Machine())
	want := []nic.GPU{{PCI: "0000:17:00.0", Seat: nic.Seat{Root: "pci0000:00"}}, {PCI: "0000:9b:00.0", Seat: nic.Seat{Root: "pci0000:97", Node: qos.Of(1)}}}
	if !slices.Equal(got.GPUs, want) {
		t.Errorf("%+v", got.GPUs)
	}
	p := got.Ports[ens0]
	if p.Seat != qos.Of(nic.Seat{Root: "pci0000:00", Node: qos.Of(0)}) {
		t.Errorf("%+v", p.Seat)
	}
	if near, beside := got.GPUsNear(p); len(near) != 1 || near[0].PCI != "0000:17:00.0" || len(beside) != 0 {
		t.Errorf("%v, %v", near, beside)
	}
}
