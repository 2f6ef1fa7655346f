package render

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// Admission repeats the switch's own admission test for the lossless groups of a port, with the
// groups and limits that are known. It fails if the chip has no such test.
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

// HeadroomUse is the headroom of all lossless groups of a switch whose headroom is known, and
// the size of the pool that holds it, in bytes.
type HeadroomUse struct {
	Groups int   `json:"groups"`
	Sum    int64 `json:"sum"`
	Pool   int64 `json:"pool"` // 0 if it is not known
	// Slices is the number of memories that the chip divides the pool into; 0 if it is not known.
	// Fullest is the headroom of the groups in the fullest of them: at least so much, whichever
	// ports use it.
	Slices  int   `json:"slices,omitempty"`
	Fullest int64 `json:"fullest,omitempty"`
}

// Slice returns the part of the pool in one slice; the whole pool if the chip is not divided.
func (u HeadroomUse) Slice() int64 { return u.Pool / int64(max(u.Slices, 1)) }

// Ratio returns the headroom of the groups in the fullest slice divided by its pool; ok is false
// without a pool.
func (u HeadroomUse) Ratio() (r float64, ok bool) {
	return headroom.OverSubscription(u.Fullest, u.Slice())
}

// HeadroomUse returns the total headroom of all ports. Under the dynamic buffer model the switch
// sizes the pool itself; Pool is then 0 unless the switch shows it.
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
	if a := m.asic(); a != nil {
		u.Slices = a.Slices
	}
	loads := make([]int64, 0, len(m.Switch.Ports))
	for _, p := range m.Switch.Ports {
		groups, _ := m.groups(p)
		load := int64(0)
		for _, g := range groups {
			u.Groups += g.Count
			load += int64(g.Count) * g.XOFF
		}
		loads = append(loads, load)
		u.Sum += load
	}
	u.Fullest = headroom.Fullest(loads, u.Slices)
	return u
}

// PoolSizes returns the sizes that the switch will give its pools under the dynamic buffer
// model, computed from the ports in the intent. Ports outside the intent take their buffers in
// addition. It fails if the switch does not compute its pools, or if the chip is not known.
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

// queueReserves returns the bytes that the queues and the egress profile list of a port reserve.
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
