package sonic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

const (
	// pause is the time between two reads while the switch works.
	pause = 500 * time.Millisecond
	// minSet is the minimum timeout of a Set.
	minSet = time.Minute
	// settled limits the reads after an answer, because daemons act a moment later.
	settled = 3 * time.Second
	// linkUp limits the wait for the links of ports that were taken down.
	linkUp = 90 * time.Second
	// taken limits the wait for daemons to process what they were sent.
	taken = 15 * time.Second
)

// maxSet is the maximum timeout of a Set: the server gives up after 600 s, while the config updater
// continues (sonic-gnmi:sonic_service_client).
const maxSet = 620 * time.Second

// setTimeout returns the timeout of a Set. The config updater needs about 4 s for a row on a port
// that is up, a fraction of a second for any other row and ten seconds for itself; three times the
// sum leaves room for a slow switch.
func setTimeout(s native.Step) time.Duration {
	flaps := make(map[string]bool, len(s.Down))
	for _, name := range s.Down {
		flaps[name] = true
	}
	t := 10*time.Second + 250*time.Millisecond*time.Duration(len(s.Ops))
	for _, o := range s.Ops {
		if flaps[o.PortOf()] {
			t += 4 * time.Second
		}
	}
	return min(max(3*t, minSet), maxSet)
}

// runner carries out steps. cfg is kept equal to the switch's configuration.
type runner struct {
	d        *driver
	cfg      native.Config
	progress func(i int)
	wasUp    map[string]bool
	// written holds the values that earlier steps wrote, by row (a place without a field). Rows
	// that buffermgrd derives are left out.
	written map[place]footprint
	// unsaved is set if the last write took effect but the switch did not save it.
	unsaved bool
	// reverts is set for a revert, which continues even if something cannot be recorded or does not
	// take effect.
	reverts bool
}

// run carries out the steps in order. Its error wraps ErrPartial once anything on the switch was
// changed.
func (r *runner) run(ctx context.Context, steps []native.Step) error {
	r.wasUp, r.written = map[string]bool{}, map[place]footprint{}
	for i, s := range steps {
		err := r.step(ctx, i, s, i == len(steps)-1)
		if err == nil {
			continue
		}
		err = fmt.Errorf("step %d of %d (%s): %w", i+1, len(steps), s.What, err)
		if i > 0 && !errors.Is(err, drivers.ErrPartial) {
			err = fmt.Errorf("%w: %w", drivers.ErrPartial, err)
		}
		return err
	}
	if r.unsaved {
		if err := r.d.save(ctx, r.cfg); err != nil {
			return fmt.Errorf("%w: %w", drivers.ErrUnsaved, err)
		}
	}
	return nil
}

func (r *runner) step(ctx context.Context, i int, s native.Step, last bool) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stopped before it: %w", err)
	}
	if r.progress != nil {
		r.progress(i)
	}
	r.d.live(ctx)
	if err := r.noteLinks(ctx, s.Down); err != nil {
		return err
	}
	if err := r.d.note(s.Down, nil); err != nil && !r.reverts {
		return err
	}
	if err := r.send(ctx, s, last); err != nil {
		return err
	}
	if err := r.wrote(s.Ops); err != nil {
		return err
	}
	// If recording fails, the record still lists a port that is up, which does no harm.
	_ = r.d.note(nil, s.Up)
	if !last {
		r.awaitRaised(ctx, s.Up)
	}
	return r.waitLinks(ctx, s.Up)
}

// send carries out the request of a step. If other steps follow, it waits until the daemons have
// processed the request: without daemons, all ports would go down for nothing.
func (r *runner) send(ctx context.Context, s native.Step, last bool) error {
	send := r.overGNMI
	if s.Via == "ssh" {
		send = r.overSSH
	}
	if last || r.reverts {
		return send(ctx, s)
	}
	made := false
	if !r.d.sure {
		objects, rest := s.Objects(r.cfg)
		var err error
		if made, err = r.probe(ctx, send, objects); err != nil {
			return err
		}
		if made {
			s = rest
		}
	}
	var err error
	if len(s.Ops) > 0 {
		err = send(ctx, s)
	}
	if err == nil {
		err = r.d.keepUp(ctx)
		made = made || err != nil
	}
	if err != nil && made && !errors.Is(err, drivers.ErrPartial) {
		err = fmt.Errorf("%w: %w", drivers.ErrPartial, err)
	}
	return err
}

// probe sends the rows of a step that become objects of orchagent by themselves, and waits for one
// of the objects. Over gNMI alone, nothing else shows that orchagent runs before a port goes down.
// made is false if the step has no such rows, or if ASIC_DB shows nothing.
func (r *runner) probe(ctx context.Context, send func(context.Context, native.Step) error, s native.Step) (made bool, err error) {
	if len(s.Ops) == 0 {
		return false, nil
	}
	before, err := r.d.objects(ctx)
	if err != nil || before == nil {
		return false, err
	}
	if err := send(ctx, s); err != nil {
		return false, err
	}
	if err := r.d.awaitObjects(ctx, before); err != nil {
		return true, fmt.Errorf("%w: %w", drivers.ErrPartial, err)
	}
	return true, nil
}

// awaitRaised waits for the links of ports that were down before the run, before others go down:
// they may be the alternative uplink. It is not known whether they ever had a link, so a missing
// link is not an error.
func (r *runner) awaitRaised(ctx context.Context, ports []string) {
	_, _ = r.awaitLinks(ctx, slices.DeleteFunc(slices.Clone(ports), func(p string) bool { _, noted := r.wasUp[p]; return noted }))
}

// awaitLinks waits until ports have a link, and returns the ports that still have none.
func (r *runner) awaitLinks(ctx context.Context, left []string) ([]string, error) {
	_, err := r.d.poll(ctx, linkUp, func() (bool, error) {
		for len(left) > 0 {
			up, err := r.d.operUp(ctx, left[0])
			if err != nil {
				r.d.hangUp()
			}
			if err != nil || !up {
				return false, err
			}
			left = left[1:]
		}
		return true, nil
	})
	return left, err
}

// overGNMI sends one request and determines its outcome.
func (r *runner) overGNMI(ctx context.Context, s native.Step) error {
	c, err := r.d.client(ctx)
	if err != nil {
		return err
	}
	// If the switch is unreachable before the request, nothing was sent.
	if _, err := r.d.row(ctx, "CONFIG_DB", native.TMetadata, "localhost"); err != nil {
		r.d.hangUp()
		return err
	}
	patience := setTimeout(s)
	sctx, cancel := context.WithTimeout(ctx, patience)
	err = c.Set(sctx, setRequest(s.Ops, r.cfg))
	cancel()
	mark := footprintOf(r.cfg, s)
	if err == nil {
		if err := r.confirm(ctx, mark, settled); err != nil {
			return err
		}
		r.unsaved = false
		return nil
	}
	// The caller may have given up, but the switch continues. Nothing else may be sent until the
	// outcome is known.
	ctx, cancel = fence.Outlive(ctx, patience+r.d.readTimeout())
	defer cancel()
	if !open(err) {
		return r.judge(ctx, mark, err, s.Ops)
	}
	// Another request may slip in between the server's checkpoint and its call of the updater, so a
	// single answer is not enough.
	for range 2 {
		if werr := r.d.settle(ctx); werr != nil {
			return fmt.Errorf("%w: the switch may still be working on it: %w", drivers.ErrPartial, errors.Join(err, werr))
		}
		if now, rerr := r.d.read(ctx); rerr == nil && mark.left(now) == 0 {
			break
		}
	}
	return r.judge(ctx, mark, err, s.Ops)
}

// open reports whether a failed Set may still be running: no answer came, or the server gave up
// waiting for its own config updater ("Timeout 600").
func open(err error) bool {
	return errors.Is(err, gnmi.ErrTimeout) || errors.Is(err, gnmi.ErrUnreachable) ||
		errors.Is(err, drivers.ErrUnreachable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(err.Error(), "Timeout ")
}

// settle waits until the switch has carried out everything that it was sent. Its host service
// processes requests one by one, so an empty request (the removal of a table that does not exist)
// is answered after those before it. It changes nothing. Reading would not help: while a Set runs,
// a Get shows the old state.
func (d *driver) settle(ctx context.Context) error {
	ok, err := d.poll(ctx, maxSet, func() (bool, error) {
		c, err := d.client(ctx)
		if err == nil {
			err = c.Set(ctx, gnmi.SetRequest{Origin: origin, Deletes: []gnmi.Path{path("ROCE_FABRIC_NONE")}})
		}
		if err == nil || !open(err) {
			// A server that rejects even this request has no work in progress.
			return true, nil
		}
		d.hangUp()
		return false, err
	})
	if ok {
		return nil
	}
	return err
}

// hangUp ends the gNMI session, so that the next call does not wait for its backoff.
func (d *driver) hangUp() {
	_ = drivers.HangUp(&d.cli) // the error of closing a broken connection adds nothing
}

func (d *driver) readTimeout() time.Duration {
	if d.t.GNMI.Timeout > 0 {
		return d.t.GNMI.Timeout
	}
	return gnmi.DefaultTimeout
}

// poll is [drivers.Poll] at an interval that suits the switch.
func (d *driver) poll(ctx context.Context, limit time.Duration, done func() (bool, error)) (bool, error) {
	return drivers.Poll(ctx, pause, limit, done)
}

// confirm waits until the switch holds the values that it accepted.
func (r *runner) confirm(ctx context.Context, mark footprint, limit time.Duration) error {
	var now native.Config
	ok, err := r.d.poll(ctx, limit, func() (bool, error) {
		c, err := r.d.read(ctx)
		if err != nil {
			r.d.hangUp()
			return false, err
		}
		now = c
		return mark.left(now) == 0, nil
	})
	switch {
	case ok:
		r.cfg = now
		return nil
	case now == nil || err != nil:
		return fmt.Errorf("%w: the configuration of the switch cannot be read: %w", drivers.ErrPartial, err)
	}
	return fmt.Errorf("%w: the switch reported success but holds %d of %d values", drivers.ErrPartial, len(mark)-mark.left(now), len(mark))
}

// judge reads the outcome of a failed request and returns the error for it, nil if it was carried
// out.
func (r *runner) judge(ctx context.Context, mark footprint, cause error, ops []native.Op) error {
	var now native.Config
	ok, err := r.d.poll(ctx, settled, func() (bool, error) {
		c, err := r.d.read(ctx)
		if err != nil {
			r.d.hangUp()
		}
		now = c
		return err == nil, err
	})
	if !ok {
		return fmt.Errorf("%w: the configuration of the switch cannot be read: %w", drivers.ErrPartial, errors.Join(cause, err))
	}
	left := mark.left(now)
	switch {
	case left == 0:
		// The change was carried out although the switch reported an error, after which it does not
		// save.
		r.cfg, r.unsaved = now, true
		return nil
	case mark.moved(now) > 0:
		return fmt.Errorf("%w: %d of %d values are in: %w", drivers.ErrPartial, len(mark)-left, len(mark), cause)
	case open(cause):
		return fmt.Errorf("%w, nothing was written: %w", drivers.ErrUnreachable, cause)
	}
	return fmt.Errorf("%w: %w%s", drivers.ErrRejected, cause, r.d.explain(ctx, ops, r.cfg))
}

// wrote records the values of ops that were carried out. It returns an error if the switch has lost
// values that earlier steps wrote.
func (r *runner) wrote(ops []native.Op) error {
	for p, c := range rows(r.cfg, ops) {
		row := place{p.table, p.key, ""}
		switch {
		case p.table == native.TGroup || p.table == native.TProfile && native.Derived(p.key):
			continue
		case p == row || r.written[row] == nil:
			r.written[row] = footprint{}
		}
		delete(r.written[row], row)
		r.written[row][p] = c
	}
	lost, of := 0, 0
	for _, f := range r.written {
		lost, of = lost+f.left(r.cfg), of+len(f)
	}
	if lost > 0 {
		return fmt.Errorf("%w: %d of %d values written by earlier steps have changed: the switch restarted, or someone else changed them", drivers.ErrPartial, lost, of)
	}
	return nil
}

// footprint holds each value that a step writes, with its old and new contents.
type footprint map[place]change

type place struct{ table, key, field string } // field "" means the row

type change struct{ was, want string }

func (p place) in(c native.Config) string {
	row := c.Row(p.table, p.key)
	switch {
	case p.field != "":
		return row[p.field]
	case row == nil:
		return ""
	}
	return string(row.JSON())
}

func footprintOf(cfg native.Config, s native.Step) footprint {
	f := rows(cfg, s.Ops)
	// A port that the updater takes down by itself must be up in the end.
	for _, port := range slices.Concat(s.Down, s.Up) {
		p := place{native.TPort, port, "admin_status"}
		if _, written := f[p]; !written {
			f[p] = change{p.in(cfg), p.in(cfg)}
		}
	}
	return f
}

// rows returns the values that ops write.
func rows(cfg native.Config, ops []native.Op) footprint {
	want, f := cfg.After(ops), footprint{}
	for _, o := range ops {
		p := place{o.Table, o.Key, o.Field}
		f[p] = change{p.in(cfg), p.in(want)}
	}
	return f
}

// left counts the values that do not have their new contents.
func (f footprint) left(now native.Config) (n int) {
	for p, c := range f {
		if p.in(now) != c.want {
			n++
		}
	}
	return n
}

// moved counts the values that no longer have their old contents.
func (f footprint) moved(now native.Config) (n int) {
	for p, c := range f {
		if p.in(now) != c.was {
			n++
		}
	}
	return n
}

// noteLinks records which of the ports are up before they go down.
func (r *runner) noteLinks(ctx context.Context, ports []string) error {
	for _, p := range ports {
		up, err := r.d.operUp(ctx, p)
		if err != nil {
			return err
		}
		r.wasUp[p] = up
	}
	return nil
}

// waitLinks waits until the ports that were up are up again, so that the next group does not start
// while this one has no links.
func (r *runner) waitLinks(ctx context.Context, ports []string) error {
	left, err := r.awaitLinks(ctx, slices.DeleteFunc(slices.Clone(ports), func(p string) bool { return !r.wasUp[p] }))
	switch {
	case len(left) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("%w: waiting for %s to come up: %w", drivers.ErrPartial, natural.Fold(left), err)
	}
	return fmt.Errorf("%w: %s did not come up again within %s", drivers.ErrPartial, natural.Fold(left), linkUp)
}

// operUp reads the link state. A missing link state counts as down, so that nothing waits for it.
func (d *driver) operUp(ctx context.Context, port string) (bool, error) {
	row, err := d.row(ctx, "APPL_DB", "PORT_TABLE", port)
	return row["oper_status"] == "up", err
}
