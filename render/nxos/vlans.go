package nxos

import (
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// vlans: Cisco Nexus 9000 NX-OS configuration guides, Layer 2 Switching ("mac address-table
// aging-time") and Unicast Routing ("ip arp timeout"). Whether a port without a line is
// bridged depends on "system default switchport", and is not assumed.
var vlans = lines.VLANs{ARP: "ip arp timeout", MACAging: 30 * time.Minute, ARPTimeout: 25 * time.Minute}

// bridged reads the VLANs that the switch bridges and routes.
func (v *view) bridged() map[string]qos.Bridged {
	interfaces := map[string][]*Line{}
	for name, l := range v.ports {
		interfaces[name] = l.Sub
	}
	return vlans.Read(v.global.Sub, interfaces, func(name string) string {
		if !isPort(name) {
			return ""
		}
		if lag := aggregate(v.ports[name]); lag != "" {
			return lag
		}
		return name
	})
}
