package sonic

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
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
	out, err := d.exec(ctx, cmd, stdin)
	if err == nil && out.Status != 0 {
		err = fmt.Errorf("%q ended with status %d: %s", cmd, out.Status, said(out))
	}
	return err
}

// exec runs one command on the switch; that it fails is no error.
func (d *driver) exec(ctx context.Context, cmd string, stdin []byte) (ssh.Result, error) {
	sh, err := d.shell(ctx)
	if err != nil {
		return ssh.Result{}, err
	}
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

func firstLines(s string) string {
	lines := strings.Split(s, "\n")
	if len(lines) > 4 {
		lines = append(lines[:4], "...")
	}
	for i, l := range lines {
		lines[i] = term.CleanLine(l)
	}
	return strings.Join(lines, " / ")
}

// overSSH carries out ops that the config updater refuses, and finds out what became of
// them.
func (r *runner) overSSH(ctx context.Context, s native.Step) error {
	mark := footprintOf(r.cfg, s)
	if err := r.sendSSH(ctx, s.Ops); err != nil {
		// The caller may be gone, and part of it may be in.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.d.pace.settled+r.d.readTimeout())
		defer cancel()
		return r.judge(ctx, mark, err, nil)
	}
	return r.confirm(ctx, mark, r.d.pace.settled)
}

// sendSSH writes rows by 'config load', which merges without a check, and
// removes rows and fields by 'sonic-db-cli'.
func (r *runner) sendSSH(ctx context.Context, ops []native.Op) error {
	if err := r.d.wakeSSH(ctx); err != nil {
		return err
	}
	var load []native.Op
	for _, o := range ops {
		var err error
		switch {
		case o.Del && o.Field != "":
			err = r.d.command(ctx, "sudo sonic-db-cli CONFIG_DB hdel "+quote(o.Table+"|"+o.Key)+" "+quote(o.Field))
		case o.Del:
			err = r.d.command(ctx, "sudo sonic-db-cli CONFIG_DB del "+quote(o.Table+"|"+o.Key))
		default:
			load = append(load, o)
			for _, f := range natural.Keys(r.cfg.Row(o.Table, o.Key)) {
				if _, stays := o.Row[f]; !stays && o.Field == "" && err == nil {
					err = r.d.command(ctx, "sudo sonic-db-cli CONFIG_DB hdel "+quote(o.Table+"|"+o.Key)+" "+quote(f))
				}
			}
		}
		if err != nil {
			return err
		}
	}
	if len(load) == 0 {
		return nil
	}
	file, err := r.d.upload(ctx, native.Config{}.After(load).AppendJSON(nil))
	if err != nil {
		return err
	}
	err = r.d.command(ctx, "sudo config load -y "+quote(file))
	// A file that stays behind in /tmp harms nothing.
	_ = r.d.command(ctx, "rm -f "+quote(file))
	return err
}

func (d *driver) upload(ctx context.Context, data []byte) (string, error) {
	file := "/tmp/roce-fabric-" + rand.Text() + ".json"
	if err := d.commandInput(ctx, "cat > "+quote(file), data); err != nil {
		return "", err
	}
	return file, nil
}
