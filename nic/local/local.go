// Package local works on the machine that the program runs on: it reads the RoCE settings of the
// NICs into a [nic.Host], works out the steps to a desired host, carries them out and reverts them.
//
// Every setting is read and written where the kernel keeps it: through dcbnl and rtnetlink, through
// ethtool's ioctl, and in sysfs, configfs and debugfs. Programs are run only for what has no such
// interface: firmware settings, AMD's cards, the RDMA device's MTU, and loading a module. The root
// directories of a [Machine] can be set, so that tests run it on a tree of files.
//
// Values that are already set are not written, and every written value is read back. A setting that
// cannot be read appears in [nic.Port] Missing with the reason and is no error: the rest of the
// host is still read. The package makes no decisions about values; those come from package nic. It
// does not reset firmware on its own and does not reload drivers.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Errors of the package, wrapped; test with errors.Is. The errors of nic/dcb and nic/mlxconfig are
// passed on.
var (
	// ErrNoPort: the machine has no such network device.
	ErrNoPort = errors.New("no such network device")
	// ErrPermission: this user is not allowed to do that, or the kernel is locked down.
	ErrPermission = errors.New("not permitted")
	// ErrUnsupported: the machine has no such setting.
	ErrUnsupported = errors.New("no such setting here")
	// ErrIgnored: a write reported success, but the value read back is another one.
	ErrIgnored = dcb.ErrIgnored
	// ErrCarrier: a link that a step took down did not come up in time.
	ErrCarrier = errors.New("the link did not come back")
	// ErrPartial: the steps before the failed one remain in effect; the Undo reverts them.
	ErrPartial = errors.New("applied in part")
	// ErrNoCM: the rdma_cm module could not be loaded; everything except its defaults is in effect.
	ErrNoCM = errors.New("the defaults of RDMA-CM cannot be set")
)

// Roots are the directories that hold the machine's state; "" stands for the real one.
type Roots struct {
	Sys      string // /sys
	ConfigFS string // /sys/kernel/config
	DebugFS  string // /sys/kernel/debug
	Proc     string // /proc
	Run      string // /run
	Etc      string // /etc
}

// Inside returns the location of a path of the machine: below the parent directory of Etc.
func (r Roots) Inside(path string) string {
	return filepath.Join(filepath.Dir(cmp.Or(r.Etc, "/etc")), filepath.FromSlash(path))
}

// DCB is the part of dcbnl that the package uses; *dcb.Client implements it.
type DCB interface {
	Get(ctx context.Context, ifname string) (*dcb.State, error)
	SetPFC(ctx context.Context, ifname string, enabled qos.PrioritySet, delay uint16) (changed bool, err error)
	SetETS(ctx context.Context, ifname string, want dcb.Scheduling) (changed bool, err error)
	SetWilling(ctx context.Context, ifname string, willing bool) (changed bool, err error)
	SetBuffer(ctx context.Context, ifname string, want dcb.Headroom) (changed bool, err error)
	OwnDCBX(ctx context.Context, ifname string, host bool) (changed bool, err error)
	MapDSCP(ctx context.Context, ifname string, want [qos.NumDSCP]int8) (changed bool, err error)
	SetApps(ctx context.Context, ifname string, apps ...dcb.App) (changed bool, err error)
	DelApps(ctx context.Context, ifname string, apps ...dcb.App) (changed bool, err error)
}

var _ DCB = (*dcb.Client)(nil)

// Pause is 802.3x link pause as in ethtool (ETHTOOL_GPAUSEPARAM).
type Pause struct {
	// Type is nicctl's pause type, priorities or the whole link; "" for ethtool.
	Type    string `json:"type,omitempty"`
	Autoneg bool   `json:"autoneg,omitempty"`
	RX      bool   `json:"rx"`
	TX      bool   `json:"tx"`
}

// Ethtool is ethtool's ioctl. The interface names must exist on the machine: the kernel truncates a
// longer name and would answer for another device. Errors wrap [syscall.Errno].
type Ethtool interface {
	Pause(ifname string) (Pause, error)
	SetPause(ifname string, p Pause) error
	Ring(ifname string) (nic.Rings, error)
	// SetRing sets the lengths of both rings and keeps all other ring settings.
	SetRing(ifname string, rx, tx int) error
	// Stats returns the driver's statistics by the driver's names.
	Stats(ifname string) (map[string]uint64, error)
	// Flags returns the driver's private flags by the driver's names.
	Flags(ifname string) (map[string]bool, error)
	SetFlag(ifname, flag string, on bool) error
}

// Machine is one host. Read, Plan and Counters may be called from several goroutines; Apply and
// Revert must run alone. If a source is nil, Read reports its settings as missing.
type Machine struct {
	Roots
	// FS is the file system that holds the Roots; nil stands for the machine's own.
	FS      FS
	DCB     DCB
	Ethtool Ethtool
	VLANs   VLANs
	VFs     VFs
	// Namespaces is nil if other network namespaces are not searched.
	Namespaces Namespaces
	// Tools runs programs: mlxconfig, nicctl, ibv_devinfo, modprobe, devlink.
	Tools runner.Runner
	// NoFirmware skips reading the firmware, which requires root and up to 20 s per card.
	NoFirmware bool
	// Settle is how long a link is watched after a step that may take it down; CarrierWait is how
	// long it may stay down. 0 means defaultSettle and defaultCarrierWait.
	Settle, CarrierWait time.Duration
	// Stay is how long Watch observes settings; 0 means defaultStay.
	Stay time.Duration

	// choice records which interfaces the names of NICs stand for.
	choice choice
	// cmTurn is held while a directory in configfs is created, used and removed.
	cmTurn sync.Mutex
	close  []func() error
}

// Default durations of a Machine.
const (
	defaultSettle      = 2 * time.Second
	defaultCarrierWait = time.Minute
)

// Open returns the machine that the program runs on, in the network namespace of the calling
// thread. It needs no privileges. A kernel without DCB or ethtool is no error. The caller must
// close the Machine.
func Open() (*Machine, error) {
	m := &Machine{Tools: runner.Local{}, VLANs: rtnetlink{}, VFs: rtnetlink{}, Namespaces: rtnetlink{}}
	client, err := dcb.Dial()
	if err != nil {
		return nil, err
	}
	m.DCB, m.close = client, append(m.close, client.Close)
	tool, end, err := openEthtool()
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.Ethtool, m.close = tool, append(m.close, end)
	return m, nil
}

// Close releases what Open opened.
func (m *Machine) Close() error {
	var errs []error
	for _, c := range m.close {
		errs = append(errs, c())
	}
	m.close = nil
	return errors.Join(errs...)
}

func (m *Machine) fs() FS {
	if m.FS != nil {
		return m.FS
	}
	return OS{}
}

func under(root, def string, elem ...string) string {
	return filepath.Join(append([]string{cmp.Or(root, def)}, elem...)...)
}

func (m *Machine) sys(elem ...string) string { return under(m.Sys, "/sys", elem...) }
func (m *Machine) configfs(elem ...string) string {
	return under(m.ConfigFS, "/sys/kernel/config", elem...)
}
func (m *Machine) debugfs(elem ...string) string {
	return under(m.DebugFS, "/sys/kernel/debug", elem...)
}
func (m *Machine) proc(elem ...string) string { return under(m.Proc, "/proc", elem...) }

func (m *Machine) sysNet(elem ...string) string {
	return m.sys(append([]string{"class", "net"}, elem...)...)
}

func (m *Machine) infiniband(elem ...string) string {
	return m.sys(append([]string{"class", "infiniband"}, elem...)...)
}

// validName reports whether a name can be a device name in sysfs and does not lead out of its
// directory. The kernel allows up to 15 bytes for a network device and 63 for an RDMA device.
func validName(name string, most int) bool {
	return name != "" && len(name) <= most && name != "." && name != ".." &&
		!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f })
}

const (
	maxIfname = 15
	maxRDMA   = 63
)

// decimal reads a number of up to 18 digits.
func decimal(s string) (int64, bool) {
	if s == "" || len(s) > 18 || strings.TrimLeft(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// clip shortens text from outside the program and makes it safe to print on one line.
func clip(s string) string { return term.Clip(s, 240) }

// explainError explains to the user why something cannot be read or written.
func (m *Machine) explainError(err error) string {
	switch {
	case denied(err) && m.lockedDown():
		return "the kernel is locked down (Secure Boot), or it needs root"
	case denied(err):
		return "needs root"
	}
	return clip(err.Error())
}

// lockedDown reports whether the kernel is locked down: "none [integrity] confidentiality" (Linux,
// security/lockdown/lockdown.c).
func (m *Machine) lockedDown() bool {
	s, err := m.text(m.sys("kernel", "security", "lockdown"))
	return err == nil && strings.Contains(s, "[") && !strings.Contains(s, "[none]")
}

// explained adds what an error is about, and advice if it is a permission error.
func (m *Machine) explained(err error, format string, args ...any) error {
	what, advice := fmt.Sprintf(format, args...), hint.Of(err)
	if denied(err) || errors.Is(err, dcb.ErrPermission) {
		err = fmt.Errorf("%w: %w", ErrPermission, err)
		advice = cmp.Or(advice, "run it as root")
		if m.lockedDown() {
			advice = "the kernel is locked down (Secure Boot): debugfs and the card's configuration space are closed even to root"
		}
	}
	return hint.With(fmt.Errorf("%s: %w", what, err), advice)
}
