package dcb

import (
	"context"
	"errors"
	"slices"
)

// SetApps adds entries to the APP table. Each is sent by itself, so that a
// refusal is about one. Where an entry is refused, those before it stand.
//
// The first DSCP entry makes mlx5 and ice trust DSCP; on ice it also resets
// ETS. mlx5 takes DSCP entries only, and a new one for a DSCP replaces the
// old. Other drivers list both: use [Client.MapDSCP] to change a mapping.
func (c *Client) SetApps(ctx context.Context, ifname string, apps ...App) (changed bool, err error) {
	return c.editApps(ctx, "set app", ifname, apps, true)
}

// DelApps deletes entries from the APP table; those that are not there are
// passed over. With the last DSCP entry mlx5 and ice go back to trusting PCP,
// and mlx5 gives the DSCP of any deleted entry priority 0.
func (c *Client) DelApps(ctx context.Context, ifname string, apps ...App) (changed bool, err error) {
	return c.editApps(ctx, "delete app", ifname, apps, false)
}

func (c *Client) editApps(ctx context.Context, op, ifname string, apps []App, want bool) (bool, error) {
	p, err := c.begin(ctx, op, ifname)
	if err != nil {
		return false, err
	}
	defer p.end()
	for _, a := range apps {
		if f := a.fault(); f != "" {
			return false, p.fail(ErrInvalid, f)
		}
	}
	t, err := p.table()
	if err != nil {
		return false, err
	}
	for _, a := range apps {
		edit := t.add
		if !want {
			edit = t.remove
		}
		if t.has(a) == want {
			continue
		}
		if err := edit(a); err != nil {
			return t.wrote, err
		}
	}
	return t.check(func(s *State) string {
		for _, a := range apps {
			if slices.Contains(s.Apps, a) != want {
				return a.String() + map[bool]string{true: " is not listed", false: " is still listed"}[want]
			}
		}
		return ""
	})
}

// table is the APP table of a port while it is edited.
type table struct {
	*port
	before, last *State
	// wrote says that the table may not be what it was before.
	wrote bool
	// sent says that anything was sent.
	sent bool
}

func (p *port) table() (*table, error) {
	s, err := p.get()
	if err != nil {
		return nil, err
	}
	return &table{port: p, before: s, last: s}, nil
}

// has reports whether an entry was listed when the table was last read.
func (t *table) has(a App) bool { return slices.Contains(t.last.Apps, a) }

func (t *table) reread() error {
	s, err := t.get()
	if err != nil {
		t.wrote = t.wrote || t.sent
		return err
	}
	t.last = s
	t.wrote = !s.sameSettings(t.before)
	return nil
}

// send carries out cmdIEEESet or cmdIEEEDel for one entry.
func (t *table) send(cmd uint8, a App) (Errno, error) {
	req, err := encodeApp(cmd, t.ifname, a)
	if err != nil {
		return 0, err
	}
	no, untouched, err := t.write(req, cmd)
	t.sent = t.sent || !untouched
	if err != nil {
		t.wrote = t.wrote || !untouched
		return 0, err
	}
	t.wrote = t.wrote || no == 0
	return no, nil
}

// add adds an entry. It is no error where the kernel says that it is there.
func (t *table) add(a App) error {
	no, err := t.send(cmdIEEESet, a)
	if err != nil || no == 0 || no == eEXIST {
		return err
	}
	return t.refusedAdd(a, no)
}

// refusedAdd makes the error of an addition that was refused. A driver may
// have listed the entry before its firmware refused it (bnxt_dcb.c): it is
// taken out again, else the next reader would believe it.
func (t *table) refusedAdd(a App, no Errno) error {
	refusal := t.refused(no, a.String())
	had := t.has(a)
	if err := t.reread(); err != nil {
		return errors.Join(refusal, err)
	}
	if had || !t.has(a) {
		return refusal
	}
	return errors.Join(refusal, t.remove(a), t.reread())
}

// remove deletes an entry. It is no error where the kernel knows none such.
func (t *table) remove(a App) error {
	no, err := t.send(cmdIEEEDel, a)
	if err != nil || no == 0 || no == eNOENT {
		return err
	}
	return t.refused(no, a.String())
}

// check reads the table again, where anything was sent, and compares.
func (t *table) check(diff func(*State) string) (changed bool, err error) {
	if !t.sent {
		return false, nil
	}
	if err := t.reread(); err != nil {
		return t.wrote, err
	}
	switch d := diff(t.last); {
	case d == "":
		return t.wrote, nil
	case t.wrote:
		return true, t.fail(ErrDiffers, d)
	default:
		return false, t.fail(ErrIgnored, d)
	}
}
