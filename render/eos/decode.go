package eos

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Default MTUs in bytes, if neither the port nor "interface defaults" sets one (EOS User Manual,
// Ethernet ports; aristanetworks/avd, ethernet_interfaces).
const (
	defaultMTU   = 1500
	defaultL2MTU = 9214
)

// Decode returns the state that a configuration means: its Ethernet interfaces as ports, and the
// maps of the switch as GlobalMaps. The values are those in force: defaults (including
// "interface defaults"), overlaid by the attached profile, overlaid by the interface's own
// lines. Groups, asymmetric PFC, speed, FEC and cables are unset, as EOS has no values for them.
// The second result lists the lines that the model cannot represent, in the order of the text.
//
// Defaults follow the EOS User Manual; trust is DSCP on routed and CoS on switched ports. How
// profile and interface lines merge is documented for policies only; the interface's own line is
// assumed to win in every case.
func Decode(c *Config) (*qos.Device, []Unknown) {
	r := read(c)
	d := r.decode()
	d.HeadroomLimits = headroomLimits(c)
	return d, tidy(r.unknown)
}

func (r *reading) decode() *qos.Device {
	g := r.globals()
	d := &qos.Device{Platform: qos.Platform{OS: "eos"}, Ports: map[string]*qos.Port{}, GlobalMaps: qos.Of(g.maps())}
	if g.poll > 0 {
		d.WatchdogPoll = qos.Of(g.poll)
	}
	for _, s := range r.order {
		if strings.HasPrefix(s.port(), "Vxlan") {
			if d.Tunnels == nil {
				d.Tunnels = map[string]qos.Tunnel{}
			}
			d.Tunnels[s.port()] = s.tunnel()
		}
		if s.at != inInterface {
			continue
		}
		if !isEthernet(s.port()) {
			r.classify(s, nil, &g)
			continue
		}
		if name := s.profileName(); name != "" && r.profile(name) == nil {
			r.report(s, s.get("", keyProfile).line, "there is no such profile, so the line does nothing")
		}
		r.reportDoubtfulUnsets(s)
		p := g.port(r.effective(s))
		r.classify(s, p, &g)
		d.Ports[s.port()] = p
	}
	d.Bridges, d.Overlays, d.HashSeed = r.bridges(d), r.overlays(d), r.hashSeed()
	qos.Normalize(d)
	return d
}

// hashSeed returns the kind of chip and the seed of a line such as "ip load-sharing trident 3"; other
// lines of the command choose fields (EOS User Manual, ECMP).
func (r *reading) hashSeed() (seed string) {
	for _, l := range r.top {
		words := strings.Fields(canonical(l.Text))
		negated := len(words) > 0 && (words[0] == "no" || words[0] == "default")
		if negated {
			words = words[1:]
		}
		switch {
		case len(words) < 2 || words[0] != "ip" || words[1] != "load-sharing":
		case negated && len(words) <= 4:
			seed = ""
		case len(words) == 4:
			if _, err := strconv.Atoi(words[3]); err == nil {
				seed = words[3] + " (" + words[2] + ")"
			}
		}
	}
	return seed
}

// QoS lines of a VXLAN interface (aristanetworks/avd, eos_cli_config_gen vxlan-interface.j2).
// Both features are off by default: the outer DSCP then follows from the traffic class, and the outer
// ECN field of bridged packets is 0 (Arista TOI "VXLAN: DSCP and ECN propagation").
const (
	vxlanDSCP = "vxlan qos dscp propagation encapsulation"
	vxlanECN  = "vxlan qos ecn propagation"
)

func (s *section) tunnel() qos.Tunnel {
	t := qos.Tunnel{Kind: qos.TunnelVXLAN, ECNEncap: qos.Of(false), ECNDecap: qos.Of(false)}
	for _, n := range s.nodes {
		for _, l := range n.Sub {
			text, on := canonical(l.Text), true
			if first, rest, _ := strings.Cut(text, " "); first == "no" || first == "default" {
				text, on = rest, false
			}
			switch text {
			case vxlanDSCP:
				if t.Encap = (qos.Opt[qos.DSCPMode]{}); on {
					t.Encap = qos.Of(qos.DSCPUniform)
				}
			case vxlanECN:
				t.ECNEncap, t.ECNDecap = qos.Of(on), qos.Of(on)
			}
		}
	}
	return t
}

func (g *globals) maps() *qos.Maps {
	m := qos.UnmappedMaps()
	m.DSCPToTC, m.PCPToTC, m.TCToQueue = g.dscp, g.cos, g.toQueue
	if g.rewrite {
		m.TCToDSCP = g.toDSCP
	}
	return m
}

func (g *globals) port(s portState) *qos.Port {
	p := &qos.Port{
		AdminUp:   qos.Of(!s.shutdown.Or(g.ports.shutdown)),
		MTU:       qos.Of(g.mtuOf(s)),
		LAG:       qos.Of(s.lag),
		Trust:     qos.Of(s.trust),
		PFC:       qos.Of(qos.PrioritySet(0)),
		LinkPause: qos.Of(s.send || s.receive),
	}
	if s.trust == "" {
		p.Trust.V = qos.TrustPCP
		if s.routed {
			p.Trust.V = qos.TrustDSCP
		}
	}
	if s.pfc && !g.allOff {
		p.PFC.V = s.noDrop
	}
	p.Watchdog = qos.Of(g.watchdog(s, p.PFC.V))
	for i := range p.Queues {
		p.Queues[i] = s.queues[i].model()
	}
	return p
}

func (g *globals) mtuOf(s portState) int {
	if s.routed {
		return cmp.Or(s.mtu, g.ports.mtu, defaultMTU)
	}
	return cmp.Or(s.l2mtu, defaultL2MTU)
}

// watchdog returns the watchdog of a port. It is on if it is not turned off on the port, its
// timeout is above 0 and a priority is lossless.
func (g *globals) watchdog(s portState, pfc qos.PrioritySet) qos.Watchdog {
	w := qos.Watchdog{Priorities: pfc, Action: g.action, Detect: g.timeout, Restore: g.recovery}
	if s.timed {
		w.Detect, w.Restore = s.timeout, s.recovery
	}
	if s.action != "" {
		w.Action = s.action
	}
	if g.override {
		w.Action = qos.ActionDrop
	}
	w.Enabled = !s.unwatched && w.Detect > 0 && pfc != 0
	return w
}

func (q *queueState) model() qos.Queue {
	s := qos.Scheduler{Strict: !q.weighted, MinRate: q.minRate, MaxRate: q.maxRate, Other: phrases(q.minOther, q.maxOther)}
	if q.weighted {
		s.Weight = q.percent
	}
	e := q.ecn
	e.Other = phrases(q.drop[3], q.drop[0], q.drop[1], q.drop[2])
	e.Drops = !e.Enabled && e.Other != ""
	return qos.Queue{Scheduler: qos.Of(s), ECN: qos.Of(e)}
}

func phrases(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}
