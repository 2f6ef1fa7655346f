package agent

import (
	"cmp"
	"sync/atomic"
	"time"
)

// running tracks the step that an agent is working on.
type running struct {
	limit atomic.Int64 // timeout of the step, a time.Duration
	moved chan struct{}
}

// grace returns how long cancelled work may take to finish: its step, and reading back.
func grace(step time.Duration) time.Duration { return max(defaultGrace, 2*step+answerWait) }

// longest returns the timeout of the longest step of a request.
func (q *Request) longest() time.Duration {
	longest := time.Duration(0)
	for _, s := range q.Steps {
		longest = max(longest, s.Timeout())
	}
	if q.Undo != nil {
		for _, s := range q.Undo.Steps {
			longest = max(longest, s.Timeout())
		}
	}
	return longest
}

// answerWait is the time for the answer itself.
const answerWait = 10 * time.Second

// finish waits for cancelled work to end; ok is false if it takes too long. The limit is the grace
// of the running step, or of the next one if the agent began it before the request to stop arrived,
// and at most that of the longest step.
func (c *Client) finish(q Request, at *running, done <-chan outcome) (o outcome, ok bool) {
	end := time.Now().Add(cmp.Or(c.Grace, grace(q.longest())))
	wait := func() time.Duration {
		left := time.Until(end)
		if at == nil || c.Grace != 0 {
			return left
		}
		return min(left, grace(time.Duration(at.limit.Load())))
	}
	var moved <-chan struct{}
	if at != nil {
		moved = at.moved
	}
	timer := time.NewTimer(wait())
	defer timer.Stop()
	for {
		select {
		case o = <-done:
			return o, true
		case <-moved:
			timer.Reset(wait())
		case <-timer.C:
			return o, false
		}
	}
}
