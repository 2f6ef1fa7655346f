package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// A run continues an earlier run that was cut off or stopped if it finishes the work of that
// run. Both are then rolled back together. If the earlier run was cut off in the middle of a
// device, the undo record of the later run leads to the state before the earlier run.

// Undo is a run that can be rolled back, with the devices on which its writes, or those of
// the runs that it continued, still stand, in the order in which they were changed.
type Undo struct {
	*Past
	Devices []PastDevice

	waves []rollout.Wave // waves of all these runs
	of    map[string]Device
	costs map[string]cost

	// Fields for [find]: next is the next older of these runs, by the run that continues it,
	// and half holds the devices at which a rollback was cut off.
	next string
	by   *Past
	half map[string]bool
}

// cost is what the rollback of a device disturbs: least is the impact of its undo records
// alone, impact the total impact, down the number of ports that go down.
type cost struct {
	least, impact qos.Impact
	down          int
}

// runs returns the runs that wrote to the device and are rolled back together, newest first.
func (d PastDevice) runs() []PastDevice { return slices.Insert(slices.Clone(d.before), 0, d) }

// first returns the oldest of the runs that are rolled back together.
func (d PastDevice) first() *Past {
	runs := d.runs()
	return runs[len(runs)-1].of
}

// tokens reads the undo records that restore a device, in the order in which to carry them
// out. It skips a run whose undo record is included in the record of a later run that
// finished its work on the device.
func (d PastDevice) tokens() (out []*drivers.Token, _ error) {
	for _, run := range d.runs() {
		if run.included {
			continue
		}
		t, err := run.of.Token(run)
		if err != nil {
			return nil, NewError("", OpJournal, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// begun reports whether the run has started on the device.
func (d PastDevice) begun() bool { return d.touched || !d.began.IsZero() }

// halfDone reports whether the run was cut off in the middle of the device, or left it
// neither as it was nor as intended.
func (d PastDevice) halfDone() bool {
	return d.begun() && (d.State == "" || d.State == Partial)
}

// unreached returns the planned devices of a run that the run did not finish.
func (p *Past) unreached() []string {
	return slices.DeleteFunc(slices.Clone(p.planned), func(name string) bool {
		d, _ := p.device(name)
		return d.State == Applied || d.State == Unchanged || d.State == Unsaved || d.State == LeftOut
	})
}

// continued returns the ID of the run that a new run continues; "" for none. hash identifies
// the intent of the new run, devices its devices. It is the newest run that started on any
// device, if that run did not finish: it was cut off, or it stopped and had the same intent.
func continued(s store.Store, hash string, devices []string) (string, error) {
	for p, err := range Runs(s) {
		switch {
		case p == nil:
			return "", err
		case !slices.ContainsFunc(p.Devices, PastDevice.begun):
			continue
		case p.Ended && p.Intent != hash:
			return "", nil
		}
		left := p.unreached()
		if p.Of != "" {
			u, err := find(s, p.Of, nil)
			if err != nil {
				return "", nil // all devices of that run are restored
			}
			for _, d := range u.Devices {
				left = append(left, d.Name)
			}
		}
		if len(left) == 0 || slices.ContainsFunc(left, func(name string) bool { return !slices.Contains(devices, name) }) {
			return "", nil
		}
		return p.ID, nil
	}
	return "", nil
}

// isRolledBackWith reports whether a run is rolled back together with the run before it, which it
// continues. It is not if both ended and neither could write to some device: otherwise one
// device that nobody can change would tie all runs together.
func (p *Past) isRolledBackWith(before *Past) bool {
	stuck := func(p *Past, name string) bool {
		d, _ := p.device(name)
		return d.unwritten()
	}
	return !p.Ended || !before.Ended || !slices.ContainsFunc(before.unreached(), func(name string) bool { return stuck(before, name) && stuck(p, name) })
}

// search is the state of a search through the runs of a store, newest first, for the run to
// roll back.
type search struct {
	want     func(device string) bool   // devices to look at; nil for all
	restored map[string]map[string]bool // run -> devices that were restored
	later    map[string]string          // device -> a later run whose writes still stand
	by       map[string]*Past           // run -> the run that continued it
}

// standing returns the devices of a run on which its writes still stand, and records the
// devices that the run restored.
func (s *search) standing(p *Past) (left []PastDevice) {
	if n := s.by[p.ID]; n != nil && n.isRolledBackWith(p) {
		s.restore(p.ID, s.restored[n.ID])
	}
	for _, d := range p.Devices {
		switch {
		case s.want != nil && !s.want(d.Name):
		case p.Of != "" && d.State == Restored:
			s.restore(p.Of, map[string]bool{d.Name: true})
		case p.Of == "" && d.standing() && !s.restored[p.ID][d.Name]:
			left = append(left, d)
		}
	}
	if p.Of != "" {
		s.restore(p.Of, s.restored[p.ID])
	}
	if p.continues != "" {
		s.by[p.continues] = p
	}
	return left
}

func (s *search) restore(run string, devices map[string]bool) {
	if s.restored[run] == nil {
		s.restored[run] = map[string]bool{}
	}
	for name := range devices {
		s.restored[run][name] = true
	}
}

// find returns the run with the given id, or if id is "" the newest run whose writes still
// stand, with the devices on which they do and the devices of the runs that it continued. It
// considers only devices for which want returns true; nil is all. It returns an error if a
// later run changed one of the devices, because the undo record would be out of date.
func find(s store.Store, id string, want func(device string) bool) (*Undo, error) {
	at := search{want, map[string]map[string]bool{}, map[string]string{}, map[string]*Past{}}
	var out *Undo
	for p, err := range Runs(s) {
		// Use what can be read of a damaged journal if it is not the journal of the named run.
		if err != nil && (p == nil || id == "" || p.ID == id || out != nil) {
			return nil, err
		}
		left := at.standing(p)
		switch {
		case out != nil:
			if out.addOlderRun(p, left) {
				continue
			}
			return out.nonEmpty()
		case id != "" && p.ID != id:
			for _, d := range left {
				at.later[d.Name] = p.ID
			}
			continue
		case id == "" && len(left) == 0:
			continue
		case p.Of != "":
			return nil, fmt.Errorf("run %s already rolled back run %s; run apply to reapply", p.ID, p.Of)
		case len(left) == 0 && p.continues == "":
			return nil, nothingOf(p)
		}
		for _, d := range left {
			if by := at.later[d.Name]; by != "" {
				return nil, fmt.Errorf("run %s changed %s later; roll back run %s first", by, d.Name, by)
			}
		}
		out = &Undo{Past: p, Devices: left, waves: p.waves, next: p.continues, by: p, half: map[string]bool{}}
		if p.continues == "" {
			return out, nil
		}
	}
	switch {
	case out != nil:
		return out.nonEmpty()
	case id != "":
		return nil, fmt.Errorf("%w: %s has no run %s", ErrNothing, s, id)
	}
	return nil, fmt.Errorf("%w in %s", ErrNothing, s)
}

func nothingOf(p *Past) error {
	return fmt.Errorf("%w: run %s wrote nothing, or was rolled back", ErrNothing, p.ID)
}

// nonEmpty returns u, or an error if u has no device.
func (u *Undo) nonEmpty() (*Undo, error) {
	if len(u.Devices) == 0 {
		return nil, nothingOf(u.Past)
	}
	return u, nil
}

// addOlderRun adds an older run to the runs that are rolled back together, if it is the next one. It
// reports whether the search for further runs must continue.
func (u *Undo) addOlderRun(p *Past, left []PastDevice) bool {
	switch {
	case p.ID != u.next:
		return true
	case p.Of != "":
		for _, d := range p.Devices {
			u.half[d.Name] = u.half[d.Name] || d.halfDone()
		}
		u.next, u.by = p.Of, nil
		return true
	case u.by != nil && !u.by.isRolledBackWith(p):
		return false
	}
	var older []PastDevice
	for _, d := range left {
		i := slices.IndexFunc(u.Devices, func(n PastDevice) bool { return n.Name == d.Name })
		if i < 0 {
			older = append(older, d)
			continue
		}
		d.included = u.half[d.Name] || d.halfDone()
		u.Devices[i].before = append(u.Devices[i].before, d)
	}
	u.Devices, u.waves = slices.Concat(older, u.Devices), rollout.Concat(p.waves, u.waves)
	u.next, u.by = p.continues, p
	return u.next != ""
}

// inherits returns the undo records of the runs that were cut off in the middle of a device,
// newest first. The next apply to the device continues these runs.
func (h *History) inherits(device string, f drivers.Facts) ([]*drivers.Token, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := 0; ; n++ {
		p := h.run(n)
		if p == nil {
			return nil, nil
		}
		d, ok := p.device(device)
		switch {
		case !ok:
		case d.settled(), d.checkUnit(f.Unit) != nil:
			return nil, nil
		case p.Of != "" && d.halfDone():
			u, err := find(h.store, p.Of, func(name string) bool { return name == device })
			switch {
			case errors.Is(err, ErrNothing):
				return nil, nil
			case err != nil:
				return nil, NewError("", OpJournal, err)
			}
			return u.Devices[0].tokens()
		case p.Of == "" && d.touched && d.halfDone():
			return d.tokens()
		}
	}
}
