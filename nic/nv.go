package nic

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
	"github.com/roce-fabric/roce-fabric/nic/niccli"
)

// ErrCardPort is returned if it is not known which physical port of its card an interface is, and
// therefore which firmware settings belong to it.
var ErrCardPort = errors.New("the physical port of the card is not known")

// Card returns the card's PCI address without the function number: "0000:3b:00" for "0000:3b:00.1".
func Card(pci string) string {
	card, _, _ := strings.Cut(pci, ".")
	return card
}

// Config returns the firmware settings of a running port in the form that [mlxconfig.Plan] takes,
// or nil if they were not read.
func (p *Port) Config() *mlxconfig.Config {
	if p.NV == nil {
		return nil
	}
	cfg := &mlxconfig.Config{Type: p.Card, Params: make(map[string]mlxconfig.Param, len(p.NV))}
	for name, v := range p.NV {
		cfg.Params[name] = mlxconfig.Param{Name: name, ReadOnly: v.ReadOnly,
			Default: mlxconfig.ParseValue(v.Default), Current: mlxconfig.ParseValue(v.Current), Next: mlxconfig.ParseValue(v.Next)}
	}
	return cfg
}

// WantedNV returns, by name and for [mlxconfig.Plan], the firmware settings that p wants on the
// card of the running port. It returns none if the card is not NVIDIA's or its settings were not
// read. Congestion control that is on for additional priorities stays on: the cards' default is all
// eight. WantedNV returns ErrCardPort if an NVIDIA card does not report its port.
func (p *Port) WantedNV(running *Port) (map[string]string, error) {
	cfg := running.Config()
	if !p.wantsNV() || cfg == nil || running.Driver != DriverMLX5 {
		return nil, nil
	}
	if !p.Wanted.Set {
		return p.relaxedNV(cfg), nil
	}
	if running.CardPort == 0 {
		return nil, ErrCardPort
	}
	s := p.Wanted.V
	s.Port = running.CardPort
	want, err := mlxconfig.Wanted(cfg, s)
	if err != nil {
		return nil, fmt.Errorf("firmware settings of %s: %w", p.Name, err)
	}
	suffix := "_P" + strconv.Itoa(s.Port)
	if !p.CNPDSCP.Set {
		delete(want, "CNP_DSCP"+suffix)
		delete(want, "CNP_DSCP_MODE"+suffix)
	}
	if !p.CNPPriority.Set {
		delete(want, "CNP_802P_PRIO"+suffix)
		delete(want, "CNP_RES_PRIO_MODE"+suffix)
	}
	mask := "ROCE_CC_PRIO_MASK" + suffix
	have := cfg.Params[mask]
	next := covers(have.Next, s.CCPriorities)
	switch {
	case next && (!have.Current.Known() || covers(have.Current, s.CCPriorities)):
		delete(want, mask)
	case next:
		want[mask] = have.Next.String()
	}
	maps.Copy(want, p.relaxedNV(cfg))
	return want, nil
}

// wantsNV reports whether a desired port wants any firmware setting.
func (p *Port) wantsNV() bool { return p.Wanted.Set || p.RelaxedOrdering.Or(false) }

// relaxedNV returns the firmware settings for relaxed ordering. Some cards list PCI_WR_ORDERING
// only once ADVANCED_PCI_SETTINGS is in force.
func (p *Port) relaxedNV(cfg *mlxconfig.Config) map[string]string {
	if !p.RelaxedOrdering.Or(false) {
		return nil
	}
	_, listed := cfg.Params[mlxconfig.RelaxedOrdering]
	_, opens := cfg.Params[mlxconfig.AdvancedPCI]
	if !listed && opens {
		return map[string]string{mlxconfig.AdvancedPCI: "1"}
	}
	return map[string]string{mlxconfig.RelaxedOrdering: "1"}
}

func covers(v mlxconfig.Value, s qos.PrioritySet) bool {
	return v.Numbered && v.Number&uint64(s) == uint64(s)
}

// RDMAOff reports whether the NVM of a Broadcom card leaves it without an RDMA device.
func (p *Port) RDMAOff() bool {
	v, read := p.NV[niccli.SupportRDMA]
	return read && !isOn(v.Next)
}

// waitsForRDMA reports whether a Broadcom card has no RDMA device now and will have one after the
// next boot.
func (p *Port) waitsForRDMA() bool {
	v, read := p.NV[niccli.SupportRDMA]
	return read && p.RDMA == "" && isOn(v.Next) && !isOn(v.Current)
}

func isOn(v string) bool { return mlxconfig.ParseValue(v).Same(mlxconfig.ParseValue("True")) }

// nvm compares the NVM option that a Broadcom card needs for an RDMA device.
func (d *differ) nvm() {
	v, read := d.have.NV[niccli.SupportRDMA]
	switch {
	case !d.want.ToS.Set, !read && d.missing[FieldNV] == "": // no RDMA settings are wanted, or the option was not looked for
	case !read:
		d.unknown(FieldNV, "with RDMA")
	default:
		c := Change{Field: nvField(niccli.SupportRDMA), Kind: KindNotProgrammed, Old: clean(v.Next), New: "True", After: "a reboot of the host loads them"}
		if isOn(v.Next) {
			c.Kind, c.Old = KindResetPending, cmp.Or(clean(v.Current), "unknown")
			if isOn(v.Current) {
				return
			}
		}
		d.add(c)
	}
}

func (d *differ) nv() {
	have, want := d.have, d.want
	if have.Driver == DriverBNXT {
		d.nvm()
		return
	}
	if !want.wantsNV() || have.Driver != DriverMLX5 {
		return
	}
	if have.NV == nil {
		d.unknown(FieldNV, "as the intent says")
		return
	}
	wanted, err := want.WantedNV(have)
	if err != nil {
		d.add(Change{Field: FieldNV, Kind: KindUnknown, Old: qos.Absent, New: "as the intent says", Blocked: err.Error()})
		return
	}
	for _, ch := range mlxconfig.Plan(have.Config(), wanted) {
		c := Change{Field: nvField(ch.Name), Kind: KindUnknown, Old: clean(ch.Next.String()), New: ch.Want.String(), After: clean(ch.Reset), Blocked: clean(ch.Why)}
		if ch.Name == mlxconfig.AdvancedPCI {
			c.After = strings.TrimPrefix(c.After+"; then apply again: the card lists "+mlxconfig.RelaxedOrdering+" only after that", "; ")
		}
		switch ch.Kind {
		case mlxconfig.Program, mlxconfig.ReadOnly:
			c.Kind = KindNotProgrammed
		case mlxconfig.ResetPending:
			c.Kind, c.Old = KindResetPending, clean(ch.Current.String())
		default:
			if !ch.Next.Known() {
				c.Old = qos.Absent
			}
		}
		d.add(c)
	}
}
