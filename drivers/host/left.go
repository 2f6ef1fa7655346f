package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Left lists the changes that stay open, one per line, grouping ports with the same change. It
// omits the boot unit, which has its own command, and settings that a pending reset will
// activate. unfit says which ports are missing or not proven to be lossless; "" if there are
// none. It omits functions without DCB, whose physical function belongs to another machine, and
// findings that the intent accepts; a nil accepted accepts none.
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

// place names a field of ports, or of the host.
func place(field string, ports []string) string {
	if at := natural.Fold(ports); at != "" {
		return field + " of " + at
	}
	return field
}

// findingOf returns the ID of the check that reports a missing port or an unreadable setting; ""
// for other changes.
func findingOf(c nic.Change) string {
	switch {
	case c.Field == nic.FieldPort:
		return "NIC-04"
	case c.Kind == nic.KindUnknown:
		return "NIC-10"
	}
	return ""
}
