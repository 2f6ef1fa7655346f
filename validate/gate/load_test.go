package gate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// TestLoad checks that a window proves a class lossless only if the class carried load.
func TestLoad(t *testing.T) {
	const tb = 1_000_000_000_000
	for name, tt := range map[string]struct {
		edit     func(devices []Device, after reading)
		unloaded []string
		want     []string
	}{
		"one stray packet": {func(_ []Device, a reading) {
			a.add("leaf1", "gpu1", drivers.QueuePackets, 3, 1).add("leaf1", "gpu1", drivers.QueueBytes, 0, 93*tb/10)
		}, []string{"rdma"}, []string{"inconclusive gate:no-traffic: lossless class rdma carried only 1 packet during the window, less than 0.01 % of what hosts received: the load went through queue 0 (9300GB)"}},
		"load in the class": {func(_ []Device, a reading) {
			for i := range 8 {
				a.add(fmt.Sprintf("leaf%d", i/4+1), fmt.Sprintf("gpu%d", i+1), drivers.QueueBytes, 3, tb)
			}
		}, nil, nil},
		"its part of the load": {func(_ []Device, a reading) {
			for i := range 8 {
				a.add(fmt.Sprintf("leaf%d", i/4+1), fmt.Sprintf("gpu%d", i+1), drivers.QueueBytes, 3, tb)
				a.add(fmt.Sprintf("leaf%d", i/4+1), fmt.Sprintf("gpu%d", i+1), drivers.QueueBytes, 1, 9*tb)
			}
		}, nil, nil},
		"less than its part": {func(_ []Device, a reading) {
			a.add("leaf1", "gpu1", drivers.QueueBytes, 3, tb).add("leaf1", "gpu1", drivers.QueueBytes, 1, 91*tb/10)
		}, []string{"rdma"}, []string{"inconclusive gate:no-traffic: lossless class rdma carried only 1000GB during the window, 9.9 % of what hosts received: the load went through queue 1 (9100GB)"}},
		// Traffic between switches proves nothing about the ports to hosts.
		"load between switches": {func(_ []Device, a reading) {
			a.add("spine1", "leaf1", drivers.QueueBytes, 3, tb)
		}, []string{"rdma"}, []string{"inconclusive gate:no-traffic: lossless class rdma carried no packets during the window"}},
		"another class of RDMA has the rest": {func(ds []Device, a reading) {
			for i := range 8 {
				leaf, gpu := fmt.Sprintf("leaf%d", i/4+1), fmt.Sprintf("gpu%d", i+1)
				a.add(leaf, gpu, drivers.QueueBytes, 3, tb).add(leaf, gpu, drivers.QueueBytes, 1, 90*tb)
			}
			for _, d := range ds {
				for name, p := range d.Ports {
					p.RDMA = qos.Priorities(1)
					d.Ports[name] = p
				}
			}
		}, nil, nil},
		"a NIC whose load went elsewhere": {func(_ []Device, a reading) {
			for i := range 8 {
				a.add(fmt.Sprintf("leaf%d", i/4+1), fmt.Sprintf("gpu%d", i+1), drivers.QueueBytes, 3, tb)
			}
			a.add("leaf1", "gpu1", drivers.QueueBytes, 0, 50*tb).add("gpu1", "eth0", drivers.PriorityTxPackets, 3, 1).add("gpu1", "eth0", drivers.PriorityTxBytes, 0, tb).add("leaf2", "gpu8", drivers.QueueBytes, 3, 9*tb)
		}, nil, []string{"pass gate:no-traffic: 1 of 8 NICs carried no load of lossless class rdma, so the window proves nothing about them: gpu1/eth0"}},
	} {
		ds, _, before, after := twoLeaves()
		tt.edit(ds, after)
		r := Judge(ds, samples(before, after), Options{Traffic: true})
		if d := cmp.Diff(tt.want, show(r.Findings)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(tt.unloaded, r.Unloaded); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		// Without Traffic set, the result lists the unloaded classes but has no finding.
		if r := Judge(ds, samples(before, after), Options{}); len(r.Findings) > 0 || len(r.Unloaded) != len(tt.unloaded) {
			t.Errorf("%s: %v, unloaded %v", name, show(r.Findings), r.Unloaded)
		}
	}
}
