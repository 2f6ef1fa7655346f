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

// The files of a port in configfs (Linux, drivers/infiniband/core/cma_configfs.c).
const (
	cmToS  = "default_roce_tos"
	cmMode = "default_roce_mode"
)

var (
	// errVanished: an RDMA device went away while in use, as at a reload of its driver.
	errVanished = errors.New("the RDMA device is gone")
	// errNoCM: without the module there are no defaults.
	errNoCM = errors.New(nic.NoCM)
	// errNoConfigFS: the module is loaded, and loading it again is no help.
	errNoConfigFS = errors.New("the module rdma_cm is not in configfs: is configfs mounted?")
)

// cmDir is the folder of an RDMA device, by its own name and not that of the
// network device.
func (m *Machine) cmDir(rdma string) string { return m.configfs("rdma_cm", rdma) }

func (m *Machine) cmFile(d *device, file string) string {
	return m.configfs("rdma_cm", d.rdma, "ports", strconv.Itoa(d.port), file)
}

// cm reads a default of the RDMA connection manager. The values are the
// kernel's own and there without the folder, which has to be made for them to
// be seen: one that is made here is taken away again.
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
	if gone(err) {
		// A folder from before the device was made anew, or one that another
		// process has just taken away.
		if made, err = m.renewCM(d.rdma); err == nil {
			s, err = m.text(m.cmFile(d, file))
		}
	}
	if made {
		// It is harmless where it stays.
		_ = m.fs().Remove(m.cmDir(d.rdma))
	}
	return s, m.cmError(d, err)
}

// openCM makes the folder of an RDMA device where there is none.
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
	if err := m.fs().Remove(m.cmDir(rdma)); err != nil && !gone(err) {
		return false, err
	}
	return m.openCM(rdma)
}

func (m *Machine) cmError(d *device, err error) error {
	if gone(err) && !m.has(m.infiniband(d.rdma)) {
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

// setCM writes a default, and leaves the folder in place.
func (m *Machine) setCM(d *device, file, want string) error {
	m.cmTurn.Lock()
	defer m.cmTurn.Unlock()
	if _, err := m.openCM(d.rdma); err != nil {
		return err
	}
	return m.cmError(d, m.fs().WriteFile(m.cmFile(d, file), []byte(want+"\n")))
}

// LoadCM loads the module rdma_cm unless its folder in configfs is there.
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
