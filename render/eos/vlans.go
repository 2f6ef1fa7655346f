package eos

import (
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// vlans: EOS User Manual, Data Transfer ("mac address-table aging-time") and IPv4 ("arp
// aging timeout").
var vlans = lines.VLANs{Bridged: true, ARP: "arp aging timeout", MACAging: 5 * time.Minute, ARPTimeout: 4 * time.Hour}

// bridged reads the VLANs that the switch bridges and routes.
func (r *reading) bridged(top []*Line) map[string]qos.Bridged {
	interfaces := map[string][]*Line{}
	for _, s := range r.order {
		if s.at == inInterface {
			for _, n := range s.nodes {
				interfaces[s.port()] = append(interfaces[s.port()], n.Sub...)
			}
		}
	}
	return vlans.Read(top, interfaces, func(name string) string {
		if !isEthernet(name) {
			return ""
		}
		for _, l := range interfaces[name] {
			if rest, ok := strings.CutPrefix(l.Text, "channel-group "); ok {
				n, _, _ := strings.Cut(rest, " ")
				return "Port-Channel" + n
			}
		}
		return name
	})
}
