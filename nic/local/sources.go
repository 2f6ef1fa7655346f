package local

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// This file locates the settings of congestion control and of the RDMA stack. Drivers keep the same
// setting in different places, and no place exists in all kernels.

// ecnFiles returns the directories of the OFED driver that hold one file per priority, for the
// notification point and the reaction point (en_ecn.c of MLNX_OFED).
func (m *Machine) ecnFiles(d *device) (np, rp string) {
	return m.sysNet(d.name, "ecn", "roce_np", "enable"), m.sysNet(d.name, "ecn", "roce_rp", "enable")
}

// cnpFiles returns the possible locations of the DSCP or priority of congestion notifications on an
// mlx5 port, in order of preference: the OFED driver's file, then debugfs of the kernel's driver
// (drivers/infiniband/hw/mlx5/cong.c).
func (m *Machine) cnpFiles(d *device, field string) []string {
	file, param := "cnp_802p_prio", "np_cnp_prio"
	if field == nic.FieldCNPDSCP {
		file, param = "cnp_dscp", "np_cnp_dscp"
	}
	if d.driver != nic.DriverMLX5 {
		return nil
	}
	l := []string{m.sysNet(d.name, "ecn", "roce_np", file)}
	if d.pci != "" {
		l = append(l, m.debugfs("mlx5", d.pci, "cc_params", param))
	}
	return l
}

// firstExisting returns the first of the files that exists. It returns an error if a location may
// not be accessed, since the file may exist there.
func (m *Machine) firstExisting(files []string) (string, error) {
	for _, f := range files {
		if _, err := m.fs().ReadFile(f); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return "", ErrUnsupported
}

// cnp reads the DSCP or the priority of congestion notifications.
func (m *Machine) cnp(d *device, field string) (int, error) {
	if d.driver == nic.DriverBNXT {
		return m.ccGet(d, cnpName(field))
	}
	f, err := m.firstExisting(m.cnpFiles(d, field))
	if err != nil {
		return 0, err
	}
	n, err := m.number(f)
	return int(n), err
}

// ecn returns the priorities with congestion control on at the notification point and at the
// reaction point.
func (m *Machine) ecn(d *device) (np, rp qos.PrioritySet, err error) {
	if d.driver == nic.DriverBNXT {
		return m.bnxtECN(d)
	}
	npDir, rpDir := m.ecnFiles(d)
	if np, err = m.priorities(npDir); err == nil {
		rp, err = m.priorities(rpDir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("ecn: %w", ErrUnsupported)
	}
	return np, rp, err
}

func (m *Machine) priorities(dir string) (qos.PrioritySet, error) {
	var s qos.PrioritySet
	for p := range qos.NumPriorities {
		n, err := m.number(dir + "/" + strconv.Itoa(p))
		if err != nil {
			return 0, err
		}
		if n != 0 {
			s |= qos.Priorities(p)
		}
	}
	return s, nil
}

func (r reader) congestion() {
	var dcqcn qos.Opt[map[string]uint64]
	get(r, nic.FieldECN, &r.p.ECN, func() (qos.PrioritySet, error) {
		np, rp, err := r.ecn(r.device)
		if err == nil && r.driver != nic.DriverBNXT {
			r.p.NotificationPoint, r.p.ReactionPoint = qos.Of(np), qos.Of(rp)
		}
		return np & rp, err
	})
	get(r, nic.FieldCNPDSCP, &r.p.CNPDSCP, func() (int, error) { return r.cnp(r.device, nic.FieldCNPDSCP) })
	get(r, nic.FieldCNPPriority, &r.p.CNPPriority, func() (int, error) { return r.cnp(r.device, nic.FieldCNPPriority) })
	get(r, nic.FieldDCQCN, &dcqcn, func() (map[string]uint64, error) { return r.dcqcn(r.device) })
	r.p.DCQCN = dcqcn.V
}

// errNoRDMA: the port has no RDMA device to which the setting would belong.
var errNoRDMA = errors.New("no RDMA device")

func (r reader) rdmaDefaults() {
	if r.rdma == "" {
		r.recordMissing(errNoRDMA.Error(), nic.FieldToS, nic.FieldMode, nic.FieldTrafficClass, nic.FieldActiveMTU)
		return
	}
	get(r, nic.FieldToS, &r.p.ToS, func() (int, error) { return r.tos(r.device) })
	get(r, nic.FieldMode, &r.p.Mode, func() (string, error) { return r.cm(r.device, cmMode) })
	get(r, nic.FieldTrafficClass, &r.p.TrafficClass, func() (int, error) { return r.trafficClass(r.device) })
}

func (m *Machine) trafficClassFile(d *device) string {
	return m.infiniband(d.rdma, "tc", strconv.Itoa(d.port), "traffic_class")
}

// trafficClass reads the OFED driver's traffic class of all queue pairs; -1 if none is set. The
// file is empty, or contains "Global tclass=106" and possibly lines with rules for single addresses
// (mlx5_ib main.c of MLNX_OFED).
func (m *Machine) trafficClass(d *device) (int, error) {
	if d.rdma == "" {
		return 0, errNoRDMA
	}
	b, err := m.fs().ReadFile(m.trafficClassFile(d))
	if errors.Is(err, fs.ErrNotExist) {
		if !m.has(m.infiniband(d.rdma)) {
			return 0, errVanished
		}
		return 0, fmt.Errorf("traffic_class: %w", ErrUnsupported)
	}
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		v, ok := strings.CutPrefix(strings.TrimSpace(line), "Global tclass=")
		if !ok {
			continue
		}
		n, ok := decimal(v)
		if !ok || n > 255 {
			return 0, fmt.Errorf("traffic_class is %q", clip(line))
		}
		return int(n), nil
	}
	return -1, nil
}
