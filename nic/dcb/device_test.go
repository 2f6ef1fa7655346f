package dcb

import "slices"

// device simulates one network device and its driver.
type device struct {
	driver  string // "mlx5", "bnxt", "ice", "generic"
	lacking map[uint16]bool
	none    bool // the device has no dcbnl_ops

	ets     [59]byte
	pfc     [136]byte
	buffer  [44]byte
	maxrate [64]byte
	apps    [][4]byte
	dcbx    byte
	// hardware is the priority that the device gives each DSCP, or -1.
	hardware [64]int
	flaps    int
	etsReset int
	maxDSCP  bool // false simulates bnxt firmware without DSCP support
	broken   map[byte]int16
	history  []string // the trust after each write of an APP entry
}

func newDevice(driver string) *device {
	d := &device{driver: driver, maxDSCP: true, dcbx: 0x0d, lacking: map[uint16]bool{}}
	d.ets[1] = 8
	for i := range 8 {
		d.ets[19+i], d.ets[27+i] = 0, byte(i)
		if driver == "mlx5" {
			d.ets[19+i] = 255
		}
	}
	if driver == "mlx5" {
		d.ets[27], d.ets[28] = 1, 0
		ne32(d.buffer[40:], 262016)
		ne32(d.buffer[8:], 262016)
		ne16(d.pfc[4:], 7)
	}
	if driver == "bnxt" {
		d.dcbx = 0x09
	}
	d.pfc[0] = 8
	for i := range d.hardware {
		d.hardware[i] = -1
	}
	return d
}

func (d *device) report(name []byte) []byte {
	d.pfc[8]++ // counters advance
	var in, apps []byte
	for _, a := range []struct {
		kind uint16
		data []byte
	}{{1, d.ets[:]}, {7, d.maxrate[:]}, {2, d.pfc[:]}, {10, d.buffer[:]}} {
		if !d.lacking[a.kind] {
			in = append(in, attr(a.kind, a.data...)...)
		}
	}
	for _, a := range d.apps {
		kind := uint16(1)
		if a[0] == 255 {
			kind = 2
		}
		apps = append(apps, attr(kind, a[:]...)...)
	}
	in = append(in, attr(3, apps...)...)
	in = append(in, attr(12|0x8000)...) // REWR_TABLE carries NLA_F_NESTED
	b := append(attr(1, name...), attr(13, in...)...)
	return append(b, attr(14, d.dcbx)...)
}

func (d *device) listsDSCP() bool {
	return slices.ContainsFunc(d.apps, func(a [4]byte) bool { return a[0] == 5 })
}

func (d *device) setETS(b []byte) int16 {
	sum, any := 0, false
	for i := range 8 {
		switch tsa := b[19+i]; {
		case b[27+i] >= 8:
			return -22
		case tsa == 1 && d.driver == "mlx5":
			return -95
		case tsa != 0 && tsa != 2 && d.driver == "bnxt":
			return -524
		case tsa == 2:
			sum, any = sum+int(b[3+i]), true
		}
	}
	if any && (sum > 100 || sum != 100 && d.driver == "mlx5") {
		return -22
	}
	copy(d.ets[:], b[:59])
	d.ets[1] = 8
	for i := range 8 {
		if d.ets[19+i] != 2 {
			d.ets[3+i] = 0
		}
	}
	return 0
}

func (d *device) setPFC(b []byte) int16 {
	if d.driver == "bnxt" && d.ets[19] == 0 && d.ets == newDevice("bnxt").ets {
		return -22
	}
	if b[1] != d.pfc[1] {
		d.flaps++
		d.pfc[1] = b[1]
	}
	if delay := order.Uint16(b[4:]); d.driver != "mlx5" || delay > 0 && delay < 1000 {
		ne16(d.pfc[4:], delay)
	}
	return d.fault(2)
}

func (d *device) setBuffer(b []byte) int16 {
	total := uint32(0)
	for i := range 8 {
		total += order.Uint32(b[8+4*i:])
	}
	if total > order.Uint32(d.buffer[40:]) {
		return -22
	}
	copy(d.buffer[:8], b)
	for i := range 8 {
		ne32(d.buffer[8+4*i:], order.Uint32(b[8+4*i:])/128*128)
	}
	return 0
}

func (d *device) list(a [4]byte) int16 {
	if slices.Contains(d.apps, a) {
		return -17
	}
	d.apps = append(d.apps, a)
	return 0
}

func (d *device) unlist(a [4]byte) int16 {
	i := slices.Index(d.apps, a)
	if i < 0 {
		return -2
	}
	d.apps = slices.Delete(d.apps, i, i+1)
	return 0
}

func (d *device) setApp(a [4]byte) int16 {
	proto := order.Uint16(a[2:])
	dscp := a[0] == 5 && proto < 64
	switch d.driver {
	case "mlx5":
		if !dscp {
			return -22
		}
		d.apps = slices.DeleteFunc(d.apps, func(o [4]byte) bool { return o[0] == 5 && o[2] == a[2] && o[3] == a[3] })
		d.hardware[proto] = int(a[1])
		return d.list(a)
	case "ice":
		if !dscp || d.fault(a[1]) != 0 {
			return -22
		}
		if slices.ContainsFunc(d.apps, func(o [4]byte) bool { return o[2] == a[2] && o[3] == a[3] }) {
			return -22
		}
		if !d.listsDSCP() {
			d.etsReset++
		}
		d.hardware[proto] = int(a[1])
	case "bnxt":
		if a[0] == 5 && !d.maxDSCP {
			return -524
		}
		if err := d.list(a); err != 0 {
			return err
		}
		if err := d.fault(a[1]); err != 0 {
			return err
		}
		if dscp {
			d.hardware[proto] = int(a[1])
		}
		return 0
	}
	return d.list(a)
}

func (d *device) delApp(a [4]byte) int16 {
	proto := order.Uint16(a[2:])
	if err := d.unlist(a); err != 0 {
		return err
	}
	if a[0] == 5 {
		d.hardware[proto] = -1
		if d.driver == "mlx5" {
			d.hardware[proto] = 0
		}
	}
	return 0
}

func (d *device) setDCBX(mode byte) byte {
	switch {
	case d.dcbx&2 != 0 || mode&2 != 0:
		return 1
	case d.driver == "ice" && mode == d.dcbx:
		return 1
	case mode == 0:
		d.dcbx &^= 1
		return 0
	case mode&1 == 0:
		return 1
	}
	d.dcbx = mode
	return 0
}

func (d *device) fault(op byte) int16 { return d.broken[op] }
