package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/rollout"
)

func (a *app) nicRollbackCommand() *cobra.Command {
	var o nicOptions
	var list bool
	c := &cobra.Command{
		Use:   "rollback [RUN]",
		Short: "Take an apply to NICs back",
		Long: `rollback writes back what the NICs held before a run of nic apply: the newest run
that can be taken back, or the one named. With --host, --only or --local it looks
at those hosts alone. The journal of the run has what each setting held, also of
a run that was cut off. A setting that holds its old value is not written; the
boot unit stays as it is. --list shows the runs.`,
		Example: "  roce-fabric nic rollback --host gpu1 -f fabric.yaml\n  sudo roce-fabric nic rollback --local --yes -f fabric.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				switch {
				case len(args) > 0:
					return usage("--list shows all runs, and takes no run")
				case len(a.only) > 0:
					return usage("--list shows all runs, and takes no --only")
				}
				return a.nicRuns(o)
			}
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			o.parallelSet = cmd.Flags().Changed("parallel")
			return a.nicRollback(cmd.Context(), id, o)
		},
	}
	a.nicFlags(c, &o)
	a.outputFlag(c, "text", "json")
	c.Flags().BoolVar(&list, "list", false, "show the runs, newest first, and do nothing")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	a.stateFlag(c, &o.state)
	return c
}

func (a *app) nicRuns(o nicOptions) error {
	c, err := a.loadFabric()
	if err != nil {
		return err
	}
	dir, err := nicStateDir(o.state, c.Fabric().Name)
	if err != nil {
		return err
	}
	return a.listRuns(c.Fabric().Name, dir)
}

// nicBack is a host that is taken back.
type nicBack struct {
	nicTarget
	record nicRecord
}

func (a *app) nicRollback(ctx context.Context, id string, o nicOptions) (err error) {
	if !o.yes && !a.canAsk() {
		return usageHint("look at 'roce-fabric nic rollback --list' first, then use --yes", "nobody to ask on standard input")
	}
	outliveOutput()
	f, targets, err := a.nicTargets(o)
	if err != nil {
		return err
	}
	dir, err := nicStateDir(o.state, f.Name)
	if err != nil {
		return err
	}
	byName := map[string]nicTarget{}
	for _, t := range targets {
		byName[t.name] = t
	}
	all := !o.local && o.host == "" && len(a.only) == 0
	past, devices, err := rollout.Find(dir, id, func(name string) bool { return all || byName[name].open != nil })
	if err != nil {
		return err
	}
	var back []nicBack
	var names []string
	disturb := false
	for _, d := range devices {
		t, ok := byName[d.Name]
		if !ok {
			return fmt.Errorf("host %s of run %s is not in the intent, or has no address there; nothing was written", d.Name, past.ID)
		}
		b, err := readNICRecord(t, past, d)
		if err != nil {
			return err
		}
		disturb = disturb || disturbs(b.record.Steps) || b.record.Undo.Disturbs()
		back, names = append(back, b), append(names, d.Name)
	}
	a.talk("run %s of %s by %s: rolling back %s: %s", past.ID, past.Begun.Local().Format("2006-01-02 15:04:05"), term.CleanLine(past.By), words.Count(len(names), "host"), natural.Fold(names))
	for _, b := range back {
		for _, s := range b.record.Steps {
			for _, c := range s.Changes {
				a.talk("  %s", term.CleanLine(fmt.Sprintf("%s %s: %s, was %s", b.name, c.Path(), c.New, c.Old)))
			}
		}
	}
	if disturb {
		a.talk("links may go down or lose traffic for a moment")
	}
	if err := a.confirm(ctx, o.yes, fmt.Sprintf("Take back %s?", words.Count(len(names), "host"))); err != nil {
		return err
	}
	j, err := nicJournal(o.state, f.Name, rollout.Record{Fabric: f.Name, Intent: f.Hash, Of: past.ID})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	var outs []rollout.Outcome
	err = pool.Ordered(ctx, a.nicWorkers(o, disturb), back, func(ctx context.Context, b nicBack) rollout.Outcome {
		return a.nicTakeBack(ctx, j, past, b)
	}, func(out rollout.Outcome) error {
		outs = append(outs, out)
		return nil
	})
	return a.nicEnd(f.Name, j, outs, err)
}

func readNICRecord(t nicTarget, past *rollout.Past, d rollout.PastDevice) (nicBack, error) {
	b := nicBack{nicTarget: t}
	token, err := past.Token(d)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(token.Native, &b.record); err != nil {
		return b, fmt.Errorf("%s: the undo record of %s cannot be read: %w; nothing was written", past.Place(d), d.Name, err)
	}
	if err := b.record.Undo.Check(t.manages); err != nil {
		return b, fmt.Errorf("%s: %s: %w; nothing was written", past.Place(d), d.Name, err)
	}
	return b, nil
}

// nicTakeBack takes one host back and records what became of it. A host that
// fails does not hold up the others.
func (a *app) nicTakeBack(ctx context.Context, j *rollout.Journal, past *rollout.Past, b nicBack) rollout.Outcome {
	out := rollout.Outcome{Device: b.name, State: rollout.Skipped}
	if ctx.Err() == nil {
		start := time.Now()
		out.State = rollout.Failed
		out.Err = b.with(ctx, func(h *nicHost) error {
			a.nicProgress(b.name, 0, 1, "back to where it was before run "+past.ID)
			// Once begun it goes to its end, so that Ctrl-C leaves a known state.
			rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nicRevertTimeout)
			defer cancel()
			if err := h.Revert(rctx, b.record.Undo); err != nil {
				out.State = rollout.Partial
				return err
			}
			out.State = rollout.Restored
			return nil
		})
		if out.State == rollout.Restored {
			out.Err = nil // a session that does not close cleanly changes nothing
		}
		out.Took = time.Since(start)
	}
	if out.Err != nil {
		out.Error = out.Err.Error()
	}
	if err := j.Write(rollout.Record{Device: b.name, Event: string(out.State), Error: out.Error}); err != nil {
		out.Err = errors.Join(out.Err, err)
		out.Error = out.Err.Error()
	}
	return out
}
