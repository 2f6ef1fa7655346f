package local

import (
	"context"
	"fmt"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Before reads the current values of the settings that steps change: an undo record for all of
// them, to be saved before the first step runs. Revert accepts it like the record of Apply, even if
// only some of the steps were carried out. A setting that cannot be read is omitted, because its
// step fails before it writes. Before writes no setting, but it loads the rdma_cm module if a step
// needs it, because without it there is nothing to read. It returns an error only if ctx ends.
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
		if v, err := m.currentValue(ctx, d, s); err == nil {
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

// currentValue reads the current value of a step's setting.
func (m *Machine) currentValue(ctx context.Context, d *device, s Step) (Value, error) {
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

// heldNV reads the next-boot values of the firmware settings that a step changes.
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
