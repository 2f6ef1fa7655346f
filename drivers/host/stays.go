package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// watch checks that the values a run wrote stay in place. If something else changes a value back,
// neither another write nor a revert helps, so the value is left and the host reported as not as
// intended.
func (d *Driver) watch(ctx context.Context, m agent.Machine, steps []local.Step) error {
	if d.noCM != "" {
		steps = slices.DeleteFunc(slices.Clone(steps), func(s local.Step) bool { return nic.OfCM(s.Field) })
	}
	gone, err := m.Watch(ctx, d.Desired, steps)
	if err != nil {
		return kindError{d.wrap(err), drivers.ErrPartial}
	}
	for _, c := range gone {
		for _, s := range steps {
			if s.Sets(c.Port, c.Field) {
				d.lost = append(d.lost, s)
			}
		}
	}
	d.gone = gone
	return nil
}

// lostBy reports whether a field of a port belongs to a step whose value did not stay.
func (d *Driver) lostBy(port, field string) bool {
	return slices.ContainsFunc(d.lost, func(s local.Step) bool { return s.Sets(port, field) })
}

// notStaying lists the values that did not stay, one per line, and what may have changed them.
func (d *Driver) notStaying() (lines []string) {
	var ports ordered.Groups[nic.Change, string]
	for _, c := range d.gone {
		ports.Add(nic.Change{Field: c.Field, Old: c.Old, New: c.New, Blocked: d.seen.Suspects(c.Port, c.Field)}, c.Port)
	}
	for c, at := range ports.All() {
		lines = append(lines, fmt.Sprintf("%s was set to %s, and something else has set it to %s since: %s", place(c.Field, at), c.New, c.Old, c.Blocked))
	}
	return lines
}

// unfit joins the reasons why a host is not as intended.
func unfit(why string, lines []string) string {
	if why != "" {
		lines = append([]string{why}, lines...)
	}
	return strings.Join(lines, "; ")
}
