package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mdlayher/netlink"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// linkOf returns an RTM_NEWLINK message for a device of the given kind.
func linkOf(t testing.TB, kind string, data func(*netlink.AttributeEncoder) error) []byte {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	ae.String(iflaIfname, "bond0.100")
	ae.Nested(iflaLinkinfo, func(ae *netlink.AttributeEncoder) error {
		ae.String(iflaInfoKind, kind)
		ae.Nested(iflaInfoData, data)
		return nil
	})
	b, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return append(make([]byte, ifinfomsg), b...)
}

// pair returns the mapping of one priority.
func pair(from, to byte) []byte {
	b := make([]byte, 8)
	for i, v := range []byte{from, to} {
		binary.NativeEndian.PutUint32(b[4*i:], uint32(v))
	}
	return b
}

func vlan100(ae *netlink.AttributeEncoder) error {
	ae.Uint16(iflaVLANID, 100)
	ae.Nested(iflaVLANEgress, func(ae *netlink.AttributeEncoder) error {
		for _, p := range [][2]byte{{3, 3}, {2, 3}, {100, 5}, {4, 200}} {
			ae.Bytes(1, pair(p[0], p[1]))
		}
		return nil
	})
	ae.Nested(iflaVLANIngress, func(ae *netlink.AttributeEncoder) error {
		ae.Bytes(1, pair(6, 6))
		return nil
	})
	return nil
}

func TestParseVLAN(t *testing.T) {
	got, err := parseVLAN(linkOf(t, "vlan", vlan100))
	if want := (VLAN{100, nic.PCPs{2: 3, 3: 3}, nic.PCPs{6: 6}}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for name, b := range map[string][]byte{
		"another kind": linkOf(t, "macvlan", vlan100),
		"no header":    make([]byte, 15),
		"no link info": make([]byte, 16),
		"half a pair": linkOf(t, "vlan", func(ae *netlink.AttributeEncoder) error {
			ae.Nested(iflaVLANEgress, func(ae *netlink.AttributeEncoder) error { ae.Bytes(1, pair(1, 1)[:7]); return nil })
			return nil
		}),
	} {
		if v, err := parseVLAN(b); err == nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A request to change a map contains only the managed entries, in the format that the kernel uses.
func TestEgressAttrs(t *testing.T) {
	b, err := egressAttrs("bond0.100", nic.PCPs{0, qos.Unmanaged, 3, 3, qos.Unmanaged, qos.Unmanaged, 6, qos.Unmanaged}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := parseVLAN(append(make([]byte, ifinfomsg), b...)); err != nil || v.Egress != (nic.PCPs{2: 3, 3: 3, 6: 6}) {
		t.Errorf("%+v, %v", v, err)
	}
	if n := bytes.Count(b, []byte{12, 0, iflaVLANMapping, 0}); binary.NativeEndian.Uint16([]byte{1, 0}) == 1 && n != 4 {
		t.Errorf("%d entries: % x", n, b)
	}
}

// This machine's kernel answers the request.
func TestVLANOfThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: needs Linux")
	}
	if _, err := (rtnetlink{}).VLAN(t.Context(), "lo"); err == nil || !strings.Contains(err.Error(), `no VLAN but ""`) {
		t.Errorf("lo: %v", err)
	}
	if _, err := (rtnetlink{}).VLAN(t.Context(), "roce-no-such"); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("no device: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (rtnetlink{}).VLAN(ctx, "lo"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := (rtnetlink{}).SetEgress(t.Context(), "roce-no-such", nic.PCPs{3: 3}); !errors.Is(err, syscall.ENODEV) && !errors.Is(err, syscall.EPERM) {
		t.Errorf("set on no device: %v", err)
	}
}

func FuzzParseVLAN(f *testing.F) {
	f.Add(linkOf(f, "vlan", vlan100))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseVLAN(b)
		for _, m := range []nic.PCPs{v.Egress, v.Ingress} {
			for _, p := range m {
				if p < 0 || p > 7 {
					t.Errorf("%+v, %v", v, err)
				}
			}
		}
	})
}
