package local

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/nic"
)

func (r reader) rings() {
	get(r, nic.FieldRings, &r.p.Rings, func() (nic.Rings, error) {
		v, err := r.ringsOf(r.name)
		return nic.Rings{RX: v.RX, TX: v.TX, MaxRX: v.MaxRX, MaxTX: v.MaxTX}, err
	})
}

// ringsOf reads the rings; ErrUnsupported is a driver without any.
func (m *Machine) ringsOf(name string) (nic.Rings, error) {
	r, err := m.Ring(name)
	return nic.Rings{RX: bounded(r.RX), TX: bounded(r.TX), MaxRX: bounded(r.MaxRX), MaxTX: bounded(r.MaxTX)}, err
}

// bounded keeps what a driver says of its rings in range.
func bounded(n uint32) int { return int(min(n, 1<<24)) }

// maxRing is the longest ring that a step may ask for.
const maxRing = 1 << 16

var ringsOp = op{
	read: func(m *Machine, _ context.Context, d *device) (Value, error) {
		r, err := m.ringsOf(d.name)
		return Value{Rings: &nic.Rings{RX: r.RX, TX: r.TX}}, err
	},
	write: func(m *Machine, _ context.Context, d *device, want, have Value) error {
		rx, tx := have.Rings.RX, have.Rings.TX
		if want.Rings.RX != 0 {
			rx = want.Rings.RX
		}
		if want.Rings.TX != 0 {
			tx = want.Rings.TX
		}
		err := m.Ethtool.SetRing(d.name, uint32(rx), uint32(tx))
		if errors.Is(err, syscall.EINVAL) {
			return hint.With(fmt.Errorf("rings rx %d tx %d: %w", rx, tx, err), "the driver takes other lengths: look at ethtool -g "+d.name)
		}
		return err
	},
}

// sameRings compares the rings that are wanted.
func sameRings(want, have nic.Rings) bool {
	return (want.RX == 0 || want.RX == have.RX) && (want.TX == 0 || want.TX == have.TX)
}

// wantedRings are the lengths that the driver makes of the intent's.
func wantedRings(have, want *nic.Port) qos.Opt[nic.Rings] {
	if !want.Rings.Set {
		return want.Rings
	}
	return qos.Of(want.Rings.V.For(have))
}
