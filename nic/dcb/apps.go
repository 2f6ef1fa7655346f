package dcb

import (
	"context"
	"errors"
	"slices"
)

// SetApps adds entries to the APP table. It sends each entry separately, so that a rejection
// concerns one entry; the entries sent before it remain.
//
// The first DSCP entry makes mlx5 and ice trust DSCP; on ice it also resets ETS. mlx5 accepts only
// DSCP entries, and a new entry for a DSCP replaces the old one. Other drivers then list both: use
// [Client.MapDSCP] to change a mapping.
func (c *Client) SetApps(ctx context.Context, ifname string, apps ...App) (changed bool, err error) {
	return c.editApps(ctx, "set app", ifname, apps, true)
}

// DelApps deletes entries from the APP table and ignores those that do not exist. With the last
// DSCP entry, mlx5 and ice go back to trusting PCP; mlx5 also gives the DSCP of every deleted entry
// priority 0.
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

// table is a port's APP table during an edit.
type table struct {
	*port
	before, last *State
	// wrote reports whether the table may have changed.
	wrote bool
	// sent reports whether anything was sent.
	sent bool
}

func (p *port) table() (*table, error) {
	s, err := p.get()
	if err != nil {
		return nil, err
	}
	return &table{port: p, before: s, last: s}, nil
}

// has reports whether the entry was listed when the table was last read.
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

// send sends cmdIEEESet or cmdIEEEDel for one entry.
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

// add adds an entry. An entry that already exists according to the kernel is no error.
func (t *table) add(a App) error {
	no, err := t.send(cmdIEEESet, a)
	if err != nil || no == 0 || no == eEXIST {
		return err
	}
	return t.refusedAdd(a, no)
}

// refusedAdd returns the error for a rejected addition. A driver may list an entry before its
// firmware rejects it (bnxt_dcb.c); refusedAdd removes such an entry, because later readers would
// take it for real.
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

// remove deletes an entry. An entry that does not exist according to the kernel is no error.
func (t *table) remove(a App) error {
	no, err := t.send(cmdIEEEDel, a)
	if err != nil || no == 0 || no == eNOENT {
		return err
	}
	return t.refused(no, a.String())
}

// check rereads the table if anything was sent, and compares it.
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
