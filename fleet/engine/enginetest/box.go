// Package enginetest has a simple device for tests of runs.
package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Box is an in-memory device with one value, the PFC mask of a port.
type Box struct {
	Mask     qos.PrioritySet
	ApplyErr error
	// Half makes Apply write nothing; inForce is the result of Applied after the write.
	Half    bool
	InForce []drivers.Mismatch
	// Dark holds the errors of Applied before and after the write.
	Dark      [2]error
	RevertErr error
	Late      int // number of reads that still show the old value
	Calls     []string
	During    func() // called in the middle of Apply
	Ended     []string
	Unit      string
}

func (b *Box) Probe(context.Context) (drivers.Facts, error) {
	return drivers.Facts{Unit: drivers.UnitOf(b.Unit, "")}, nil
}

func (b *Box) Read(context.Context) (*drivers.Snapshot, error) {
	if len(b.Calls) > 0 && b.Late > 0 {
		b.Late--
		return &drivers.Snapshot{Native: qos.Priorities(3, 4)}, nil
	}
	return &drivers.Snapshot{Native: b.Mask}, nil
}

func (b *Box) Digest(s *drivers.Snapshot, _ drivers.Desired) string {
	return s.Native.(qos.PrioritySet).String()
}

func (b *Box) Plan(_ drivers.Facts, s *drivers.Snapshot, _ drivers.Desired, _ drivers.Policy) (*drivers.Steps, error) {
	if s.Native == qos.Priorities(3) {
		return &drivers.Steps{}, nil
	}
	return &drivers.Steps{Base: b.Digest(s, nil), Items: []drivers.Step{{Via: "gnmi"}}, Changes: []qos.Change{{Field: qos.KindPFC.Attr(), Impact: qos.ImpactPortFlap}}}, nil
}

func (b *Box) Apply(ctx context.Context, s *drivers.Snapshot, _ *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	b.Calls = append(b.Calls, "apply")
	t := &drivers.Token{Device: "leaf1", Native: json.RawMessage(`8`)}
	if err := o.Token(t); err != nil {
		return nil, err
	}
	o.Progress(0, 1, drivers.Step{})
	if b.During != nil {
		b.During()
	}
	if !b.Half {
		b.Mask = qos.Priorities(3)
	}
	return t, errors.Join(b.ApplyErr, ctx.Err())
}

func (b *Box) Inherit(runs []string) { b.Ended = runs }

func (b *Box) Confirm(context.Context, *drivers.Token) error {
	b.Calls = append(b.Calls, "confirm")
	return nil
}

func (b *Box) Revert(ctx context.Context, _ *drivers.Token) error {
	b.Calls = append(b.Calls, "revert")
	if b.RevertErr == nil && ctx.Err() == nil {
		b.Mask = qos.Priorities(3, 4)
	}
	return errors.Join(b.RevertErr, ctx.Err())
}

func (b *Box) Applied(context.Context, drivers.Desired) ([]drivers.Mismatch, error) {
	if slices.Contains(b.Calls, "apply") {
		return b.InForce, b.Dark[1]
	}
	return nil, b.Dark[0]
}

func (b *Box) Close() error { b.Calls = append(b.Calls, "close"); return nil }

// Holding returns the state of a box with a value.
func Holding(m qos.PrioritySet) *qos.Device {
	return &qos.Device{Ports: map[string]*qos.Port{"Ethernet0": {PFC: qos.Of(m)}}}
}
