package local

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Constants of include/uapi/linux/if_link.h and rtnetlink.h.
const (
	iflaVFInfoList = 22
	iflaVFInfo     = 1

	iflaVFVLAN      = 2
	iflaVFLinkState = 5
	iflaVFRate      = 6
	iflaVFTrust     = 9

	vfLinkDisable = 2 // IFLA_VF_LINK_STATE_DISABLE

	filterVF = 1 // RTEXT_FILTER_VF
)

// List implements VFs.
func (rtnetlink) List(ctx context.Context, ifname string) ([]nic.VF, error) {
	ae := netlink.NewAttributeEncoder()
	ae.String(iflaIfname, ifname)
	ae.Uint32(iflaExtMask, filterVF|skipStats)
	replies, err := exchange(ctx, rtmGetLink, netlink.Request, ae)
	if err == nil && len(replies) != 1 {
		err = fmt.Errorf("%d messages", len(replies))
	}
	if err != nil {
		return nil, fmt.Errorf("read the VFs of %s: %w", ifname, err)
	}
	each, err := parseVFs(replies[0].Data)
	if err != nil {
		return nil, fmt.Errorf("read the VFs of %s: %w", ifname, err)
	}
	return each, nil
}

// SetTrust implements VFs.
func (rtnetlink) SetTrust(ctx context.Context, ifname string, vf int, on bool) error {
	setting := uint32(0)
	if on {
		setting = 1
	}
	return setVF(ctx, ifname, vf, iflaVFTrust, setting)
}

// SetTag implements VFs.
func (rtnetlink) SetTag(ctx context.Context, ifname string, vf int, t nic.Tag) error {
	return setVF(ctx, ifname, vf, iflaVFVLAN, uint32(t.VLAN), uint32(t.Priority))
}

func setVF(ctx context.Context, ifname string, vf int, attr uint16, values ...uint32) error {
	if _, err := exchange(ctx, rtmNewLink, netlink.Request|netlink.Acknowledge, vfAttrs(ifname, vf, attr, values...)); err != nil {
		return fmt.Errorf("set VF %d of %s: %w", vf, ifname, err)
	}
	return nil
}

// vfAttrs returns the attributes of 'ip link set IF vf N ...': a structure of the number of the VF
// and the values (struct ifla_vf_trust, ifla_vf_vlan).
func vfAttrs(ifname string, vf int, attr uint16, values ...uint32) *netlink.AttributeEncoder {
	b := binary.NativeEndian.AppendUint32(nil, uint32(vf))
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	ae := netlink.NewAttributeEncoder()
	ae.String(iflaIfname, ifname)
	ae.Nested(iflaVFInfoList, func(list *netlink.AttributeEncoder) error {
		list.Nested(iflaVFInfo, func(info *netlink.AttributeEncoder) error {
			info.Bytes(attr, b)
			return nil
		})
		return nil
	})
	return ae
}

// parseVFs decodes an RTM_NEWLINK message.
func parseVFs(b []byte) ([]nic.VF, error) {
	if len(b) < ifinfomsg {
		return nil, fmt.Errorf("a message of %d bytes", len(b))
	}
	ad, err := netlink.NewAttributeDecoder(b[ifinfomsg:])
	if err != nil {
		return nil, err
	}
	var each []nic.VF
	for ad.Next() {
		if ad.Type() != iflaVFInfoList {
			continue
		}
		ad.Nested(func(list *netlink.AttributeDecoder) error {
			for list.Next() {
				v := nic.VF{Number: len(each)}
				list.Nested(func(info *netlink.AttributeDecoder) error { return parseVF(info, &v) })
				each = append(each, v)
			}
			return nil
		})
	}
	if err := ad.Err(); err != nil {
		return nil, err
	}
	if len(each) == 0 {
		return nil, ErrUnsupported
	}
	return each, nil
}

// parseVF decodes the attributes of one VF. Drivers that do not report the trust setting send -1 or
// nothing.
func parseVF(info *netlink.AttributeDecoder, v *nic.VF) error {
	for info.Next() {
		b := info.Bytes()
		word := func(i int) int { return int(int32(binary.NativeEndian.Uint32(b[4*i:]))) }
		switch typ := info.Type(); {
		case typ == iflaVFTrust && len(b) == 8 && word(1) >= 0:
			v.Trust = qos.Of(word(1) > 0)
		case typ == iflaVFVLAN && len(b) == 12:
			v.Number, v.Tag = word(0), nic.Tag{VLAN: word(1), Priority: word(2)}
		case typ == iflaVFRate && len(b) == 12:
			v.MaxRate = max(0, word(2))
		case typ == iflaVFLinkState && len(b) == 8:
			v.Down = word(1) == vfLinkDisable
		}
	}
	return nil
}
