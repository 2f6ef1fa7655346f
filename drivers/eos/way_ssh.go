package eos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
)

// shellWay is the way over SSH: one connection with one shell.
type shellWay struct {
	cfg    ssh.Config
	client *ssh.Client
	shell  *ssh.Network
}

func (w *shellWay) name() string { return "ssh" }
func (w *shellWay) addr() string { return w.cfg.Address }
func (w *shellWay) timed() bool  { return true }

func (w *shellWay) undo(timer time.Duration) string {
	return fmt.Sprintf("by the switch itself: it takes an apply back after %s unless it is confirmed; after that by this tool, line by line", spell(timer))
}

// open returns the shell, and whether it was there already.
func (w *shellWay) open(ctx context.Context) (*ssh.Network, bool, error) {
	if w.shell != nil {
		return w.shell, true, nil
	}
	w.hangUp()
	c, err := ssh.Dial(ctx, w.cfg)
	if err != nil {
		return nil, false, err
	}
	n, err := c.Network(ctx, platform, w.cfg.Password)
	if err != nil {
		return nil, false, errors.Join(err, c.Close())
	}
	w.client, w.shell = c, n
	return n, false, nil
}

// use runs op on the shell. A shell whose stream cannot be followed any more
// is given up.
func (w *shellWay) use(ctx context.Context, op func(context.Context, *ssh.Network) error) (reused bool, err error) {
	n, reused, err := w.open(ctx)
	if err != nil {
		return reused, err
	}
	if err = op(ctx, n); err != nil && !refused(err) {
		w.hangUp()
	}
	return reused, err
}

func (w *shellWay) show(ctx context.Context, cmd string) (out string, err error) {
	// A connection that was idle may have ended long ago.
	for range 2 {
		var reused bool
		reused, err = w.use(ctx, func(ctx context.Context, n *ssh.Network) (err error) {
			out, err = n.Show(ctx, cmd)
			return err
		})
		if !reused || !errors.Is(err, ssh.ErrLost) {
			break
		}
	}
	return out, err
}

func (w *shellWay) showJSON(ctx context.Context, cmd string) ([]byte, error) {
	out, err := w.show(ctx, cmd+" | json")
	return []byte(out), err
}

func (w *shellWay) do(ctx context.Context, cmd string) error {
	_, err := w.use(ctx, func(ctx context.Context, n *ssh.Network) error {
		_, err := n.Do(ctx, cmd)
		return err
	})
	return err
}

func (w *shellWay) write(ctx context.Context, name string, lines []string, timer time.Duration) (fate, error) {
	_, err := w.use(ctx, func(ctx context.Context, n *ssh.Network) error {
		_, err := n.Configure(ctx, levelSession, "configure session "+name, lines)
		return err
	})
	if err != nil {
		return unsent, err
	}
	diffs, err := w.show(ctx, "show session-config named "+name+" diffs")
	switch {
	case err != nil && !refused(err):
		return unsent, err
	case err == nil && strings.TrimSpace(diffs) == "":
		// Nothing to commit; whether that is right shows in a read.
		return answered, w.discard(ctx, name)
	case ctx.Err() != nil:
		return unsent, ctx.Err()
	}
	cmd := "configure session " + name + " commit"
	if timer > 0 {
		s := int(timer.Round(time.Second).Seconds())
		cmd += fmt.Sprintf(" timer %02d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	switch err := w.do(ctx, cmd); {
	case err == nil:
		return answered, nil
	case refused(err):
		return rejected, err
	default:
		return unanswered, err
	}
}

func (w *shellWay) discard(ctx context.Context, name string) error {
	return w.do(ctx, "configure session "+name+" abort")
}

func (w *shellWay) observe(ctx context.Context) (*drivers.Observation, error) {
	return observeShows(ctx, w)
}

func (w *shellWay) hangUp() { _ = w.close() } // what a broken connection says on its end adds nothing

func (w *shellWay) close() error {
	var errs []error
	if w.shell != nil {
		errs = append(errs, w.shell.Close())
	}
	if w.client != nil {
		errs = append(errs, w.client.Close())
	}
	w.shell, w.client = nil, nil
	return errors.Join(errs...)
}
