package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Left says, a line each, which changes stay open, the ports together of which the
// same is true. The boot unit has a command of its own, and what waits
// for a reset is as intended once that comes. unfit says that a port is missing, or
// not proven to be lossless; "" for neither. A function without DCB is for the
// machine that has the physical one, and a finding that the intent accepts is no
// error here either; a nil accepted accepts none.
func Left(changes []nic.Change, accepted func(check, port string) bool) (lines []string, unfit string) {
	var ports ordered.Groups[nic.Change, string]
	for _, c := range changes {
		if c.Field == nic.FieldUnit || c.Kind == nic.KindResetPending {
			continue
		}
		port := c.Port
		c.Port, c.Reason = "", ""
		ports.Add(c, port)
	}
	var essential []string
	for c, at := range ports.All() {
		line := fmt.Sprintf("%s: %s -> %s, %s", place(c.Field, at), c.Old, c.New, c.Kind)
		if c.Blocked != "" {
			line += ": " + c.Blocked
		}
		lines = append(lines, line)
		if c.Field != nic.FieldPort && (c.Field == nic.FieldDCB || !nic.Essential(c.Field)) {
			continue
		}
		open := slices.DeleteFunc(at, func(port string) bool {
			check := findingOf(c)
			return check != "" && accepted != nil && accepted(check, port)
		})
		if len(open) > 0 {
			essential = append(essential, place(c.Field, open))
		}
	}
	if len(essential) > 0 {
		unfit = "not as intended: " + strings.Join(essential, "; ")
	}
	return lines, unfit
}

// place says a field of ports, or of the host.
func place(field string, ports []string) string {
	if at := natural.Fold(ports); at != "" {
		return field + " of " + at
	}
	return field
}

// findingOf is the check that finds a change in a validation: that a port is not
// there, or that a setting of it cannot be read; "" for no such.
func findingOf(c nic.Change) string {
	switch {
	case c.Field == nic.FieldPort:
		return "NIC-04"
	case c.Kind == nic.KindUnknown:
		return "NIC-10"
	}
	return ""
}
