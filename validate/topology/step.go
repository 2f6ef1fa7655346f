package topology

// Step returns the state of a path after an arc that leaves its last switch. State 2i is a path that
// reached switch i upward only, 2i+1 one that has gone down. With upDown, a path never goes up again
// or stays in a tier, and ok is false for an arc that would; otherwise states are even.
func (a *Arc) Step(state int32, upDown bool) (next int32, ok bool) {
	next = 2 * a.To
	switch {
	case !upDown:
	case a.Dir == Level, a.Dir == Up && state%2 == 1:
		return 0, false
	case a.Dir == Down:
		next++
	}
	return next, true
}
