package localtest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// stacked is a device over other devices.
type stacked struct {
	kind nic.UpperKind
	on   []string
	vlan local.VLAN
	set  bool // the MTU of the bridge was set by hand
}

func (s *stacked) copy() *stacked {
	c := *s
	c.on = slices.Clone(s.on)
	return &c
}

// AddBond adds an LACP bond of existing ports.
func (h *Host) AddBond(name string, members ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range members {
		h.bond(name, m)
	}
}

// AddBridge adds a bridge with the given ports.
func (h *Host) AddBridge(name string, ports ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bridge(name, ports)
}

func (h *Host) bridge(name string, ports []string) {
	for _, p := range ports {
		h.put(filepath.Join(h.over(nic.UpperBridge, name, p), "bridge", "bridge_id"), "8000.000000000000\n")
		h.link("../"+name, h.sys("class", "net", p, "master"))
	}
	h.follow(ports[0])
}

// AddVLAN adds a VLAN without maps over a device.
func (h *Host) AddVLAN(name, on string, id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addVLAN(name, on, id)
}

func (h *Host) addVLAN(name, on string, id int) {
	dir := h.over(nic.UpperVLAN, name, on)
	h.stack[name].vlan.ID = id
	h.put(filepath.Join(dir, "mtu"), fmt.Sprintln(h.mtuOf(on)))
}

// restack recreates the devices over ports, as a network configuration that sets neither MTUs nor
// maps would.
func (h *Host) restack(old map[string]*stacked) {
	for made := true; made; {
		made = false
		for _, name := range natural.Keys(old) {
			s := old[name]
			if slices.ContainsFunc(s.on, func(below string) bool { return !h.has(h.sys("class", "net", below)) }) {
				continue
			}
			made = true
			delete(old, name)
			switch s.kind {
			case nic.UpperVLAN:
				h.addVLAN(name, s.on[0], s.vlan.ID)
			case nic.UpperBridge:
				h.bridge(name, s.on)
			case nic.UpperBond:
				for _, m := range s.on {
					if h.ports[m] == nil || h.ports[m].Bond != name { // otherwise the bond was recreated with the port
						h.bond(name, m)
					}
				}
			}
		}
	}
}

// SetEgress changes the egress map of a VLAN without recording a write.
func (h *Host) SetEgress(name string, m nic.PCPs) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stack[name].vlan.Egress = m
}

// SetMTU changes the MTU of a device, and the MTUs that the kernel changes with it, without
// recording a write.
func (h *Host) SetMTU(name string, mtu int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	must(h.setMTU(name, mtu))
}

// MTU returns the MTU of a device.
func (h *Host) MTU(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mtuOf(name)
}

func (h *Host) mtuOf(name string) int { return h.number(h.sys("class", "net", name, "mtu")) }

func (h *Host) bond(bond, member string) {
	dir := h.over(nic.UpperBond, bond, member)
	h.put(filepath.Join(dir, "bonding", "mode"), "802.3ad 4\n")
	h.put(filepath.Join(dir, "bonding", "xmit_hash_policy"), "layer3+4 1\n")
	h.link("../"+bond, h.sys("class", "net", member, "master"))
	h.put(h.sys("class", "net", member, "bonding_slave", "mii_status"), "up\n")
}

// over puts a device over another one, creating it if it does not exist, and returns its directory.
func (h *Host) over(kind nic.UpperKind, name, on string) (dir string) {
	dir = h.sys("devices", "virtual", "net", name)
	if h.stack[name] == nil {
		h.stack[name] = &stacked{kind: kind}
		h.put(filepath.Join(dir, "carrier"), "1\n")
		h.put(filepath.Join(dir, "mtu"), "1500\n")
		h.put(filepath.Join(dir, "uevent"), fmt.Sprintf("DEVTYPE=%s\nINTERFACE=%s\nIFINDEX=%d\n", kind, name, h.putIndex(dir)))
		h.link("../../devices/virtual/net/"+name, h.sys("class", "net", name))
	}
	h.stack[name].on = append(h.stack[name].on, on)
	h.link("../"+on, filepath.Join(dir, "lower_"+on))
	h.link("../"+name, h.sys("class", "net", on, "upper_"+name))
	return dir
}

// setMTU simulates the kernel's dev_set_mtu. A VLAN's MTU cannot exceed that of its device
// (net/8021q/vlan_dev.c, vlan_dev_change_mtu), and a bond sets the MTU of its members
// (drivers/net/bonding/bond_main.c, bond_change_mtu).
func (h *Host) setMTU(name string, mtu int) error {
	most := 9978
	s := h.stack[name]
	switch {
	case s == nil:
	case s.kind == nic.UpperVLAN && mtu > h.mtuOf(s.on[0]):
		return syscall.ERANGE
	default:
		most = 65535
	}
	if mtu < 68 || mtu > most {
		return syscall.EINVAL
	}
	if s != nil && s.kind == nic.UpperBond {
		for _, m := range s.on {
			if err := h.setMTU(m, mtu); err != nil {
				return err
			}
		}
	}
	if s != nil && s.kind == nic.UpperBridge {
		s.set = true
	}
	h.put(h.sys("class", "net", name, "mtu"), strconv.Itoa(mtu)+"\n")
	h.follow(name)
	return nil
}

// follow makes the changes that the kernel makes after the MTU of a device has changed: it lowers a
// VLAN over the device whose MTU is now too large (net/8021q/vlan.c, vlan_device_event), and gives
// a bridge the smallest MTU of its ports unless the bridge's MTU was set by hand
// (net/bridge/br_if.c, br_mtu_auto_adjust).
func (h *Host) follow(name string) {
	for upper, s := range h.stack {
		if !slices.Contains(s.on, name) {
			continue
		}
		mtu := h.mtuOf(upper)
		switch {
		case s.kind == nic.UpperVLAN:
			mtu = min(mtu, h.mtuOf(name))
		case s.kind == nic.UpperBridge && !s.set:
			mtu = h.mtuOf(s.on[0])
			for _, port := range s.on {
				mtu = min(mtu, h.mtuOf(port))
			}
		}
		if mtu != h.mtuOf(upper) {
			h.put(h.sys("class", "net", upper, "mtu"), strconv.Itoa(mtu)+"\n")
			h.follow(upper)
		}
	}
}

// roceMTU returns the MTU that applies to the RDMA device of a port: the bond's if mlx5 has bonded
// its ports (drivers/infiniband/hw/mlx5/main.c, mlx5_query_port_roce).
func (h *Host) roceMTU(p *port) int {
	for bond, s := range h.stack {
		if s.kind == nic.UpperBond && p.Driver == nic.DriverMLX5 && slices.Contains(s.on, p.Name) {
			return h.mtuOf(bond)
		}
	}
	return h.mtuOf(p.Name)
}

// vlans implements rtnetlink for the VLANs of a Host.
type vlans struct{ view }

var _ local.VLANs = vlans{}

// SetEgress implements local.VLANs.
func (v vlans) SetEgress(ctx context.Context, name string, m nic.PCPs) error {
	if _, err := v.VLAN(ctx, name); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.notRoot() {
		return fmt.Errorf("set VLAN %s: %w", name, syscall.EPERM)
	}
	v.Host.wrote("set egress %s", name)
	if v.faults.Ignore {
		return nil
	}
	for from, to := range m {
		if to != qos.Unmanaged {
			v.stack[name].vlan.Egress[from] = to
		}
	}
	return nil
}

// VLAN implements local.VLANs.
func (v vlans) VLAN(ctx context.Context, name string) (local.VLAN, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.stack[name]
	switch {
	case ctx.Err() != nil:
		return local.VLAN{}, ctx.Err()
	case s == nil || s.kind != nic.UpperVLAN:
		return local.VLAN{}, fmt.Errorf("read VLAN %s: %w", name, syscall.ENODEV)
	}
	return s.vlan, nil
}
