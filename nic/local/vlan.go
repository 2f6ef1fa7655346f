package local

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/mdlayher/netlink"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// VLAN is the kernel's information about a VLAN device, see [nic.Upper].
type VLAN struct {
	ID              int
	Egress, Ingress nic.PCPs
}

// VLANs is the part of rtnetlink for VLANs that the package uses. The interface names must exist on
// the machine.
type VLANs interface {
	VLAN(ctx context.Context, ifname string) (VLAN, error)
	// SetEgress sets the entries of m that are not [qos.Unmanaged].
	SetEgress(ctx context.Context, ifname string, m nic.PCPs) error
}

// rtnetlink opens a socket for each call, because calls are rare. /proc/net/vlan has the same
// information, but only root can read it (Linux, net/8021q/vlanproc.c).
type rtnetlink struct{}

// Constants of include/uapi/linux/rtnetlink.h and if_link.h.
const (
	rtmNewLink = 16
	rtmGetLink = 18

	iflaIfname   = 3
	iflaLinkinfo = 18
	iflaExtMask  = 29

	iflaInfoKind = 1
	iflaInfoData = 2

	iflaVLANID      = 1
	iflaVLANEgress  = 3
	iflaVLANIngress = 4

	iflaVLANMapping = 1

	skipStats = 8  // RTEXT_FILTER_SKIP_STATS
	ifinfomsg = 16 // size in bytes
)

// netlinkWait limits the wait for an answer, which the kernel normally gives at once.
const netlinkWait = 10 * time.Second

// VLAN implements VLANs.
func (rtnetlink) VLAN(ctx context.Context, ifname string) (VLAN, error) {
	ae := netlink.NewAttributeEncoder()
	ae.String(iflaIfname, ifname)
	ae.Uint32(iflaExtMask, skipStats)
	replies, err := exchange(ctx, rtmGetLink, netlink.Request, ae)
	if err != nil {
		return VLAN{}, fmt.Errorf("read VLAN %s: %w", ifname, err)
	}
	if len(replies) != 1 || replies[0].Header.Type != rtmNewLink {
		return VLAN{}, fmt.Errorf("read VLAN %s: %d messages", ifname, len(replies))
	}
	v, err := parseVLAN(replies[0].Data)
	if err != nil {
		return VLAN{}, fmt.Errorf("read VLAN %s: %w", ifname, err)
	}
	return v, nil
}

// SetEgress implements VLANs.
func (rtnetlink) SetEgress(ctx context.Context, ifname string, m nic.PCPs) error {
	if _, err := exchange(ctx, rtmNewLink, netlink.Request|netlink.Acknowledge, egressAttrs(ifname, m)); err != nil {
		return fmt.Errorf("set VLAN %s: %w", ifname, err)
	}
	return nil
}

// egressAttrs returns the attributes of a message that changes entries of a VLAN's egress map; the
// other entries stay (net/8021q/vlan_netlink.c, vlan_changelink).
func egressAttrs(ifname string, m nic.PCPs) *netlink.AttributeEncoder {
	ae := netlink.NewAttributeEncoder()
	ae.String(iflaIfname, ifname)
	ae.Nested(iflaLinkinfo, func(info *netlink.AttributeEncoder) error {
		info.String(iflaInfoKind, string(nic.UpperVLAN))
		info.Nested(iflaInfoData, func(data *netlink.AttributeEncoder) error {
			data.Nested(iflaVLANEgress, func(pairs *netlink.AttributeEncoder) error {
				for from, to := range m {
					if to != qos.Unmanaged {
						b := binary.NativeEndian.AppendUint32(nil, uint32(from))
						pairs.Bytes(iflaVLANMapping, binary.NativeEndian.AppendUint32(b, uint32(to)))
					}
				}
				return nil
			})
			return nil
		})
		return nil
	})
	return ae
}

// exchange sends a message about a link with the given attributes and returns the replies.
func exchange(ctx context.Context, typ netlink.HeaderType, flags netlink.HeaderFlags, ae *netlink.AttributeEncoder) ([]netlink.Message, error) {
	attrs, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := netlink.Dial(0, nil) // NETLINK_ROUTE
	if err != nil {
		return nil, err
	}
	defer conn.Close() // an error here loses nothing
	deadline := time.Now().Add(netlinkWait)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	return conn.Execute(netlink.Message{Header: netlink.Header{Type: typ, Flags: flags}, Data: append(make([]byte, ifinfomsg), attrs...)})
}

// parseVLAN decodes an RTM_NEWLINK message for a VLAN. A priority that is not in a map has the
// value 0 (net/8021q/vlan_netlink.c, vlan_fill_info).
func parseVLAN(b []byte) (VLAN, error) {
	var v VLAN
	if len(b) < ifinfomsg {
		return v, fmt.Errorf("a message of %d bytes", len(b))
	}
	ad, err := netlink.NewAttributeDecoder(b[ifinfomsg:])
	if err != nil {
		return v, err
	}
	kind, whole := "", false
	for ad.Next() {
		if ad.Type() != iflaLinkinfo {
			continue
		}
		ad.Nested(func(info *netlink.AttributeDecoder) error {
			for info.Next() {
				switch info.Type() {
				case iflaInfoKind:
					kind = info.String()
				case iflaInfoData:
					if kind == string(nic.UpperVLAN) {
						info.Nested(func(data *netlink.AttributeDecoder) error {
							whole = true
							return v.parse(data)
						})
					}
				}
			}
			return nil
		})
	}
	if err := ad.Err(); err != nil {
		return v, err
	}
	if !whole {
		return v, fmt.Errorf("no VLAN but %q", clip(kind))
	}
	return v, nil
}

func (v *VLAN) parse(data *netlink.AttributeDecoder) error {
	for data.Next() {
		switch data.Type() {
		case iflaVLANID:
			v.ID = int(data.Uint16())
		case iflaVLANEgress:
			data.Nested(func(ad *netlink.AttributeDecoder) error { return parsePCPs(ad, &v.Egress) })
		case iflaVLANIngress:
			data.Nested(func(ad *netlink.AttributeDecoder) error { return parsePCPs(ad, &v.Ingress) })
		}
	}
	return nil
}

// parsePCPs decodes pairs of numbers (ifla_vlan_qos_mapping). It ignores the kernel's priorities
// above 7, which correspond to no PCP.
func parsePCPs(ad *netlink.AttributeDecoder, m *nic.PCPs) error {
	for ad.Next() {
		b := ad.Bytes()
		if len(b) != 8 {
			return fmt.Errorf("a pair of %d bytes", len(b))
		}
		from, to := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint32(b[4:])
		if from < qos.NumPriorities && to < qos.NumPriorities {
			m[from] = int8(to)
		}
	}
	return nil
}
