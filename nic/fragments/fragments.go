// Package fragments writes the RDMA-related parts of a host's network configuration: the MTUs of
// NICs, bonds and VLANs, and the egress maps of VLANs, as fragments that complete the existing
// files. Addresses, members of bonds and everything else stay in those files. This way no MTU is
// set to different values in two places.
//
// The package reads and writes no machine; nic/writers covers what other writers do.
package fragments

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
)

// For is the program that fragments are written for.
type For string

// The programs.
const (
	Networkd       For = "networkd"
	Netplan        For = "netplan"
	NetworkManager For = "networkmanager"
)

// All lists all programs.
var All = []For{Networkd, Netplan, NetworkManager}

// File is one fragment.
type File struct {
	Path    string // below the root directory of the host, with slashes
	Content []byte
	Mode    fs.FileMode
}

// ErrName is returned for a device whose name cannot be used in a file or a file name.
var ErrName = errors.New("name not usable in a network configuration")

var deviceName = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$`)

const (
	header = "# Written by 'roce-fabric nic fragments'; do not edit.\n"
	name   = "50-roce-fabric"
)

// Render returns the fragments for a desired host; none if it sets no MTU and no map. The same host
// always yields the same bytes.
func Render(h *nic.Host, of For) ([]File, error) {
	d := devices{host: h}
	for _, n := range natural.Keys(h.Ports) {
		if p := h.Ports[n]; p.MTU.Set {
			d.add("ethernets", n, p.MTU.V, nil)
		}
	}
	for _, u := range d.inOrder() {
		if u.MTU.Set {
			d.add(map[nic.UpperKind]string{nic.UpperBond: "bonds", nic.UpperVLAN: "vlans"}[u.Kind], u.Name, u.MTU.V, u)
		}
	}
	for _, e := range d.all {
		if !deviceName.MatchString(e.name) || e.upper != nil && slices.ContainsFunc(e.upper.On, func(n string) bool { return !deviceName.MatchString(n) }) {
			return nil, fmt.Errorf("%q: %w", term.CleanLine(e.name), ErrName)
		}
	}
	if len(d.all) == 0 {
		return nil, nil
	}
	switch of {
	case Networkd:
		return d.networkd(""), nil
	case Netplan:
		return d.netplan(), nil
	case NetworkManager:
		return d.networkManager(), nil
	}
	return nil, fmt.Errorf("no fragments for %q", of)
}

// device is a device with an MTU; kind is netplan's name for it, upper is nil for a NIC.
type device struct {
	kind, name string
	mtu        int
	upper      *nic.Upper
}

type devices struct {
	host *nic.Host
	all  []device
}

func (d *devices) add(kind, name string, mtu int, u *nic.Upper) {
	d.all = append(d.all, device{kind, name, mtu, u})
}

// inOrder returns the bonds, then the VLANs.
func (d *devices) inOrder() (out []*nic.Upper) {
	for _, kind := range []nic.UpperKind{nic.UpperBond, nic.UpperVLAN} {
		for _, n := range natural.Keys(d.host.Uppers) {
			if u := d.host.Uppers[n]; u.Kind == kind {
				out = append(out, u)
			}
		}
	}
	return out
}

// egress returns the map of a VLAN, with the given separators within and between its pairs; "" if
// there is none.
func (e device) egress(within, between string) string {
	if e.upper == nil || !e.upper.Egress.Set {
		return ""
	}
	var pairs []string
	for from, to := range e.upper.Egress.V {
		if to != qos.Unmanaged {
			pairs = append(pairs, fmt.Sprintf("%d%s%d", from, within, to))
		}
	}
	return strings.Join(pairs, between)
}

// networkd returns drop-ins for the files of systemd-networkd that are named after their device,
// with a prefix (systemd.network(5), systemd.netdev(5)).
func (d *devices) networkd(prefix string) (out []File) {
	put := func(file, text string) {
		out = append(out, File{"etc/systemd/network/" + prefix + file + ".d/" + name + ".conf", []byte(header + text), 0o644})
	}
	for _, e := range d.all {
		if prefix == "" {
			put(e.name+".network", fmt.Sprintf("[Link]\nMTUBytes=%d\n", e.mtu))
		}
		if m := e.egress("-", " "); m != "" {
			put(e.name+".netdev", "[VLAN]\nEgressQOSMaps="+m+"\n")
		}
	}
	return out
}

// netplan returns a file that netplan merges with the others. netplan does not support egress maps,
// so they are drop-ins for the files that it writes for systemd-networkd.
func (d *devices) netplan() []File {
	b := bytes.NewBufferString(header + "network:\n  version: 2\n")
	kind := ""
	for _, e := range d.all {
		if e.kind != kind {
			kind = e.kind
			fmt.Fprintf(b, "  %s:\n", kind)
		}
		fmt.Fprintf(b, "    %q:\n", e.name)
		if e.upper != nil && e.upper.Kind == nic.UpperVLAN {
			fmt.Fprintf(b, "      id: %d\n      link: %q\n", e.upper.VLAN.V, e.upper.On[0])
		}
		fmt.Fprintf(b, "      mtu: %d\n", e.mtu)
	}
	// Mode 0600, because netplan warns of files that everyone can read: others may contain a
	// password.
	return append([]File{{"etc/netplan/90-roce-fabric.yaml", b.Bytes(), 0o600}}, d.networkd("10-netplan-")...)
}

// networkManager returns defaults for profiles without an MTU (NetworkManager.conf(5)), and a
// script for the maps, for which there are no defaults (NetworkManager-dispatcher(8)).
func (d *devices) networkManager() []File {
	var conf, maps bytes.Buffer
	conf.WriteString(header)
	for i, e := range d.all {
		if i > 0 {
			conf.WriteString("\n")
		}
		fmt.Fprintf(&conf, "[connection-roce-fabric-%s]\nmatch-device=interface-name:=%s\nethernet.mtu=%d\n", e.name, e.name, e.mtu)
		if m := e.egress(":", " "); m != "" {
			fmt.Fprintf(&maps, "%s) exec ip link set dev %s type vlan egress-qos-map %s ;;\n", e.name, e.name, m)
		}
	}
	out := []File{{"etc/NetworkManager/conf.d/" + name + ".conf", conf.Bytes(), 0o644}}
	if maps.Len() > 0 {
		text := "#!/bin/sh\n" + header + "[ \"$2\" = pre-up ] || exit 0\ncase \"$1\" in\n" + maps.String() + "esac\n"
		out = append(out, File{"etc/NetworkManager/dispatcher.d/pre-up.d/" + name, []byte(text), 0o755})
	}
	return out
}
