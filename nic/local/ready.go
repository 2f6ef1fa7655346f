package local

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
)

// maxGIDs limits the size of a GID table: cards have between 16 and some hundred entries.
const maxGIDs = 4096

// ready reads the state, other than settings, that RDMA requires of a port.
func (r reader) ready() {
	if r.rdma != "" {
		get(r, nic.FieldTransport, &r.p.Transport, func() (nic.Transport, error) { return r.transport(r.device) })
		get(r, nic.FieldRDMAState, &r.p.RDMAState, func() (string, error) { return r.rdmaState(r.device) })
		r.queuePairs()
		get(r, nic.FieldGIDs, &r.p.GIDs, func() (nic.GIDs, error) { return r.gids(r.device) })
	}
	if seat, ok := r.seat(r.sysNet(r.name), r.sysNet(r.name, "device")); ok && r.pci != "" {
		r.p.Seat = qos.Of(seat)
	}
	get(r, nic.FieldFEC, &r.p.FEC, func() (string, error) { return r.fec(r.ctx, r.name) })
	get(r, nic.FieldReceived, &r.p.Received, func() (nic.Received, error) { return r.received(r.name) })
	get(r, nic.FieldPCIe, &r.p.PCIe, func() (nic.PCIe, error) { return r.pcie(r.name) })
}

// queuePairs reads how programs send.
func (r reader) queuePairs() {
	get(r, nic.FieldPairs, &r.p.Pairs, func() (uses []nic.PairUse, err error) {
		uses, r.p.SharedPorts, err = r.pairs(r.ctx, r.device)
		return uses, err
	})
}

// portFile returns the path of a file of the RDMA device's port.
func (m *Machine) portFile(d *device, elem ...string) string {
	return m.infiniband(append([]string{d.rdma, "ports", strconv.Itoa(d.port)}, elem...)...)
}

// transport determines the transport from the node type, such as "1: CA", and the link layer, such
// as "Ethernet" (Linux, drivers/infiniband/core/sysfs.c, node_type_show and link_layer_show).
func (m *Machine) transport(d *device) (nic.Transport, error) {
	node, err := m.text(m.infiniband(d.rdma, "node_type"))
	if err != nil {
		return "", err
	}
	switch _, kind, _ := strings.Cut(node, ": "); kind {
	case "RNIC":
		return nic.TransportIWARP, nil
	case "CA":
	default:
		return nic.TransportOther, nil
	}
	layer, err := m.text(m.portFile(d, "link_layer"))
	switch {
	case err != nil:
		return "", err
	case layer == "Ethernet":
		return nic.TransportRoCE, nil
	case layer == "InfiniBand":
		return nic.TransportInfiniBand, nil
	}
	return nic.TransportOther, nil
}

// rdmaState returns the state of the RDMA device's port: "ACTIVE" for "4: ACTIVE".
func (m *Machine) rdmaState(d *device) (string, error) {
	s, err := m.text(m.portFile(d, "state"))
	if _, word, ok := strings.Cut(s, ": "); ok {
		s = word
	}
	return clip(s), err
}

// gids reads the GID table. An empty slot is zero, and its type cannot be read (Linux,
// drivers/infiniband/core/sysfs.c, show_port_gid and show_port_gid_attr_gid_type).
func (m *Machine) gids(d *device) (nic.GIDs, error) {
	var out nic.GIDs
	slots, err := m.fs().ReadDir(m.portFile(d, "gids"))
	if err != nil {
		return out, err
	}
	for _, slot := range natural.Sorted(slots)[:min(len(slots), maxGIDs)] {
		n, ok := decimal(slot)
		if !ok {
			continue
		}
		addr, kind, err := m.gid(d, slot)
		switch {
		case err != nil, kind == "": // empty, or cleared meanwhile
		case kind != nic.ModeRoCEv2:
			out.V1++
		case !slices.Contains(out.V2, addr.String()):
			out.V2 = append(out.V2, addr.String())
			if !out.Slot.Set && !addr.IsLinkLocalUnicast() {
				out.Slot = qos.Of(int(n))
			}
		}
	}
	return out, nil
}

// gid reads a slot of the GID table: the address, and the type, "" for an empty slot.
func (m *Machine) gid(d *device, slot string) (addr netip.Addr, kind string, err error) {
	text, err := m.text(m.portFile(d, "gids", slot))
	if err != nil {
		return addr, "", err
	}
	gid, err := netip.ParseAddr(text)
	if err != nil || gid.IsUnspecified() {
		return addr, "", err
	}
	kind, err = m.text(m.portFile(d, "gid_attrs", "types", slot))
	return gid.Unmap(), kind, err
}

// transfers matches the speed of a PCIe link: "16.0 GT/s PCIe", or "16 GT/s" on older kernels.
var transfers = lazyre.New(`^([0-9]{1,3}(?:\.[0-9])?) GT/s`)

// pcie reads the PCIe link of a card (Linux, drivers/pci/pci-sysfs.c). A VF shows none.
func (m *Machine) pcie(name string) (p nic.PCIe, err error) {
	for _, v := range []struct {
		file string
		to   *int
	}{{"current_link_speed", &p.Transfers}, {"max_link_speed", &p.MaxTransfers}} {
		text, e := m.text(m.sysNet(name, "device", v.file))
		if err = cmp.Or(err, e); e != nil {
			continue
		}
		if is := transfers.FindStringSubmatch(text); is != nil {
			gt, _ := strconv.ParseFloat(is[1], 64)
			*v.to = int(gt*1000 + 0.5)
		}
	}
	for _, v := range []struct {
		file string
		to   *int
	}{{"current_link_width", &p.Lanes}, {"max_link_width", &p.MaxLanes}} {
		n, e := m.number(m.sysNet(name, "device", v.file))
		if err = cmp.Or(err, e); e == nil && n <= 32 {
			*v.to = int(n)
		}
	}
	switch {
	case isGone(err):
		return p, ErrUnsupported
	case err == nil && (p.Transfers == 0 || p.Lanes == 0):
		return p, fmt.Errorf("PCIe link of %s: %w", name, ErrUnsupported)
	}
	return p, err
}

// rdmaInOtherNamespace returns the RDMA devices of cards whose interface is in another network
// namespace.
func (m *Machine) rdmaInOtherNamespace() (out []string) {
	devices, _ := m.list(m.infiniband())
	for _, d := range natural.Sorted(devices) {
		if !validName(d, maxRDMA) || m.has(m.infiniband(d, "device", "physfn")) || !m.has(m.infiniband(d, "device")) {
			continue
		}
		if names, err := m.list(m.infiniband(d, "device", "net")); err == nil && len(names) == 0 && len(out) < maxAway {
			out = append(out, d)
		}
	}
	return out
}

// maxAway limits how many of these devices are recorded.
const maxAway = 64
