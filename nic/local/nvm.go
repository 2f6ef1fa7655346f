package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
	"github.com/roce-fabric/roce-fabric/nic/niccli"
)

// Values of an option in the NVM of a Broadcom card.
const (
	nvmOn  = "True"
	nvmOff = "False"
)

func nvmText(on bool) string {
	if on {
		return nvmOn
	}
	return nvmOff
}

// writesNV reports whether a firmware setting is one that this tool writes.
func writesNV(name string) bool { return mlxconfig.Writes(name) || name == niccli.SupportRDMA }

// readNVM reads the RDMA option of Broadcom's cards if niccli is installed. The current value is on
// if there is an RDMA device, which the bnxt_re module creates for every card with the option, or
// the auxiliary device that the driver creates for that module since Linux 6.3 (bnxt_ulp.c,
// bnxt_rdma_aux_device_init). It is off if there is neither although the module is loaded, and
// otherwise not known.
func (m *Machine) readNVM(ctx context.Context, ports []*nic.Port) {
	tool, err := niccli.Find(ctx, m.Tools)
	for _, p := range ports {
		var on bool
		why := err
		if why == nil {
			on, why = tool.Get(ctx, p.PCI, niccli.SupportRDMA)
		}
		switch {
		case errors.Is(why, niccli.ErrNoTool):
			p.Missing[nic.FieldNV] = nic.NotInDriver
			continue
		case why != nil:
			p.Missing[nic.FieldNV] = m.explainError(why)
			continue
		}
		v := nic.NV{Next: nvmText(on)}
		switch {
		case p.RDMA != "" || m.offersRDMA(p.Name):
			v.Current = nvmOn
		case m.has(m.sys("module", "bnxt_re")):
			v.Current = nvmOff
		}
		p.NV = map[string]nic.NV{niccli.SupportRDMA: v}
	}
}

// offersRDMA reports whether a NIC's driver has an auxiliary device for RDMA.
func (m *Machine) offersRDMA(ifname string) bool {
	names, err := m.list(m.sys("class", "net", ifname, "device"))
	return err == nil && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "bnxt_en.rdma.") })
}

// nvmOf reads the NVM option of a Broadcom card that a step changes.
func (m *Machine) nvmOf(ctx context.Context, d *device, want Value) (*niccli.Tool, bool, error) {
	if len(want.NV) != 1 || want.NV[niccli.SupportRDMA] == "" {
		return nil, false, fmt.Errorf("firmware settings of a Broadcom card: %w", ErrUnsupported)
	}
	if m.Tools == nil {
		return nil, false, niccli.ErrNoTool
	}
	tool, err := niccli.Find(ctx, m.Tools)
	if err != nil {
		return nil, false, err
	}
	on, err := tool.Get(ctx, d.pci, niccli.SupportRDMA)
	return tool, on, err
}

// heldNVM does for a Broadcom card what [Machine.heldNV] does for others.
func (m *Machine) heldNVM(ctx context.Context, d *device, want Value) (Value, error) {
	_, on, err := m.nvmOf(ctx, d, want)
	if err != nil {
		return Value{}, err
	}
	return Value{NV: map[string]string{niccli.SupportRDMA: nvmText(on)}}, nil
}

// changeNVM does for a Broadcom card what [Machine.changeNV] does for others.
func (m *Machine) changeNVM(ctx context.Context, d *device, want Value) (old Value, changed bool, err error) {
	tool, on, err := m.nvmOf(ctx, d, want)
	if err != nil {
		return old, false, err
	}
	old.NV = map[string]string{niccli.SupportRDMA: nvmText(on)}
	wanted := mlxconfig.ParseValue(want.NV[niccli.SupportRDMA])
	if wanted.Same(mlxconfig.ParseValue(nvmText(on))) {
		return old, false, nil
	}
	err = tool.Set(ctx, d.pci, niccli.SupportRDMA, !on)
	return old, !errors.Is(err, niccli.ErrIgnored), err
}
