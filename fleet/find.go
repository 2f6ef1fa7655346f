package fleet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// A run that finishes what the run before it was cut off in, or stopped in, continues
// that run: their writes are rolled back together. Where it finishes a device that was cut
// off in the middle, its undo record leads to the state before the earlier run.

// runs are the runs that wrote to the device and are rolled back with it, newest first.
func (d PastDevice) runs() []PastDevice { return slices.Insert(slices.Clone(d.before), 0, d) }

// first is the oldest of them.
func (d PastDevice) first() *Past {
	runs := d.runs()
	return runs[len(runs)-1].of
}

// tokens reads the undo records that lead a device back, in the order in which they are
// carried out. That of a run which finished the work of others on the device is also
// theirs.
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

// begun reports whether a run has begun to change the device.
func (d PastDevice) begun() bool { return d.touched || !d.began.IsZero() }

// halfDone reports whether the run was cut off in the middle of the device, or ended with
// it neither as it was nor as intended.
func (d PastDevice) halfDone() bool {
	return d.begun() && (d.State == "" || d.State == Partial)
}

// unreached returns the devices that a run was to change and did not bring to their end.
func (p *Past) unreached() []string {
	return slices.DeleteFunc(slices.Clone(p.planned), func(name string) bool {
		d, _ := p.device(name)
		return d.State == Applied || d.State == Unchanged || d.State == Unsaved || d.State == LeftOut
	})
}

// continued returns the run that a new one of an intent over the given devices continues;
// "" for none. It is the newest that wrote anything, if that did not come to its end: any
// that was cut off, or one of the same intent that stopped.
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
				return "", nil // all of its devices are restored
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

// finishes reports whether a run belongs with the one that it continues. It does not where
// both came to their end and neither could write to some device: one that nobody can change
// must not tie all runs together.
func (p *Past) finishes(before *Past) bool {
	stuck := func(p *Past, name string) bool {
		d, _ := p.device(name)
		return d.unwritten()
	}
	return !p.Ended || !before.Ended || !slices.ContainsFunc(before.unreached(), func(name string) bool { return stuck(before, name) && stuck(p, name) })
}

// search goes through the runs of a store, the newest first, for the one to roll back.
type search struct {
	want     func(device string) bool // nil is all
	restored map[string]map[string]bool
	later    map[string]string // device -> a later run that stands
	by       map[string]*Past  // run -> the one that continued it
}

// standing returns the devices of a run on which its writes stand.
func (s *search) standing(p *Past) (left []PastDevice) {
	if n := s.by[p.ID]; n != nil && n.finishes(p) {
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

// find returns the run with that id, or the newest one whose writes stand, with the
// devices on which they do, and those of the runs that it continued. Only devices that
// want says yes to are looked at; nil is all. A run that another came after on the same
// device is refused, because what it remembers is older than what is there.
func find(s store.Store, id string, want func(device string) bool) (*Undo, error) {
	at := search{want, map[string]map[string]bool{}, map[string]string{}, map[string]*Past{}}
	var out *Undo
	for p, err := range Runs(s) {
		// A damaged journal of another run than the named one tells what it can.
		if err != nil && (p == nil || id == "" || p.ID == id || out != nil) {
			return nil, err
		}
		left := at.standing(p)
		switch {
		case out != nil:
			if out.add(p, left) {
				continue
			}
			return out.some()
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
				return nil, fmt.Errorf("run %s came after it on %s; roll that one back first", by, d.Name)
			}
		}
		out = &Undo{Past: p, Devices: left, waves: p.waves, next: p.continues, by: p, half: map[string]bool{}}
		if p.continues == "" {
			return out, nil
		}
	}
	switch {
	case out != nil:
		return out.some()
	case id != "":
		return nil, fmt.Errorf("%w: %s has no run %s", errNothing, s, id)
	}
	return nil, fmt.Errorf("%w in %s", errNothing, s)
}

func nothingOf(p *Past) error {
	return fmt.Errorf("%w: run %s wrote nothing, or was rolled back", errNothing, p.ID)
}

// some returns u if it has a device.
func (u *Undo) some() (*Undo, error) {
	if len(u.Devices) == 0 {
		return nil, nothingOf(u.Past)
	}
	return u, nil
}

// add adds an older run to those that are rolled back, if it is the next of them. It
// reports whether a further one belongs to them.
func (u *Undo) add(p *Past, left []PastDevice) bool {
	switch {
	case p.ID != u.next:
		return true
	case p.Of != "":
		for _, d := range p.Devices {
			u.half[d.Name] = u.half[d.Name] || d.halfDone()
		}
		u.next, u.by = p.Of, nil
		return true
	case u.by != nil && !u.by.finishes(p):
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
	u.Devices, u.waves = slices.Concat(older, u.Devices), followed(p.waves, u.waves)
	u.next, u.by = p.continues, p
	return u.next != ""
}

// inherits returns the undo records of the runs that were cut off in the middle of a
// device, the newest first: the next apply to it continues them.
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
		case d.settled(), d.isOther(f.Unit) != nil:
			return nil, nil
		case p.Of != "" && d.halfDone():
			u, err := find(h.store, p.Of, func(name string) bool { return name == device })
			switch {
			case errors.Is(err, errNothing):
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
