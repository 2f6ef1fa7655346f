package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
)

// left says, a line each, what differs on a host that an apply does not mend, the
// ports together of which the same is true. The boot unit has a command of its
// own, and what waits for a reset is as intended once that comes. The error is
// that a port is missing, or not proven to be lossless; a function without DCB is
// for the machine that has the physical one, and what the intent accepts of a
// validation is no error here either.
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
		line := fmt.Sprintf("%s: %s -> %s, %s", of(c.Field, ports[c]), c.Old, c.New, c.Kind)
		if c.Blocked != "" {
			line += ": " + c.Blocked
		}
		lines = append(lines, line)
		if c.Field != nic.FieldPort && (c.Field == nic.FieldDCB || !nic.Essential(c.Field)) {
			continue
		}
		open := slices.DeleteFunc(ports[c], func(port string) bool { return t.accepted(c, port) })
		if len(open) > 0 {
			essential = append(essential, of(c.Field, open))
		}
	}
	if len(essential) > 0 {
		err = fmt.Errorf("%s: not as intended: %s", t.name, strings.Join(essential, "; "))
	}
	return lines, err
}

// of says a field of ports, or of the host.
func of(field string, ports []string) string {
	if at := natural.Fold(ports); at != "" {
		return field + " of " + at
	}
	return field
}

// accepted reports whether the intent accepts what nic validate finds of a change:
// that a port is not there, or that a setting of it cannot be read.
func (t nicTarget) accepted(c nic.Change, port string) bool {
	check := ""
	switch {
	case c.Field == nic.FieldPort:
		check = "NIC-04"
	case c.Kind == nic.KindUnknown:
		check = "NIC-10"
	}
	now := time.Now()
	return slices.ContainsFunc(t.suppressions, func(s *intent.Suppression) bool {
		return s.Check == check && !s.Over(now) && s.Covers(t.name, port)
	})
}
