package dcb

import (
	"bytes"
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
	attrIEEE      = 13 // a nest; in the answer to a write, one byte of status
	attrDCBX      = 14
)

// Attributes in attrIEEE (enum ieee_attrs).
const (
	ieeeETS      = 1
	ieeePFC      = 2
	ieeeApps     = 3
	ieeeMaxRate  = 7
	ieeeBuffer   = 10
	ieeeAppTrust = 11
	ieeeRewrite  = 12
)

// Attributes in a table of entries or selectors (enum ieee_attrs_app): those
// of the standard, and the kernel's own.
const (
	appIEEE = 1
	appDCB  = 2
)

// Sizes on the wire in bytes. The kernel refuses a shorter one and accepts a
// longer one, and so does this package.
const (
	sizeHeader  = 4 // struct dcbmsg
	sizeETS     = 59
	sizePFC     = 136
	sizeMaxRate = 64
	sizeBuffer  = 44
	sizeApp     = 4
)

// maxName is the length of the longest interface name (IFNAMSIZ less its NUL).
const maxName = 15

var order = binary.NativeEndian

// request makes a message about a device. It asks for no acknowledgement: the
// kernel would send one after its answer.
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

// encodeIEEE makes a write of one attribute.
func encodeIEEE(cmd uint8, ifname string, attr uint16, data []byte) (netlink.Message, error) {
	return request(rtmSetDCB, cmd, ifname, func(ae *netlink.AttributeEncoder) {
		ae.Nested(attrIEEE, func(n *netlink.AttributeEncoder) error {
			n.Bytes(attr, data)
			return nil
		})
	})
}

// encodeApp makes a write, or with cmdIEEEDel a deletion, of one APP entry.
func encodeApp(cmd uint8, ifname string, a App) (netlink.Message, error) {
	kind := uint16(appIEEE)
	if a.Selector == SelectorPCP {
		kind = appDCB
	}
	return request(rtmSetDCB, cmd, ifname, func(ae *netlink.AttributeEncoder) {
		ae.Nested(attrIEEE, func(n *netlink.AttributeEncoder) error {
			n.Nested(ieeeApps, func(t *netlink.AttributeEncoder) error {
				t.Bytes(kind, a.encode())
				return nil
			})
			return nil
		})
	})
}

func encodeDCBX(ifname string, mode DCBX) (netlink.Message, error) {
	return request(rtmSetDCB, cmdSetDCBX, ifname, func(ae *netlink.AttributeEncoder) { ae.Uint8(attrDCBX, uint8(mode)) })
}

func (a App) encode() []byte {
	b := []byte{byte(a.Selector), a.Priority}
	return order.AppendUint16(b, a.Protocol)
}

func (p *PFC) encode() []byte {
	b := []byte{p.Cap, byte(p.Enabled), flag(p.MACsecBypass), 0}
	b = order.AppendUint16(b, p.Delay)
	b = append(b, 0, 0)
	for _, counters := range [][qos.NumPriorities]uint64{p.Requests, p.Indications} {
		for _, n := range counters {
			b = order.AppendUint64(b, n)
		}
	}
	return b
}

func (e *ETS) encode() []byte {
	b := []byte{flag(e.Willing), e.Cap, flag(e.CBS)}
	b = append(b, e.Bandwidth[:]...)
	b = append(b, e.RxBandwidth[:]...)
	b = appendTSA(b, e.TSA)
	b = append(b, e.PriorityTC[:]...)
	b = append(b, e.Recommended.Bandwidth[:]...)
	b = appendTSA(b, e.Recommended.TSA)
	return append(b, e.Recommended.PriorityTC[:]...)
}

func appendTSA(b []byte, ts [qos.NumPriorities]TSA) []byte {
	for _, t := range ts {
		b = append(b, byte(t))
	}
	return b
}

func (f *Buffer) encode() []byte {
	b := append([]byte(nil), f.PriorityBuffer[:]...)
	for _, n := range f.Size {
		b = order.AppendUint32(b, n)
	}
	return order.AppendUint32(b, f.Total)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// payload checks the header of a message and returns its attributes.
func payload(data []byte, cmds ...uint8) (*netlink.AttributeDecoder, error) {
	if len(data) < sizeHeader {
		return nil, fmt.Errorf("%w: a message of %d bytes", ErrAnswer, len(data))
	}
	if !bytes.Contains(cmds, data[1:2]) {
		return nil, fmt.Errorf("%w: it is to command %d", ErrAnswer, data[1])
	}
	return attributes(data[sizeHeader:])
}

func attributes(b []byte) (*netlink.AttributeDecoder, error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return ad, nil
}

// each calls f with the attributes in b, in order.
func each(ad *netlink.AttributeDecoder, f func(kind uint16, data []byte) error) error {
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

// eachIn is each for a nest.
func eachIn(b []byte, f func(kind uint16, data []byte) error) error {
	ad, err := attributes(b)
	if err != nil {
		return err
	}
	return each(ad, f)
}

// atLeast is the lower bound of an attribute's size.
func atLeast(b []byte, size int, what string) error {
	if len(b) < size {
		return fmt.Errorf("%w: %s of %d bytes, not %d", ErrAnswer, what, len(b), size)
	}
	return nil
}

// decodeState reads the answer to cmdIEEEGet. Attributes that the package does
// not know are passed over.
func decodeState(data []byte) (*State, error) {
	ad, err := payload(data, cmdIEEEGet)
	if err != nil {
		return nil, err
	}
	s := &State{}
	err = each(ad, func(kind uint16, b []byte) (err error) {
		switch kind {
		case attrInterface:
			s.Interface, err = decodeName(b)
		case attrIEEE:
			err = eachIn(b, s.decodeIEEE)
		case attrDCBX:
			if err = atLeast(b, 1, "dcbx"); err == nil {
				mode := DCBX(b[0])
				s.DCBX = &mode
			}
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
		s.ETS, err = decodeETS(b)
	case ieeePFC:
		s.PFC, err = decodePFC(b)
	case ieeeMaxRate:
		s.MaxRate, err = decodeMaxRate(b)
	case ieeeBuffer:
		s.Buffer, err = decodeBuffer(b)
	case ieeeApps:
		s.Apps, err = decodeApps(b)
	case ieeeRewrite:
		s.Rewrite, err = decodeApps(b)
	case ieeeAppTrust:
		s.AppTrust, err = decodeSelectors(b)
	}
	return err
}

func decodeName(b []byte) (string, error) {
	name, _, _ := bytes.Cut(b, []byte{0})
	if f := nameFault(string(name)); f != "" {
		return "", fmt.Errorf("%w: interface name %q %s", ErrAnswer, name[:min(len(name), maxName+1)], f)
	}
	return string(name), nil
}

// nameFault says why no network device is called so (dev_valid_name in
// net/core/dev.c), or returns "".
func nameFault(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case s == "." || s == "..":
		return "is a folder"
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c == 0x7f || c == '/' || c == ':' {
			return fmt.Sprintf("has byte 0x%02x", c)
		}
	}
	return ""
}

func decodeETS(b []byte) (*ETS, error) {
	if err := atLeast(b, sizeETS, "ets"); err != nil {
		return nil, err
	}
	e := &ETS{Willing: b[0] != 0, Cap: b[1], CBS: b[2] != 0}
	copy(e.Bandwidth[:], b[3:])
	copy(e.RxBandwidth[:], b[11:])
	copy(e.PriorityTC[:], b[27:])
	copy(e.Recommended.Bandwidth[:], b[35:])
	copy(e.Recommended.PriorityTC[:], b[51:])
	for tc := range e.TSA {
		e.TSA[tc], e.Recommended.TSA[tc] = TSA(b[19+tc]), TSA(b[43+tc])
	}
	return e, nil
}

func decodePFC(b []byte) (*PFC, error) {
	if err := atLeast(b, sizePFC, "pfc"); err != nil {
		return nil, err
	}
	p := &PFC{Cap: b[0], Enabled: qos.PrioritySet(b[1]), MACsecBypass: b[2] != 0, Delay: order.Uint16(b[4:])}
	for i := range p.Requests {
		p.Requests[i], p.Indications[i] = order.Uint64(b[8+8*i:]), order.Uint64(b[72+8*i:])
	}
	return p, nil
}

func decodeMaxRate(b []byte) (*[qos.NumPriorities]uint64, error) {
	if err := atLeast(b, sizeMaxRate, "maxrate"); err != nil {
		return nil, err
	}
	r := &[qos.NumPriorities]uint64{}
	for i := range r {
		r[i] = order.Uint64(b[8*i:])
	}
	return r, nil
}

func decodeBuffer(b []byte) (*Buffer, error) {
	if err := atLeast(b, sizeBuffer, "buffer"); err != nil {
		return nil, err
	}
	f := &Buffer{Total: order.Uint32(b[40:])}
	copy(f.PriorityBuffer[:], b)
	for i := range f.Size {
		f.Size[i] = order.Uint32(b[8+4*i:])
	}
	return f, nil
}

// decodeApps reads a table of entries; an empty one is not nil.
func decodeApps(b []byte) ([]App, error) {
	apps := []App{}
	err := eachIn(b, func(kind uint16, b []byte) error {
		if kind != appIEEE && kind != appDCB {
			return nil
		}
		if err := atLeast(b, sizeApp, "app entry"); err != nil {
			return err
		}
		apps = append(apps, App{Selector: Selector(b[0]), Priority: b[1], Protocol: order.Uint16(b[2:])})
		return nil
	})
	return apps, err
}

// decodeSelectors reads a table of selectors; an empty one is not nil.
func decodeSelectors(b []byte) ([]Selector, error) {
	sel := []Selector{}
	err := eachIn(b, func(kind uint16, b []byte) error {
		if kind != appIEEE && kind != appDCB {
			return nil
		}
		if err := atLeast(b, 1, "selector"); err != nil {
			return err
		}
		sel = append(sel, Selector(b[0]))
		return nil
	})
	return sel, err
}

// decodeStatus reads the answer to a write: 0 for success, else, for IEEE
// writes the errno that the driver refused with, of which the kernel keeps
// eight bits, and for cmdSetDCBX any other number.
func decodeStatus(data []byte, cmd uint8) (Errno, error) {
	ad, err := payload(data, cmd)
	if err != nil {
		return 0, err
	}
	attr := uint16(attrIEEE)
	if cmd == cmdSetDCBX {
		attr = attrDCBX
	}
	var status Errno
	found := false
	err = each(ad, func(kind uint16, b []byte) error {
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
