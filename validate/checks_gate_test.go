package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/counters"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// gateCase is one counter that grows in an otherwise healthy fabric.
type gateCase struct {
	id       string
	severity checks.Severity
	// The counter of device and port grows by n; a peak is set to n.
	device, port string
	metric       drivers.Metric
	index        int
	n            uint64
	// always is set if the counter had the value n before the window and does not grow in it.
	always bool
	// edit changes the last sample in another way.
	edit func(*drivers.Counters)
	// paused are ports that are paused all the time.
	paused []string
	// idle is set if no port sends a packet of a lossless class.
	idle bool
	// traced is set if the sources of pauses are searched for.
	traced      bool
	place, says string
}

var gateCases = []gateCase{
	{id: gate.LosslessDrop, severity: checks.Error, device: "leaf1", port: "Ethernet0", metric: drivers.GroupDrops, index: 3, n: 5, place: "leaf1 Ethernet0", says: "priority group 3 of lossless class rdma dropped 5 packets"},
	{id: gate.LosslessDrop, severity: checks.Error, device: "leaf1", port: "Ethernet240", metric: drivers.QueueDrops, index: 3, n: 5, place: "leaf1 Ethernet240", says: "queue 3 of lossless class rdma dropped 5 packets"},
	{id: gate.LosslessDrop, severity: checks.Warning, device: "gpu1", port: "eth0", metric: drivers.Discards, n: 5, place: "gpu1 eth0", says: "no buffer for 5 packets"},
	{id: gate.Watchdog, severity: checks.Error, device: "leaf1", port: "Ethernet0", metric: drivers.StormsDetected, index: 3, n: 1, place: "leaf1 Ethernet0", says: "queue 3 stuck once"},
	{id: gate.NICStall, severity: checks.Error, device: "gpu1", port: "eth0", metric: drivers.StallErrors, n: 1, place: "gpu1 eth0", says: "aborted its pause"},
	{id: gate.LinkPause, severity: checks.Error, device: "leaf1", port: "Ethernet0", metric: drivers.LinkPauseRx, n: 1, place: "leaf1 Ethernet0", says: "802.3x"},
	{id: gate.WrongPriority, severity: checks.Error, device: "spine1", port: "Ethernet0", metric: drivers.PFCTx, index: 5, n: 2, place: "spine1 Ethernet0", says: "sent 2 frames that pause priority 5"},
	{id: gate.PauseBefore, severity: checks.Warning, device: "spine1", port: "Ethernet0", metric: drivers.PFCTx, index: 5, n: 2, always: true, place: "spine1 Ethernet0", says: "has sent pause on priority 5"},
	{id: gate.PauseRatio, severity: checks.Warning, device: "leaf1", port: "Ethernet240", metric: drivers.PauseRxTime, index: 3, n: 6e6, place: "leaf1 Ethernet240", says: "priority 3 was paused 2.0 % of the time"},
	{id: gate.ECNBeforePFC, severity: checks.Warning, device: "leaf1", port: "Ethernet240", metric: drivers.PFCTx, index: 3, n: 4, place: "leaf1", says: "sent 4 frames for class rdma but marked none of its packets"},
	{id: gate.CNPLoop, severity: checks.Error, device: "leaf1", port: "Ethernet0", metric: drivers.QueueMarked, index: 3, n: 5000, place: "", says: "no NIC sent a congestion notification"},
	{id: gate.RDMAError, severity: checks.Warning, device: "gpu1", port: "eth0", metric: drivers.AckTimeouts, n: 3, place: "gpu1 eth0", says: "timed out"},
	{id: gate.HeadroomWatermark, severity: checks.Warning, device: "leaf1", port: "Ethernet0", metric: drivers.HeadroomPeak, index: 3, n: 290000, place: "leaf1 Ethernet0", says: "filled to 290000 of 300000 B, nearly all"},
	{id: gate.HeadroomWatermark, severity: checks.Warning, device: "leaf1", edit: func(c *drivers.Counters) { c.Pools = map[string]uint64{"ingress_lossless_pool": 66000000} }, place: "leaf1", says: "ingress_lossless_pool was filled to"},
	{id: gate.CounterReset, severity: checks.Warning, device: "leaf1", edit: func(c *drivers.Counters) { c.Ports["Ethernet0"][drivers.QueuePackets.Of(0)] = 1 }, place: "leaf1 Ethernet0", says: "counters went back"},
	{id: gate.WindowTooShort, severity: checks.Warning, device: "leaf1", edit: func(c *drivers.Counters) {
		c.Poll = map[drivers.Metric]time.Duration{drivers.GroupDrops: 3 * time.Minute}
	}, place: "leaf1", says: "updates its counters only every 3m"},
	{id: "ECN-16", severity: checks.Info, device: "leaf1", edit: func(c *drivers.Counters) {
		c.Off = map[drivers.Metric]string{drivers.QueueMarked: "wredqueue is off"}
	}, place: "leaf1", says: "ECN marks are not counted: wredqueue is off"},
	{id: gate.NotCounted, severity: checks.Warning, device: "leaf1", edit: func(c *drivers.Counters) { delete(c.Ports, "Ethernet0") }, place: "leaf1 Ethernet0", says: "the port did not show its counters"},
	{id: gate.PauseSource, severity: checks.Warning, traced: true, device: "gpu1", port: "eth0", metric: drivers.PauseTxTime, index: 3, n: 60e6, place: "gpu1 eth0", says: "lead to gpu1/eth0, which paused leaf1 20 % of the time"},
	{id: gate.Storm, severity: checks.Error, traced: true, device: "gpu1", port: "eth0", metric: drivers.PauseTxTime, index: 3, n: 299e6, place: "gpu1 eth0", says: "lead to gpu1/eth0, which stormed"},
	{id: gate.Deadlock, severity: checks.Error, traced: true, paused: []string{"leaf1/Ethernet240", "spine1/Ethernet8", "leaf2/Ethernet248", "spine2/Ethernet0"}, place: "leaf1 Ethernet240", says: "go around in a cycle of 4 ports"},
	{id: gate.EndsDisagree, severity: checks.Warning, device: "gpu1", port: "eth0", metric: drivers.PFCTx, index: 3, n: 2000, place: "gpu1 eth0", says: "leaf1/Ethernet0 received only 0"},
	{id: gate.RDMAElsewhere, severity: checks.Warning, device: "gpu1", port: "eth0", metric: drivers.RDMATxBytes, n: 5e9, place: "gpu1 eth0", says: "sent 5GB of RDMA, but only 0B in the priority of rdma"},
	{id: gate.Errors, severity: checks.Warning, device: "leaf1", port: "Ethernet240", metric: drivers.ErrorsRx, n: 20, place: "leaf1 Ethernet240", says: "20 frames with errors"},
	{id: gate.Straggler, severity: checks.Warning, device: "gpu1", port: "eth0", metric: drivers.OutOfSequence, n: 2000, place: "gpu1 eth0", says: "2000 packets came out of sequence, against 0 at most on each of"},
	{id: gate.NoTraffic, severity: checks.Warning, idle: true, says: "lossless class rdma carried no packets"},
}

// gateFindings returns the findings for the base fabric, changed by a case if c is not nil.
func gateFindings(t *testing.T, c *gateCase) []checks.Finding {
	t.Helper()
	comp := compile(t, closBase)
	f := comp.Fabric()
	run := NewRun(f)
	var devices []gate.Device
	for _, sw := range f.Switches {
		d := comp.Device(sw)
		devices = append(devices, counters.GateSwitch(d, decoded(t, saved(d))))
	}
	for _, h := range f.Hosts {
		devices = append(devices, counters.GateHost(f, h))
	}
	var samples []gate.Sample
	for _, d := range devices {
		for i := range 2 {
			s := gate.Sample{Device: d.Name, Counters: &drivers.Counters{Taken: today.Add(time.Duration(i) * 5 * time.Minute), Ports: map[string]drivers.PortCounters{}}}
			for port := range d.Ports {
				s.Ports[port] = counted(d.Host)
			}
			if i == 1 && (c == nil || !c.idle) {
				for port := range d.Ports {
					s.Ports[port][drivers.QueuePackets.Of(3)] += 700
				}
			}
			if c != nil && c.device == d.Name {
				switch {
				case c.edit != nil && i == 1:
					c.edit(s.Counters)
				case c.edit == nil && c.metric.Peak():
					s.Ports[c.port][c.metric.Of(c.index)] = c.n
				case c.edit == nil && (i == 1 || c.always):
					s.Ports[c.port][c.metric.Of(c.index)] += c.n
				}
			}
			for port := range d.Ports {
				if i == 1 && c != nil && slices.Contains(c.paused, d.Name+"/"+port) {
					s.Ports[port][drivers.PauseRxTime.Of(3)] += 300e6
				}
			}
			samples = append(samples, s)
		}
	}
	o := gate.Options{AllHosts: true, Traffic: true}
	if c != nil && c.traced {
		o.Tiers = Tiers(f)
	}
	run.Gate(gate.Judge(devices, samples, o))
	return run.Findings(today)
}

// counted returns the counters of a port that counts everything.
func counted(host bool) drivers.PortCounters {
	out := drivers.PortCounters{}
	last := drivers.GroupDrops
	if host {
		last = drivers.RDMATxPackets
	}
	for m := range last + 1 {
		for i := range 8 {
			if m == drivers.QueuePackets {
				out[m.Of(i)] = 1000
			} else if !m.Peak() {
				out[m.Of(i)] = 0
			}
		}
	}
	return out
}

func TestGateChecks(t *testing.T) {
	if fs := gateFindings(t, nil); len(fs) > 0 {
		t.Fatalf("the sound twin has findings: %v", fs)
	}
	for _, c := range gateCases {
		t.Run(c.id+" "+c.says, func(t *testing.T) {
			fs := gateFindings(t, &c)
			if len(fs) != 1 {
				t.Fatalf("%d findings: %v", len(fs), fs)
			}
			f := fs[0]
			if f.ID != c.id || f.Severity != c.severity || f.Place() != c.place || !strings.Contains(f.What, c.says) || f.Fix == "" || (f.Where == "") != (f.Device == "") {
				t.Errorf("%s %s at %q: %s; fix %q, intent %q", f.Severity, f.ID, f.Place(), f.What, f.Fix, f.Where)
			}
			check := Lookup(f.ID)
			if check == nil || !slices.ContainsFunc(check.Rules, func(r checks.Rule) bool { return r.Severity == f.Severity }) {
				t.Errorf("%s has no severity %s", f.ID, f.Severity)
			}
			open := slices.Contains([]string{gate.CounterReset, gate.WindowTooShort, gate.NotCounted, gate.NoTraffic}, f.ID)
			if (Inconclusive(fs) != nil) != open {
				t.Errorf("%s is open: %v", f.ID, !open)
			}
			fs[0].Suppressed = &checks.Suppressed{Reason: "known"}
			if Inconclusive(fs) != nil {
				t.Error("what is accepted is open")
			}
		})
	}
}

// TestGateFolds checks that equal findings on many ports become one.
func TestGateFolds(t *testing.T) {
	comp := compile(t, closBase)
	run := NewRun(comp.Fabric())
	var res gate.Result
	for i := range 3 {
		res.Findings = append(res.Findings, gate.Finding{ID: gate.CounterReset, Means: gate.Inconclusive, Device: "leaf1", Port: fmt.Sprintf("Ethernet%d", 8*i), What: "x", Fix: "y"})
	}
	run.Gate(&res)
	if fs := run.Findings(today); len(fs) != 1 || fs[0].Place() != "leaf1 Ethernet0,Ethernet8,Ethernet16" && fs[0].Place() != "leaf1 Ethernet[0-16:8]" {
		t.Errorf("%v", fs)
	}
}
