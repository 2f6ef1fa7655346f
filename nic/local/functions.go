package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
)

// VFs accesses virtual functions over rtnetlink. The interface names must exist on the machine.
type VFs interface {
	// List returns what the kernel holds for each VF, in VF order. It does not set what is known
	// from the VF's own interface and users.
	List(ctx context.Context, ifname string) ([]nic.VF, error)
	SetTrust(ctx context.Context, ifname string, vf int, on bool) error
	SetTag(ctx context.Context, ifname string, vf int, t nic.Tag) error
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

// VFTag is the tag of VFs: one for all of them, or one for each in VF order.
type VFTag struct {
	All  *nic.Tag  `json:"all,omitempty"`
	Each []nic.Tag `json:"each,omitempty"`
}

// holds compares the tags with those of the existing VFs.
func (t VFTag) holds(have []nic.Tag) bool {
	for i, is := range have {
		if t.All != nil && *t.All != is || t.All == nil && i < len(t.Each) && t.Each[i] != is {
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
		r.eachVF()
	}
	if on, err := r.switchdev(r.device); err == nil {
		r.p.Representors = qos.Of(on)
	}
	r.scalable()
}

// eachVF reads what the kernel holds for each VF, and finds the VF's interface and users.
func (r reader) eachVF() {
	each, err := r.listVFs(r.ctx, r.device)
	if err != nil {
		r.recordMissing(r.explainError(err), nic.FieldVFTrust, nic.FieldVFTag)
		return
	}
	get(r, nic.FieldVFTrust, &r.p.VFTrust, func() (string, error) {
		on, err := trustsOf(each)
		return trustText(on), err
	})
	for i := range each {
		dir := r.sysNet(r.name, "device", fmt.Sprintf("virtfn%d", each[i].Number))
		each[i].User = r.userOf(dir, rdmaDrivers...)
		names, _ := r.list(filepath.Join(dir, "net"))
		for _, name := range natural.Sorted(names)[:min(len(names), 1)] {
			mtu, _ := r.number(filepath.Join(dir, "net", name, "mtu"))
			each[i].Interface, each[i].MTU, each[i].Up = clip(name), int(min(mtu, 1<<16)), r.isUp(filepath.Join(dir, "net", name))
		}
	}
	r.p.Each = each
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

func (m *Machine) listVFs(ctx context.Context, d *device) ([]nic.VF, error) {
	if m.VFs == nil {
		return nil, errors.New("no netlink")
	}
	return m.VFs.List(ctx, d.name)
}

// trustsOf returns the trust setting of each VF.
func trustsOf(each []nic.VF) (out []bool, err error) {
	for _, v := range each {
		if !v.Trust.Set {
			return nil, ErrUnsupported
		}
		out = append(out, v.Trust.V)
	}
	return out, nil
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
	up := func(name string) bool { return m.isUp(filepath.Join(dir, "net", name)) }
	switch {
	case driver == "":
	case !slices.Contains(drivers, driver):
		return "driver " + clip(driver)
	case len(names) == 0:
		return inOtherNamespace
	case slices.ContainsFunc(names, up):
		return clip(names[0]) + " is up"
	}
	return ""
}

// isUp reports whether an interface, given its directory in sysfs, is or may be up.
func (m *Machine) isUp(dir string) bool {
	flags, err := m.text(filepath.Join(dir, "flags"))
	n, perr := strconv.ParseUint(strings.TrimPrefix(flags, "0x"), 16, 32)
	return err != nil || perr != nil || n&1 != 0 // IFF_UP
}

// vfsNow lists the VFs of a port; none if there are none.
func (m *Machine) vfsNow(ctx context.Context, d *device) ([]nic.VF, error) {
	if n, err := m.vfs(d); err != nil || n == 0 {
		return nil, err
	}
	return m.listVFs(ctx, d)
}

var vfTagOp = op{
	read: func(m *Machine, ctx context.Context, d *device) (Value, error) {
		each, err := m.vfsNow(ctx, d)
		t := &VFTag{}
		for _, v := range each {
			t.Each = append(t.Each, v.Tag)
		}
		return Value{VFTag: t}, err
	},
	write: func(m *Machine, ctx context.Context, d *device, want, have Value) error {
		for i, is := range have.VFTag.Each {
			to := is
			switch {
			case want.VFTag.All != nil:
				to = *want.VFTag.All
			case i < len(want.VFTag.Each):
				to = want.VFTag.Each[i]
			}
			if to == is {
				continue
			}
			if err := m.VFs.SetTag(ctx, d.name, i, to); err != nil {
				return err
			}
		}
		return nil
	},
}

var vfTrustOp = op{
	read: func(m *Machine, ctx context.Context, d *device) (Value, error) {
		all, err := m.vfsNow(ctx, d)
		if err != nil || len(all) == 0 {
			return Value{VFTrust: &VFTrust{}}, err
		}
		each, err := trustsOf(all)
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
