package keep

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/serve"
)

// Limits of the interval, the same as for a watch.
const (
	minInterval = 10 * time.Second
	maxInterval = 24 * time.Hour
)

// Options say how the agent runs as a program.
type Options struct {
	Version string // version of the program
	Listen  string // address to serve at; "" serves nothing
	// Reload triggers a reload of the wanted state; nil never does.
	Reload <-chan struct{}
}

// Check rejects invalid options.
func (c *Config) Check() error {
	switch {
	case c.Interval < minInterval || c.Interval > maxInterval:
		return fleet.Wrong("", "take --interval 1m", "--interval %s: use %s to %s", c.Interval, drivers.Spell(minInterval), drivers.Spell(maxInterval))
	case c.Rounds < 0:
		return fleet.Wrong("", "", "--rounds %d: use 1 or more, or 0 for no limit", c.Rounds)
	}
	return nil
}

// Run runs a Keeper until ctx ends. It prints the events, checks the host when the kernel
// reports a changed device, and serves metrics and health.
func Run(ctx context.Context, out *report.Console, cfg Config, o Options) (err error) {
	if err := cfg.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var printed error
	cfg.Emit = func(e Event) {
		if printed = printEvent(out, e); printed != nil {
			cancel() // standard output is closed
		}
	}
	cfg.Started = func() {
		out.Talk("comparing this host with %s every %s, policy %s; Ctrl-C ends it", cfg.Source, drivers.Spell(cfg.Interval), cfg.Policy)
	}
	var listener net.Listener
	if o.Listen != "" {
		if listener, err = serve.Listen(ctx, o.Listen); err != nil {
			return err
		}
	}
	k := New(cfg)
	var work sync.WaitGroup
	var served error
	if listener != nil {
		serve.Announce(out, listener, o.Listen)
		work.Go(func() {
			if err := serve.Run(ctx, listener, k.Handler(o.Version)); err != nil {
				served = fmt.Errorf("serve %s: %w", listener.Addr(), err)
				cancel()
			}
		})
	}
	work.Go(func() { k.listen(ctx, out) })
	work.Go(func() {
		for {
			select {
			case <-o.Reload:
				k.Reload()
			case <-ctx.Done():
				return
			}
		}
	})
	err = k.Run(ctx)
	cancel()
	work.Wait()
	return errors.Join(err, served, printed)
}

// listen wakes the Keeper for kernel notifications, and restarts the listener if it fails.
func (k *Keeper) listen(ctx context.Context, out *report.Console) {
	for warned := false; ; {
		err := local.Notify(ctx, k.Wake)
		if ctx.Err() != nil {
			return
		}
		if !warned {
			out.Warn("changes are noticed at the next check, not at once: %s", err)
			warned = true
		}
		// Use the system clock, because only the Keeper may wait on its own clock.
		again, free := watch.System.Timer(k.cfg.Interval)
		select {
		case <-again:
		case <-ctx.Done():
			free()
			return
		}
	}
}

// printEvent prints an event as a line or a JSON document.
func printEvent(out *report.Console, e Event) error {
	if out.Output == "json" {
		return out.Line(e)
	}
	st := out.Styler()
	line := e.String()
	switch e.Type {
	case Repaired, Cleared, Created, Loaded:
		line = st.Green(line)
	case Differs, ChangedBack, Left:
		line = st.Yellow(line)
	case NotRepaired, Missing, Failed:
		line = st.Red(line)
	}
	_, err := fmt.Fprintln(out.Out, st.Dim(e.Time.Format(time.RFC3339)), line)
	return err
}
