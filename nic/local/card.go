package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// dcqcnNames maps the parameters in mlx5's debugfs to their names in the OFED driver.
var dcqcnNames = map[string]string{
	"rp_clamp_tgt_rate": "roce_rp/clamp_tgt_rate", "rp_clamp_tgt_rate_ati": "roce_rp/clamp_tgt_rate_after_time_inc",
	"rp_time_reset": "roce_rp/rpg_time_reset", "rp_byte_reset": "roce_rp/rpg_byte_reset", "rp_threshold": "roce_rp/rpg_threshold",
	"rp_ai_rate": "roce_rp/rpg_ai_rate", "rp_max_rate": "roce_rp/rpg_max_rate", "rp_hai_rate": "roce_rp/rpg_hai_rate",
	"rp_min_dec_fac": "roce_rp/rpg_min_dec_fac", "rp_min_rate": "roce_rp/rpg_min_rate", "rp_gd": "roce_rp/rpg_gd",
	"rp_rate_to_set_on_first_cnp": "roce_rp/rate_to_set_on_first_cnp", "rp_dce_tcp_g": "roce_rp/dce_tcp_g",
	"rp_dce_tcp_rtt": "roce_rp/dce_tcp_rtt", "rp_rate_reduce_monitor_period": "roce_rp/rate_reduce_monitor_period",
	"rp_initial_alpha_value": "roce_rp/initial_alpha_value", "np_min_time_between_cnps": "roce_np/min_time_between_cnps",
}

// bnxtParams maps the parameters in the debugfs of the kernel's bnxt_re to their names in the
// configfs of Broadcom's own driver (configfs.c, bnxt_re_cc_attrs).
var bnxtParams = map[string]ccName{
	"run_avg_weight_g": {"g", "run_avg_weight_g"}, "num_phase_per_state": {"nph_per_state", "num_phase_per_state"},
	"init_cr": {"init_cr", "init_cr"}, "init_tr": {"init_tr", "init_tr"}, "rtt": {"rtt", "rtt"},
	"cc_mode": {"cc_mode", "cc_mode"}, "tcp_cp": {"tcp_cp", "tcp_cp"}, "inactivity_cp": {"inact_th", "inactivity_cp"},
}

// dcqcn reads the congestion control parameters. Parameters that do not exist, or cannot be read
// although others can, are omitted.
func (m *Machine) dcqcn(d *device) (map[string]uint64, error) {
	out := map[string]uint64{}
	why := ErrUnsupported
	keep := func(name string, n int64, err error) {
		if err == nil {
			out[name] = uint64(n)
		} else if !isGone(err) && !errors.Is(err, ErrUnsupported) {
			why = err
		}
	}
	switch d.driver {
	case nic.DriverMLX5:
		for _, name := range natural.Keys(dcqcnNames) {
			n, err := m.number(m.sysNet(d.name, "ecn", dcqcnNames[name]))
			if isGone(err) && d.pci != "" {
				n, err = m.number(m.debugfs("mlx5", d.pci, "cc_params", name))
			}
			keep(name, n, err)
		}
	case nic.DriverBNXT:
		err := m.bnxtCC(d, func(c ccDir) error {
			for _, name := range natural.Keys(bnxtParams) {
				n, err := c.get(bnxtParams[name])
				keep(name, int64(n), err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, why
	}
	return out, nil
}

// parameters returns an error if a name is not a congestion control parameter or a value is out of
// range.
func parameters(of map[string]uint64) error {
	for _, name := range natural.Keys(of) {
		if !slices.Contains(intent.DCQCNNames(), name) || of[name] > math.MaxUint32 {
			return fmt.Errorf("%q = %d: not a congestion control parameter, or value out of range", clip(name), of[name])
		}
	}
	return nil
}

func readDCQCN(m *Machine, _ context.Context, d *device) (Value, error) {
	v, err := m.dcqcn(d)
	return Value{DCQCN: v}, err
}

func writeDCQCN(m *Machine, _ context.Context, d *device, want, have Value) error {
	todo := map[string]uint64{}
	for name, v := range want.DCQCN {
		if is, ok := have.DCQCN[name]; !ok || is != v {
			todo[name] = v
		}
	}
	if d.driver == nic.DriverBNXT {
		return m.bnxtCC(d, func(c ccDir) error {
			for _, name := range natural.Keys(todo) {
				if err := c.put(bnxtParams[name], int(todo[name])); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		})
	}
	for _, name := range natural.Keys(todo) {
		places := []string{m.sysNet(d.name, "ecn", dcqcnNames[name])}
		if d.pci != "" {
			places = append(places, m.debugfs("mlx5", d.pci, "cc_params", name))
		}
		f, err := m.firstExisting(places)
		if err == nil {
			err = m.fs().WriteFile(f, []byte(strconv.FormatUint(todo[name], 10)+"\n"))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// PCI configuration space (PCI Express Base Specification, 7.5; Linux,
// include/uapi/linux/pci_regs.h). Without root, Linux shows only the first 64 bytes.
const (
	pciShown        = 64
	pciStatus       = 0x06
	pciCapabilities = 0x34
	pciHasList      = 0x10
	pciExpress      = 0x10
	pciControl      = 0x08
	maxCapabilities = 48
)

// maxRead returns the maximum PCIe read request size of a card in bytes.
func (m *Machine) maxRead(d *device) (int, error) {
	if d.pci == "" || d.virtual { // a VF uses the setting of its physical function
		return 0, ErrUnsupported
	}
	b, err := m.fs().ReadFile(m.sysNet(d.name, "device", "config"))
	switch {
	case isGone(err):
		return 0, ErrUnsupported
	case err != nil:
		return 0, err
	case len(b) < pciShown || b[pciStatus]&pciHasList == 0:
		return 0, ErrUnsupported
	case len(b) == pciShown:
		return 0, fmt.Errorf("configuration space of %s: %w", d.pci, fs.ErrPermission)
	}
	at := int(b[pciCapabilities] &^ 3)
	for range maxCapabilities {
		if at < pciShown || at+pciControl+2 > len(b) {
			break
		}
		if b[at] == pciExpress {
			// Bits 14 to 12 of Device Control; the values 6 and 7 are reserved.
			if n := b[at+pciControl+1] >> 4 & 7; n < 6 {
				return 128 << n, nil
			}
			break
		}
		at = int(b[at+1] &^ 3)
	}
	return 0, ErrUnsupported
}

// readRequests are the sizes that a card can use, indexed by their encoding.
var readRequests = []int{128, 256, 512, 1024, 2048, 4096}

// setMaxRead sets the size with setpci, which changes only these bits.
func setMaxRead(m *Machine, ctx context.Context, d *device, want, _ Value) error {
	for n, size := range readRequests {
		if size != *want.Number {
			continue
		}
		if m.Tools == nil {
			return ErrUnsupported
		}
		ctx, cancel := context.WithTimeout(ctx, toolTimeout)
		defer cancel()
		res, err := m.Tools.Run(ctx, "setpci", "-s", d.pci, fmt.Sprintf("CAP_EXP+08.w=%x000:7000", n))
		switch {
		case errors.Is(err, runner.ErrNotFound):
			return hint.With(fmt.Errorf("max read request of %s: %w", d.pci, err), "install pciutils on the host")
		case err != nil:
			return err
		case res.Code != 0:
			return fmt.Errorf("setpci: exit status %d: %s", res.Code, clip(string(res.Stderr)))
		}
		return nil
	}
	return fmt.Errorf("max read request %d: %w", *want.Number, dcb.ErrInvalid)
}

func readMaxRead(m *Machine, _ context.Context, d *device) (Value, error) {
	n, err := m.maxRead(d)
	return Value{Number: &n}, err
}
