package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

// nicRevertTimeout bounds the revert of one host, also after Ctrl-C: each port may
// wait a minute for its link, and firmware takes minutes to write.
const nicRevertTimeout = 30 * time.Minute

func (a *app) nicApply(ctx context.Context, o nicOptions) (err error) {
	if err := a.mustAsk(o.yes, "nic plan"); err != nil {
		return err
	}
	outliveOutput()
	f, targets, err := a.nicTargets(ctx, o)
	if err != nil {
		return err
	}
	var names []string
	values, disturb := 0, false
	devices, readOf := nicDevices(targets)
	t := nicText{Text: report.Text{W: a.stderr, S: a.styler(a.stderr)}}
	plan, err := fleet.Prepare(ctx, devices, a.nicPlanOptions(f), func(d *fleet.DevicePlan) error {
		if n := len(d.Steps); n > 0 {
			names = append(names, d.Name)
			values += n
			// Links go down for a moment, or traffic is lost.
			disturb = disturb || d.Impact() >= qos.ImpactPortFlap
		}
		if s := readOf(); a.output != "json" && !a.quiet && d.Error == nil {
			t.add(d.Name, s.Changes, s.Steps)
		}
		return t.Err()
	})
	t.flush()
	if err := errors.Join(err, t.Err()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	if len(names) > 0 {
		if o.state, err = nicStateDir(o.state, f.Name); err != nil {
			return err
		}
	}
	// A host that cannot be planned does not hold up the others.
	run := fleet.ApplyOptions{RunOptions: a.runOptions(ctx, f, o.state, "host"), Allow: o.allow.Impact, SkipFailed: true, SkipUnchanged: true}
	run.Writers, run.RevertTimeout = a.nicWorkers(o, disturb), nicRevertTimeout
	if !o.yes {
		run.Confirm = func() error {
			where := names[0]
			if len(names) > 1 {
				where = words.Count(len(names), "host")
			}
			return a.confirm(ctx, false, fmt.Sprintf("Set %s on %s?", words.Count(values, "value"), where))
		}
	}
	res, err := fleet.Apply(ctx, devices, plan, run)
	return a.ended(f.Name, res, err, "")
}

// nicWorkers is how many hosts are worked on at a time. Where traffic is
// disturbed it is one, unless the operator has said how many.
func (a *app) nicWorkers(o nicOptions, disturb bool) int {
	if disturb && !o.parallelSet {
		return 1
	}
	return a.parallel
}

// nicStateDir is where the journals of runs over hosts are. They have a folder of
// their own: a host may have the name of a switch.
func nicStateDir(state, fabric string) (string, error) {
	dir, err := stateDir(state, fabric)
	return filepath.Join(dir, "hosts"), err
}
