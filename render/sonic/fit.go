package sonic

import "github.com/roce-fabric/roce-fabric/intent/qos"

// Fit takes out of a compiled switch what SONiC has no setting for: CONFIG_DB has
// none of IEEE 802.3x link pause (sonic-port.yang), which is off by default
// (SAI_PORT_ATTR_GLOBAL_FLOW_CONTROL_MODE, saiport.h).
func Fit(d *qos.Device) {
	for _, p := range d.Ports {
		p.LinkPause = qos.Opt[bool]{}
	}
}
