package sonic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/internal/term"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// quote turns any text into one word of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// hangUpSSH ends the SSH session, so that the next command opens another.
func (d *driver) hangUpSSH() {
	_ = drivers.HangUp(&d.sh) // the error of closing a broken connection adds nothing
}

// wakeSSH makes sure that the session works before something depends on it: an idle connection may
// be dead, and after a lost command it is not known whether it ran.
func (d *driver) wakeSSH(ctx context.Context) error {
	if d.sh != nil {
		if _, err := d.sh.Run(ctx, "true", nil); err != nil {
			d.hangUpSSH()
		}
	}
	_, err := d.shell(ctx)
	return err
}

// command runs one command on the switch and fails if the command fails.
func (d *driver) command(ctx context.Context, cmd string) error {
	return d.commandInput(ctx, cmd, nil)
}

func (d *driver) commandInput(ctx context.Context, cmd string, stdin []byte) error {
	_, err := d.output(ctx, cmd, stdin)
	return err
}

// output runs one command on the switch and returns its output.
func (d *driver) output(ctx context.Context, cmd string, stdin []byte) ([]byte, error) {
	out, err := d.exec(ctx, cmd, stdin)
	if err == nil {
		err = failure(cmd, out)
	}
	return out.Stdout, err
}

// failure returns the error for a command that failed, nil if it succeeded.
func failure(cmd string, out ssh.Result) error {
	if out.Status == 0 {
		return nil
	}
	return fmt.Errorf("%q ended with status %d: %s", cmd, out.Status, errorText(out))
}

// exec runs one command on the switch. A non-zero exit status is not an error.
func (d *driver) exec(ctx context.Context, cmd string, stdin []byte) (ssh.Result, error) {
	sh, err := d.shell(ctx)
	if err != nil {
		return ssh.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.t.SSH.CommandTimeout, ssh.DefaultCommandTimeout))
	defer cancel()
	out, err := sh.Run(ctx, cmd, stdin)
	if err != nil {
		d.hangUpSSH()
		return out, drivers.TransportError(err)
	}
	return out, nil
}

// errorText returns the error output of a command, or else its normal output.
func errorText(out ssh.Result) string {
	text := strings.TrimSpace(string(out.Stderr))
	if text == "" {
		text = strings.TrimSpace(string(out.Stdout))
	}
	return firstLines(text)
}

// firstLines returns the first lines of a text, joined into one; for a Python traceback, which ends
// with its cause, it returns the last line.
func firstLines(s string) string {
	lines := strings.Split(s, "\n")
	if strings.Contains(s, "Traceback (most recent call last)") {
		lines = lines[len(lines)-1:]
	}
	if len(lines) > 4 {
		lines = append(lines[:4], "...")
	}
	for i, l := range lines {
		lines[i] = term.CleanLine(l)
	}
	return strings.Join(lines, " / ")
}

// overSSH loads ops over SSH, bypassing the config updater, and determines the outcome. If a lost
// connection interrupts it, it continues from the current state, because a load can be repeated.
func (r *runner) overSSH(ctx context.Context, s native.Step) error {
	mark, err := footprintOf(r.cfg, s), error(nil)
	for range 3 {
		if err = r.sendSSH(ctx, s.Ops); err == nil {
			return r.confirm(ctx, mark, settled)
		}
		if !errors.Is(err, drivers.ErrUnreachable) || ctx.Err() != nil {
			break
		}
		if serr := r.d.settleLoads(ctx, linkUp); drivers.Silent(serr) {
			return fmt.Errorf("%w: %w", drivers.ErrPartial, serr)
		} else if serr != nil {
			break
		}
		now, rerr := r.d.read(ctx)
		if rerr != nil || mark.moved(now) == 0 || mark.left(now) == 0 {
			break
		}
		r.cfg = now
	}
	// The caller may have given up, and part of the ops may have taken effect.
	ctx, cancel := fence.Outlive(ctx, settled+r.d.readTimeout())
	defer cancel()
	return r.judge(ctx, mark, err, nil)
}

// sendSSH writes rows with 'config load', which checks nothing: it merges the fields of a row, and
// removes a row that is null (sonic-buildimage src/sonic-config-engine/sonic-cfggen;
// sonic-swss-common ConfigDBPipeConnector). Each load is one transaction. Rows are written first;
// then fields and rows are removed, referring rows before those they refer to. No row is removed
// before a read shows that nothing refers to it.
func (r *runner) sendSSH(ctx context.Context, ops []native.Op) error {
	if err := r.d.wakeSSH(ctx); err != nil {
		return err
	}
	put, gone, fields := native.Loads(r.cfg, ops)
	if err := r.load(ctx, put); err != nil {
		return err
	}
	for some := range slices.Chunk(fields, maxRemovals) {
		var cmd []string
		for _, f := range some {
			words := []string{"sudo sonic-db-cli CONFIG_DB hdel", quote(f.Table + "|" + f.Key)}
			for _, n := range f.Fields {
				words = append(words, quote(n))
			}
			cmd = append(cmd, strings.Join(words, " "))
		}
		if err := r.d.command(ctx, strings.Join(cmd, " && ")); err != nil {
			return err
		}
	}
	if gone.File != nil && len(gone.Ops) < len(ops) {
		now, err := r.d.read(ctx)
		if err != nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(ops), func(o native.Op) bool { return o.Del && o.Field == "" || o.Derives() })
		if left := rows(r.cfg, kept).left(now); left > 0 {
			return fmt.Errorf("the switch reported success, but %d of %d rows differ from what was written; nothing was removed", left, len(kept))
		}
	}
	return r.load(ctx, gone)
}

// maxRemovals limits the number of commands in one line.
const maxRemovals = 64

// load makes the switch load a file. A load that failed may still have been carried out.
func (r *runner) load(ctx context.Context, l native.Load) error {
	if l.File == nil {
		return nil
	}
	file, err := r.d.upload(ctx, l.File)
	if err != nil {
		return err
	}
	// The shell removes the file even if the session has ended.
	err = r.d.command(ctx, "trap "+quote("rm -f "+file)+" EXIT; sudo config load -y "+quote(file))
	if err == nil || errors.Is(err, drivers.ErrUnreachable) {
		return err
	}
	if now, rerr := r.d.read(ctx); rerr != nil || rows(r.cfg, l.Ops).left(now) > 0 {
		return err
	}
	return nil
}
