package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
)

// Read reads the named ports, see [Machine.Select]; nil stands for all ports with an RDMA device.
// Ports that this machine does not have are left out. Settings of a port that cannot be read are in
// its Missing, even if its RDMA device disappears meanwhile. Read returns an error if ctx ends or
// the devices cannot be listed.
//
// Read does not set Unit: the boot unit is not handled by this package.
func (m *Machine) Read(ctx context.Context, names []string) (*nic.Host, error) {
	m.choose()
	if names == nil {
		var err error
		if names, err = m.rdmaPorts(ctx); err != nil {
			return nil, err
		}
	}
	h := &nic.Host{Ports: map[string]*nic.Port{}, Missing: map[string]string{}}
	h.Name, _ = m.text(m.proc("sys", "kernel", "hostname"))
	h.Kernel, _ = m.text(m.proc("sys", "kernel", "osrelease"))
	h.Boot, _ = m.text(m.proc("sys", "kernel", "random", "boot_id"))
	h.Serial, _ = m.text(m.sys("class", "dmi", "id", "product_serial")) // only root can read it
	h.Name, h.Kernel, h.Boot, h.Serial = clip(h.Name), clip(h.Kernel), clip(h.Boot), clip(h.Serial)
	h.Hostname = h.Name
	all, perr := m.processes()
	if perr != nil {
		h.Missing[nic.FieldAgents] = m.explainError(perr)
	}
	h.Agents = agentsOf(all)
	h.Away, h.GPUs = m.rdmaInOtherNamespace(), m.gpus()
	var amd cards
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read the host: %w", err)
		}
		if p := m.readPort(ctx, name, &amd); p != nil {
			h.Ports[name] = p
		}
	}
	m.locate(ctx, h, names, all)
	h.Unchosen = m.choice.unchosen(names)
	m.readUppers(ctx, h)
	m.readReach(ctx, h)
	var err error
	if h.Writers, err = m.writers(h, all); err != nil {
		h.Missing[nic.FieldWriters] = m.explainError(err)
	}
	m.readFirmware(ctx, h)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the host: %w", err)
	}
	return h, nil
}

// reader reads one port.
type reader struct {
	*Machine
	*device
	ctx context.Context
	p   *nic.Port
}

// readPort returns the state of a port; nil if the machine does not have the port, or no longer has
// it afterwards.
func (m *Machine) readPort(ctx context.Context, name string, amd *cards) *nic.Port {
	d, err := m.device(name)
	if err != nil {
		return nil
	}
	r := m.readerOf(ctx, d)
	r.identity()
	r.settings()
	if d.driver == nic.DriverIonic {
		r.ionic(amd)
	}
	r.activeMTU()
	r.ready()
	if !m.has(m.sysNet(d.name)) {
		return nil
	}
	return r.p
}

func (m *Machine) readerOf(ctx context.Context, d *device) reader {
	return reader{m, d, ctx, &nic.Port{
		Name: d.name, RDMA: d.rdma, RDMAPort: d.port, PCI: d.pci, Driver: d.driver, Vendor: d.vendor, Device: d.model,
		VF: d.virtual, Missing: map[string]string{},
	}}
}

// settings reads what the kernel shows without other programs.
func (r reader) settings() {
	r.link()
	get(r, nic.FieldRings, &r.p.Rings, func() (nic.Rings, error) { return r.ringsOf(r.name) })
	if r.driver != nic.DriverIonic {
		r.dcb()
		r.pause()
		r.congestion()
	}
	r.rdmaDefaults()
	r.functions()
}

// recordMissing records why fields cannot be read.
func (r reader) recordMissing(why string, fields ...string) {
	for _, f := range fields {
		r.p.Missing[f] = why
	}
}

// get sets an Opt, or records why it cannot be read.
func get[T any](r reader, field string, o *qos.Opt[T], read func() (T, error)) {
	v, err := read()
	switch {
	case err == nil:
		*o = qos.Of(v)
	case errors.Is(err, ErrUnsupported):
		r.recordMissing(nic.NotInDriver, field)
	default:
		r.recordMissing(r.explainError(err), field)
	}
}

func (r reader) identity() {
	if v, err := r.text(r.infiniband(r.rdma, "fw_ver")); r.rdma != "" && err == nil {
		r.p.Firmware = clip(v)
	} else if r.rdma != "" {
		r.recordMissing(r.explainError(err), nic.FieldFirmware)
	}
	if validName(r.driver, maxRDMA) {
		if v, err := r.text(r.sys("module", r.driver, "version")); err == nil {
			r.p.DriverVersion = clip(v)
		}
	}
	if r.p.DriverVersion == "" {
		v, _ := r.text(r.proc("sys", "kernel", "osrelease"))
		r.p.DriverVersion = clip(v)
	}
}

func (r reader) link() {
	get(r, nic.FieldMTU, &r.p.MTU, func() (int, error) { return r.mtu(r.device) })
	get(r, nic.FieldCarrier, &r.p.Carrier, func() (bool, error) { return r.carrier(r.name) })
	if n, err := r.number(r.sysNet(r.name, "carrier_changes")); err == nil {
		r.p.CarrierChanges = qos.Of(uint64(n))
	}
	// In Mb/s; -1 or EINVAL if not known (Linux, net/core/net-sysfs.c).
	if n, err := r.number(r.sysNet(r.name, "speed")); err == nil && n > 0 && n < 1<<40 {
		r.p.Speed = qos.Of(units.Rate(n) * 1e6)
	}
	get(r, nic.FieldStallPrevention, &r.p.StallPrevention, func() (string, error) { return r.stall(r.device) })
	get(r, nic.FieldMaxReadRequest, &r.p.MaxReadRequest, func() (int, error) { return r.maxRead(r.device) })
}

func (m *Machine) stallFile(d *device) string {
	return m.sysNet(d.name, "settings", "pfc_stall_prevention")
}

func (m *Machine) stall(d *device) (string, error) {
	s, err := m.text(m.stallFile(d))
	if isGone(err) {
		err = ErrUnsupported
	}
	return clip(s), err
}

func (m *Machine) mtu(d *device) (int, error) {
	n, err := m.number(m.sysNet(d.name, "mtu"))
	return int(n), err
}

// carrier reports whether a link is up. The kernel answers EINVAL for a device
// that is administratively down (Linux, net/core/net-sysfs.c).
func (m *Machine) carrier(name string) (bool, error) {
	s, err := m.text(m.sysNet(name, "carrier"))
	if errors.Is(err, syscall.EINVAL) {
		return false, nil
	}
	return s == "1", err
}

// dcbFields are the fields that dcbnl reports.
var dcbFields = []string{
	nic.FieldDCBX, nic.FieldTrust, nic.FieldDSCP, nic.FieldPFC, nic.FieldCable, nic.FieldETS, nic.FieldBuffers, nic.FieldWilling,
}

func (r reader) dcb() {
	s, err := r.dcbState(r.ctx, r.name)
	if err != nil {
		why := r.explainError(err)
		if errors.Is(err, dcb.ErrUnsupported) {
			why = "the device has no DCB operations"
			switch {
			case r.virtual:
				why = "no dcbnl: a VF or sub-function"
			case !r.kernelHasDCB(r.ctx):
				why = "the kernel has no DCB operations"
			case r.driver == nic.DriverMLX5:
				// Only physical functions have DCB operations, and not those of a BlueField in DPU
				// mode (mlx5 en_dcbnl.c).
				r.p.VF = true
				why = "no dcbnl: a restricted function, for example of a BlueField in DPU mode"
			}
		}
		r.recordMissing(why, append(slices.Clone(dcbFields), nic.FieldDCB)...)
		return
	}
	lacks := func(ok bool, fields ...string) bool {
		if !ok {
			r.recordMissing(nic.NotInDriver, fields...)
		}
		return !ok
	}
	if !lacks(s.DCBX != nil, nic.FieldDCBX) {
		agent := r.firmwareAgent(r.device)
		on := agent != nil && *agent
		r.p.DCBX = qos.Of(nic.OwnerHost)
		if on || *s.DCBX&dcb.DCBXHost == 0 {
			r.p.DCBX = qos.Of(nic.OwnerFirmware)
		}
		switch {
		case on:
			r.p.Agent = nic.AgentICE
		case *s.DCBX&dcb.DCBXManaged != 0 && *s.DCBX&dcb.DCBXHost == 0:
			r.p.Agent = nic.AgentManaged
		}
	}
	if r.driver == nic.DriverBNXT {
		r.p.RoCEApp = qos.Of(roceAppOf(s))
	}
	r.p.Trust = qos.Of(s.Trust())
	r.p.DSCP = qos.Of(dscpMap(s, qos.Unmapped))
	if !lacks(s.PFC != nil, nic.FieldPFC, nic.FieldCable) {
		r.p.PFC = qos.Of(s.PFC.Enabled)
		r.p.PFCClasses = qos.Of(int(s.PFC.Cap))
		if !lacks(r.driver == nic.DriverMLX5 && s.PFC.Delay > 0, nic.FieldCable) {
			r.p.Cable = qos.Of(units.Length(s.PFC.Delay))
		}
	}
	if !lacks(s.ETS != nil, nic.FieldETS, nic.FieldWilling) {
		r.p.ETS = qos.Of(etsOf(s.ETS))
		r.p.Willing = qos.Of(s.ETS.Willing)
	}
	if !lacks(s.Buffer != nil, nic.FieldBuffers) {
		r.p.Buffers = qos.Of(buffersOf(s.Buffer.Headroom))
		r.p.Buffers.V.Total = int64(s.Buffer.Total)
	}
}

// dcbState reads the state of a port through dcbnl.
func (m *Machine) dcbState(ctx context.Context, name string) (*dcb.State, error) {
	if m.DCB == nil {
		return nil, fmt.Errorf("dcbnl: %w", ErrUnsupported)
	}
	return m.DCB.Get(ctx, name)
}

// noDevice is a name that no network device can have (Linux, net/core/dev.c, dev_valid_name).
const noDevice = "no/device"

// kernelHasDCB reports whether the kernel is known to be built with DCB. Such a kernel looks up the
// device before its DCB operations (net/dcb/dcbnl.c), while a kernel without DCB answers for every
// name that the operation is not supported (net/core/rtnetlink.c).
func (m *Machine) kernelHasDCB(ctx context.Context) bool {
	_, err := m.dcbState(ctx, noDevice)
	return errors.Is(err, dcb.ErrNoDevice)
}

// firmwareAgent reports whether the firmware's agent is on; nil if the driver has no flag for it.
func (m *Machine) firmwareAgent(d *device) *bool {
	if m.Ethtool == nil || d.driver != nic.DriverICE {
		return nil
	}
	flags, err := m.Ethtool.Flags(d.name)
	if on, has := flags[nic.AgentICE]; err == nil && has {
		return &on
	}
	return nil
}

// dscpMap returns the DSCP map that is known to be in force. A DSCP listed twice gets the value
// open, because it is not known which entry applies.
func dscpMap(s *dcb.State, open int8) [qos.NumDSCP]int8 {
	m, twice := s.DSCPMap()
	for _, d := range twice {
		m[d] = open
	}
	return m
}

func etsOf(s *dcb.ETS) nic.ETS {
	e := nic.ETS{Classes: int(s.Cap)}
	for i := range qos.NumPriorities {
		e.TSA[i] = nic.TSA(s.TSA[i].String())
		e.Bandwidth[i] = int(s.Bandwidth[i])
		e.PriorityToTC[i] = int8(s.PriorityTC[i] & 0x7f)
	}
	return e
}

func buffersOf(h dcb.Headroom) nic.Buffers {
	var b nic.Buffers
	for i := range qos.NumPriorities {
		b.PriorityToBuffer[i] = int8(h.PriorityBuffer[i] & 0x7f)
		b.Size[i] = int64(h.Size[i])
	}
	return b
}

func (r reader) pause() {
	get(r, nic.FieldLinkPause, &r.p.LinkPause, func() (bool, error) {
		p, err := r.pauseOf(r.name)
		return p.RX || p.TX, err
	})
}

func (m *Machine) pauseOf(name string) (Pause, error) {
	if m.Ethtool == nil {
		return Pause{}, fmt.Errorf("ethtool: %w", ErrUnsupported)
	}
	p, err := m.Ethtool.Pause(name)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return p, fmt.Errorf("link pause: %w: %w", ErrUnsupported, err)
	}
	return p, err
}

// toolTimeout limits the run time of small programs.
const toolTimeout = 10 * time.Second

// activeMTU runs ibv_devinfo, because the kernel shows the active MTU only to users of the verbs.
func (r reader) activeMTU() {
	if r.rdma == "" {
		return
	}
	if r.Tools == nil {
		r.recordMissing("no program can be run", nic.FieldActiveMTU)
		return
	}
	get(r, nic.FieldActiveMTU, &r.p.ActiveMTU, func() (int, error) {
		ctx, cancel := context.WithTimeout(r.ctx, toolTimeout)
		defer cancel()
		res, err := r.Tools.Run(ctx, "ibv_devinfo", "-d", r.rdma, "-i", fmt.Sprint(r.port))
		if err != nil {
			return 0, err
		}
		// "active_mtu:\t\t4096 (5)" (rdma-core, libibverbs/examples/devinfo.c)
		for line := range strings.Lines(string(res.Stdout)) {
			key, v, _ := strings.Cut(line, ":")
			f := strings.Fields(v)
			if strings.TrimSpace(key) != "active_mtu" || len(f) == 0 {
				continue
			}
			if n, ok := decimal(f[0]); ok && n <= 1<<16 {
				return int(n), nil
			}
		}
		return 0, fmt.Errorf("ibv_devinfo shows no active_mtu: exit status %d: %s", res.Code, clip(string(res.Stderr)))
	})
}
