package local

import (
	"fmt"

	"github.com/safchain/ethtool"
)

// ioctl is ethtool by SIOCETHTOOL. The kernel answers at once, or when the
// driver's firmware does: such a call cannot be cut off.
type ioctl struct{ h *ethtool.Ethtool }

func openEthtool() (Ethtool, func() error, error) {
	h, err := ethtool.NewEthtool()
	if err != nil {
		return nil, nil, fmt.Errorf("open a socket for ethtool: %w", err)
	}
	return ioctl{h}, func() error { h.Close(); return nil }, nil
}

// The kernel cuts a name that is too long, and would answer for another device.
func checked(ifname string) error {
	if !validName(ifname, maxIfname) {
		return fmt.Errorf("%q: %w", clip(ifname), ErrNoPort)
	}
	return nil
}

func (e ioctl) Pause(ifname string) (Pause, error) {
	if err := checked(ifname); err != nil {
		return Pause{}, err
	}
	p, err := e.h.GetPause(ifname)
	return Pause{Autoneg: p.Autoneg != 0, RX: p.RxPause != 0, TX: p.TxPause != 0}, err
}

func (e ioctl) SetPause(ifname string, p Pause) error {
	if err := checked(ifname); err != nil {
		return err
	}
	bit := map[bool]uint32{true: 1}
	_, err := e.h.SetPause(ifname, ethtool.Pause{Autoneg: bit[p.Autoneg], RxPause: bit[p.RX], TxPause: bit[p.TX]})
	return err
}

func (e ioctl) Ring(ifname string) (Ring, error) {
	if err := checked(ifname); err != nil {
		return Ring{}, err
	}
	r, err := e.h.GetRing(ifname)
	return Ring{RX: r.RxPending, TX: r.TxPending, MaxRX: r.RxMaxPending, MaxTX: r.TxMaxPending}, err
}

// SetRing reads first: the rings for small and for jumbo frames go with the
// others.
func (e ioctl) SetRing(ifname string, rx, tx uint32) error {
	if err := checked(ifname); err != nil {
		return err
	}
	r, err := e.h.GetRing(ifname)
	if err != nil {
		return err
	}
	r.RxPending, r.TxPending = rx, tx
	_, err = e.h.SetRing(ifname, r)
	return err
}

func (e ioctl) Stats(ifname string) (map[string]uint64, error) {
	if err := checked(ifname); err != nil {
		return nil, err
	}
	return e.h.Stats(ifname)
}

func (e ioctl) Flags(ifname string) (map[string]bool, error) {
	if err := checked(ifname); err != nil {
		return nil, err
	}
	return e.h.PrivFlags(ifname)
}

func (e ioctl) SetFlag(ifname, flag string, on bool) error {
	if err := checked(ifname); err != nil {
		return err
	}
	return e.h.UpdatePrivFlags(ifname, map[string]bool{flag: on})
}
