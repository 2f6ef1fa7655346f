package local_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// The state that RDMA requires is read in all formats that kernels and drivers use.
func TestReady(t *testing.T) {
	const dev, slot = "devices/pci0000:00/" + pci0 + "/infiniband/mlx5_0/", "devices/pci0000:00/" + pci0 + "/"
	sound := nic.Port{
		Transport: qos.Of(nic.TransportRoCE), RDMAState: qos.Of(nic.RDMAActive),
		GIDs: qos.Of(nic.GIDs{V2: []string{"fe80::a94:efff:fe00:1", "10.0.0.1"}, V1: 2, Slot: qos.Of(3)}),
		PCIe: qos.Of(nic.PCIe{Transfers: 32000, MaxTransfers: 32000, Lanes: 16, MaxLanes: 16}),
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  func(*nic.Port)
	}{
		"sound":      {nil, func(*nic.Port) {}},
		"iWARP":      {map[string]string{dev + "node_type": "4: RNIC\n"}, func(p *nic.Port) { p.Transport.V = nic.TransportIWARP }},
		"InfiniBand": {map[string]string{dev + "ports/1/link_layer": "InfiniBand\n"}, func(p *nic.Port) { p.Transport.V = nic.TransportInfiniBand }},
		"usNIC":      {map[string]string{dev + "node_type": "6: usNIC UDP\n"}, func(p *nic.Port) { p.Transport.V = nic.TransportOther }},
		"down":       {map[string]string{dev + "ports/1/state": "1: DOWN\n"}, func(p *nic.Port) { p.RDMAState.V = "DOWN" }},
		"v1 alone": {map[string]string{dev + "ports/1/gid_attrs/types/1": "IB/RoCE v1\n", dev + "ports/1/gid_attrs/types/3": "IB/RoCE v1\n"},
			func(p *nic.Port) { p.GIDs.V = nic.GIDs{V1: 4} }},
		"no address": {map[string]string{dev + "ports/1/gids/3": "0000:0000:0000:0000:0000:0000:0000:0000\n", dev + "ports/1/gids/2": "hello\n"},
			func(p *nic.Port) { p.GIDs.V.V2, p.GIDs.V.V1, p.GIDs.V.Slot = p.GIDs.V.V2[:1], 1, qos.Opt[int]{} }},
		"slow slot": {map[string]string{slot + "current_link_speed": "8 GT/s\n", slot + "current_link_width": "8\n"}, func(p *nic.Port) { p.PCIe.V.Transfers, p.PCIe.V.Lanes = 8000, 8 }},
		"no slot":   {map[string]string{slot + "current_link_speed": "Unknown\n"}, func(p *nic.Port) { p.PCIe = qos.Opt[nic.PCIe]{} }},
		"a lie":     {map[string]string{slot + "current_link_width": "4000000000\n"}, func(p *nic.Port) { p.PCIe = qos.Opt[nic.PCIe]{} }},
	} {
		h := newHost(t, mlx5(false))
		for path, text := range c.files {
			h.Put(path, text)
		}
		want := sound
		want.GIDs.V.V2 = slices.Clone(sound.GIDs.V.V2)
		c.want(&want)
		p := overJSON(t, read(t, h.Machine(), ens0)).Ports[ens0]
		got := nic.Port{Transport: p.Transport, RDMAState: p.RDMAState, GIDs: p.GIDs, PCIe: p.PCIe}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The rates of PCIe links match those that the kernel calculates (drivers/pci/pci.h).
func TestPCIeRate(t *testing.T) {
	for p, want := range map[nic.PCIe]float64{
		{Transfers: 5000, Lanes: 8}: 32, {Transfers: 8000, Lanes: 8}: 63, {Transfers: 8000, Lanes: 16}: 126,
		{Transfers: 16000, Lanes: 16}: 252, {Transfers: 32000, Lanes: 16}: 504, {Transfers: 64000, Lanes: 16}: 968,
	} {
		if got := p.Rate().Gbps(); got < want-0.5 || got > want+0.5 {
			t.Errorf("%+v: %.1f Gb/s, want %.0f", p, got, want)
		}
	}
}

// An RDMA device whose interface is in another network namespace is listed. A VF is not, because it
// is normal to give VFs to containers.
func TestAway(t *testing.T) {
	vf := mlx5(false)
	vf.Name, vf.RDMA, vf.PCI, vf.VF = ens1, "mlx5_1", pci1, true
	h := newHost(t, mlx5(false), vf)
	if got := read(t, h.Machine()).Away; len(got) > 0 {
		t.Errorf("away: %v", got)
	}
	h.MoveAway(ens0)
	h.MoveAway(ens1)
	got := read(t, h.Machine(), ens0)
	if !slices.Equal(got.Away, []string{"mlx5_0"}) || got.Ports[ens0] != nil {
		t.Errorf("away: %v, ports %v", got.Away, got.Ports)
	}
}
