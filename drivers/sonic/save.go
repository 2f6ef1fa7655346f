package sonic

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/hint"
)

const (
	saveCommand = "sudo config save -y"
	startupDir  = "/etc/sonic"
)

// saveFile makes the switch write its startup file, if the disk has room: the command empties the
// file before it writes. After a failure it is not run again, to keep what the first attempt left.
func (d *driver) saveFile(ctx context.Context) error {
	if d.saveFailed != nil {
		return fmt.Errorf("not saved again: %w", d.saveFailed)
	}
	if err := d.room(ctx); err != nil {
		return fmt.Errorf("%s was left as it is: %w", startupFile, err)
	}
	err := d.command(ctx, saveCommand)
	if err == nil || errors.Is(err, drivers.ErrUnreachable) {
		return err
	}
	state, saved := d.startupState(ctx)
	if saved {
		return nil
	}
	d.saveFailed = hint.With(fmt.Errorf("%s %s: %w", startupFile, state, err),
		"make room in "+startupDir+", then run '"+saveCommand+"' before the switch restarts")
	return d.saveFailed
}

// startupState describes the startup file after a failed save. saved reports whether it holds the
// running configuration nevertheless.
func (d *driver) startupState(ctx context.Context) (state string, saved bool) {
	file, err := d.saved(ctx)
	switch {
	case errors.Is(err, errCut):
		return strings.TrimPrefix(err.Error(), startupFile+" "), false
	case err != nil:
		return "is in an unknown state, as it cannot be read", false
	}
	now, err := d.read(ctx)
	if err == nil && len(unsaved(now, file)) == 0 {
		return "", true
	}
	return "is the old one", false
}

// spare is the disk space, in bytes, that a save needs in addition to the file: a checkpoint, a log
// line.
const spare = 1 << 20

// room returns an error if a save of the startup file would not fit on its disk. It returns nil if
// the switch does not show the numbers.
func (d *driver) room(ctx context.Context) error {
	out, err := d.exec(ctx, "df -P -k "+startupDir+" && stat -c %s "+startupFile, nil)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(out.Stdout)), "\n")
	if len(lines) < 2 {
		return nil
	}
	f := strings.Fields(lines[1])
	if len(f) < 6 {
		return nil
	}
	free, err := strconv.ParseInt(f[3], 10, 64)
	if err != nil {
		return nil // another format of df
	}
	free *= 1 << 10
	need := int64(spare)
	if len(lines) > 2 {
		if n, err := strconv.ParseInt(strings.TrimSpace(lines[2]), 10, 64); err == nil {
			need += n
		}
	}
	if free >= need {
		return nil
	}
	return hint.With(fmt.Errorf("%w: %s has room for %d kB, and a save needs %d kB", drivers.ErrNoRoom, startupDir, free>>10, need>>10),
		"remove old files there, such as checkpoints and core dumps (ls -lhS "+startupDir+" /var/core)")
}
