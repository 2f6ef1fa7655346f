package sonic

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// CheckSteps returns an error, with the place, if a step could not be part of a plan of this
// driver. It also returns the impact of the steps.
func (d *driver) CheckSteps(items []drivers.Step, managed func(port string) bool) (qos.Impact, error) {
	steps, err := d.steps(items, managed)
	if slices.ContainsFunc(steps, native.Step.Flaps) {
		return qos.ImpactPortFlap, nil
	}
	return qos.ImpactNone, err
}

// CheckUndo does the same for an undo record. If the config updater is the only transport, it takes
// down each port that rows are bound to.
func (d *driver) CheckUndo(t *drivers.Token, managed func(port string) bool) (qos.Impact, error) {
	u, err := d.undo(t, managed)
	if err == nil && u.Binds() && (d.t.SSH == nil || d.t.Write == intent.WriteGNMI) {
		return qos.ImpactPortFlap, nil
	}
	return qos.ImpactNone, err
}

// undo reads a token and rejects tokens that Apply could not have made; nil gives an empty record.
func (d *driver) undo(t *drivers.Token, managed func(port string) bool) (native.Undo, error) {
	var u native.Undo
	if t == nil {
		return u, nil
	}
	if err := t.Read(d.t.Name, &u); err != nil {
		return u, err
	}
	return u, u.Check(managed)
}

// batch is the native part of a step: ops that are sent as one request.
type batch struct {
	Ops []native.Op `json:"ops"`
}

// steps reads the steps of a plan, which may come from a file.
func (d *driver) steps(items []drivers.Step, managed func(port string) bool) ([]native.Step, error) {
	out := make([]native.Step, len(items))
	for i, s := range items {
		var b batch
		err := json.Unmarshal(s.Native, &b)
		out[i] = native.Step{Via: s.Via, What: s.What, Down: s.Down, Up: s.Up, Ops: b.Ops}
		if err == nil {
			err = out[i].Check(managed)
		}
		if err != nil {
			return nil, fmt.Errorf("step %d of the plan: %w", i+1, err)
		}
	}
	return out, nil
}
