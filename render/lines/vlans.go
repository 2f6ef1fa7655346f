package lines

import (
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

const maxVLAN = 4094

// VLANs are the words of a system for how long addresses of hosts are kept.
type VLANs struct {
	// Bridged says that a port without a line is in a VLAN.
	Bridged bool
	// ARP is the key of the timeout, in seconds, of a VLAN interface and of all of them.
	ARP string
	// MACAging and ARPTimeout are those of a switch without a line.
	MACAging, ARPTimeout time.Duration
}

const keyMACAging = "mac address-table aging-time"

// Read returns the VLANs that a configuration both bridges and routes, by the names of
// their interfaces. interfaces are the lines of each interface by its name, top those of the
// top level. port returns the interface that says which VLANs a port is in, "" for one that
// is no port.
func (v VLANs) Read(top []*Line, interfaces map[string][]*Line, port func(name string) string) map[string]qos.Bridged {
	var out map[string]qos.Bridged
	aging, timeout := seconds(top, keyMACAging, v.MACAging), seconds(top, v.ARP, v.ARPTimeout)
	for _, name := range natural.Keys(interfaces) {
		n, isVLAN := strings.CutPrefix(name, "Vlan")
		id, isNumber := Number(strings.TrimSpace(n), maxVLAN)
		if !isVLAN || !isNumber || !routes(interfaces[name]) {
			continue
		}
		b := qos.Bridged{MACAging: aging, ARPTimeout: seconds(interfaces[name], v.ARP, timeout)}
		for _, p := range natural.Keys(interfaces) {
			if from := port(p); from != "" && v.holds(interfaces[from], id) {
				b.Ports = append(b.Ports, p)
			}
		}
		if len(b.Ports) == 0 {
			continue
		}
		if out == nil {
			out = map[string]qos.Bridged{}
		}
		out[name] = b
	}
	return out
}

func routes(ls []*Line) bool {
	for _, l := range ls {
		if strings.HasPrefix(l.Text, "ip address ") || strings.HasPrefix(l.Text, "ipv6 address ") {
			return true
		}
	}
	return false
}

// seconds returns what the last line of a key says.
func seconds(ls []*Line, key string, usual time.Duration) time.Duration {
	for _, l := range ls {
		if rest, ok := strings.CutPrefix(l.Text, key+" "); ok {
			if n, ok := Number(strings.TrimPrefix(rest, "default "), 1<<24); ok {
				usual = time.Duration(n) * time.Second
			}
		}
	}
	return usual
}

// holds reports whether the lines of an interface put it into a VLAN; false where they say
// it in a way that is not known.
func (v VLANs) holds(ls []*Line, id int) bool {
	bridged, routed, trunk, access, allowed := v.Bridged, false, false, 1, "all"
	for _, l := range ls {
		switch rest, ok := strings.CutPrefix(l.Text, "switchport "); {
		case l.Text == "no switchport", l.Text == "switchport":
			routed, bridged = l.Text == "no switchport", true
		case !ok:
		case rest == "mode trunk":
			bridged, trunk = true, true
		case rest == "mode access":
			bridged = true
		case strings.HasPrefix(rest, "access vlan "):
			bridged = true
			access, _ = Number(strings.TrimPrefix(rest, "access vlan "), maxVLAN)
		case strings.HasPrefix(rest, "trunk allowed vlan add "):
			allowed += "," + strings.TrimPrefix(rest, "trunk allowed vlan add ")
		case strings.HasPrefix(rest, "trunk allowed vlan "):
			allowed = strings.TrimPrefix(rest, "trunk allowed vlan ")
		}
	}
	switch {
	case routed, !bridged:
		return false
	case !trunk:
		return access == id
	case allowed == "all":
		return true
	}
	for part := range strings.SplitSeq(allowed, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		from, ok := Number(lo, maxVLAN)
		to, also := from, true
		if ranged {
			to, also = Number(hi, maxVLAN)
		}
		if ok && also && from <= id && id <= to {
			return true
		}
	}
	return false
}
