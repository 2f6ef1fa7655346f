package eos

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// allowed returns desired with every value that is blocked replaced by the one
// that the switch holds.
func (p *planner) allowed() *qos.Device {
	out := *p.desired
	out.Ports = make(map[string]*qos.Port, len(p.desired.Ports))
	for name, port := range p.desired.Ports {
		out.Ports[name] = port
	}
	own := map[string]bool{} // ports that are copies
	for _, c := range p.changes {
		switch {
		case c.Blocked == "":
		case c.Port == "":
			keep(&out, p.have, c.Field)
		case c.Field == qos.PortField:
			delete(out.Ports, c.Port)
		case out.Ports[c.Port] != nil:
			if !own[c.Port] {
				port := *out.Ports[c.Port]
				out.Ports[c.Port], own[c.Port] = &port, true
			}
			keepPort(out.Ports[c.Port], p.have.Ports[c.Port], c.Field)
		}
	}
	return &out
}

// keep takes a value of the device from have.
func keep(out, have *qos.Device, field string) {
	name, _ := strings.CutPrefix(field, "global_maps.")
	switch {
	case field == "watchdog_poll":
		out.WatchdogPoll = have.WatchdogPoll
	case field == "headroom_model":
		out.HeadroomModel = have.HeadroomModel
	case name != field && out.GlobalMaps.V != nil:
		m := *out.GlobalMaps.V
		if name == "dscp_to_tc" {
			for i := range m.DSCPToTC {
				m.DSCPToTC[i] = qos.Unmanaged
			}
		} else if part := map[string]*[qos.NumPriorities]int8{
			"pcp_to_tc": &m.PCPToTC, "tc_to_queue": &m.TCToQueue, "tc_to_group": &m.TCToGroup,
			"pfc_to_queue": &m.PFCToQueue, "pfc_to_group": &m.PFCToGroup, "tc_to_dscp": &m.TCToDSCP,
		}[name]; part != nil {
			qos.Unmanage(part)
		}
		out.GlobalMaps = qos.Of(&m)
	}
}

// keepPort takes a value of a port from have.
func keepPort(out, have *qos.Port, field string) {
	if have == nil {
		have = &qos.Port{}
	}
	head, rest, _ := strings.Cut(field, ".")
	kind, index, _ := strings.Cut(strings.TrimSuffix(head, "]"), "[")
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= qos.NumPriorities {
		i = 0
	}
	switch kind {
	case "speed":
		out.Speed = have.Speed
	case "breakout":
		out.Breakout = have.Breakout
	case "lag":
		out.LAG = have.LAG
	case "fec":
		out.FEC = have.FEC
	case "mtu":
		out.MTU = have.MTU
	case "admin_up":
		out.AdminUp = have.AdminUp
	case "cable":
		out.Cable = have.Cable
	case "trust":
		out.Trust = have.Trust
	case "maps":
		out.Maps = have.Maps
	case "pfc":
		out.PFC = have.PFC
	case "pfc_asymmetric":
		out.PFCAsymmetric = have.PFCAsymmetric
	case "link_pause":
		out.LinkPause = have.LinkPause
	case "watchdog":
		out.Watchdog = have.Watchdog
	case "ingress_profiles":
		out.IngressProfiles = have.IngressProfiles
	case "egress_profiles":
		out.EgressProfiles = have.EgressProfiles
	case "groups":
		out.Groups[i] = have.Groups[i]
	case "queues":
		switch rest {
		case "ecn":
			out.Queues[i].ECN = have.Queues[i].ECN
		case "scheduler":
			out.Queues[i].Scheduler = have.Queues[i].Scheduler
		default:
			out.Queues[i].Buffer = have.Queues[i].Buffer
		}
	}
}
