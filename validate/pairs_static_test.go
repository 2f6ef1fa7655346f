package validate

import (
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var classPairs = []pair{
	{id: "CLS-01", severity: checks.Error, config: "leaf1", old: `"48": "6"`, new: `"48": "0"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "DSCP 48 of congestion notifications, class cnp, is in traffic class 0", fix: "apply"},
	{id: "CLS-08", severity: checks.Error, config: "leaf1", old: `"48": "6"`, new: `"48": "0"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "DSCP 48 of congestion notifications, class cnp, is in traffic class 0", fix: "apply"},
	{id: "CLS-02", severity: checks.Error, config: "leaf1", old: `"26": "3"`, new: `"26": "0"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "DSCP 26 of lossless class rdma is in traffic class 0, which is lossy", fix: "apply"},
	// A priority that the switch pauses is lossless there, whatever the intent says.
	{id: "CLS-02", severity: checks.Error, config: "leaf1", edit: func(d *qos.Device, s *checks.State) {
		onMaps(func(m *qos.Maps) { m.DSCPToTC[26] = 4 })(d, s)
		d.Ports["Ethernet0"].PFC.V |= qos.Priorities(4)
	}, place: "leaf1 Ethernet0", says: "is in traffic class 4, which the switch pauses, but which is lossy by the intent", fix: "apply", also: []string{"PFC-02", "PFC-03", "WD-03", "CLS-06"}},
	{id: "CLS-03", severity: checks.Warning, config: "leaf1", old: `"27": "0"`, new: `"27": "3"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "DSCP 27 is mapped to a lossless class", fix: "apply"},
	{id: "CLS-03", severity: checks.Warning, base: "listed", old: "dscp: [26]", new: "dscp: rest", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "lossless class rdma takes every DSCP that no other class names: 26", fix: "list the DSCPs"},
	{id: "CLS-04", severity: checks.Error, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) { d.Ports["Ethernet0"].Trust.V = qos.TrustPCP }, place: "leaf1 Ethernet0", says: "trusts pcp, the intent says dscp", fix: "apply"},
	{id: "CLS-04", severity: checks.Warning, old: "trust: dscp\n", new: "trust: pcp\n", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "classified by pcp", fix: "trust dscp", also: []string{"CLS-14"}},
	{id: "CLS-05", severity: checks.Error, config: "leaf1", edit: onMaps(func(m *qos.Maps) { m.PFCToQueue[3] = 4 }), place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "traffic class 3 uses queue 3, but pause of priority 3 belongs to queue 4", fix: "apply"},
	{id: "CLS-06", severity: checks.Error, config: "leaf1", edit: onMaps(func(m *qos.Maps) { m.TCToGroup[3], m.PFCToGroup[3] = 3, 4 }), place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "pause of priority 3 belongs to priority group 4", fix: "apply", also: []string{"PFC-03"}},
	{id: "CLS-07", severity: checks.Warning, base: "trimmed", config: "leaf1", edit: onMaps(func(m *qos.Maps) { m.TCToDSCP[1] = 8 }), place: "leaf1 Ethernet0", says: "packets of class bulk leave with DSCP 8", fix: "unless the other end of the link wants it"},
	{id: "CLS-07", severity: checks.Error, config: "leaf1", edit: onMaps(func(m *qos.Maps) { m.TCToDSCP[3] = 8 }), place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "packets of class rdma leave with DSCP 8", fix: "apply the intent"},
	{id: "CLS-09", severity: checks.Warning, base: "shares 30", old: "strict: true", new: "strict: false", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class cnp of congestion notifications has 10 % of the link", fix: "strict"},
	{id: "CLS-09", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) {
		p.Queues[0].Scheduler.V, p.Queues[6].Scheduler.V = qos.Scheduler{Strict: true}, qos.Scheduler{Weight: 5}
	}), place: "leaf1 Ethernet0", says: "has 7 % of what strict class default leaves of the link and is not strict", fix: "apply", also: []string{"SCH-02", "SCH-03"}},
	{id: "CLS-09", severity: checks.Error, base: "shares 35", old: "strict: true", new: "strict: false", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "has 5 % of the link", fix: "strict"},
	{id: "CLS-09", severity: checks.Warning, base: "notif", old: "strict: true", new: "strict: false", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "congestion notifications, DSCP 48 by default, are in class notif, which has 5 % of the link", fix: "strict"},
	{id: "CLS-09", severity: checks.Warning, old: "  cnp: {priority: 6, dscp: [48], strict: true}\n", new: "", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "DSCP 48 by default, are in class default with the rest", fix: "add a class cnp"},
	{id: "CLS-10", severity: checks.Warning, base: "no cnp", old: "dscp: [48], strict", new: "dscp: [48], lossless", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class notif carries congestion notifications", fix: "their own class", also: []string{"CLS-18", "SCH-02"}},
	{id: "CLS-10", severity: checks.Error, config: "leaf1", old: `"48": "6"`, new: `"48": "3"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "DSCP 48 of congestion notifications, class cnp, is in traffic class 3, which is lossless", fix: "apply"},
	{id: "CLS-09", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[6].Scheduler.V = qos.Scheduler{Weight: 5} }), place: "leaf1 Ethernet0", says: "class cnp of congestion notifications has 4 % of the link", fix: "apply"},
	{id: "BUF-18", severity: checks.Warning, config: "leaf1", edit: accounted(render.Line{Where: "BUFFER_PG|Ethernet0|3-4", Text: "profile: NULL", Check: "BUF-18", Why: "rows 3 and 3-4 name one priority group"}), place: "leaf1 Ethernet0", says: "rows 3 and 3-4 name one priority group", fix: "while the port is down"},
	{id: "CLS-12", severity: checks.Error, config: "leaf1", edit: accounted(render.Line{No: 3, Where: "class-map type qos match-all ROCE", Text: "match cos 3", Fate: render.Unknown, Check: "CLS-12", Why: "both must hold"}), place: "leaf1", says: "class-map type qos match-all ROCE: match cos 3: both must hold", fix: "match any"},
	{id: "CLS-16", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		d.Ports["Ethernet-Rec0"] = &qos.Port{Inside: true, Trust: qos.Of(qos.TrustNone)}
	}, place: "leaf1 Ethernet-Rec0", says: "internal to the switch and has no DSCP map", fix: "attach"},
	{id: "CLS-16", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		d.Overlays = map[string]qos.Overlay{"Ethernet0.100": {Kind: "subinterface", Ports: []string{"Ethernet0"}, Trust: qos.Of(qos.TrustPCP)}}
	}, place: "leaf1 Ethernet0", says: "subinterface Ethernet0.100 classifies by pcp, its port by dscp", fix: "trust dscp"},
	{id: "CLS-16", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		m := *d.Ports["Ethernet0"].Maps.V
		m.DSCPToTC[26] = 0
		d.Overlays = map[string]qos.Overlay{"vlan 10": {Kind: "VLAN", Ports: []string{"Ethernet0"}, Maps: qos.Of(&m)}}
	}, place: "leaf1 Ethernet0", says: "the policy of vlan 10 puts DSCP 26 of lossless class rdma into traffic class 0", fix: "as on the ports"},
	{id: "CLS-17", severity: checks.Warning, config: "leaf1", edit: accounted(render.Line{No: 3, Text: "qos map traffic-class 3 to dscp 26", Fate: render.Inert, Check: "CLS-17", Why: "it classifies nothing"}), place: "leaf1", says: "qos map traffic-class 3 to dscp 26: it classifies nothing", fix: "qos map dscp"},
	{id: "CLS-11", severity: checks.Error, base: "traffic", old: "nvme: {dscp: [26]", new: "nvme: {dscp: [27]", place: "leaf1 Ethernet0", says: "DSCP 27 of traffic nvme is in class default, which is lossy", fix: "lossless class"},
	{id: "CLS-14", severity: checks.Warning, old: "trust: dscp, mtu", new: "trust: pcp, mtu", place: "leaf3 Ethernet240,Ethernet248", says: "the port trusts pcp, on spine1,spine2 dscp", fix: "both ends", also: []string{"CLS-04"}},
	{id: "CLS-15", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		m := *d.GlobalMaps.V
		m.DSCPToTC[26] = 0
		d.GlobalMaps.V = &m
	}, place: "leaf1", says: "the DSCP map of the switch is 26:0, that of its ports is 26:3", fix: "apply"},
	// The intent says so: no CLS-04.
	{id: "CLS-19", severity: checks.Warning, old: "trust: dscp\n", new: "trust: none\n", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "trust is none", fix: "trust dscp", also: []string{"CLS-14"}},
	{id: "CLS-18", severity: checks.Warning, old: "dscp: [26]", new: "dscp: [56]", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "lossless class rdma has DSCP 56", fix: "48 and 56"},
}

var pfcPairs = []pair{
	{id: "PFC-01", severity: checks.Error, base: "spine port", old: "{lossless: true}}}}", new: "{lossless: false}}}}", place: "spine1 Ethernet0", says: "PFC is off; on leaf1 it is on for priority 3", fix: "both ends", also: []string{"PFC-07"}},
	{id: "CLS-14", severity: checks.Warning, base: "spine port", old: "trust: dscp, classes", new: "trust: pcp, classes", place: "spine1 Ethernet0", says: "trusts pcp, on leaf1 dscp", fix: "both ends", also: []string{"CLS-04"}},
	{id: "PFC-01", severity: checks.Error, old: "{lossless: true}", new: "{lossless: false}", place: "leaf3 Ethernet240,Ethernet248", says: "PFC is off; on spine1,spine2 it is on for priority 3", fix: "both ends", also: []string{"PFC-07"}},
	{id: "PFC-07", severity: checks.Error, old: "{lossless: true}", new: "{lossless: false}", place: "leaf3 Ethernet0", says: "class rdma is lossy here, but lossless on 12 ports of its paths", fix: "lossy everywhere", also: []string{"PFC-01"}},
	{id: "PFC-13", severity: checks.Error, base: "dual tor", old: "classes: {bounce: {lossless: false}}, ports", new: "classes: {bounce: {lossless: true}}, ports", place: "leaf3 Ethernet240,Ethernet248", says: "class bounce is used only inside tunnels, but is lossless here", fix: "lossy", also: []string{"PFC-01"}},
	{id: "PFC-02", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.PFC.V = 0 }), place: "leaf1 Ethernet0", says: "PFC is off; the intent has it on for priority 3 at both ends", fix: "switch"},
	{id: "PFC-03", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Groups[3] = qos.Group{Lossless: qos.Of(false)} }), place: "leaf1 Ethernet0", says: "PFC is on for priority 3, and priority group 3 is not lossless", fix: "apply the intent"},
	{id: "PFC-04", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Groups[4] = p.Groups[3] }), place: "leaf1 Ethernet0", says: "priority group 4 is lossless", fix: "apply the intent"},
	// The group is as intended, and there is no other end to compare PFC with.
	{id: "PFC-04", severity: checks.Error, base: "spare 3", config: "leaf1", edit: on("Ethernet16", func(p *qos.Port) { p.PFC.V = 0 }), place: "leaf1 Ethernet16", says: "priority group 3 is lossless, but PFC is off", fix: "apply the intent"},
	{id: "PFC-05", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.LinkPause = qos.Of(true) }), place: "leaf1 Ethernet0", says: "802.3x", fix: "off"},
	{id: "PFC-06", severity: checks.Warning, base: "three", old: "lossless: false", new: "lossless: true", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "3 lossless classes: priorities {3,4,5}", fix: "two"},
	{id: "PFC-06", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, s *checks.State) {
		onMaps(func(m *qos.Maps) { m.TCToGroup[4], m.TCToGroup[5] = 4, 5 })(d, s)
		p := d.Ports["Ethernet0"]
		p.PFC.V, p.Groups[4], p.Groups[5] = qos.Priorities(3, 4, 5), p.Groups[3], p.Groups[3]
	}, place: "leaf1 Ethernet0", says: "PFC is on for priorities 3, 4 and 5", fix: "apply the intent", also: []string{"PFC-04", "WD-03"}},
	{id: "PFC-06", severity: checks.Error, config: "leaf1", edit: func(d *qos.Device, s *checks.State) {
		d.Platform.RoCEMode = true
		d.Ports["Ethernet0"].PFC.V = qos.Priorities(3, 4, 5)
	}, place: "leaf1 Ethernet0", says: "can have 2 lossless classes", fix: "apply the intent", also: []string{"PFC-04", "WD-03", "PFC-02", "DRIFT"}},
	{id: "PFC-06", severity: checks.Warning, base: "bounces", old: "lossless: false, bandwidth: 1%", new: "lossless: true, bandwidth: 1%", place: "leaf1 Ethernet240,Ethernet248", says: "5 lossless classes: priorities {1,2,3,4,5}", fix: "two"},
	{id: "PFC-08", severity: checks.Warning, old: "asymmetric: false, watchdog: {detect: 400ms}", new: "asymmetric: true, watchdog: {detect: 400ms}", place: "leaf3 Ethernet240,Ethernet248", says: "asymmetric PFC is on, on spine1,spine2 off", fix: "both"},
	{id: "PFC-09", severity: checks.Warning, base: "rails", old: "eth1: {rdma: mlx5_1}", new: "eth1: {}", place: "leaf2 Ethernet0", says: "no RDMA device", fix: "rdma"},
	{id: "PFC-10", severity: checks.Error, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		s.InForce = []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindPFC.Attr(), Want: "priority 3 paused", Have: "the mode is auto", Fix: "priority-flow-control mode on"}}
	}, place: "leaf1 Ethernet0", says: "the mode is auto", fix: "mode on"},
	{id: "PFC-10", severity: checks.Info, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		s.InForce = []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindPFC.Attr(), Want: "{3}", Have: "the bitmap (28)", Unsure: true}}
	}, place: "leaf1 Ethernet0", says: "could not confirm that pfc is in force as {3}: the bitmap (28)", fix: "on the switch"},
	{id: "PFC-10", severity: checks.Error, config: "leaf1", edit: func(d *qos.Device, s *checks.State) {
		d.Ports["Ethernet0"].PFC.V = qos.Priorities(3, 4)
		s.InForce = []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindPFC.Attr(), Want: "{3,4}", Have: "{3}"}}
	}, place: "leaf1 Ethernet0", says: "pfc is configured as {3,4} and in force as {3}", fix: "log", also: []string{"PFC-02", "PFC-03"}},
	{id: "PFC-11", severity: checks.Warning, config: "leaf1", old: `"xon_offset": "2540"`, new: `"xon_offset": "0"`, place: "leaf1 Ethernet240,Ethernet248", says: "neither xon nor an xon offset", fix: "two frames"},
	{id: "PFC-11", severity: checks.Warning, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) {
		p.Groups[3].Headroom.V = qos.Headroom{Size: 500000, XON: 200000, XOFF: 300000, Threshold: 200000, Static: true}
	}), place: "leaf1 Ethernet0", says: "priority group 3 pauses and resumes at 200000 B", fix: "two frames", also: []string{"ECN-04"}},
	{id: "PFC-11", severity: checks.Warning, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) {
		p.Groups[3].Headroom.V = qos.Headroom{Size: 500000, XON: 250000, XOFF: 300000, Threshold: 200000, Static: true}
	}), place: "leaf1 Ethernet0", says: "priority group 3 pauses at 200000 B and resumes at 250000 B, which is more", fix: "two frames", also: []string{"ECN-04"}},
	{id: "PFC-16", severity: checks.Warning, base: "lossy", old: ", mode: lossy", new: "", place: "gpu1 eth0", says: "the host has the RDMA device mlx5_0, and no class is lossless", fix: "mode: lossy"},
	{id: "PFC-16", severity: checks.Warning, base: "lossless", old: "lossless: true", new: "lossless: false", place: "", says: "class rdma is not lossless, and no other class is", fix: "mode: lossy", also: []string{"CLS-09"}},
	{id: "PFC-12", severity: checks.Warning, base: "pair", old: "rdma: {priority: 3,", new: "rdma: {priority: 7,", place: "leaf1 Ethernet0,Ethernet8", says: "class rdma makes priority 7 lossless", fix: "1 to 5"},
}

var bufferPairs = []pair{
	{id: "BUF-01", severity: checks.Error, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Groups[3].Headroom.V.XOFF = 25000 }), place: "leaf1 Ethernet240", says: "priority group 3 has xoff 25000 B, below the floor of 28587 B", fix: "xoff", also: []string{"BUF-06", "PRT-03"}},
	{id: "BUF-01", severity: checks.Info, base: "table", old: "cable: 40m", new: "cable: 300m", place: "leaf1 Ethernet0,Ethernet4", says: "the platform ships no more for the cable", fix: "raise the row"},
	{id: "BUF-01", severity: checks.Info, base: "row", config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Groups[3].Headroom.V.XOFF = 55120 }), place: "leaf1 Ethernet0", says: "the platform ships no more for the cable", fix: "raise xoff", also: []string{"BUF-06", "PRT-03"}},
	{id: "BUF-01", severity: checks.Warning, base: "row", config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Groups[3].Headroom.V.XOFF = 55119 }), place: "leaf1 Ethernet0", says: "xoff 55119 B, 40404 B below the ieee-quanta model", fix: "raise xoff", also: []string{"BUF-06", "PRT-03"}},
	{id: "BUF-01", severity: checks.Warning, base: "spc4 slow", old: "pauseResponse: 905q", new: "pauseResponse: 9050q", place: "spine1 Ethernet16", says: "which sonic computes, is 587613 B below the ieee-quanta model", fix: "more xoff", also: []string{"BUF-16"}},
	{id: "BUF-01", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Groups[3].Headroom.V.XOFF = 60000 }), place: "leaf1 Ethernet240", says: "priority group 3 has xoff 60000 B, 53535 B below the ieee-quanta model", fix: "raise xoff", also: []string{"BUF-06", "PRT-03"}},
	{id: "BUF-01", severity: checks.Warning, base: "fan out", old: "{fanOut: 2, pauseResponse: 900q}", new: "{fanOut: 2, pauseResponse: 900q, minLosslessPacket: 65B}", place: "leaf1 Ethernet0", says: "B): packets of 65B take more cells than it has", fix: "raise the row"},
	{id: "BUF-01", severity: checks.Info, base: "spc3", old: "cable: 2000m", new: "cable: 40m", place: "leaf1 Ethernet0,Ethernet8", says: "(103376 B), and by the chip maker's own test a group fills only 94928 B of it", fix: "overSubscription"},
	{id: "BUF-01", severity: checks.Info, base: "spc2", old: "cable: 2000m", new: "cable: 40m", place: "leaf1 Ethernet0,Ethernet4", says: "a group fills only", fix: "overSubscription"},
	{id: "BUF-01", severity: checks.Info, base: "spc4 alone", config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) {
		p.Groups[3].Headroom = qos.Of(qos.Headroom{Size: 150_000, XON: 38912, XOFF: 110592})
	}), place: "leaf1 Ethernet0", says: "priority group 3 has xoff 110592 B", fix: "overSubscription", also: []string{"DRIFT", "BUF-09", "PRT-03"}},
	{id: "BUF-02", severity: checks.Error, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Cable.V = 5 }), place: "leaf1 Ethernet240", says: "assumes a cable of 5m, the intent says 40m", fix: "apply"},
	{id: "BUF-04", severity: checks.Error, base: "spc4", old: "cable: 40m", new: "cable: 1000m", place: "leaf1 Ethernet240,Ethernet248", says: "its lossless priority groups use", fix: "fewer lossless classes"},
	{id: "BUF-05", severity: checks.Warning, base: "shared", old: "overSubscription: 4", new: "overSubscription: 3", place: "leaf1", says: "the headroom of 32 lossless groups is 5120000 B, 3.16 times the pool of 1622016 B; declared is 3.00", fix: "declare"},
	{id: "BUF-06", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Groups[3].Headroom.V.XOFF = 200000 }), place: "leaf1 Ethernet240", says: "xoff for 400G and 40m is 200000 B, less than the 300000 B for 400G and", fix: "vendor", also: []string{"PRT-03"}},
	{id: "BUF-07", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[3].Buffer.V = "egress_lossy_profile" }), place: "leaf1 Ethernet0", says: "queues[3].buffer is egress_lossy_profile", fix: "apply"},
	{id: "BUF-08", severity: checks.Error, config: "leaf1", old: `"static_th": "67117468"`, new: `"static_th": "3456789"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "is limited to 3456789 B, the ingress pool has 66394076 B", fix: "as large as the pool"},
	{id: "BUF-09", severity: checks.Warning, base: "spc4", old: "buffers: {alpha: 0}", new: "buffers: {alpha: 1}", place: "leaf3 Ethernet0,Ethernet240,Ethernet248", says: "alpha of lossless groups is 2^1, on 6 of 9 ports", fix: "one buffers.alpha"},
	{id: "BUF-09", severity: checks.Warning, old: `"192.0.2.22:8080", model: DellEMC-Z9332f-O32`, new: `"192.0.2.22:8080", model: DellEMC-Z9332f-O32, buffers: {alpha: -4}`, place: "spine2 Ethernet[0-16:8]", says: "alpha of lossless groups is 2^-4, on 3 of 6 ports (th3 of role spine) 2^-2 by default", fix: "one buffers.alpha"},
	{id: "BUF-09", severity: checks.Warning, base: "alpha of a class", old: "{alpha: 0}", new: "{alpha: -4}", place: "spine2 Ethernet[0-16:8]", says: "alpha of lossless groups is 2^-4, on 3 of 6 ports (th3 of role spine) 2^0", fix: "one buffers.alpha"},
	{id: "BUF-09", severity: checks.Warning, base: "alpha", config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Groups[3].Headroom.V.Threshold = -4 }), place: "leaf1 Ethernet0", says: "alpha of lossless groups is 2^-4, the intent says 2^0", fix: "a plan does not", also: []string{"PRT-03"}},
	{id: "BUF-14", severity: checks.Warning, base: "th many", old: "cable: 40m", new: "cable: 300m", place: "leaf1", says: "of 13 lossless groups with 3493568 B of headroom, one of the chip's 4 slices has at least 1074944 B, 1.03 times its part of the headroom pool, 1048528 B", fix: "overSubscription"},
	{id: "BUF-14", severity: checks.Info, base: "th sixteen", old: "cable: 40m", new: "cable: 300m", place: "leaf1", says: "of 16 lossless groups with 4299776 B of headroom, one of the chip's 4 slices has at least 1074944 B", fix: "overSubscription"},
	{id: "BUF-10", severity: checks.Warning, base: "th", old: "fanIn: 4", new: "fanIn: 1024", place: "leaf1 Ethernet0,Ethernet4", says: "with 1024 senders a group of class rdma pauses at", fix: "alpha"},
	{id: "BUF-11", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		b := d.Profiles["ingress_lossy_profile"]
		b.Static, b.Threshold = false, 1
		d.Profiles["ingress_lossy_profile"] = b
	}, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "lossy priority group 0 (ingress_lossy_profile) has alpha 2^1", fix: "smaller alpha"},
	{id: "BUF-15", severity: checks.Error, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		s.InForce = []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindLossless.At(3), Want: "true", Have: "false"}}
	}, place: "leaf1 Ethernet0", says: "groups[3].lossless is configured as true and in force as false", fix: "log"},
	{id: "BUF-19", severity: checks.Warning, base: "measured", old: "pause: 3800000B", new: "pause: 3400000B", place: "leaf1 Ethernet0,Ethernet8", says: "a group of class rdma was measured to pause at 3400000 B (probe of leaf1); by the template it pauses at 3848760 B", fix: "measure again"},
	{id: "BUF-01", severity: checks.Error, base: "measured", old: "headroom: 150000B", new: "headroom: 202KB", place: "leaf1 Ethernet0,Ethernet8", says: "xoff 201930 B of the DellEMC-Z9332f-O32 row for 40m is less than the 202000 B that were measured to arrive after a pause (probe of leaf1, 2026-11-01)", fix: "raise the row"},
	{id: "BUF-16", severity: checks.Warning, base: "th2", old: "leaf2: {os: sonic, address: \"192.0.2.2:8080\", model: Arista-7260CX3-C64}", new: "leaf2: {os: sonic, address: \"192.0.2.2:8080\", model: Cisco-8102-C64}", place: "leaf1 Ethernet[0-32:4]", says: "the other switch is of a model that obeys a pause late: at 100G, neighbours needed 160000 B of headroom, and xoff is 59696 B", fix: "raise xoff"},
	{id: "BUF-16", severity: checks.Warning, base: "fan out", old: "pauseResponse: 900q", new: "pauseResponse: 910q", place: "leaf1 Ethernet240,Ethernet248", says: "the other switch sends up to 58240 B after a pause at 400G, the standard allows 57920 B", fix: "raise xoff"},
	{id: "BUF-17", severity: checks.Warning, base: "spc4", old: "minLosslessPacket: 1024B", new: "minLosslessPacket: 64B", place: "leaf1 Ethernet0", says: "packets of 64B need xoff 215651 B", fix: "LOSSLESS_TRAFFIC_PATTERN"},
	{id: "BUF-17", severity: checks.Warning, base: "spc4", config: "leaf1", edit: func(d *qos.Device, _ *checks.State) { d.HeadroomModel.V.SmallPacketPercent = 0 }, place: "leaf1 Ethernet0", says: "the switch computes headroom for 0 % small packets", fix: "small_packet_percentage", also: []string{"DRIFT", "BUF-09"}},
	{id: "BUF-17", severity: checks.Warning, base: "spc4", old: "minLosslessPacket: 1024B", new: "minLosslessPacket: 65B", place: "leaf1 Ethernet0", says: "packets of 65B need xoff 212398 B", fix: "LOSSLESS_TRAFFIC_PATTERN"},
	{id: "BUF-03", severity: checks.Error, base: "pair", old: "cable: 40m", new: "cable: 20km", place: "leaf1 Ethernet0,Ethernet8", says: "no headroom row of DellEMC-Z9332f-O32 for 400G and 20000m", fix: "longest cable it can carry lossless is"},
}

var ecnPairs = []pair{
	{id: "ECN-01", severity: checks.Error, base: "pair", old: "ecn: {min: 150KB, max: 1500KB, probability: 10%}", new: "ecn: off", place: "leaf1 Ethernet0,Ethernet8", says: "lossless class rdma has no ECN: PFC is its only congestion control", fix: "ecn: auto"},
	{id: "ECN-01", severity: checks.Error, base: "lossy", old: "ecn: {min: 150KB, max: 1500KB, probability: 10%}, mode", new: "ecn: off, mode", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class rdma of RDMA without PFC has no ECN", fix: "ecn: auto"},
	{id: "ECN-02", severity: checks.Error, old: "min: 150KB", new: "min: 1500KB", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class rdma has min = max = 1500KB with a probability of 10 %", fix: "100%"},
	{id: "ECN-03", severity: checks.Error, base: "fan out", old: "fanOut: 2", new: "fanOut: 512", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class rdma marks from 150KB; one port that sends into 512 queues pauses", fix: "auto"},
	{id: "ECN-03", severity: checks.Warning, base: "fan out", old: "fanOut: 2", new: "fanOut: 8", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class rdma marks every packet from 1500KB; one port that sends into 8 queues pauses", fix: "auto"},
	{id: "ECN-04", severity: checks.Warning, base: "pair", old: "max: 1500KB", new: "max: 10MB", place: "leaf1 Ethernet0,Ethernet8", says: "class rdma marks every packet from 10MB, and 1 group that feeds one queue may hold", fix: "set max below"},
	{id: "ECN-05", severity: checks.Warning, base: "curve", old: "probability: 10%}}}", new: "probability: 20%}}}", place: "leaf3 Ethernet240,Ethernet248", says: "the curve is 150KB..1500KB 20%, on 4 of 6 ports (class rdma at 400G of role leaf towards switches) 150KB..1500KB 10%", fix: "one curve"},
	{id: "ECN-05", severity: checks.Warning, base: "spine", old: "ecn: {min: 150KB, max: 1500KB, probability: 10%}}}", new: "ecn: {min: 140KB, max: 1500KB, probability: 10%}}}", place: "spine2 Ethernet[0-16:8]", says: "the curve is 140KB..1500KB 10%, on 3 of 6 ports (class rdma at 400G of role spine towards switches) 150KB..1500KB 10%", fix: "one curve"},
	{id: "ECN-05", severity: checks.Warning, base: "spine", old: "ecn: {min: 150KB, max: 1500KB, probability: 10%}}}", new: "ecn: {auto: true, probability: 10%}}}", place: "spine2 Ethernet[0-16:8]", says: "10% by ecn: auto, on 3 of 6 ports (class rdma at 400G of role spine towards switches) 150KB..1500KB 10%", fix: "one curve"},
	{id: "ECN-07", severity: checks.Warning, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[3].ECN.V.Probability = 100 }), place: "leaf1 Ethernet0", says: "class rdma marks 100 % of the packets at a queue of 1500KB, the intent says 10 %: 90 points apart", fix: "apply"},
	{id: "ECN-08", severity: checks.Error, config: "leaf1", old: `"ecn": "ecn_all"`, new: `"ecn": "ecn_none"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "drops packets and marks none", fix: "switch ECN on"},
	{id: "ECN-09", severity: checks.Error, config: "leaf1", old: `"wred_green_enable": "true"`, new: `"wred_green_enable": "false"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "has the curve 150KB..1500KB 10% inert", fix: "wred_green_enable"},
	{id: "ECN-10", severity: checks.Warning, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[3].ECN.V.Weight = 9 }), place: "leaf1 Ethernet0", says: "an average of weight 9", fix: "weight 0"},
	{id: "ECN-15", severity: checks.Warning, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[3].ECN.V.Unit = qos.UnitSegments }), place: "leaf1 Ethernet0", says: "in segments, while the intent uses bytes", fix: "bytes"},
	{id: "ECN-06", severity: checks.Warning, base: "pair", old: "min: 150KB", new: "min: 50KB", place: "leaf1 Ethernet0,Ethernet8", says: "a queue of 1µs to 30µs at 400G", fix: "scale"},
}

var schedulerPairs = []pair{
	{id: "SCH-02", severity: checks.Error, base: "limited", old: ", maxRate: 10G", new: "", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "strict class voice has no rate limit and is served before lossless class rdma", fix: "bandwidth"},
	{id: "SCH-02", severity: checks.Error, base: "limited", config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[5].Scheduler.V.MaxRate = 0 }), place: "leaf1 Ethernet0", says: "strict class voice has no rate limit", fix: "apply the intent", also: []string{"SCH-03"}},
	{id: "SCH-03", severity: checks.Warning, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[0].Scheduler.V = qos.Scheduler{Strict: true} }), place: "leaf1 Ethernet0", says: "strict class default has no rate limit and is served before lossless class rdma", fix: "apply", also: []string{"SCH-02"}},
	{id: "SCH-03", severity: checks.Warning, config: "leaf1", old: `"weight": "60"`, new: `"weight": "40"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class rdma has 50 % of the link, the intent says 60 %", fix: "apply"},
	{id: "SCH-05", severity: checks.Warning, old: "dscp: [48]", new: "dscp: [48-51]", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "takes 4 DSCPs and has no maxRate", fix: "maxRate"},
	{id: "SCH-06", severity: checks.Warning, base: "traffic", old: "nvme: {dscp: [26], kind: gpu}", new: "nvme: {dscp: [26], kind: storage}", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "gpu traffic nccl and storage traffic nvme share lossless class rdma", fix: "a class"},
	{id: "SCH-07", severity: checks.Warning, base: "kept shares", config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[0].Scheduler = qos.Of(qos.Scheduler{}) }), place: "leaf1 Ethernet0", says: "queue 0 of class default has weight 0", fix: "state the bandwidth"},
	{id: "SCH-07", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[0].Scheduler.V.Weight = 0 }), place: "leaf1 Ethernet0", says: "queue 0 of class default has weight 0", fix: "apply"},
}

var mtuPairs = []pair{
	{id: "MTU-01", severity: checks.Info, old: "fabric: 9100}, classes", new: "fabric: 9000}, classes", place: "leaf3 Ethernet240,Ethernet248", says: "its MTU is 9000 B, that of spine1,spine2 is 9100 B", fix: "one mtu.fabric"},
	{id: "MTU-01", severity: checks.Error, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.MTU.V = 8000 }), place: "leaf1 Ethernet240", says: "its MTU is 8000 B, that of spine1 is 9100 B", fix: "apply the intent to leaf1"},
	{id: "MTU-02", severity: checks.Error, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.MTU.V = 1500 }), place: "leaf1 Ethernet240", says: "its MTU is 1500 B, that of spine1 is 9100 B: full RDMA packets (4192 B with headers) are lost", fix: "apply the intent to leaf1"},
	{id: "MTU-02", severity: checks.Error, base: "small", old: "fabric: 4200", new: "fabric: 4100", place: "spine1 Ethernet[0-16:8]", says: "its MTU is 4100 B, that of leaf[1-3] is 9100 B: full RDMA packets (4192 B", fix: "raise"},
	{id: "MTU-01", severity: checks.Error, base: "vxlan", config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.MTU.V = 9099 }), place: "leaf1 Ethernet240", says: "its MTU is 9099 B, that of spine1 is 9100 B: packets of 9050 B have 9100 B in VXLAN and are lost", fix: "apply the intent to leaf1"},
	{id: "MTU-02", severity: checks.Error, base: "vxlan", config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.MTU.V = 4241 }), place: "leaf1 Ethernet240", says: "full RDMA packets (4242 B with headers and VXLAN) are lost", fix: "apply the intent to leaf1"},
	{id: "MTU-06", severity: checks.Error, base: "vxlan", old: "underlay: ipv4", new: "underlay: ipv6", place: "leaf1 Ethernet240,Ethernet248", says: "its MTU is 9100 B, as that of spine1,spine2: packets of 9050 B have 9120 B in VXLAN and are lost", fix: "raise mtu.fabric"},
	{id: "MTU-06", severity: checks.Error, base: "vxlan", old: "innerTag: false", new: "innerTag: true", place: "leaf1 Ethernet240,Ethernet248", says: "packets of 9050 B have 9104 B in VXLAN", fix: "raise mtu.fabric"},
	{id: "MTU-05", severity: checks.Error, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		s.InForce = []drivers.Mismatch{{Port: "Ethernet240", Field: qos.KindMTU.Attr(), Want: "9100", Have: "class c-8q-nq3 has room for 1500 bytes", Fix: "mtu 9216"}}
	}, place: "leaf1 Ethernet240", says: "class c-8q-nq3 has room for 1500 bytes, but the port must carry 9100", fix: "mtu 9216"},
	{id: "MTU-03", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.MTU.V = 8000 }), place: "leaf1 Ethernet0", says: "accepts packets of up to 8000 B; by the intent, hosts send up to 9000 B", fix: "switch"},
}

var watchdogPairs = []pair{
	{id: "WD-01", severity: checks.Error, old: "watchdog: {detect: 400ms, restore: 400ms, poll: 200ms, action: drop}", new: "watchdog: off", place: "leaf1 Ethernet0", says: "off on lossless ports towards hosts", fix: "on", also: []string{"WD-02"}},
	{id: "WD-03", severity: checks.Warning, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Watchdog.V.Priorities = 1 << 4 }), place: "leaf1 Ethernet0", says: "lossless priorities {3} are not watched", fix: "apply"},
	{id: "WD-05", severity: checks.Warning, old: "{detect: 400ms}", new: "{detect: 600ms}", place: "leaf3 Ethernet240,Ethernet248", says: "detect 600ms restore 400ms, on 4 of 6 ports of role leaf towards switches", fix: "role"},
	{id: "WD-05", severity: checks.Warning, base: "slow", old: "detect: 900ms", new: "detect: 1100ms", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "a PFC storm lasts 1.1s", fix: "1s"},
	{id: "WD-05", severity: checks.Warning, base: "spine", old: "{restore: 400ms}", new: "{restore: 500ms}", place: "spine2 Ethernet[0-16:8]", says: "detect 400ms restore 500ms, on 3 of 6 ports of role spine towards switches drop detect 400ms restore 400ms", fix: "role"},
	{id: "WD-02", severity: checks.Warning, old: "watchdog: {detect: 400ms, restore: 400ms, poll: 200ms, action: drop}", new: "watchdog: off", place: "leaf1 Ethernet240,Ethernet248", says: "off on lossless ports towards switches", fix: "broken", also: []string{"WD-01"}},
}

var topologyPairs = []pair{
	{id: "ECN-14", severity: checks.Warning, base: "curve", old: "ecn: {min: 150KB, max: 1500KB, probability: 10%}}}", new: "ecn: off}}", place: "leaf3 Ethernet0,Ethernet240,Ethernet248", says: "class rdma has no ECN marking here", fix: "ECN", also: []string{"ECN-01"}},
	{id: "ECN-14", severity: checks.Warning, base: "marked", config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Queues[2].ECN.V = qos.ECN{} }), place: "leaf1 Ethernet240", says: "queues[2].ecn is off, the intent says", fix: "apply"},
	{id: "ISL-01", severity: checks.Error, base: "islands", old: "spine2]", new: "spine1]", place: "spine2 Ethernet0,Ethernet8", says: "traffic of island a (rdma) enters", fix: "island"},
	{id: "ISL-02", severity: checks.Warning, base: "islands", old: "a: leaf3/Ethernet8", new: "a: leaf1/Ethernet8", place: "spine1 Ethernet0", says: "island a and island b share the ports in class rdma", fix: "own"},
	{id: "TOP-01", severity: checks.Error, base: "dual tor", old: "as: bounce", new: "as: rdma", place: "leaf2 Ethernet240", says: "8 buffers of class rdma wait in a cycle of 4: leaf2 Ethernet240 waits for spine1, which traffic to leaf2 leaves by Ethernet240", fix: "remap", also: []string{"TOP-05", "PFC-07"}},
	{id: "TOP-01", severity: checks.Error, base: "dual tor", old: "ports: {Ethernet0: {classes: {bounce: {lossless: false}}}}}\n  leaf3", new: "ports: {Ethernet0: {classes: {bounce: {lossless: true}}}}}\n  leaf3", place: "leaf2 Ethernet240", says: "8 buffers of class bounce wait in a cycle of 4: ", fix: "make it lossy on host ports, such as leaf1 Ethernet0", also: []string{"PFC-07"}},
	{id: "TOP-02", severity: checks.Warning, base: "tiers", old: "role:superspine", new: "role:spine", place: "spine1 Ethernet240", says: "without any of 8 links between leaf[1-4] and spine[1-4]: ", fix: "valley-free", also: []string{"TOP-03"}},
	{id: "TOP-03", severity: checks.Warning, base: "tiers", old: "role:superspine", new: "role:spine", place: "spine1 Ethernet240", says: "traffic that came down goes up again on 2 switches; on spine1, without the link leaf1/Ethernet240 - spine1/Ethernet0: traffic to leaf1 arrives through Ethernet240 and leaves through Ethernet240", fix: "policy", also: []string{"TOP-02"}},
	{id: "TOP-02", severity: checks.Warning, base: "tiers", old: "role:superspine", new: "role:leaf", place: "spine1 Ethernet0", says: "without any of 4 links to hosts of leaf[1-4]: 2 buffers", fix: "valley-free", also: []string{"TOP-03"}},
	{id: "TOP-03", severity: checks.Warning, base: "tiers", old: "role:superspine", new: "role:leaf", place: "leaf1 Ethernet240", says: "traffic that came down goes up again on 4 switches; on leaf1, without the link leaf1/Ethernet0 - gpu1/eth0: traffic to leaf1 arrives through Ethernet240 and leaves through Ethernet240", fix: "policy", also: []string{"TOP-02"}},
	{id: "TOP-03", severity: checks.Error, base: "chain", old: "leaf3/Ethernet240, b: spine1", new: "leaf3/Ethernet240, b: spine2", place: "leaf2 Ethernet240", says: "traffic to leaf3 comes down through Ethernet240 and goes up again through Ethernet248", fix: "policy"},
	{id: "TOP-05", severity: checks.Error, base: "dual tor", old: "as: bounce", new: "as: rdma", place: "leaf1", says: "class rdma keeps its priority in the tunnel to leaf2", fix: "remap", also: []string{"TOP-01", "PFC-07"}},
	{id: "TUN-01", severity: checks.Error, base: "dual tor", config: "leaf1", edit: tunnel(qos.Tunnel{Kind: "ip-in-ip", Encap: qos.Of(qos.DSCPPipe), OuterDSCP: qos.Of(2)}), place: "leaf1", says: "tunnel T gives every outer header DSCP 2", fix: "uniform"},
	{id: "TUN-01", severity: checks.Warning, config: "leaf1", edit: tunnel(qos.Tunnel{Kind: "vxlan", Encap: qos.Of(qos.DSCPPipe)}), place: "leaf1", says: "one of its own", fix: "uniform"},
	{id: "TUN-02", severity: checks.Warning, config: "leaf1", edit: tunnel(qos.Tunnel{Kind: "vxlan", ECNEncap: qos.Of(true), ECNDecap: qos.Of(false)}), place: "leaf1", says: "does not copy marks of the underlay to the inner packet", fix: "both ways"},
	{id: "TUN-02", severity: checks.Warning, config: "leaf1", edit: tunnel(qos.Tunnel{Kind: "vxlan", ECNEncap: qos.Of(false), ECNDecap: qos.Of(false)}), place: "leaf1", says: "nor marks back", fix: "both ways"},
	{id: "TUN-01", severity: checks.Error, base: "vxlan", config: "leaf1", edit: tunnel(qos.Tunnel{Kind: "vxlan", Encap: qos.Of(qos.DSCPPipe)}), place: "leaf1", says: "one of its own", fix: "uniform", also: []string{"TUN-03"}},
	{id: "TUN-01", severity: checks.Info, base: "vxlan", config: "leaf1", edit: tunnel(qos.Tunnel{Kind: "vxlan"}), place: "leaf1", says: "does not show which DSCP the outer headers", fix: "capture"},
	{id: "TUN-02", severity: checks.Error, base: "vxlan", config: "leaf1", edit: tunnel(qos.Tunnel{Kind: "vxlan", ECNEncap: qos.Of(false)}), place: "leaf1", says: "so that the underlay cannot mark", fix: "both ways"},
	{id: "TUN-02", severity: checks.Info, base: "vxlan", config: "leaf1", edit: tunnel(qos.Tunnel{Kind: "vxlan", ECNEncap: qos.Of(true)}), place: "leaf1", says: "does not show whether its VXLAN tunnels copy ECN", fix: "capture"},
	{id: "TUN-04", severity: checks.Warning, base: "vxlan", config: "leaf1", edit: func(d *qos.Device, _ *checks.State) { d.Tunnels = nil }, place: "leaf1", says: "lists it as an end of VXLAN tunnels, and its configuration has none", fix: "vxlan.ends"},
	{id: "TUN-04", severity: checks.Warning, base: "vxlan", config: "spine1", edit: tunnel(qos.Tunnel{Kind: "vxlan"}), place: "spine1", says: "has VXLAN tunnel T, and the intent does not list it", fix: "vxlan.ends"},
	{id: "TOP-08", severity: checks.Warning, old: "leaf3: {os: sonic, role: leaf", new: "leaf3: {os: sonic, role: spine", place: "leaf3", says: "role spine means tier 1, but the switch is 2 hops from hosts", fix: "role", also: []string{"WD-05"}},
	{id: "TOP-07", severity: checks.Error, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Neighbor = qos.Of(qos.Neighbor{Device: "spine2", Port: "Ethernet0"}) }), place: "leaf1 Ethernet240", says: "LLDP shows spine2/Ethernet0, the intent says spine1/Ethernet0", fix: "cable"},
	{id: "TOP-07", severity: checks.Error, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Neighbor = qos.Of(qos.Neighbor{Device: "spine1.example.net", Port: "Ethernet8"}) }), place: "leaf1 Ethernet240", says: "LLDP shows spine1.example.net/Ethernet8", fix: "cable"},
	{id: "TOP-07", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Neighbor = qos.Of(qos.Neighbor{Device: "oob-switch", Port: "1"}) }), place: "leaf1 Ethernet240", says: "LLDP shows oob-switch/1", fix: "cable"},
}

var portPairs = []pair{
	{id: "PRT-01", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) {
		p.Maps, p.PFC, p.Queues, p.Groups = qos.Opt[*qos.Maps]{}, qos.Of(qos.PrioritySet(0)), [8]qos.Queue{}, [8]qos.Group{}
	}), place: "leaf1 Ethernet0", says: "neither PFC nor ECN", fix: "apply"},
	{id: "PRT-02", severity: checks.Error, base: "lag", old: "fabric: 9100}}}}", new: "fabric: 9000}}}}", place: "leaf1 Ethernet248", says: "members of PortChannel1 differ in mtu", fix: "same"},
	{id: "PRT-03", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.FEC = qos.Of("fc") }), place: "leaf1 Ethernet240", says: "it has fec fc", fix: "like the others"},
	{id: "PRT-05", severity: checks.Error, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.Ports["Ethernet0"].OperUp = qos.Of(false) }, place: "leaf1 Ethernet0", says: "enabled and has no link", fix: "cable"},
	{id: "PRT-05", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.AdminUp.V = false }), place: "leaf1 Ethernet0", says: "administratively down", fix: "admin: down"},
	{id: "PRT-05", severity: checks.Warning, base: "spare", config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.Ports["Ethernet16"].OperUp = qos.Of(false) }, place: "leaf1 Ethernet16", says: "the intent states none", fix: "cable"},
	{id: "PRT-05", severity: checks.Info, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.Ports["Ethernet0"].OperUp.Set = false }, place: "leaf1 Ethernet0", says: "does not show whether", fix: "on the switch"},
	{id: "PRT-05", severity: checks.Info, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.Ports = nil }, place: "leaf1", says: "does not show which of its ports are up", fix: "on the switch"},
	{id: "PRT-05", severity: checks.Error, config: "leaf1", edit: func(d *qos.Device, s *checks.State) {
		d.Ports["Ethernet0"].AdminUp.V, s.LeftDown = false, map[string]string{"Ethernet0": "20260101-1"}
	}, place: "leaf1 Ethernet0", says: "run 20260101-1 took it down for a step and did not bring it up", fix: "apply the intent"},
	{id: "PRT-05", severity: checks.Error, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		s.Ports["Ethernet16"], s.LeftDown = &drivers.PortState{AdminUp: qos.Of(false)}, map[string]string{"Ethernet16": "20260101-1"}
	}, place: "leaf1 Ethernet16", says: "the intent does not have it", fix: "roll the run back"},
	{id: "PRT-04", severity: checks.Warning, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.Ports["Ethernet240"].Speed = qos.Of(units.Rate(100e9)) }, place: "leaf1 Ethernet240", says: "runs at 100G, the intent says 400G", fix: "transceivers"},
	{id: "PRT-04", severity: checks.Warning, config: "leaf1", base: "fec", edit: func(_ *qos.Device, s *checks.State) { s.Ports["Ethernet240"].FEC = qos.Of("fc") }, place: "leaf1 Ethernet240", says: "runs with FEC fc, the intent says rs", fix: "transceivers"},
	{id: "PRT-06", severity: checks.Warning, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.Ports["Ethernet240"].FEC = qos.Of("fc") }, place: "leaf1 Ethernet240", says: "runs with FEC fc, spine1 with rs", fix: "both ends"},
	{id: "PRT-06", severity: checks.Warning, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		s.Ports["Ethernet240"].OperUp.V, s.Ports["Ethernet240"].AdminFEC = false, qos.Of("fc")
	}, place: "leaf1 Ethernet240", says: "the link is down: FEC is configured as fc, on spine1 as rs", fix: "both ends", also: []string{"PRT-05"}},
	{id: "TOP-11", severity: checks.Error, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.Identity.Hostname = "Spine1" }, place: "leaf1", says: "calls itself spine1, which the intent has at", fix: "address"},
	{id: "TOP-10", severity: checks.Info, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		for _, p := range s.Ports {
			p.Neighbors = nil
		}
	}, place: "leaf1", says: "no neighbour on any port", fix: "LLDP"},
	{id: "TOP-10", severity: checks.Warning, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.Ports["Ethernet240"].Neighbors = nil }, place: "leaf1 Ethernet240", says: "shows no neighbour, but does on other ports", fix: "cable"},
	{id: "PRT-04", severity: checks.Warning, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Speed.V = 100e9 }), place: "leaf1 Ethernet240", says: "speed is 100G, the intent says 400G", fix: "speed"},
}

// tunnel adds a tunnel.
func tunnel(t qos.Tunnel) func(*qos.Device, *checks.State) {
	return func(d *qos.Device, _ *checks.State) { d.Tunnels = map[string]qos.Tunnel{"T": t} }
}

// accounted adds a line to the account.
func accounted(l render.Line) func(*qos.Device, *checks.State) {
	return func(_ *qos.Device, s *checks.State) { s.Account = func() []render.Line { return []render.Line{l} } }
}

// on edits a port.
func on(port string, edit func(*qos.Port)) func(*qos.Device, *checks.State) {
	return func(d *qos.Device, _ *checks.State) { edit(d.Ports[port]) }
}

// onMaps edits the maps of all ports.
func onMaps(edit func(*qos.Maps)) func(*qos.Device, *checks.State) {
	return func(d *qos.Device, _ *checks.State) {
		seen := map[*qos.Maps]*qos.Maps{}
		for _, p := range d.Ports {
			m := seen[p.Maps.V]
			if m == nil {
				c := *p.Maps.V
				m = &c
				edit(m)
				seen[p.Maps.V] = m
			}
			p.Maps.V = m
		}
	}
}

var operationPairs = []pair{
	{id: "CAT-01", severity: checks.Warning, base: "pair", old: "model: DellEMC-Z9332f-O32}\n  leaf2", new: "model: Z9332f-O32}\n  leaf2", place: "leaf1", says: "model Z9332f-O32 is not in the catalogue", fix: "did you mean DellEMC-Z9332f-O32?"},
	{id: "CAT-01", severity: checks.Info, base: "pair", old: ", model: DellEMC-Z9332f-O32}\n  leaf2", new: "}\n  leaf2", place: "leaf1", says: "no model is stated", fix: "state the model"},
	{id: "DRIFT", severity: checks.Error, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[0].Scheduler.V.Weight = 41 }), place: "leaf1 Ethernet0", says: "queues[0].scheduler is weight 41, the intent says weight 40", fix: "apply", also: []string{"SCH-03"}},
	// The class of notifications is a guess there, but its drift is not.
	{id: "DRIFT", severity: checks.Error, base: "stricts", config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Queues[6].Scheduler.V = qos.Scheduler{Weight: 5} }), place: "leaf1 Ethernet0", says: "queues[6].scheduler is weight 5, the intent says strict", fix: "apply"},
	{id: "OPS-01", severity: checks.Warning, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.Unsaved = []string{"PORT_QOS_MAP"} }, place: "leaf1", says: "not saved: PORT_QOS_MAP", fix: "save the running configuration"},
	{id: "OPS-01", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, s *checks.State) {
		s.Unsaved, d.Ports["Ethernet0"].PFC.V = []string{"PORT_QOS_MAP"}, 0
	}, place: "leaf1", says: "not saved: PORT_QOS_MAP", fix: "do not save what differs", also: []string{"PFC-02"}},
	{id: "OPS-01", severity: checks.Info, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.NotSaved = "no ssh" }, place: "leaf1", says: "not known whether the configuration is saved: no ssh", fix: "ssh"},
	{id: "OPS-02", severity: checks.Info, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) { s.NotInForce = "ASIC_DB has no ports" }, place: "leaf1", says: "does not show what is in force: ASIC_DB has no ports", fix: "read it again"},
	{id: "OPS-02", severity: checks.Error, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		s.InForce = []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindECN.At(3), Want: "150KB", Have: "off"}}
	}, place: "leaf1 Ethernet0", says: "configured as 150KB and in force as off", fix: "log"},
	{id: "OPS-05", severity: checks.Warning, old: "leaf3: {os: sonic, role: leaf, release: 202511", new: "leaf3: {os: sonic, role: leaf, release: 202505", place: "leaf3", says: "the release is 202505, that of 2 of 3 switches (sonic of role leaf) is 202511", fix: "one release"},
	{id: "TOP-04", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		d.Bridges = []qos.Bridge{{VLANs: "Vlan10", Ports: []string{"Ethernet0"}, MACAge: qos.Of(5 * time.Minute), ARPAge: qos.Of(4 * time.Hour)}}
	}, place: "leaf1 Ethernet0", says: "flooded in Vlan10: its MAC address ages out after 300 s, its ARP entry after 14400 s", fix: "ageing time"},
	{id: "TOP-04", severity: checks.Info, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		d.Bridges = []qos.Bridge{{VLANs: "Vlan10", Ports: []string{"Ethernet0"}, MACAge: qos.Of(5 * time.Minute)}}
	}, place: "leaf1", says: "it is not known when MAC and ARP entries of Vlan10 age out", fix: "both timers"},
	{id: "SUPPRESS", severity: checks.Warning, base: "accepted", old: "until: 2026-12-31", new: "until: 2026-11-20", place: "", says: "the suppression of ECN-06 ended on 2026-11-20", fix: "later date"},
	{id: "SUPPRESS", severity: checks.Warning, base: "accepted", old: "check: ECN-06", new: "check: ECN-66", place: "", says: "names check ECN-66", fix: "--list"},
	{id: "UNKNOWN", severity: checks.Info, config: "leaf1", edit: func(_ *qos.Device, s *checks.State) {
		s.Unknown = []drivers.Unknown{{Where: "WRED_PROFILE|X", Why: "what is it"}}
	}, place: "leaf1", says: "WRED_PROFILE|X: what is it", fix: "by hand"},
}

var forwardingPairs = []pair{
	{id: "TRM-01", severity: checks.Warning, base: "trimmed", old: "[bulk], size", new: "[rdma], size", place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class rdma is lossless here: PFC pauses its senders", fix: "only lossy classes"},
	{id: "TRM-01", severity: checks.Warning, base: "trimmed", old: "dscp: 12}", new: "dscp: 10}", place: "leaf1", says: "DSCP 10, of class bulk, which is trimmed itself", fix: "another lossy class", also: []string{"TRM-02"}},
	{id: "TRM-01", severity: checks.Warning, base: "trimmed", old: "dscp: 12}", new: "dscp: 26}", place: "leaf1", says: "DSCP 26, of lossless class rdma", fix: "another lossy class", also: []string{"TRM-02"}},
	{id: "TRM-01", severity: checks.Warning, base: "trimmed", old: "size: 256B", new: "size: 9000B", place: "leaf1", says: "packets are trimmed to 9000 B, and the largest RDMA packet has 4192 B", fix: "trimming.size"},
	{id: "TRM-02", severity: checks.Warning, base: "trimmed", old: "dscp: 12, size", new: "dscp: 13, size", place: "leaf3", says: "leave with DSCP 13, on 4 of 5 switches with 12", fix: "one trimming.dscp"},
	{id: "LB-01", severity: checks.Warning, base: "spray", old: "queuePair: false", new: "queuePair: true", place: "leaf1", says: "the hash includes the queue pair, but mode: packet", fix: "remove queuePair"},
	{id: "LB-01", severity: checks.Warning, base: "trimmed", old: "{mode: flowlet},", new: "{mode: flow},", place: "leaf3", says: "load balancing is by flow, on 2 of 3 switches (sonic of role leaf) by flowlet", fix: "one mode"},
	{id: "LB-02", severity: checks.Warning, base: "tiers", config: "spine1", old: `"LeafRouter"`, new: `"ToRRouter"`, place: "leaf1 Ethernet240", says: "its hash seed for ECMP is 0, as that of spine1: flows", fix: "a seed of its own"},
	{id: "LB-01", severity: checks.Info, base: "trimmed", old: "{mode: flowlet},", new: "{mode: packet},", place: "leaf3", says: "may arrive out of order", fix: "out of order"},
}
