package writers

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/nic"
)

// File is a configuration file.
type File struct {
	Path string
	Text []byte
}

// NetworkManager finds what a NetworkManager profile sets (nm-settings-keyfile(5)): MTU, ring
// lengths, link pause, and PFC through lldpad. idle says why NetworkManager does not run; "" if it
// does.
func (f *Finder) NetworkManager(file File, idle string) {
	a := at{who: "NetworkManager", file: file.Path, idle: idle}
	l := ini(file.Text)
	get := func(section, key string) string {
		for _, e := range l {
			if e.section == section && e.key == key {
				return e.value
			}
		}
		return ""
	}
	kind := get("connection", "type")
	if get("connection", "autoconnect") == "false" {
		a.idle = cmp.Or(a.idle, "the profile does not connect by itself")
	}
	name := get("connection", "interface-name")
	mac := cmp.Or(get("ethernet", "mac-address"), get("802-3-ethernet", "mac-address"))
	match := strings.Fields(strings.ReplaceAll(get("match", "interface-name"), ";", " "))
	ports := f.those(func(n NIC) bool {
		names := []string{n.Name}
		if kind == "bond" || kind == "team" {
			names = []string{n.Bond}
		}
		return (name == "" || slices.Contains(names, name)) && (mac == "" || strings.EqualFold(mac, n.MAC)) &&
			(len(match) == 0 || matches(match, names...)) && (name != "" || kind == "ethernet" || kind == "802-3-ethernet")
	})
	if kind == "vlan" {
		for _, e := range l {
			if a.line = e.line; e.section == "vlan" && e.key == "egress-priority-map" {
				f.egress(a, name, strings.Split(e.value, ","), ":")
			}
		}
		return
	}
	if len(ports) == 0 {
		return
	}
	if name == "" && mac == "" && len(match) == 0 {
		a.idle = cmp.Or(a.idle, "the profile names no interface, and another one may be in use")
	}
	for _, e := range l {
		a.line = e.line
		switch {
		case (e.section == "ethernet" || e.section == "802-3-ethernet") && e.key == "mtu" && e.value != "0": // 0 leaves the MTU alone
			f.number(a, ports, nic.FieldMTU, e.value)
		case e.section == "ethtool" && (e.key == "ring-rx" || e.key == "ring-tx"):
			f.rings(a, ports, e.value, e.key == "ring-rx", e.value, e.key == "ring-tx")
		case e.section == "ethtool" && (e.key == "pause-rx" || e.key == "pause-tx"):
			f.pauseBool(a, ports, e.value)
		case e.section == "dcb" && e.key == "priority-flow-control":
			set, ok := flags(strings.TrimSuffix(e.value, ","))
			(&script{Finder: f, at: a}).pfc(ports, set, ok)
		}
	}
}

// pauseBool handles pause in one direction: if it is on, link pause is on; if it is off, the other
// direction may still be on.
func (f *Finder) pauseBool(a at, ports []string, value string) {
	if !truth(value) {
		return
	}
	f.add(a, ports, nic.FieldLinkPause, func(p *nic.Port) { p.LinkPause = qos.Of(true) })
}

// truth parses a boolean of systemd and NetworkManager.
func truth(s string) bool {
	return slices.Contains([]string{"1", "yes", "y", "true", "t", "on"}, strings.ToLower(s))
}

// Networkd finds what the files of systemd-networkd and of udev's link setup set
// (systemd.network(5), systemd.link(5)). Among files of one kind, the first in name order that
// matches a port applies; of two files with the same name, the first in the list applies. idle says
// why systemd-networkd does not run, "" if it does; udev always runs.
func (f *Finder) Networkd(files []File, idle string) {
	seen, done := map[string]bool{}, map[string]bool{}
	files = slices.Clone(files)
	ordered.Sort(files, func(a, b File) int { return strings.Compare(path.Base(a.Path), path.Base(b.Path)) })
	for _, file := range files {
		base, ext := path.Base(file.Path), path.Ext(file.Path)
		if seen[base] {
			continue
		}
		seen[base] = true
		a := at{who: "systemd-networkd", file: file.Path, idle: idle}
		if ext == ".link" {
			a.who, a.idle = "udev", ""
		}
		l := ini(file.Text)
		if ext == ".netdev" {
			f.netdev(a, l)
			continue
		}
		ports := f.linked(l, ext, done)
		if len(ports) == 0 {
			continue
		}
		for _, e := range l {
			if a.line = e.line; e.section != "Link" {
				continue
			}
			switch {
			case e.key == "MTUBytes":
				f.number(a, ports, nic.FieldMTU, size(e.value))
			case ext != ".link":
			case e.key == "RxBufferSize" || e.key == "TxBufferSize":
				f.rings(a, ports, e.value, e.key[0] == 'R', e.value, e.key[0] == 'T')
			case e.key == "RxFlowControl" || e.key == "TxFlowControl":
				f.pauseBool(a, ports, e.value)
			}
		}
	}
}

// netdev handles a device that systemd-networkd creates (systemd.netdev(5)).
func (f *Finder) netdev(a at, l []entry) {
	name := ""
	for _, e := range l {
		if e.section == "NetDev" && e.key == "Name" {
			name = e.value
		}
	}
	for _, e := range l {
		if a.line = e.line; e.section == "VLAN" && e.key == "EgressQOSMaps" {
			f.egress(a, name, strings.Fields(e.value), "-")
		}
	}
}

// linked returns the ports that a file matches and no earlier file of its kind did.
func (f *Finder) linked(l []entry, ext string, done map[string]bool) []string {
	return f.those(func(n NIC) bool {
		any := false
		for _, e := range l {
			if e.section != "Match" {
				continue
			}
			var hit bool
			switch patterns := strings.Fields(e.value); e.key {
			case "Name", "OriginalName":
				hit = matches(patterns, n.Name)
				if ext == ".network" && n.Bond != "" {
					hit = hit || matches(patterns, n.Bond)
				}
			case "MACAddress", "PermanentMACAddress":
				hit = slices.ContainsFunc(patterns, func(m string) bool { return n.MAC != "" && strings.EqualFold(m, n.MAC) })
			case "Path":
				hit = n.PCI != "" && matches(patterns, "pci-"+n.PCI)
			case "Driver":
				hit = matches(patterns, n.Driver)
			case "Type":
				hit = matches(patterns, "ether")
			default:
				continue // conditions that are not evaluated here may hold
			}
			if !hit {
				return false
			}
			any = true
		}
		if !any || done[ext+n.Name] {
			return false
		}
		done[ext+n.Name] = true
		return true
	})
}

// size parses a size of systemd: "9000", or "9K" in units of 1024.
func size(s string) string {
	for suffix, unit := range map[string]int{"K": 1 << 10, "M": 1 << 20} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			if v, err := strconv.Atoi(n); err == nil && v > 0 && v < 1<<20 {
				return strconv.Itoa(v * unit)
			}
		}
	}
	return s
}

// Netplan finds what netplan's files set; a file with a later name overrides an earlier one. It
// returns the fields found, by port, which NetworkManager or systemd-networkd then set from
// generated files.
func (f *Finder) Netplan(files []File) map[string]bool {
	files = slices.Clone(files)
	ordered.Sort(files, func(a, b File) int { return strings.Compare(path.Base(a.Path), path.Base(b.Path)) })
	type found struct {
		at    at
		ports []string
		mtu   string
	}
	last := map[string]found{}
	for _, file := range files {
		root, errs := yaml.Parse(file.Path, file.Text)
		if root == nil || len(errs) > 0 {
			continue
		}
		for _, kind := range []string{"ethernets", "bonds"} {
			devices := child(root, "network", kind)
			if devices == nil || devices.Kind != yaml.Map {
				continue
			}
			for _, p := range devices.Pairs {
				ports := f.ofNetplan(kind, p)
				if mtu := child(p.Value, "mtu"); mtu != nil && len(ports) > 0 {
					last[kind+"/"+p.Key.Value] = found{at{who: "netplan", file: file.Path, line: mtu.Line}, ports, mtu.Value}
				}
			}
		}
	}
	out := map[string]bool{}
	for _, id := range natural.Keys(last) {
		l := last[id]
		f.number(l.at, l.ports, nic.FieldMTU, l.mtu)
		for _, p := range l.ports {
			out[p+" "+nic.FieldMTU] = true
		}
	}
	return out
}

func child(n *yaml.Node, keys ...string) *yaml.Node {
	for _, k := range keys {
		if n == nil || n.Kind != yaml.Map {
			return nil
		}
		n = n.Get(k)
	}
	return n
}

// ofNetplan returns the ports of an entry: those that its match selects, or else the one with the
// entry's name.
func (f *Finder) ofNetplan(kind string, p yaml.Pair) []string {
	match := child(p.Value, "match")
	text := func(key string) string {
		if n := child(match, key); n != nil {
			return n.Value
		}
		return ""
	}
	return f.those(func(n NIC) bool {
		if kind == "bonds" {
			return n.Bond != "" && n.Bond == p.Key.Value
		}
		if name := child(p.Value, "set-name"); name != nil && name.Value == n.Name {
			return true
		}
		if match == nil {
			return n.Name == p.Key.Value
		}
		name, mac, driver := text("name"), text("macaddress"), text("driver")
		return (name != "" || mac != "" || driver != "") && (name == "" || matches([]string{name}, n.Name)) &&
			(mac == "" || strings.EqualFold(mac, n.MAC)) && (driver == "" || matches([]string{driver}, n.Driver))
	})
}

// Without removes what was found in files generated by netplan, if netplan's own files set the same
// fields.
func (f *Finder) Without(netplan map[string]bool) {
	f.Found = slices.DeleteFunc(f.Found, func(w nic.Writer) bool {
		base := path.Base(w.Place)
		if !strings.HasPrefix(base, "10-netplan-") && !strings.HasPrefix(base, "netplan-") {
			return false
		}
		return !slices.ContainsFunc(w.Ports, func(p string) bool { return !netplan[p+" "+w.Field] })
	})
}
