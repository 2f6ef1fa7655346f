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

// quote makes one word of the shell out of any text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// hangUpSSH ends the SSH session, so that the next command opens another.
func (d *driver) hangUpSSH() {
	_ = drivers.HangUp(&d.sh) // the error of closing a broken connection adds nothing
}

// wakeSSH makes sure that a session works before something depends on it: an idle
// connection may be gone, and a command that is lost leaves open whether it ran.
func (d *driver) wakeSSH(ctx context.Context) error {
	if d.sh != nil {
		if _, err := d.sh.Run(ctx, "true", nil); err != nil {
			d.hangUpSSH()
		}
	}
	_, err := d.shell(ctx)
	return err
}

// command runs one command on the switch and fails where it does.
func (d *driver) command(ctx context.Context, cmd string) error {
	return d.commandInput(ctx, cmd, nil)
}

func (d *driver) commandInput(ctx context.Context, cmd string, stdin []byte) error {
	_, err := d.output(ctx, cmd, stdin)
	return err
}

// output runs one command on the switch and returns what it prints.
func (d *driver) output(ctx context.Context, cmd string, stdin []byte) ([]byte, error) {
	out, err := d.exec(ctx, cmd, stdin)
	if err == nil {
		err = failure(cmd, out)
	}
	return out.Stdout, err
}

// failure is the error of a command that failed.
func failure(cmd string, out ssh.Result) error {
	if out.Status == 0 {
		return nil
	}
	return fmt.Errorf("%q ended with status %d: %s", cmd, out.Status, said(out))
}

// exec runs one command on the switch; that it fails is no error.
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

// said is what a command had to say.
func said(out ssh.Result) string {
	text := strings.TrimSpace(string(out.Stderr))
	if text == "" {
		text = strings.TrimSpace(string(out.Stdout))
	}
	return firstLines(text)
}

// firstLines returns the beginning of a text in one line; of a Python traceback, which ends
// with its cause, the last line.
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

// overSSH loads ops past the config updater, and finds out what became of them. What a
// lost connection cut off goes on where it stands: a load can be repeated.
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
	// The caller may be gone, and part of it may be in.
	ctx, cancel := fence.Outlive(ctx, settled+r.d.readTimeout())
	defer cancel()
	return r.judge(ctx, mark, err, nil)
}

// sendSSH writes rows by 'config load', which checks nothing: it merges the fields of a
// row, and removes a row that is null (sonic-buildimage src/sonic-config-engine/
// sonic-cfggen; sonic-swss-common ConfigDBPipeConnector). Each load is one transaction.
// Rows come first, then fields and rows go, those that refer to others before these. No
// row goes before it is seen that nothing refers to it.
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
			return fmt.Errorf("the switch reported success, and %d of %d rows are not as they were written; nothing was removed", left, len(kept))
		}
	}
	return r.load(ctx, gone)
}

// maxRemovals bounds the commands of one line.
const maxRemovals = 64

// load has the switch load a file. A load that failed may have been carried out.
func (r *runner) load(ctx context.Context, l native.Load) error {
	if l.File == nil {
		return nil
	}
	file, err := r.d.upload(ctx, l.File)
	if err != nil {
		return err
	}
	// The shell removes the file, also where nobody waits for it any more.
	err = r.d.command(ctx, "trap "+quote("rm -f "+file)+" EXIT; sudo config load -y "+quote(file))
	if err == nil || errors.Is(err, drivers.ErrUnreachable) {
		return err
	}
	if now, rerr := r.d.read(ctx); rerr != nil || rows(r.cfg, l.Ops).left(now) > 0 {
		return err
	}
	return nil
}
