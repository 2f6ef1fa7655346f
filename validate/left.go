package validate

import (
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Left runs the checks of packet memory on the state of a switch after a plan's changes, and
// returns the findings above info that the plan does not fix. It leaves out findings that the
// intent itself causes or accepts, and those that applying the intent fixes.
func Left(d *render.Device, running *qos.Device, changes []qos.Change, now time.Time) []checks.Finding {
	left := memoryFindings(d, After(running, d.Desired, changes), checks.Running, now)
	if len(left) == 0 {
		return nil
	}
	intended := memoryFindings(d, d.Desired, checks.Intended, now)
	return slices.DeleteFunc(left, func(f checks.Finding) bool {
		return f.Fix == checks.ApplyIntent || slices.ContainsFunc(intended, func(i checks.Finding) bool {
			return i.ID == f.ID && i.Severity.Rank() <= f.Severity.Rank() && !slices.ContainsFunc(f.Ports, func(p string) bool { return !slices.Contains(i.Ports, p) })
		})
	})
}

// memoryFindings returns the findings above info, without accepted ones, of the checks that a
// plan also runs.
func memoryFindings(d *render.Device, cfg *qos.Device, source checks.Source, now time.Time) []checks.Finding {
	r := viewOf(d, cfg, source, &checks.State{})
	for _, c := range registry {
		if c.Plans {
			r.Perform(c)
		}
	}
	return slices.DeleteFunc(checks.Sort(Accept(d.Fabric, r.Outcome.Findings.List, now)), func(f checks.Finding) bool {
		return f.Severity == checks.Info || f.Suppressed != nil || f.ID == "SUPPRESS"
	})
}

// After returns the state of a switch after all changes that can be made. It replaces the
// headroom and alpha of a port if a change affects the values that they derive from.
func After(running, desired *qos.Device, changes []qos.Change) *qos.Device {
	var places []qos.Place
	ports := map[string]bool{}
	whole := mapped(desired, changes)
	for at, made := range whole {
		if made {
			places = append(places, qos.Place{Port: at.Port, Field: at.Field.Kind.All()})
		}
	}
	for _, c := range changes {
		if c.Blocked != "" || c.Open || whole[qos.Place{Port: c.Port, Field: c.Field.Kind.Attr()}] {
			continue
		}
		places = append(places, c.Place())
		switch {
		case c.Field.Kind.Has(qos.MovesHeadroom):
			ports[c.Port] = true
		case c.Field.Kind == qos.KindHeadroomModel:
			for name := range desired.Ports {
				ports[name] = true
			}
		}
	}
	for name := range ports {
		for g := range qos.NumPriorities {
			places = append(places, qos.Place{Port: name, Field: qos.KindHeadroom.At(g)})
		}
	}
	return running.Keeping(desired.Over(running), places)
}

// mapped reports, by [qos.Kind.Attr], the maps that desired states in part and whose changes
// are all made.
func mapped(desired *qos.Device, changes []qos.Change) map[qos.Place]bool {
	out := map[qos.Place]bool{}
	for _, c := range changes {
		if _, ok := c.Field.Table(); !ok {
			continue
		}
		states := desired.GlobalMaps.V != nil
		if c.Port != "" {
			p := desired.Ports[c.Port]
			states = p != nil && p.Maps.V != nil
		}
		at := qos.Place{Port: c.Port, Field: c.Field.Kind.Attr()}
		was, seen := out[at]
		out[at] = (was || !seen) && states && c.Blocked == "" && !c.Open
	}
	return out
}
