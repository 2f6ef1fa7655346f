package validate

import (
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// marks sets the thresholds of the lossless queue of a port.
func marks(port string, lo, hi int64) func(*qos.Device, *checks.State) {
	return on(port, func(p *qos.Port) { p.Queues[3].ECN.V.Min, p.Queues[3].ECN.V.Max = lo, hi })
}

// alphaIs sets the alpha of the lossless group of some ports.
func alphaIs(n int64, ports ...string) func(*qos.Device, *checks.State) {
	return func(d *qos.Device, _ *checks.State) {
		for _, p := range ports {
			d.Ports[p].Groups[3].Headroom.V.Threshold = n
		}
	}
}

// cabled sets the cable length that a switch has for a port to one without a headroom row, so
// that the port has no lossless group.
func cabled(port string, length qos.Opt[units.Length]) func(*qos.Device, *checks.State) {
	return on(port, func(p *qos.Port) {
		p.Cable, p.Groups[3] = length, qos.Group{Lossless: qos.Of(false)}
	})
}

// poolOf edits the pool of lossless groups.
func poolOf(edit func(*qos.Pool)) func(*qos.Device, *checks.State) {
	return func(d *qos.Device, _ *checks.State) {
		p := d.Pools["ingress_lossless_pool"]
		edit(&p)
		d.Pools["ingress_lossless_pool"] = p
	}
}

// poolShares makes a switch divide its memory into two pools by shares, without sizes.
func poolShares(lossless, lossy int) func(*qos.Device, *checks.State) {
	return func(d *qos.Device, _ *checks.State) {
		d.Shares = map[string]qos.Share{"roce-lossless": {Percent: lossless, Lossless: true}, "default-lossy": {Percent: lossy}}
	}
}

// memoryOf makes a switch also show the size of its packet memory.
func memoryOf(edit func(*qos.Device, *checks.State)) func(*qos.Device, *checks.State) {
	return func(d *qos.Device, s *checks.State) {
		d.Hardware.Memory = 68e6
		edit(d, s)
	}
}

// profileOf edits a buffer profile.
func profileOf(name string, edit func(*qos.BufferProfile)) func(*qos.Device, *checks.State) {
	return func(d *qos.Device, _ *checks.State) {
		b := d.Profiles[name]
		edit(&b)
		d.Profiles[name] = b
	}
}

// memoryPairs are faults of buffers and thresholds on a running switch. The twin is the switch
// without the edit.
var memoryPairs = []pair{
	{id: "ECN-02", severity: checks.Error, config: "leaf1", old: `"green_max_threshold": "1500000"`, new: `"green_max_threshold": "100000"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class rdma marks from 150KB, above its max of 100KB", fix: "apply"},
	{id: "ECN-03", severity: checks.Error, config: "leaf1", edit: marks("Ethernet0", 30e6, 40e6), place: "leaf1 Ethernet0", says: "class rdma marks from 30MB, and 2 groups that feed one queue pause before it holds more than 13 MB", fix: "apply"},
	{id: "ECN-03", severity: checks.Error, config: "leaf1", edit: marks("Ethernet240", 20e6, 40e6), place: "leaf1 Ethernet240", says: "class rdma marks from 20MB, and 1 group that feeds one queue pause before it holds more than 9.78 MB", fix: "apply"},
	{id: "ECN-03", severity: checks.Error, base: "fan out", config: "leaf1", edit: marks("Ethernet0", 10e6, 12e6), place: "leaf1 Ethernet0", says: "class rdma marks from 10MB; one port that sends into 2 queues pauses at the earliest when each holds", fix: "apply"},
	{id: "ECN-04", severity: checks.Error, config: "leaf1", edit: marks("Ethernet0", 150e3, 30e6), place: "leaf1 Ethernet0", says: "class rdma marks every packet from 30MB, and 2 groups that feed one queue may hold 19570827B", fix: "apply"},
	{id: "ECN-06", severity: checks.Error, config: "leaf1", edit: marks("Ethernet0", 150e3, 18e6), place: "leaf1 Ethernet0", says: "a queue of 3µs to 360µs at 400G", fix: "apply"},
	{id: "ECN-06", severity: checks.Error, config: "leaf1", edit: marks("Ethernet0", 20e3, 1500e3), place: "leaf1 Ethernet0", says: "class rdma marks from 20KB to 1500KB, a queue of 400ns", fix: "apply"},
	{id: "ECN-06", severity: checks.Error, config: "leaf1", old: `"green_min_threshold": "150000"`, new: `"green_min_threshold": "15000"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "class rdma marks from 15KB", fix: "apply"},
	{id: "DRIFT", severity: checks.Error, config: "leaf1", edit: marks("Ethernet0", 300e3, 3000e3), place: "leaf1 Ethernet0", says: "queues[3].ecn is 300KB..3MB 10%, the intent says 150KB..1500KB 10%", fix: "apply"},

	{id: "BUF-01", severity: checks.Error, config: "leaf1", old: `"xoff": "300000"`, new: `"xoff": "3000"`, place: "leaf1 Ethernet240,Ethernet248", says: "priority group 3 has xoff 3000 B, below the floor of 28587 B: the round trip in 40m of cable and two frames of 4192 B", fix: "xoff"},
	{id: "BUF-01", severity: checks.Error, config: "leaf1", edit: func(d *qos.Device, s *checks.State) {
		poolOf(func(p *qos.Pool) { p.XOFF = 0 })(d, s)
		on("Ethernet240", func(p *qos.Port) { p.Groups[3].Headroom.V.Size = 20000 })(d, s)
		for _, other := range []string{"Ethernet0", "Ethernet248"} {
			on(other, func(p *qos.Port) { p.Groups[3].Headroom.V.Size = 302540 })(d, s)
		}
	}, place: "leaf1 Ethernet240", says: "priority group 3 has xoff 300000 B, of which its size of 20000 B with xon 0 B holds 20000 B, and no pool has headroom, below the floor of 28587 B", also: []string{"BUF-09", "PRT-03"}, fix: "xoff"},
	{id: "BUF-04", severity: checks.Warning, base: "th nine", config: "leaf1", old: `"xoff": "4194112"`, new: `"xoff": "12000000"`, place: "leaf1", says: "pool ingress_lossless_pool has 10.9 MB and 12 MB of headroom, and the packet memory of the chip is 16 MB", fix: "template"},
	{id: "BUF-02", severity: checks.Error, base: "long", config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Cable.V = 40 }), place: "leaf1 Ethernet240", says: "the switch assumes a cable of 40m, the intent says 120m, for which the platform has the row of 300m", fix: "apply"},
	{id: "BUF-02", severity: checks.Error, config: "leaf1", edit: on("Ethernet240", func(p *qos.Port) { p.Groups[3].DerivedFrom.V = qos.LookupKey(400e9, 5) }), place: "leaf1 Ethernet240", says: "priority group 3 has the headroom of a cable of 5m, the intent says 40m", fix: "apply"},
	{id: "BUF-03", severity: checks.Error, config: "leaf1", edit: cabled("Ethernet240", qos.Of(units.Length(123))), place: "leaf1 Ethernet240", says: "no headroom row of DellEMC-Z9332f-O32 for 400G and 123m", fix: "apply"},
	{id: "BUF-03", severity: checks.Error, config: "leaf1", edit: cabled("Ethernet240", qos.Of(units.Length(0))), place: "leaf1 Ethernet240", says: "the switch has a cable length of 0m for the port, and makes no lossless priority group", fix: "apply"},
	{id: "BUF-03", severity: checks.Error, config: "leaf1", edit: cabled("Ethernet240", qos.Opt[units.Length]{}), place: "leaf1 Ethernet240", says: "the switch has no cable length for the port", fix: "apply"},
	{id: "BUF-03", severity: checks.Error, config: "leaf1", edit: func(d *qos.Device, s *checks.State) {
		d.Hardware.Rows = []qos.HeadroomRow{{Speed: 400e9, Cable: 5, Headroom: qos.Headroom{XOFF: 300000}}}
		d.Ports["Ethernet240"].Groups[3] = qos.Group{Lossless: qos.Of(false)}
	}, place: "leaf1 Ethernet240", says: "no headroom row of the switch for 400G and 40m", fix: "the longest cable it can carry lossless is 5m"},
	{id: "BUF-04", severity: checks.Error, base: "spc4", config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		d.Hardware.MaxHeadroom = map[string]int64{"Ethernet0": 100 << 10}
	}, place: "leaf1 Ethernet0", says: "the switch shows a limit of 100KiB for the port", fix: "fewer lossless classes"},
	{id: "BUF-04", severity: checks.Warning, config: "leaf1", edit: poolOf(func(p *qos.Pool) { p.Size *= 10 }), place: "leaf1", says: "pool ingress_lossless_pool has 664 MB, and the packet memory of the chip is 67.1 MB", fix: "template"},
	{id: "BUF-04", severity: checks.Error, config: "leaf1", edit: memoryOf(poolOf(func(p *qos.Pool) { p.Size *= 10 })), place: "leaf1", says: "pool ingress_lossless_pool has 664 MB, and the packet memory that the switch shows is 68 MB", fix: "template"},
	{id: "BUF-04", severity: checks.Error, config: "leaf1", edit: memoryOf(func(d *qos.Device, _ *checks.State) { d.Pools["mine"] = qos.Pool{Size: 30e6} }), place: "leaf1", says: "pools ingress_lossless_pool, mine together have 96.4 MB, and the packet memory that the switch shows is 68 MB", fix: "template"},
	{id: "BUF-05", severity: checks.Warning, base: "shares", config: "leaf1", old: `"xoff": "1622016"`, new: `"xoff": "1000000"`, place: "leaf1", says: "the headroom of 32 lossless groups is 9600000 B, 9.60 times the pool of 1000000 B; declared is 6.00", fix: "declare"},
	{id: "BUF-05", severity: checks.Warning, base: "th declared", config: "leaf1", old: `"xoff": "4194112"`, new: `"xoff": "2800000"`, place: "leaf1", says: "one of the chip's 4 slices has at least 900000 B, 1.29 times its part of the headroom pool, 700000 B; declared is 1.10", fix: "declare"},
	{id: "BUF-14", severity: checks.Warning, base: "th nine", config: "leaf1", old: `"xoff": "4194112"`, new: `"xoff": "2800000"`, place: "leaf1", says: "one of the chip's 4 slices has at least 900000 B, 1.29 times its part of the headroom pool, 700000 B", fix: "overSubscription"},
	{id: "BUF-06", severity: checks.Warning, config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		d.Hardware.Rows = []qos.HeadroomRow{{Speed: 400e9, Cable: 5, Headroom: qos.Headroom{XOFF: 300000}}, {Speed: 400e9, Cable: 10, Headroom: qos.Headroom{XOFF: 310000}}, {Speed: 400e9, Cable: 40, Headroom: qos.Headroom{XOFF: 300000}}}
	}, place: "leaf1 Ethernet240,Ethernet248", says: "xoff for 400G and 40m is 300000 B, less than the 310000 B for 400G and 10m", fix: "vendor"},
	{id: "BUF-08", severity: checks.Error, base: "shares", config: "leaf1", old: `"static_th": "32599040"`, new: `"static_th": "3259904"`, place: "leaf1 Ethernet[0-124:4]", says: "is limited to 3259904 B, the ingress pool has 32712448 B", fix: "as large as the pool"},
	{id: "BUF-08", severity: checks.Error, base: "tofino", config: "leaf1", old: `"dynamic_th": "7"`, new: `"dynamic_th": "-8"`, place: "leaf1 Ethernet0,Ethernet4", says: "profile egress_lossless_profile on the queue of lossless class rdma has alpha 2^-8, which limits it to", fix: "static"},
	{id: "BUF-08", severity: checks.Error, base: "tofino", config: "leaf1", old: `"size": "16777152"`, new: `"size": "167771"`, place: "leaf1 Ethernet0,Ethernet4", says: "takes from pool egress_lossless_pool, which has 167771 B, the ingress pool has 2097152 B", fix: "static"},
	{id: "BUF-09", severity: checks.Warning, config: "leaf1", edit: alphaIs(1, "Ethernet0"), place: "leaf1 Ethernet0", says: "alpha of lossless groups is 2^1, the platform's table has 2^-2: a group of class rdma pauses at", fix: "state buffers.alpha"},
	{id: "BUF-09", severity: checks.Warning, config: "leaf1", old: `"dynamic_th": "0"`, new: `"dynamic_th": "-7"`, place: "leaf1 Ethernet240,Ethernet248", says: "alpha of lossless groups is 2^-7, the platform's table has 2^-2: a group of class rdma pauses at 153 KB with 1 sender, not at 3.85 MB", fix: "a plan does not change it"},
	{id: "BUF-09", severity: checks.Warning, config: "leaf1", edit: alphaIs(-4, "Ethernet0"), place: "leaf1 Ethernet0", says: "alpha of lossless groups is 2^-4, the platform's table has 2^-2", fix: "state buffers.alpha"},
	{id: "BUF-09", severity: checks.Warning, base: "alpha", config: "leaf1", edit: alphaIs(-1, "Ethernet0"), place: "leaf1 Ethernet0", says: "alpha of lossless groups is 2^-1, the intent says 2^0: a group of class rdma pauses at", fix: "a plan does not"},
	{id: "BUF-09", severity: checks.Warning, base: "alpha of a class", config: "leaf1", edit: alphaIs(-1, "Ethernet0"), place: "leaf1 Ethernet0", says: "alpha of the group of class rdma is 2^-1, the intent says 2^0: a group of class rdma pauses at", fix: "set alpha of the class"},
	{id: "BUF-09", severity: checks.Error, base: "spc4", config: "leaf1", old: `"default_dynamic_th": "0"`, new: `"default_dynamic_th": "-7"`, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "alpha of lossless groups is 2^-7, the intent says 2^0", fix: "apply"},
	{id: "BUF-09", severity: checks.Warning, base: "spc4 slow", config: "leaf1", edit: func(d *qos.Device, _ *checks.State) {
		d.HeadroomModel = qos.Of(qos.HeadroomModel{LosslessMTU: 1024, SmallPacketPercent: 50, Alpha: -5})
	}, place: "leaf1 Ethernet0,Ethernet240,Ethernet248", says: "alpha of lossless groups is 2^-5, SONiC's default has 2^0", fix: "state buffers.alpha"},
	{id: "BUF-09", severity: checks.Error, config: "leaf1", old: `"size": "66394076"`, new: `"size": "663940"`, place: "leaf1", says: "pool ingress_lossless_pool has 664 KB, the platform's template has 66.4 MB: a group of class rdma pauses at 1270 B with", fix: "config qos reload"},
	{id: "BUF-09", severity: checks.Warning, config: "leaf1", edit: poolOf(func(p *qos.Pool) { p.Size, p.XOFF = p.Size/100, p.XOFF/100 }), place: "leaf1", says: "pool ingress_lossless_pool has 664 KB, the platform's template has 66.4 MB: a group of class rdma pauses at 57.1 KB with 2 senders, not at 3.21 MB", fix: "config qos reload"},
	{id: "BUF-09", severity: checks.Warning, config: "leaf1", old: `"xoff": "27200352"`, new: `"xoff": "272003"`, place: "leaf1", says: "pool ingress_lossless_pool has 272 KB for headroom, the platform's template has 27.2 MB", fix: "config qos reload"},
	{id: "BUF-10", severity: checks.Warning, config: "leaf1", edit: on("Ethernet0", func(p *qos.Port) { p.Groups[3].Headroom.V.Static, p.Groups[3].Headroom.V.Threshold = true, 9000 }), place: "leaf1 Ethernet0", says: "with 2 senders a group of class rdma pauses at 9KB, less than 4 frames", fix: "alpha"},
	{id: "BUF-04", severity: checks.Error, config: "leaf1", edit: poolShares(60, 50), place: "leaf1", says: "pools together have 110 % of the packet memory: default-lossy 50 %, roce-lossless 60 %", fix: "100 % at most"},
	{id: "BUF-04", severity: checks.Warning, base: "shares", config: "leaf1", edit: poolShares(1, 99), place: "leaf1", says: "32 lossless groups need", also: []string{"BUF-11"}, fix: "larger share"},
	{id: "BUF-11", severity: checks.Info, config: "leaf1", edit: poolShares(90, 10), place: "leaf1", says: "lossless pools have 90 % of the packet memory: 10 % is left to lossy traffic (default, cnp)", fix: "larger share"},
	{id: "BUF-11", severity: checks.Warning, base: "shares", config: "leaf1", edit: profileOf("ingress_lossy_profile", func(b *qos.BufferProfile) { b.Static, b.Threshold = false, 3 }), place: "leaf1 Ethernet[0-124:4]", says: "lossy priority group 0 (ingress_lossy_profile) has alpha 2^3", fix: "smaller alpha"},
}
