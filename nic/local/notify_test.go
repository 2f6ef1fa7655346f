package local

import (
	"testing"

	"github.com/mdlayher/netlink"
)

// notified returns the device that a notification names, whatever else it contains.
func TestNotified(t *testing.T) {
	attrs := func(head int, typ uint16, name string) []byte {
		ae := netlink.NewAttributeEncoder()
		ae.Uint32(99, 7)
		ae.String(typ, name)
		b, err := ae.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return append(make([]byte, head), b...)
	}
	for _, c := range []struct {
		typ  netlink.HeaderType
		data []byte
		want string
	}{
		{rtmNewLink, attrs(ifinfomsg, iflaIfname, "ens1f0np0"), "ens1f0np0"},
		{rtmDelLink, attrs(ifinfomsg, iflaIfname, "ens1f0np0"), "ens1f0np0"},
		{rtmSetDCB, attrs(dcbmsg, dcbAttrIfname, "ens1f0np0"), "ens1f0np0"},
		{rtmNewLink, attrs(ifinfomsg, iflaIfname, "../x"), ""},
		{rtmNewLink, attrs(ifinfomsg, 98, "ens1f0np0"), ""},
		{rtmNewLink, make([]byte, ifinfomsg-1), ""},
		{rtmNewLink, append(make([]byte, ifinfomsg), 0xff, 0xff, 3, 0, 1), ""},
		{20, attrs(ifinfomsg, iflaIfname, "ens1f0np0"), ""}, // RTM_NEWADDR
	} {
		if got := notified(netlink.Message{Header: netlink.Header{Type: c.typ}, Data: c.data}); got != c.want {
			t.Errorf("%d %x: %q, want %q", c.typ, c.data, got, c.want)
		}
	}
}
