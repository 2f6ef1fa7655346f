package main

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
)

// left says, a line each, what differs on a host that an apply does not mend, the
// ports together of which the same is true. The boot unit has a command of its
// own, and what waits for a reset is as intended once that comes. The error is
// that a port is missing, or not proven to be lossless; a function without DCB is
// for the machine that has the physical one.
func (t nicTarget) left(changes []nic.Change) (lines []string, err error) {
	ports := map[nic.Change][]string{}
	var order []nic.Change
	for _, c := range changes {
		if c.Field == nic.FieldUnit || c.Kind == nic.KindResetPending {
			continue
		}
		port := c.Port
		c.Port, c.Reason = "", ""
		if ports[c] == nil {
			order = append(order, c)
		}
		ports[c] = append(ports[c], port)
	}
	var essential []string
	for _, c := range order {
		what := c.Field
		if at := natural.Fold(ports[c]); at != "" {
			what += " of " + at
		}
		line := fmt.Sprintf("%s: %s -> %s, %s", what, c.Old, c.New, c.Kind)
		if c.Blocked != "" {
			line += ": " + c.Blocked
		}
		lines = append(lines, line)
		if c.Field == nic.FieldPort || c.Field != nic.FieldDCB && nic.Essential(c.Field) {
			essential = append(essential, what)
		}
	}
	if len(essential) > 0 {
		err = fmt.Errorf("%s: not as intended: %s", t.name, strings.Join(essential, "; "))
	}
	return lines, err
}
