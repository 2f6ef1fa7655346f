package dcb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// one returns a kernel with one device, roce0, and a Client for it.
func one(t *testing.T, driver string) (*kernel, *device, *Client) {
	t.Helper()
	d := newDevice(driver)
	k := newKernel(map[string]*device{"roce0": d})
	return k, d, k.client(t)
}

// outcome checks what a write returned and how many write requests it sent.
func outcome(t *testing.T, k *kernel, what string, changed bool, err error, wantChanged bool, want error, sets int) {
	t.Helper()
	if changed != wantChanged || !errors.Is(err, want) || len(k.sets) != sets {
		t.Errorf("%s: changed %v, error %v, %d writes; want %v, %v, %d", what, changed, err, len(k.sets), wantChanged, want, sets)
	}
	k.sets = nil
}

func TestPFC(t *testing.T) {
	ctx := t.Context()
	k, d, c := one(t, "mlx5")
	changed, err := c.SetPFC(ctx, "roce0", qos.Priorities(3), 0)
	outcome(t, k, "first", changed, err, true, nil, 1)
	if d.flaps != 1 || d.pfc[1] != 8 || order.Uint16(d.pfc[4:]) != 7 {
		t.Errorf("flaps %d, mask %#x, delay %x", d.flaps, d.pfc[1], d.pfc[4:6])
	}
	changed, err = c.SetPFC(ctx, "roce0", qos.Priorities(3), 0)
	outcome(t, k, "again", changed, err, false, nil, 0)
	changed, err = c.SetPFC(ctx, "roce0", qos.Priorities(3), 20)
	outcome(t, k, "delay", changed, err, true, nil, 1)
	changed, err = c.SetPFC(ctx, "roce0", qos.Priorities(3), 1000)
	outcome(t, k, "delay that mlx5 ignores", changed, err, false, ErrIgnored, 1)
	changed, err = c.SetPFC(ctx, "roce0", qos.Priorities(3, 4), 1000)
	outcome(t, k, "mask taken, delay ignored", changed, err, true, ErrDiffers, 1)
	s, err := c.Get(ctx, "roce0")
	if err != nil || s.PFC.Enabled != qos.Priorities(3, 4) || s.PFC.Delay != 20 {
		t.Errorf("%+v, %v", s, err)
	}
	// A driver that fails after setting the mask has changed the port.
	d.broken = map[byte]int16{2: -5}
	changed, err = c.SetPFC(ctx, "roce0", 0, 0)
	outcome(t, k, "half done", changed, err, true, ErrRefused, 1)
	if e := asError(t, err); e.Errno != 5 || !strings.Contains(err.Error(), "set pfc roce0: refused: EIO") {
		t.Errorf("%v", err)
	}
}

func asError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *Error", err)
	}
	return e
}

// A driver without the operation still answers success.
func TestSuccessWithoutEffect(t *testing.T) {
	k, d, c := one(t, "mlx5")
	d.lacking = map[uint16]bool{101: true, 102: true, 110: true, 103: true}
	for what, write := range map[string]func() (bool, error){
		"pfc":    func() (bool, error) { return c.SetPFC(t.Context(), "roce0", 8, 0) },
		"ets":    func() (bool, error) { return c.SetETS(t.Context(), "roce0", Scheduling{}) },
		"buffer": func() (bool, error) { return c.SetBuffer(t.Context(), "roce0", Headroom{}) },
		"app":    func() (bool, error) { return c.SetApps(t.Context(), "roce0", DSCP(26, 3)) },
		"map":    func() (bool, error) { return c.MapDSCP(t.Context(), "roce0", only(26, 3)) },
	} {
		changed, err := write()
		outcome(t, k, what, changed, err, false, ErrIgnored, 1)
	}
	// Settings that the driver does not report are never written.
	d.lacking = map[uint16]bool{1: true, 2: true, 10: true}
	for what, write := range map[string]func() (bool, error){
		"pfc":    func() (bool, error) { return c.SetPFC(t.Context(), "roce0", 8, 0) },
		"ets":    func() (bool, error) { return c.SetETS(t.Context(), "roce0", Scheduling{}) },
		"buffer": func() (bool, error) { return c.SetBuffer(t.Context(), "roce0", Headroom{}) },
	} {
		changed, err := write()
		outcome(t, k, what+" not reported", changed, err, false, ErrUnsupported, 0)
	}
}

// Kernels before 6.2 ignore the entries that they do not know.
func TestOldKernel(t *testing.T) {
	k, _, c := one(t, "generic")
	pcp := App{Selector: SelectorPCP, Priority: 3, Protocol: 3}
	k.before62 = true
	changed, err := c.SetApps(t.Context(), "roce0", pcp)
	outcome(t, k, "6.1", changed, err, false, ErrIgnored, 1)
	k.before62 = false
	changed, err = c.SetApps(t.Context(), "roce0", pcp)
	outcome(t, k, "6.2", changed, err, true, nil, 1)
}

func TestETS(t *testing.T) {
	k, d, c := one(t, "mlx5")
	d.ets[0], d.ets[43] = 1, 2
	want := Scheduling{
		TSA:        [8]TSA{TSAETS, TSAETS, TSAETS, TSAETS, TSAETS, TSAETS, TSAStrict, TSAStrict},
		Bandwidth:  [8]uint8{50, 0, 0, 50, 0, 0, 9, 9}, // the shares of strict classes have no effect
		PriorityTC: [8]uint8{0, 1, 2, 3, 4, 5, 6, 7},
	}
	changed, err := c.SetETS(t.Context(), "roce0", want)
	outcome(t, k, "first", changed, err, true, nil, 1)
	if d.ets[0] != 1 || d.ets[43] != 2 {
		t.Error("the rest of ETS was not kept")
	}
	changed, err = c.SetETS(t.Context(), "roce0", want)
	outcome(t, k, "again", changed, err, false, nil, 0)

	d.ets[1] = 4 // four traffic classes: entries of the others are meaningless
	d.ets[19+7] = 255
	changed, err = c.SetETS(t.Context(), "roce0", want)
	outcome(t, k, "beyond the classes", changed, err, false, nil, 0)
	d.ets[1] = 8

	cbs := want
	cbs.TSA[1] = TSACBS
	changed, err = c.SetETS(t.Context(), "roce0", cbs)
	outcome(t, k, "cbs", changed, err, false, ErrRefused, 1)
	if e := asError(t, err); e.Errno != eOPNOTSUPP || errors.Is(err, ErrUnsupported) {
		t.Errorf("%v", err)
	}
	sum := want
	sum.Bandwidth[0] = 40
	changed, err = c.SetETS(t.Context(), "roce0", sum)
	outcome(t, k, "sum", changed, err, false, ErrRefused, 1)
	if e := asError(t, err); e.Errno != eINVAL || e.Hint() == "" {
		t.Errorf("%v, hint %q", err, e.Hint())
	}
	for what, edit := range map[string]func(*Scheduling){
		"class": func(s *Scheduling) { s.PriorityTC[2] = 8 },
		"share": func(s *Scheduling) { s.Bandwidth[2] = 101 },
	} {
		s := want
		edit(&s)
		changed, err = c.SetETS(t.Context(), "roce0", s)
		outcome(t, k, what, changed, err, false, ErrInvalid, 0)
	}
}

func TestWilling(t *testing.T) {
	k, d, c := one(t, "ice")
	d.ets[0], d.ets[43] = 1, 2
	want := slices.Clone(d.ets[1:])
	for i, on := range []bool{false, false, true} {
		changed, err := c.SetWilling(t.Context(), "roce0", on)
		outcome(t, k, fmt.Sprint(i, on), changed, err, i != 1, nil, map[bool]int{true: 1}[i != 1])
		if (d.ets[0] == 1) != on || !slices.Equal(d.ets[1:], want) {
			t.Errorf("willing %t: %v", on, d.ets)
		}
	}
}

// bnxt returns ENOTSUPP, 524, which arrives looking like ENOMEM, and rejects PFC before ETS.
func TestBroadcom(t *testing.T) {
	k, d, c := one(t, "bnxt")
	changed, err := c.SetPFC(t.Context(), "roce0", 8, 0)
	outcome(t, k, "pfc before ets", changed, err, false, ErrRefused, 1)
	ets := Scheduling{TSA: [8]TSA{2, 2}, Bandwidth: [8]uint8{50, 50}, PriorityTC: [8]uint8{3: 1}}
	changed, err = c.SetETS(t.Context(), "roce0", ets)
	outcome(t, k, "ets", changed, err, true, nil, 1)
	changed, err = c.SetPFC(t.Context(), "roce0", 8, 0)
	outcome(t, k, "pfc after ets", changed, err, true, nil, 1)
	// bnxt stores the delay as written, even 0.
	ne16(d.pfc[4:], 5)
	changed, err = c.SetPFC(t.Context(), "roce0", 16, 0)
	outcome(t, k, "another mask", changed, err, true, nil, 1)
	if got := order.Uint16(d.pfc[4:]); got != 5 {
		t.Errorf("the delay was to be left, and is %d", got)
	}

	d.maxDSCP = false
	changed, err = c.SetApps(t.Context(), "roce0", DSCP(26, 3))
	outcome(t, k, "no dscp", changed, err, false, ErrRefused, 1)
	if !strings.Contains(err.Error(), "ENOTSUPP") || !strings.Contains(err.Error(), "dscp 26 priority 3") {
		t.Errorf("%v", err)
	}
	if hint := asError(t, err).Hint(); !strings.Contains(hint, "cannot map DSCPs") {
		t.Errorf("hint %q", hint)
	}
	d.maxDSCP = true

	// The firmware rejects an entry that the driver has already listed.
	d.broken = map[byte]int16{3: -5}
	changed, err = c.SetApps(t.Context(), "roce0", DSCP(48, 6), DSCP(26, 3))
	outcome(t, k, "firmware refuses", changed, err, true, ErrRefused, 3)
	if len(d.apps) != 1 || d.apps[0][1] != 6 {
		t.Errorf("listed: %v", d.apps)
	}
}

func TestBuffer(t *testing.T) {
	k, d, c := one(t, "mlx5")
	want := Headroom{PriorityBuffer: [8]uint8{3: 1}, Size: [8]uint32{130000, 131072}}
	changed, err := c.SetBuffer(t.Context(), "roce0", want)
	outcome(t, k, "first", changed, err, true, nil, 1)
	if got := order.Uint32(d.buffer[8:]); got != 129920 { // 1015 cells
		t.Errorf("size %d", got)
	}
	changed, err = c.SetBuffer(t.Context(), "roce0", want)
	outcome(t, k, "rounded to cells", changed, err, false, nil, 0)
	more := want
	more.Size[1] = 300000
	changed, err = c.SetBuffer(t.Context(), "roce0", more)
	outcome(t, k, "too much", changed, err, false, ErrRefused, 1)
	less := want
	less.Size[1] -= 1024
	changed, err = c.SetBuffer(t.Context(), "roce0", less)
	outcome(t, k, "less", changed, err, true, nil, 1)
	less.PriorityBuffer[0] = 8
	changed, err = c.SetBuffer(t.Context(), "roce0", less)
	outcome(t, k, "no such buffer", changed, err, false, ErrInvalid, 0)
}

func TestDCBX(t *testing.T) {
	k, d, c := one(t, "mlx5")
	ctx := t.Context()
	changed, err := c.OwnDCBX(ctx, "roce0", true)
	outcome(t, k, "owned already", changed, err, false, nil, 0)
	changed, err = c.OwnDCBX(ctx, "roce0", false)
	outcome(t, k, "to the firmware", changed, err, true, nil, 1)
	changed, err = c.OwnDCBX(ctx, "roce0", false)
	outcome(t, k, "again", changed, err, false, nil, 0)
	changed, err = c.OwnDCBX(ctx, "roce0", true)
	outcome(t, k, "reverted", changed, err, true, nil, 1)
	if d.dcbx != 0x0d {
		t.Errorf("dcbx %#x: the other bits were not kept", d.dcbx)
	}
	d.dcbx = byte(DCBXManaged | DCBXIEEE)
	changed, err = c.OwnDCBX(ctx, "roce0", true)
	outcome(t, k, "lld-managed", changed, err, false, ErrRefused, 1)
	if e := asError(t, err); e.Errno != 0 || e.Hint() == "" {
		t.Errorf("%v: the number of this answer is no errno", err)
	}
}

func TestApps(t *testing.T) {
	k, d, c := one(t, "bnxt")
	ctx := t.Context()
	roce := App{Selector: SelectorDatagram, Priority: 3, Protocol: 4791}
	changed, err := c.SetApps(ctx, "roce0", DSCP(26, 3), roce)
	outcome(t, k, "add", changed, err, true, nil, 2)
	changed, err = c.SetApps(ctx, "roce0", DSCP(26, 3), roce)
	outcome(t, k, "add again", changed, err, false, nil, 0)
	changed, err = c.DelApps(ctx, "roce0", roce, DSCP(1, 1))
	outcome(t, k, "delete", changed, err, true, nil, 1)
	changed, err = c.DelApps(ctx, "roce0", roce)
	outcome(t, k, "delete again", changed, err, false, nil, 0)
	if len(d.apps) != 1 {
		t.Errorf("listed: %v", d.apps)
	}
	for _, a := range []App{{Selector: 6}, DSCP(64, 0), DSCP(1, 8)} {
		changed, err = c.SetApps(ctx, "roce0", a)
		outcome(t, k, a.String(), changed, err, false, ErrInvalid, 0)
	}
	km, _, cm := one(t, "mlx5")
	changed, err = cm.SetApps(ctx, "roce0", roce)
	outcome(t, km, "mlx5 takes DSCP only", changed, err, false, ErrRefused, 1)
}

// only maps one DSCP and leaves the others unmanaged.
func only(dscp int, prio int8) [64]int8 {
	m := all(qos.Unmanaged)
	m[dscp] = prio
	return m
}

func all(prio int8) (m [64]int8) {
	for i := range m {
		m[i] = prio
	}
	return m
}

func TestMapDSCP(t *testing.T) {
	byTop := [64]int8{}
	for d := range byTop {
		byTop[d] = int8(d >> 3)
	}
	roce := byTop
	roce[26], roce[48] = 5, 7
	for _, driver := range []string{"mlx5", "ice", "bnxt"} {
		t.Run(driver, func(t *testing.T) {
			k, d, c := one(t, driver)
			ctx, roce := t.Context(), roce
			check := func(want [64]int8) {
				t.Helper()
				s, err := c.Get(ctx, "roce0")
				if err != nil {
					t.Fatal(err)
				}
				if m, twice := s.DSCPMap(); m != want || twice != nil {
					t.Errorf("listed %v, twice %v", m, twice)
				}
				for dscp, prio := range want {
					if prio >= 0 && d.hardware[dscp] != int(prio) || driver != "mlx5" && prio < 0 && d.hardware[dscp] != -1 {
						t.Errorf("dscp %d: the device uses %d, not %d", dscp, d.hardware[dscp], prio)
					}
				}
			}
			changed, err := c.MapDSCP(ctx, "roce0", byTop)
			outcome(t, k, "all", changed, err, true, nil, 64)
			check(byTop)
			changed, err = c.MapDSCP(ctx, "roce0", byTop)
			outcome(t, k, "again", changed, err, false, nil, 0)

			changed, err = c.MapDSCP(ctx, "roce0", roce)
			outcome(t, k, "two changed", changed, err, true, nil, map[string]int{"mlx5": 2, "ice": 2 * 3, "bnxt": 2 * 4}[driver])
			check(roce)

			left := only(26, 3)
			changed, err = c.MapDSCP(ctx, "roce0", left)
			outcome(t, k, "one managed", changed, err, true, nil, map[string]int{"mlx5": 1, "ice": 3, "bnxt": 4}[driver])
			roce[26] = 3
			check(roce)
			if slices.Contains(d.history, "pcp") {
				t.Error("trust went to PCP on the way")
			}

			gone := all(qos.Unmapped)
			gone[26] = 3
			changed, err = c.MapDSCP(ctx, "roce0", gone)
			outcome(t, k, "one left", changed, err, true, nil, 63)
			check(gone)

			// Move the last entry to another code point.
			moved := all(qos.Unmapped)
			moved[30] = 3
			changed, err = c.MapDSCP(ctx, "roce0", moved)
			outcome(t, k, "moved", changed, err, true, nil, 2)
			check(moved)
			if slices.Contains(d.history, "pcp") {
				t.Error("trust went to PCP on the way")
			}
			// On mlx5 the only entry can be changed without trust falling back to PCP.
			moved[30] = 4
			if _, err := c.MapDSCP(ctx, "roce0", moved); err != nil {
				t.Fatal(err)
			}
			check(moved)
			if driver == "mlx5" && slices.Contains(d.history, "pcp") {
				t.Error("trust went to PCP on the way")
			}
			k.sets = nil
			changed, err = c.MapDSCP(ctx, "roce0", only(3, 8))
			outcome(t, k, "priority 8", changed, err, false, ErrInvalid, 0)
		})
	}
}

// A DSCP listed twice ends up with the wanted priority, both in the list and in the firmware, which
// clears a DSCP on any deletion.
func TestMapDSCPTwice(t *testing.T) {
	for _, listed := range [][]uint8{{3, 5}, {5, 3}, {5, 6}} {
		k, d, c := one(t, "bnxt")
		for _, p := range listed {
			if _, err := c.SetApps(t.Context(), "roce0", DSCP(26, p)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := c.Get(t.Context(), "roce0")
		if err != nil {
			t.Fatal(err)
		}
		if m, twice := s.DSCPMap(); !slices.Equal(twice, []int{26}) || m[26] != int8(listed[0]) {
			t.Errorf("%v: twice %v", listed, twice)
		}
		k.sets = nil
		changed, err := c.MapDSCP(t.Context(), "roce0", only(26, 3))
		if !changed || err != nil || d.hardware[26] != 3 || len(d.apps) != 1 {
			t.Errorf("%v: %v, %v, listed %v, the device uses %d", listed, changed, err, d.apps, d.hardware[26])
		}
	}
}

// ice rejects the new priority even after the old entry is deleted.
func TestMapDSCPPutsBack(t *testing.T) {
	k, d, c := one(t, "ice")
	d.broken = map[byte]int16{7: -22}
	if _, err := c.SetApps(t.Context(), "roce0", DSCP(26, 3), DSCP(1, 1)); err != nil {
		t.Fatal(err)
	}
	k.sets = nil
	changed, err := c.MapDSCP(t.Context(), "roce0", only(26, 7))
	if !errors.Is(err, ErrRefused) || changed || len(d.apps) != 2 || d.hardware[26] != 3 {
		t.Errorf("%v, %v; listed %v, the device uses %d", changed, err, d.apps, d.hardware[26])
	}
	if d.etsReset != 1 {
		t.Errorf("ETS was reset %d times", d.etsReset)
	}
}

func TestErrors(t *testing.T) {
	k, _, c := one(t, "mlx5")
	k.devs["vf0"] = &device{none: true}
	for name, want := range map[string]error{"vf0": ErrUnsupported, "none0": ErrNoDevice, "": ErrNoDevice, "a-very-long-name": ErrNoDevice, "ro\x00ce0": ErrNoDevice} {
		if _, err := c.Get(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("%q: %v", name, err)
		}
		if changed, err := c.SetPFC(t.Context(), name, 8, 0); changed || !errors.Is(err, want) {
			t.Errorf("%q: %v, %v", name, changed, err)
		}
	}
	k.unprivileged = true
	if _, err := c.Get(t.Context(), "roce0"); err != nil {
		t.Errorf("reading takes no privilege: %v", err)
	}
	for what, write := range map[string]func(context.Context) (bool, error){
		"pfc":  func(ctx context.Context) (bool, error) { return c.SetPFC(ctx, "roce0", 8, 0) },
		"app":  func(ctx context.Context) (bool, error) { return c.SetApps(ctx, "roce0", DSCP(26, 3)) },
		"dcbx": func(ctx context.Context) (bool, error) { return c.OwnDCBX(ctx, "roce0", false) },
	} {
		changed, err := write(t.Context())
		outcome(t, k, what, changed, err, false, ErrPermission, 0)
		if asError(t, err).Hint() == "" {
			t.Errorf("%s: no hint", what)
		}
	}
}
