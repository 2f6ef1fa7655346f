package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
)

// Broadcom's cards. Broadcom's own bnxt_re has congestion control in configfs,
// that of the kernel has it in debugfs since 6.13, older ones nowhere
// (drivers/infiniband/hw/bnxt_re/debugfs.c).

// The settings by their names in configfs and in debugfs.
var (
	ccEnable = ccName{"ecn_enable", "enable_cc"}
	// ccMark is the ECN field of RDMA packets: with 0 no switch marks them.
	ccMark    = ccName{"ecn_marking", "tos_ecn"}
	ccCNPDSCP = ccName{"cnp_dscp", "alt_vlan_dscp"}
	ccCNPPrio = ccName{"cnp_prio", "alt_vlan_pcp"}
)

type ccName struct{ config, debug string }

// ccDir is the folder of a port's congestion control.
type ccDir struct {
	m      *Machine
	path   string
	config bool
}

// bnxtCC calls f with the folder of a port's congestion control. In configfs it comes
// with the device's folder; one that is made here is taken away.
func (m *Machine) bnxtCC(d *device, f func(ccDir) error) error {
	root := m.configfs("bnxt_re")
	if !validName(d.rdma, maxRDMA) || !m.has(root) {
		if d.pci == "" {
			return ErrUnsupported
		}
		dir := m.debugfs("bnxt_re", d.pci, "cc_config")
		if _, err := m.fs().ReadDir(dir); gone(err) {
			return ErrUnsupported
		} else if err != nil {
			return err
		}
		return f(ccDir{m, dir, false})
	}
	m.cmTurn.Lock()
	defer m.cmTurn.Unlock()
	own := m.configfs("bnxt_re", d.rdma)
	if !m.has(own) {
		if err := m.fs().Mkdir(own); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		// It is harmless where it stays.
		defer func() { _ = m.fs().Remove(own) }()
	}
	return f(ccDir{m, m.configfs("bnxt_re", d.rdma, "ports", strconv.Itoa(d.port), "cc"), true})
}

func (c ccDir) file(n ccName) string {
	if c.config {
		return c.path + "/" + n.config
	}
	return c.path + "/" + n.debug
}

// get reads a number, which configfs has in hexadecimal.
func (c ccDir) get(n ccName) (int, error) {
	s, err := c.m.text(c.file(n))
	if gone(err) {
		return 0, ErrUnsupported
	}
	if err != nil {
		return 0, err
	}
	base := 10
	hex, ok := strings.CutPrefix(s, "0x")
	if ok {
		base = 16
	}
	v, err := strconv.ParseUint(hex, base, 31)
	if err != nil {
		return 0, fmt.Errorf("%s is %q", c.file(n), clip(s))
	}
	return int(v), nil
}

// put writes a number. In configfs it waits for apply, with older drivers, which take it
// for hexadecimal in any case.
func (c ccDir) put(n ccName, v int) error {
	form := "%d"
	if c.config {
		form = "%#x"
	}
	if err := c.m.fs().WriteFile(c.file(n), fmt.Appendf(nil, form, v)); err != nil {
		if errors.Is(err, syscall.EINVAL) && (n == ccCNPDSCP || n == ccCNPPrio) {
			// bnxt_re of Broadcom refuses them then (configfs.c, cnp_prio_store).
			return hint.With(fmt.Errorf("%s: %w", n.config, err), "firmware with a service profile for congestion notifications keeps their marks itself")
		}
		return err
	}
	if c.config {
		return c.m.fs().WriteFile(c.path+"/apply", []byte("1"))
	}
	return nil
}

// ccGet reads one number of a port's congestion control.
func (m *Machine) ccGet(d *device, n ccName) (v int, err error) {
	err = m.bnxtCC(d, func(c ccDir) error {
		v, err = c.get(n)
		return err
	})
	return v, err
}

// cnpName is the setting behind the mark of congestion notifications.
func cnpName(field string) ccName {
	if field == nic.FieldCNPDSCP {
		return ccCNPDSCP
	}
	return ccCNPPrio
}

// bnxtECN reads congestion control, which a port has for all priorities or
// none: np is whether it is on, rp whether packets say that they take marks,
// without which nothing reacts.
func (m *Machine) bnxtECN(d *device) (np, rp qos.PrioritySet, err error) {
	err = m.bnxtCC(d, func(c ccDir) error {
		on, err := c.get(ccEnable)
		if err != nil {
			return err
		}
		marks, err := c.get(ccMark)
		if on != 0 {
			np = everyPriority
		}
		if marks != 0 {
			rp = everyPriority
		}
		return err
	})
	return np, rp, err
}

func (m *Machine) setBNXTECN(d *device, want, have ECN) error {
	return m.bnxtCC(d, func(c ccDir) error {
		for _, side := range []struct {
			n          ccName
			want, have qos.PrioritySet
		}{{ccEnable, want.NP, have.NP}, {ccMark, want.RP, have.RP}} {
			on := 0
			if side.want != 0 {
				on = 1
			}
			if on == 0 && !want.Exactly || (side.want != 0) == (side.have != 0) {
				continue
			}
			if err := c.put(side.n, on); err != nil {
				return err
			}
		}
		return nil
	})
}

// The entry of the APP table that names RoCE v2 by its UDP port. bnxt tells its
// firmware of it (bnxt_dcb.c, bnxt_dcbnl_ieee_setapp); mlx5 and ice take DSCPs
// alone. That of RoCE v1 by its ethertype, 0x8915, is not set: the mode is v2.

func roceApp(prio int) dcb.App {
	return dcb.App{Selector: dcb.SelectorDatagram, Priority: uint8(prio), Protocol: nic.RoCEPort}
}

// rocePriorities are those that the APP table gives RoCE v2.
func rocePriorities(s *dcb.State) []int {
	var l []int
	for _, a := range s.Apps {
		if a.Selector == dcb.SelectorDatagram && a.Protocol == nic.RoCEPort && a.Priority < qos.NumPriorities {
			l = append(l, int(a.Priority))
		}
	}
	return l
}

// roceAppOf is the one priority of RoCE v2, -1 for none or several.
func roceAppOf(s *dcb.State) int {
	if l := rocePriorities(s); len(l) == 1 {
		return l[0]
	}
	return -1
}

// writeRoCEApp adds the entry before it takes others away.
func writeRoCEApp(m *Machine, ctx context.Context, d *device, want, _ Value) error {
	s, err := m.dcbState(ctx, d.name)
	if err != nil {
		return err
	}
	if *want.Number >= 0 {
		if _, err := m.DCB.SetApps(ctx, d.name, roceApp(*want.Number)); err != nil {
			return err
		}
	}
	var others []dcb.App
	for _, prio := range rocePriorities(s) {
		if prio != *want.Number {
			others = append(others, roceApp(prio))
		}
	}
	if len(others) == 0 {
		return nil
	}
	_, err = m.DCB.DelApps(ctx, d.name, others...)
	return err
}

// writePFC sets the mask, and says of a refusal of bnxt which of its rules it
// breaks: the number that comes back is the same for all.
func writePFC(m *Machine, ctx context.Context, d *device, want, _ Value) error {
	_, err := m.DCB.SetPFC(ctx, d.name, *want.PFC, 0)
	if err == nil || d.driver != nic.DriverBNXT || !errors.Is(err, dcb.ErrRefused) {
		return err
	}
	s, rerr := m.dcbState(ctx, d.name)
	if rerr != nil || s.PFC == nil || s.ETS == nil {
		return err
	}
	classes := map[uint8]bool{}
	for _, prio := range want.PFC.List() {
		classes[s.ETS.PriorityTC[prio]] = true
	}
	advice := "bnxt_en refuses PFC before ETS is set, and while an agent of the firmware owns the port"
	if len(classes) > int(s.PFC.Cap) {
		advice = fmt.Sprintf("priorities %s are in %d traffic classes, and the card takes %d lossless ones", want.PFC, len(classes), s.PFC.Cap)
	}
	return hint.With(fmt.Errorf("priorities %s: %w", want.PFC, err), advice)
}
