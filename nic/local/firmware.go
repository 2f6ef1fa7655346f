package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// maxQueries is how many cards are queried at once; each query takes 10 to 20 seconds.
const maxQueries = 4

// readFirmware reads the firmware settings into the ports. It queries each NVIDIA card once.
func (m *Machine) readFirmware(ctx context.Context, h *nic.Host) {
	cards := map[string][]*nic.Port{} // by PCI address without the function
	var broadcom []*nic.Port
	for _, name := range natural.Keys(h.Ports) {
		p := h.Ports[name]
		switch {
		case p.Driver == nic.DriverBNXT && p.PCI != "" && !p.VF && !m.NoFirmware && m.Tools != nil:
			broadcom = append(broadcom, p)
		case p.Driver != nic.DriverMLX5:
			p.Missing[nic.FieldNV] = nic.NotInDriver
		case p.PCI == "" || p.VF:
			p.Missing[nic.FieldNV] = "firmware settings belong to the physical function"
		case m.NoFirmware:
			p.Missing[nic.FieldNV] = "not read"
		case m.Tools == nil:
			p.Missing[nic.FieldNV] = "no program can be run"
		default:
			cards[nic.Card(p.PCI)] = append(cards[nic.Card(p.PCI)], p)
		}
	}
	if len(broadcom) > 0 {
		m.readNVM(ctx, broadcom)
	}
	if len(cards) == 0 {
		return
	}
	tool, err := mlxconfig.Find(ctx, m.Tools)
	if err != nil {
		for _, ports := range cards {
			m.missNV(ports, err)
		}
		return
	}
	var g errgroup.Group
	g.SetLimit(maxQueries)
	for _, card := range natural.Keys(cards) {
		g.Go(func() error {
			m.readCard(ctx, tool, cards[card])
			return nil
		})
	}
	_ = g.Wait() // the functions never return an error
}

func (m *Machine) missNV(ports []*nic.Port, err error) {
	why := m.hinted(err)
	for _, p := range ports {
		p.Missing[nic.FieldNV] = why
	}
}

func (m *Machine) readCard(ctx context.Context, tool *mlxconfig.Tool, ports []*nic.Port) {
	cfg, err := m.queryCard(ctx, tool, ports[0].PCI)
	if err != nil {
		m.missNV(ports, err)
		return
	}
	nv := map[string]nic.NV{}
	for name, v := range cfg.Params {
		nv[name] = nic.NV{Default: knownValue(v.Default), Current: knownValue(v.Current), Next: knownValue(v.Next), ReadOnly: v.ReadOnly}
	}
	for _, p := range ports {
		p.NV, p.Card, p.CardPort = maps.Clone(nv), cfg.Type, m.cardPort(p, cfg.Ports())
	}
}

func knownValue(v mlxconfig.Value) string {
	if !v.Known() {
		return ""
	}
	return v.String()
}

// queryCard queries a card by its PCI address, or by its fwctl device if the kernel is locked down
// and blocks access by address.
func (m *Machine) queryCard(ctx context.Context, tool *mlxconfig.Tool, pci string) (*mlxconfig.Config, error) {
	dev := ""
	if m.lockedDown() {
		var err error
		if dev, err = mlxconfig.Fwctl(m.sys(), pci); err != nil {
			return nil, err
		}
	}
	return tool.Query(ctx, cmp.Or(dev, pci))
}

// cardPort returns which physical port of its card a port is; 0 if not known. It uses the driver's
// name for the port ("p1" is the second one), or the card's only port, or, on a card with several
// ports, the PCI function number.
func (m *Machine) cardPort(p *nic.Port, ports int) int {
	if s, err := m.text(m.sysNet(p.Name, "phys_port_name")); err == nil {
		if n, ok := decimal(strings.TrimPrefix(s, "p")); ok && strings.HasPrefix(s, "p") && n < int64(ports) {
			return int(n) + 1
		}
	}
	if ports == 1 {
		return 1
	}
	_, fn, _ := strings.Cut(p.PCI, ".")
	if n, ok := decimal(fn); ok && n < int64(ports) {
		return int(n) + 1
	}
	return 0
}

// changeNV stores firmware settings for the next boot. changed reports whether the card holds, or
// may hold, a new value.
func (m *Machine) changeNV(ctx context.Context, d *device, want Value) (old Value, changed bool, err error) {
	if len(want.NV) == 0 {
		return old, false, fmt.Errorf("no firmware settings: %w", ErrUnsupported)
	}
	if d.driver == nic.DriverBNXT {
		return m.changeNVM(ctx, d, want)
	}
	for name := range want.NV {
		if !mlxconfig.Writes(name) {
			return old, false, fmt.Errorf("firmware setting %q: %w", clip(name), ErrUnsupported)
		}
	}
	tool, cfg, err := m.ownCard(ctx, d)
	if err != nil {
		return old, false, err
	}
	old.NV = map[string]string{}
	var todo []mlxconfig.Change
	for _, ch := range mlxconfig.Plan(cfg, want.NV) {
		switch ch.Kind {
		case mlxconfig.Program:
			todo = append(todo, ch)
			old.NV[ch.Name] = ch.Next.String()
		case mlxconfig.Unsupported, mlxconfig.ReadOnly, mlxconfig.Unreadable:
			return old, false, fmt.Errorf("%s: %w: %s", ch.Name, ErrUnsupported, ch.Why)
		}
	}
	if len(todo) == 0 {
		return old, false, nil
	}
	written, err := tool.Set(ctx, cfg.Device, todo)
	return old, len(written) > 0 || errors.Is(err, mlxconfig.ErrPartial), err
}

// ownCard queries the card of a port.
func (m *Machine) ownCard(ctx context.Context, d *device) (*mlxconfig.Tool, *mlxconfig.Config, error) {
	if m.Tools == nil {
		return nil, nil, mlxconfig.ErrNoTool
	}
	if d.pci == "" {
		return nil, nil, fmt.Errorf("%s has no PCI address: %w", d.name, ErrUnsupported)
	}
	tool, err := mlxconfig.Find(ctx, m.Tools)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := m.queryCard(ctx, tool, d.pci)
	return tool, cfg, err
}
