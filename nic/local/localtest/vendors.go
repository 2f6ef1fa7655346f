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
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/nicctl/nicctltest"
)

// Places where a port of bnxt_en keeps its congestion control settings, for [Port.CC].
const (
	// CCConfigFS is the place used by Broadcom's own bnxt_re.
	CCConfigFS = "configfs"
	// CCDebugFS is the place used by the kernel's bnxt_re since 6.13.
	CCDebugFS = "debugfs"
)

// SetAMD makes nicctl work on the given AMD cards.
func (h *Host) SetAMD(c *nicctltest.Host) { h.Programs["nicctl"] = c.Run }

// setLossless applies bnxt's rule for PFC: it limits the number of traffic classes with lossless
// priorities, according to the ETS that was set (bnxt_dcb.c, bnxt_hwrm_queue_pfc_cfg).
func (p *port) setLossless(mask qos.PrioritySet) error {
	classes := map[uint8]bool{}
	for _, prio := range mask.List() {
		classes[p.state.ETS.PriorityTC[prio]] = true
	}
	if !p.etsSet || len(classes) > int(p.state.PFC.Cap) {
		return einval("set pfc")
	}
	return nil
}

// starves applies bnxt's rule for ETS before Linux 6.17: no ETS class may be without a share if the
// others share 100% (bnxt_dcb.c, bnxt_ets_validate).
func starves(s dcb.Scheduling) bool {
	sum, zero := 0, false
	for tc, t := range s.TSA {
		if t == dcb.TSAETS {
			sum += int(s.Bandwidth[tc])
			zero = zero || s.Bandwidth[tc] == 0
		}
	}
	return zero && sum == 100
}

// SetApps implements local.DCB for the entries of RoCE: mlx5 and ice accept only DSCP entries.
func (k dcbnl) SetApps(ctx context.Context, name string, apps ...dcb.App) (bool, error) {
	has := func(p *port) bool {
		return !slices.ContainsFunc(apps, func(a dcb.App) bool { return !slices.Contains(p.state.Apps, a) })
	}
	return k.set(ctx, name, "set app", has, func(p *port) error {
		if p.Driver != nic.DriverBNXT {
			return einval("set app")
		}
		for _, a := range apps {
			if !slices.Contains(p.state.Apps, a) {
				p.state.Apps = append(p.state.Apps, a)
			}
		}
		return nil
	})
}

// DelApps implements local.DCB.
func (k dcbnl) DelApps(ctx context.Context, name string, apps ...dcb.App) (bool, error) {
	gone := func(p *port) bool {
		return !slices.ContainsFunc(apps, func(a dcb.App) bool { return slices.Contains(p.state.Apps, a) })
	}
	return k.set(ctx, name, "delete app", gone, func(p *port) error {
		p.state.Apps = slices.DeleteFunc(p.state.Apps, func(a dcb.App) bool { return slices.Contains(apps, a) })
		return nil
	})
}

// Ring implements local.Ethtool.
func (e ethtool) Ring(name string) (nic.Rings, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := e.port(name)
	if err != nil {
		return nic.Rings{}, err
	}
	return p.ring, nil
}

// SetRing implements local.Ethtool and adjusts lengths like the drivers: mlx5 rounds up to a power
// of two, ice to a multiple of 32; ionic accepts only powers of two. All of them recreate their
// rings with the carrier off.
func (e ethtool) SetRing(name string, rx, tx int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := e.port(name)
	switch {
	case err != nil:
		return err
	case e.notRoot():
		return syscall.EPERM
	}
	e.Host.wrote("set rings %s %d %d", name, rx, tx)
	for _, n := range []*int{&rx, &tx} {
		power := 1
		for power < *n {
			power *= 2
		}
		switch p.Driver {
		case nic.DriverMLX5:
			*n = power
		case nic.DriverICE:
			*n = (*n + 31) / 32 * 32
		case nic.DriverIonic:
			if *n != power {
				return syscall.EINVAL
			}
		}
	}
	switch {
	case rx > p.ring.MaxRX || tx > p.ring.MaxTX || rx == 0 || tx == 0:
		return syscall.EINVAL
	case !e.faults.Ignore:
		p.ring.RX, p.ring.TX = rx, tx
		e.Host.bounce(name)
	}
	return nil
}

// SetRings changes the rings of a port without recording a write.
func (h *Host) SetRings(name string, r nic.Rings) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ports[name].ring = r
}

// ccNames maps the congestion control files in configfs to those in debugfs.
var ccNames = map[string]string{
	"ecn_enable": "enable_cc", "ecn_marking": "tos_ecn", "cnp_dscp": "alt_vlan_dscp", "cnp_prio": "alt_vlan_pcp",
	"g": "run_avg_weight_g", "nph_per_state": "num_phase_per_state", "init_cr": "init_cr", "init_tr": "init_tr", "rtt": "rtt",
	"cc_mode": "cc_mode", "tcp_cp": "tcp_cp", "inact_th": "inactivity_cp",
}

// ccDefaults holds the defaults that are not 0.
var ccDefaults = map[string]int{"g": 8, "nph_per_state": 1, "init_cr": 200, "init_tr": 100, "rtt": 40, "cc_mode": 1, "inact_th": 10000}

// addCC gives a port of bnxt_en the congestion control settings of its bnxt_re.
func (h *Host) addCC(p Port) {
	switch p.CC {
	case CCConfigFS:
		h.tree.mkdirs(filepath.Join(h.Roots.ConfigFS, "bnxt_re"))
		h.cc[p.RDMA] = map[string]int{}
		for name := range ccNames {
			h.cc[p.RDMA][name] = ccDefaults[name]
		}
	case CCDebugFS:
		for own, name := range ccNames {
			h.put(filepath.Join(h.Roots.DebugFS, "bnxt_re", p.PCI, "cc_config", name), fmt.Sprintln(ccDefaults[own]))
		}
	}
}

// ccFile splits the path of a file or directory of bnxt_re in configfs.
func (h *Host) ccFile(name string) (rdma, file string, ok bool) {
	rest, ok := strings.CutPrefix(name, filepath.Join(h.Roots.ConfigFS, "bnxt_re")+"/")
	rdma, rest, _ = strings.Cut(rest, "/")
	return rdma, strings.TrimPrefix(rest, "ports/1/cc/"), ok
}

// showCC writes the files in hexadecimal, as the driver prints them.
func (h *Host) showCC(rdma string) {
	dir := filepath.Join(h.Roots.ConfigFS, "bnxt_re", rdma, "ports", "1", "cc")
	for name, v := range h.cc[rdma] {
		h.put(filepath.Join(dir, name), fmt.Sprintf("%#x\n", v))
	}
	h.put(filepath.Join(dir, "apply"), "")
}

// ccWrite handles a write to a file of bnxt_re. In configfs, the CNP marks take effect only at a
// write to apply. In debugfs, a write that the firmware rejects still reports success.
func (f files) ccWrite(name, v string) (mine bool, err error) {
	n, nerr := strconv.ParseUint(v, 0, 31)
	if rdma, file, ok := f.Host.ccFile(name); ok {
		// Older drivers read every number as hexadecimal (configfs.c, sscanf with %x).
		n, nerr = strconv.ParseUint(strings.TrimPrefix(v, "0x"), 16, 31)
		if nerr != nil {
			return true, refuse("write", name, syscall.EINVAL)
		}
		switch file {
		case "apply":
			for k, v := range f.ccWaits {
				f.cc[rdma][k] = v
			}
			clear(f.ccWaits)
		case "cnp_dscp", "cnp_prio":
			f.ccWaits[file] = int(n)
		default:
			f.cc[rdma][file] = int(n)
		}
		f.Host.showCC(rdma)
		return true, nil
	}
	if !strings.Contains(name, "/cc_config/") {
		return false, nil
	}
	most := uint64(1<<16 - 1)
	if base := filepath.Base(name); strings.HasPrefix(base, "alt_") || strings.HasPrefix(base, "tos_") {
		most = 63
	}
	if nerr == nil && n <= most {
		f.Host.put(name, fmt.Sprintln(n))
	}
	return true, nil
}
