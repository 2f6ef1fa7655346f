package eos

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// saved creates the driver for a saved configuration.
func saved(text []byte, t drivers.Target) (*drivers.Saved, error) {
	cfg, err := native.Parse(text)
	if err != nil {
		return nil, err
	}
	cfg.Whole = t.Whole
	id := identify(text)
	f := drivers.Facts{OS: "eos", Release: cmp.Or(t.Release, id.Release), Model: cmp.Or(id.Model, t.Model)}
	f.ASIC, _ = native.FamilyOf(f.Model)
	kw, ok := native.KeywordOf(cfg)
	if !ok {
		kw, _ = native.KeywordForModel(f.Model)
	}
	d := newDriver(t)
	d.way = &shellWay{drivers.NewShell(ssh.Config{}, platform)} // never connects
	return &drivers.Saved{SwitchDriver: d, Facts: f, Snapshot: &drivers.Snapshot{Native: &snapshot{cfg: cfg, kw: kw}}}, nil
}
