package eos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/eos/showjson"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// shellWay is the SSH transport.
type shellWay struct{ *drivers.Shell }

func (w *shellWay) name() string { return "ssh" }
func (w *shellWay) timed() bool  { return true }

func (w *shellWay) undo(timer time.Duration) string {
	return fmt.Sprintf("by the switch itself: it reverts an apply after %s unless it is confirmed; after that by this tool, line by line", drivers.Spell(timer))
}

func (w *shellWay) showJSON(ctx context.Context, cmd string) ([]byte, error) {
	out, err := w.Show(ctx, cmd+" | json")
	return []byte(out), err
}

func (w *shellWay) write(ctx context.Context, name string, typed []string, timer time.Duration, ready func(context.Context) error) (lines.Fate, error) {
	// The next command leaves all modes by itself.
	for len(typed) > 0 && typed[len(typed)-1] == "exit" {
		typed = typed[:len(typed)-1]
	}
	err := w.Use(ctx, func(ctx context.Context, n *ssh.Network) error {
		_, err := n.Configure(ctx, &ssh.Batch{Level: levelSession, Enter: "configure session " + name, Lines: lines.Typed(native.Lines, typed),
			Drop: func(ctx context.Context) error { _, err := n.Do(ctx, abortOf(name)); return err }})
		return err
	})
	if err != nil {
		return lines.Unsent, err
	}
	diffs, err := w.Show(ctx, "show session-config named "+name+" diffs")
	switch {
	case err != nil && !refused(err):
		return lines.Unsent, err
	case err == nil && strings.TrimSpace(diffs) == "":
		// There is nothing to commit; a read will show whether that is correct.
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
	switch err := w.Do(ctx, cmd); {
	case err == nil:
		return lines.Answered, nil
	case refused(err):
		return lines.Rejected, err
	default:
		return lines.Unanswered, err
	}
}

func (w *shellWay) discard(ctx context.Context, name string) error {
	return w.Do(ctx, abortOf(name))
}

func abortOf(session string) string { return "configure session " + session + " abort" }

// state reads the state with show commands. Values of a command that the release lacks are not
// set.
func (w *shellWay) state(ctx context.Context, commands []show) (*drivers.Observation, error) {
	o := &drivers.Observation{Taken: time.Now(), Ports: map[string]*drivers.PortState{}}
	cmds := make([]string, len(commands))
	for i, c := range commands {
		cmds[i] = c.cmd + " | json"
	}
	answers, err := w.ShowAll(ctx, cmds...)
	if err != nil {
		return nil, err
	}
	for i, c := range commands {
		err := answers[i].Err
		if err == nil {
			err = c.into([]byte(answers[i].Out), o)
		}
		if err != nil && !refused(err) && !errors.Is(err, showjson.ErrRefused) {
			return nil, fmt.Errorf("%s: %w", c.cmd, err)
		}
	}
	return o, nil
}
