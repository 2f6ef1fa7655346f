package local

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
)

// op holds the functions that read and write a field.
type op struct {
	read func(*Machine, context.Context, *device) (Value, error)
	// write sets want; have is the current value.
	write func(m *Machine, ctx context.Context, d *device, want, have Value) error
}

var ops = map[string]op{
	nic.FieldDCBX:      {read: readDCBX, write: writeDCBX},
	nic.FieldLinkPause: {read: readPause, write: writePause},
	nic.FieldETS: {ofDCB(func(s *dcb.State) *dcb.ETS { return s.ETS }, func(e *dcb.ETS) Value {
		return Value{ETS: new(etsOf(e))}
	}), writeETS},
	nic.FieldCable: {pfcOf(func(p *dcb.PFC) Value { return Value{Number: new(int(p.Delay))} }), writeCable},
	nic.FieldBuffers: {ofDCB(func(s *dcb.State) *dcb.Buffer { return s.Buffer }, func(b *dcb.Buffer) Value {
		return Value{Buffers: new(buffersOf(b.Headroom))}
	}), writeBuffers},
	nic.FieldWilling: {ofDCB(func(s *dcb.State) *dcb.ETS { return s.ETS }, func(e *dcb.ETS) Value {
		return Value{Willing: &e.Willing}
	}), func(m *Machine, ctx context.Context, d *device, want, _ Value) error {
		_, err := m.DCB.SetWilling(ctx, d.name, *want.Willing)
		return err
	}},
	nic.FieldPFC:   {pfcOf(func(p *dcb.PFC) Value { return Value{PFC: &p.Enabled} }), writePFC},
	nic.FieldRings: ringsOp, nic.FieldVFs: vfsOp, nic.FieldSFs: sfsOp, nic.FieldVFTrust: vfTrustOp, nic.FieldVFTag: vfTagOp,
	nic.FieldRoCEApp: {
		ofDCB(whole, func(s *dcb.State) Value { return Value{Number: new(roceAppOf(s))} }),
		writeRoCEApp,
	},
	nic.FieldDSCP: {
		ofDCB(whole, func(s *dcb.State) Value {
			return Value{DSCP: new(dscpMap(s, qos.Unmanaged))} // never equal to a wanted value, and not restored
		}),
		func(m *Machine, ctx context.Context, d *device, want, _ Value) error {
			_, err := m.DCB.MapDSCP(ctx, d.name, *want.DSCP)
			return err
		},
	},
	nic.FieldECN:         {read: readECN, write: writeECN},
	nic.FieldCNPDSCP:     cnpOp(nic.FieldCNPDSCP),
	nic.FieldCNPPriority: cnpOp(nic.FieldCNPPriority),
	nic.FieldMode: {
		read: func(m *Machine, _ context.Context, d *device) (Value, error) {
			s, err := m.cm(d, cmMode)
			return Value{Mode: s}, err
		},
		write: func(m *Machine, _ context.Context, d *device, want, _ Value) error {
			return m.setCM(d, cmMode, want.Mode)
		},
	},
	nic.FieldStallPrevention: {
		read: func(m *Machine, _ context.Context, d *device) (Value, error) {
			s, err := m.stall(d)
			return Value{Mode: s}, err
		},
		write: func(m *Machine, _ context.Context, d *device, want, _ Value) error {
			return m.fs().WriteFile(m.stallFile(d), []byte(want.Mode+"\n"))
		},
	},
	nic.FieldToS: numberOp((*Machine).tos, func(m *Machine, d *device, n int) error {
		return m.setCM(d, cmToS, strconv.Itoa(n))
	}),
	nic.FieldTrafficClass: numberOp((*Machine).trafficClass, func(m *Machine, d *device, n int) error {
		return m.setNumber(m.trafficClassFile(d), n)
	}),
	nic.FieldDCQCN:          {read: readDCQCN, write: writeDCQCN},
	nic.FieldMaxReadRequest: {read: readMaxRead, write: setMaxRead},
	nic.FieldMTU:            {read: readMTU, write: writeMTU},
	nic.FieldEgress:         {read: readEgress, write: writeEgress},
}

// numberOp returns the op of a field that is a number.
func numberOp(read func(*Machine, *device) (int, error), write func(*Machine, *device, int) error) op {
	return op{
		read: func(m *Machine, _ context.Context, d *device) (Value, error) {
			n, err := read(m, d)
			return Value{Number: &n}, err
		},
		write: func(m *Machine, _ context.Context, d *device, want, _ Value) error {
			return write(m, d, *want.Number)
		},
	}
}

// ofDCB returns a read function for one part of the dcbnl state. If the part is nil, the driver
// does not report it.
func ofDCB[T any](part func(*dcb.State) *T, value func(*T) Value) func(*Machine, context.Context, *device) (Value, error) {
	return func(m *Machine, ctx context.Context, d *device) (Value, error) {
		s, err := m.dcbState(ctx, d.name)
		if err != nil {
			return Value{}, err
		}
		p := part(s)
		if p == nil {
			return Value{}, fmt.Errorf("the driver does not report it: %w", ErrUnsupported)
		}
		return value(p), nil
	}
}

func pfcOf(value func(*dcb.PFC) Value) func(*Machine, context.Context, *device) (Value, error) {
	return ofDCB(func(s *dcb.State) *dcb.PFC { return s.PFC }, value)
}

func whole(s *dcb.State) *dcb.State { return s }

// change sets a field of a port to the wanted value. It returns the previous value, and whether the
// value changed or may have changed. It does not write a value that is already set.
func (m *Machine) change(ctx context.Context, d *device, field string, want Value) (old Value, changed bool, err error) {
	if field == nic.FieldNV {
		return m.changeNV(ctx, d, want)
	}
	o, ok := opOf(d, field)
	// nicctl cannot set a pause without its type.
	typed := want.Pause == nil || strings.TrimSpace(want.Pause.Type) != "" || !isAMD(d.driver, field)
	if !ok || !want.fits(field) || !typed {
		return old, false, fmt.Errorf("%q: %w", clip(field), ErrUnsupported)
	}
	if nic.OfCM(field) {
		if err := m.LoadCM(ctx); err != nil {
			return old, false, err
		}
	}
	old, err = o.read(m, ctx, d)
	if err != nil || want.same(old) {
		return old, false, err
	}
	werr := o.write(m, ctx, d, want, old)
	// The caller may have given up, but the result of the write must still be determined.
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeoutOf(d.driver, field))
	defer cancel()
	have, err := o.read(m, rctx, d)
	switch {
	case err != nil:
		return old, true, errors.Join(werr, fmt.Errorf("read it again: %w", err))
	case werr != nil:
		return old, !reflect.DeepEqual(have, old), werr
	case want.same(have):
		return old, true, nil
	case reflect.DeepEqual(have, old):
		return old, false, ErrIgnored
	}
	return old, true, dcb.ErrDiffers
}

// ranges holds the minimum and maximum of each field that is a number.
var ranges = map[string][2]int{
	nic.FieldRoCEApp: {-1, qos.NumPriorities - 1}, nic.FieldCable: {1, 999}, nic.FieldMTU: {68, 1 << 16},
	nic.FieldCNPDSCP: {0, qos.NumDSCP - 1}, nic.FieldCNPPriority: {0, qos.NumPriorities - 1},
	nic.FieldVFs: {0, maxVFs}, nic.FieldSFs: {0, maxSFs},
	nic.FieldToS: {0, 255}, nic.FieldTrafficClass: {-1, 255},
	nic.FieldMaxReadRequest: {readRequests[0], readRequests[len(readRequests)-1]},
}

// fits reports whether the value has what its field needs: steps come from outside the program.
func (v Value) fits(field string) bool {
	if most, ok := ranges[field]; ok {
		return v.Number != nil && *v.Number >= most[0] && *v.Number <= most[1]
	}
	if r := v.Rings; field == nic.FieldRings && r != nil && (min(r.RX, r.TX) < 0 || max(r.RX, r.TX) > maxRing) {
		return false
	}
	if field == nic.FieldStallPrevention && v.Mode != nic.StallAuto && v.Mode != nic.StallDefault {
		return false
	}
	if parameters(v.DCQCN) != nil {
		return false
	}
	needs := membersOf[field]
	return len(needs) > 0 && slices.Contains(v.members(), needs[0])
}

// readMTU also reads the MTUs that the kernel changes together with this one.
func readMTU(m *Machine, _ context.Context, d *device) (Value, error) {
	n, err := m.mtu(d)
	v := Value{Number: &n}
	for _, name := range m.mtuFollowers(d.name) {
		if n, err := m.number(m.sysNet(name, "mtu")); err == nil {
			if v.Along == nil {
				v.Along = map[string]int{}
			}
			v.Along[name] = int(n)
		}
	}
	return v, err
}

// writeMTU also restores the MTUs that the kernel changed together with this one.
func writeMTU(m *Machine, _ context.Context, d *device, want, _ Value) error {
	if err := m.setNumber(m.sysNet(d.name, "mtu"), *want.Number); err != nil {
		return err
	}
	for _, name := range m.mtuFollowers(d.name) {
		mtu, ok := want.Along[name]
		if have, err := m.number(m.sysNet(name, "mtu")); !ok || err == nil && int(have) == mtu {
			continue
		}
		if err := m.setNumber(m.sysNet(name, "mtu"), mtu); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func readEgress(m *Machine, ctx context.Context, d *device) (Value, error) {
	v, err := m.vlan(ctx, d.name)
	return Value{PCPs: &v.Egress}, err
}

func writeEgress(m *Machine, ctx context.Context, d *device, want, _ Value) error {
	for _, pcp := range want.PCPs {
		if pcp != qos.Unmanaged && (pcp < 0 || pcp >= qos.NumPriorities) {
			return fmt.Errorf("PCP %d: %w", pcp, dcb.ErrInvalid)
		}
	}
	return m.VLANs.SetEgress(ctx, d.name, *want.PCPs)
}

func readDCBX(m *Machine, ctx context.Context, d *device) (Value, error) {
	read := ofDCB(func(s *dcb.State) *dcb.DCBX { return s.DCBX }, func(b *dcb.DCBX) Value { return Value{DCBX: b, Agent: m.firmwareAgent(d)} })
	return read(m, ctx, d)
}

// writeDCBX turns off the firmware agent of ice before the host takes over DCBX; while the agent is
// on, the driver rejects everything else. If the agent is to be on, the driver sets the DCBX bits
// itself.
func writeDCBX(m *Machine, ctx context.Context, d *device, want, have Value) error {
	if want.Agent != nil && have.Agent != nil && *want.Agent != *have.Agent {
		if err := m.Ethtool.SetFlag(d.name, nic.AgentICE, *want.Agent); err != nil {
			return fmt.Errorf("private flag %s: %w", nic.AgentICE, err)
		}
	}
	if want.agentOn() {
		return nil
	}
	_, err := m.DCB.OwnDCBX(ctx, d.name, *want.DCBX&dcb.DCBXHost != 0)
	return err
}

func readPause(m *Machine, _ context.Context, d *device) (Value, error) {
	p, err := m.pauseOf(d.name)
	return Value{Pause: &p}, err
}

// writePause keeps the autonegotiation value that it read, as ethtool -A does: ice rejects a value
// other than that of its link (ice_ethtool.c, ice_set_pauseparam), and bnxt would stop negotiating
// pause (bnxt_ethtool.c). mlx5 accepts only "off", whatever it reports (en_ethtool.c).
func writePause(m *Machine, _ context.Context, d *device, want, have Value) error {
	return m.Ethtool.SetPause(d.name, Pause{Autoneg: have.Pause.Autoneg && d.driver != nic.DriverMLX5, RX: want.Pause.RX, TX: want.Pause.TX})
}

func writeETS(m *Machine, ctx context.Context, d *device, want, _ Value) error {
	var s dcb.Scheduling
	for i := range qos.NumPriorities {
		t, ok := tsas[want.ETS.TSA[i]]
		bw, tc := want.ETS.Bandwidth[i], want.ETS.PriorityToTC[i]
		if !ok || bw < 0 || bw > 100 || tc < 0 || tc >= qos.NumPriorities {
			return fmt.Errorf("traffic class %d: %w", i, dcb.ErrInvalid)
		}
		s.TSA[i], s.Bandwidth[i], s.PriorityTC[i] = t, uint8(bw), uint8(tc)
	}
	_, err := m.DCB.SetETS(ctx, d.name, s)
	return err
}

var tsas = map[nic.TSA]dcb.TSA{nic.TSAStrict: dcb.TSAStrict, nic.TSAETS: dcb.TSAETS, nic.TSACBS: dcb.TSACBS, nic.TSAVendor: dcb.TSAVendor}

// writeCable sends the current PFC mask along, so that the link stays up.
func writeCable(m *Machine, ctx context.Context, d *device, want, _ Value) error {
	s, err := m.dcbState(ctx, d.name)
	if err != nil {
		return err
	}
	if s.PFC == nil {
		return ErrUnsupported
	}
	_, err = m.DCB.SetPFC(ctx, d.name, s.PFC.Enabled, uint16(*want.Number))
	return err
}

func writeBuffers(m *Machine, ctx context.Context, d *device, want, _ Value) error {
	var h dcb.Headroom
	for i := range qos.NumPriorities {
		b, size := want.Buffers.PriorityToBuffer[i], want.Buffers.Size[i]
		if b < 0 || b >= qos.NumPriorities || size < 0 || size > 1<<31 {
			return fmt.Errorf("buffer %d: %w", i, dcb.ErrInvalid)
		}
		h.PriorityBuffer[i], h.Size[i] = uint8(b), uint32(size)
	}
	_, err := m.DCB.SetBuffer(ctx, d.name, h)
	return err
}

func readECN(m *Machine, _ context.Context, d *device) (Value, error) {
	np, rp, err := m.ecn(d)
	return Value{ECN: &ECN{NP: np, RP: rp, Exactly: true}}, err
}

// writeECN writes only what differs: the driver answers EPERM if a 1 is written over a 1.
func writeECN(m *Machine, _ context.Context, d *device, want, have Value) error {
	if d.driver == nic.DriverBNXT {
		return m.setBNXTECN(d, *want.ECN, *have.ECN)
	}
	npDir, rpDir := m.ecnFiles(d)
	for _, side := range []struct {
		dir        string
		want, have qos.PrioritySet
	}{{npDir, want.ECN.NP, have.ECN.NP}, {rpDir, want.ECN.RP, have.ECN.RP}} {
		goal := side.want
		if !want.ECN.Exactly {
			goal |= side.have
		}
		for _, p := range (goal ^ side.have).List() {
			bit := "0\n"
			if goal.Has(p) {
				bit = "1\n"
			}
			if err := m.fs().WriteFile(side.dir+"/"+strconv.Itoa(p), []byte(bit)); err != nil {
				return err
			}
		}
	}
	return nil
}

// cnpOp returns the op for a field of the CNP marking.
func cnpOp(field string) op {
	read := func(m *Machine, d *device) (int, error) { return m.cnp(d, field) }
	return numberOp(read, func(m *Machine, d *device, n int) error {
		if d.driver == nic.DriverBNXT {
			return m.bnxtCC(d, func(c ccDir) error { return c.put(cnpName(field), n) })
		}
		f, err := m.firstExisting(m.cnpFiles(d, field))
		if err != nil {
			return err
		}
		return m.setNumber(f, n)
	})
}
