package localtest

import (
	"context"
	"fmt"
	"slices"
	"syscall"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// port is a port with the state of its driver.
type port struct {
	Port
	state dcb.State
	pause local.Pause
	ring  nic.Rings
	// divided is set once mlx5's receive buffer has been divided by hand; the firmware then leaves
	// it alone.
	divided bool
	agent   bool // ice: the firmware's agent is on
	// etsSet is set once bnxt has been given an ETS since it was loaded.
	etsSet bool
	// looks counts down the reads of the carrier until the link comes up by calling up.
	looks int
	up    func()
	// rival is another program that acts on the rivalIn-th read of the port; 0 means never.
	rival               func(*dcb.State)
	rivalAfter, rivalIn int
	fec                 string // FEC in use, by ethtool's name; "" if the link shows none
	// vfs holds the settings of the port's VFs.
	vfs []nic.VF
	sfs []*sf
	// stats holds the statistics set by a test.
	stats map[string]uint64
}

// newPort returns a port in the state after its driver is loaded.
func newPort(p Port) *port {
	negotiates := (p.Driver == nic.DriverICE || p.Driver == nic.DriverBNXT) && !p.FixedSpeed
	n := &port{Port: p, pause: local.Pause{Autoneg: negotiates, RX: true, TX: true}, agent: p.Driver == nic.DriverICE, ring: nic.Rings{RX: 1024, TX: 1024, MaxRX: 8192, MaxTX: 8192}}
	ets := dcb.ETS{Cap: 8}
	for i := range ets.TSA {
		if p.Driver != nic.DriverBNXT { // bnxt reports zeros until ETS is set
			ets.PriorityTC[i] = uint8(i)
		}
		if p.Driver == nic.DriverMLX5 {
			ets.TSA[i] = dcb.TSAVendor
		}
	}
	if p.Driver == nic.DriverMLX5 {
		ets.PriorityTC[0], ets.PriorityTC[1] = 1, 0
	}
	dcbx := dcb.DCBXHost | dcb.DCBXIEEE
	if n.agent {
		dcbx = dcb.DCBXManaged | dcb.DCBXIEEE
	}
	n.state = dcb.State{ETS: &ets, PFC: &dcb.PFC{Cap: 8}, DCBX: &dcbx}
	if p.Driver == nic.DriverMLX5 {
		n.state.PFC.Delay = 7
		n.state.Buffer = &dcb.Buffer{Total: 262016}
		n.state.Buffer.Size[0] = 262016
	}
	if p.Driver == nic.DriverBNXT {
		n.state.PFC.Cap = 2
	}
	n.state.PFC.Requests[3], n.state.PFC.Indications[3] = 11, 7
	return n
}

func (p *port) clone() *dcb.State {
	s := p.state
	ets, pfc, dcbx := *s.ETS, *s.PFC, *s.DCBX
	s.ETS, s.PFC, s.DCBX, s.Apps = &ets, &pfc, &dcbx, slices.Clone(s.Apps)
	if s.Buffer != nil {
		b := *s.Buffer
		s.Buffer = &b
	}
	return &s
}

// Corrupt changes the state of a port's driver without recording a write.
func (h *Host) Corrupt(name string, f func(*dcb.State)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.ports[name].state)
}

// Rival starts another program that changes the state of a port's driver: on the n-th read of the
// port, from 1, after each write to its driver. A nil f stops it.
func (h *Host) Rival(name string, n int, f func(*dcb.State)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.ports[name]
	p.rival, p.rivalAfter, p.rivalIn = f, n, 0
}

// SetPause changes the link pause of a port without recording a write.
func (h *Host) SetPause(name string, p local.Pause) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ports[name].pause = p
}

// State returns the state of a port's driver.
func (h *Host) State(name string) *dcb.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ports[name].clone()
}

// dcbnl is the DCB interface of a Host. Like the real client it does not write values that are
// already set; unlike it, it trusts its drivers.
type dcbnl struct{ view }

var _ local.DCB = dcbnl{}

func (k dcbnl) port(ctx context.Context, name string) (*port, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := k.ports[name]
	switch {
	case k.faults.NoDCBNL:
		return nil, fmt.Errorf("get %s: %w", name, dcb.ErrUnsupported)
	case p == nil:
		return nil, fmt.Errorf("get %s: %w", name, dcb.ErrNoDevice)
	case p.VF, p.Restricted, p.Driver == nic.DriverIonic, k.faults.NoDCB:
		return nil, fmt.Errorf("get %s: %w", name, dcb.ErrUnsupported)
	}
	return p, nil
}

// Get implements local.DCB.
func (k dcbnl) Get(ctx context.Context, name string) (*dcb.State, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, err := k.port(ctx, name)
	if err != nil {
		return nil, err
	}
	if p.rivalIn > 0 {
		if p.rivalIn--; p.rivalIn == 0 && p.rival != nil {
			p.rival(&p.state)
		}
	}
	return p.clone(), nil
}

func einval(what string) error { return fmt.Errorf("%s: %w: EINVAL", what, dcb.ErrRefused) }

// set carries out a write, unless the write is rejected or ignored.
func (k dcbnl) set(ctx context.Context, name, what string, same func(*port) bool, write func(*port) error) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, err := k.port(ctx, name)
	switch {
	case err != nil:
		return false, err
	case same(p):
		return false, nil
	case k.notRoot():
		return false, fmt.Errorf("%s %s: %w", what, name, dcb.ErrPermission)
	}
	k.Host.wrote("%s %s", what, name)
	p.rivalIn = p.rivalAfter
	if k.faults.Ignore {
		return true, nil
	}
	// The firmware's agent owns the port (bnxt_dcb.c, ice_dcb_nl.c).
	if what != "set dcbx" && p.Driver != nic.DriverMLX5 && (p.agent || *p.state.DCBX&dcb.DCBXHost == 0) {
		return false, einval(what)
	}
	return true, write(p)
}

// SetPFC implements local.DCB.
func (k dcbnl) SetPFC(ctx context.Context, name string, mask qos.PrioritySet, delay uint16) (bool, error) {
	what := "set pfc"
	if delay != 0 {
		what = "set delay"
	}
	return k.set(ctx, name, what, func(p *port) bool {
		return p.state.PFC.Enabled == mask && (delay == 0 || p.state.PFC.Delay == delay)
	}, func(p *port) error {
		if p.Driver == nic.DriverBNXT {
			if err := p.setLossless(mask); err != nil {
				return err
			}
		}
		if p.state.PFC.Enabled != mask {
			p.state.PFC.Enabled = mask
			p.divide()
			if p.Driver != nic.DriverBNXT {
				k.Host.bounce(name)
			}
		}
		old := p.state.PFC.Delay
		if delay > 0 && delay < 1000 {
			p.state.PFC.Delay = delay
		}
		// mlx5 keeps the mask and restores the old length (en_dcbnl.c).
		if p.divided && !p.fits(p.state.Buffer.Headroom, k.number(k.sys("class", "net", name, "mtu"))) {
			p.state.PFC.Delay = old
			return einval(what)
		}
		return nil
	})
}

// divide gives the lossless priorities of mlx5 their own receive buffer, as its firmware does while
// it manages the buffers: "buffer 0 0 0 1 0 0 0 0" in mlnx_qos with PFC on priority 3.
func (p *port) divide() {
	const lossy = 157 * 128 // bytes
	b := p.state.Buffer
	if b == nil || p.divided {
		return
	}
	b.Headroom = dcb.Headroom{}
	b.Size[0] = b.Total
	for _, prio := range p.state.PFC.Enabled.List() {
		b.PriorityBuffer[prio] = 1
		b.Size[0], b.Size[1] = lossy, b.Total-lossy
	}
}

// fits applies mlx5's rule for the receive buffer: the sizes must not exceed the total, and each
// lossless priority needs room for what is in flight when a pause is sent, a packet and a cell
// (mlx5/core/en/port_buffer.c). The speed is the lowest one that the driver uses in its
// calculation.
func (p *port) fits(want dcb.Headroom, mtu int) bool {
	const speed, maxMTU, cell = 40, 9978, 128 // Gbit/s, bytes
	var sum uint32
	for _, size := range want.Size {
		sum += min(size, p.state.Buffer.Total+1)
	}
	xoff := (301+216*int(p.state.PFC.Delay)/100)*speed + 272*mtu/100
	for _, prio := range p.state.PFC.Enabled.List() {
		if b := want.PriorityBuffer[prio]; b > 7 || int(want.Size[b]) < xoff+maxMTU+cell {
			return false
		}
	}
	return sum <= p.state.Buffer.Total
}

// SetETS implements local.DCB.
func (k dcbnl) SetETS(ctx context.Context, name string, want dcb.Scheduling) (bool, error) {
	return k.set(ctx, name, "set ets", func(p *port) bool { return p.state.ETS.Scheduling == want }, func(p *port) error {
		sum, any := 0, false
		for tc, t := range want.TSA {
			if t == dcb.TSAETS {
				any, sum = true, sum+int(want.Bandwidth[tc])
			} else {
				want.Bandwidth[tc] = 0
			}
			if want.PriorityTC[tc] > 7 {
				return einval("set ets")
			}
			if t == dcb.TSACBS {
				return fmt.Errorf("set ets: %w: EOPNOTSUPP", dcb.ErrRefused)
			}
		}
		if any && sum != 100 || p.Driver == nic.DriverBNXT && starves(want) {
			return einval("set ets")
		}
		p.state.ETS.Scheduling, p.etsSet = want, true
		if p.Driver == nic.DriverICE {
			k.Host.bounce(name)
		}
		return nil
	})
}

// SetWilling implements local.DCB. Only ice stores the setting (ice_dcb_nl.c).
func (k dcbnl) SetWilling(ctx context.Context, name string, willing bool) (bool, error) {
	return k.set(ctx, name, "set willing", func(p *port) bool { return p.state.ETS.Willing == willing }, func(p *port) error {
		if p.Driver == nic.DriverICE {
			p.state.ETS.Willing = willing
			k.Host.bounce(name)
		}
		return nil
	})
}

// SetBuffer implements local.DCB.
func (k dcbnl) SetBuffer(ctx context.Context, name string, want dcb.Headroom) (bool, error) {
	return k.set(ctx, name, "set buffer", func(p *port) bool { return p.state.Buffer != nil && p.state.Buffer.Headroom == want }, func(p *port) error {
		if p.state.Buffer == nil {
			return fmt.Errorf("set buffer: %w", dcb.ErrUnsupported)
		}
		if p.Driver == nic.DriverMLX5 && !p.fits(want, k.number(k.sys("class", "net", name, "mtu"))) {
			return einval("set buffer")
		}
		p.state.Buffer.Headroom, p.divided = want, true
		for i := range p.state.Buffer.Size {
			p.state.Buffer.Size[i] -= p.state.Buffer.Size[i] % 128 // whole cells
		}
		return nil
	})
}

// OwnDCBX implements local.DCB.
func (k dcbnl) OwnDCBX(ctx context.Context, name string, host bool) (bool, error) {
	return k.set(ctx, name, "set dcbx", func(p *port) bool { return (*p.state.DCBX&dcb.DCBXHost != 0) == host }, func(p *port) error {
		switch {
		case host && (k.faults.FirmwareDCBX || p.agent), !host && p.Driver != nic.DriverMLX5:
			return fmt.Errorf("set dcbx: %w", dcb.ErrRefused)
		case host:
			*p.state.DCBX |= dcb.DCBXHost
		default:
			*p.state.DCBX &^= dcb.DCBXHost
		}
		return nil
	})
}

// MapDSCP implements local.DCB. On ice the first entry resets ETS, and so does removing the last
// one.
func (k dcbnl) MapDSCP(ctx context.Context, name string, want [qos.NumDSCP]int8) (bool, error) {
	result := func(p *port) []dcb.App {
		var apps []dcb.App
		for _, a := range p.state.Apps {
			if a.Selector != dcb.SelectorDSCP {
				apps = append(apps, a)
			}
		}
		for d, prio := range want {
			for _, a := range p.state.Apps {
				if prio == qos.Unmanaged && a.Selector == dcb.SelectorDSCP && int(a.Protocol) == d {
					apps = append(apps, a)
				}
			}
			if prio >= 0 {
				apps = append(apps, dcb.DSCP(uint8(d), uint8(prio)))
			}
		}
		return apps
	}
	return k.set(ctx, name, "map dscp", func(p *port) bool { return slices.Equal(p.state.Apps, result(p)) }, func(p *port) error {
		before := len(p.state.Apps) // on ice, which has no other entries
		p.state.Apps = result(p)
		if p.Driver == nic.DriverICE && (before == 0) != (len(p.state.Apps) == 0) {
			*p.state.ETS = dcb.ETS{Cap: 8}
			k.Host.bounce(name)
		}
		return nil
	})
}

// ethtool is the ethtool ioctl of a Host.
type ethtool struct{ view }

var _ local.Ethtool = ethtool{}

func (e ethtool) port(name string) (*port, error) {
	if p := e.ports[name]; p != nil {
		return p, nil
	}
	return nil, syscall.ENODEV
}

// Pause implements local.Ethtool.
func (e ethtool) Pause(name string) (local.Pause, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := e.port(name)
	switch {
	case err != nil:
		return local.Pause{}, err
	case p.VF:
		return local.Pause{}, syscall.EOPNOTSUPP
	}
	out := p.pause
	if p.Driver == nic.DriverICE && p.state.PFC.Enabled != 0 {
		out.RX, out.TX = false, false
	}
	return out, nil
}

// SetPause implements local.Ethtool. mlx5 does not support autonegotiation of pause (en_ethtool.c).
// ice accepts only its link's autonegotiation value, rejects every change while PFC is on, and
// restarts the link (ice_ethtool.c, ice_set_pauseparam). bnxt accepts autonegotiation only if the
// speed is negotiated, and restarts the link if pause is or was negotiated (bnxt_ethtool.c,
// bnxt_set_pauseparam).
func (e ethtool) SetPause(name string, want local.Pause) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := e.port(name)
	switch {
	case err != nil:
		return err
	case e.notRoot():
		return syscall.EPERM
	case p.VF:
		return syscall.EOPNOTSUPP
	case p.Driver == nic.DriverICE && (want.Autoneg != p.pause.Autoneg || p.state.PFC.Enabled != 0):
		return syscall.EOPNOTSUPP
	case p.Driver == nic.DriverBNXT && want.Autoneg && p.FixedSpeed, p.Driver == nic.DriverMLX5 && want.Autoneg:
		return syscall.EINVAL
	}
	e.Host.wrote("set pause %s", name)
	if e.faults.Ignore {
		return nil
	}
	have := p.pause
	p.pause = want
	if p.Driver == nic.DriverBNXT && (have.Autoneg || want.Autoneg) || p.Driver == nic.DriverICE && want != have {
		e.Host.bounce(name)
	}
	return nil
}

// Flags implements local.Ethtool.
func (e ethtool) Flags(name string) (map[string]bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := e.port(name)
	if err != nil || p.Driver != nic.DriverICE {
		return nil, err
	}
	return map[string]bool{"fw-lldp-agent": p.agent, "link-down-on-close": false}, nil
}

// SetFlag implements local.Ethtool.
func (e ethtool) SetFlag(name, flag string, on bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := e.port(name)
	switch {
	case err != nil:
		return err
	case e.notRoot():
		return syscall.EPERM
	case p.Driver != nic.DriverICE || flag != "fw-lldp-agent":
		return syscall.EINVAL
	}
	e.Host.wrote("set flag %s %s %t", flag, name, on)
	p.agent = on
	bits := dcb.DCBXIEEE
	if on {
		bits |= dcb.DCBXManaged
	}
	*p.state.DCBX = bits
	return nil
}
