package sonic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Resume tells what earlier runs left behind.
func (d *Driver) Resume(l drivers.Leftover) {
	if l.Down = maps.Clone(l.Down); l.Down == nil {
		l.Down = map[string]string{}
	}
	d.left = &l
}

// leftDown returns the ports that earlier runs, or this one, took down for a
// step and did not bring up again, each with the run.
func (d *Driver) leftDown() map[string]string {
	if d.left == nil {
		return nil
	}
	return d.left.Down
}

// note keeps a record of ports that are about to go down, and of ports that are
// up again.
func (d *Driver) note(down, up []string) error {
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

// stillDown returns those of the ports that are down, in order.
func stillDown(cfg native.Config, ports map[string]string) []string {
	var out []string
	for _, p := range natural.Keys(ports) {
		if cfg.Row(native.TPort, p) != nil && !up(cfg, p) {
			out = append(out, p)
		}
	}
	return out
}

// raised is cfg with the ports up that are left down: what it was before the
// run that took them down.
func raised(cfg native.Config, left map[string]string) native.Config {
	var ops []op
	for _, p := range stillDown(cfg, left) {
		ops = append(ops, admin(p, "up"))
	}
	return after(cfg, ops)
}

// withLeft returns desired with the ports up that are left down, where it does
// not say itself what they should be, and those ports.
func withLeft(desired *qos.Device, running native.Config, left map[string]string) (*qos.Device, []string) {
	var ports []string
	out := *desired
	for _, name := range stillDown(running, left) {
		p := desired.Ports[name]
		if p == nil || p.AdminUp.Set {
			continue
		}
		if ports == nil {
			out.Ports = maps.Clone(desired.Ports)
		}
		own := *p
		own.AdminUp = qos.Of(true)
		out.Ports[name] = &own
		ports = append(ports, name)
	}
	return &out, ports
}

// sayLeft gives the changes that bring up ports their reason, and returns notes
// that say which run left them down.
func sayLeft(changes []qos.Change, ports []string, left map[string]string) []string {
	byRun := map[string][]string{}
	for _, p := range ports {
		byRun[left[p]] = append(byRun[left[p]], p)
		for i := range changes {
			if c := &changes[i]; c.Port == p && c.Field.Kind == qos.KindAdminUp {
				c.Reason = "left down by run " + left[p]
			}
		}
	}
	const few = 8 // a group of ports, with its names in full
	var notes []string
	for _, run := range natural.Keys(byRun) {
		list := byRun[run]
		names := strings.Join(list, ", ")
		if len(list) > few {
			names = natural.Fold(list)
		}
		if len(list) == 1 {
			notes = append(notes, fmt.Sprintf("%s was left down by run %s; it is brought up", names, run))
		} else {
			notes = append(notes, fmt.Sprintf("%s were left down by run %s; they are brought up", names, run))
		}
	}
	return notes
}

// sayShut notes the ports that are down and stay down, since no record says that a
// run took them down.
func sayShut(running native.Config, desired *qos.Device, left map[string]string) []string {
	shut := map[string]string{}
	for name, p := range desired.Ports {
		if _, ours := left[name]; !ours && !p.AdminUp.Set {
			shut[name] = ""
		}
	}
	switch ports := stillDown(running, shut); len(ports) {
	case 0:
		return nil
	case 1:
		return []string{ports[0] + " is administratively down and stays down: no run on record took it down; with admin: up in the intent it is brought up"}
	default:
		return []string{natural.Fold(ports) + " are administratively down and stay down: no run on record took them down; with admin: up in the intent they are brought up"}
	}
}

// Settle waits until the switch has done all that it was sent. Between the
// server's checkpoint and its call of the updater another request may slip in,
// so one answer is not yet the end.
func (d *Driver) Settle(ctx context.Context) error {
	if _, err := d.Probe(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, maxSet)
	defer cancel()
	for range 2 {
		if err := d.settle(ctx); err != nil {
			return fmt.Errorf("%s: the switch did not settle, and may still be working on what it was sent: %w", d.t.Name, err)
		}
	}
	return nil
}

// Keep saves what of managed ports runs and would be lost in a restart; a save is
// of the whole configuration. Only SSH reads the startup file; without it, what a
// run left that was cut off is saved in any case.
func (d *Driver) Keep(ctx context.Context) (bool, error) {
	cfg, err := d.read(ctx)
	if err != nil {
		return false, err
	}
	if ports := stillDown(cfg, d.leftDown()); len(ports) > 0 {
		return false, fmt.Errorf("%s: %w: %s was left down by an earlier run", d.t.Name, drivers.ErrStale, natural.Fold(ports))
	}
	cutOff := d.left != nil && d.left.Run != ""
	return d.keep(ctx, cfg, cutOff)
}

// keep saves cfg, which runs, where the startup file differs from it, or where
// that cannot be read and blind says to save in that case.
func (d *Driver) keep(ctx context.Context, cfg native.Config, blind bool) (bool, error) {
	saved, err := d.saved(ctx)
	switch {
	case errors.Is(err, drivers.ErrUnsupported):
		if !blind {
			return false, nil
		}
	case err != nil:
		return false, err
	case d.lasts(cfg, saved):
		return false, nil
	}
	if err := d.save(ctx, cfg); err != nil {
		return false, fmt.Errorf("%s: %w: %w", d.t.Name, drivers.ErrUnsaved, err)
	}
	saved, err = d.saved(ctx)
	switch {
	case errors.Is(err, drivers.ErrUnsupported):
	case err != nil:
		return true, fmt.Errorf("%s: %w: read back what was saved: %w", d.t.Name, drivers.ErrUnsaved, err)
	case !d.lasts(cfg, saved):
		return true, fmt.Errorf("%s: %w: %s still differs from what runs after 'config save'", d.t.Name, drivers.ErrUnsaved, startupFile)
	}
	return true, nil
}

// lasts reports whether the switch would be the same after a restart, in what
// this tool manages. A port that is down and saved as up was shut by hand, which
// is not for this tool to save.
func (d *Driver) lasts(running, saved native.Config) bool {
	var devs [2]*qos.Device
	for i, c := range []native.Config{running, saved} {
		c = maps.Clone(c)
		c[native.TGroup] = maps.Clone(c[native.TGroup])
		// The buffer manager makes these again, at its own time.
		maps.DeleteFunc(c[native.TGroup], func(_ string, row native.Row) bool { return native.Derived(row["profile"]) })
		devs[i], _ = native.Decode(c)
	}
	for i := range devs {
		for _, c := range qos.Diff(devs[i], devs[1-i]) {
			have, becomes := c.Old, c.New
			if i == 1 {
				have, becomes = c.New, c.Old
			}
			others := c.Port != "" && !d.desired.Manages(c.Port)
			if others || c.Field.Kind == qos.KindAdminUp && have == "false" && becomes == "true" || c.Field.Kind == qos.KindDerivedFrom {
				continue
			}
			return false
		}
	}
	return true
}
