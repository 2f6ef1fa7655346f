package fleet

import "github.com/roce-fabric/roce-fabric/fleet/store"

// Disposable lists the journals of a store that no later run needs, oldest first. The newest
// keep are needed, and each that says what was left on a device which no later run has settled.
func Disposable(s store.Store, keep int) (out []store.ID, _ error) {
	ids, err := newestFirst(s)
	if err != nil || len(ids) <= keep {
		return nil, err
	}
	h := &History{store: s, ids: ids}
	if newest := h.run(0); newest == nil || newest.Of != "" && !newest.Ended {
		return nil, nil // it cannot be read, or rolls back older ones
	}
	for n := len(ids) - 1; n >= max(keep, 1); n-- {
		// One that cannot be read stays for people to look at.
		if p, err := readPast(s, ids[n]); err == nil && h.settledSince(p) {
			out = append(out, p.id)
		}
	}
	return out, nil
}

// settledSince reports whether a run, or a later one, settled each device that the run may
// have left something on.
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
