package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
)

var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// rdma is the lossless class that the tests use.
var rdma = Class{Name: "rdma", Priority: 3, Queue: 3, Group: 3, Marks: true, Headroom: 30000}

// fabric returns a leaf with a host and a link to a spine.
func fabric() []Device {
	return []Device{
		{Name: "leaf1", Pools: map[string]int64{"pool": 1000}, Ports: map[string]Port{
			"Ethernet0": {Speed: 400e9, Classes: []Class{rdma}, Watched: true, ToHost: true, Peer: intent.Endpoint{Device: "gpu1", Port: "eth0"}},
			"Ethernet8": {Speed: 400e9, Classes: []Class{rdma}, Peer: intent.Endpoint{Device: "spine1", Port: "Ethernet0"}},
		}},
		{Name: "gpu1", Host: true, Ports: map[string]Port{
			"eth0": {Speed: 400e9, Classes: []Class{rdma}, Peer: intent.Endpoint{Device: "leaf1", Port: "Ethernet0"}},
		}},
	}
}

// zero returns the first counters of a port that counts everything.
func zero(host bool) drivers.PortCounters {
	p := drivers.PortCounters{}
	for i := range 8 {
		for _, m := range []drivers.Metric{drivers.PFCRx, drivers.PFCTx} {
			p[m.Of(i)] = 1000
		}
		for _, m := range []drivers.Metric{drivers.QueueDrops, drivers.GroupDrops, drivers.QueueMarked, drivers.StormsDetected, drivers.QueuePackets} {
			if !host {
				p[m.Of(i)] = 1000
			}
		}
	}
	if host {
		for i := range 8 {
			p[drivers.PauseRxTime.Of(i)], p[drivers.PauseTxTime.Of(i)], p[drivers.PriorityDiscards.Of(i)] = 1000, 1000, 1000
		}
		for m := drivers.Discards; m <= drivers.RDMATxPackets; m++ {
			p[m.Of(0)] = 1000
		}
		for i := range 8 {
			for m := drivers.PriorityRxBytes; m <= drivers.PriorityTxPackets; m++ {
				p[m.Of(i)] = 1000
			}
		}
	} else {
		p[drivers.HeadroomPeak.Of(3)] = 100
	}
	for i := range 8 {
		if i != 3 {
			p[drivers.PFCTx.Of(i)] = 0
		}
	}
	p[drivers.LinkPauseRx.Of(0)], p[drivers.LinkPauseTx.Of(0)] = 1000, 1000
	p[drivers.ErrorsRx.Of(0)], p[drivers.PacketsRx.Of(0)], p[drivers.FECUncorrected.Of(0)] = 1000, 1000, 1000
	return p
}

var polls = map[drivers.Metric]time.Duration{drivers.PFCRx: time.Second, drivers.QueueDrops: 10 * time.Second, drivers.HeadroomPeak: time.Minute}

// reading holds the counters of all devices at one moment.
type reading map[string]*drivers.Counters

func read(at time.Duration) reading {
	return reading{
		"leaf1": {Taken: began.Add(at), Poll: polls, Pools: map[string]uint64{"pool": 500}, Ports: map[string]drivers.PortCounters{"Ethernet0": zero(false), "Ethernet8": zero(false)}},
		"gpu1":  {Taken: began.Add(at), Ports: map[string]drivers.PortCounters{"eth0": zero(true)}},
	}
}

// add raises a counter by n.
func (r reading) add(device, port string, m drivers.Metric, index int, n uint64) reading {
	r[device].Ports[port][m.Of(index)] += n
	return r
}

// uncount removes metrics of a device from this reading and another one.
func (r reading) uncount(other reading, device string, ms ...drivers.Metric) {
	for port := range r[device].Ports {
		r.uncountPort(other, device, port, ms...)
	}
}

func (r reading) uncountPort(other reading, device, port string, ms ...drivers.Metric) {
	for _, x := range []reading{r, other} {
		maps.DeleteFunc(x[device].Ports[port], func(id drivers.CounterID, _ uint64) bool { return slices.Contains(ms, id.Metric) })
	}
}

func samples(rs ...reading) []Sample {
	var out []Sample
	for _, r := range rs {
		for _, name := range slices.Sorted(maps.Keys(r)) {
			out = append(out, Sample{name, r[name]})
		}
	}
	return out
}

// show formats each finding as one line.
func show(fs []Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", f.Means, f.ID, f.Device, f.Port))+": "+f.What)
	}
	return out
}

const span = 2 * time.Minute

// TestRules tests each rule with an input that triggers it and one that just does not.
func TestRules(t *testing.T) {
	type edit func(before, after reading)
	add := func(device, port string, m drivers.Metric, index int, n uint64) edit {
		return func(_, after reading) { after.add(device, port, m, index, n) }
	}
	all := func(es ...edit) edit {
		return func(b, a reading) {
			for _, e := range es {
				e(b, a)
			}
		}
	}
	// At 400G one frame pauses for at most 83.9 µs.
	frames := frames400
	micros := func(part float64) uint64 { return uint64(part * span.Seconds() * 1e6) }
	for name, tt := range map[string]struct {
		edit edit
		want []string
	}{
		"nothing moved": {func(reading, reading) {}, nil},
		"group drops":   {add("leaf1", "Ethernet0", drivers.GroupDrops, 3, 5), []string{"fail gate:lossless-drop leaf1 Ethernet0: priority group 3 of lossless class rdma dropped 5 packets"}},
		"queue drops":   {add("leaf1", "Ethernet8", drivers.QueueDrops, 3, 1), []string{"fail gate:lossless-drop leaf1 Ethernet8: queue 3 of lossless class rdma dropped 1 packet"}},
		"lossy drops":   {all(add("leaf1", "Ethernet8", drivers.QueueDrops, 0, 99), add("leaf1", "Ethernet8", drivers.GroupDrops, 0, 99), add("gpu1", "eth0", drivers.PriorityDiscards, 0, 9), add("gpu1", "eth0", drivers.Discards, 0, 9)), nil},
		"nic discards":  {add("gpu1", "eth0", drivers.PriorityDiscards, 3, 7), []string{"fail gate:lossless-drop gpu1 eth0: priority 3 of lossless class rdma dropped 7 packets"}},
		"nic discards of some priority": {add("gpu1", "eth0", drivers.Discards, 0, 7),
			[]string{"warn gate:lossless-drop gpu1 eth0: the NIC had no buffer for 7 packets of a priority that it does not report"}},
		"watchdog": {add("leaf1", "Ethernet0", drivers.StormsDetected, 3, 1), []string{"fail gate:watchdog leaf1 Ethernet0: the PFC watchdog found queue 3 stuck once"}},
		"what the watchdog drops is its": {all(add("leaf1", "Ethernet0", drivers.StormsDetected, 3, 2), add("leaf1", "Ethernet0", drivers.QueueDrops, 3, 40)),
			[]string{"fail gate:watchdog leaf1 Ethernet0: the PFC watchdog found queue 3 stuck 2 times, and 40 packets of it were dropped"}},
		"stall":                                  {all(add("gpu1", "eth0", drivers.StallErrors, 0, 1), add("gpu1", "eth0", drivers.StallWarnings, 0, 1)), []string{"fail gate:nic-stall gpu1 eth0: the NIC aborted its pause once, because it had lasted too long"}},
		"stall warning":                          {add("gpu1", "eth0", drivers.StallWarnings, 0, 1), []string{"warn gate:nic-stall gpu1 eth0: the NIC nearly aborted its pause once"}},
		"link pause":                             {add("leaf1", "Ethernet0", drivers.LinkPauseRx, 0, 2), []string{"fail gate:link-pause leaf1 Ethernet0: the port received 2 frames that pause the whole link (IEEE 802.3x)"}},
		"hardware that counts PFC as link pause": {all(add("leaf1", "Ethernet0", drivers.LinkPauseTx, 0, 50), add("leaf1", "Ethernet0", drivers.PFCTx, 3, 50), add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 1)), nil},
		"wrong priority received":                {add("leaf1", "Ethernet0", drivers.PFCRx, 4, 1), []string{"fail gate:wrong-priority leaf1 Ethernet0: the port received 1 frame that pause priority 4, which the intent calls lossy"}},
		"wrong priority sent":                    {add("leaf1", "Ethernet8", drivers.PFCTx, 0, 3), []string{"fail gate:wrong-priority leaf1 Ethernet8: the port sent 3 frames that pause priority 0, which the intent calls lossy"}},
		"wrong priority that only its sender counts": {add("gpu1", "eth0", drivers.PFCTx, 4, 500), []string{"fail gate:wrong-priority gpu1 eth0: the port sent 500 frames that pause priority 4, which the intent calls lossy"}},
		"both ends see the wrong priority":           {all(add("leaf1", "Ethernet0", drivers.PFCRx, 4, 1), add("gpu1", "eth0", drivers.PFCTx, 4, 1)), []string{"fail gate:wrong-priority leaf1 Ethernet0: the port received 1 frame that pause priority 4, which the intent calls lossy"}},
		"wrong priority long ago": {func(b, a reading) {
			b.add("leaf1", "Ethernet8", drivers.PFCTx, 4, 9)
			a.add("leaf1", "Ethernet8", drivers.PFCTx, 4, 9)
		}, []string{"warn PFC-14 leaf1 Ethernet8: the port has sent pause on priority 4, which the intent calls lossy; none during this window"}},
		"paused a little":      {all(add("leaf1", "Ethernet8", drivers.PFCRx, 3, frames(0.099)), add("gpu1", "eth0", drivers.PauseRxTime, 3, micros(0.0099)), add("gpu1", "eth0", drivers.PauseTxTime, 3, micros(0.0499))), nil},
		"paused by frames":     {add("leaf1", "Ethernet8", drivers.PFCRx, 3, frames(0.11)), []string{"warn gate:pause-ratio leaf1 Ethernet8: priority 3 was paused up to 11.0 % of the time"}},
		"paused by time":       {add("gpu1", "eth0", drivers.PauseRxTime, 3, micros(0.02)), []string{"warn gate:pause-ratio gpu1 eth0: priority 3 was paused by the switch 2.0 % of the time"}},
		"a slow receiver":      {all(add("gpu1", "eth0", drivers.PauseTxTime, 3, micros(0.2)), add("leaf1", "Ethernet0", drivers.PFCRx, 3, frames(0.9)), add("gpu1", "eth0", drivers.PFCTx, 3, frames(0.9))), []string{"warn gate:pause-ratio gpu1 eth0: priority 3 of the switch was paused by this NIC 20.0 % of the time"}},
		"pause and no marks":   {all(add("leaf1", "Ethernet8", drivers.PFCTx, 3, 2), add("leaf1", "Ethernet0", drivers.PFCTx, 3, 3)), []string{"warn gate:ecn-before-pfc leaf1: it sent 5 frames for class rdma but marked none of its packets"}},
		"pause and marks":      {all(add("leaf1", "Ethernet8", drivers.PFCTx, 3, 2), add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 1)), nil},
		"marks nobody answers": {all(add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 5000)), []string{"fail gate:cnp-loop: the switches marked 5000 packets of lossless classes, but no NIC sent a congestion notification"}},
		"few marks":            {add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 500), nil},
		"a NIC that does not answer": {all(add("gpu1", "eth0", drivers.MarkedReceived, 0, 5000), add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 5000)),
			[]string{"fail gate:cnp-loop gpu1 eth0: the NIC received 5000 marked packets and sent no congestion notification"}},
		"notifications nobody handles": {add("gpu1", "eth0", drivers.CNPSent, 0, 5000), []string{"fail gate:cnp-loop: the NICs sent 5000 congestion notifications, but none was handled"}},
		"a closed loop":                {all(add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 5000), add("gpu1", "eth0", drivers.MarkedReceived, 0, 5000), add("gpu1", "eth0", drivers.CNPSent, 0, 5000), add("gpu1", "eth0", drivers.CNPHandled, 0, 2500)), nil},
		"half of the notifications are missing": {all(add("gpu1", "eth0", drivers.CNPSent, 0, 5000), add("gpu1", "eth0", drivers.CNPHandled, 0, 2499)),
			[]string{"warn gate:cnp-loop: the NICs sent 5000 congestion notifications, but only 2499 arrived at a sender"}},
		"one notification of 40,000 is handled": {all(add("gpu1", "eth0", drivers.CNPSent, 0, 40000), add("gpu1", "eth0", drivers.CNPHandled, 0, 1)),
			[]string{"fail gate:cnp-loop: the NICs sent 40000 congestion notifications, but only 1 arrived at a sender"}},
		"one notification for many marks":  {all(add("gpu1", "eth0", drivers.MarkedReceived, 0, 50000), add("gpu1", "eth0", drivers.CNPSent, 0, 1)), []string{"warn gate:cnp-loop gpu1 eth0: the NIC received 50000 marked packets and sent only 1 congestion notification"}},
		"one notification for fewer marks": {all(add("gpu1", "eth0", drivers.MarkedReceived, 0, 49999), add("gpu1", "eth0", drivers.CNPSent, 0, 1)), nil},
		"marks that do not arrive": {all(add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 5000), add("gpu1", "eth0", drivers.MarkedReceived, 0, 49), add("gpu1", "eth0", drivers.CNPSent, 0, 49)),
			[]string{"warn gate:cnp-loop leaf1 Ethernet0: the port marked 5000 packets of lossless classes to gpu1/eth0, which received 49 marked RoCE packets"}},
		"marks that arrive": {all(add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 5000), add("gpu1", "eth0", drivers.MarkedReceived, 0, 50), add("gpu1", "eth0", drivers.CNPSent, 0, 50)), nil},
		"ignored":           {add("gpu1", "eth0", drivers.CNPIgnored, 0, 2), []string{"warn gate:cnp-loop gpu1 eth0: 2 of 2 congestion notifications were ignored"}},
		"ignored, nearly all": {all(add("gpu1", "eth0", drivers.CNPIgnored, 0, 40000), add("gpu1", "eth0", drivers.CNPHandled, 0, 1)),
			[]string{"fail gate:cnp-loop gpu1 eth0: the NIC ignored 40000 congestion notifications and handled 1"}},
		"broken frames":             {all(add("leaf1", "Ethernet0", drivers.ErrorsRx, 0, 20), add("leaf1", "Ethernet0", drivers.PacketsRx, 0, 1e9), add("gpu1", "eth0", drivers.PriorityTxPackets, 0, 1e9)), []string{"warn gate:errors leaf1 Ethernet0: the port received 20 frames with errors among 1000000000 packets, one in 50000000"}},
		"few broken frames":         {all(add("leaf1", "Ethernet0", drivers.ErrorsRx, 0, 9), add("leaf1", "Ethernet0", drivers.PacketsRx, 0, 1e9), add("gpu1", "eth0", drivers.PriorityTxPackets, 0, 1e9)), nil},
		"broken frames, no packets": {add("gpu1", "eth0", drivers.ErrorsRx, 0, 10), []string{"warn gate:errors gpu1 eth0: the port received 10 frames with errors"}},
		"few broken, no packets":    {add("gpu1", "eth0", drivers.ErrorsRx, 0, 9), nil},
		"what FEC could not mend":   {add("leaf1", "Ethernet8", drivers.FECUncorrected, 0, 2), []string{"warn gate:errors leaf1 Ethernet8: forward error correction could not correct 2 code words"}},
		"RDMA in another priority": {all(add("gpu1", "eth0", drivers.RDMATxBytes, 0, 100e9), add("gpu1", "eth0", drivers.PriorityTxBytes, 3, 60e9), add("gpu1", "eth0", drivers.PriorityTxBytes, 0, 41e9)),
			[]string{"warn gate:rdma-elsewhere gpu1 eth0: the NIC sent 100GB of RDMA, but only 60GB in the priority of rdma; priority 0 41GB"}},
		"RDMA in its priority":                {all(add("gpu1", "eth0", drivers.RDMATxBytes, 0, 100e9), add("gpu1", "eth0", drivers.PriorityTxBytes, 3, 96e9), add("gpu1", "eth0", drivers.PriorityTxBytes, 0, 41e9)), nil},
		"RDMA and the notifications among it": {all(add("gpu1", "eth0", drivers.RDMATxBytes, 0, 100e6), add("gpu1", "eth0", drivers.PriorityTxBytes, 3, 60e6), add("gpu1", "eth0", drivers.CNPSent, 0, 400e3), add("gpu1", "eth0", drivers.MarkedReceived, 0, 400e3), add("gpu1", "eth0", drivers.CNPHandled, 0, 400e3)), nil},
		"RDMA elsewhere and notifications": {all(add("gpu1", "eth0", drivers.RDMATxBytes, 0, 100e6), add("gpu1", "eth0", drivers.PriorityTxBytes, 3, 60e6), add("gpu1", "eth0", drivers.CNPSent, 0, 300e3), add("gpu1", "eth0", drivers.MarkedReceived, 0, 300e3), add("gpu1", "eth0", drivers.CNPHandled, 0, 300e3)),
			[]string{"warn gate:rdma-elsewhere gpu1 eth0: the NIC sent 100MB of RDMA, but only 60MB in the priority of rdma"}},
		"RDMA of virtual functions": {add("gpu1", "eth0", drivers.PriorityTxBytes, 3, 96e9), nil},
		"RDMA that comes in another priority": {all(add("gpu1", "eth0", drivers.RDMARxBytes, 0, 100e9), add("gpu1", "eth0", drivers.PriorityRxBytes, 3, 60e9)),
			[]string{"warn gate:rdma-elsewhere gpu1 eth0: the NIC received 100GB of RDMA, but only 60GB in the priority of rdma"}},
		"RDMA in packets": {func(b, a reading) {
			b.uncountPort(a, "gpu1", "eth0", drivers.PriorityRxBytes, drivers.PriorityTxBytes)
			a.add("gpu1", "eth0", drivers.RDMATxPackets, 0, 5000).add("gpu1", "eth0", drivers.PriorityTxPackets, 3, 10).add("gpu1", "eth0", drivers.PriorityTxPackets, 0, 5100)
		}, []string{"warn gate:rdma-elsewhere gpu1 eth0: the NIC sent 5000 packets of RDMA, but only 10 packets in the priority of rdma; priority 0 5100 packets"}},
		"link pause beside more PFC": {all(add("leaf1", "Ethernet8", drivers.PFCRx, 3, 500), add("leaf1", "Ethernet8", drivers.LinkPauseRx, 0, 400)),
			[]string{"fail gate:link-pause leaf1 Ethernet8: the port received 400 frames that pause the whole link (IEEE 802.3x)"}},
		"pauses and few marks":  {all(add("leaf1", "Ethernet8", drivers.PFCTx, 3, 5000), add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 4999), add("gpu1", "eth0", drivers.MarkedReceived, 0, 5000), add("gpu1", "eth0", drivers.CNPSent, 0, 50)), []string{"warn gate:ecn-before-pfc leaf1: it sent 5000 frames for class rdma, up to 0.3 % of the time, but marked only 4999 packets"}},
		"pauses and many marks": {all(add("leaf1", "Ethernet8", drivers.PFCTx, 3, 5000), add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 5000), add("gpu1", "eth0", drivers.MarkedReceived, 0, 5000), add("gpu1", "eth0", drivers.CNPSent, 0, 50)), nil},
		"rdma errors":           {add("gpu1", "eth0", drivers.OutOfSequence, 0, 3), []string{"warn gate:rdma-error gpu1 eth0: 3 packets came out of sequence"}},
		"half the headroom":     {func(_, a reading) { a["leaf1"].Ports["Ethernet0"][drivers.HeadroomPeak.Of(3)] = 15000 }, nil},
		"much headroom":         {func(_, a reading) { a["leaf1"].Ports["Ethernet0"][drivers.HeadroomPeak.Of(3)] = 15001 }, []string{"warn gate:headroom-watermark leaf1 Ethernet0: the headroom of priority group 3 was filled to 15001 of 30000 B"}},
		"headroom filled between two polls": {func(b, a reading) {
			b["leaf1"].Ports["Ethernet0"][drivers.HeadroomPeakKept.Of(3)] = 15000
			a["leaf1"].Ports["Ethernet0"][drivers.HeadroomPeakKept.Of(3)] = 28000
		}, []string{"warn gate:headroom-watermark leaf1 Ethernet0: the headroom of priority group 3 was filled to 28000 of 30000 B, nearly all of it"}},
		"headroom filled last month": {func(b, a reading) {
			b["leaf1"].Ports["Ethernet0"][drivers.HeadroomPeakKept.Of(3)] = 28000
			a["leaf1"].Ports["Ethernet0"][drivers.HeadroomPeakKept.Of(3)] = 28000
		}, nil},
		"headroom before the window": {func(b, _ reading) { b["leaf1"].Ports["Ethernet0"][drivers.HeadroomPeak.Of(3)] = 29999 }, nil},
		"pool":                       {func(_, a reading) { a["leaf1"].Pools["pool"] = 801 }, []string{"warn gate:headroom-watermark leaf1: buffer pool pool was filled to 801B of 1KB"}},
		"a reset is never a drop": {func(b, a reading) {
			b.add("leaf1", "Ethernet0", drivers.QueuePackets, 3, 1)
			a.add("leaf1", "Ethernet0", drivers.GroupDrops, 3, 5)
		}, []string{"inconclusive gate:counter-reset leaf1 Ethernet0: counters went backwards: the counts of the window are unknown"}},
		"drops not counted": {func(b, a reading) {
			for _, m := range []drivers.Metric{drivers.GroupDrops, drivers.QueueDrops} {
				delete(a["leaf1"].Ports["Ethernet0"], m.Of(3))
				delete(b["leaf1"].Ports["Ethernet0"], m.Of(3))
			}
		}, []string{"inconclusive gate:not-counted leaf1 Ethernet0: no drops of lossless class rdma are counted, neither of queue 3 nor of priority group 3"}},
		"drops of one group of two": {func(b, a reading) {
			for _, r := range []reading{b, a} {
				delete(r["leaf1"].Ports["Ethernet0"], drivers.GroupDrops.Of(3))
			}
		}, []string{"inconclusive gate:not-counted leaf1 Ethernet0: drops of priority group 3 of lossless class rdma are not counted, and those of other ports are"}},
		"a switch without drops of groups": {func(b, a reading) { b.uncount(a, "leaf1", drivers.GroupDrops) }, nil},
		"counters that are switched off": {func(b, a reading) {
			b.uncount(a, "leaf1", drivers.GroupDrops, drivers.PFCRx, drivers.PFCTx, drivers.StormsDetected)
			a["leaf1"].Off = map[drivers.Metric]string{drivers.GroupDrops: "groups are off", drivers.PFCRx: "ports are off", drivers.PFCTx: "ports are off", drivers.LinkPauseRx: "ports are off",
				drivers.StormsDetected: "the watchdog is off", drivers.QueueMarked: "marks are off", drivers.HeadroomPeak: "peaks are off"}
		}, []string{
			"inconclusive gate:not-counted leaf1: PFC frames and frames that pause the whole link are not counted: ports are off",
			"inconclusive gate:not-counted leaf1: drops of priority groups are not counted: groups are off",
			"inconclusive gate:not-counted leaf1: storms of the PFC watchdog are not counted: the watchdog is off",
		}},
		// A counter that is off and decides nothing does not hide a finding.
		"a port without counters": {func(b, a reading) {
			delete(b["leaf1"].Ports, "Ethernet8")
			delete(a["leaf1"].Ports, "Ethernet8")
			a["leaf1"].Off = map[drivers.Metric]string{drivers.QueueMarked: "marks are off", drivers.HeadroomPeak: "peaks are off"}
		}, []string{"inconclusive gate:not-counted leaf1 Ethernet8: the port did not show its counters at both ends of the window"}},
		"a port without counters, which are off": {func(b, a reading) {
			delete(b["leaf1"].Ports, "Ethernet8")
			delete(a["leaf1"].Ports, "Ethernet8")
			a["leaf1"].Off = map[drivers.Metric]string{drivers.PFCRx: "ports are off", drivers.QueueMarked: "marks are off"}
		}, []string{"inconclusive gate:not-counted leaf1: PFC frames are not counted: ports are off"}},
		"a NIC that counts nothing here, and a port without PFC": {func(b, a reading) {
			b.uncountPort(a, "leaf1", "Ethernet0", drivers.PFCRx, drivers.PFCTx)
			for _, r := range []reading{b, a} {
				r["gpu1"] = OfHost(&nic.Host{Ports: map[string]*nic.Port{"eth0": {Counters: &nic.Counters{Named: map[string]uint64{"rx_packets": 5}}}}}, r["gpu1"].Taken)
			}
		}, []string{
			"inconclusive gate:not-counted gpu1 eth0: the NIC did not show its counters at both ends of the window",
			"inconclusive gate:not-counted leaf1 Ethernet0: no PFC frames are counted, at neither end of the link",
		}},
		"storms at one reading": {func(_, a reading) { delete(a["leaf1"].Ports["Ethernet0"], drivers.StormsDetected.Of(3)) },
			[]string{"inconclusive gate:not-counted leaf1 Ethernet0: storms of the PFC watchdog were not counted at all readings of the window"}},
		"PFC of a priority at one reading": {func(b, _ reading) { delete(b["leaf1"].Ports["Ethernet8"], drivers.PFCRx.Of(5)) },
			[]string{"inconclusive gate:not-counted leaf1 Ethernet8: PFC frames were not counted at all readings of the window"}},
		"counters that stand still": {func(b, a reading) { a.add("gpu1", "eth0", drivers.PriorityRxPackets, 0, 10_000) },
			[]string{"inconclusive gate:not-counted leaf1 Ethernet0: the port counted 0 packets sent, but gpu1/eth0 received 10000: its counters do not advance"}},
		"counters that move at both ends": {func(b, a reading) {
			a.add("gpu1", "eth0", drivers.PriorityRxPackets, 0, 10_000).add("leaf1", "Ethernet0", drivers.QueuePackets, 0, 100)
		}, nil},
		"a NIC whose counters stand still": {func(b, a reading) { a.add("leaf1", "Ethernet0", drivers.PacketsRx, 0, 10_000) },
			[]string{"inconclusive gate:not-counted gpu1 eth0: the port counted 0 packets sent, but leaf1/Ethernet0 received 10000: its counters do not advance"}},
		"PFC at one end":     {func(b, a reading) { b.uncountPort(a, "leaf1", "Ethernet0", drivers.PFCRx, drivers.PFCTx) }, nil},
		"PFC at neither end": {func(b, a reading) { b.uncountPort(a, "leaf1", "Ethernet8", drivers.PFCRx, drivers.PFCTx) }, []string{"inconclusive gate:not-counted leaf1 Ethernet8: no PFC frames are counted, at neither end of the link"}},
		"only the NIC sees the wrong priority": {func(b, a reading) {
			b.uncountPort(a, "leaf1", "Ethernet0", drivers.PFCRx, drivers.PFCTx)
			a.add("gpu1", "eth0", drivers.PFCTx, 4, 500)
		}, []string{"fail gate:wrong-priority gpu1 eth0: the port sent 500 frames that pause priority 4, which the intent calls lossy"}},
		"a NIC without counters at the end": {func(_, a reading) { delete(a["gpu1"].Ports, "eth0") }, []string{"inconclusive gate:not-counted gpu1 eth0: the NIC did not show its counters at both ends of the window"}},
		"a NIC without counters": {func(b, a reading) { delete(a["gpu1"].Ports, "eth0"); delete(b["gpu1"].Ports, "eth0") },
			[]string{"inconclusive gate:not-counted gpu1 eth0: the NIC did not show its counters at both ends of the window"}},
		"a NIC without discards at the end": {func(_, a reading) { delete(a["gpu1"].Ports["eth0"], drivers.Discards.Of(0)) },
			[]string{"inconclusive gate:not-counted gpu1 eth0: discards were not counted at all readings of the window"}},
		"a NIC whose driver counts no discards": {func(b, a reading) { b.uncount(a, "gpu1", drivers.Discards, drivers.PriorityDiscards) }, nil},
		"too short":                             {func(_, a reading) { a["leaf1"].Taken = began.Add(span - 1) }, []string{"inconclusive gate:window-too-short leaf1: it updates its counters only every 1m (headroom-peak), and a window must be at least twice as long"}},
		"too short, and drops": {all(add("leaf1", "Ethernet0", drivers.GroupDrops, 3, 5), func(_, a reading) { a["leaf1"].Taken = began.Add(time.Minute) }),
			[]string{"fail gate:lossless-drop leaf1 Ethernet0: priority group 3 of lossless class rdma dropped 5 packets", "inconclusive gate:window-too-short leaf1: it updates its counters only every 1m (headroom-peak), and a window must be at least twice as long"}},
		"slow counters that are not there": {func(b, a reading) {
			for _, r := range []reading{b, a} {
				r["leaf1"].Poll = map[drivers.Metric]time.Duration{drivers.PFCRx: time.Hour, drivers.PauseRxTime: time.Hour}
				for _, p := range r["leaf1"].Ports {
					for i := range 8 {
						delete(p, drivers.PFCRx.Of(i))
					}
				}
			}
		}, nil},
		"read once": {func(_, a reading) { delete(a, "leaf1") }, []string{"inconclusive gate:not-counted leaf1: its counters were not read at both ends of the window"}},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := read(0), read(span)
			tt.edit(before, after)
			r := Judge(fabric(), samples(before, after), Options{AllHosts: true})
			if d := cmp.Diff(tt.want, show(r.Findings)); d != "" {
				t.Error(d)
			}
			want := Pass
			if len(tt.want) > 0 {
				want = Verdict(strings.Fields(tt.want[0])[0])
			}
			if r.Verdict != want {
				t.Errorf("verdict %s, want %s", r.Verdict, want)
			}
			for _, f := range r.Findings {
				if f.Fix == "" {
					t.Errorf("%s has no fix", f.ID)
				}
			}
		})
	}
}

// TestNotAllHosts checks that the congestion control loop as a whole is not judged if hosts are
// missing.
func TestNotAllHosts(t *testing.T) {
	after := read(span).add("leaf1", "Ethernet0", drivers.QueueMarked, 3, 5000).add("gpu1", "eth0", drivers.MarkedReceived, 0, 50)
	after.add("gpu1", "eth0", drivers.CNPSent, 0, 1)
	if r := Judge(fabric(), samples(read(0), after), Options{}); r.Verdict != Pass {
		t.Errorf("%v", show(r.Findings))
	}
}

// TestBaseline checks that events at their usual rate cause no finding, and that lost packets
// always cause one.
func TestBaseline(t *testing.T) {
	with := func(errors, drops uint64, paused float64) []Sample {
		after := read(span).add("gpu1", "eth0", drivers.OutOfSequence, 0, errors).add("leaf1", "Ethernet0", drivers.GroupDrops, 3, drops)
		return samples(read(0), after.add("gpu1", "eth0", drivers.PauseRxTime, 3, uint64(paused*span.Seconds()*1e6)))
	}
	base := Judge(fabric(), with(100, 0, 0.1), Options{})
	for _, tt := range []struct {
		errors, drops uint64
		paused        float64
		want          []string
	}{
		{200, 0, 0.2, nil},
		{201, 0, 0.21, []string{PauseRatio, RDMAError}},
		{0, 1, 0, []string{LosslessDrop}},
	} {
		var ids []string
		for _, f := range Judge(fabric(), with(tt.errors, tt.drops, tt.paused), Options{Baseline: base}).Findings {
			ids = append(ids, f.ID)
		}
		if d := cmp.Diff(tt.want, ids); d != "" {
			t.Errorf("%+v: %s", tt, d)
		}
	}
}

// TestPauseScalesWithSpeed checks that the bound on pause frames grows with the port's speed.
func TestPauseScalesWithSpeed(t *testing.T) {
	for speed, warns := range map[int64]bool{25e9: true, 100e9: true, 400e9: false, 800e9: false} {
		d := fabric()[:1]
		p := d[0].Ports["Ethernet8"]
		p.Speed = units.Rate(speed)
		d[0].Ports["Ethernet8"] = p
		r := Judge(d, samples(read(0), read(span).add("leaf1", "Ethernet8", drivers.PFCRx, 3, 60_000)), Options{})
		if (r.Verdict == Warn) != warns {
			t.Errorf("%d: %v", speed, show(r.Findings))
		}
	}
}

func TestCountersOfHost(t *testing.T) {
	h := &nic.Host{Ports: map[string]*nic.Port{
		"eth0": {Counters: &nic.Counters{Pauses: true, Durations: true, Bytes: true, Named: map[string]uint64{"tx_vport_rdma_unicast_bytes": 8, "rx_crc_errors_phy": 1, "rx_symbol_err_phy": 2, "rx_discards_phy": 4, "np_cnp_sent": 5, "else": 6}}},
		"eth1": {Counters: &nic.Counters{Named: map[string]uint64{"tx_cnp_pkts": 7}}},
		"eth2": {},
	}}
	h.Ports["eth0"].Counters.Priority[3] = nic.PriorityCounters{TxBytes: 9, RxPause: 1, TxPauseDuration: 2, RxDiscards: 3, RxBufDiscards: 4}
	c := OfHost(h, began)
	if p := c.Ports["eth0"]; p[drivers.PFCRx.Of(3)] != 1 || p[drivers.PauseTxTime.Of(3)] != 2 || p[drivers.PriorityDiscards.Of(3)] != 7 || p[drivers.Discards.Of(0)] != 4 || p[drivers.CNPSent.Of(0)] != 5 || p[drivers.RDMATxBytes.Of(0)] != 8 || p[drivers.ErrorsRx.Of(0)] != 3 || p[drivers.PriorityTxBytes.Of(3)] != 9 {
		t.Errorf("eth0 %v", p)
	}
	if p := c.Ports["eth1"]; p[drivers.CNPSent.Of(0)] != 7 {
		t.Errorf("eth1 %v", p)
	}
	// A driver without counters by priority leaves all of them out.
	for _, m := range []drivers.Metric{drivers.PauseRxTime, drivers.PFCRx, drivers.PFCTx, drivers.PriorityTxBytes, drivers.PriorityTxPackets} {
		if _, ok := c.Ports["eth1"][m.Of(3)]; ok {
			t.Errorf("eth1 %v", c.Ports["eth1"])
		}
	}
	if _, ok := c.Ports["eth2"]; ok || !c.Taken.Equal(began) {
		t.Errorf("%v", c)
	}
}

// TestForwardErrorCorrection checks that code words lost by FEC count as lost packets. A link
// may lose a few in a long window, and a rollout loses some because links go down.
func TestForwardErrorCorrection(t *testing.T) {
	all := float64(400e9) * span.Seconds() / bitsOfWord
	for name, tt := range map[string]struct {
		m       drivers.Metric
		n       uint64
		class   bool
		traffic bool
		want    string
	}{
		"lossless":                     {drivers.FECUncorrected, uint64(lostWords*all) + 1, true, true, "fail gate:errors leaf1 Ethernet8"},
		"lossless, in a rollout":       {drivers.FECUncorrected, uint64(lostWords*all) + 1, true, false, "warn gate:errors leaf1 Ethernet8"},
		"no lossless class":            {drivers.FECUncorrected, uint64(lostWords*all) + 1, false, true, "warn gate:errors leaf1 Ethernet8"},
		"symbols beyond FEC":           {drivers.SymbolErrors, uint64(wrongSymbols*symbolsOfWord*all) + 1, true, true, "warn gate:errors leaf1 Ethernet8"},
		"symbols as FEC is made for":   {drivers.SymbolErrors, uint64(wrongSymbols * symbolsOfWord * all), true, true, ""},
		"code words that were mended":  {drivers.FECCorrected, uint64(all), true, true, ""},
		"no code word that was broken": {drivers.FECUncorrected, 0, true, true, ""},
	} {
		devices := fabric()
		if !tt.class {
			p := devices[0].Ports["Ethernet8"]
			p.Classes = nil
			devices[0].Ports["Ethernet8"] = p
		}
		before := read(0)
		before["leaf1"].Ports["Ethernet8"][tt.m.Of(0)] = 0
		after := read(span)
		after["leaf1"].Ports["Ethernet8"][tt.m.Of(0)] = tt.n
		got := ""
		for _, f := range show(Judge(devices, samples(before, after), Options{Traffic: tt.traffic}).Findings) {
			if strings.Contains(f, Errors) {
				got += f
			}
		}
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
