package render

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// Admission repeats the switch's own test of a port's lossless groups, with what is known
// of them and of its limits; it fails where the chip has none.
func (m Memory) Admission(p *intent.Port) (headroom.Admission, error) {
	if m.Model == nil || !m.dynamic() {
		return headroom.Admission{}, fmt.Errorf("admission of %s: %w", p.Name, headroom.ErrNoModel)
	}
	groups, ok := m.groups(p)
	if !ok {
		return headroom.Admission{}, fmt.Errorf("admission of %s: %s", p.Name, m.Headroom(p).Missing)
	}
	in := m.HeadroomInput(p)
	out, most := m.Desired.Ports[p.Name], int64(0)
	if m.have != nil {
		out, most = m.have.Ports[p.Name], m.have.Hardware.MaxHeadroom[p.Name]
	}
	if out != nil && out.Groups[0].Buffer.Set && !out.Groups[0].Lossless.V {
		groups = append(groups, headroom.Groups{Count: 1})
	}
	return headroom.Admit(headroom.AdmissionInput{ASIC: m.Model.ASIC(), Lanes: in.Lanes, SharedHeadroom: in.SharedHeadroom, Groups: groups, MaxTotal: most})
}

// HeadroomUse is the headroom of all lossless groups of a switch whose headroom is
// known, and the size of the pool that holds it, in bytes.
type HeadroomUse struct {
	Groups int   `json:"groups"`
	Sum    int64 `json:"sum"`
	Pool   int64 `json:"pool"` // 0 where none is known
}

// Ratio returns Sum by Pool; ok is false without a pool.
func (u HeadroomUse) Ratio() (r float64, ok bool) { return headroom.OverSubscription(u.Sum, u.Pool) }

// HeadroomUse adds the headroom of all ports up. Under the dynamic buffer model
// the switch sizes the pool by itself, and Pool is 0 where the switch does not show it.
func (m Memory) HeadroomUse() HeadroomUse {
	var u HeadroomUse
	switch {
	case m.have != nil && len(m.have.Pools) > 0:
		u.Pool = m.have.Pools[catalog.IngressPool].XOFF
	case m.Model != nil && !m.dynamic():
		if pool, ok := m.Model.Pool(catalog.IngressPool); ok {
			u.Pool = pool.XOFF
		}
	}
	for _, p := range m.Switch.Ports {
		groups, _ := m.groups(p)
		for _, g := range groups {
			u.Groups += g.Count
			u.Sum += int64(g.Count) * g.XOFF
		}
	}
	return u
}

// PoolSizes works out how the switch will size its pools under the dynamic
// buffer model, from the ports that the intent manages: those it leaves alone
// take what they have on top. It fails where the switch does not compute, or
// the chip is not known.
func (d *Device) PoolSizes() (headroom.Pools, error) {
	m := d.Model
	if m == nil || !d.Desired.Platform.DynamicBuffers {
		return headroom.Pools{}, fmt.Errorf("pools of %s: %w", d.Switch.Name, headroom.ErrNoModel)
	}
	in := headroom.PoolInput{ASIC: m.ASIC(), Ratio: d.Switch.Settings.Buffers.OverSubscription.V}
	for _, pool := range m.Pools {
		if pool.Type == "ingress" && pool.Computed {
			in.IngressPools++
		}
		if pool.Name == catalog.IngressPool {
			in.SharedHeadroom = pool.XOFF
		}
	}
	memory := d.Memory(nil)
	for _, p := range d.Switch.Ports {
		at := memory.HeadroomInput(p)
		out := d.Desired.Ports[p.Name]
		b := headroom.PortBuffers{Count: 1, Lanes: at.Lanes, Up: p.AdminUp.V == nil || *p.AdminUp.V, Queues: d.queueReserves(out)}
		if n := len(p.Settings.Lossless().List()); n > 0 {
			h := memory.Headroom(p)
			if h.Computed == nil {
				return headroom.Pools{}, fmt.Errorf("pools of %s: %s: %s", d.Switch.Name, p.Name, h.Missing)
			}
			b.Groups = append(b.Groups, headroom.Groups{Count: n, Size: h.Computed.Size, XON: h.Computed.XON, XOFF: h.Computed.XOFF})
		}
		if out != nil && out.Groups[0].Buffer.Set {
			b.Groups = append(b.Groups, headroom.Groups{Count: 1, Size: d.profileSize(out.Groups[0].Buffer.V)})
		}
		in.Ports = append(in.Ports, b)
	}
	return headroom.SizePools(in)
}

// queueReserves is what the queues and the egress list of a port reserve.
func (d *Device) queueReserves(p *qos.Port) int64 {
	if p == nil {
		return 0
	}
	var n int64
	for _, q := range p.Queues {
		if q.Buffer.Set {
			n += d.profileSize(q.Buffer.V)
		}
	}
	if p.EgressProfiles.Set {
		for name := range strings.SplitSeq(p.EgressProfiles.V, ",") {
			n += d.profileSize(name)
		}
	}
	return n
}

func (d *Device) profileSize(name string) int64 {
	p, _ := d.Model.Profile(name)
	return p.Size
}
