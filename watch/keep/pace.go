package keep

import "time"

// pace is how often a setting was repaired: at once the first time, and then ever more
// slowly as long as it does not stay.
type pace struct {
	last time.Time
	n    int
}

// The waits between two repairs of a setting. One that stayed for stays begins anew.
const (
	firstWait = spacing
	maxWait   = time.Hour
	stays     = 2 * maxWait
)

// next is when the setting may be repaired again.
func (p pace) next() time.Time {
	if p.n == 0 {
		return time.Time{}
	}
	wait := firstWait
	for range p.n - 1 {
		if wait *= 4; wait >= maxWait {
			wait = maxWait
			break
		}
	}
	return p.last.Add(wait)
}

// again notes a repair.
func (p pace) again(now time.Time) pace {
	if p.n > 0 && now.Sub(p.last) >= stays {
		p.n = 0
	}
	return pace{now, min(p.n+1, 10)}
}
