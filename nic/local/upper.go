package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
)

// maxUppers limits how many devices over a host's ports are read.
const maxUppers = 256

// readUppers reads the bonds, VLANs and bridges over the ports of a host.
func (m *Machine) readUppers(ctx context.Context, h *nic.Host) {
	var ports []string
	for _, name := range natural.Keys(h.Ports) {
		ports = append(ports, h.Ports[name].Name)
	}
	for todo := ports; len(todo) > 0 && ctx.Err() == nil; todo = todo[1:] {
		for _, name := range m.linked(todo[0], "upper_") {
			if h.Uppers[name] != nil {
				continue
			}
			u := m.upper(ctx, name)
			switch {
			case u == nil:
				continue
			case len(h.Uppers) == maxUppers:
				h.Missing[nic.FieldUppers] = fmt.Sprintf("more than %d devices are over the NICs", maxUppers)
				return
			case h.Uppers == nil:
				h.Uppers = map[string]*nic.Upper{}
			}
			h.Uppers[name] = u
			todo = append(todo, name)
		}
	}
}

// upper reads one device; nil if it is gone or is not a bond, VLAN or bridge.
func (m *Machine) upper(ctx context.Context, name string) *nic.Upper {
	u := &nic.Upper{Name: name, Kind: m.upperKind(name), On: m.choice.named(m.lower(name)), Missing: map[string]string{}}
	note := func(field string, err error) bool {
		if err != nil {
			u.Missing[field] = m.explainError(err)
		}
		return err == nil
	}
	switch u.Kind {
	case nic.UpperBond:
		u.Mode, u.Hash = m.bondOption(name, "mode"), m.bondOption(name, "xmit_hash_policy")
	case nic.UpperVLAN:
		if v, err := m.vlan(ctx, name); note(nic.FieldEgress, err) {
			u.VLAN, u.Egress, u.Ingress = qos.Of(v.ID), qos.Of(v.Egress), qos.Of(v.Ingress)
		}
	case nic.UpperBridge:
	default:
		return nil
	}
	mtu, err := m.number(m.sysNet(name, "mtu"))
	if note(nic.FieldMTU, err) {
		u.MTU = qos.Of(int(mtu))
	}
	if !m.has(m.sysNet(name)) {
		return nil
	}
	return u
}

// bondOption returns the name of an option's value, which its file shows before the number:
// "802.3ad 4" (Linux, drivers/net/bonding/bond_sysfs.c); "" if it cannot be read.
func (m *Machine) bondOption(bond, option string) string {
	text, err := m.text(m.sysNet(bond, "bonding", option))
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(text, " ")
	return clip(name)
}

// upperKind returns the kind of a device according to the type that its driver reports; "" for
// other kinds, because RDMA does not use the addresses of tunnels or software switches.
func (m *Machine) upperKind(name string) nic.UpperKind {
	b, _ := m.fs().ReadFile(m.sysNet(name, "uevent"))
	for line := range strings.Lines(string(b)) {
		v, ok := strings.CutPrefix(strings.TrimSpace(line), "DEVTYPE=")
		kind := nic.UpperKind(v)
		if ok && slices.Contains([]nic.UpperKind{nic.UpperBond, nic.UpperVLAN, nic.UpperBridge}, kind) {
			return kind
		}
	}
	return ""
}

// mtuFollowers returns the devices whose MTU the kernel changes together with that of a device: it
// sets the members of a bond, and lowers the VLANs over the device if necessary (Linux,
// bond_main.c, bond_change_mtu; net/8021q/vlan.c, vlan_device_event). Lower devices come first.
func (m *Machine) mtuFollowers(name string) []string {
	var out []string
	if m.upperKind(name) == nic.UpperBond {
		out = m.lower(name)
	}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		for _, u := range m.linked(todo[0], "upper_") {
			if len(out) < maxUppers && !slices.Contains(out, u) && m.upperKind(u) == nic.UpperVLAN {
				out, todo = append(out, u), append(todo, u)
			}
		}
	}
	return out
}

func (m *Machine) vlan(ctx context.Context, name string) (VLAN, error) {
	if m.VLANs == nil {
		return VLAN{}, errors.New("no netlink")
	}
	return m.VLANs.VLAN(ctx, name)
}
