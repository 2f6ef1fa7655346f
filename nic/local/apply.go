package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Deadlines of a step. A firmware step reads a card three times and writes it once; its tool has
// deadlines of its own. A step that uses nicctl runs it about ten times, each time for all cards.
const (
	stepTimeout      = 30 * time.Second
	nicctlTimeout    = 3 * time.Minute
	firmwareTimeout  = 15 * time.Minute
	functionsTimeout = 3 * time.Minute // the driver is loaded for every VF or SF
)

func timeoutOf(driver, field string) time.Duration {
	switch {
	case field == nic.FieldNV:
		return firmwareTimeout
	case isAMD(driver, field):
		return nicctlTimeout
	case field == nic.FieldVFs, field == nic.FieldSFs:
		return functionsTimeout
	}
	return stepTimeout
}

// Timeout returns the time limit of a step. Reading back, which also happens after its context has
// ended, may take as long again. Waiting for a link is not included.
func (s Step) Timeout() time.Duration { return timeoutOf(s.Driver, s.Field) }

// Timeout is like [Step.Timeout]; without a driver it returns the timeout for the slowest one.
func (s UndoStep) Timeout() time.Duration {
	return timeoutOf(cmp.Or(s.Driver, nic.DriverIonic), s.Field)
}

// Undo is the undo record of an Apply. Encoded as JSON, it can be used by another process on the
// same machine.
type Undo struct {
	// Steps holds the previous values, in the order in which they were changed.
	Steps []UndoStep `json:"steps"`
}

// UndoStep is the previous value of a port's field.
type UndoStep struct {
	Port   string `json:"port"`
	Field  string `json:"field"`
	Driver string `json:"driver,omitempty"`
	Old    Value  `json:"old"`
}

// Apply carries out the steps that are not blocked, one after the other. Each step reads first,
// writes if the value differs from the wanted one, and reads again: a driver that reports success
// and does nothing yields ErrIgnored. After a step that takes a link down, Apply waits for the
// link, and stops with ErrCarrier if it does not come back. It calls progress, which may be nil,
// before each step. If the rdma_cm module cannot be loaded, Apply skips only the defaults of
// RDMA-CM and returns ErrNoCM.
//
// Any other failure stops Apply, as does the end of ctx between two steps. The Undo holds what was
// changed until then; if it is not empty, the error also wraps ErrPartial.
func (m *Machine) Apply(ctx context.Context, steps []Step, progress func(i, n int, s Step)) (Undo, error) {
	var u Undo
	m.choose()
	todo := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Blocked != "" })
	// Load the module before a step takes a link down.
	var noCM error
	if slices.ContainsFunc(todo, func(s Step) bool { return nic.OfCM(s.Field) }) {
		if err := m.LoadCM(ctx); err != nil {
			noCM = fmt.Errorf("%w: %w", ErrNoCM, err)
		}
	}
	before, run := map[string]map[string]Value{}, m.marked()
	partly := func(err error) error {
		if len(u.Steps) == 0 {
			return err
		}
		return fmt.Errorf("%w: %s changed: %w", ErrPartial, words.Count(len(u.Steps), "setting"), err)
	}
	for i, s := range todo {
		if err := ctx.Err(); err != nil {
			return u, partly(fmt.Errorf("stopped before step %d of %d: %w", i+1, len(todo), err))
		}
		if noCM != nil && nic.OfCM(s.Field) {
			continue
		}
		if progress != nil {
			progress(i, len(todo), s)
		}
		if before[s.Port] == nil {
			before[s.Port] = m.snapshot(ctx, s.Port, todo)
		}
		old, changed, err := m.step(ctx, s.Port, s.Field, s.Want)
		if changed {
			u.remember(s, s.Field, old, before[s.Port])
			if ets, ok := before[s.Port][nic.FieldETS]; ok && resets(s.Driver, s.Field) {
				u.remember(s, nic.FieldETS, ets, nil)
			}
		}
		if err != nil {
			return u, partly(err)
		}
		m.recordLeft(run, s.Port, s.Field, s.Want)
	}
	return u, noCM
}

// snapshot reads the values that the steps of a port will change, before the first of them runs,
// because one step may disturb what a later one sets. Values that cannot be read are omitted; their
// own step reads them again.
func (m *Machine) snapshot(ctx context.Context, port string, steps []Step) map[string]Value {
	out := map[string]Value{}
	d, err := m.device(port)
	if err != nil {
		return out
	}
	read := func(field string) {
		if o, ok := opOf(d, field); ok {
			if v, err := o.read(m, ctx, d); err == nil {
				out[field] = v
			}
		}
	}
	for _, s := range steps {
		if s.Port != port {
			continue
		}
		read(s.Field)
		if resets(d.driver, s.Field) {
			read(nic.FieldETS)
		}
	}
	return out
}

// remember adds the previous value of a field on the step's port: the value from before all steps
// if known, or else the one from before this step. Only the first value of a field is kept.
func (u *Undo) remember(of Step, field string, old Value, before map[string]Value) {
	if slices.ContainsFunc(u.Steps, func(s UndoStep) bool { return s.Port == of.Port && s.Field == field }) {
		return
	}
	if v, ok := before[field]; ok {
		old = v
	}
	u.Steps = append(u.Steps, UndoStep{of.Port, field, of.Driver, old})
}

// step carries out one change, and waits for the link if the change may take it down.
func (m *Machine) step(ctx context.Context, port, field string, want Value) (old Value, changed bool, err error) {
	d, err := m.device(port)
	if err != nil {
		return old, false, m.explained(err, "%s of %s", clip(field), clip(port))
	}
	sctx, cancel := context.WithTimeout(ctx, timeoutOf(d.driver, field))
	defer cancel()
	before := m.watch(d, field)
	old, changed, err = m.change(sctx, d, field, want)
	if err != nil {
		return old, changed, m.explained(err, "%s of %s", clip(field), port)
	}
	if changed && before.up {
		err = m.comeBack(ctx, d, before)
	}
	return old, changed, err
}

// link is the state of a link before a step.
type link struct {
	up      bool
	changes int64
}

func (m *Machine) watch(d *device, field string) link {
	if !bounces(d.driver, field) {
		return link{}
	}
	up, err := m.carrier(d.name)
	n, cerr := m.number(m.sysNet(d.name, "carrier_changes"))
	return link{up: err == nil && cerr == nil && up, changes: n}
}

// pollEvery is how often the state of a link is checked.
const pollEvery = 50 * time.Millisecond

// comeBack waits until a link that was up is up again. The kernel reports a link as down only when
// the firmware has told it, which happens after the write has returned. A link that has not gone
// down after a while is assumed to stay up.
func (m *Machine) comeBack(ctx context.Context, d *device, before link) error {
	settle, wait := cmp.Or(m.Settle, defaultSettle), cmp.Or(m.CarrierWait, defaultCarrierWait)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	start := time.Now()
	for {
		up, err := m.carrier(d.name)
		n, cerr := m.number(m.sysNet(d.name, "carrier_changes"))
		if err := errors.Join(err, cerr); err != nil {
			return m.explained(err, "the link of %s after the step", d.name)
		}
		again := n >= before.changes+2
		if up && m.inBond(d) && (again || time.Since(start) >= settle) {
			return nil
		}
		if time.Since(start) >= wait {
			return fmt.Errorf("%s: %w within %s", d.name, ErrCarrier, wait)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the link of %s: %w", d.name, ctx.Err())
		}
	}
}

// inBond reports whether a bond uses its member again; it is true for a port that is in no bond
// (Linux, Documentation/networking/bonding.rst).
func (m *Machine) inBond(d *device) bool {
	s, err := m.text(m.sysNet(d.name, "bonding_slave", "mii_status"))
	return err != nil || s == "up"
}

// Revert writes back the values that an Apply found, in the order that the drivers need, and waits
// for links like Apply. It does not write values that are already restored. It may be called again,
// also by another process. If a step fails, the others still run; the error names each failure. A
// record that this package cannot have made is rejected as a whole.
//
// On mlx5, a DSCP that was not listed cannot be restored completely: the driver gives it priority 0
// when it is removed from the list.
func (m *Machine) Revert(ctx context.Context, u Undo) error {
	if err := u.Check(nil); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	m.choose()
	run := m.marked()
	var ports []string
	var errs []error
	for _, s := range slices.Backward(u.Steps) {
		if !slices.Contains(ports, s.Port) {
			ports = append(ports, s.Port)
		}
	}
	for _, port := range ports {
		d, err := m.device(port)
		if err != nil {
			errs = append(errs, m.explained(err, "restore %s", clip(port)))
			continue
		}
		for _, field := range orderOf(d.driver, true) {
			// The first record of a field holds the value from before the run.
			i := slices.IndexFunc(u.Steps, func(s UndoStep) bool { return s.Port == port && s.Field == field })
			if i < 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return errors.Join(append(errs, fmt.Errorf("stopped before %s of %s was restored: %w", field, port, err))...)
			}
			if _, _, err := m.step(ctx, port, field, u.Steps[i].Old); err != nil {
				errs = append(errs, fmt.Errorf("restore: %w", err))
				continue
			}
			m.recordLeft(run, port, field, u.Steps[i].Old)
		}
	}
	return errors.Join(errs...)
}
