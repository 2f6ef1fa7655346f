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

// This file supports Broadcom's cards. Broadcom's own bnxt_re has its congestion control settings
// in configfs; the kernel's bnxt_re has them in debugfs since 6.13, and older kernels have none
// (drivers/infiniband/hw/bnxt_re/debugfs.c).

// Settings, with their names in configfs and in debugfs.
var (
	ccEnable = ccName{"ecn_enable", "enable_cc"}
	// ccMark is the ECN field of RDMA packets. If it is 0, switches do not mark the packets.
	ccMark    = ccName{"ecn_marking", "tos_ecn"}
	ccCNPDSCP = ccName{"cnp_dscp", "alt_vlan_dscp"}
	ccCNPPrio = ccName{"cnp_prio", "alt_vlan_pcp"}
)

type ccName struct{ config, debug string }

// ccDir is the directory of a port's congestion control settings.
type ccDir struct {
	m      *Machine
	path   string
	config bool
}

// bnxtCC calls f with the directory of a port's congestion control settings. In configfs it appears
// when the device's directory is created; bnxtCC removes that directory if it created it.
func (m *Machine) bnxtCC(d *device, f func(ccDir) error) error {
	root := m.configfs("bnxt_re")
	if !validName(d.rdma, maxRDMA) || !m.has(root) {
		if d.pci == "" {
			return ErrUnsupported
		}
		dir := m.debugfs("bnxt_re", d.pci, "cc_config")
		if _, err := m.fs().ReadDir(dir); isGone(err) {
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
		// It does no harm if it cannot be removed.
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

// get reads a number; configfs shows it in hexadecimal.
func (c ccDir) get(n ccName) (int, error) {
	s, err := c.m.text(c.file(n))
	if isGone(err) {
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

// put writes a number. In configfs, older drivers use it only after a write to apply, and always
// read it as hexadecimal.
func (c ccDir) put(n ccName, v int) error {
	form := "%d"
	if c.config {
		form = "%#x"
	}
	if err := c.m.fs().WriteFile(c.file(n), fmt.Appendf(nil, form, v)); err != nil {
		if errors.Is(err, syscall.EINVAL) && (n == ccCNPDSCP || n == ccCNPPrio) {
			// Broadcom's bnxt_re rejects them in this case (configfs.c, cnp_prio_store).
			return hint.With(fmt.Errorf("%s: %w", n.config, err), "firmware with a service profile for congestion notifications sets their marking itself")
		}
		return err
	}
	if c.config {
		return c.m.fs().WriteFile(c.path+"/apply", []byte("1"))
	}
	return nil
}

// ccGet reads one congestion control setting of a port.
func (m *Machine) ccGet(d *device, n ccName) (v int, err error) {
	err = m.bnxtCC(d, func(c ccDir) error {
		v, err = c.get(n)
		return err
	})
	return v, err
}

// cnpName returns the setting that holds a field of the CNP marking.
func cnpName(field string) ccName {
	if field == nic.FieldCNPDSCP {
		return ccCNPDSCP
	}
	return ccCNPPrio
}

// bnxtECN reads whether congestion control is on, which a port has for all priorities or for none.
// np says whether it is enabled; rp says whether packets are marked as ECN-capable, without which
// no congestion is signalled.
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

// roceApp returns the APP table entry for RoCE v2, identified by its UDP port. bnxt passes it to
// its firmware (bnxt_dcb.c, bnxt_dcbnl_ieee_setapp); mlx5 and ice accept only DSCP entries. The
// entry of RoCE v1, ethertype 0x8915, is not set, because the mode is v2.

func roceApp(prio int) dcb.App {
	return dcb.App{Selector: dcb.SelectorDatagram, Priority: uint8(prio), Protocol: nic.RoCEPort}
}

// rocePriorities returns the priorities that the APP table assigns to RoCE v2.
func rocePriorities(s *dcb.State) []int {
	var l []int
	for _, a := range s.Apps {
		if a.Selector == dcb.SelectorDatagram && a.Protocol == nic.RoCEPort && a.Priority < qos.NumPriorities {
			l = append(l, int(a.Priority))
		}
	}
	return l
}

// roceAppOf returns the priority of RoCE v2; -1 if there are none or several.
func roceAppOf(s *dcb.State) int {
	if l := rocePriorities(s); len(l) == 1 {
		return l[0]
	}
	return -1
}

// writeRoCEApp adds the wanted entry before it removes the others.
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

// writePFC sets the PFC mask. If bnxt rejects it, the error explains which of bnxt's rules it
// breaks, because the error number is the same for all.
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
