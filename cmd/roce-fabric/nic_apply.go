package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

// nicRevertTimeout bounds the revert of one host, also after Ctrl-C: each port may
// wait a minute for its link, and firmware takes minutes to write.
const nicRevertTimeout = 30 * time.Minute

// disturbs says whether a plan takes links down for a moment, or loses traffic.
func disturbs(d *fleet.DevicePlan) bool { return d.Impact() >= qos.ImpactPortFlap }

func (a *app) nicApply(ctx context.Context, o nicOptions) (err error) {
	if err := a.mustAsk(o.yes, "nic plan"); err != nil {
		return err
	}
	outliveOutput()
	f, targets, err := a.nicTargets(ctx, o)
	if err != nil {
		return err
	}
	// A host that cannot be planned keeps nobody from the others.
	v := verdict{allowed: o.allow.Impact, withoutFailed: true}
	jobs, err := a.nicJobs(ctx, targets, &v)
	if err != nil {
		return err
	}
	if why := v.whyNot(); why != "" {
		return a.nothingWritten(f.Name, nil, v.outs, why, v.hint())
	}
	var names []string
	values, disturb := 0, false
	for _, j := range jobs {
		if n := len(j.Plan.Steps); n > 0 {
			names = append(names, j.Plan.Name)
			values += n
			disturb = disturb || disturbs(j.Plan)
		}
	}
	id, err := runID()
	if err != nil {
		return err
	}
	var journal *fleet.Journal
	if len(names) > 0 {
		where := names[0]
		if len(names) > 1 {
			where = words.Count(len(names), "host")
		}
		if err := a.confirm(ctx, o.yes, fmt.Sprintf("Set %s on %s?", words.Count(values, "value"), where)); err != nil {
			return err
		}
		if o.state, err = nicStateDir(o.state, f.Name); err != nil {
			return err
		}
		if journal, err = fleet.Begin(o.state, id, fleet.Record{Fabric: f.Name, Intent: f.Hash}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, journal.Close()) }()
		if !o.yes {
			// The question may have stood for hours.
			byName := map[string]fleet.Job{}
			for _, j := range jobs {
				byName[j.Plan.Name] = j
			}
			err := a.checkAll(ctx, f.Name, journal, &v, func(d *fleet.DevicePlan) fleet.Job {
				j := byName[d.Name]
				j.Plan = d
				return j
			})
			if err != nil {
				return err
			}
		}
	}
	told := context.AfterFunc(ctx, func() {
		a.talk("interrupted: the host being changed is reverted (a third Ctrl-C leaves it as it is)")
	})
	defer told()
	outs, err := fleet.Run(ctx, [][]fleet.Job{jobs}, fleet.RunOptions{
		ID: id, MaxImpact: o.allow.Impact, Journal: journal, Workers: a.nicWorkers(o, disturb), Progress: a.stepProgress(), RevertTimeout: nicRevertTimeout,
	})
	if errors.Is(err, fleet.ErrStopped) {
		err = nil // the outcomes say where, and why
	}
	return a.ended(f.Name, journal, outs, err)
}

// nicJobs reads and plans the hosts, shows what would be done, and judges each.
func (a *app) nicJobs(ctx context.Context, targets []nicTarget, v *verdict) ([]fleet.Job, error) {
	var out []fleet.Job
	t := nicText{Text: report.Text{W: a.stderr, S: a.styler(a.stderr)}}
	err := a.nicPlans(ctx, targets, func(p nicPlanned) error {
		v.judge(p.DevicePlan)
		if len(p.DevicePlan.Steps) == 0 {
			v.plans = v.plans[:len(v.plans)-1] // nothing to look at again
		}
		open := p.open
		out = append(out, fleet.Job{Plan: p.DevicePlan, Desired: p.desired, Open: func(context.Context) (drivers.Driver, error) { return open(), nil }})
		if a.output != "json" && !a.quiet && p.Err == nil {
			t.add(p.DevicePlan.Name, p.State.Changes, p.State.Steps)
		}
		return t.Err()
	})
	t.flush()
	return out, errors.Join(err, t.Err())
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
