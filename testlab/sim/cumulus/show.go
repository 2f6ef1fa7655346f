package cumulus

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// asic returns the switch's ASIC.
func (s *Switch) asic() string {
	switch m := s.o.Model; {
	case s.o.ASIC != "":
		return s.o.ASIC
	case strings.HasPrefix(m, "SN6"):
		return "Spectrum-6"
	case strings.HasPrefix(m, "SN5"):
		return "Spectrum-4"
	case strings.HasPrefix(m, "SN4"):
		return "Spectrum-3"
	case strings.HasPrefix(m, "SN3"):
		return "Spectrum-2"
	}
	return "Spectrum"
}

// cells rounds a threshold up to a multiple of 64 cells: 150 000 bytes become 156 672 on
// Spectrum-3 and 159 744 on Spectrum-4 (RDMA over Converged Ethernet, the note on the mismatch).
func (s *Switch) cells(bytes int64) int64 {
	cell := int64(192)
	switch s.asic() {
	case "Spectrum":
		cell = 96
	case "Spectrum-2", "Spectrum-3":
		cell = 144
	}
	row := 64 * cell
	return (bytes + row - 1) / row * row
}

// size returns a number of bytes in the form of operational data.
func (s *Switch) size(n uint64) any {
	switch {
	case !s.o.Spelled:
		return float64(n)
	case n >= 1<<20:
		return fmt.Sprintf("%.2f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.2f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d Bytes", n)
}

// state returns the keyword for on or off in this release.
func (s *Switch) state(is bool) string {
	switch {
	case s.release >= renamed && is:
		return "enabled"
	case s.release >= renamed:
		return "disabled"
	case is:
		return "on"
	}
	return "off"
}

// defaults returns the values that "filled" adds to a configuration.
func (s *Switch) defaults(t tree) tree {
	ports := tree{}
	for _, p := range natural.Keys(object(t, "interface")) {
		if isPort(p) {
			ports[p] = tree{"link": tree{"mtu": float64(9216), "auto-negotiate": s.state(true)}, "qos": tree{"pfc-watchdog": tree{"state": s.watch(false)}}}
		}
	}
	queues, pcp, dscp := tree{}, tree{}, tree{}
	for i := range 8 {
		queues[fmt.Sprint(i)] = tree{"traffic-class": float64(i)}
		pcp[fmt.Sprint(i)] = tree{"switch-priority": float64(i)}
	}
	for i := range 64 {
		dscp[fmt.Sprint(i)] = tree{"switch-priority": float64(i / 8)}
	}
	return tree{"interface": ports, "qos": tree{
		"pfc-watchdog":         tree{"polling-interval": float64(100), "robustness": float64(3)},
		"egress-queue-mapping": tree{"default-global": tree{"switch-priority": queues}},
		"mapping":              tree{"default-global": tree{"pcp": pcp, "dscp": dscp}},
		"congestion-control": tree{"default-global": tree{"traffic-class": tree{"0": tree{
			"ecn": "enable", "red": "disable", "min-threshold": float64(150000), "max-threshold": float64(1500000), "probability": float64(100),
		}}}},
	}}
}

func (s *Switch) watch(is bool) string {
	switch {
	case s.release >= renamed:
		return s.state(is)
	case is:
		return "enable"
	}
	return "disable"
}

// presets returns the settings of the RoCE preset, which are not part of the configuration (RDMA
// over Converged Ethernet, Default RoCE Configuration).
func presets(mode string) tree {
	queues, sched := tree{}, tree{"0": tree{"mode": "dwrr", "bw-percent": float64(50)}, "3": tree{"mode": "dwrr", "bw-percent": float64(50)}, "6": tree{"mode": "strict"}}
	for i := range 8 {
		tc := 0
		if i == 3 || i == 6 {
			tc = i
		}
		queues[fmt.Sprint(i)] = tree{"traffic-class": float64(tc)}
	}
	ecn := tree{"ecn": "enable", "red": "disable", "min-threshold": float64(150000), "max-threshold": float64(1500000), "probability": float64(100)}
	out := tree{
		"mapping":              tree{"default-global": tree{"trust": "both"}},
		"egress-queue-mapping": tree{"default-global": tree{"switch-priority": queues}},
		"egress-scheduler":     tree{"default-global": tree{"traffic-class": sched}},
		"congestion-control":   tree{"default-global": tree{"traffic-class": tree{"0": clone(ecn), "3": clone(ecn)}}},
	}
	if mode == "lossless" || mode == "lossless-single-ipool" {
		out["pfc"] = tree{"default-global": tree{"switch-priority": tree{"3": tree{}}, "rx": "enable", "tx": "enable", "cable-length": float64(100)}}
	}
	return out
}

// operational returns the active settings and the counters of all ports, or of one port. The
// caller must hold mu.
func (s *Switch) operational(far map[string]cli.Wire, only string) tree {
	applied := s.applied
	if only != "" {
		applied = maps.Clone(applied)
		applied["interface"] = tree{}
		if p, ok := at(s.applied, "interface", only); ok {
			applied["interface"] = tree{only: p}
		}
	}
	t := s.defaults(applied)
	mode := preset(applied)
	if mode != "" {
		merge(object(t, "qos"), presets(mode))
	}
	merge(t, cloned(applied))
	s.round(t)
	if mode != "" {
		merge(t, tree{"qos": tree{"roce": tree{
			"mode": mode, "congestion-control": tree{"congestion-mode": "ECN", "enabled-tc": "0,3", "min-threshold": s.size(150000), "max-threshold": s.size(1500000), "probability": float64(100)},
			"trust": tree{"trust-mode": "pcp,dscp"}, "lldp-app-tlv": tree{"priority": float64(3), "protocol-id": float64(4791), "selector": "UDP"},
		}}})
	}
	ports := object(t, "interface")
	for p := range s.ports {
		if only != "" && p != only {
			continue
		}
		have, _ := ports[p].(tree)
		if have == nil {
			have = tree{"type": "swp"}
			ports[p] = have
		}
		merge(have, s.port(p, t, far))
	}
	system := tree{"hostname": s.o.Hostname, "timezone": "Etc/UTC", "uptime": float64(4711)}
	product := "Cumulus Linux"
	if s.faults.on(&s.faults.noModel) {
		product = "NVOS"
	}
	switch {
	case s.release >= 514:
		system["version"] = tree{"product-release": s.o.Version, "product-name": product, "image": product + " " + s.o.Version}
	case s.release >= 511:
		system["product-release"], system["product-name"] = s.o.Version, product
	default:
		system["build"] = product + " " + s.o.Version
	}
	merge(t, tree{"system": system, "platform": tree{"system-mac": s.chassis.MAC("44:38", 0), "manufacturer": "Mellanox", "product-name": s.o.Model, "asic-model": s.asic(), "cpu": "x86_64", "part-number": s.o.Model}})
	return t
}

// mtu returns the MTU of a port: a member has that of its bond.
func (s *Switch) mtu(p string) float64 {
	for _, at := range []string{bondOf(s.applied, p), p} {
		if n, ok := number(s.applied, "interface", at, "link", "mtu"); ok {
			return n
		}
	}
	return 9216
}

// port returns the operational state of a port.
func (s *Switch) port(p string, t tree, far map[string]cli.Wire) tree {
	up := !down(s.applied, p)
	oper := up && !s.unplugged[p]
	if peer, ok := far[p]; ok && oper {
		oper = joined(s.wire(p), peer)
	}
	word := map[bool]string{true: "up", false: "down"}
	link := tree{"mtu": s.mtu(p), "speed": fmt.Sprintf("%gG", math.Round(float64(s.speed(p))/1e8)/10), "stats": tree{
		"carrier-transitions": float64(1), "in-errors": float64(s.tally.Read(p, 0, sim.RxErrors)), "out-errors": float64(s.tally.Read(p, 0, sim.TxErrors)), "in-pkts": float64(0), "in-drops": float64(0),
	}}
	if s.release >= 511 {
		link["admin-status"], link["oper-status"] = word[up], word[oper]
	}
	link["state"] = tree{word[oper]: tree{}}
	ingress, egress, pfc, wd := tree{}, tree{}, tree{}, tree{}
	for i := range 8 {
		k := fmt.Sprint(i)
		ingress[k] = tree{"rx-frames": float64(0), "rx-buffer-discards": s.size(0), "rx-shared-buffer-discards": s.size(s.tally.Read(p, i, sim.GroupDrops))}
		egress[k] = tree{"tx-frames": float64(s.tally.Read(p, i, sim.TxPkts)), "tx-bytes": s.size(s.tally.Read(p, i, sim.TxOctets)), "tx-uc-buffer-discards": s.size(s.tally.Read(p, i, sim.DropPkts)), "wred-discards": float64(0)}
		if s.release >= 513 {
			m := object(egress, k)
			m["ecn-marked-frames"] = float64(s.tally.Read(p, i, sim.ECNMarked))
		}
		pfc[k] = tree{"rx-pause-frames": float64(s.tally.Read(p, i, sim.PFCRx)), "rx-pause-duration": float64(s.tally.Read(p, i, sim.PauseRxTime)), "tx-pause-frames": float64(s.tally.Read(p, i, sim.PFCTx)), "tx-pause-duration": float64(0)}
		stuck := s.tally.Read(p, i, sim.WDStuck)
		state := "OK"
		if stuck > s.tally.Read(p, i, sim.WDRecovery) {
			state = "DEADLOCK"
		}
		wd[k] = tree{"status": state, "deadlock-count": float64(stuck)}
	}
	qos := tree{}
	if meansOn(text(s.applied, "interface", p, "qos", "pfc-watchdog", "state")) {
		qos["pfc-watchdog"] = tree{"status": wd}
	}
	if cc, ok := at(t, "qos", "congestion-control", profileOf(s.applied, p, "congestion-control"), "traffic-class"); ok {
		shown, _ := clone(cc).(tree)
		for _, tc := range shown {
			m, _ := tc.(tree)
			for _, k := range []string{"min-threshold", "max-threshold"} {
				if n, ok := number(m, k); ok {
					m[k] = s.size(uint64(n))
				}
			}
		}
		qos["congestion-control"] = tree{"traffic-class": shown}
	}
	if mode := preset(s.applied); mode != "" {
		qos["roce"] = tree{"status": tree{"mode": mode}, "counters": tree{
			"rx-stats": tree{"rx-pfc-stats": tree{"pause-packets": float64(s.tally.Read(p, 3, sim.PFCRx)), "pause-duration": float64(s.tally.Read(p, 3, sim.PauseRxTime))}, "rx-roce-stats": tree{"no-buffer-discard": float64(s.tally.Read(p, 3, sim.GroupDrops))}},
			"tx-stats": tree{"tx-pfc-stats": tree{"pause-packets": float64(s.tally.Read(p, 3, sim.PFCTx))}, "tx-ecn-stats": tree{"ecn-marked-packets": float64(s.tally.Read(p, 3, sim.ECNMarked))},
				"tx-roce-stats": tree{"roce-packets": float64(s.tally.Read(p, 3, sim.TxPkts)), "roce-bytes": s.size(s.tally.Read(p, 3, sim.TxOctets)), "unicast-no-buffer-discard": float64(s.tally.Read(p, 3, sim.DropPkts))}},
		}}
	}
	groups := tree{}
	for _, g := range s.pfcOf(s.applied, p) {
		groups[g] = tree{"pool-id": float64(3), "mode": "DYNAMIC", "reserved": s.size(0), "current-usage": s.size(0), "max-usage": s.size(0), "shared-max": "ALPHA_1", "lossy-lossless": "Lossless",
			"xon-threshold": s.size(19 << 10), "xoff-threshold": s.size(19 << 10), "headroom": s.size(uint64(s.headroom(p, g))), "headroom-usage": s.size(0), "headroom-max-usage": s.size(s.tally.Read(p, int(g[0]-'0'), sim.HeadroomPeak))}
	}
	qos["buffer"] = tree{"ingress-priority-group": groups}
	out := tree{"link": link, "qos": qos, "counters": tree{"qos": tree{"ingress-buffer-stats": ingress, "egress-queue-stats": egress, "pfc-stats": pfc,
		"port-stats": tree{"ecn-marked-packets": tree{"tx": float64(0)}, "pause-frames": tree{"rx": float64(s.tally.Read(p, 0, sim.LinkPauseRx)), "tx": float64(s.tally.Read(p, 0, sim.LinkPauseTx))}}}}}
	if n, ok := s.neighbors[p]; ok && oper {
		out["lldp"] = tree{"neighbor": tree{n.device: tree{"age": "120", "chassis": tree{"system-name": n.device, "chassis-id": "44:38:39:00:00:02"}, "port": tree{"name": n.port, "type": "ifname", "ttl": float64(120)}}}}
	}
	return out
}

// headroom estimates the headroom that a switch computes from the cable, speed and MTU of a port:
// the data that arrives until a pause takes effect, in packets of 64 bytes, each of which occupies
// a cell of three times that size (Small Packet Probability).
func (s *Switch) headroom(p, group string) int64 {
	cable, ok := number(s.applied, "qos", "pfc", profileOf(s.applied, p, "pfc"), "cable-length")
	if !ok {
		if cable, ok = number(s.applied, "qos", "roce", "cable-length"); !ok {
			cable = 100
		}
	}
	mtu := s.mtu(p)
	flight := 2 * cable * 5e-9 * float64(s.speed(p)) / 8
	return s.cells(int64(3 * (flight + 2*mtu + 20<<10)))
}

// joined reports whether a link between two ports with these settings comes up.
func joined(own, peer cli.Wire) bool {
	return own.Speed == peer.Speed && cmp.Or(own.FEC, "rs") == cmp.Or(peer.FEC, "rs")
}

// far returns the settings of the other ends of the links. It calls them without holding mu,
// because they call this switch as well.
func (s *Switch) far() map[string]cli.Wire {
	s.mu.Lock()
	peers := maps.Clone(s.peers)
	s.mu.Unlock()
	out := map[string]cli.Wire{}
	for port, ask := range peers {
		w := ask()
		w.Speed = cmp.Or(w.Speed, s.nominal(port))
		out[port] = w
	}
	return out
}

// nominal returns the default speed of a port in bits per second.
func (s *Switch) nominal(port string) int64 { return cmp.Or(s.o.Speeds[port], 400e9) }
