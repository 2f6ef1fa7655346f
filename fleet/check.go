package fleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// checkTimeout bounds the read of one device before the first write. A device that
// still works on what a run was cut off with has ten minutes of it.
const checkTimeout = 15 * time.Minute

// Judge says from the plan alone why a device cannot be changed as planned: its
// plan failed, has changes that cannot be made, or more impact than allowed. The
// state of one that can be is Skipped: nothing was done yet.
func Judge(p *DevicePlan, allowed qos.Impact) Outcome {
	state, err := judge(p, allowed)
	return outcome(p.Name, state, err)
}

func outcome(device string, state State, err error) Outcome {
	out := Outcome{Device: device, State: state, Err: err}
	if err != nil {
		out.Error = oneLine(err)
	}
	return out
}

func judge(p *DevicePlan, allowed qos.Impact) (State, error) {
	switch {
	case p.Err != nil:
		return Failed, p.Err
	case p.Error != "":
		return Failed, fmt.Errorf("%s: no plan: %s", p.Name, strings.TrimPrefix(p.Error, p.Name+": "))
	case p.Blocked():
		return Blocked, fmt.Errorf("%s: the plan has changes that cannot be made: %s", p.Name, whyBlocked(p))
	case p.Impact() > allowed:
		return Refused, tooMuch(p.Name, p.Impact(), allowed)
	}
	return Skipped, nil
}

// whyBlocked is the first change that cannot be made, and how many more there are.
func whyBlocked(p *DevicePlan) string {
	first, more := "", 0
	for _, g := range p.Changes {
		switch {
		case g.Blocked == "" || g.Open:
		case first == "":
			first = g.Field.String() + ": " + g.Blocked
			if len(g.Ports) > 0 {
				first = g.Field.String() + " of " + natural.Fold(g.Ports) + ": " + g.Blocked
			}
		default:
			more++
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" (%d more)", more)
	}
	return first
}

// CheckState reads a device and compares it with the state that was planned for,
// without a write: Failed if it cannot be read, Refused if it has changed or if
// its plan has other steps than those of the digest, otherwise Skipped. The plan
// of the job needs no steps.
func CheckState(ctx context.Context, j Job, steps string, o RunOptions) Outcome {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	state, err := check(ctx, j, steps, o)
	return outcome(j.Plan.Name, state, err)
}

func check(ctx context.Context, j Job, steps string, o RunOptions) (State, error) {
	drv, err := j.Open(ctx)
	if err != nil {
		return Failed, err
	}
	// A session that does not close cleanly changes nothing about the state.
	defer func() { _ = drv.Close() }()
	facts, snap, _, err := readAsPlanned(ctx, drv, j, o)
	if err != nil {
		return unwritten(err), err
	}
	if _, state, err := planned(drv, facts, snap, j, steps, o); err != nil {
		return state, err
	}
	return Skipped, nil
}
