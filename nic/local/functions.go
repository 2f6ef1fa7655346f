package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mdlayher/netlink"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
)

// VFs accesses virtual functions over rtnetlink. The interface names must exist on the machine.
type VFs interface {
	// Trust returns the trust setting of each VF, in VF order.
	Trust(ctx context.Context, ifname string) ([]bool, error)
	SetTrust(ctx context.Context, ifname string, vf int, on bool) error
}

// ErrInUse: something uses what a write would remove.
var ErrInUse = errors.New("in use")

// VFTrust is the trust setting of VFs: one for all of them, or one for each in VF order.
type VFTrust struct {
	All  *bool  `json:"all,omitempty"`
	Each []bool `json:"each,omitempty"`
}

// holds compares the setting with that of the existing VFs.
func (t VFTrust) holds(have []bool) bool {
	for i, on := range have {
		if t.All != nil && *t.All != on || t.All == nil && i < len(t.Each) && t.Each[i] != on {
			return false
		}
	}
	return t.All == nil || len(have) > 0
}

// functions reads the virtual and scalable functions of a physical function.
func (r reader) functions() {
	if r.pci == "" || r.virtual {
		return
	}
	n, err := r.vfs(r.device)
	switch {
	case isGone(err): // no SR-IOV
	case err != nil:
		r.recordMissing(r.explainError(err), nic.FieldVFs, nic.FieldVFTrust)
	default:
		r.p.VFs = qos.Of(n)
		most, _ := r.number(r.sysNet(r.name, "device", "sriov_totalvfs"))
		r.p.MaxVFs = int(min(most, maxVFs))
	}
	if n > 0 {
		get(r, nic.FieldVFTrust, &r.p.VFTrust, func() (string, error) {
			each, err := r.trusts(r.ctx, r.device)
			return trustText(each), err
		})
	}
	if on, err := r.switchdev(r.device); err == nil {
		r.p.Representors = qos.Of(on)
	}
	r.scalable()
}

// switchdev reports whether the card's switch is in switchdev mode. In legacy mode, drivers have no
// switch ID (Linux, net/core/net-sysfs.c, phys_switch_id).
func (m *Machine) switchdev(d *device) (bool, error) {
	id, err := m.text(m.sysNet(d.name, "phys_switch_id"))
	if isGone(err) || errors.Is(err, syscall.EOPNOTSUPP) {
		return false, nil
	}
	return id != "", err
}

// maxVFs is the largest number of VFs that PCI can express (PCI Express, SR-IOV, TotalVFs).
const maxVFs = 1<<16 - 1

func (m *Machine) vfs(d *device) (int, error) {
	n, err := m.number(m.sysNet(d.name, "device", "sriov_numvfs"))
	return int(min(n, maxVFs)), err
}

func (m *Machine) trusts(ctx context.Context, d *device) ([]bool, error) {
	if m.VFs == nil {
		return nil, errors.New("no netlink")
	}
	return m.VFs.Trust(ctx, d.name)
}

// trustText prints "on", "off" or "on for VF 0-2,5".
func trustText(each []bool) string {
	var on []int
	for i, t := range each {
		if t {
			on = append(on, i)
		}
	}
	switch len(on) {
	case 0:
		return "off"
	case len(each):
		return "on"
	}
	return "on for VF " + qos.FoldInts(on)
}

var vfsOp = op{
	read: func(m *Machine, _ context.Context, d *device) (Value, error) {
		n, err := m.vfs(d)
		return Value{Number: &n}, err
	},
	// While VFs exist, the kernel accepts only 0 (drivers/pci/pci-sysfs.c, sriov_numvfs_store), and
	// then removes the VFs even if they are in use.
	write: func(m *Machine, _ context.Context, d *device, want, have Value) error {
		if *have.Number > 0 {
			if *want.Number > 0 {
				return fmt.Errorf("%d VFs exist, and the number can be changed only from 0: %w", *have.Number, ErrInUse)
			}
			if used := m.usedVFs(d); len(used) > 0 {
				return fmt.Errorf("not removed: %w: %s", ErrInUse, words.Some(used, maxShownFunctions))
			}
		}
		return m.setNumber(m.sysNet(d.name, "device", "sriov_numvfs"), *want.Number)
	},
}

// maxShownFunctions is how many VFs or SFs an error lists.
const maxShownFunctions = 4

// usedVFs returns the VFs of a port that may be in use: by a guest, by another network namespace,
// or because their interface is up.
func (m *Machine) usedVFs(d *device) (used []string) {
	dir := m.sysNet(d.name, "device")
	entries, _ := m.list(dir)
	for _, e := range natural.Sorted(entries) {
		number, is := strings.CutPrefix(e, "virtfn")
		if !is {
			continue
		}
		if why := m.userOf(filepath.Join(dir, e), rdmaDrivers...); why != "" {
			used = append(used, fmt.Sprintf("VF %s (%s)", number, why))
		}
	}
	return used
}

// userOf says what may use a function, given its directory in sysfs; "" if nothing does. drivers
// are the drivers that leave the function's interface to this host.
func (m *Machine) userOf(dir string, drivers ...string) string {
	driver := ""
	if to, err := m.fs().Readlink(filepath.Join(dir, "driver")); err == nil {
		driver = filepath.Base(to)
	}
	names, _ := m.list(filepath.Join(dir, "net"))
	up := func(name string) bool {
		flags, err := m.text(filepath.Join(dir, "net", name, "flags"))
		n, perr := strconv.ParseUint(strings.TrimPrefix(flags, "0x"), 16, 32)
		return err != nil || perr != nil || n&1 != 0 // IFF_UP
	}
	switch {
	case driver == "":
	case !slices.Contains(drivers, driver):
		return "driver " + clip(driver)
	case len(names) == 0:
		return "in another network namespace"
	case slices.ContainsFunc(names, up):
		return clip(names[0]) + " is up"
	}
	return ""
}

var vfTrustOp = op{
	read: func(m *Machine, ctx context.Context, d *device) (Value, error) {
		n, err := m.vfs(d)
		if err != nil || n == 0 {
			return Value{VFTrust: &VFTrust{}}, err
		}
		each, err := m.trusts(ctx, d)
		return Value{VFTrust: &VFTrust{Each: each}}, err
	},
	write: func(m *Machine, ctx context.Context, d *device, want, have Value) error {
		for i, is := range have.VFTrust.Each {
			on := is
			switch {
			case want.VFTrust.All != nil:
				on = *want.VFTrust.All
			case i < len(want.VFTrust.Each):
				on = want.VFTrust.Each[i]
			}
			if on == is {
				continue
			}
			if err := m.VFs.SetTrust(ctx, d.name, i, on); err != nil {
				return err
			}
		}
		return nil
	},
}

// Constants of include/uapi/linux/if_link.h and rtnetlink.h.
const (
	iflaVFInfoList = 22
	iflaVFInfo     = 1
	iflaVFTrust    = 9
	filterVF       = 1 // RTEXT_FILTER_VF
)

// Trust implements VFs.
func (rtnetlink) Trust(ctx context.Context, ifname string) ([]bool, error) {
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
	each, err := parseTrust(replies[0].Data)
	if err != nil {
		return nil, fmt.Errorf("read the VFs of %s: %w", ifname, err)
	}
	return each, nil
}

// SetTrust implements VFs.
func (rtnetlink) SetTrust(ctx context.Context, ifname string, vf int, on bool) error {
	if _, err := exchange(ctx, rtmNewLink, netlink.Request|netlink.Acknowledge, trustAttrs(ifname, vf, on)); err != nil {
		return fmt.Errorf("set VF %d of %s: %w", vf, ifname, err)
	}
	return nil
}

// trustAttrs returns the attributes of 'ip link set IF vf N trust on' (struct ifla_vf_trust).
func trustAttrs(ifname string, vf int, on bool) *netlink.AttributeEncoder {
	setting := uint32(0)
	if on {
		setting = 1
	}
	ae := netlink.NewAttributeEncoder()
	ae.String(iflaIfname, ifname)
	ae.Nested(iflaVFInfoList, func(list *netlink.AttributeEncoder) error {
		list.Nested(iflaVFInfo, func(info *netlink.AttributeEncoder) error {
			info.Bytes(iflaVFTrust, binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, uint32(vf)), setting))
			return nil
		})
		return nil
	})
	return ae
}

// parseTrust decodes an RTM_NEWLINK message. Drivers that do not report the trust setting send -1
// or nothing.
func parseTrust(b []byte) ([]bool, error) {
	if len(b) < ifinfomsg {
		return nil, fmt.Errorf("a message of %d bytes", len(b))
	}
	ad, err := netlink.NewAttributeDecoder(b[ifinfomsg:])
	if err != nil {
		return nil, err
	}
	var each []bool
	told := true
	for ad.Next() {
		if ad.Type() != iflaVFInfoList {
			continue
		}
		ad.Nested(func(list *netlink.AttributeDecoder) error {
			for list.Next() {
				list.Nested(func(info *netlink.AttributeDecoder) error {
					has := false
					for info.Next() {
						if b := info.Bytes(); info.Type() == iflaVFTrust && len(b) == 8 {
							setting := int32(binary.NativeEndian.Uint32(b[4:]))
							has = setting >= 0
							each = append(each, setting > 0)
						}
					}
					told = told && has
					return nil
				})
			}
			return nil
		})
	}
	if err := ad.Err(); err != nil {
		return nil, err
	}
	if !told || len(each) == 0 {
		return nil, ErrUnsupported
	}
	return each, nil
}
