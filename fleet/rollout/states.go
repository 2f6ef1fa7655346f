package rollout

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// SwitchStates returns the settings of a switch that its neighbours depend on, before and
// after a plan.
func SwitchStates(running, desired *qos.Device, sw *intent.Switch) []order.State {
	before, after := order.State{Ports: map[string]order.Port{}}, order.State{Ports: map[string]order.Port{}}
	for _, port := range sw.Ports {
		name := port.Name
		is := running.Ports[name]
		if is == nil || port.Link == nil {
			continue
		}
		was := order.Port{PFC: is.PFC.Or(0), MTU: is.MTU.Or(0)}
		if is.Trust.Or(qos.TrustDSCP) == qos.TrustDSCP {
			was.Classes = classes(running.MapsOf(name), nil)
		}
		will := was
		if want := desired.Ports[name]; want != nil {
			will.PFC, will.MTU = want.PFC.Or(was.PFC), want.MTU.Or(was.MTU)
			switch want.Trust.Or(is.Trust.Or(qos.TrustDSCP)) {
			case qos.TrustDSCP:
				will.Classes = classes(desired.MapsOf(name), was.Classes)
			default:
				will.Classes = nil
			}
		}
		before.Ports[name], after.Ports[name] = was, will
	}
	return []order.State{before, after}
}

// classes returns the traffic class of each code point according to maps m. Code points
// that m does not manage keep their class from was. It returns nil if the classes are unknown,
// such as when m maps only PCPs.
func classes(m *qos.Maps, was *[qos.NumDSCP]int8) *[qos.NumDSCP]int8 {
	if m == nil {
		return was
	}
	managed := func(tc int8) bool { return tc != qos.Unmanaged }
	if !slices.ContainsFunc(m.DSCPToTC[:], managed) && slices.ContainsFunc(m.PCPToTC[:], managed) {
		return nil
	}
	out := m.DSCPToTC
	for d, tc := range out {
		if tc == qos.Unmanaged {
			if was == nil {
				return nil
			}
			out[d] = was[d]
		}
	}
	return &out
}

// HostStates returns the settings of a host that its neighbours depend on, before and after
// a plan.
func HostStates(running, desired *nic.Host) []order.State {
	before, after := order.State{Ports: map[string]order.Port{}}, order.State{Ports: map[string]order.Port{}}
	for name, want := range desired.Ports {
		is := running.Ports[name]
		if is == nil {
			continue
		}
		was := order.Port{PFC: is.PFC.Or(0), MTU: is.MTU.Or(0)}
		if is.DSCP.Set {
			was.Classes = classes(&qos.Maps{DSCPToTC: is.DSCP.V}, nil)
		}
		will := order.Port{PFC: want.PFC.Or(was.PFC), MTU: want.MTU.Or(was.MTU), Classes: was.Classes}
		if want.DSCP.Set {
			will.Classes = classes(&qos.Maps{DSCPToTC: want.DSCP.V}, was.Classes)
		}
		before.Ports[name], after.Ports[name] = was, will
		tos, class := is.ToS, is.TrafficClass
		before.Sends |= sentDSCPs(tos, class)
		if want.ToS.Set {
			tos = want.ToS
		}
		if want.TrafficClass.Set {
			class = want.TrafficClass
		}
		after.Sends |= sentDSCPs(tos, class)
	}
	return []order.State{before, after}
}

// sentDSCPs returns the code points that a NIC gives to RDMA traffic for which the application
// sets none.
func sentDSCPs(tos, class qos.Opt[int]) (out uint64) {
	for _, v := range []qos.Opt[int]{tos, class} {
		if v.Set && v.V >= 0 {
			out |= 1 << (v.V >> 2 & (qos.NumDSCP - 1))
		}
	}
	return out
}
