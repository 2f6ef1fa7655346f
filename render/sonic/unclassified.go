package sonic

import (
	"maps"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// unclassified returns desired without the classification of ports that have no map and do not need
// one: where the intent puts every DSCP into traffic class 0, the switch does so without a map
// (SAI_PORT_ATTR_QOS_DEFAULT_TC, saiport.h). A switch that differs in nothing else is left as it is.
// Neither device is changed.
func unclassified(have, desired *qos.Device) *qos.Device {
	out := desired
	for name, want := range desired.Ports {
		is := have.Ports[name]
		if is == nil || !want.Maps.Set || want.Maps.V == nil || want.Trust != qos.Of(qos.TrustDSCP) || is.Trust != qos.Of(qos.TrustNone) ||
			classifies(is.Maps.V, false) || classifies(have.GlobalMaps.V, false) || classifies(want.Maps.V, true) {
			continue
		}
		if out == desired {
			copied := *desired
			copied.Ports = maps.Clone(desired.Ports)
			out = &copied
		}
		port, m := *want, *want.Maps.V
		port.Trust = qos.Opt[qos.Trust]{}
		m.Unmanage(qos.DSCPToTC, qos.PCPToTC)
		port.Maps = qos.Of(&m)
		out.Ports[name] = &port
	}
	return out
}

// classifies reports whether maps put a DSCP into a traffic class, or, if other is set, into one
// other than 0.
func classifies(m *qos.Maps, other bool) bool {
	if m == nil {
		return false
	}
	for _, tc := range m.DSCPToTC {
		if tc > 0 || tc == 0 && !other {
			return true
		}
	}
	return false
}
