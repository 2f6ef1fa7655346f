package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Watch reads the settings of a run every stayEvery for defaultStay, or for the Machine's Stay, and
// at least minLooks times.
const (
	defaultStay = 5 * time.Second
	stayEvery   = 250 * time.Millisecond
	minLooks    = 2
)

// Watch rereads the settings of completed steps for a while and returns those that are no longer as
// desired, each as first found: something else writes them. It does not watch firmware settings and
// AMD's cards, which take seconds to read.
func (m *Machine) Watch(ctx context.Context, desired *nic.Host, steps []Step) ([]nic.Change, error) {
	written := map[string]map[string]bool{}
	for _, s := range steps {
		if s.Blocked != "" || s.Field == nic.FieldNV || isAMD(s.Driver, s.Field) || !desired.Manages(s.Port) {
			continue
		}
		if written[s.Port] == nil {
			written[s.Port] = map[string]bool{}
		}
		for _, f := range s.fields() {
			written[s.Port][f] = true
		}
	}
	if len(written) == 0 {
		return nil, nil
	}
	m.choose()
	limit := cmp.Or(m.Stay, defaultStay)
	tick := time.NewTicker(min(stayEvery, limit))
	defer tick.Stop()
	var found ordered.Groups[[2]string, nic.Change]
	for start, looks := time.Now(), 1; ; looks++ {
		now := m.writtenDifferences(ctx, desired, written)
		for _, c := range now {
			found.Add([2]string{c.Port, c.Field}, c)
		}
		if looks >= minLooks && time.Since(start) >= limit {
			return confirmedDifferences(&found, now), ctx.Err()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("watch whether the settings stay: %w", ctx.Err())
		}
	}
}

// confirmedDifferences returns the settings that differed more than once, or at the last read: a
// driver may briefly report another value.
func confirmedDifferences(found *ordered.Groups[[2]string, nic.Change], last []nic.Change) (out []nic.Change) {
	for at, l := range found.All() {
		if len(l) > 1 || slices.ContainsFunc(last, func(c nic.Change) bool { return c.Port == at[0] && c.Field == at[1] }) {
			out = append(out, l[0])
		}
	}
	return out
}

// fields returns the fields that a step sets.
func (s Step) fields() []string {
	out := []string{s.Field}
	for _, c := range s.Changes {
		out = append(out, c.Field)
	}
	return out
}

// Sets reports whether the step sets a field of a port.
func (s Step) Sets(port, field string) bool {
	return s.Port == port && slices.Contains(s.fields(), field)
}

// writtenDifferences returns the differences in the fields that were written. Ports that cannot be
// read are skipped; the next read of the host reports them.
func (m *Machine) writtenDifferences(ctx context.Context, desired *nic.Host, written map[string]map[string]bool) []nic.Change {
	now := &nic.Host{Ports: map[string]*nic.Port{}, Uppers: map[string]*nic.Upper{}}
	want := &nic.Host{Ports: map[string]*nic.Port{}, Uppers: map[string]*nic.Upper{}}
	for _, name := range natural.Keys(written) {
		if u := desired.Uppers[name]; u != nil {
			if have := m.upper(ctx, name); have != nil {
				now.Uppers[name], want.Uppers[name] = have, u
			}
			continue
		}
		d, err := m.device(name)
		if err != nil {
			continue
		}
		r := m.readerOf(ctx, d)
		r.settings()
		now.Ports[name], want.Ports[name] = r.p, desired.Ports[name]
	}
	return slices.DeleteFunc(nic.Diff(now, want), func(c nic.Change) bool {
		return c.Kind == nic.KindUnknown || !written[c.Port][c.Field]
	})
}
