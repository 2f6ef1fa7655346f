package eos

import (
	"math"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Lines about ageing (aristanetworks/avd, eos_cli_config_gen mac-address-table.j2, arp.j2 and
// vlan-interfaces.j2). It is not documented when an ARP entry expires on a VLAN that monitors
// MAC addresses.
const (
	arpAgeAll  = "arp aging timeout default "
	arpAge     = "arp aging timeout "
	arpAgeOld  = "arp timeout "
	arpMonitor = "arp monitor mac-address"

	usualMACAge = 300 * time.Second // EOS User Manual, Layer 2: MAC address table
	usualARPAge = 4 * time.Hour     // EOS User Manual, IPv4: ARP
)

// texts yields the lines of an interface with single spaces.
func (s *section) texts(do func(string) bool) {
	if s == nil {
		return
	}
	for _, n := range s.nodes {
		for _, l := range n.Sub {
			if !do(canonical(l.Text)) {
				return
			}
		}
	}
}

// bridges returns the VLANs that the switch routes.
func (r *reading) bridges(d *qos.Device) []qos.Bridge {
	usual := lines.Timers{MAC: qos.Of(usualMACAge), ARP: qos.Of(usualARPAge)}
	groups := map[string][]int{} // VLANs that only the trunks of a group carry
	for _, l := range r.top {
		text := canonical(l.Text)
		if t, ok := lines.Seconds(text, lines.MACAge); ok {
			usual.MAC = qos.Of(t)
		}
		if t, ok := lines.Seconds(text, arpAgeAll); ok {
			usual.ARP = qos.Of(t)
		}
		if list, ok := strings.CutPrefix(text, "vlan "); ok {
			named, _ := lines.ReadVLANs(list)
			for _, s := range l.Sub {
				if g, ok := strings.CutPrefix(canonical(s.Text), "trunk group "); ok {
					named.All(func(n int) bool { groups[g] = append(groups[g], n); return true })
				}
			}
		}
	}
	routed := map[int]lines.Timers{}
	for _, s := range r.order {
		id, ok := strings.CutPrefix(s.port(), "Vlan")
		n, isNumber := lines.Number(id, math.MaxInt16)
		if !ok || !isNumber || s.at != inInterface {
			continue
		}
		t, address, up := usual, false, true
		for text := range s.texts {
			address = address || strings.HasPrefix(text, "ip address ")
			up = up && text != keyShutdown
			for _, key := range []string{arpAge, arpAgeOld} {
				if age, ok := lines.Seconds(text, key); ok {
					t.ARP = qos.Of(age)
				}
			}
		}
		for text := range s.texts {
			if text == arpMonitor {
				t.ARP = qos.Opt[time.Duration]{}
			}
		}
		if address && up {
			routed[n] = t
		}
	}
	if len(routed) == 0 {
		return nil
	}
	carried := map[string]lines.VLANs{} // VLANs of each interface that has been read
	var members []lines.Member
	for name, p := range d.Ports {
		at := name
		if p.LAG.V != "" {
			at = p.LAG.V
		}
		set, ok := carried[at]
		if !ok {
			w := lines.Switchport{Routed: r.ports.routed}
			for text := range r.sections[sectionInterface+at].texts {
				w.Read(text)
			}
			set = w.VLANs()
			for g, vlans := range groups {
				if w.Trunk() && !w.Groups[g] {
					for _, n := range vlans {
						set.Remove(n)
					}
				}
			}
			carried[at] = set
		}
		members = append(members, lines.Member{Port: name, LAG: p.LAG.V, VLANs: set})
	}
	return lines.Bridges(routed, members)
}

// overlays returns the subinterfaces with their own trust setting (Arista TOI "QoS trust on
// subinterfaces", EOS 4.28.2F). Other subinterfaces use the trust of their port.
func (r *reading) overlays(d *qos.Device) map[string]qos.Overlay {
	var out map[string]qos.Overlay
	for _, s := range r.order {
		parent, ok := s.parent()
		if !ok {
			continue
		}
		var st state
		s.apply(&st, r.without)
		if st.port.trust == "" {
			continue
		}
		o := qos.Overlay{Kind: "subinterface", Trust: qos.Of(st.port.trust)}
		for name, p := range d.Ports {
			if name == parent || p.LAG.V == parent {
				o.Ports = append(o.Ports, name)
			}
		}
		if out == nil {
			out = map[string]qos.Overlay{}
		}
		out[s.port()] = o
	}
	return out
}

// parent returns the interface of which a section is a subinterface.
func (s *section) parent() (string, bool) {
	parent, _, ok := strings.Cut(s.port(), ".")
	return parent, ok && s.at == inInterface
}

// isOverlay reports whether overlays reads a line.
func (s *section) isOverlay(h *held) bool {
	_, ok := s.parent()
	return ok && h.spot.key == keyTrust
}
