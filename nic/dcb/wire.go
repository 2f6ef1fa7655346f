package dcb

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Message types and the multicast group (include/uapi/linux/rtnetlink.h).
const (
	rtmGetDCB netlink.HeaderType = 78
	rtmSetDCB netlink.HeaderType = 79
)

// Commands (enum dcbnl_commands).
const (
	cmdIEEESet = 20
	cmdIEEEGet = 21
	cmdSetDCBX = 23
	cmdIEEEDel = 27
)

// Attributes of a message (enum dcbnl_attrs).
const (
	attrInterface = 1
	attrIEEE      = 13 // nested; in the answer to a write, one status byte
	attrDCBX      = 14
)

// Attributes in attrIEEE (enum ieee_attrs).
const (
	ieeeETS     = 1
	ieeePFC     = 2
	ieeeApps    = 3
	ieeeMaxRate = 7
	ieeeBuffer  = 10
)

// Attributes in a table of APP entries (enum ieee_attrs_app): standard entries and the kernel's
// own.
const (
	appIEEE = 1
	appDCB  = 2
)

// sizeHeader is the size of struct dcbmsg in bytes.
const sizeHeader = 4

// maxName is the length of the longest interface name (IFNAMSIZ less its NUL).
const maxName = 15

var order = binary.NativeEndian

// request builds a message about a device. It does not request an acknowledgement, because the
// kernel would send one in addition to its answer.
func request(t netlink.HeaderType, cmd uint8, ifname string, fill func(*netlink.AttributeEncoder)) (netlink.Message, error) {
	ae := netlink.NewAttributeEncoder()
	ae.String(attrInterface, ifname)
	if fill != nil {
		fill(ae)
	}
	b, err := ae.Encode()
	if err != nil {
		return netlink.Message{}, fmt.Errorf("encode command %d: %w", cmd, err)
	}
	return netlink.Message{
		Header: netlink.Header{Type: t, Flags: netlink.Request},
		Data:   append([]byte{0, cmd, 0, 0}, b...),
	}, nil
}

func encodeGet(ifname string) (netlink.Message, error) {
	return request(rtmGetDCB, cmdIEEEGet, ifname, nil)
}

// encodeIEEE builds a write of one attribute.
func encodeIEEE(cmd uint8, ifname string, attr uint16, data []byte) (netlink.Message, error) {
	return request(rtmSetDCB, cmd, ifname, func(ae *netlink.AttributeEncoder) {
		ae.Nested(attrIEEE, func(n *netlink.AttributeEncoder) error {
			n.Bytes(attr, data)
			return nil
		})
	})
}

// encodeApp builds a write or, with cmdIEEEDel, a deletion of one APP entry.
func encodeApp(cmd uint8, ifname string, a App) (netlink.Message, error) {
	kind := uint16(appIEEE)
	if a.Selector == SelectorPCP {
		kind = appDCB
	}
	return request(rtmSetDCB, cmd, ifname, func(ae *netlink.AttributeEncoder) {
		ae.Nested(attrIEEE, func(n *netlink.AttributeEncoder) error {
			n.Nested(ieeeApps, func(t *netlink.AttributeEncoder) error {
				t.Bytes(kind, bytesOf(a))
				return nil
			})
			return nil
		})
	})
}

func encodeDCBX(ifname string, mode DCBX) (netlink.Message, error) {
	return request(rtmSetDCB, cmdSetDCBX, ifname, func(ae *netlink.AttributeEncoder) { ae.Uint8(attrDCBX, uint8(mode)) })
}

// wireETS is struct ieee_ets.
type wireETS struct {
	Willing                bool
	Cap                    uint8
	CBS                    bool
	Bandwidth, RxBandwidth [qos.NumPriorities]uint8
	TSA                    [qos.NumPriorities]TSA
	PriorityTC             [qos.NumPriorities]uint8
	RecoBandwidth          [qos.NumPriorities]uint8
	RecoTSA                [qos.NumPriorities]TSA
	RecoPriorityTC         [qos.NumPriorities]uint8
}

func (e *ETS) wire() wireETS {
	r := e.Recommended
	return wireETS{e.Willing, e.Cap, e.CBS, e.Bandwidth, e.RxBandwidth, e.TSA, e.PriorityTC, r.Bandwidth, r.TSA, r.PriorityTC}
}

func (w *wireETS) ets() *ETS {
	return &ETS{Willing: w.Willing, Cap: w.Cap, CBS: w.CBS, Scheduling: Scheduling{w.TSA, w.Bandwidth, w.PriorityTC},
		RxBandwidth: w.RxBandwidth, Recommended: Scheduling{w.RecoTSA, w.RecoBandwidth, w.RecoPriorityTC}}
}

// bytesOf encodes a struct in the kernel's layout.
func bytesOf(v any) []byte {
	b, err := binary.Append(nil, order, v)
	if err != nil {
		panic("dcb: no struct of the kernel: " + err.Error())
	}
	return b
}

// payload checks the header of a message and returns its attributes.
func payload(data []byte, cmd uint8) ([]byte, error) {
	if len(data) < sizeHeader {
		return nil, fmt.Errorf("%w: a message of %d bytes", ErrAnswer, len(data))
	}
	if data[1] != cmd {
		return nil, fmt.Errorf("%w: it is to command %d", ErrAnswer, data[1])
	}
	return data[sizeHeader:], nil
}

// each calls f for each attribute in b, in order.
func each(b []byte, f func(kind uint16, data []byte) error) error {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	for ad.Next() {
		if err := f(ad.Type(), ad.Bytes()); err != nil {
			return err
		}
	}
	if err := ad.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return nil
}

// decode decodes a struct of the kernel. Like the kernel, it rejects a shorter one and accepts a
// longer one.
func decode[T any](b []byte, what string) (*T, error) {
	v := new(T)
	if _, err := binary.Decode(b, order, v); err != nil {
		return nil, fmt.Errorf("%w: %s of %d bytes, not %d", ErrAnswer, what, len(b), binary.Size(v))
	}
	return v, nil
}

// decodeState decodes the answer to cmdIEEEGet and ignores unknown attributes.
func decodeState(data []byte) (*State, error) {
	attrs, err := payload(data, cmdIEEEGet)
	if err != nil {
		return nil, err
	}
	s := &State{}
	err = each(attrs, func(kind uint16, b []byte) (err error) {
		switch kind {
		case attrIEEE:
			err = each(b, s.decodeIEEE)
		case attrDCBX:
			s.DCBX, err = decode[DCBX](b, "dcbx")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *State) decodeIEEE(kind uint16, b []byte) (err error) {
	switch kind {
	case ieeeETS:
		var w *wireETS
		if w, err = decode[wireETS](b, "ets"); err == nil {
			s.ETS = w.ets()
		}
	case ieeePFC:
		s.PFC, err = decode[PFC](b, "pfc")
	case ieeeMaxRate:
		s.MaxRate, err = decode[[qos.NumPriorities]uint64](b, "maxrate")
	case ieeeBuffer:
		s.Buffer, err = decode[Buffer](b, "buffer")
	case ieeeApps:
		s.Apps, err = decodeApps(b)
	}
	return err
}

// decodeApps decodes the APP table; an empty table is not nil.
func decodeApps(b []byte) ([]App, error) {
	out := []App{}
	err := each(b, func(kind uint16, b []byte) error {
		if kind != appIEEE && kind != appDCB {
			return nil
		}
		v, err := decode[App](b, "app entry")
		if err == nil {
			out = append(out, *v)
		}
		return err
	})
	return out, err
}

// decodeStatus decodes the answer to a write. 0 means success. For IEEE writes, any other value is
// the errno of the driver, of which the kernel keeps eight bits; for cmdSetDCBX, it has no meaning.
func decodeStatus(data []byte, cmd uint8) (Errno, error) {
	attrs, err := payload(data, cmd)
	if err != nil {
		return 0, err
	}
	attr := uint16(attrIEEE)
	if cmd == cmdSetDCBX {
		attr = attrDCBX
	}
	var status Errno
	found := false
	err = each(attrs, func(kind uint16, b []byte) error {
		if kind != attr {
			return nil
		}
		if len(b) != 1 {
			return fmt.Errorf("%w: status of %d bytes", ErrAnswer, len(b))
		}
		found = true
		status = Errno(-b[0])
		if cmd == cmdSetDCBX {
			status = Errno(b[0])
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: no status", ErrAnswer)
	}
	return status, err
}
