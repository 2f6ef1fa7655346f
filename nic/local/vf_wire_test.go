package local

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/mdlayher/netlink"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// The settings of a VF are sent as the kernel sends them.
func TestVFsOnTheWire(t *testing.T) {
	message := func(attrs func(*netlink.AttributeEncoder)) []byte {
		ae := netlink.NewAttributeEncoder()
		attrs(ae)
		b, err := ae.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return append(make([]byte, ifinfomsg), b...)
	}
	sent := func(attr uint16, values ...uint32) []byte {
		b, err := vfAttrs("ens1", 5, attr, values...).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return append(make([]byte, ifinfomsg), b...)
	}
	for _, tt := range []struct {
		b    []byte
		want nic.VF
	}{
		{sent(iflaVFTrust, 1), nic.VF{Trust: qos.Of(true)}},
		{sent(iflaVFTrust, 0), nic.VF{Trust: qos.Of(false)}},
		{sent(iflaVFTrust, 1<<32-1), nic.VF{}}, // not reported
		{sent(iflaVFVLAN, 100, 3), nic.VF{Number: 5, Tag: nic.Tag{VLAN: 100, Priority: 3}}},
		{sent(iflaVFRate, 10, 25000), nic.VF{MaxRate: 25000}},
		{sent(iflaVFLinkState, vfLinkDisable), nic.VF{Down: true}},
		{sent(iflaVFLinkState, 1), nic.VF{}},
		{sent(iflaVFRate, 1), nic.VF{}}, // too short
	} {
		if each, err := parseVFs(tt.b); err != nil || !slices.Equal(each, []nic.VF{tt.want}) {
			t.Errorf("%+v, %v, want %+v", each, err, tt.want)
		}
	}
	for name, b := range map[string][]byte{"no VFs": message(func(*netlink.AttributeEncoder) {}), "short": make([]byte, 4)} {
		if each, err := parseVFs(b); err == nil {
			t.Errorf("%s: %v", name, each)
		}
	}
}

// The interfaces of a namespace that belong to PCI devices are taken from what the kernel sends.
func TestLinkOnTheWire(t *testing.T) {
	message := func(flags byte, attrs func(*netlink.AttributeEncoder)) []byte {
		ae := netlink.NewAttributeEncoder()
		attrs(ae)
		b, err := ae.Encode()
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, ifinfomsg)
		binary.NativeEndian.PutUint32(head[8:], uint32(flags))
		return append(head, b...)
	}
	device := func(name, parent string) func(*netlink.AttributeEncoder) {
		return func(ae *netlink.AttributeEncoder) {
			ae.String(iflaIfname, name)
			ae.Uint32(iflaMTU, 9000)
			if parent != "" {
				ae.String(iflaParentDev, parent)
			}
		}
	}
	want := nic.Elsewhere{Interface: "net1", PCI: "0000:3b:00.2", MTU: 9000, Up: true}
	if e, ok := parseLink(message(iffUp, device("net1", "0000:3b:00.2"))); !ok || e != want {
		t.Errorf("%+v, %t", e, ok)
	}
	for name, b := range map[string][]byte{"no PCI": message(0, device("lo", "")), "virtio": message(0, device("eth0", "virtio0")), "short": {1}} {
		if e, ok := parseLink(b); ok {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// The interfaces of this process's own namespace can be listed without error where the process may
// enter it.
func TestLinksOfANamespace(t *testing.T) {
	_, err := rtnetlink{}.Links(t.Context(), "/proc/self/ns/net")
	if err != nil && !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EACCES) && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
