package sonic

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/term"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// quote makes a word of the shell; callers keep quotes out of s.
func quote(s string) string { return "'" + s + "'" }

// command runs one command on the switch and fails where it does. The text of
// some commands reports a failure behind a status of 0.
func (d *Driver) command(ctx context.Context, cmd string) error {
	return d.commandInput(ctx, cmd, nil)
}

func (d *Driver) commandInput(ctx context.Context, cmd string, stdin []byte) error {
	sh, err := d.shell(ctx)
	if err != nil {
		return err
	}
	out, err := sh.Run(ctx, cmd, stdin)
	if err != nil {
		return d.wrap(err)
	}
	said := strings.TrimSpace(string(out.Stderr))
	if said == "" {
		said = strings.TrimSpace(string(out.Stdout))
	}
	if out.Status != 0 {
		return fmt.Errorf("%s: %q ended with status %d: %s", d.t.Name, cmd, out.Status, firstLines(said))
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

// overSSH carries ops out that the config updater refuses: rows by 'config
// load', which merges without a check, removals by 'sonic-db-cli'.
func (r *runner) overSSH(ctx context.Context, ops []op) error {
	load := native.Config{}
	for _, o := range ops {
		switch {
		case o.Del && o.Field != "":
			if err := r.d.command(ctx, "sudo sonic-db-cli CONFIG_DB hdel "+quote(o.Table+"|"+o.Key)+" "+quote(o.Field)); err != nil {
				return err
			}
		case o.Del:
			if err := r.d.command(ctx, "sudo sonic-db-cli CONFIG_DB del "+quote(o.Table+"|"+o.Key)); err != nil {
				return err
			}
		default:
			o.apply(load)
		}
	}
	if len(load) > 0 {
		if err := r.d.load(ctx, load); err != nil {
			return err
		}
	}
	return r.confirm(ctx, ops, settled, nil)
}

// load writes a file on the switch, loads it and removes it.
func (d *Driver) load(ctx context.Context, cfg native.Config) (err error) {
	file, err := d.upload(ctx, cfg.AppendJSON(nil))
	if err != nil {
		return err
	}
	if err := d.command(ctx, "sudo config load -y "+quote(file)); err != nil {
		return fmt.Errorf("%w: %w", drivers.ErrPartial, err)
	}
	return d.command(ctx, "rm -f "+quote(file))
}

func (d *Driver) upload(ctx context.Context, data []byte) (string, error) {
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
