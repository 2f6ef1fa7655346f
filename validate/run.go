package validate

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Run collects the results of a fabric's switches and hosts and compares them. Its methods must
// not be called concurrently.
type Run struct {
	fabric     *intent.Fabric
	memo       checks.Memo // of the checks of links
	seen       map[string]*seen
	miscabled  map[intent.Endpoint]string // what LLDP shows in place of the link's other end
	found      checks.Collector
	answered   identity.Answered
	others     []checks.Finding // of hosts, and of commands
	outcomes   checks.Outcomes  // of switches with drift
	traits     map[traitGroup]map[string]*bearers
	counted    []gate.PortWindow
	pauses     []gate.Source
	watermarks []gate.Watermark
	alike      shared
}

// seen is the data of a switch that is kept to compare it with others.
type seen struct {
	sw        *intent.Switch
	taken     bool            // it was added, and not only assumed
	undoes    string          // fix of a state in which the switch will undo its configuration
	ends      []*checks.End   // by port; nil for a port without a link
	neighbors []qos.Neighbor  // by port, from LLDP; nil if it shows none
	names     *identity.Names // nil if the switch was not read
}

type traitGroup struct {
	check *checks.Check
	group string
}

// bearers are the members of a group that share one value.
type bearers struct {
	n, sound int
	layer    int                 // the outermost layer that states the value
	assumed  string              // where the value comes from if no layer states it
	devices  map[string][]string // ports by device
	where    map[string]string   // position of the first port of each device
}

// NewRun returns an empty Run for a fabric.
func NewRun(f *intent.Fabric) *Run {
	return &Run{fabric: f, seen: map[string]*seen{}, outcomes: checks.Outcomes{}, traits: map[traitGroup]map[string]*bearers{}, alike: newShared()}
}

// deviceOf returns the data kept of a switch.
func (r *Run) deviceOf(sw *intent.Switch) *seen {
	return checks.Cached(&r.seen, sw.Name, func() *seen { return &seen{sw: sw, ends: make([]*checks.End, len(sw.Ports))} })
}

// isAdded reports whether a switch was added.
func (r *Run) isAdded(name string) bool {
	s := r.seen[name]
	return s != nil && s.taken
}

// end returns the known settings of an end of a link, or nil.
func (r *Run) end(e intent.Endpoint) *checks.End {
	if s := r.seen[e.Device]; s != nil {
		if i := s.sw.Index(e.Port); i >= 0 {
			return s.ends[i]
		}
	}
	return nil
}

// Add adds the result of one switch.
func (r *Run) Add(s *Result) {
	name, kept := s.sw.Name, r.deviceOf(s.sw)
	kept.taken, kept.undoes = true, s.undoes
	if what := r.answered.Add(r.fabric, name, s.identity); what != "" {
		r.others = append(r.others, checks.Finding{ID: "TOP-11", Severity: checks.Error, Device: name, What: what, Where: s.sw.Pos.String(), Fix: Lookup("TOP-11").Fix})
	}
	r.others = append(r.others, s.outcome.Findings.List...)
	r.alike.compact(r.others[len(r.others)-len(s.outcome.Findings.List):])
	if s.neighbors != nil {
		kept.neighbors = make([]qos.Neighbor, len(kept.ends))
	}
	for i, p := range kept.sw.Ports {
		if e, ok := s.ends[p.Name]; ok {
			e.Source = s.source
			kept.ends[i] = r.alike.end(e)
		}
		if n, ok := s.neighbors[p.Name]; ok {
			kept.neighbors[i] = qos.Neighbor{Device: r.alike.text(n.Device), Port: r.alike.text(n.Port)}
		}
	}
	if s.names != nil {
		kept.names = r.alike.portNames(s.names)
	}
	bears := map[*bearers][]string{}
	for _, t := range s.outcome.Traits {
		g := checks.Cached(&r.traits, traitGroup{t.Check, t.Group}, func() map[string]*bearers { return map[string]*bearers{} })
		b := checks.Cached(&g, t.Value, func() *bearers {
			return &bearers{layer: t.Layer, assumed: t.Assumed, devices: map[string][]string{}, where: map[string]string{}}
		})
		b.layer = min(b.layer, t.Layer)
		if t.Assumed == "" {
			b.assumed = ""
		}
		b.n++
		if t.Sound {
			b.sound++
		}
		if _, ok := bears[b]; !ok {
			b.where[name] = t.Where
		}
		bears[b] = append(bears[b], t.Port)
	}
	for b, ports := range bears {
		b.devices[name] = r.alike.list(ports)
	}
	if !s.outcome.Drift.Empty() {
		r.outcomes[name] = &checks.Outcome{Drift: r.alike.drift(s.outcome.Drift), Reported: slices.Clone(s.outcome.Reported)}
	}
}

// Assume takes the ends of links of a switch that is not added to be as intended, so that the
// other ends are compared with them.
func (r *Run) Assume(d *render.Device) {
	kept := r.deviceOf(d.Switch)
	for i, p := range kept.sw.Ports {
		if p.Link != nil && kept.ends[i] == nil {
			e := checks.EndOf(d.Desired, p.Name)
			e.Assumed = true
			kept.ends[i] = r.alike.end(e)
		}
	}
}

// Note adds findings that are made elsewhere: of a host, or that a device could not be read.
func (r *Run) Note(fs ...checks.Finding) { r.others = append(r.others, fs...) }

// End returns the settings of an end of a link; it is not Known if its switch was not added.
func (r *Run) End(e intent.Endpoint) checks.End {
	if end := r.end(e); end != nil {
		return *end
	}
	return checks.End{}
}
