package nxos

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// saved creates the driver for a saved configuration.
func saved(text []byte, t drivers.Target) (*drivers.Saved, error) {
	cfg, err := native.Parse(text)
	if err != nil {
		return nil, err
	}
	s := &snapshot{cfg: cfg}
	m, ok := native.ModelOf(cfg.String())
	s.m, s.guessed = m, !ok
	f := drivers.Facts{OS: "nxos", Release: cmp.Or(t.Release, identify(text).Release), Model: t.Model}
	return &drivers.Saved{SwitchDriver: newDriver(t), Facts: f, Snapshot: &drivers.Snapshot{Native: s}}, nil
}
