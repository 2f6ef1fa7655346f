package engine

import (
	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// Disposable lists the journals of a store that no later run needs, oldest first. It
// retains the newest keep journals, and each journal of a run that left a device in a state
// that no later run has settled.
func Disposable(s store.Store, keep int) (out []store.ID, _ error) {
	ids, err := newestFirst(s)
	if err != nil || len(ids) <= keep {
		return nil, err
	}
	h := &History{store: s, ids: ids}
	if newest := h.run(0); newest == nil || newest.Of != "" && !newest.Ended {
		return nil, nil // the newest run cannot be read, or is an unfinished rollback of an older one
	}
	for n := len(ids) - 1; n >= max(keep, 1); n-- {
		// Retain a journal that cannot be read, so that someone can examine it.
		if p, err := readPast(s, ids[n]); err == nil && h.settledSince(p) {
			out = append(out, p.id)
		}
	}
	return out, nil
}

// settledSince reports whether each device on which run p may have left something was
// settled by p or by a later run.
func (h *History) settledSince(p *Past) bool {
	for _, d := range p.Devices {
		if d.settled() || d.State != "" && !d.touched && d.down == nil && d.raised == nil {
			continue
		}
		for n := 0; ; n++ {
			later := h.run(n)
			if later == nil || later.id == p.id {
				return false
			}
			if l, ok := later.device(d.Name); ok && l.settled() {
				break
			}
		}
	}
	return true
}
