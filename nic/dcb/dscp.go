package dcb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// MapDSCP gives each DSCP the wanted priority, 0..7. [qos.Unmapped] removes a DSCP from the table,
// [qos.Unmanaged] leaves it as it is. Map all 64 where possible: what mlx5 does with an unlisted
// DSCP cannot be read.
//
// Drivers differ in how the priority of a listed DSCP is changed, and dcbnl does not say how a
// driver behaves. This order suits all of them:
//
//  1. New code points are added first, so that the list never becomes empty in
//     between, which would make mlx5 and ice trust PCP for a moment.
//  2. Each change is tried as an addition. mlx5 replaces the old entry. ice
//     rejects it with EINVAL; only then is the old entry deleted first, and put
//     back if the new one is rejected again.
//  3. If both entries are listed after that, the table is the kernel's generic
//     one (bnxt). Both are deleted, the old one first, and the new one is added
//     again: bnxt's firmware has one entry per DSCP and clears it on any
//     deletion, so the new priority must be set last.
//  4. Wanted deletions come last.
//
// Sources: drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c, intel/ice/ice_dcb_nl.c and
// broadcom/bnxt/bnxt_dcb.c of Linux.
func (c *Client) MapDSCP(ctx context.Context, ifname string, want [qos.NumDSCP]int8) (changed bool, err error) {
	p, err := c.begin(ctx, "map dscp", ifname)
	if err != nil {
		return false, err
	}
	defer p.end()
	for d, prio := range want {
		if prio < qos.Unmanaged || prio >= qos.NumPriorities {
			return false, p.fail(ErrInvalid, fmt.Sprintf("dscp %d with priority %d", d, prio))
		}
	}
	t, err := p.table()
	if err != nil {
		return false, err
	}
	m := mapping(want)
	for _, phase := range []func(*table) error{m.addNew, m.change, m.removeDuplicates, m.remove} {
		if err := phase(t); err != nil {
			return t.wrote, err
		}
	}
	return t.check(m.diff)
}

// mapping holds the wanted priority of each DSCP.
type mapping [qos.NumDSCP]int8

// wanted calls f for each DSCP that should have a priority, with the priorities that it is
// currently listed with.
func (m *mapping) wanted(t *table, f func(a App, listed []uint8) error) error {
	for d, prio := range m {
		if prio < 0 {
			continue
		}
		if err := f(DSCP(uint8(d), uint8(prio)), t.last.priorities(d)); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapping) addNew(t *table) error {
	return m.wanted(t, func(a App, listed []uint8) error {
		if len(listed) > 0 {
			return nil
		}
		return t.add(a)
	})
}

func (m *mapping) change(t *table) error {
	return m.wanted(t, func(a App, listed []uint8) error {
		if len(listed) == 0 || slices.Contains(listed, a.Priority) {
			return nil
		}
		switch no, err := t.send(cmdIEEESet, a); {
		case err != nil:
			return err
		case no == eINVAL:
			return t.replace(a, listed)
		case no != 0 && no != eEXIST:
			return t.refusedAdd(a, no)
		}
		return nil
	})
}

// removeDuplicates leaves one entry for each DSCP that is listed with several priorities.
func (m *mapping) removeDuplicates(t *table) error {
	if !t.sent && !m.several(t) {
		return nil
	}
	if err := t.reread(); err != nil {
		return err
	}
	return m.wanted(t, func(a App, listed []uint8) error {
		if len(listed) < 2 || !slices.Contains(listed, a.Priority) {
			return nil
		}
		others := slices.DeleteFunc(slices.Clone(listed), func(p uint8) bool { return p == a.Priority })
		return t.replace(a, append(others, a.Priority))
	})
}

func (m *mapping) several(t *table) bool {
	_, twice := t.last.DSCPMap()
	return slices.ContainsFunc(twice, func(d int) bool { return m[d] >= 0 })
}

// remove deletes the entries of the DSCPs that should have none.
func (m *mapping) remove(t *table) error {
	for d, prio := range m {
		if prio != qos.Unmapped {
			continue
		}
		for _, old := range t.last.priorities(d) {
			if err := t.remove(DSCP(uint8(d), old)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *mapping) diff(s *State) string {
	for d, prio := range m {
		listed := s.priorities(d)
		switch {
		case prio == qos.Unmanaged:
		case prio == qos.Unmapped && len(listed) > 0:
			return fmt.Sprintf("dscp %d is listed with priority %d", d, listed[0])
		case prio >= 0 && (len(listed) != 1 || listed[0] != uint8(prio)):
			return fmt.Sprintf("dscp %d is listed with priorities %v, not %d", d, listed, prio)
		}
	}
	return ""
}

// replace deletes the entries of a DSCP with the given priorities, in order, and adds a. If a is
// rejected, it puts back the first of the deleted entries.
func (t *table) replace(a App, old []uint8) error {
	d := uint8(a.Protocol)
	for _, prio := range old {
		if err := t.remove(DSCP(d, prio)); err != nil {
			return err
		}
	}
	// After this, an entry that add finds listed after a rejection is one that add made itself.
	if err := t.reread(); err != nil {
		return err
	}
	err := t.add(a)
	if e, ok := errors.AsType[*Error](err); ok && e.kind == ErrRefused {
		return errors.Join(err, t.add(DSCP(d, old[0])), t.reread())
	}
	return err
}
