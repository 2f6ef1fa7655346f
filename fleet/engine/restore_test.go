package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine/enginetest"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// rollBack rolls back a run without a gate, with the journal in s.
func rollBack(ctx context.Context, devices []Device, u *Undo, s store.Store) (*Result, error) {
	r := NewRun(devices, Options{Store: s})
	if err := r.Begin(u.ID, nil, nil, AuditRecord{}); err != nil {
		return nil, err
	}
	outs, err := r.Rollback(ctx, u, u.Rollout(rollout.GateOff).Waves)
	res, err := r.End(outs, err)
	return res, errors.Join(err, r.Close())
}

func TestRollbackOrderAndFailures(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "run1", false, entry{}, slices.Concat(wrote("a", Applied), wrote("b", Applied), wrote("c", Applied))...)
	boxes := map[string]*enginetest.Box{"a": {Mask: qos.Priorities(3)}, "b": {Mask: qos.Priorities(3), RevertErr: errors.New("stuck")}, "c": {Mask: qos.Priorities(3)}}
	var order []string
	var devices []Device
	for name, b := range boxes {
		devices = append(devices, Device{Name: name, Desired: func() drivers.Desired { return enginetest.Holding(0) }, Open: func(context.Context) (drivers.Driver, error) {
			order = append(order, name)
			return b, nil
		}})
	}
	u, err := Find(t.Context(), devices, FindOptions{Store: store.Dir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	order, boxes["a"].Calls = nil, nil
	other := store.Dir(t.TempDir())
	res, err := rollBack(t.Context(), devices, u, other)
	if err != nil {
		t.Fatal(err)
	}
	var states []State
	for _, o := range res.Outcomes {
		states = append(states, o.State)
	}
	if !slices.Equal(order, []string{"c", "b", "a"}) || !slices.Equal(states, []State{Restored, Partial, Restored}) || !res.InPart() {
		t.Errorf("order %v, states %v", order, states)
	}
	if boxes["a"].Mask != qos.Priorities(3, 4) || !slices.Equal(boxes["a"].Calls, []string{"revert", "close"}) {
		t.Errorf("a: %v %v", boxes["a"].Mask, boxes["a"].Calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	order = nil
	if res, err := rollBack(ctx, devices, u, other); err != nil || res.Outcomes[0].State != Skipped || len(order) > 0 {
		t.Errorf("after Ctrl-C: %v, %v, opened %v", res, err, order)
	}
	// A run is not rolled back if the intent no longer has one of its devices.
	_, err = Find(t.Context(), devices[:2], FindOptions{Store: store.Dir(dir)})
	if e := (*Error)(nil); !errors.As(err, &e) || e.Kind != KindNoDevice || e.Device != devices[2].Name {
		t.Errorf("without %s: %v", devices[2].Name, err)
	}
	if u, err := Find(t.Context(), devices[:2], FindOptions{Store: store.Dir(dir), Among: func(name string) bool { return name != devices[2].Name }}); err != nil || len(u.Devices) != 2 {
		t.Errorf("of two devices: %v, %v", u, err)
	}
}
