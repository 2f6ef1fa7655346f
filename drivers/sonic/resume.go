package sonic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Resume sets what earlier runs left behind.
func (d *driver) Resume(l drivers.Leftover) {
	if l.Down = maps.Clone(l.Down); l.Down == nil {
		l.Down = map[string]string{}
	}
	d.left = &l
}

// leftDown returns the ports that this run or earlier ones took down for a step and did not bring
// up again, each with the run.
func (d *driver) leftDown() map[string]string {
	if d.left == nil {
		return nil
	}
	return maps.Clone(d.left.Down) // note changes it while other drivers compare cached plans
}

// note records the ports that are about to go down, and those that are up again.
func (d *driver) note(down, up []string) error {
	if d.left == nil || len(down)+len(up) == 0 {
		return nil
	}
	for _, p := range down {
		d.left.Down[p] = ""
	}
	for _, p := range up {
		delete(d.left.Down, p)
	}
	if d.left.Record == nil {
		return nil
	}
	return d.left.Record(down, up)
}

// Settle waits until the switch has carried out everything that it was sent. Between the server's
// checkpoint and its call of the updater another request may slip in, so a single answer is not
// enough.
func (d *driver) Settle(ctx context.Context) error {
	if _, err := d.Probe(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, maxSet)
	defer cancel()
	if d.t.SSH != nil && d.sshDown == nil {
		switch err := d.settleLoads(ctx, maxSet); {
		case d.direct, drivers.Silent(err), err != nil && !errors.Is(err, drivers.ErrUnreachable):
			return err
		}
	}
	for range 2 {
		if err := d.settle(ctx); err != nil {
			return fmt.Errorf("the switch did not settle, and may still be working on what it was sent: %w", err)
		}
	}
	return nil
}

// settleLoads waits until no load of this tool is running. A load continues after its session ends.
func (d *driver) settleLoads(ctx context.Context, limit time.Duration) error {
	done, err := d.poll(ctx, limit, func() (bool, error) {
		out, err := d.exec(ctx, "pgrep -f '[/]tmp/roce-fabric-'", nil)
		return err == nil && out.Status != 0, err
	})
	if err == nil && !done {
		err = errors.New("a configuration load that an earlier run started is still running")
	}
	if err != nil {
		return fmt.Errorf("the switch did not settle, and may still be working on what it was sent: %w", err)
	}
	return nil
}

// Keep saves the running configuration if settings of managed ports would be lost in a restart; a
// save always covers the whole configuration. Without SSH the startup file cannot be read; then
// Keep saves only for an interrupted run.
func (d *driver) Keep(ctx context.Context) (bool, error) {
	cfg, err := d.read(ctx)
	if err != nil {
		return false, err
	}
	if ports := cfg.Down(d.leftDown()); len(ports) > 0 {
		return false, fmt.Errorf("%w: %s was left down by an earlier run", drivers.ErrStale, natural.Fold(ports))
	}
	cutOff := d.left != nil && d.left.Run != ""
	kept, err := d.keep(ctx, cfg, cutOff)
	if err == nil && cutOff {
		d.tidy(ctx, d.left.Run)
	}
	return kept, err
}

// keep saves cfg, the running configuration, if the startup file differs from it. If the file
// cannot be read, keep saves only if blind is set.
func (d *driver) keep(ctx context.Context, cfg native.Config, blind bool) (bool, error) {
	saved, err := d.saved(ctx)
	switch {
	case errors.Is(err, drivers.ErrUnsupported):
		if !blind {
			return false, nil
		}
	case errors.Is(err, errCut): // a save that another run could not finish
	case err != nil:
		return false, err
	case d.lasts(cfg, saved):
		return false, nil
	}
	if err := d.save(ctx, cfg); err != nil {
		return false, fmt.Errorf("%w: %w", drivers.ErrUnsaved, err)
	}
	saved, err = d.saved(ctx)
	switch {
	case errors.Is(err, drivers.ErrUnsupported):
	case err != nil:
		return true, fmt.Errorf("%w: read back what was saved: %w", drivers.ErrUnsaved, err)
	case !d.lasts(cfg, saved):
		return true, fmt.Errorf("%w: %s still differs from what runs after 'config save'", drivers.ErrUnsaved, startupFile)
	}
	return true, nil
}

// lasts is like [drivers.SurvivesRestart], but ignores rows that the buffer manager makes again.
func (d *driver) lasts(running, saved native.Config) bool {
	var devs [2]*qos.Device
	for i, c := range []native.Config{running, saved} {
		c = maps.Clone(c)
		c[native.TGroup] = maps.Clone(c[native.TGroup])
		// The buffer manager makes these rows again at its own pace.
		maps.DeleteFunc(c[native.TGroup], func(_ string, row native.Row) bool { return native.Derived(row["profile"]) })
		devs[i], _ = native.Decode(c)
	}
	return drivers.SurvivesRestart(devs[0], devs[1], d.desired.Manages)
}
