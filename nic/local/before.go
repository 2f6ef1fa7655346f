package local

import (
	"context"
	"fmt"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Before reads what the settings of steps hold: the undo record of all of them,
// for a record that is written before the first. Revert takes it as it takes
// that of Apply, also where only some of the steps were carried out. A setting
// that cannot be read is left out: its step fails before it writes. No setting is
// written, but the module rdma_cm is loaded where a step needs it: without it there
// is nothing to read. The error is the end of ctx.
func (m *Machine) Before(ctx context.Context, steps []Step) (Undo, error) {
	var u Undo
	m.choose()
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return Undo{}, fmt.Errorf("read what is there: %w", err)
		}
		if s.Blocked != "" {
			continue
		}
		d, err := m.device(s.Port)
		if err != nil {
			continue
		}
		if v, err := m.held(ctx, d, s); err == nil {
			u.remember(s, s.Field, v, nil)
		}
		if resets(d.driver, s.Field) {
			if v, err := ops[nic.FieldETS].read(m, ctx, d); err == nil {
				u.remember(s, nic.FieldETS, v, nil)
			}
		}
	}
	return u, nil
}

// held reads the setting of a step.
func (m *Machine) held(ctx context.Context, d *device, s Step) (Value, error) {
	if s.Field == nic.FieldNV {
		return m.heldNV(ctx, d, s.Want)
	}
	o, ok := opOf(d, s.Field)
	if !ok {
		return Value{}, ErrUnsupported
	}
	if nic.OfCM(s.Field) {
		if err := m.LoadCM(ctx); err != nil {
			return Value{}, err
		}
	}
	return o.read(m, ctx, d)
}

// heldNV reads the firmware settings of the next boot that a step is about.
func (m *Machine) heldNV(ctx context.Context, d *device, want Value) (Value, error) {
	if d.driver == nic.DriverBNXT {
		return m.heldNVM(ctx, d, want)
	}
	_, cfg, err := m.ownCard(ctx, d)
	if err != nil {
		return Value{}, err
	}
	old := Value{NV: map[string]string{}}
	for _, ch := range mlxconfig.Plan(cfg, want.NV) {
		if ch.Kind == mlxconfig.Program {
			old.NV[ch.Name] = ch.Next.String()
		}
	}
	return old, nil
}
