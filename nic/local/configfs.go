package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"

	"github.com/roce-fabric/roce-fabric/nic"
)

// Files of a port in configfs (Linux, drivers/infiniband/core/cma_configfs.c).
const (
	cmToS  = "default_roce_tos"
	cmMode = "default_roce_mode"
)

var (
	// errVanished: an RDMA device disappeared while in use, as when its driver is reloaded.
	errVanished = errors.New("the RDMA device is gone")
	// errNoCM: the rdma_cm module is not loaded, so there are no defaults.
	errNoCM = errors.New(nic.NoCM)
	// errNoConfigFS: the rdma_cm module is loaded, so loading it again does not help.
	errNoConfigFS = errors.New("the module rdma_cm is not in configfs: is configfs mounted?")
)

// cmDir returns the directory of an RDMA device, named after the RDMA device and not the network
// device.
func (m *Machine) cmDir(rdma string) string { return m.configfs("rdma_cm", rdma) }

func (m *Machine) cmFile(d *device, file string) string {
	return m.configfs("rdma_cm", d.rdma, "ports", strconv.Itoa(d.port), file)
}

// cm reads a default of the RDMA connection manager. The kernel keeps the values even without the
// directory, which must be created to see them; cm removes a directory that it created.
func (m *Machine) cm(d *device, file string) (string, error) {
	if d.rdma == "" {
		return "", errNoRDMA
	}
	m.cmTurn.Lock()
	defer m.cmTurn.Unlock()
	made, err := m.openCM(d.rdma)
	if err != nil {
		return "", err
	}
	s, err := m.text(m.cmFile(d, file))
	if isGone(err) {
		// The directory dates from before the device was recreated, or another process has just
		// removed it.
		if made, err = m.renewCM(d.rdma); err == nil {
			s, err = m.text(m.cmFile(d, file))
		}
	}
	if made {
		// It does no harm if it cannot be removed.
		_ = m.fs().Remove(m.cmDir(d.rdma))
	}
	return s, m.cmError(d, err)
}

// openCM creates the directory of an RDMA device if it does not exist.
func (m *Machine) openCM(rdma string) (made bool, err error) {
	if m.has(m.cmDir(rdma)) {
		return false, nil
	}
	if !m.has(m.configfs("rdma_cm")) {
		if m.has(m.sys("module", "rdma_cm")) {
			return false, errNoConfigFS
		}
		return false, errNoCM
	}
	switch err := m.fs().Mkdir(m.cmDir(rdma)); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case errors.Is(err, syscall.ENODEV):
		return false, errVanished
	default:
		return false, err
	}
}

func (m *Machine) renewCM(rdma string) (made bool, err error) {
	if err := m.fs().Remove(m.cmDir(rdma)); err != nil && !isGone(err) {
		return false, err
	}
	return m.openCM(rdma)
}

func (m *Machine) cmError(d *device, err error) error {
	if isGone(err) && !m.has(m.infiniband(d.rdma)) {
		return errVanished
	}
	return err
}

// tos reads the default type of service.
func (m *Machine) tos(d *device) (int, error) {
	s, err := m.cm(d, cmToS)
	if err != nil {
		return 0, err
	}
	n, ok := decimal(s)
	if !ok || n > 255 {
		return 0, fmt.Errorf("%s is %q", cmToS, clip(s))
	}
	return int(n), nil
}

// setCM writes a default and leaves the directory in place.
func (m *Machine) setCM(d *device, file, want string) error {
	m.cmTurn.Lock()
	defer m.cmTurn.Unlock()
	if _, err := m.openCM(d.rdma); err != nil {
		return err
	}
	return m.cmError(d, m.fs().WriteFile(m.cmFile(d, file), []byte(want+"\n")))
}

// LoadCM loads the rdma_cm module unless its directory in configfs exists.
func (m *Machine) LoadCM(ctx context.Context) error {
	if m.has(m.configfs("rdma_cm")) {
		return nil
	}
	if m.Tools == nil {
		return errNoCM
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	res, err := m.Tools.Run(ctx, "modprobe", "rdma_cm")
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errNoCM, err)
	case res.Code != 0:
		return fmt.Errorf("%w: modprobe: exit status %d: %s", errNoCM, res.Code, clip(string(res.Stderr)))
	case !m.has(m.configfs("rdma_cm")):
		return errNoConfigFS
	}
	return nil
}
