package report

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Next suggests the next command to a person at a terminal; "" suggests nothing. Scripts and
// pipelines get no suggestion.
func (c *Console) Next(command string) {
	if command != "" && (c.Output == "" || c.Output == "text") && terminal(c.Err) {
		c.Talk("next: %s", command)
	}
}

// ToExplain returns the ID of the check to look up first, from the worst finding that reports a
// problem; "" if there is none.
func (r Report) ToExplain() string {
	for _, f := range r.Findings { // worst first
		if f.Suppressed == nil && f.Severity != checks.Info && f.Unchecked == "" && validate.Lookup(f.ID) != nil {
			return f.ID
		}
	}
	return ""
}

// ToApply returns the devices to which the intent must be applied, if that is the fix of the worst
// finding: those of all findings of its severity with that fix. It returns nil otherwise.
func (r Report) ToApply() (devices []string) {
	var worst checks.Severity
	for _, f := range r.Findings { // worst first
		if f.Suppressed != nil || f.Severity == checks.Info || f.Unchecked != "" {
			continue
		}
		applies := f.Device != "" && strings.HasPrefix(f.Fix, checks.ApplyIntent)
		switch {
		case worst == "" && !applies, worst != "" && f.Severity != worst:
			return slices.Compact(natural.Sorted(devices))
		case applies:
			devices = append(devices, f.Device)
		}
		worst = f.Severity
	}
	return slices.Compact(natural.Sorted(devices))
}
