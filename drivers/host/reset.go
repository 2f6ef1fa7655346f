package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Resets returns the cards of a host that await a reset, given the changes from running to
// desired. A reset activates all stored settings of a card, so the stored settings of others are
// listed as well.
func Resets(running *nic.Host, changes []nic.Change) []drivers.Reset {
	cards := map[string]*drivers.Reset{}
	for _, c := range changes {
		p := running.Ports[c.Port]
		if c.Kind != nic.KindResetPending || p == nil {
			continue
		}
		part := nic.Card(p.PCI)
		card := cards[part]
		if card == nil {
			card = &drivers.Reset{Part: part, How: c.After}
			cards[part] = card
		}
		name, _ := nic.NVName(c.Field)
		card.Ports = append(card.Ports, c.Port)
		card.Settings = append(card.Settings, name+" "+c.Old+" -> "+c.New)
	}
	var out []drivers.Reset
	for _, part := range natural.Keys(cards) {
		card := cards[part]
		card.Ports = slices.Compact(natural.Sorted(card.Ports))
		card.Settings = slices.Compact(natural.Sorted(card.Settings))
		card.Others = stored(running.Ports[card.Ports[0]].NV, card.Settings)
		out = append(out, *card)
	}
	return out
}

// stored returns the settings of a card that the next boot changes, except those in listed.
func stored(nv map[string]nic.NV, listed []string) (out []string) {
	for _, name := range ordered.Sorted(maps.Keys(nv), natural.Compare) {
		v := nv[name]
		now, next := mlxconfig.ParseValue(v.Current), mlxconfig.ParseValue(v.Next)
		if now.Known() && next.Known() && !now.Same(next) && !slices.ContainsFunc(listed, func(l string) bool { return strings.HasPrefix(l, name+" ") }) {
			out = append(out, name+" "+v.Current+" -> "+v.Next)
		}
	}
	return out
}

var _ drivers.Resetter = (*Driver)(nil)

// Ways implements [drivers.Resetter].
func (d *Driver) Ways(ctx context.Context, waiting []drivers.Reset) ([]drivers.Reset, error) {
	m, err := d.Machine(ctx)
	if err != nil {
		return nil, err
	}
	var ports []string
	for _, w := range waiting {
		ports = append(ports, w.Ports[0])
	}
	cards, err := m.Resets(ctx, ports, d.Options)
	if err != nil {
		return nil, d.wrap(err)
	}
	out := slices.Clone(waiting)
	for i := range out {
		w := &out[i]
		card, err := cardOf(cards, w.Part)
		if err != nil {
			return nil, err
		}
		w.Also = slices.DeleteFunc(slices.Clone(card.Ports), func(port string) bool { return slices.Contains(w.Ports, port) })
		w.Does, w.Blocked, w.Impact = card.Does, card.Blocked, qos.ImpactLoss
		if card.Way.Reboots() {
			w.Impact = qos.ImpactReload
			if d.Connect == nil {
				w.Blocked = cmp.Or(w.Blocked, "the machine that the program runs on has to be started again: run it on another one")
			}
		}
		if d.seen != nil && d.seen.Unit.Present && d.seen.Unit.Digest != d.Desired.Unit.Digest {
			w.Blocked = cmp.Or(w.Blocked, "the boot unit would set other settings than the intent's after it: 'roce-fabric nic unit install' first")
		}
	}
	return out, nil
}

func cardOf(cards []local.CardReset, part string) (local.CardReset, error) {
	i := slices.IndexFunc(cards, func(c local.CardReset) bool { return c.Card == part })
	if i < 0 {
		return local.CardReset{}, fmt.Errorf("card %s: %w: the host does not say how it is reset", part, drivers.ErrRejected)
	}
	return cards[i], nil
}

// Reset implements [drivers.Resetter].
func (d *Driver) Reset(ctx context.Context, part drivers.Reset, o drivers.ResetOptions) error {
	m, err := d.Machine(ctx)
	if err != nil {
		return err
	}
	cards, err := m.Resets(ctx, part.Ports[:1], d.Options)
	if err != nil {
		return d.wrap(err)
	}
	card, err := cardOf(cards, part.Part)
	if err == nil && (card.Does != part.Does || card.Blocked != part.Blocked) {
		err = fmt.Errorf("card %s: %w: it would be reset by %q now", part.Part, drivers.ErrStale, card.Does)
	}
	if err != nil {
		return err
	}
	names := slices.Compact(natural.Sorted(append(natural.Keys(d.Desired.Ports), card.Ports...)))
	before, err := m.Read(ctx, names)
	if err != nil {
		return d.wrap(err)
	}
	// Check only now that no other run is in progress, because the mark would end with the
	// connection.
	if _, err := d.hold(ctx, m, o.ID); err != nil {
		return err
	}
	d.release()
	if err := m.Reset(ctx, card, d.Options); err != nil && (d.ownWord(err) || errors.Is(err, agent.ErrStart)) {
		return kindError{d.wrap(err), drivers.ErrPartial}
	}
	// Ignore an error of the connection, which may have been lost with the card.
	if err := d.back(ctx, before, card.Way.Reboots(), o.Within); err != nil {
		return kindError{err, drivers.ErrPartial}
	}
	return nil
}

// Times for polling a host that is restarting.
const (
	firstLook = 250 * time.Millisecond // between two polls, doubled each time
	lastLook  = 10 * time.Second
	// oneLook limits one poll: reading a card takes up to 20 s, and one that is just restarting
	// may not respond at all.
	oneLook = 3 * time.Minute
	// unitTime is the time that the boot unit of a restarted host may take.
	unitTime = time.Minute
)

// errUnset means that a host is back but its boot unit has not set everything.
var errUnset = errors.New("its boot unit has not set it yet")

// back waits until a host is back and its boot unit, if it has one, has set everything or used up
// its time.
func (d *Driver) back(ctx context.Context, before *nic.Host, reboots bool, within time.Duration) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	var unset time.Time
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		why := d.missingSince(ctx, before, reboots)
		late := errors.Is(why, errUnset)
		if late && unset.IsZero() {
			unset = time.Now()
		}
		if why == nil || late && time.Since(unset) > unitTime {
			return nil
		}
		select {
		case <-time.After(wait):
			continue
		case <-ctx.Done():
			return fmt.Errorf("%w: it is not known whether the host came back: %w", ctx.Err(), why)
		case <-deadline.C:
		}
		if late {
			return nil
		}
		return fmt.Errorf("the host did not come back within %s: %w", drivers.Spell(within), why)
	}
}

// missingSince returns an error that describes what a host still lacks; nil if it is back as before.
func (d *Driver) missingSince(ctx context.Context, before *nic.Host, reboots bool) error {
	ctx, cancel := context.WithTimeout(ctx, oneLook)
	defer cancel()
	_ = d.Close() // a connection over the card is dead, possibly without noticing
	m, err := d.Machine(ctx)
	if err != nil {
		return err
	}
	now, err := m.Read(ctx, natural.Keys(before.Ports))
	if err != nil {
		return d.wrap(err)
	}
	if reboots && before.Boot != "" && now.Boot == before.Boot {
		return errors.New("it has not rebooted")
	}
	for _, name := range natural.Keys(before.Ports) {
		was, is := before.Ports[name], now.Ports[name]
		switch {
		case is == nil:
			return fmt.Errorf("it has no %s", name)
		case was.RDMA != "" && is.RDMA != was.RDMA:
			return fmt.Errorf("the RDMA device of %s is %s, not %s", name, cmp.Or(is.RDMA, "missing"), was.RDMA)
		case was.Carrier.V && !is.Carrier.V:
			return fmt.Errorf("%s has no carrier", name)
		}
	}
	if u := now.Unit; u.Present && u.Stale == "" && u.Masked == "" && u.Failed == "" {
		for _, c := range nic.Diff(now, d.Desired) {
			if c.Writable() {
				return fmt.Errorf("%s is %s, not %s: %w", c.Path(), c.Old, c.New, errUnset)
			}
		}
	}
	return nil
}
