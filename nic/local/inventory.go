package local

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// device is a port of this machine as sysfs shows it.
type device struct {
	name   string // of the network device
	rdma   string // RDMA device; "" if there is none
	port   int    // port of the RDMA device, from 1; 0 if there is none
	pci    string // "0000:3b:00.0"; "" if not on a PCI bus
	driver string // "mlx5_core"
	// vendor and model are PCI IDs: "15b3", "1021".
	vendor, model string
	// virtual is set for a virtual function or sub-function.
	virtual bool
	bond    string // bond or team that it is a member of
}

var (
	pciNumber  = lazyre.New(`^0x[0-9a-f]{4}$`)
	pciAddress = lazyre.New(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	pciRoot    = lazyre.New(`^pci[0-9a-f]{4,8}:[0-9a-f]{2}$`)
	// subfunction matches the name of a sub-function on the auxiliary bus ("mlx5_core.sf.4").
	subfunction = lazyre.New(`\.sf\.[0-9]+$`)
	// representor matches the physical port name of a port that represents a function in switchdev
	// mode ("pf0vf3", "c1pf0sf88") rather than a physical link.
	representor = lazyre.New(`^(c[0-9]+)?pf[0-9]+`)
)

// device looks up the network device for the name of a NIC.
func (m *Machine) device(name string) (*device, error) {
	ifname, err := m.ifname(name)
	if err != nil {
		return nil, err
	}
	return m.lookAt(ifname)
}

// lookAt looks up one network device.
func (m *Machine) lookAt(name string) (*device, error) {
	if !validName(name, maxIfname) || !m.has(m.sysNet(name)) {
		return nil, fmt.Errorf("%q: %w", clip(name), ErrNoPort)
	}
	d := &device{name: name}
	if target, err := m.fs().Readlink(m.sysNet(name, "device")); err == nil {
		base := filepath.Base(target)
		if pciAddress.MatchString(base) {
			d.pci = base
		}
		d.virtual = subfunction.MatchString(base)
	}
	if target, err := m.fs().Readlink(m.sysNet(name, "device", "driver")); err == nil {
		d.driver = clip(filepath.Base(target))
	}
	d.vendor, d.model = m.pciNumber(name, "vendor"), m.pciNumber(name, "device")
	d.virtual = d.virtual || m.has(m.sysNet(name, "device", "physfn"))
	d.bond = m.master(name)
	d.rdma = m.rdmaOf(d)
	if d.rdma != "" {
		d.port = m.rdmaPort(d)
	}
	return d, nil
}

// pciNumber returns a PCI ID of a port without the 0x; "" if not known.
func (m *Machine) pciNumber(name, file string) string {
	if v, err := m.text(m.sysNet(name, "device", file)); err == nil && pciNumber.MatchString(v) {
		return v[2:]
	}
	return ""
}

// master returns the bond or team of a port; "" if there is none. A bridge does not count.
func (m *Machine) master(name string) string {
	target, err := m.fs().Readlink(m.sysNet(name, "master"))
	if err != nil {
		return ""
	}
	base := filepath.Base(target)
	if !validName(base, maxIfname) || m.has(m.sysNet(base, "bridge")) {
		return ""
	}
	return base
}

// lower returns the devices directly below a device, in natural order: a VLAN's parent, or the
// members of a bond or bridge.
func (m *Machine) lower(name string) []string { return m.linked(name, "lower_") }

// linked returns the devices that a device links to in sysfs with the given prefix.
func (m *Machine) linked(name, prefix string) []string {
	var out []string
	entries, _ := m.list(m.sysNet(name))
	for _, e := range entries {
		if l, ok := strings.CutPrefix(e, prefix); ok && validName(l, maxIfname) {
			out = append(out, l)
		}
	}
	return natural.Sorted(out)
}

// rdmaOf returns the RDMA device of a port. It is the one of the port's PCI function. A bond member
// that has none uses the one of another member, because the bonded ports of a card share one
// (mlx5_bond_0). For a software RDMA device (rxe), it is the one that names the port as its parent.
func (m *Machine) rdmaOf(d *device) string {
	if r := m.ownRDMA(d.name); r != "" {
		return r
	}
	if d.bond != "" {
		for _, other := range m.lower(d.bond) {
			if r := m.ownRDMA(other); r != "" && other != d.name {
				return r
			}
		}
	}
	devices, _ := m.list(m.infiniband())
	for _, r := range devices {
		if parent, err := m.text(m.infiniband(r, "parent")); err == nil && parent == d.name && validName(r, maxRDMA) {
			return r
		}
	}
	return ""
}

func (m *Machine) ownRDMA(name string) string {
	l, _ := m.list(m.sysNet(name, "device", "infiniband"))
	for _, r := range natural.Sorted(l) {
		if validName(r, maxRDMA) {
			return r
		}
	}
	return ""
}

// rdmaPort returns the port number of the RDMA device that belongs to a network device: the port
// whose GID table names the network device, or else the port with the device's number on the card
// if the RDMA device has it, or else 1.
func (m *Machine) rdmaPort(d *device) int {
	ports, _ := m.list(m.infiniband(d.rdma, "ports"))
	for _, p := range natural.Sorted(ports) {
		n, ok := decimal(p)
		if !ok || n < 1 || n > 255 {
			continue
		}
		if ndev, err := m.text(m.infiniband(d.rdma, "ports", p, "gid_attrs", "ndevs", "0")); err == nil && ndev == d.name {
			return int(n)
		}
	}
	if n, err := m.number(m.sysNet(d.name, "dev_port")); err == nil && n < 255 && slices.Contains(ports, strconv.FormatInt(n+1, 10)) {
		return int(n) + 1
	}
	return 1
}

// rdmaPorts returns the network devices that have an RDMA device, in natural order. A device that
// disappears meanwhile is left out.
func (m *Machine) rdmaPorts(ctx context.Context) ([]string, error) {
	devices, err := m.list(m.infiniband())
	if err != nil {
		return nil, m.explained(err, "list RDMA devices")
	}
	found := map[string]bool{}
	for _, r := range devices {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !validName(r, maxRDMA) {
			continue
		}
		names, err := m.list(m.infiniband(r, "device", "net"))
		if err != nil {
			return nil, m.explained(err, "list the network devices of %s", r)
		}
		if parent, err := m.text(m.infiniband(r, "parent")); err == nil {
			names = append(names, parent)
		}
		for _, n := range names {
			if validName(n, maxIfname) && !m.represents(n) && m.has(m.sysNet(n)) {
				found[n] = true
			}
		}
	}
	// The second port of a bonded card has no RDMA device of its own.
	for n := range found {
		if bond := m.master(n); bond != "" {
			for _, other := range m.lower(bond) {
				if d, err := m.lookAt(other); err == nil && d.rdma != "" {
					found[other] = true
				}
			}
		}
	}
	return natural.Keys(found), nil
}

func (m *Machine) represents(name string) bool {
	s, err := m.text(m.sysNet(name, "phys_port_name"))
	return err == nil && representor.MatchString(s)
}
