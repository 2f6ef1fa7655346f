package nic

import (
	"cmp"
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Constants of mlx5's rule for lossless buffers
// (drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c).
const (
	mlx5MinSpeed = units.Rate(40e9)
	mlx5MinMTU   = 9216
	mlx5Cell     = 128
)

// LosslessBuffer returns the smallest size in bytes that mlx5 accepts for a lossless buffer.
func LosslessBuffer(speed units.Rate, cable units.Length, mtu int) int64 {
	mbps := max(speed, mlx5MinSpeed).Mbps()
	xoff := (301+216*int64(cable)/100)*mbps/1000 + 272*int64(mtu)/100
	return xoff + mlx5MinMTU + mlx5Cell
}

// enlarged returns the size to request for a buffer that must hold need bytes. It adds a reserve,
// because the driver calculates with the largest MTU of the device, up to 9978 B, and rounds down
// to whole cells of at most 512 B.
func enlarged(need int64) int64 { return (need + 3<<10) &^ (1<<10 - 1) }

// BuffersFor returns the receive buffer division that p needs on the running port. It keeps the
// running division if that fits, and otherwise changes as little as possible. Each lossless
// priority gets a buffer that holds no lossy priority and is large enough for the packets still in
// flight when a pause is sent. If no division is possible, why gives the reason.
func (p *Port) BuffersFor(running *Port) (b Buffers, why string) {
	switch {
	case running.Driver != DriverMLX5:
		return b, "only mlx5 supports dividing the receive buffer; this NIC's driver is " + cmp.Or(clean(running.Driver), "unknown")
	case !running.Buffers.Set:
		return b, cmp.Or(clean(running.Missing[FieldBuffers]), "not read")
	}
	have := running.Buffers.V
	b = have
	// While the settings are written, the old and the new cable length and MTU apply in turn.
	need := LosslessBuffer(p.BufferSpeed.V, max(p.Cable.V, running.Cable.V), max(p.MTU.V, running.MTU.V))
	var lossless, lossy [qos.NumPriorities]bool
	for prio, at := range b.PriorityToBuffer {
		if at < 0 || int(at) >= len(b.Size) {
			return b, fmt.Sprintf("the driver shows priority %d in buffer %d", prio, at)
		}
		lossless[at] = lossless[at] || p.PFC.V.Has(prio)
		lossy[at] = lossy[at] || !p.PFC.V.Has(prio)
	}
	own := -1 // lowest buffer without lossy priorities; a lossless one is preferred to an unused one
	for _, used := range []bool{true, false} {
		for at := range b.Size {
			if own < 0 && !lossy[at] && lossless[at] == used {
				own = at
			}
		}
	}
	for _, prio := range p.PFC.V.List() {
		if !lossy[b.PriorityToBuffer[prio]] {
			continue
		}
		if own < 0 {
			return b, "lossy priorities use all buffers: give them fewer with mlnx_qos --prio2buffer"
		}
		b.PriorityToBuffer[prio] = int8(own)
		lossless[own] = true
	}
	for at := range b.Size {
		if lossless[at] && !lossy[at] && b.Size[at] < need {
			b.Size[at] = enlarged(need)
		}
	}
	if b == have {
		return b, ""
	}
	over := -b.Total
	for _, size := range b.Size {
		over += size
	}
	// Shrink unused buffers first, then lossy ones, which keep room for two packets.
	for _, pass := range []struct {
		takes func(at int) bool
		floor int64
	}{
		{func(at int) bool { return !lossy[at] && !lossless[at] }, 0},
		{func(at int) bool { return lossy[at] }, enlarged(2 * int64(max(p.MTU.V, running.MTU.V)))},
	} {
		for at := range b.Size {
			if take := min(over, b.Size[at]-pass.floor); take > 0 && pass.takes(at) {
				b.Size[at], over = b.Size[at]-take, over-take
			}
		}
	}
	if over > 0 {
		return b, fmt.Sprintf("the receive buffer has %d B and lossless priorities %s need %d B at %s over %s, %d B more than there is", b.Total, p.PFC.V, need, p.BufferSpeed.V, max(p.Cable.V, running.Cable.V), over)
	}
	return b, ""
}

// buffers compares how the receive buffer is divided.
func (d *differ) buffers() {
	if !d.want.BufferSpeed.Set {
		return
	}
	c := Change{Field: FieldBuffers, Kind: KindDrift, Old: qos.Absent, New: "auto"}
	if d.have.Buffers.Set {
		c.Old = d.have.Buffers.V.String()
	}
	b, why := d.want.BuffersFor(d.have)
	switch {
	case why != "":
		c.Blocked = why
	case b == d.have.Buffers.V:
		return
	default:
		c.New = b.String()
	}
	d.add(c)
}
