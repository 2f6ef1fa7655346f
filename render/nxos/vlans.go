package nxos

import (
	"math"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Default ageing times of MAC and ARP entries, the line that sets the latter, and the header of
// a VLAN's own lines (Cisco Nexus 9000 NX-OS configuration guides: Unicast Routing, Layer 2
// Switching, Quality of Service).
const (
	arpAge     = "ip arp timeout "
	vlanHeader = "vlan configuration "

	usualMACAge = 1800 * time.Second
	usualARPAge = 1500 * time.Second
)

// switched returns the VLAN settings of an interface: it is a switched port unless the
// interface, or "no system default switchport", says otherwise.
func (v *view) switched(name string) *lines.Switchport {
	_, at, ok := last(v.global, "system default switchport")
	p := &lines.Switchport{Routed: at != nil && !ok}
	if own := v.ports[name]; own != nil {
		for _, l := range own.Sub {
			p.Read(l.Text)
		}
	}
	return p
}

// members returns the ports with the VLANs that they, or their port-channels, are in.
func (v *view) members() (out []lines.Member) {
	carried := map[string]lines.VLANs{}
	for _, name := range natural.Keys(v.ports) {
		if !isPort(name) {
			continue
		}
		m := lines.Member{Port: name, LAG: aggregate(v.ports[name])}
		at := name
		if m.LAG != "" {
			at = m.LAG
		}
		set, ok := carried[at]
		if !ok {
			set = v.switched(at).VLANs()
			carried[at] = set
		}
		m.VLANs = set
		out = append(out, m)
	}
	return out
}

// bridges returns the VLANs that the switch routes.
func (v *view) bridges() []qos.Bridge {
	usual := lines.Timers{MAC: qos.Of(usualMACAge), ARP: qos.Of(usualARPAge)}
	ofVLAN := map[int]time.Duration{}
	for _, l := range v.global.Sub {
		text, vlan, one := strings.Cut(l.Text, " vlan ")
		if t, ok := lines.Seconds(text, lines.MACAge); ok && one {
			n, _ := lines.Number(vlan, math.MaxInt16)
			ofVLAN[n] = t
		} else if ok {
			usual.MAC = qos.Of(t)
		}
		if t, ok := lines.Seconds(l.Text, arpAge); ok {
			usual.ARP = qos.Of(t)
		}
	}
	routed := map[int]lines.Timers{}
	for name, own := range v.ports {
		id, ok := strings.CutPrefix(strings.ToLower(name), "vlan")
		n, isNumber := lines.Number(id, math.MaxInt16)
		if !ok || !isNumber {
			continue
		}
		t, address := usual, false
		if age, ok := ofVLAN[n]; ok {
			t.MAC = qos.Of(age)
		}
		for _, l := range own.Sub {
			address = address || strings.HasPrefix(l.Text, "ip address ")
			if age, ok := lines.Seconds(l.Text, arpAge); ok {
				t.ARP = qos.Of(age)
			}
		}
		if _, _, down := last(own, keyShutdown); address && !down {
			routed[n] = t
		}
	}
	if len(routed) == 0 {
		return nil
	}
	return lines.Bridges(routed, v.members())
}

// overlays returns the VLANs with a policy of type qos. It applies to ports of the VLAN that
// have no policy of their own or of their port-channel (Cisco Nexus 9000 NX-OS Quality of
// Service Configuration Guide, attaching and detaching a QoS policy action).
func (v *view) overlays() map[string]qos.Overlay {
	var out map[string]qos.Overlay
	var members []lines.Member
	for _, l := range v.global.Sub {
		list, ok := cutWords(l.Text, strings.TrimSpace(vlanHeader))
		policy, _, attached := last(l, keyInput)
		named, isList := lines.ReadVLANs(list)
		if !ok || !attached || !isList {
			continue
		}
		if members == nil {
			members = v.members()
		}
		o := qos.Overlay{Kind: "VLAN", Maps: qos.Of(v.readInput(firstWord(policy)).maps)}
		for _, m := range members {
			if _, own := v.line(m.Port, keyInput); !own && m.VLANs.Meets(&named) {
				o.Ports = append(o.Ports, m.Port)
			}
		}
		if out == nil {
			out = map[string]qos.Overlay{}
		}
		out["vlan "+list] = o
	}
	return out
}
