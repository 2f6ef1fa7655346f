package validate

import (
	"maps"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
	"github.com/roce-fabric/roce-fabric/validate/checks/pfc"
	"github.com/roce-fabric/roce-fabric/validate/checks/ports"
)

// Result holds the findings for one switch, and the data for comparing it with others.
type Result struct {
	outcome   *checks.Outcome
	sw        *intent.Switch
	source    checks.Source
	identity  drivers.Identity        // as the switch shows it
	ends      map[string]checks.End   // of ports with a link
	neighbors map[string]qos.Neighbor // by LLDP, of ports with a link
	undoes    string                  // fix of a state in which the switch will undo its configuration; "" if it is in none
	names     *identity.Names         // of a switch that was read
}

// Switch runs the checks of one switch. cfg is the configuration to check, compiled from the
// intent or read; state is nil if the switch was not read. Switch may be called concurrently.
func Switch(d *render.Device, cfg *qos.Device, source checks.Source, state *checks.State) *Result {
	if state == nil {
		state = &checks.State{}
	}
	r := viewOf(d, doubtful(d.Desired, cfg, state), source, state)
	r.Compare()
	out := &Result{undoes: undoes(state), outcome: r.Outcome, sw: d.Switch, source: source, identity: state.Identity, ends: map[string]checks.End{}, neighbors: map[string]qos.Neighbor{}}
	for _, c := range registry {
		r.Perform(c)
	}
	r.ReportUnknown(Lookup)
	r.ReportLacks(Lookup)
	if source == checks.Running {
		out.names = identity.RunningNames(d.Switch, cfg, state.Ports)
	}
	for _, p := range d.Switch.Ports {
		if p.Link != nil {
			out.ends[p.Name] = end(r, p)
			if q := cfg.Ports[p.Name]; q != nil && source == checks.Running && q.Neighbor.V != (qos.Neighbor{}) {
				out.neighbors[p.Name] = q.Neighbor.V
			}
		}
	}
	return out
}

// doubtful returns a copy of a configuration in which the values that differ from desired, and that a
// line that is not understood may set, are not known.
func doubtful(desired, cfg *qos.Device, state *checks.State) *qos.Device {
	if state.Account == nil || len(state.Unknown) == 0 {
		return cfg
	}
	changes := qos.Diff(cfg, desired)
	if len(changes) == 0 {
		return cfg
	}
	text := readText(&Config{Account: state.Account()})
	why, values := map[qos.Place]string{}, []qos.Place(nil)
	for _, ch := range changes {
		if ch.Field.Kind.Of() == qos.OfMaps || ch.Unknown != "" {
			continue // of maps, the decoders know what such a line leaves in force
		}
		if l := text.doubt(ch.Port, ch.Field); l != nil {
			why[ch.Place()] = "a line that is not understood may set it: " + term.CleanLine(l.text)
			values = append(values, ch.Place())
		}
	}
	if len(why) == 0 {
		return cfg
	}
	out := cfg.Keeping(nil, values)
	maps.Copy(why, cfg.NotKnown)
	out.NotKnown = why
	return out
}

// undoes returns the fix of the state in which a switch will undo its configuration by itself.
func undoes(state *checks.State) string {
	for _, own := range state.Own {
		if own.Reverts {
			return own.Fix
		}
	}
	return ""
}

// viewOf returns the view of a switch for its checks.
func viewOf(d *render.Device, cfg *qos.Device, source checks.Source, state *checks.State) *checks.Switch {
	r := checks.NewSwitch(d, cfg, source, state)
	if source != checks.Intended {
		r.Bare = ports.Bare(d, cfg)
	}
	return r
}

// Lacking reports which checks of a switch cannot be made from its intent, for example because
// its model is unknown.
func Lacking(d *render.Device) []checks.Finding {
	r := viewOf(d, d.Desired, checks.Intended, &checks.State{})
	for _, c := range registry {
		if r.Check = c; c.Needs == nil {
			continue
		}
		if l := c.Needs(r); l != nil {
			r.AddLack(*l, c.Switch != nil)
		}
	}
	r.ReportLacks(Lookup)
	return r.Outcome.Findings.List
}

// end returns the settings of a port as the end of a link, with what findings say about it.
func end(r *checks.Switch, p *intent.Port) checks.End {
	e := checks.EndOf(r.Config, p.Name)
	e.Intended = e == checks.EndOf(r.Device.Desired, p.Name)
	e.Bare, e.HashSeed = r.Bare[p.Name], r.Config.HashSeed
	e.Wire = ports.WireOf(r.Seen.Ports[p.Name], r.Device.Desired.Ports[p.Name])
	if q := r.Config.Ports[p.Name]; q != nil {
		e.PFCRead = q.PFC.Set
	}
	e.MTUSaid = r.CureOf(p.Name, qos.KindMTU.Attr()) != ""
	if _, differs := r.Differs(p.Name, qos.KindPFC.Attr()); differs {
		if root := pfc.ExplainedBy(r, p, r.Config.Ports[p.Name]); root != nil {
			e.PFCSaid = root[0]
			r.Outcome.MarkReported(p.Name, qos.KindPFC.Attr())
		}
	}
	return e
}

// Drift returns the number of settings that differ from the intent.
func (s *Result) Drift() int { return len(s.outcome.Drift.Changes) }

// End returns the settings of an end of a link, like [Run.End]. The result may be nil.
func (s *Result) End(port string) checks.End {
	if s == nil {
		return checks.End{}
	}
	return s.ends[port]
}
