package drivers

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Allowed returns desired with every value that a change is blocked for
// replaced by the one that the device holds. desired is not changed.
func Allowed(have, desired *qos.Device, changes []qos.Change) *qos.Device {
	out := *desired
	out.Ports = make(map[string]*qos.Port, len(desired.Ports))
	for name, port := range desired.Ports {
		out.Ports[name] = port
	}
	own := map[string]bool{} // ports that are copies
	for _, c := range changes {
		switch {
		case c.Blocked == "":
		case c.Port == "":
			keep(&out, have, c.Field)
		case c.Field == qos.PortField:
			delete(out.Ports, c.Port)
		case out.Ports[c.Port] != nil:
			if !own[c.Port] {
				port := *out.Ports[c.Port]
				out.Ports[c.Port], own[c.Port] = &port, true
			}
			keepPort(out.Ports[c.Port], have.Ports[c.Port], c.Field)
		}
	}
	return &out
}

// keep takes a value of the device from have.
func keep(out, have *qos.Device, field string) {
	table, ok := strings.CutPrefix(field, "global_maps.")
	switch {
	case field == "watchdog_poll":
		out.WatchdogPoll = have.WatchdogPoll
	case field == "headroom_model":
		out.HeadroomModel = have.HeadroomModel
	case ok:
		out.GlobalMaps = without(out.GlobalMaps, table)
	}
}

// without returns maps that leave one table as it is.
func without(maps qos.Opt[*qos.Maps], table string) qos.Opt[*qos.Maps] {
	if maps.V == nil {
		return maps
	}
	m := *maps.V
	if table == "dscp_to_tc" {
		for i := range m.DSCPToTC {
			m.DSCPToTC[i] = qos.Unmanaged
		}
	} else if part := map[string]*[qos.NumPriorities]int8{
		"pcp_to_tc": &m.PCPToTC, "tc_to_queue": &m.TCToQueue, "tc_to_group": &m.TCToGroup,
		"pfc_to_queue": &m.PFCToQueue, "pfc_to_group": &m.PFCToGroup, "tc_to_dscp": &m.TCToDSCP,
	}[table]; part != nil {
		qos.Unmanage(part)
	}
	return qos.Of(&m)
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
		if rest == "" {
			out.Maps = have.Maps
		} else {
			out.Maps = without(out.Maps, rest)
		}
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
