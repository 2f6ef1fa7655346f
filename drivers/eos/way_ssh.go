package eos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
)

// shellWay is the way over SSH.
type shellWay struct{ *drivers.Shell }

func (w *shellWay) name() string { return "ssh" }
func (w *shellWay) addr() string { return w.Addr() }
func (w *shellWay) timed() bool  { return true }

func (w *shellWay) undo(timer time.Duration) string {
	return fmt.Sprintf("by the switch itself: it takes an apply back after %s unless it is confirmed; after that by this tool, line by line", drivers.Spell(timer))
}

func (w *shellWay) show(ctx context.Context, cmd string) (string, error) { return w.Show(ctx, cmd) }

func (w *shellWay) showJSON(ctx context.Context, cmd string) ([]byte, error) {
	out, err := w.show(ctx, cmd+" | json")
	return []byte(out), err
}

func (w *shellWay) do(ctx context.Context, cmd string) error { return w.Do(ctx, cmd) }

func (w *shellWay) write(ctx context.Context, name string, typed []string, timer time.Duration, ready func(context.Context) error) (lines.Fate, error) {
	err := w.Use(ctx, func(ctx context.Context, n *ssh.Network) error {
		_, err := n.Configure(ctx, levelSession, "configure session "+name, typed)
		return err
	})
	if err != nil {
		return lines.Unsent, err
	}
	diffs, err := w.show(ctx, "show session-config named "+name+" diffs")
	switch {
	case err != nil && !refused(err):
		return lines.Unsent, err
	case err == nil && strings.TrimSpace(diffs) == "":
		// Nothing to commit; whether that is right shows in a read.
		return lines.Answered, w.discard(ctx, name)
	}
	if err := errors.Join(ctx.Err(), ready(ctx)); err != nil {
		return lines.Unsent, err
	}
	cmd := "configure session " + name + " commit"
	if timer > 0 {
		s := int(timer.Round(time.Second).Seconds())
		cmd += fmt.Sprintf(" timer %02d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	switch err := w.do(ctx, cmd); {
	case err == nil:
		return lines.Answered, nil
	case refused(err):
		return lines.Rejected, err
	default:
		return lines.Unanswered, err
	}
}

func (w *shellWay) discard(ctx context.Context, name string) error {
	return w.do(ctx, "configure session "+name+" abort")
}

func (w *shellWay) observe(ctx context.Context) (*drivers.Observation, error) {
	return observeShows(ctx, w)
}

func (w *shellWay) links(ctx context.Context) (*drivers.Observation, error) {
	return shown(ctx, w, []show{interfacesShow})
}

func (w *shellWay) counters(ctx context.Context) (*drivers.Observation, error) {
	return shown(ctx, w, countShows())
}

func (w *shellWay) hangUp() { w.HangUp() }

func (w *shellWay) close() error { return w.Close() }
