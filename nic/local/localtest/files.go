package localtest

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// files is the file tree of a Host, with the kernel's behaviour.
type files struct{ view }

var _ local.FS = files{}

// debug returns the error for a path in debugfs that is closed to the user.
func (f files) debug(name string) error {
	switch {
	case !strings.HasPrefix(name, f.Roots.DebugFS+"/"):
		return nil
	case f.notRoot():
		return syscall.EACCES
	case f.faults.Lockdown:
		return syscall.EPERM
	}
	return nil
}

// cmFile splits the path of a file or directory of rdma_cm in configfs.
func (f files) cmFile(name string) (rdma, file string, ok bool) {
	rest, ok := strings.CutPrefix(name, filepath.Join(f.Roots.ConfigFS, "rdma_cm")+"/")
	rdma, rest, _ = strings.Cut(rest, "/")
	return rdma, strings.TrimPrefix(rest, "ports/1/"), ok
}

// readOf removes and returns the functions to be called before a file is read.
func (f files) readOf(name string) (calls []func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for suffix, call := range f.onRead {
		if strings.HasSuffix(name, suffix) {
			delete(f.onRead, suffix)
			calls = append(calls, call)
		}
	}
	return calls
}

// ReadFile implements local.FS.
func (f files) ReadFile(name string) ([]byte, error) {
	for _, call := range f.readOf(name) {
		call()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.debug(name); err != nil {
		return nil, refuse("open", name, err)
	}
	for _, p := range f.ports {
		if p.looks > 0 && strings.HasSuffix(name, "/"+p.Name+"/carrier") {
			if p.looks--; p.looks == 0 {
				p.up()
			}
		}
	}
	if filepath.Base(name) == "vpd" && f.notRoot() { // mode 0600 (drivers/pci/vpd.c)
		return nil, refuse("open", name, syscall.EACCES)
	}
	if rdma, file, ok := f.cmFile(name); ok {
		if !f.has(name) {
			return nil, refuse("open", name, syscall.ENOENT)
		}
		if f.cm[rdma] == nil || f.stale[rdma] {
			return nil, refuse("read", name, syscall.ENODEV)
		}
		return []byte(f.cm[rdma][file] + "\n"), nil
	}
	b, err := f.tree.ReadFile(name)
	if f.notRoot() && filepath.Base(name) == "config" && len(b) > 64 { // drivers/pci/pci-sysfs.c, pci_read_config
		b = b[:64]
	}
	return b, err
}

// WriteFile implements local.FS.
func (f files) WriteFile(name string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.debug(name); err != nil {
		return refuse("open", name, err)
	}
	have, err := f.tree.ReadFile(name)
	if err != nil {
		return err
	}
	if f.notRoot() {
		return refuse("open", name, syscall.EACCES)
	}
	v := strings.TrimSpace(string(data))
	base := filepath.Base(name)
	f.wrote("%s=%s", strings.TrimPrefix(name, filepath.Dir(f.Roots.Sys)), v)
	if f.faults.Ignore {
		return nil
	}
	if mine, err := f.ccWrite(name, v); mine {
		return err
	}
	content := v + "\n"
	n, nerr := strconv.Atoi(v)
	if rdma, file, ok := f.cmFile(name); ok {
		switch {
		case f.cm[rdma] == nil || f.stale[rdma]:
			return refuse("write", name, syscall.ENODEV)
		case file == "default_roce_tos" && (nerr != nil || n < 0):
			return refuse("write", name, syscall.EINVAL)
		case file == "default_roce_tos" && n > 255:
			return refuse("write", name, syscall.ERANGE)
		case file == "default_roce_mode" && v != "RoCE v2" && v != "IB/RoCE v1":
			return refuse("write", name, syscall.EINVAL)
		}
		f.cm[rdma][file] = v
		return nil
	}
	switch {
	case filepath.Base(filepath.Dir(name)) == "enable":
		if nerr != nil || n < 0 || n > 1 {
			return refuse("write", name, syscall.EINVAL)
		}
		if n == 1 && strings.TrimSpace(string(have)) == "1" {
			return refuse("write", name, syscall.EPERM)
		}
	case base == "traffic_class":
		if nerr != nil || n > 255 {
			return refuse("write", name, syscall.EINVAL)
		}
		content = "Global tclass=" + v + "\n"
		if n < 0 {
			content = ""
		}
	case base == "pfc_stall_prevention" && v != nic.StallAuto && v != nic.StallDefault:
		return refuse("write", name, syscall.EINVAL)
	case base == "sriov_numvfs":
		if nerr != nil {
			return refuse("write", name, syscall.EINVAL)
		}
		if err := f.setVFs(filepath.Base(filepath.Dir(filepath.Dir(name))), n); err != nil {
			return refuse("write", name, err)
		}
		return nil
	case base == "mtu":
		if nerr != nil {
			return refuse("write", name, syscall.EINVAL)
		}
		if err := f.setMTU(filepath.Base(filepath.Dir(name)), n); err != nil {
			return refuse("write", name, err)
		}
		return nil
	case base == "cnp_dscp", base == "np_cnp_dscp":
		if nerr != nil || n < 0 || n > 63 {
			return refuse("write", name, syscall.EINVAL)
		}
	}
	f.put(name, content)
	return nil
}

// Mkdir implements local.FS. In rdma_cm, a directory can be created only for an RDMA device, and
// appears with its files.
func (f files) Mkdir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	rdma, rest, ok := f.cmFile(name)
	cc, ccRest, _ := f.ccFile(name)
	switch {
	case f.notRoot():
		return refuse("mkdir", name, syscall.EACCES)
	case f.cc[cc] != nil && ccRest == "":
		f.showCC(cc)
		return nil
	case !ok || rest != "":
		return refuse("mkdir", name, syscall.EPERM)
	case f.cm[rdma] == nil:
		return refuse("mkdir", name, syscall.ENODEV)
	}
	if err := f.tree.Mkdir(name); err != nil {
		return err
	}
	delete(f.stale, rdma)
	for file := range f.cm[rdma] {
		f.put(filepath.Join(name, "ports", "1", file), "")
	}
	return nil
}

// Remove implements local.FS. The directories of rdma_cm are removed with their files.
func (f files) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	rdma, rest, ok := f.cmFile(name)
	cc, ccRest, _ := f.ccFile(name)
	switch {
	case f.notRoot():
		return refuse("rmdir", name, syscall.EACCES)
	case f.cc[cc] != nil && ccRest == "":
		f.tree.removeAll(name)
		return nil
	case !ok || rest != "":
		return refuse("rmdir", name, syscall.EPERM)
	}
	delete(f.stale, rdma)
	f.tree.removeAll(name)
	return nil
}

// ReadDir implements local.FS.
func (f files) ReadDir(name string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.debug(name); err != nil {
		return nil, refuse("open", name, err)
	}
	return f.tree.ReadDir(name)
}

// Readlink implements local.FS.
func (f files) Readlink(name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tree.Readlink(name)
}
