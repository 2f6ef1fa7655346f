package dcb

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/mdlayher/netlink"
	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// unhex decodes groups of hexadecimal digits; "00*8" stands for eight times 00.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var out []byte
	for _, f := range strings.Fields(s) {
		digits, times, _ := strings.Cut(f, "*")
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		n := 1
		if times != "" {
			n = 0
			for _, c := range times {
				n = 10*n + int(c-'0')
			}
		}
		out = append(out, bytes.Repeat(b, n)...)
	}
	return out
}

func littleEndian(t testing.TB) {
	if order.Uint16([]byte{1, 0}) != 1 {
		t.Skip("skipped: the bytes are written for a little-endian machine")
	}
}

// The bytes follow struct dcbmsg, struct nlattr and the structs of
// include/uapi/linux/dcbnl.h, on a little-endian machine.
func TestRequestBytes(t *testing.T) {
	littleEndian(t)
	const name = "0a00 0100 726f636530 00 0000 " // "roce0" in 10 bytes, padded to 12
	tests := []struct {
		what string
		make func() (netlink.Message, error)
		typ  netlink.HeaderType
		want string
	}{
		{"get", func() (netlink.Message, error) { return encodeGet("roce0") }, 78, "00 15 0000 " + name},
		{"pfc", func() (netlink.Message, error) {
			p := PFC{Cap: 8, Enabled: 0x08, MACsecBypass: true, Delay: 300}
			return encodeIEEE(cmdIEEESet, "roce0", ieeePFC, bytesOf(p))
		}, 79, "00 14 0000 " + name + "9000 0d80 8c00 0200 08 08 01 00 2c01 0000 00*128"},
		{"ets", func() (netlink.Message, error) {
			e := ETS{Willing: true, Cap: 8, Scheduling: Scheduling{
				TSA:        [8]TSA{2, 2, 2, 2, 2, 2, 0, 255},
				Bandwidth:  [8]uint8{50, 0, 0, 50},
				PriorityTC: [8]uint8{1, 0, 2, 3, 4, 5, 6, 7},
			}, RxBandwidth: [8]uint8{9, 8}, Recommended: Scheduling{TSA: [8]TSA{0, 1}, Bandwidth: [8]uint8{7}, PriorityTC: [8]uint8{0, 0, 0, 0, 0, 0, 0, 6}}}
			return encodeIEEE(cmdIEEESet, "roce0", ieeeETS, bytesOf(e.wire()))
		}, 79, "00 14 0000 " + name + "4400 0d80 3f00 0100 01 08 00 " +
			"3200003200000000 0908 00*6 02*6 00ff 0100020304050607 07 00*7 0001 00*6 00*7 06 00"},
		{"buffer", func() (netlink.Message, error) {
			f := Buffer{Headroom: Headroom{PriorityBuffer: [8]uint8{3: 1}, Size: [8]uint32{130944, 131072}}, Total: 262016}
			return encodeIEEE(cmdIEEESet, "roce0", ieeeBuffer, bytesOf(f))
		}, 79, "00 14 0000 " + name + "3400 0d80 3000 0a00 000000 01 00*4 80ff0100 00000200 00*24 80ff0300"},
		{"app", func() (netlink.Message, error) { return encodeApp(cmdIEEESet, "roce0", DSCP(26, 3)) }, 79,
			"00 14 0000 " + name + "1000 0d80 0c00 0380 0800 0100 05 03 1a00"},
		{"delete app", func() (netlink.Message, error) {
			return encodeApp(cmdIEEEDel, "roce0", App{Selector: SelectorDatagram, Priority: 3, Protocol: 4791})
		}, 79, "00 1b 0000 " + name + "1000 0d80 0c00 0380 0800 0100 03 03 b712"},
		{"pcp app", func() (netlink.Message, error) {
			return encodeApp(cmdIEEESet, "roce0", App{Selector: SelectorPCP, Priority: 1, Protocol: 2})
		}, 79, "00 14 0000 " + name + "1000 0d80 0c00 0380 0800 0200 ff 01 0200"},
		{"dcbx", func() (netlink.Message, error) { return encodeDCBX("roce0", DCBXHost|DCBXIEEE) }, 79,
			"00 17 0000 " + name + "0500 0e00 09 000000"},
	}
	for _, tt := range tests {
		m, err := tt.make()
		if err != nil {
			t.Fatal(err)
		}
		if want := unhex(t, tt.want); !bytes.Equal(m.Data, want) {
			t.Errorf("%s:\n got %x\nwant %x", tt.what, m.Data, want)
		}
		// Flags other than NLM_F_REQUEST make the kernel send a second answer.
		if m.Header.Type != tt.typ || m.Header.Flags != 1 {
			t.Errorf("%s: type %d, flags %#x", tt.what, m.Header.Type, m.Header.Flags)
		}
	}
}

const stateHex = `00 15 0000 0a00 0100 726f636530 00 0000
	0000 0d00
	3f00 0100 01 08 01 1e00460000000000 0102030405060708 0200ff0000000000 0100020304050607 00*8 02 00*7 00*7 07 00
	4400 0700 40420f00 00000000 00*56
	8c00 0200 04 18 00 00 0700 0000 00*24 0b00000000000000 00*32 00*24 0700000000000000 00*32
	3000 0a00 0000000100000000 00ff0100 80ff0100 00*24 80ff0300
	1400 0300 0800 0100 05031a00 0800 0100 0306b712
	0400 0c80
	0c00 0b80 0500 0100 05 000000
	0500 3f00 aa 000000
	0500 0e00 0d 000000`

func TestStateBytes(t *testing.T) {
	littleEndian(t)
	// REWR (12) and APP_TRUST (11) carry NLA_F_NESTED; no kernel uses 63 yet.
	b := unhex(t, stateHex)
	ne16(b[16:], uint16(len(b)-4-12-8)) // length of the nest: all but the header, the name and DCBX
	got, err := decodeState(b)
	if err != nil {
		t.Fatal(err)
	}
	mode := DCBXHost | DCBXCEE | DCBXIEEE
	want := &State{
		ETS: &ETS{Willing: true, Cap: 8, CBS: true,
			Scheduling: Scheduling{
				Bandwidth:  [8]uint8{30, 0, 70},
				TSA:        [8]TSA{TSAETS, TSAStrict, TSAVendor},
				PriorityTC: [8]uint8{1, 0, 2, 3, 4, 5, 6, 7},
			},
			RxBandwidth: [8]uint8{1, 2, 3, 4, 5, 6, 7, 8},
			Recommended: Scheduling{TSA: [8]TSA{TSAETS}, PriorityTC: [8]uint8{7: 7}},
		},
		MaxRate: &[8]uint64{1000000},
		PFC:     &PFC{Cap: 4, Enabled: qos.Priorities(3, 4), Delay: 7, Requests: [8]uint64{3: 11}, Indications: [8]uint64{3: 7}},
		Buffer:  &Buffer{Headroom: Headroom{PriorityBuffer: [8]uint8{3: 1}, Size: [8]uint32{130816, 130944}}, Total: 262016},
		Apps:    []App{DSCP(26, 3), {Selector: SelectorDatagram, Priority: 6, Protocol: 4791}},
		DCBX:    &mode,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Trust() != qos.TrustDSCP || (&State{Apps: want.Apps[1:]}).Trust() != qos.TrustPCP {
		t.Error("trust is not that of the DSCP entries")
	}
}

// A struct that is too short is rejected; a longer one comes from a newer kernel.
func TestLengths(t *testing.T) {
	in := func(kind uint16, n int) []byte {
		return append([]byte{0, 21, 0, 0}, attr(13, attr(kind, make([]byte, n)...)...)...)
	}
	for kind, size := range map[uint16]int{1: 59, 2: 136, 7: 64, 10: 44} {
		if _, err := decodeState(in(kind, size-1)); !errors.Is(err, ErrAnswer) {
			t.Errorf("attribute %d of %d bytes: %v", kind, size-1, err)
		}
		for _, n := range []int{size, size + 1, size + 64} {
			if s, err := decodeState(in(kind, n)); err != nil || reflect.DeepEqual(s, &State{}) {
				t.Errorf("attribute %d of %d bytes: %+v, %v", kind, n, s, err)
			}
		}
	}
	table := func(n int) []byte {
		return append([]byte{0, 21, 0, 0}, attr(13, attr(3, attr(1, make([]byte, n)...)...)...)...)
	}
	if _, err := decodeState(table(3)); !errors.Is(err, ErrAnswer) {
		t.Errorf("app of 3 bytes: %v", err)
	}
	if s, err := decodeState(table(5)); err != nil || len(s.Apps) != 1 {
		t.Errorf("app of 5 bytes: %+v, %v", s, err)
	}
}

func TestStatus(t *testing.T) {
	tests := []struct {
		cmd  uint8
		data []byte
		want Errno
		text string
		fail bool
	}{
		{20, attr(13, 0x00), 0, "", false},
		{20, attr(13, 0xea), 22, "EINVAL", false},
		{27, attr(13, 0xfe), 2, "ENOENT", false},
		{20, attr(13, 0xa1), 95, "EOPNOTSUPP", false},
		{20, attr(13, 0xef), 17, "EEXIST", false},
		{20, attr(13, 0xf4), 12, "errno 12 (ENOMEM, or ENOTSUPP cut to eight bits)", false},
		{20, attr(13, 0x38), 200, "errno 200", false}, // -200, truncated
		{23, attr(14, 0), 0, "", false},
		{23, attr(14, 1), 1, "", false},
		{20, append(attr(1, []byte("roce0\x00")...), attr(13, 0xea)...), 22, "", false},
		{20, attr(13, 0, 0), 0, "", true},
		{20, attr(13), 0, "", true},
		{20, attr(14, 0), 0, "", true},
		{20, nil, 0, "", true},
		{20, []byte{3, 0, 13, 0}, 0, "", true},
	}
	for _, tt := range tests {
		no, err := decodeStatus(append([]byte{0, tt.cmd, 0, 0}, tt.data...), tt.cmd)
		if tt.fail {
			if !errors.Is(err, ErrAnswer) {
				t.Errorf("%x: %v, %v", tt.data, no, err)
			}
			continue
		}
		if err != nil || no != tt.want || tt.text != "" && no.String() != tt.text {
			t.Errorf("%x: %v, %v; want %d %s", tt.data, no, err, tt.want, tt.text)
		}
	}
	if _, err := decodeStatus(append([]byte{0, 27, 0, 0}, attr(13, 0)...), 20); !errors.Is(err, ErrAnswer) {
		t.Errorf("the answer to another command: %v", err)
	}
}

// The codec decodes what the simulated kernel encodes, and the other way round.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDevice("generic")
		for _, b := range [][]byte{d.ets[:], d.pfc[:], d.buffer[:], d.maxrate[:]} {
			copy(b, rapid.SliceOfN(rapid.Byte(), len(b), len(b)).Draw(t, "struct"))
		}
		d.ets[0], d.ets[2], d.pfc[2], d.pfc[3], d.pfc[6], d.pfc[7] = d.ets[0]&1, d.ets[2]&1, d.pfc[2]&1, 0, 0, 0
		d.dcbx = rapid.Byte().Draw(t, "dcbx")
		for _, a := range rapid.SliceOfN(rapid.Uint32(), 0, 200).Draw(t, "apps") {
			var b [4]byte
			ne32(b[:], a)
			d.apps = append(d.apps, b)
		}
		s, err := decodeState(append([]byte{0, 21, 0, 0}, d.report([]byte("roce0\x00"))...))
		if err != nil {
			t.Fatal(err)
		}
		for what, pair := range map[string][2][]byte{
			"ets": {bytesOf(s.ETS.wire()), d.ets[:]}, "pfc": {bytesOf(s.PFC), d.pfc[:]}, "buffer": {bytesOf(s.Buffer), d.buffer[:]},
		} {
			if !bytes.Equal(pair[0], pair[1]) {
				t.Fatalf("%s: %x, was %x", what, pair[0], pair[1])
			}
		}
		if len(s.Apps) != len(d.apps) || byte(*s.DCBX) != d.dcbx || s.MaxRate[7] != order.Uint64(d.maxrate[56:]) {
			t.Fatalf("%d apps, dcbx %v", len(s.Apps), *s.DCBX)
		}
		for i, a := range s.Apps {
			m, err := encodeApp(cmdIEEESet, "roce0", a)
			if err != nil {
				t.Fatal(err)
			}
			nest, _ := find(parse(m.Data[4:]), 13)
			table, _ := find(parse(nest), 3)
			if l := parse(table); len(l) != 1 || [4]byte(l[0].data) != d.apps[i] || (l[0].kind == 2) != (a.Selector == SelectorPCP) {
				t.Fatalf("app %v: %v", a, l)
			}
		}
	})
}

func seeds(f *testing.F) {
	d := newDevice("mlx5")
	d.apps = [][4]byte{{5, 3, 26}, {255, 1, 2}}
	f.Add(append([]byte{0, 21, 0, 0}, d.report([]byte("roce0\x00"))...))
	f.Add(unhex(f, stateHex))
	f.Add(append([]byte{0, 20, 0, 0}, attr(13, 0xea)...))
	f.Add([]byte{0, 21, 0, 0, 0, 0, 13, 0})
	f.Add([]byte{0, 21, 0, 0, 0xff, 0xff, 13, 0})
	f.Add([]byte{0})
}

func FuzzState(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeState(b)
		if err != nil {
			if !errors.Is(err, ErrAnswer) || s != nil {
				t.Fatalf("%v, %v", s, err)
			}
			return
		}
		// Each entry takes eight bytes.
		if 8*len(s.Apps) > len(b) {
			t.Fatalf("%d apps of %d bytes", len(s.Apps), len(b))
		}
		s.Trust()
		m, twice := s.DSCPMap()
		for _, d := range twice {
			if m[d] == qos.Unmapped {
				t.Fatalf("dscp %d is listed twice and not mapped", d)
			}
		}
		if !s.sameSettings(s) {
			t.Fatal("a state differs from itself")
		}
	})
}

func FuzzStatus(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, cmd := range []uint8{20, 23, 27} {
			no, err := decodeStatus(b, cmd)
			if no > 255 || err != nil && !errors.Is(err, ErrAnswer) {
				t.Fatalf("%v, %v", no, err)
			}
		}
	})
}
