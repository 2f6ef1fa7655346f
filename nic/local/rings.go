package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/nic"
)

// ringsOf reads the ring lengths; ErrUnsupported means that the driver has none.
func (m *Machine) ringsOf(name string) (nic.Rings, error) {
	if m.Ethtool == nil {
		return nic.Rings{}, fmt.Errorf("ethtool: %w", ErrUnsupported)
	}
	r, err := m.Ethtool.Ring(name)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		err = fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if err != nil {
		return r, fmt.Errorf("rings of %s: %w", clip(name), err)
	}
	return r, nil
}

// maxRing is the greatest ring length that a step may request.
const maxRing = 1 << 16

var ringsOp = op{
	read: func(m *Machine, _ context.Context, d *device) (Value, error) {
		r, err := m.ringsOf(d.name)
		return Value{Rings: &nic.Rings{RX: r.RX, TX: r.TX}}, err
	},
	write: func(m *Machine, _ context.Context, d *device, want, have Value) error {
		rx, tx := cmp.Or(want.Rings.RX, have.Rings.RX), cmp.Or(want.Rings.TX, have.Rings.TX)
		err := m.Ethtool.SetRing(d.name, rx, tx)
		if errors.Is(err, syscall.EINVAL) {
			return hint.With(fmt.Errorf("rings rx %d tx %d: %w", rx, tx, err), "the driver accepts other lengths: see ethtool -g "+d.name)
		}
		return err
	},
}
