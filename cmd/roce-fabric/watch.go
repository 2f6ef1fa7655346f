package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/daemon"
)

func (a *app) watchCommand() *cobra.Command {
	var o daemon.Options
	c := &cobra.Command{
		Use:  "watch",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.watch(cmd.Context(), o) },
	}
	a.allFlags(c)
	f := c.Flags()
	f.DurationVar(&o.Interval, "interval", 5*time.Minute, "time from round to round: 10s to 24h")
	f.IntVar(&o.Rounds, "rounds", 0, "stop after this many rounds (default: never)")
	f.BoolVar(&o.Counters, "counters", true, "read and judge the counters of ports")
	f.BoolVar(&o.Subscribe, "subscribe", true, "subscribe to configuration changes of switches that support it; one more session to each")
	f.StringVar(&o.Listen, "listen", "", "serve metrics and reports at this address: 127.0.0.1:9600 (default: off)")
	f.StringVar(&o.Webhook, "webhook", "", "URL to call when the verdict changes, or a reference to it: env:NAME, file:PATH")
	f.StringVar(&o.Token, "webhook-token", "", "reference to a bearer token for the webhook: env:NAME, file:PATH")
	f.StringVar(&o.History, "history", "", "file that gets a line of JSON for each round")
	_ = c.MarkFlagFilename("history", "jsonl")
	a.outputFlag(c, "text", "json")
	return c
}

// watch repeats validate until ctx ends.
func (a *app) watch(ctx context.Context, o daemon.Options) error {
	if err := o.Check(); err != nil {
		return err
	}
	f, at, err := a.loadDevices(ctx)
	if err != nil {
		return err
	}
	f.Hosts = a.reachable(f.Hosts, at)
	o.Version, o.Parallel = version, a.parallel
	tell := o.Started
	o.Started = func(w *watch.Watcher, addr string) {
		a.waited = true
		// A watch writes nothing to devices, so after the first signal a second one may end the
		// program at once. SIGHUP is excluded, because a closed terminal sends it more than
		// once.
		context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
		if tell != nil {
			tell(w, addr)
		}
	}
	return daemon.Run(ctx, &a.Console, f, at, o)
}
