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

// stacked is a device over others.
type stacked struct {
	kind nic.UpperKind
	on   []string
	vlan local.VLAN
	set  bool // the MTU of a bridge was set by hand
}

func (s *stacked) copy() *stacked {
	c := *s
	c.on = slices.Clone(s.on)
	return &c
}

// AddBond makes a bond of ports that are there, in the mode of LACP.
func (h *Host) AddBond(name string, members ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range members {
		h.bond(name, m)
	}
}

// AddBridge makes a bridge with ports.
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

// AddVLAN makes a VLAN without maps on a device.
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

// restack makes the devices over ports again, as the network configuration of a machine
// does that states neither MTUs nor maps.
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
					if h.ports[m] == nil || h.ports[m].Bond != name { // else it came with the port
						h.bond(name, m)
					}
				}
			}
		}
	}
}

// SetEgress changes the map of a VLAN behind everyone's back.
func (h *Host) SetEgress(name string, m nic.PCPs) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stack[name].vlan.Egress = m
}

// SetMTU changes the MTU of a device behind everyone's back, with what the kernel changes
// along with it.
func (h *Host) SetMTU(name string, mtu int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	must(h.setMTU(name, mtu))
}

// MTU is that of a device.
func (h *Host) MTU(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mtuOf(name)
}

func (h *Host) mtuOf(name string) int { return h.number(h.sys("class", "net", name, "mtu")) }

func (h *Host) bond(bond, member string) {
	dir := h.over(nic.UpperBond, bond, member)
	h.put(filepath.Join(dir, "bonding", "mode"), "802.3ad 4\n")
	h.link("../"+bond, h.sys("class", "net", member, "master"))
	h.put(h.sys("class", "net", member, "bonding_slave", "mii_status"), "up\n")
}

// over has a device, which it makes where it is not there, stand on another one, and
// returns its folder.
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

// setMTU is dev_set_mtu of the kernel. A VLAN has at most the MTU of its device
// (net/8021q/vlan_dev.c, vlan_dev_change_mtu), and a bond sets that of its members
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

// follow changes what the kernel changes after the MTU of a device: a VLAN that had more
// (net/8021q/vlan.c, vlan_device_event), and a bridge that nobody has set, which has the
// least of its ports (net/bridge/br_if.c, br_mtu_auto_adjust).
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

// roceMTU is the MTU that the RDMA device of a port goes by: that of the bond where mlx5
// has bonded its ports (drivers/infiniband/hw/mlx5/main.c, mlx5_query_port_roce).
func (h *Host) roceMTU(p *port) int {
	for bond, s := range h.stack {
		if s.kind == nic.UpperBond && p.Driver == nic.DriverMLX5 && slices.Contains(s.on, p.Name) {
			return h.mtuOf(bond)
		}
	}
	return h.mtuOf(p.Name)
}

// vlans is rtnetlink of a Host.
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
