package mlxconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

var (
	pciAddress = lazyre.New(`^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$`)
	mstDevice  = lazyre.New(`^/dev/mst/[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}$`)
	fwctl      = lazyre.New(`^/dev/fwctl/fwctl[0-9]{1,5}$`)
)

// Device returns the name of a card in a normalized form: a PCI address with its domain, in lower
// case ("0000:3b:00.0", also for "3B:00.0"), a device of the mst driver
// ("/dev/mst/mt4129_pciconf0"), or one of the kernel's fwctl ("/dev/fwctl/fwctl0"). It returns
// ErrDevice for everything else, including the name of a network interface or RDMA device.
func Device(name string) (string, error) {
	if m := pciAddress.FindStringSubmatch(strings.ToLower(name)); m != nil {
		if m[1] == "" {
			m[1] = "0000"
		}
		return m[1] + ":" + m[2], nil
	}
	if mstDevice.MatchString(name) || fwctl.MatchString(name) {
		return name, nil
	}
	return "", fmt.Errorf("%q: %w", word(name), ErrDevice)
}

// Fwctl returns the fwctl device of the card at a PCI address; "" if there is none. It provides
// access to the card even under Secure Boot lockdown. sys is the root of sysfs, usually "/sys": the
// class fwctl lists the devices, and each is located below the PCI device that it belongs to
// (Linux, Documentation/userspace-api/fwctl/fwctl.rst).
func Fwctl(sys, pci string) (string, error) {
	pci, err := Device(pci)
	if err != nil {
		return "", err
	}
	class := filepath.Join(sys, "class", "fwctl")
	entries, err := os.ReadDir(class)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for fwctl devices: %w", err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	for _, name := range natural.Keys(names) {
		dev := "/dev/fwctl/" + name
		if !fwctl.MatchString(dev) {
			continue
		}
		path, err := filepath.EvalSymlinks(filepath.Join(class, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since it was listed
		}
		if err != nil {
			return "", fmt.Errorf("look for fwctl devices: %w", err)
		}
		if slices.Contains(strings.Split(filepath.ToSlash(path), "/"), pci) {
			return dev, nil
		}
	}
	return "", nil
}
