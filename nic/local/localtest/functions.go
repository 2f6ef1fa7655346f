package localtest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// setVFs does what the kernel does when the number of VFs is written (drivers/pci/pci-sysfs.c,
// sriov_numvfs_store): while VFs exist, it accepts only 0.
func (h *Host) setVFs(ifname string, n int) error {
	p := h.ports[ifname]
	have := len(p.vfs)
	switch {
	case n < 0 || n > p.MaxVFs:
		return syscall.ERANGE
	case n == have:
		return nil
	case n > 0 && have > 0:
		return syscall.EBUSY
	}
	dev := h.sys("devices", "pci0000:00", p.PCI)
	for i := range max(n, have) {
		vf := strings.TrimSuffix(p.PCI, "0") + strconv.Itoa(2+i)
		dir := h.sys("devices", "pci0000:00", vf)
		if n == 0 {
			must(h.tree.Remove(filepath.Join(dev, fmt.Sprintf("virtfn%d", i))))
			h.tree.removeAll(dir)
			continue
		}
		h.link("../../../bus/pci/drivers/"+p.Driver, filepath.Join(dir, "driver"))
		h.put(filepath.Join(dir, "net", fmt.Sprintf("%sv%d", ifname, i), "flags"), "0x1002\n")
		h.put(filepath.Join(dir, "net", fmt.Sprintf("%sv%d", ifname, i), "mtu"), "1500\n")
		h.link("../"+vf, filepath.Join(dev, fmt.Sprintf("virtfn%d", i)))
	}
	p.vfs = nil
	for i := range n {
		p.vfs = append(p.vfs, nic.VF{Number: i, Trust: qos.Of(false)})
	}
	h.put(filepath.Join(dev, "sriov_numvfs"), strconv.Itoa(n)+"\n")
	return nil
}

// UseVF brings the interface of a VF up or, if driver is not "", binds the VF to that driver.
func (h *Host) UseVF(name string, vf int, driver string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dir := h.sys("devices", "pci0000:00", strings.TrimSuffix(h.ports[name].PCI, "0")+strconv.Itoa(2+vf))
	if driver == "" {
		h.put(filepath.Join(dir, "net", fmt.Sprintf("%sv%d", name, vf), "flags"), "0x1003\n")
		return
	}
	must(h.tree.Remove(filepath.Join(dir, "driver")))
	h.tree.removeAll(filepath.Join(dir, "net"))
	h.link("../../../bus/pci/drivers/"+driver, filepath.Join(dir, "driver"))
}

// MoveVF moves the interface of a VF to the network namespace of a process.
func (h *Host) MoveVF(name string, vf int, to Namespace, ifname string, mtu int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pci := strings.TrimSuffix(h.ports[name].PCI, "0") + strconv.Itoa(2+vf)
	h.tree.removeAll(h.sys("devices", "pci0000:00", pci, "net"))
	h.move(to, nic.Elsewhere{Interface: ifname, PCI: pci, MTU: mtu, Up: true})
}

// SetSwitchdev switches a card to switchdev mode.
func (h *Host) SetSwitchdev(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.switchdev(name)
}

func (h *Host) switchdev(name string) {
	h.put(h.sys("class", "net", name, "phys_switch_id"), "0a94ef0001\n")
}

// vfs implements rtnetlink for the virtual functions of a Host.
type vfs struct{ view }

var _ local.VFs = vfs{}

// List implements local.VFs.
func (v vfs) List(ctx context.Context, name string) ([]nic.VF, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.ports[name]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case p == nil:
		return nil, fmt.Errorf("read the VFs of %s: %w", name, syscall.ENODEV)
	}
	return slices.Clone(p.vfs), nil
}

// SetTrust implements local.VFs.
func (v vfs) SetTrust(ctx context.Context, name string, vf int, on bool) error {
	return v.set(ctx, name, "trust", vf, func(f *nic.VF) error { f.Trust = qos.Of(on); return nil })
}

// SetTag implements local.VFs. The kernel refuses values out of range, and mlx5 a tag in switchdev
// mode.
func (v vfs) SetTag(ctx context.Context, name string, vf int, t nic.Tag) error {
	return v.set(ctx, name, "tag", vf, func(f *nic.VF) error {
		switch {
		case t.VLAN < 0 || t.VLAN > 4095 || t.Priority < 0 || t.Priority > 7:
			return syscall.EINVAL
		case v.has(v.sys("class", "net", name, "phys_switch_id")):
			return syscall.EOPNOTSUPP
		}
		f.Tag = t
		return nil
	})
}

func (v vfs) set(ctx context.Context, name, what string, vf int, change func(*nic.VF) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.ports[name]
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case p == nil || vf >= len(p.vfs):
		return fmt.Errorf("set VF %d of %s: %w", vf, name, syscall.EINVAL)
	case v.notRoot():
		return fmt.Errorf("set VF %d of %s: %w", vf, name, syscall.EPERM)
	}
	v.Host.wrote("set %s of VF %d of %s", what, vf, name)
	if v.faults.Ignore {
		return nil
	}
	if err := change(&p.vfs[vf]); err != nil {
		return fmt.Errorf("set VF %d of %s: %w", vf, name, err)
	}
	return nil
}

// ChangeVF changes what the kernel holds for a VF without recording a write. It returns an error if
// there is no such VF.
func (h *Host) ChangeVF(name string, vf int, change func(*nic.VF)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.ports[name]
	if p == nil || vf < 0 || vf >= len(p.vfs) {
		return fmt.Errorf("VF %d of %s: %w", vf, name, syscall.EINVAL)
	}
	change(&p.vfs[vf])
	return nil
}
