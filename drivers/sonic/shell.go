package sonic

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// quote makes one word of the shell out of any text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// hangUpSSH ends the SSH session, so that the next command opens another.
func (d *driver) hangUpSSH() {
	if d.sh != nil {
		// The error of closing a broken connection adds nothing.
		_ = d.sh.Close()
		d.sh = nil
	}
}

// wakeSSH makes sure that a session works before something depends on it: a
// connection that has been idle may be gone, and a command that is lost on it
// leaves open whether it ran.
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
	sh, err := d.shell(ctx)
	if err != nil {
		return err
	}
	out, err := sh.Run(ctx, cmd, stdin)
	if err != nil {
		d.hangUpSSH()
		return drivers.TransportError(err)
	}
	said := strings.TrimSpace(string(out.Stderr))
	if said == "" {
		said = strings.TrimSpace(string(out.Stdout))
	}
	if out.Status != 0 {
		return fmt.Errorf("%q ended with status %d: %s", cmd, out.Status, firstLines(said))
	}
	return nil
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

// overSSH carries ops out that the config updater refuses, and finds out what
// became of them.
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
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("random name: %w", err)
	}
	file := "/tmp/roce-fabric-" + hex.EncodeToString(id[:]) + ".json"
	if err := d.commandInput(ctx, "cat > "+quote(file), data); err != nil {
		return "", err
	}
	return file, nil
}
