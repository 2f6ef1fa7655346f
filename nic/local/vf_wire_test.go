package local

import (
	"slices"
	"testing"

	"github.com/mdlayher/netlink"
)

// The trust setting sent for a VF can be read back.
func TestTrustOnTheWire(t *testing.T) {
	message := func(attrs func(*netlink.AttributeEncoder)) []byte {
		ae := netlink.NewAttributeEncoder()
		attrs(ae)
		b, err := ae.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return append(make([]byte, ifinfomsg), b...)
	}
	sent, err := trustAttrs("ens1", 5, true).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if each, err := parseTrust(append(make([]byte, ifinfomsg), sent...)); err != nil || !slices.Equal(each, []bool{true}) {
		t.Errorf("%v, %v", each, err)
	}
	untold := message(func(ae *netlink.AttributeEncoder) {
		ae.Nested(iflaVFInfoList, func(list *netlink.AttributeEncoder) error {
			list.Nested(iflaVFInfo, func(info *netlink.AttributeEncoder) error {
				info.Bytes(iflaVFTrust, []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
				return nil
			})
			return nil
		})
	})
	for name, b := range map[string][]byte{"untold": untold, "no VFs": message(func(*netlink.AttributeEncoder) {}), "short": make([]byte, 4)} {
		if each, err := parseTrust(b); err == nil {
			t.Errorf("%s: %v", name, each)
		}
	}
}
