package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
)

// twoLeaves returns hosts gpu1 to gpu4 on leaf1 and gpu5 to gpu8 on leaf2, below spine1.
func twoLeaves() (devices []Device, tiers map[string]int, before, after reading) {
	before, after = reading{}, reading{}
	both := func(device string, host bool, ports map[string]Port) {
		devices = append(devices, Device{Name: device, Host: host, Ports: ports})
		for _, r := range []reading{before, after} {
			r[device] = &drivers.Counters{Taken: began, Ports: map[string]drivers.PortCounters{}}
			for name := range ports {
				r[device].Ports[name] = zero(host)
				for i := range 8 {
					if !host {
						r[device].Ports[name][drivers.QueueBytes.Of(i)] = 0
					}
				}
			}
		}
		after[device].Taken = began.Add(span)
	}
	port := func(device, name string, host bool) Port {
		return Port{Speed: 400e9, Classes: []Class{rdma}, ToHost: host, Peer: intent.Endpoint{Device: device, Port: name}}
	}
	spine := map[string]Port{}
	for l := range 2 {
		leaf := fmt.Sprintf("leaf%d", l+1)
		ports := map[string]Port{"up": port("spine1", leaf, false)}
		spine[leaf] = port(leaf, "up", false)
		for h := range 4 {
			host := fmt.Sprintf("gpu%d", 4*l+h+1)
			ports[host] = port(host, "eth0", true)
			both(host, true, map[string]Port{"eth0": port(leaf, host, false)})
		}
		both(leaf, false, ports)
	}
	both("spine1", false, spine)
	return devices, map[string]int{"leaf1": 0, "leaf2": 0, "spine1": 1}, before, after
}

// pauses pauses a port for a fraction of the time, as counted at both ends.
func (r reading) pauses(devices []Device, device, port string, part float64) reading {
	for _, d := range devices {
		if d.Name != device {
			continue
		}
		peer := d.Ports[port].Peer
		us, frames := uint64(part*span.Seconds()*1e6), uint64(part*1e6)
		r.add(device, port, drivers.PauseRxTime, 3, us).add(device, port, drivers.PFCRx, 3, frames)
		r.add(peer.Device, peer.Port, drivers.PauseTxTime, 3, us).add(peer.Device, peer.Port, drivers.PFCTx, 3, frames)
	}
	return r
}

// moves makes a switch port send at a rate in Gb/s.
func (r reading) moves(device, port string, gbits float64) reading {
	return r.add(device, port, drivers.QueueBytes, 3, uint64(gbits*1e9/8*span.Seconds()))
}

// frames400 returns the number of frames that pause a 400G port for a fraction of the time.
func frames400(part float64) uint64 { return uint64(part * span.Seconds() / 83.9e-6) }

// TestPauseSources tests each kind of source next to a case that is another kind.
func TestPauseSources(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(ds []Device, b, a reading)
		want []string // the sources
		ids  []string // the findings on pauses, where they are
	}{
		"nothing": {func([]Device, reading, reading) {}, nil, nil},
		"a slow receiver": {func(ds []Device, _, a reading) {
			a.pauses(ds, "leaf1", "gpu3", 0.38).moves("leaf1", "gpu3", 12)
			a.pauses(ds, "spine1", "leaf1", 0.3).pauses(ds, "leaf2", "up", 0.25).pauses(ds, "gpu5", "eth0", 0.2).pauses(ds, "gpu6", "eth0", 0.2)
		}, []string{"pauses of class rdma on 5 links lead to gpu3/eth0, which paused leaf1 38 % of the time and received 12 Gb/s"}, []string{"warn gate:pause-source gpu3 eth0"}},
		"a storm": {func(ds []Device, _, a reading) {
			a.pauses(ds, "leaf1", "gpu3", 0.99).pauses(ds, "spine1", "leaf1", 0.99).moves("leaf1", "gpu3", 0.5)
		}, []string{"pauses of class rdma on 2 links lead to gpu3/eth0, which stormed: it paused leaf1 99 % of the time and received 0.5 Gb/s"}, []string{"fail gate:storm gpu3 eth0"}},
		// The switch did receive the pauses, whatever the NIC counts.
		"a storm that the NIC does not count": {func(ds []Device, _, a reading) {
			a.add("leaf1", "gpu3", drivers.PFCRx, 3, frames400(0.96)).moves("leaf1", "gpu3", 0.027).pauses(ds, "spine1", "leaf1", 0.9).pauses(ds, "gpu4", "eth0", 0.9)
		}, []string{fmt.Sprintf("pauses of class rdma on 3 links lead to gpu3/eth0, which stormed: it paused leaf1 with %d PFC frames and received 27 Mb/s", frames400(0.96))},
			[]string{"fail gate:storm gpu3 eth0", "warn gate:ends-disagree gpu3 eth0"}},
		"a storm of which only the switch counts the time": {func(ds []Device, b, a reading) {
			b.add("leaf1", "gpu3", drivers.PauseRxTime, 3, 0)
			a.add("leaf1", "gpu3", drivers.PFCRx, 3, 62_000).add("leaf1", "gpu3", drivers.PauseRxTime, 3, uint64(0.96*span.Seconds()*1e6)).moves("leaf1", "gpu3", 0.027)
		}, []string{"pauses of class rdma on 1 link lead to gpu3/eth0, which stormed: it paused leaf1 96 % of the time and received 27 Mb/s"},
			[]string{"fail gate:storm gpu3 eth0", "warn gate:ends-disagree gpu3 eth0"}},
		"pauses that the switch does not count": {func(ds []Device, _, a reading) {
			a.add("gpu3", "eth0", drivers.PFCTx, 3, 900_000).add("gpu3", "eth0", drivers.PauseTxTime, 3, uint64(0.3*span.Seconds()*1e6)).moves("leaf1", "gpu3", 12)
		}, []string{"pauses of class rdma on 1 link lead to gpu3/eth0, which paused leaf1 30 % of the time and received 12 Gb/s"},
			[]string{"warn gate:ends-disagree gpu3 eth0", "warn gate:pause-source gpu3 eth0"}},
		"counts that differ as those of two moments do": {func(ds []Device, _, a reading) {
			a.add("gpu3", "eth0", drivers.PFCTx, 3, 999).add("leaf1", "gpu4", drivers.PFCRx, 3, 5000).add("gpu4", "eth0", drivers.PFCTx, 3, 51)
		}, []string{"pauses of class rdma on 1 link lead to gpu4/eth0, which paused leaf1 with 5000 PFC frames and received 0 Mb/s"}, nil},
		"an idle link is not congested": {func(ds []Device, _, a reading) {
			a.pauses(ds, "gpu1", "eth0", 0.5).moves("leaf1", "gpu3", 0.027).add("leaf1", "gpu3", drivers.QueueMarked, 3, 900)
		}, []string{"pauses of class rdma on 1 link lead to leaf1 and cannot be followed any further; not certain: no egress port sent enough to have been full for that long"},
			[]string{"warn gate:pause-source leaf1"}},
		"an incast": {func(ds []Device, _, a reading) {
			a.pauses(ds, "spine1", "leaf1", 0.5).pauses(ds, "gpu1", "eth0", 0.6).pauses(ds, "leaf2", "up", 0.5).moves("leaf1", "gpu3", 392)
		}, []string{"pauses of class rdma on 3 links lead to leaf1/gpu3, whose queue to gpu3/eth0 is full: 392 Gb/s of 400G"}, []string{"warn gate:pause-source leaf1 gpu3"}},
		"a full link that nothing pauses": {func(ds []Device, _, a reading) { a.moves("leaf1", "gpu3", 392) }, nil, nil},
		"pauses too short for a finding": {func(ds []Device, _, a reading) {
			a.pauses(ds, "leaf1", "gpu3", 0.04).moves("leaf1", "gpu3", 12)
		}, []string{"pauses of class rdma on 1 link lead to gpu3/eth0, which paused leaf1 4 % of the time and received 12 Gb/s"}, nil},
		"two at once": {func(ds []Device, _, a reading) {
			a.pauses(ds, "leaf1", "gpu3", 0.4).moves("leaf1", "gpu3", 12).pauses(ds, "leaf2", "gpu7", 0.3).moves("leaf2", "gpu7", 100)
		}, []string{
			"pauses of class rdma on 1 link lead to gpu3/eth0, which paused leaf1 40 % of the time and received 12 Gb/s",
			"pauses of class rdma on 1 link lead to gpu7/eth0, which paused leaf2 30 % of the time and received 100 Gb/s",
		}, []string{"warn gate:pause-source gpu3 eth0", "warn gate:pause-source gpu7 eth0"}},
		"a switch without a port that explains it": {func(ds []Device, _, a reading) {
			a.pauses(ds, "gpu1", "eth0", 0.5)
		}, []string{"pauses of class rdma on 1 link lead to leaf1 and cannot be followed any further; not certain: several egress ports may be full, so it may be leaf1/gpu2 or leaf1/gpu3 or leaf1/gpu4 or leaf1/up"},
			[]string{"warn gate:pause-source leaf1"}},
		"a switch whose marks tell": {func(ds []Device, _, a reading) {
			a.pauses(ds, "gpu1", "eth0", 0.5).moves("leaf1", "gpu3", 100).add("leaf1", "gpu3", drivers.QueueMarked, 3, 90000)
		}, []string{"pauses of class rdma on 1 link lead to leaf1/gpu3, whose queue to gpu3/eth0 got more at times than its link carries: 100 Gb/s of 400G on average"}, []string{"warn gate:pause-source leaf1 gpu3"}},
		"frames alone": {func(ds []Device, b, a reading) {
			for d := range a {
				b.uncount(a, d, drivers.PauseRxTime, drivers.PauseTxTime)
			}
			a.add("leaf1", "gpu3", drivers.PFCRx, 3, 900_000).moves("leaf1", "gpu3", 12).add("spine1", "leaf1", drivers.PFCRx, 3, 900_000)
			a.add("gpu3", "eth0", drivers.PFCTx, 3, 900_000).add("leaf1", "up", drivers.PFCTx, 3, 900_000)
		}, []string{"pauses of class rdma on 2 links lead to gpu3/eth0, which paused leaf1 with 900000 PFC frames and received 12 Gb/s"}, []string{"warn gate:pause-source gpu3 eth0"}},
		"a counter of time that stands still": {func(ds []Device, b, a reading) {
			a.add("leaf1", "gpu3", drivers.PFCRx, 3, 900_000).moves("leaf1", "gpu3", 12).add("gpu3", "eth0", drivers.PFCTx, 3, 900_000)
		}, []string{"pauses of class rdma on 1 link lead to gpu3/eth0, which paused leaf1 with 900000 PFC frames and received 12 Gb/s"}, []string{"warn gate:pause-source gpu3 eth0"}},
	} {
		t.Run(name, func(t *testing.T) {
			ds, tiers, before, after := twoLeaves()
			tt.edit(ds, before, after)
			r := Judge(ds, samples(before, after), Options{Tiers: tiers})
			var got, ids []string
			for _, s := range r.Sources {
				got = append(got, s.What)
				if s.Certain != !strings.Contains(s.What, "not certain") {
					t.Errorf("certain %v: %s", s.Certain, s.What)
				}
			}
			for _, f := range r.Findings {
				if slices.Contains([]string{PauseSource, PauseRatio, Storm, Deadlock, EndsDisagree}, f.ID) {
					ids = append(ids, strings.TrimSpace(fmt.Sprint(f.Means, " ", f.ID, " ", f.Device, " ", f.Port)))
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.ids, ids); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDeadlock checks that switches that wait for each other and send nothing fail the window,
// and that they only warn while their queues move.
func TestDeadlock(t *testing.T) {
	for moves, want := range map[float64]string{0: "fail gate:deadlock s1 s2", 100: "warn gate:pause-source s1 s2"} {
		var devices []Device
		before, after := reading{}, reading{}
		for i := range 3 {
			name, next, last := fmt.Sprintf("s%d", i+1), fmt.Sprintf("s%d", (i+1)%3+1), fmt.Sprintf("s%d", (i+2)%3+1)
			d := Device{Name: name, Ports: map[string]Port{}}
			for _, peer := range []string{next, last} {
				d.Ports[peer] = Port{Speed: 400e9, Classes: []Class{rdma}, Peer: intent.Endpoint{Device: peer, Port: name}}
			}
			devices = append(devices, d)
			for at, r := range map[time.Duration]reading{0: before, span: after} {
				r[name] = &drivers.Counters{Taken: began.Add(at), Ports: map[string]drivers.PortCounters{next: zero(false), last: zero(false)}}
				r.add(name, next, drivers.QueueBytes, 3, 0).add(name, last, drivers.QueueBytes, 3, 0)
			}
		}
		for i := range 3 {
			name, next := fmt.Sprintf("s%d", i+1), fmt.Sprintf("s%d", (i+1)%3+1)
			after.moves(name, next, moves).add(name, next, drivers.PFCRx, 3, frames400(1)).add(next, name, drivers.PFCTx, 3, frames400(1))
		}
		var got []string
		for _, f := range Judge(devices, samples(before, after), Options{Tiers: map[string]int{"s1": 0}}).Findings {
			if f.ID == PauseSource || f.ID == Deadlock {
				got = append(got, fmt.Sprint(f.Means, " ", f.ID, " ", f.Device, " ", f.Port))
			}
		}
		if d := cmp.Diff([]string{want}, got); d != "" {
			t.Errorf("%v Gb/s: %s", moves, d)
		}
	}
}

// TestStragglers checks that a NIC is a straggler only if its errors stand out among its rail.
func TestStragglers(t *testing.T) {
	for most, want := range map[uint64]string{1000: Straggler, 999: RDMAError} {
		ds, _, before, after := twoLeaves()
		after.add("gpu3", "eth0", drivers.OutOfSequence, 0, most).add("gpu4", "eth0", drivers.OutOfSequence, 0, 100)
		var got []string
		for _, f := range Judge(ds, samples(before, after), Options{}).Findings {
			if f.Device == "gpu3" {
				got = append(got, f.ID)
			}
		}
		if d := cmp.Diff([]string{want}, got); d != "" {
			t.Errorf("%d: %s", most, d)
		}
	}
}

// TestIdleNICs checks that NICs that carried nothing of a class are named if others carried
// some.
func TestIdleNICs(t *testing.T) {
	for n, want := range map[int][]string{
		0: {"inconclusive gate:no-traffic: lossless class rdma carried no packets during the window"},
		6: {"pass gate:no-traffic: 2 of 8 NICs carried no load of lossless class rdma, so the window proves nothing about them: gpu7/eth0, gpu8/eth0"},
		8: nil,
	} {
		ds, _, before, after := twoLeaves()
		for i := range n {
			after.add(fmt.Sprintf("leaf%d", i/4+1), fmt.Sprintf("gpu%d", i+1), drivers.QueuePackets, 3, 500)
		}
		if d := cmp.Diff(want, show(Judge(ds, samples(before, after), Options{Traffic: true}).Findings)); d != "" {
			t.Errorf("%d: %s", n, d)
		}
	}
}

// TestMarksOff checks that a window with pauses is inconclusive if the switch could count marks
// but does not.
func TestMarksOff(t *testing.T) {
	for off, want := range map[string][]string{"": nil, "wredqueue is off": {"inconclusive gate:ecn-before-pfc leaf1: it sent 500 frames for class rdma; its marks are not counted: wredqueue is off"}} {
		before, after := read(0), read(span).add("leaf1", "Ethernet8", drivers.PFCTx, 3, 500).add("leaf1", "Ethernet0", drivers.QueuePackets, 3, 900)
		before.uncount(after, "leaf1", drivers.QueueMarked)
		if off != "" {
			after["leaf1"].Off = map[drivers.Metric]string{drivers.QueueMarked: off}
		}
		if d := cmp.Diff(want, show(Judge(fabric(), samples(before, after), Options{Traffic: true}).Findings)); d != "" {
			t.Error(d)
		}
	}
}
