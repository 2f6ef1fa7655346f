package nxos

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// dualStageCommand enters dual-stage mode, available since 10.2.
const dualStageCommand = "configure dual-stage"

// send applies lines in dual-stage mode, to be reverted after timer (0 for never). If the switch
// does not know that mode, or one of the lines in it, send types the lines one by one, because it
// is not documented which lines the mode accepts. plain is an error that forbids typing them one
// by one.
func (d *Driver) send(ctx context.Context, typed []string, timer time.Duration, plain error) (staged bool, f lines.Fate, err error) {
	if !d.plain {
		f, err := d.stage(ctx, typed, timer)
		if f != lines.Unsent || !unknown(err) {
			return true, f, err
		}
	}
	if plain != nil {
		return false, lines.Unsent, plain
	}
	f, err = d.typeLines(ctx, typed)
	return false, f, err
}

// unknown reports whether the switch does not know the words of a line.
func unknown(err error) bool {
	line, ok := errors.AsType[*ssh.LineError](err)
	return ok && unknownWords.MatchString(line.Words)
}

var unknownWords = lazyre.New(`(?i)^% ?(invalid (command|input)|unknown command)`)

// stage commits lines in dual-stage mode; without lines it confirms a running timer. The switch
// verifies the whole batch before any line takes effect.
func (d *Driver) stage(ctx context.Context, typed []string, timer time.Duration) (f lines.Fate, err error) {
	commit := "commit"
	if timer > 0 {
		commit += " confirmed " + strconv.Itoa(int(timer.Round(time.Second).Seconds()))
	}
	err = d.Use(ctx, func(ctx context.Context, n *ssh.Network) error {
		_, err := n.Configure(ctx, &ssh.Batch{Level: levelStage, Enter: dualStageCommand, Lines: lines.Typed(native.Lines, typed),
			Drop: func(ctx context.Context) error { _, err := n.Type(ctx, "abort"); return err }})
		var line *ssh.LineError
		switch {
		case errors.As(err, &line) && line.Number == 0:
			d.plain = d.plain || unknown(err)
			return err
		case err != nil:
			return abort(ctx, n, err)
		case ctx.Err() != nil:
			return abort(ctx, n, ctx.Err())
		}
		f = lines.Unanswered
		if _, err = n.Type(ctx, commit); err == nil {
			f = lines.Answered
		} else if drivers.RefusedLine(err) {
			// Do not abort: that would undo a commit that was executed.
			f = lines.Rejected
		}
		return err
	})
	return f, err
}

// abort drops the dual-stage buffer. If that fails, closing the shell drops it.
func abort(ctx context.Context, n *ssh.Network, why error) error {
	if _, err := n.Type(ctx, "abort"); err != nil && !drivers.RefusedLine(err) {
		return lines.JoinErrors(why, lines.JoinErrors(err, n.Close()))
	}
	return why
}

// typeLines types lines in configuration mode, where each takes effect at once. It stops at the
// first refused line.
func (d *Driver) typeLines(ctx context.Context, typed []string) (f lines.Fate, err error) {
	err = d.Use(ctx, func(ctx context.Context, n *ssh.Network) error {
		f = lines.Unanswered
		_, err := n.Configure(ctx, &ssh.Batch{Level: levelConfig, Enter: "configure terminal", Lines: lines.Typed(native.Lines, typed)})
		if err == nil {
			_, err = n.Type(ctx, "end")
		}
		return err
	})
	var line *ssh.LineError
	switch {
	case errors.As(err, &line) && line.Number == 0:
		f = lines.Unsent
	case line != nil:
		f = lines.Rejected
	case err == nil:
		f = lines.Answered
	}
	return f, err
}

// errAwaited explains why a switch refuses a commit: its only timer is running, and the switch
// does not show whose commit it belongs to.
var errAwaited = errors.New("a commit awaits confirmation, and may not be from this run; roll back again once it is confirmed or has timed out")

// refusedForTimer reports whether a commit was refused because of another commit's timer.
func refusedForTimer(err error) bool {
	line, ok := errors.AsType[*ssh.LineError](err)
	return ok && strings.HasPrefix(line.Line, "commit") && awaitedWords.MatchString(line.Words)
}

// awaitedWords matches the expected text of such a refusal. No public document with its wording
// is known.
var awaitedWords = lazyre.New(`(?i)\bconfirm`)

// noChanges matches the expected message for a commit without changes.
var noChanges = lazyre.New(`(?i)\b(no|nothing)\b.{0,40}\bcommit`)

// stopTimer confirms a dual-stage commit whose timer may be running, so that the change stays: an
// empty commit confirms. The switch does not show whether a timer is running.
func (d *Driver) stopTimer(ctx context.Context, run string) error {
	var last error
	for range 3 {
		if d.plain || run != "" && d.typed == run {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return drivers.TransportError(lines.JoinErrors(last, err))
		}
		_, err := d.stage(ctx, nil, 0)
		var line *ssh.LineError
		if err == nil || d.plain || errors.As(err, &line) && noChanges.MatchString(line.Words) {
			return nil
		}
		if line != nil {
			err = fmt.Errorf("%w: %w", drivers.ErrRejected, err)
		}
		last = err
	}
	return drivers.TransportError(last)
}

// Forget removes the checkpoint of a run. A failure is not returned, because the run itself
// succeeded; the next plan reports the checkpoint.
func (d *Driver) Forget(ctx context.Context, b lines.Record) {
	ctx, cancel := fence.Outlive(ctx, d.Pace.Read)
	defer cancel()
	name := b.Checkpoint
	if d.started == name {
		d.started = ""
	}
	if names, shown, err := d.checkpoints(ctx); err == nil && (!shown || names[name]) && drivers.Ours(name) {
		_ = d.Do(ctx, "no checkpoint "+name)
	}
}
