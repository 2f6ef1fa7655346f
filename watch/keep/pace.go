package keep

import "time"

// pace limits how often a setting is repaired: at once the first time, then at increasing
// intervals as long as the setting does not stay.
type pace struct {
	last time.Time
	n    int
}

// Waits between two repairs of a setting. After a setting has stayed for the duration stays, its
// waits start afresh.
const (
	firstWait = spacing
	maxWait   = time.Hour
	stays     = 2 * maxWait
)

// next returns when the setting may be repaired again.
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

// afterRepair records a repair.
func (p pace) afterRepair(now time.Time) pace {
	if p.n > 0 && now.Sub(p.last) >= stays {
		p.n = 0
	}
	return pace{now, min(p.n+1, 10)}
}
