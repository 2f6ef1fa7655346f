package counters

import (
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Checks lists the checks between two readings of counters, which package gate makes.
// The run of package validate adds their findings.
var Checks = []checks.Check{
	{
		ID: gate.LosslessDrop, Title: "a lossless class lost packets",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the class is known"}, {Severity: checks.Warning, When: "where a NIC does not report the priority"}}, Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "RDMA resends everything after a lost packet, or breaks the connection",
		Fix: "give the class more headroom, and make sure that every port on the path pauses",
	},
	{
		ID: gate.Watchdog, Title: "the PFC watchdog acted",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "a queue was paused for longer than the watchdog allows, and its packets were dropped",
		Fix: "check the device attached to the port, and why it pauses",
	},
	{
		ID: gate.NICStall, Title: "a NIC paused its switch for too long",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where it gave up"}, {Severity: checks.Warning, When: "where it nearly did"}}, Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "the host does not accept packets, and its pause spreads into the fabric",
		Fix:     "find out why the host does not accept packets",
		Sources: []string{"Linux, devlink and mlx5 counters: tx_pause_storm_error_events"},
	},
	{
		ID: gate.LinkPause, Title: "link pause is in use together with PFC",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "it stops all classes, including congestion notifications and routing",
		Fix:     "turn link pause off on both ends",
		Sources: []string{"IEEE 802.1Q, 36.1.1: PFC and PAUSE are not used together"},
	},
	{
		ID: gate.WrongPriority, Title: "pause is in use on a priority that the intent calls lossy",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "lossy traffic is paused, or one end maps priorities differently",
		Fix:     "check PFC and the maps on both ends of the link",
		Sources: []string{"sonic-buildimage issue 20590"},
	},
	{
		ID: gate.PauseBefore, Title: "a port has sent pause on a priority that the intent calls lossy",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsCounters,
		Why:     "a map is or was wrong, or the ASIC does not follow its configuration",
		Fix:     "check the maps of the port; if the counts are from before a change, clear them",
		Sources: []string{"sonic-buildimage issue 20590"},
	},
	{
		ID: gate.PauseRatio, Title: "a lossless priority is paused for a large part of the time",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "congestion spreads to traffic for other destinations",
		Fix: "follow the pause to the congested port or the slow receiver",
	},
	{
		ID: gate.ECNBeforePFC, Title: "a switch pauses but does not mark",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where it marked in the baseline"}, {Severity: checks.Warning, When: "else"}}, Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "senders do not slow down, so pause is the only congestion control",
		Fix:     "start ECN marking below the level where the priority group pauses",
		Sources: []string{"Congestion Control for Large-Scale RDMA Deployments (DCQCN), SIGCOMM 2015, section 4"},
	},
	{
		ID: gate.CNPLoop, Title: "congestion notifications are not sent or are ignored",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where none is sent or handled"}, {Severity: checks.Warning, When: "where some are ignored"}}, Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "marks have no effect, so PFC is the only congestion control",
		Fix: "enable the notification point and the reaction point for the class's priority on the NICs",
	},
	{
		ID: gate.RDMAError, Title: "RDMA lost packets or waited for them",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "packets are lost or delayed on the path",
		Fix: "look for drops, cable errors, and packets classified as lossy",
	},
	{
		ID: gate.HeadroomWatermark, Title: "headroom or a buffer pool was nearly full",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "a little more load drops packets",
		Fix: "check cable length and pause response time; raise xoff, or lower the alpha of other classes",
	},
	{
		ID: gate.CounterReset, Title: "counters went backwards during the window",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "the counts are unknown, so nothing is proven",
		Fix: "look for a restart or a manual clear, and repeat the window",
	},
	{
		ID: gate.WindowTooShort, Title: "the window is too short for the counters",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "the switch updates its counters less often, so nothing is proven",
		Fix:     "use a window of at least twice the update interval",
		Sources: []string{"sonic-swss orchagent/flexcounterorch.cpp"},
	},
	{
		ID: gate.NotCounted, Title: "drops, PFC frames or storms are not counted",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "losses in a lossless class would not be counted, so nothing is proven",
		Fix: "turn the counters on, and make sure that the device can be read",
	},
	{
		ID: gate.NoTraffic, Title: "a lossless class carried no load during the window",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where it had less than 10 % of what hosts received"}, {Severity: checks.Info, When: "where some NICs carried none"}}, Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "without load there is no loss, so nothing is proven",
		Fix: "repeat the window while RDMA traffic runs",
	},
	{
		ID: gate.PauseSource, Title: "pauses lead to one NIC or port",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "everything queued behind it slows down, including traffic to other destinations",
		Fix:     "repair the slow receiver, or spread the traffic of the port that is full",
		Sources: []string{"RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.3", "Detecting, Troubleshooting, and Preventing Congestion in Storage Networks, chapter 7"},
	},
	{
		ID: gate.Storm, Title: "a NIC storms: it pauses nearly all the time and takes hardly any data",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "the pause spreads from switch to switch, until RDMA on many hosts stops",
		Fix:     "take the port of the host down, then look for a stuck driver, firmware or receiver",
		Sources: []string{"RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.3"},
	},
	{
		ID: gate.Deadlock, Title: "switches pause each other in a cycle, and nothing moves",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "a PFC deadlock does not end by itself",
		Fix:     "drain one of the ports, and keep traffic that came down from going up again",
		Sources: []string{"Deadlocks in Datacenter Networks, HotNets 2016"},
	},
	{
		ID: gate.EndsDisagree, Title: "the ends of a link contradict each other",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "one end counted PFC frames that the other end did not count as sent or received: its firmware, driver or counters are wrong, so none of its counts proves anything",
		Fix: "check firmware, driver and counters of the end that counted hardly any",
	},
	{
		ID: gate.RDMAElsewhere, Title: "a NIC sends RDMA outside of its priority",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "it is best effort for the fabric, and dropped under load",
		Fix:     "set the traffic class of the application",
		Sources: []string{"Linux, mlx5 counters: tx_vport_rdma_unicast_bytes, tx_prio0_bytes", "Linux, bnxt_re hw_counters: tx_roce_only_bytes"},
	},
	{
		ID: gate.Errors, Title: "a port receives broken frames",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where FEC loses code words of a lossless port"}, {Severity: checks.Warning, When: "for other frames with errors, and symbol errors beyond what FEC is specified for"}}, Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why:     "each is a lost packet, which lossless forwarding does not expect",
		Fix:     "clean or replace cable and transceivers, and compare FEC at both ends",
		Sources: []string{"IEEE 802.3, 116.2: the frame loss ratio of links with FEC", "IEEE 802.3, 124.1.1: the bit error ratio before FEC"},
	},
	{
		ID: gate.Straggler, Title: "a NIC misses or repeats far more packets than its rail",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeTime, Reads: checks.ReadsCounters,
		Why: "one slow rail stalls the whole collective",
		Fix: "compare the NIC, its cable and its switch port with the others",
	},
}

// GateSwitch describes a switch that runs cfg to the gate: its ports by the intent, and its
// running headroom and pools.
func GateSwitch(d *render.Device, cfg *qos.Device) gate.Device {
	out := gate.Device{Name: d.Switch.Name, Ports: map[string]gate.Port{}, Pools: map[string]int64{}}
	memory := d.Memory(cfg)
	for _, p := range d.Switch.Ports {
		want := d.Desired.Ports[p.Name]
		if want == nil {
			continue
		}
		g := gate.Port{Speed: p.Speed.V, Asymmetric: want.PFCAsymmetric.Or(false), Watched: want.Watchdog.V.Enabled, Classes: gateClasses(d, p, want)}
		for _, k := range p.Settings.Classes {
			if mayCarryRDMA(k) {
				g.RDMA |= qos.Priorities(k.Queue.V)
			}
		}
		if peer, ok := p.Peer(); ok {
			g.Peer, g.ToHost = peer, !p.Uplink()
		}
		if have := cfg.Ports[p.Name]; have != nil {
			for i := range g.Classes {
				if h := have.Groups[g.Classes[i].Group].Headroom; h.Set {
					g.Classes[i].Headroom = h.V.XOFF
				}
				if k := p.Settings.Class(g.Classes[i].Name); k != nil {
					g.Classes[i].Pause, g.Classes[i].PauseHow = pauseLevel(memory, p, k)
				}
			}
		}
		out.Ports[p.Name] = g
	}
	for name, p := range cfg.Pools {
		out.Pools[name] = p.Size
	}
	return out
}

// pauseLevel returns how much of the shared buffer the group of a class holds when it pauses, if it
// is alone, and what that rests on; 0 if it is not known.
func pauseLevel(m render.Memory, p *intent.Port, k *intent.Class) (level int64, how string) {
	pool, err := m.Pool(p, k)
	switch {
	case err != nil || pool.Slices == 0 && pool.Fixed == 0:
		return 0, ""
	case pool.Basis == catalog.OnSwitch:
		return pool.Threshold(1), "measured"
	}
	return pool.Threshold(1), "computed"
}

// gateClasses returns the lossless classes of a port.
func gateClasses(d *render.Device, p *intent.Port, want *qos.Port) []gate.Class {
	var out []gate.Class
	lossless := p.Settings.Lossless()
	for _, c := range d.Desired.Classes {
		if lossless.Has(c.Priority) {
			// A lossless class that keeps the switch's curve should mark as well.
			ecn := want.Queues[c.Queue].ECN
			out = append(out, gate.Class{Name: c.Name, Priority: c.Priority, Queue: c.Queue, Group: c.Group, Marks: ecn.V.Enabled || !ecn.Set})
		}
	}
	return out
}

// GateHost describes a host to the gate: its NICs have the classes of their switch ports.
func GateHost(f *intent.Fabric, h *intent.Host) gate.Device {
	out := gate.Device{Name: h.Name, Host: true, Ports: map[string]gate.Port{}}
	for _, n := range h.NICs {
		p := nic.SwitchPort(f, n)
		if p == nil {
			continue
		}
		at, _ := nic.Peer(n)
		g := gate.Port{Speed: p.Speed.V, Peer: at}
		for _, k := range p.Settings.Classes {
			switch {
			case k.Lossless.V:
				g.Classes = append(g.Classes, gate.Class{Name: k.Name, Priority: k.Priority.V})
			case mayCarryRDMA(k):
				g.RDMA |= qos.Priorities(k.Priority.V)
			}
		}
		out.Ports[n.Name] = g
	}
	return out
}

// mayCarryRDMA reports whether a lossy class marks packets, as classes of RDMA do.
func mayCarryRDMA(k *intent.Class) bool {
	return !k.Lossless.V && (k.ECN.Mode.V == intent.ECNFixed || k.ECN.Mode.V == intent.ECNAuto)
}

// gateSeverity maps the gate's verdicts to severities.
var gateSeverity = map[gate.Verdict]checks.Severity{gate.Fail: checks.Error, gate.Inconclusive: checks.Warning, gate.Warn: checks.Warning, gate.Pass: checks.Info}

// Counted returns the findings of one reading of a switch's counters.
func Counted(sw *intent.Switch, d gate.Device, s gate.Sample) []checks.Finding {
	var c checks.Collector
	for _, f := range gate.Before(d, s) {
		c.Add(FindingOf(f, sw.Pos.String()), f.Port)
	}
	return c.List
}

// FindingOf converts a finding of the gate; where is the position of the device in the intent.
func FindingOf(f gate.Finding, where string) checks.Finding {
	return checks.Finding{ID: f.ID, Severity: gateSeverity[f.Means], Device: f.Device, What: f.What, Fix: f.Fix, Where: where}
}
