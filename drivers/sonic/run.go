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
	// minSet is the least time granted to a Set.
	minSet = time.Minute
	// settled bounds the reads after an answer: daemons follow a moment later.
	settled = 3 * time.Second
	// linkUp bounds the wait for ports that were taken down.
	linkUp = 90 * time.Second
	// taken bounds the wait for daemons to take up what they were sent.
	taken = 15 * time.Second
)

// maxSet is the longest wait for a Set: the server gives up after 600 s, and
// the config updater goes on by itself (sonic-gnmi:sonic_service_client).
const maxSet = 620 * time.Second

// setTimeout is the time that a Set may take: the config updater needs about 4 s for
// a row on a port that is up, a fraction of a second for any other and ten seconds for
// itself; three times that leaves room for a slow switch.
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

// runner carries out steps. cfg follows what the switch holds.
type runner struct {
	d        *driver
	cfg      native.Config
	progress func(i int)
	wasUp    map[string]bool
	// written holds the values that earlier steps wrote, by row (a place without a field).
	// Rows that buffermgrd derives are left out.
	written map[place]footprint
	// unsaved: the last write is in force, and the switch did not save it.
	unsaved bool
	// reverts: what cannot be recorded, or is not put in force, is done all the same.
	reverts bool
}

// run carries the steps out in order. Its error wraps ErrPartial from the
// moment that something stands which was not there before.
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
	// A record that fails leaves the port in it that is up: no harm in that.
	_ = r.d.note(nil, s.Up)
	if !last {
		r.awaitRaised(ctx, s.Up)
	}
	return r.waitLinks(ctx, s.Up)
}

// send carries the request of a step out. Where others follow, what it wrote has to be
// taken up first: without daemons all ports would go down for nothing.
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

// probe sends the rows of a step of which orchagent makes objects by itself, and waits for
// one of them: over gNMI alone nothing else shows, before a port goes down, that it runs.
// made is false where the step has none, or where ASIC_DB shows nothing.
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

// awaitRaised waits for the links of ports that were down before the run, before
// others go down: they may be the other way out. Whether they have had a link is
// not known, so that one without is no error.
func (r *runner) awaitRaised(ctx context.Context, ports []string) {
	_, _ = r.awaitLinks(ctx, slices.DeleteFunc(slices.Clone(ports), func(p string) bool { _, noted := r.wasUp[p]; return noted }))
}

// awaitLinks waits until ports have a link, and returns those that have none.
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

// overGNMI sends one request and finds out what became of it.
func (r *runner) overGNMI(ctx context.Context, s native.Step) error {
	c, err := r.d.client(ctx)
	if err != nil {
		return err
	}
	// A switch that is gone before the request is one that nothing was sent to.
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
	// The caller may be gone; the switch is not, and what it does next has to
	// be known before anything else is sent.
	ctx, cancel = fence.Outlive(ctx, patience+r.d.readTimeout())
	defer cancel()
	if !open(err) {
		return r.judge(ctx, mark, err, s.Ops)
	}
	// Between the server's checkpoint and its call of the updater another
	// request may slip in, so one answer is not yet the end.
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

// open reports whether a failed Set may still be going on: no answer came, or
// the server gave up waiting for its own config updater ("Timeout 600").
func open(err error) bool {
	return errors.Is(err, gnmi.ErrTimeout) || errors.Is(err, gnmi.ErrUnreachable) ||
		errors.Is(err, drivers.ErrUnreachable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(err.Error(), "Timeout ")
}

// settle waits until the switch has done all that it was sent: its host
// service takes one request after the other, so that an empty one, the removal
// of a table that is not there, is answered when those before it are through.
// It changes nothing. Reading is no help here: while a Set runs, a Get shows
// what was before it.
func (d *driver) settle(ctx context.Context) error {
	ok, err := d.poll(ctx, maxSet, func() (bool, error) {
		c, err := d.client(ctx)
		if err == nil {
			err = c.Set(ctx, gnmi.SetRequest{Origin: origin, Deletes: []gnmi.Path{path("ROCE_FABRIC_NONE")}})
		}
		if err == nil || !open(err) {
			// A server that refuses even this has nothing to work on.
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

// poll is [drivers.Poll] at the pace of the switch.
func (d *driver) poll(ctx context.Context, limit time.Duration, done func() (bool, error)) (bool, error) {
	return drivers.Poll(ctx, pause, limit, done)
}

// confirm waits until the switch holds what it said yes to.
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

// judge reads what became of a request that failed, and says so.
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
		// The change was carried out although the switch answered no, and after a no it
		// does not save.
		r.cfg, r.unsaved = now, true
		return nil
	case mark.moved(now) > 0:
		return fmt.Errorf("%w: %d of %d values are in: %w", drivers.ErrPartial, len(mark)-left, len(mark), cause)
	case open(cause):
		return fmt.Errorf("%w, nothing was written: %w", drivers.ErrUnreachable, cause)
	}
	return fmt.Errorf("%w: %w%s", drivers.ErrRejected, cause, r.d.explain(ctx, ops, r.cfg))
}

// wrote notes the values of ops that were carried out. It returns an error if the switch
// has lost what earlier steps wrote.
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
		return fmt.Errorf("%w: %d of %d values that earlier steps wrote are not as they were written: the switch has restarted, or someone else has changed them", drivers.ErrPartial, lost, of)
	}
	return nil
}

// footprint is what a step touches: each value as it was and as it will be.
type footprint map[place]change

type place struct{ table, key, field string } // field "" is the row

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
	// A port that the updater takes down by itself has to be up in the end.
	for _, port := range slices.Concat(s.Down, s.Up) {
		p := place{native.TPort, port, "admin_status"}
		if _, written := f[p]; !written {
			f[p] = change{p.in(cfg), p.in(cfg)}
		}
	}
	return f
}

// rows is what ops write.
func rows(cfg native.Config, ops []native.Op) footprint {
	want, f := cfg.After(ops), footprint{}
	for _, o := range ops {
		p := place{o.Table, o.Key, o.Field}
		f[p] = change{p.in(cfg), p.in(want)}
	}
	return f
}

// left counts the values that are not as they will be.
func (f footprint) left(now native.Config) (n int) {
	for p, c := range f {
		if p.in(now) != c.want {
			n++
		}
	}
	return n
}

// moved counts the values that are not as they were.
func (f footprint) moved(now native.Config) (n int) {
	for p, c := range f {
		if p.in(now) != c.was {
			n++
		}
	}
	return n
}

// noteLinks remembers which of the ports are up before they go down.
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

// waitLinks waits until the ports that were up are up again, so that the next
// group does not start while this one is still dark.
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

// operUp reads the link state. A switch that shows none counts as down, so that nothing
// waits for it.
func (d *driver) operUp(ctx context.Context, port string) (bool, error) {
	row, err := d.row(ctx, "APPL_DB", "PORT_TABLE", port)
	return row["oper_status"] == "up", err
}
