package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// Memory is the packet memory of a switch as the buffer calculations see it: values that the
// switch shows come first, the intent and the catalogue fill in the rest.
type Memory struct {
	*Device
	have *qos.Device // running state; nil if only the intent is known
	*memoryCache
}

// memoryCache keeps what is computed once for a switch.
type memoryCache struct {
	ofPorts  map[headroomKey]PortHeadroom // headroom of ports; most are alike
	reserved *int64                       // what the whole switch holds in reserve; nil before the first use
}

// headroomKey holds everything that the headroom of a port depends on. speed and cable are the
// values with which the switch looks the headroom up.
type headroomKey struct {
	in       headroom.Input
	settings *intent.Settings
	speed    qos.Opt[units.Rate]
	cable    qos.Opt[units.Length]
}

// Memory returns the packet memory of a switch in state have, or, if have is nil, in the state
// that the intent asks for. The Memory is for one goroutine, and have must not change while it
// is in use.
func (d *Device) Memory(have *qos.Device) Memory {
	if have == d.Desired {
		have = nil
	}
	return Memory{d, have, &memoryCache{ofPorts: map[headroomKey]PortHeadroom{}}}
}

// asic returns the chip from the catalogue; nil if the model is not known.
func (m Memory) asic() *catalog.ASIC {
	if m.Model == nil {
		return nil
	}
	return m.Model.ASIC()
}

// dynamic reports whether the switch computes headroom by itself.
func (m Memory) dynamic() bool {
	if m.have != nil && m.have.Platform.OS != "" && len(m.have.Pools) > 0 {
		return m.have.Platform.DynamicBuffers
	}
	return m.Desired.Platform.DynamicBuffers
}

// PoolOf returns the pool from which a priority group of a port takes buffer on the switch: that
// of its profile, or else the lossless ingress pool, or else the only ingress pool. ok is false
// if the running state is not known or shows no such pool.
func (m Memory) PoolOf(port string, group int) (name string, p qos.Pool, ok bool) {
	if m.have == nil {
		return "", p, false
	}
	if q := m.have.Ports[port]; q != nil && q.Groups[group].Buffer.Set {
		name = m.have.Profiles[q.Groups[group].Buffer.V].Pool
		if p, ok = m.have.Pools[name]; ok {
			return name, p, true
		}
	}
	if p, ok = m.have.Pools[catalog.IngressPool]; ok {
		return catalog.IngressPool, p, true
	}
	var ingress []string
	for _, n := range slices.Sorted(maps.Keys(m.have.Pools)) {
		if !m.have.Pools[n].Egress {
			ingress = append(ingress, n)
		}
	}
	if len(ingress) != 1 {
		return "", p, false
	}
	return ingress[0], m.have.Pools[ingress[0]], true
}

// Row returns the headroom row that the switch looks up for a port: from the table that the
// switch shows, or else from the catalogue. ok is false if there is no row. own reports whether
// the switch shows a table.
func (m Memory) Row(p *intent.Port) (row catalog.HeadroomRow, own, ok bool) {
	speed, cable, configured := p.Speed.V, p.Cable.V, false
	if m.have != nil {
		if q := m.have.Ports[p.Name]; q != nil {
			speed = q.Speed.Or(speed)
			if q.Cable.Set {
				cable, configured = q.Cable.V, true
			}
		}
		for _, r := range m.have.Hardware.Rows {
			if r.Speed == speed && r.Cable == cable {
				h := r.Headroom
				return catalog.HeadroomRow{Speed: speed, Cable: cable, Size: h.Size, XON: h.XON, XOFF: h.XOFF, Threshold: h.Threshold, XONOffset: &h.XONOffset}, true, true
			}
		}
		if len(m.have.Hardware.Rows) > 0 {
			return row, true, false
		}
	}
	if m.Model == nil {
		return row, false, false
	}
	if !configured {
		cable = CableRow(m.Model, false, speed, cable)
	}
	row, ok = m.Model.HeadroomRow(speed, cable)
	return row, false, ok
}

// Pool returns the buffer pool that the lossless group of a class shares on a port. The error
// says which fact is missing.
func (m Memory) Pool(p *intent.Port, k *intent.Class) (headroom.Pool, error) {
	f := statedPool(p, k)
	if m.have != nil {
		m.shown(&f, p, k.Priority.V)
	}
	return headroom.PoolOf(m.Model, p.Speed.V, f)
}

// statedPool returns what the intent states about the pool of a class on a port.
func statedPool(p *intent.Port, k *intent.Class) (f headroom.Facts) {
	f.Cable = p.Cable.V
	if m := p.Switch.Measurement(p.Speed.V, p.Cable.V); m != nil {
		f.Pause, f.PauseHow = m.Pause, measuredBy(m)
	}
	if a := cmp.Or(k.Alpha.V, p.Settings.Buffers.Alpha.V); a != nil {
		f.Exponent, f.ExponentHow = new(int64(*a)), "as stated"
	}
	return f
}

// measuredBy says who measured and when.
func measuredBy(m *intent.Measurement) string {
	return fmt.Sprintf("%s, %s", m.Source, m.Date.Format(time.DateOnly))
}

// shown adds what the switch shows about the pool and about group g of a port.
func (m Memory) shown(f *headroom.Facts, p *intent.Port, g int) {
	name, pool, known := m.PoolOf(p.Name, g)
	if known && pool.Size > 0 {
		f.Sizes = new(headroom.SizesOf(m.Model, pool.Size, pool.XOFF, m.whole(), m.inReserve()))
		f.SizesHow = fmt.Sprintf("%s size %d of the switch", name, pool.Size)
	} else if !known {
		m.shownShare(f)
	}
	q := m.have.Ports[p.Name]
	if q == nil {
		return
	}
	h := q.Groups[g].Headroom
	row, own, ok := m.Row(p)
	alpha, stated := m.have.ShareAlpha()
	switch {
	case h.Set && h.V.Static:
		f.Fixed = h.V.Threshold
	case stated:
		f.Exponent, f.ExponentHow = &alpha, "as the switch configures its lossless buffer"
		if h.Set {
			f.Min, f.XOFF = new(headroom.GroupReserve(h.V.Size, h.V.XOFF, pool.XOFF)), h.V.XOFF
		}
	case h.Set:
		f.Exponent, f.ExponentHow = &h.V.Threshold, "of the group"
		f.Min, f.XOFF = new(headroom.GroupReserve(h.V.Size, h.V.XOFF, pool.XOFF)), h.V.XOFF
	case own && ok:
		f.Exponent, f.ExponentHow = &row.Threshold, "of the switch's table"
		f.Min = new(headroom.GroupReserve(row.Size, row.XOFF, pool.XOFF))
	case m.dynamic() && m.have.HeadroomModel.Set:
		f.Exponent, f.ExponentHow = new(int64(m.have.HeadroomModel.V.Alpha)), "default_dynamic_th of the switch"
	}
	for profile := range strings.SplitSeq(q.IngressProfiles.V, ",") {
		if limit, ok := m.have.Profiles[profile]; ok && limit.Pool == name && !limit.Static {
			f.PortExponent = &limit.Threshold
		}
	}
}

// shownShare adds the pool of a switch that divides its packet memory by shares, as Cumulus Linux
// does. Headroom is taken as part of the share, which gives the smaller and thus safer result.
func (m Memory) shownShare(f *headroom.Facts) {
	percent, _ := m.have.MemoryShares()
	a := m.asic()
	if percent == 0 || a == nil || a.BufferBytes == 0 {
		return
	}
	use := m.HeadroomUse()
	f.Sizes = &headroom.Sizes{Size: a.BufferBytes / 100 * int64(percent), XOFF: use.Sum, Contains: true}
	f.SizesHow = fmt.Sprintf("%d %% of the packet memory of %s, %d", percent, a.Name, a.BufferBytes)
	if f.Exponent == nil {
		f.Exponent, f.ExponentHow = new(int64(0)), "ALPHA_1, which NVIDIA's guide gives to lossless traffic"
	}
}

// whole returns the largest size or limit among the pools that the switch shows and the model's
// template states, in bytes.
func (m Memory) whole() (n int64) {
	if m.Model != nil {
		n = m.Model.Whole()
	}
	for _, p := range m.have.Pools {
		n = max(n, p.Size)
	}
	for _, p := range m.have.Profiles {
		if p.Static {
			n = max(n, p.Threshold)
		}
	}
	return n
}

// inReserve returns what the lossless groups and lossy queues of all ports of the switch hold in
// reserve, in bytes.
func (m Memory) inReserve() int64 {
	if m.reserved == nil {
		m.reserved = new(m.sumReserved())
	}
	return *m.reserved
}

func (m Memory) sumReserved() (n int64) {
	const most = 1 << 50 // no memory has so much; a device may state any number
	queues := int64(0)
	if a := m.asic(); a != nil {
		queues = int64(a.ReservedQueues)
	}
	for _, q := range m.have.Ports {
		lossy := int64(0)
		for i := range q.Queues {
			if profile, ok := m.have.Profiles[q.Queues[i].Buffer.V]; ok && !profile.Static {
				lossy = max(lossy, profile.Size)
			}
		}
		n = min(n+queues*min(lossy, most), most)
		for g := range q.Groups {
			if h := q.Groups[g].Headroom; q.Groups[g].Lossless.V && h.Set {
				n = min(n+max(min(h.V.Size, most), 0), most)
			}
		}
	}
	return n
}

// PlatformAlpha returns the exponent of alpha that the platform uses for the lossless groups of
// a port if the intent states none: from the row that the switch looks up, or SONiC's default
// under its dynamic buffer model. ok is false if it is not known.
func (m Memory) PlatformAlpha(p *intent.Port) (n int64, how string, ok bool) {
	if m.dynamic() {
		if m.Model == nil || !m.Model.ASIC().DynamicBuffers {
			return 0, "", false
		}
		n, _, ok = headroom.PublishedAlpha(m.Model, p.Speed.V)
		return n, "SONiC's default", ok
	}
	row, own, ok := m.Row(p)
	if !own && m.Model != nil { // thresholds of a static pool are not exponents
		if pool, known := m.Model.Pool(catalog.IngressPool); !known || pool.Mode != "dynamic" {
			return 0, "", false
		}
	}
	return row.Threshold, "the platform's table", ok && row.Threshold >= -8 && row.Threshold <= 7
}

// SharedHeadroom reports whether the switch computes its headroom with a shared headroom pool.
func (m Memory) SharedHeadroom() bool {
	if m.have != nil && len(m.have.Pools) > 0 {
		return m.have.Pools[catalog.IngressPool].XOFF > 0 || m.have.HeadroomModel.V.OverSubscribe > 0
	}
	if m.Model == nil {
		return false
	}
	pool, ok := m.Model.Pool(catalog.IngressPool)
	// A declared over-subscription ratio implies a shared headroom pool.
	return ok && pool.XOFF > 0 || m.dynamic() && m.Switch.Settings.Buffers.OverSubscription.V > 0
}

// pattern sets the traffic mix that the switch assumes in its headroom calculation: the one that
// the switch shows, or else that of SONiC's template.
func (m Memory) pattern(in headroom.Input) headroom.Input {
	in.LosslessMTU, in.SmallPacketPercent = DefaultLosslessMTU, DefaultSmallPackets
	if m.have != nil && m.have.HeadroomModel.V.LosslessMTU > 0 {
		in.LosslessMTU, in.SmallPacketPercent = m.have.HeadroomModel.V.LosslessMTU, m.have.HeadroomModel.V.SmallPacketPercent
	}
	return in
}

// groups returns the priority groups of a port that have headroom: those that the switch has,
// and those that it will create. ok is false if their headroom is not known.
func (m Memory) groups(p *intent.Port) (out []headroom.Groups, ok bool) {
	var q *qos.Port
	if m.have != nil {
		q = m.have.Ports[p.Name]
	}
	made := headroom.Groups{Count: len(p.Settings.Lossless().List())}
	if q != nil {
		made.Count = 0
		for g := range q.Groups {
			h := q.Groups[g].Headroom
			switch {
			case !q.Groups[g].Lossless.V:
			case h.Set:
				out = append(out, headroom.Groups{Count: 1, Size: h.V.Size, XON: h.V.XON, XOFF: h.V.XOFF})
			default:
				made.Count++
			}
		}
	}
	if made.Count == 0 {
		return out, true
	}
	h := m.Headroom(p)
	switch {
	case h.Row != nil:
		made.Size, made.XON, made.XOFF = h.Row.Size, h.Row.XON, h.Row.XOFF
	case h.Computed != nil:
		made.Size, made.XON, made.XOFF = h.Computed.Size, h.Computed.XON, h.Computed.XOFF
	default:
		return out, false
	}
	return append(out, made), true
}
