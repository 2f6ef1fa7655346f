package engine

import (
	"testing"
)

// The states of the devices decide whether a run failed or was done in part.
func TestResult(t *testing.T) {
	for _, c := range []struct {
		states         []State
		failed, inPart bool
	}{
		{nil, false, false},
		{[]State{Unchanged, Applied}, false, false},
		{[]State{Applied, Reverted, Skipped}, true, true},
		{[]State{Applied, Refused}, true, true},
		{[]State{Unchanged, Failed, Skipped}, true, false},
		{[]State{Reverted, Skipped}, true, false},
		{[]State{Partial, Skipped}, true, true},
	} {
		var r Result
		for _, s := range c.states {
			r.Outcomes = append(r.Outcomes, Outcome{State: s})
		}
		if r.Failed() != c.failed || r.InPart() != c.inPart {
			t.Errorf("%v: failed %v, in part %v", c.states, r.Failed(), r.InPart())
		}
	}
}
