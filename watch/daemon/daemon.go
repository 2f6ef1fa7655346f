// Package daemon runs a watch as a program: it reads the devices of a fabric, prints what
// changes, keeps a history file, serves metrics and reports, and calls a webhook. Package watch
// decides when to read and what has changed.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/metrics"
	"github.com/roce-fabric/roce-fabric/watch/serve"
	"github.com/roce-fabric/roce-fabric/watch/webhook"
)

// Limits of Options.Interval. With a shorter interval devices do little but answer reads; with a
// longer one changes are noticed too late.
const (
	minInterval = 10 * time.Second
	maxInterval = 24 * time.Hour
)

// Options configure a watch.
type Options struct {
	Version  string // version of the program
	Interval time.Duration
	Rounds   int // 0 means no limit
	Parallel int
	// Counters also reads and judges the ports' counters.
	Counters bool
	// Subscribe makes switches report their changes, if they support it.
	Subscribe bool
	Listen    string // address to serve at; "" serves nothing
	Webhook   string // URL or a reference to it; "" means no webhook
	Token     string // reference to the webhook's bearer token
	History   string // file that gets one line per round; "" means none

	// Clock and Rand are set only in tests.
	Clock watch.Clock
	Rand  func() float64
	// Started is called before the watch begins, with the watch and the server's address, ""
	// without a server. It may be nil.
	Started func(w *watch.Watcher, addr string)
}

// Check rejects invalid options with an [*fleet.OptionError].
func (o *Options) Check() error {
	switch {
	case o.Interval < minInterval || o.Interval > maxInterval:
		return fleet.Wrong("", "take --interval 5m", "--interval %s: use %s to %s", o.Interval, drivers.Spell(minInterval), drivers.Spell(maxInterval))
	case o.Rounds < 0:
		return fleet.Wrong("", "", "--rounds %d: use 1 or more, or 0 for no limit", o.Rounds)
	case o.Token != "" && o.Webhook == "":
		return fleet.Wrong("", "", "--webhook-token without --webhook")
	case o.History == "":
		return nil
	}
	if st, err := os.Stat(filepath.Dir(o.History)); err != nil {
		return fleet.Wrong("", "", "--history: %w", err)
	} else if !st.IsDir() {
		return fleet.Wrong("", "", "--history: %s is not a folder", filepath.Dir(o.History))
	}
	if st, err := os.Lstat(o.History); err == nil && !st.Mode().IsRegular() {
		return fleet.Wrong("", "", "--history: %s is not a regular file", o.History)
	}
	return nil
}

// daemon is a running watch.
type daemon struct {
	Options
	out    *report.Console
	cancel context.CancelFunc
	sender *webhook.Sender // nil without a webhook

	failed error // error of writing to standard output

	mu   sync.Mutex      // guards down and writes to standard error
	down map[string]bool // whether each kind of task failed the last time
}

// Run watches the devices of a fabric until ctx ends or the configured number of rounds is over.
// Its hosts must be reachable.
func Run(ctx context.Context, out *report.Console, f *fleet.Fabric, at *fleet.Access, o Options) (err error) {
	d := &daemon{Options: o, out: out, down: map[string]bool{}}
	ctx, d.cancel = context.WithCancel(ctx)
	defer d.cancel()
	cfg, err := d.config(f, at)
	if err != nil {
		return err
	}
	watcher := watch.New(cfg)
	shown := metrics.New(watcher, f.Fabric().Name, o.Version)
	if d.sender, err = o.hook(ctx, func(err error) {
		shown.Webhook(err)
		d.warnOnce("webhook", err)
	}); err != nil {
		return err
	}
	var listener net.Listener
	addr := ""
	if o.Listen != "" {
		if listener, err = serve.Listen(ctx, o.Listen); err != nil {
			return err
		}
		addr = listener.Addr().String()
	}
	out.Talk("watching %s every %s; Ctrl-C ends it", deviceCount(len(f.Switches), len(f.Hosts)), drivers.Spell(o.Interval))

	var sending, serving sync.WaitGroup
	var served error
	if listener != nil {
		serve.Announce(out, listener, o.Listen)
		past := d.past(f.Fabric().Name)
		h := serve.Handler(serve.Source{Watcher: watcher, Metrics: shown.Handler(), Report: func(to io.Writer, r *watch.Round, form string) error {
			v := report.Validated(f, r.Findings, r.Counted, r.Pauses)
			v.Version, v.Time = o.Version, r.End
			v.History = slices.Concat(past, TimeLine(r.Fabric, watcher.History()))
			return report.Write(to, report.Form(form), v, report.Options{})
		}})
		serving.Go(func() {
			if err := serve.Run(ctx, listener, h); err != nil {
				served = fmt.Errorf("serve %s: %w", listener.Addr(), err)
				d.cancel()
			}
		})
	}
	if d.sender != nil {
		sending.Go(func() { d.sender.Run(ctx) })
	}
	if o.Started != nil {
		o.Started(watcher, addr)
	}
	err = watcher.Run(ctx)
	if d.sender != nil {
		d.sender.Close() // the sender ends after the message about the last round, or when ctx ends
	}
	sending.Wait()
	d.cancel()
	serving.Wait()
	return errors.Join(err, served, d.failed)
}

// config builds the configuration of the watcher.
func (d *daemon) config(f *fleet.Fabric, at *fleet.Access) (watch.Config, error) {
	reader := fleet.Reader{Fabric: f, Access: at, Counters: d.Counters}
	cfg := watch.Config{
		Fabric: f.Fabric(), Interval: d.Interval, Parallel: d.Parallel, Rounds: d.Rounds, Clock: d.Clock, Rand: d.Rand, Round: d.round,
		// Passwords and host keys may change while a watch runs for months, so they are read
		// again after an error.
		Read: func(ctx context.Context, dev watch.Device, ends fleet.Ends) fleet.Reading {
			r := reader.Read(ctx, dev.Name, ends)
			if r.Err != nil {
				at.Forget()
			}
			return r
		},
	}
	if d.Subscribe {
		cfg.Notify = func(ctx context.Context, dev watch.Device, ready, changed func()) error {
			err := reader.Notify(ctx, dev.Name, ready, changed)
			if errors.Is(err, drivers.ErrAuth) || errors.Is(err, drivers.ErrIdentity) {
				at.Forget()
			}
			return err
		}
	}
	for _, sw := range f.Switches {
		cfg.Devices = append(cfg.Devices, watch.Device{Name: sw.Name, Where: sw.Pos.String()})
	}
	for _, h := range f.Hosts {
		cfg.Devices = append(cfg.Devices, watch.Device{Name: h.Name, Host: true, Where: h.Pos.String()})
	}
	if len(cfg.Devices) == 0 {
		return cfg, fleet.Wrong("", "", "there is no device to watch")
	}
	return cfg, nil
}

// deviceCount formats counts of devices: "3 switches and 2 hosts".
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

// hook returns the webhook's sender; nil if there is no webhook.
func (o *Options) hook(ctx context.Context, done func(error)) (*webhook.Sender, error) {
	if o.Webhook == "" {
		return nil, nil
	}
	cfg := webhook.Config{URL: o.Webhook, Agent: "roce-fabric/" + o.Version, Done: done, Clock: o.Clock}
	if !strings.Contains(o.Webhook, "://") {
		u, err := secret.Resolve(ctx, o.Webhook)
		if err != nil {
			return nil, fleet.Wrong("", "", "--webhook: %w", err)
		}
		cfg.URL = strings.TrimSpace(u.Reveal())
	}
	if o.Token != "" {
		var err error
		if cfg.Token, err = secret.Resolve(ctx, o.Token); err != nil {
			return nil, fleet.Wrong("", "", "--webhook-token: %w", err)
		}
	}
	s, err := webhook.New(cfg)
	if err != nil {
		return nil, fleet.Wrong("", "", "--webhook: %w", err)
	}
	return s, nil
}

// round prints a finished round or an update, and passes it to the history file and the webhook.
func (d *daemon) round(r *watch.Round) {
	if err := d.print(r.Events()); err != nil {
		// Standard output is closed, so end the watch, as other programs do.
		d.failed = err
		d.cancel()
		return
	}
	if r.N == 1 && r.Update == nil {
		n := r.Counts()
		open := ""
		if n.Inconclusive > 0 {
			open = fmt.Sprintf(", %d inconclusive", n.Inconclusive)
		}
		d.mu.Lock()
		d.out.Talk("first round: %s, %s, %s%s; %d of %s read", r.Verdict, words.Count(n.Error, "error"), words.Count(n.Warning, "warning"), open, r.Read, words.Count(r.Devices, "device"))
		d.mu.Unlock()
	}
	if d.History != "" && r.Update == nil {
		d.warnOnce("history", watch.AppendHistory(d.History, r.Record()))
	}
	if d.sender != nil && r.Changed() {
		d.sender.Send(webhook.Of(r))
	}
}

// warnOnce warns when a task starts to fail, and stays silent until it has succeeded again.
func (d *daemon) warnOnce(what string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && !d.down[what] {
		d.out.Warn("%v", err)
	}
	d.down[what] = err != nil
}

// print writes the changes of a round, one line or one JSON document per change.
func (d *daemon) print(events []watch.Event) error {
	st := d.out.Styler()
	for _, e := range events {
		var err error
		switch {
		case d.out.Output == "json":
			err = d.out.Line(e)
		case e.Type != watch.Turned:
			_, err = fmt.Fprintln(d.out.Out, eventLine(e, st))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eventLine formats a change as a line: "2026-11-21T19:20:10Z + error PFC-01 leaf1 Ethernet8:
// what".
func eventLine(e watch.Event, st term.Styler) string {
	sign, severity := "+", string(e.Severity)
	switch {
	case e.Type == watch.Cleared:
		sign, severity = st.Green("-"), st.Green(severity)
	case e.Severity == checks.Error:
		severity = st.Red(severity)
	case e.Severity == checks.Warning:
		severity = st.Yellow(severity)
	}
	at := e.ID
	if len(e.Places) > 0 {
		at += " " + strings.Join(e.Places, ", ")
	}
	return fmt.Sprintf("%s %s %s %s: %s", st.Dim(e.Time.Format(time.RFC3339)), sign, severity, term.CleanLine(at), term.CleanLine(e.What))
}
