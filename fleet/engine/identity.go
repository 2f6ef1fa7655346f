package engine

import (
	"errors"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
)

// evidence returns what is known about the identity of the device that was read: what it
// shows and what an earlier run recorded. A nil History has no records.
func (h *History) evidence(device string, drv drivers.Driver, f drivers.Facts, snap *drivers.Snapshot) identity.Evidence {
	e := identity.Evidence{Identity: drivers.IdentityOf(drv, f, snap)}
	e.Recorded, e.Run = h.UnitOf(device)
	return e
}

// UnitOf returns the unit that the newest run on a device recorded, and the ID of that run.
func (h *History) UnitOf(device string) (drivers.Unit, string) {
	if h == nil {
		return drivers.Unit{}, ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := 0; ; n++ {
		p := h.run(n)
		if p == nil {
			return drivers.Unit{}, ""
		}
		if d, ok := p.device(device); ok && (d.unit.Known() || d.settled()) {
			return d.unit, p.ID
		}
	}
}

// RefuseMistaken returns the error for a device that is not the one that the intent, a plan
// or a record means; what explains why.
func RefuseMistaken(device, what string) *Error {
	out := ErrorOf(device, OpJudge, KindMistaken, errors.New(what))
	out.Hint = "correct the address or the identity in the intent; if the device was replaced, or is the right one, go on with --accept-identity " + device
	return out
}

// isMistaken reports whether an error has the kind KindMistaken.
func isMistaken(err error) bool {
	e := (*Error)(nil)
	return errors.As(err, &e) && e.Kind == KindMistaken
}

// checkUnit returns an error if the device that answers is not the one that the run worked on.
func (d PastDevice) checkUnit(u drivers.Unit) error {
	if what := describeUnitMismatch("run "+d.of.ID, d.unit, u); what != "" {
		return RefuseMistaken(d.Name, what)
	}
	return nil
}

// describeUnitMismatch explains that a record is for a different device than the one that
// answers. It returns "" if they are the same or if that is unknown.
func describeUnitMismatch(record string, of, now drivers.Unit) string {
	if !now.Other(of) {
		return ""
	}
	is, was := now.Versus(of)
	return fmt.Sprintf("%s is for the device with the %s, but the device at its address has the %s", record, was, is)
}
