package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/metrics"
	"github.com/roce-fabric/roce-fabric/watch/serve"
	"github.com/roce-fabric/roce-fabric/watch/webhook"
)

// The bounds of --interval. Below, devices do little except being read; above,
// a change is seen too late for a watch.
const (
	minInterval = 10 * time.Second
	maxInterval = 24 * time.Hour
)

// watchOptions are the flags of watch.
type watchOptions struct {
	interval time.Duration
	rounds   int
	counters bool
	// subscribe has switches say that they changed, where they do.
	subscribe bool
	listen    string
	webhook   string
	token     string
	history   string

	// clock and rand are nil but in tests.
	clock watch.Clock
	rand  func() float64
	// started is called with the watch before it begins, and the address of the server,
	// "" without one; nil but in tests.
	started func(w *watch.Watcher, addr string)
}

func (a *app) watchCommand() *cobra.Command {
	var o watchOptions
	c := &cobra.Command{
		Use:  "watch",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.watch(cmd.Context(), o) },
	}
	a.allFlags(c)
	f := c.Flags()
	f.DurationVar(&o.interval, "interval", 5*time.Minute, "from the start of a round to that of the next: 10s to 24h")
	f.IntVar(&o.rounds, "rounds", 0, "stop after so many rounds (default: never)")
	f.BoolVar(&o.counters, "counters", true, "read the counters of ports, and judge what they count")
	f.BoolVar(&o.subscribe, "subscribe", true, "subscribe to changes of the configuration where a switch serves that; one more session to each")
	f.StringVar(&o.listen, "listen", "", "serve metrics and reports at this address: 127.0.0.1:9600 (default: off)")
	f.StringVar(&o.webhook, "webhook", "", "URL to call when the verdict changes, or a reference to it: env:NAME, file:PATH")
	f.StringVar(&o.token, "webhook-token", "", "reference to a bearer token for the webhook: env:NAME, file:PATH")
	f.StringVar(&o.history, "history", "", "file that gets a line of JSON for each round")
	_ = c.MarkFlagFilename("history", "jsonl")
	a.outputFlag(c, "text", "json")
	return c
}

// check refuses options that cannot work.
func (o *watchOptions) check() error {
	if o.interval < minInterval || o.interval > maxInterval {
		return usageHint("take --interval 5m", "--interval %s: use %s to %s", o.interval, drivers.Spell(minInterval), drivers.Spell(maxInterval))
	}
	if o.rounds < 0 {
		return usage("--rounds %d: use 1 or more, or 0 to go on", o.rounds)
	}
	if o.token != "" && o.webhook == "" {
		return usage("--webhook-token without --webhook")
	}
	if o.history != "" {
		if st, err := os.Stat(filepath.Dir(o.history)); err != nil {
			return usage("--history: %w", err)
		} else if !st.IsDir() {
			return usage("--history: %s is no folder", filepath.Dir(o.history))
		}
		if st, err := os.Lstat(o.history); err == nil && !st.Mode().IsRegular() {
			return usage("--history: %s is not a regular file", o.history)
		}
	}
	return nil
}

// watching is a watch that runs.
type watching struct {
	a      *app
	o      watchOptions
	cancel context.CancelFunc
	sender *webhook.Sender // nil without a webhook

	failed error // standard output could not be written

	mu   sync.Mutex      // of standard error
	down map[string]bool // what failed when it was last tried
}

// watch repeats validate until ctx ends.
func (a *app) watch(ctx context.Context, o watchOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	f, at, err := a.loadDevices(ctx)
	if err != nil {
		return err
	}
	w := &watching{a: a, o: o, down: map[string]bool{}}
	f.Hosts = a.reachable(f.Hosts, at)
	var devices []watch.Device
	for _, sw := range f.Switches {
		devices = append(devices, watch.Device{Name: sw.Name, Where: sw.Pos.String()})
	}
	for _, h := range f.Hosts {
		devices = append(devices, watch.Device{Name: h.Name, Host: true, Where: h.Pos.String()})
	}
	if len(devices) == 0 {
		return usage("there is no device to watch")
	}
	reader := fleet.Reader{Fabric: f, Access: at, Counters: o.counters}
	told := ctx // to end
	ctx, w.cancel = context.WithCancel(ctx)
	defer w.cancel()
	cfg := watch.Config{
		Fabric: f.Fabric(), Devices: devices, Interval: o.interval, Parallel: a.parallel,
		Rounds: o.rounds, Clock: o.clock, Rand: o.rand, Round: w.round,
		// Passwords and host keys may have been changed since they were read: a watch
		// goes on for months.
		Read: func(ctx context.Context, d watch.Device, ends fleet.Ends) fleet.Reading {
			r := reader.Read(ctx, d.Name, ends)
			if r.Err != nil {
				at.Forget()
			}
			return r
		},
	}
	if o.subscribe {
		cfg.Notify = func(ctx context.Context, d watch.Device, ready, changed func()) error {
			err := reader.Notify(ctx, d.Name, ready, changed)
			if errors.Is(err, drivers.ErrAuth) || errors.Is(err, drivers.ErrIdentity) {
				at.Forget()
			}
			return err
		}
	}
	watcher := watch.New(cfg)
	shown := metrics.New(watcher, f.Fabric().Name, version)
	if w.sender, err = o.hook(ctx, func(err error) {
		shown.Webhook(err)
		w.warnOnce("webhook", err)
	}); err != nil {
		return err
	}
	var listener net.Listener
	if o.listen != "" {
		if listener, err = o.bind(ctx); err != nil {
			return err
		}
	}
	a.waited = true
	// Nothing is written to a device that a sudden end could leave in between:
	// after the first signal the next one ends the program as it is. But for
	// SIGHUP, which a closed terminal sends more than once.
	defer context.AfterFunc(told, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	a.talk("watching %s every %s; Ctrl-C ends it", deviceCount(len(f.Switches), len(f.Hosts)), drivers.Spell(o.interval))

	var sending, serving sync.WaitGroup
	var served error
	if listener != nil {
		w.announce(listener)
		h := serve.Handler(serve.Source{Watcher: watcher, Metrics: shown.Handler(), Report: func(out io.Writer, r *watch.Round, form string) error {
			return report.Write(out, report.Form(form), watchReport(f, r), report.Options{})
		}})
		serving.Go(func() {
			if err := serve.Run(ctx, listener, h); err != nil {
				served = fmt.Errorf("serve %s: %w", listener.Addr(), err)
				w.cancel()
			}
		})
	}
	if w.sender != nil {
		sending.Go(func() { w.sender.Run(ctx) })
	}
	if o.started != nil {
		at := ""
		if listener != nil {
			at = listener.Addr().String()
		}
		o.started(watcher, at)
	}
	err = watcher.Run(ctx)
	if w.sender != nil {
		w.sender.Close() // and it ends when it has told of the last round, or ctx has ended
	}
	sending.Wait()
	w.cancel()
	serving.Wait()
	return errors.Join(err, served, w.failed)
}

// watchReport is the report of a round.
func watchReport(f *fleet.Fabric, r *watch.Round) report.Report {
	out := validated(f, r.Findings, r.Counted)
	out.Version, out.Time = version, r.End
	return out
}

// deviceCount prints "3 switches and 2 hosts".
func deviceCount(switches, hosts int) string {
	var parts []string
	if switches > 0 {
		parts = append(parts, words.Plural(switches, "switch", "switches"))
	}
	if hosts > 0 {
		parts = append(parts, words.Count(hosts, "host"))
	}
	return strings.Join(parts, " and ")
}

// hook makes the sender to the webhook; nil where there is none.
func (o *watchOptions) hook(ctx context.Context, done func(error)) (*webhook.Sender, error) {
	if o.webhook == "" {
		return nil, nil
	}
	cfg := webhook.Config{URL: o.webhook, Agent: "roce-fabric/" + version, Done: done, Clock: o.clock}
	if !strings.Contains(o.webhook, "://") {
		u, err := secret.Resolve(ctx, o.webhook)
		if err != nil {
			return nil, usage("--webhook: %w", err)
		}
		cfg.URL = strings.TrimSpace(u.Reveal())
	}
	if o.token != "" {
		var err error
		if cfg.Token, err = secret.Resolve(ctx, o.token); err != nil {
			return nil, usage("--webhook-token: %w", err)
		}
	}
	s, err := webhook.New(cfg)
	if err != nil {
		return nil, usage("--webhook: %w", err)
	}
	return s, nil
}

// bind opens the address of the server.
func (o *watchOptions) bind(ctx context.Context) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return nil, usageHint("take --listen 127.0.0.1:9600", "--listen: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return l, nil
}

// announce says where the server is, and who may read it.
func (w *watching) announce(l net.Listener) {
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		w.a.warn("--listen %s: metrics and reports are served without a password to everybody who reaches it", w.o.listen)
	}
	w.a.talk("serving http://%s/", l.Addr())
}
