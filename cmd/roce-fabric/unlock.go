package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
)

func (a *app) unlockCommand() *cobra.Command {
	var state fleet.StoreOptions
	var yes bool
	c := &cobra.Command{
		Use:  "unlock RUN",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.unlock(cmd.Context(), args, state, yes) },

		ValidArgsFunction: a.completeRun(&state),
	}
	a.fileFlag(c)
	yesFlag(c, &yes)
	a.stateFlags(c, &state)
	return c
}

func (a *app) unlock(ctx context.Context, args []string, o fleet.StoreOptions, yes bool) (err error) {
	c, err := a.load(ctx, fleet.TakeAll)
	if err != nil {
		return err
	}
	o.ReadOnly = true
	s, err := fleet.OpenStore(ctx, c.Fabric(), o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	held, err := s.Holder(ctx)
	switch {
	case err != nil:
		return err
	case held == nil:
		fmt.Fprintf(a.Out, "nobody has the lock in %s\n", s)
		return nil
	case len(args) == 0:
		fmt.Fprintf(a.Out, "%s\n", held)
		return nil
	case held.Run != args[0]:
		return usage("the lock does not belong to run %s but to %s", args[0], held)
	}
	if err := a.mustAsk(yes, "unlock"); err != nil {
		return err
	}
	if err := a.confirm(ctx, yes, fmt.Sprintf("Take the lock from %s?", held)); err != nil {
		return err
	}
	if err := s.Break(ctx, *held, store.Self("", "")); err != nil {
		return err
	}
	a.Talk("the lock is free; 'roce-fabric plan' shows what the run left on devices")
	return nil
}
