package sonic

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Differences returns the rows that the steps of a plan change.
func (d *driver) Differences(s *drivers.Snapshot, st *drivers.Steps) (before, after string, err error) {
	steps, err := d.steps(st.Items, nil)
	if err != nil {
		return "", "", err
	}
	var ops []native.Op
	for _, step := range steps {
		ops = append(ops, step.Ops...)
	}
	cfg := config(s)
	before, after = native.Compared(cfg, cfg.After(ops))
	return before, after, nil
}

// booted holds a saved configuration, and the configuration of a switch that has started from it.
type booted struct{ saved, running native.Config }

// saved creates the driver for a switch whose configuration was saved. All transports are allowed,
// because the plan will not be applied.
func saved(text []byte, t drivers.Target) (*drivers.Saved, error) {
	cfg, err := read(text)
	if err != nil {
		return nil, err
	}
	d := &driver{t: t, direct: true, unjudged: "the switch was not asked"}
	f := drivers.Facts{OS: "sonic", Version: t.Release, Model: cmp.Or(identify(text).Model, t.Model), Caps: drivers.Caps{Writes: []string{"gnmi", "ssh"}}}
	rel, ok := native.ReleaseOf(cmp.Or(t.Release, cfg.Row("VERSIONS", "DATABASE")["VERSION"]))
	if !ok {
		rel = native.Newest()
	}
	f.Release = rel.Name
	m, ok := catalog.Lookup(f.Model)
	if ok && m.ASIC() != nil {
		d.maker, f.ASIC = m.ASIC().Vendor, m.GCU
	}
	if ok {
		d.publishedHeadroom(m)
	}
	return &drivers.Saved{SwitchDriver: d, Facts: f, Snapshot: &drivers.Snapshot{Native: &booted{cfg, native.Booted(cfg, m)}}, MayDerive: native.MayDerive(cfg, m)}, nil
}
