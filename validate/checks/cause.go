package checks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Cause is a group of findings that are the same except for their place.
type Cause struct {
	ID         string
	Severity   Severity
	What, Fix  string
	Suppressed *Suppressed
	// Findings are the findings of the cause in the order given, and Index holds the index of
	// each in that list.
	Findings []Finding
	Index    []int
}

// Causes groups findings by cause and sorts the causes: worst first and suppressed ones last,
// then by check. Every finding is in exactly one cause.
func Causes(fs []Finding) []Cause {
	type key struct {
		id, what, fix string
		severity      Severity
		accepted      bool
		suppressed    Suppressed
	}
	at := map[key]int{}
	var out []Cause
	for n, f := range fs {
		k := key{f.ID, f.What, f.Fix, f.Severity, f.Suppressed != nil, Suppressed{}}
		if f.Suppressed != nil {
			k.suppressed = *f.Suppressed
		}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Cause{ID: f.ID, Severity: f.Severity, What: f.What, Fix: f.Fix, Suppressed: f.Suppressed})
		}
		out[i].Findings, out[i].Index = append(out[i].Findings, f), append(out[i].Index, n)
	}
	ordered.Sort(out, func(a, b Cause) int {
		return cmp.Or(
			ordered.First(a.Suppressed == nil, b.Suppressed == nil),
			ordered.First(a.ID == OwnState, b.ID == OwnState),
			cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
			ordered.First(gate.Urgent(a.ID) != "", gate.Urgent(b.ID) != ""),
			natural.Compare(a.ID, b.ID))
	})
	return out
}

// Devices lists the devices of the cause without repetition, in natural order.
func (c Cause) Devices() []string { return c.each(func(f Finding) string { return f.Device }) }

// Places lists the places of the cause, combining devices with the same ports: "leaf[1-4]
// Ethernet[0-8:8]". A cause of the whole fabric has none.
func (c Cause) Places() []string {
	ports := map[string][]string{} // by device
	for _, f := range c.Findings {
		if f.Device != "" {
			ports[f.Device] = append(ports[f.Device], f.Ports...)
		}
	}
	var byPorts ordered.Groups[string, string] // by folded ports
	for _, d := range natural.Keys(ports) {
		byPorts.Add(natural.Fold(slices.Compact(natural.Sorted(ports[d]))), d)
	}
	out := []string{}
	for at, devices := range byPorts.All() {
		out = append(out, strings.TrimSpace(natural.Fold(devices)+" "+at))
	}
	return out
}

// Wheres lists the positions in the intent, or the rules, without repetition.
func (c Cause) Wheres() []string { return c.each(func(f Finding) string { return f.Where }) }

// Addresses lists the addresses at which devices could not be read, without repetition.
func (c Cause) Addresses() []string { return c.each(func(f Finding) string { return f.Address }) }

// Covers lists the checks that the findings cover, without repetition.
func (c Cause) Covers() []string {
	var out []string
	for _, f := range c.Findings {
		out = append(out, f.Covers...)
	}
	return slices.Compact(natural.Sorted(out))
}

// each lists the non-empty values of the findings without repetition, in natural order.
func (c Cause) each(of func(Finding) string) []string {
	var out []string
	for _, f := range c.Findings {
		if s := of(f); s != "" {
			out = append(out, s)
		}
	}
	return slices.Compact(natural.Sorted(out))
}
