package local

import (
	"fmt"

	"github.com/safchain/ethtool"

	"github.com/roce-fabric/roce-fabric/nic"
)

// ioctl implements Ethtool with SIOCETHTOOL. The kernel answers at once, or when the driver's
// firmware does; such a call cannot be interrupted.
type ioctl struct{ h *ethtool.Ethtool }

func openEthtool() (Ethtool, func() error, error) {
	h, err := ethtool.NewEthtool()
	if err != nil {
		return nil, nil, fmt.Errorf("open a socket for ethtool: %w", err)
	}
	return ioctl{h}, func() error { h.Close(); return nil }, nil
}

func (e ioctl) Pause(ifname string) (Pause, error) {
	p, err := e.h.GetPause(ifname)
	return Pause{Autoneg: p.Autoneg != 0, RX: p.RxPause != 0, TX: p.TxPause != 0}, err
}

func (e ioctl) SetPause(ifname string, p Pause) error {
	bit := map[bool]uint32{true: 1}
	_, err := e.h.SetPause(ifname, ethtool.Pause{Autoneg: bit[p.Autoneg], RxPause: bit[p.RX], TxPause: bit[p.TX]})
	return err
}

// Ring limits the values that a driver reports to a sane range.
func (e ioctl) Ring(ifname string) (nic.Rings, error) {
	r, err := e.h.GetRing(ifname)
	bounded := func(n uint32) int { return int(min(n, 1<<24)) }
	return nic.Rings{RX: bounded(r.RxPending), TX: bounded(r.TxPending), MaxRX: bounded(r.RxMaxPending), MaxTX: bounded(r.TxMaxPending)}, err
}

// SetRing reads first, because the call also sets the rings for small and jumbo frames.
func (e ioctl) SetRing(ifname string, rx, tx int) error {
	r, err := e.h.GetRing(ifname)
	if err != nil {
		return err
	}
	r.RxPending, r.TxPending = uint32(rx), uint32(tx)
	_, err = e.h.SetRing(ifname, r)
	return err
}

func (e ioctl) Stats(ifname string) (map[string]uint64, error) { return e.h.Stats(ifname) }

func (e ioctl) Flags(ifname string) (map[string]bool, error) { return e.h.PrivFlags(ifname) }

func (e ioctl) SetFlag(ifname, flag string, on bool) error {
	return e.h.UpdatePrivFlags(ifname, map[string]bool{flag: on})
}
