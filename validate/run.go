package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
	"github.com/roce-fabric/roce-fabric/validate/checks/pfc"
	"github.com/roce-fabric/roce-fabric/validate/checks/ports"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Result holds the findings for one switch, and the data for comparing it with others.
type Result struct {
	outcome   *checks.Outcome
	sw        *intent.Switch
	source    checks.Source
	identity  drivers.Identity        // as the switch shows it
	ends      map[string]checks.End   // of ports with a link
	neighbors map[string]qos.Neighbor // by LLDP, of ports with a link
	names     *identity.Names         // of a switch that was read
}

// Switch runs the checks of one switch. cfg is the configuration to check, compiled from the
// intent or read; state is nil if the switch was not read. Switch may be called concurrently.
func Switch(d *render.Device, cfg *qos.Device, source checks.Source, state *checks.State) *Result {
	if state == nil {
		state = &checks.State{}
	}
	r := viewOf(d, cfg, source, state)
	r.Compare()
	out := &Result{outcome: r.Outcome, sw: d.Switch, source: source, identity: state.Identity, ends: map[string]checks.End{}, neighbors: map[string]qos.Neighbor{}}
	for _, c := range registry {
		r.Perform(c)
	}
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
	e.Bare = r.Bare[p.Name]
	e.Wire = ports.WireOf(r.Seen.Ports[p.Name], r.Device.Desired.Ports[p.Name])
	if q := r.Config.Ports[p.Name]; q != nil {
		e.Hole, e.PFCRead = pfc.Hole(r, p, q) != 0, q.PFC.Set
	}
	e.Unpaused = r.Unpaused[p.Name]
	e.MTUSaid = r.CureOf(p.Name, qos.KindMTU.Attr()) != ""
	if _, differs := r.Differs(p.Name, qos.KindPFC.Attr()); differs && pfc.Explained(r, p, r.Config.Ports[p.Name]) {
		e.PFCSaid = true
		r.Outcome.MarkReported(p.Name, qos.KindPFC.Attr())
	}
	return e
}

// Run collects the results of a fabric's switches and hosts and compares them. Its methods must
// not be called concurrently.
type Run struct {
	fabric    *intent.Fabric
	memo      checks.Memo // of the checks of links
	seen      map[string]*seen
	miscabled map[intent.Endpoint]string // what LLDP shows in place of the link's other end
	found     checks.Collector
	answered  identity.Answered
	others    []checks.Finding // of hosts, and of commands
	outcomes  checks.Outcomes  // of switches with drift
	traits    map[traitGroup]map[string]*bearers
	counted   []gate.PortWindow
	pauses    []gate.Source
	alike     shared
}

// seen is the data of a switch that is kept to compare it with others.
type seen struct {
	sw        *intent.Switch
	taken     bool            // it was added, and not only assumed
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
	kept.taken = true
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
			e.Source, e.Drifted = s.source, s.outcome.Drifted[p.Name]
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
		r.outcomes[name] = &checks.Outcome{Drift: r.alike.drift(s.outcome.Drift), Instead: s.outcome.Instead, Reported: slices.Clone(s.outcome.Reported)}
	}
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

// Findings compares everything that was added and returns all findings, sorted. Findings that
// the intent accepts at the time now are marked as suppressed.
func (r *Run) Findings(now time.Time) []checks.Finding {
	r.found, r.others = checks.Collector{}, slices.Clip(r.others)
	r.cabling()
	r.linked()
	r.links()
	r.reportOutliers()
	r.drift()
	r.alike.compact(r.found.List)
	return checks.Sort(Accept(r.fabric, append(r.others, r.found.List...), now))
}

// reportOutliers finds members whose value differs from that of most of their group; members
// without drift count before all others. Of two equally frequent values, the usual one is the
// one from the outer layer of the intent, then the one that sorts last. Assumed values are not
// compared with each other.
func (r *Run) reportOutliers() {
	groups := ordered.Sorted(maps.Keys(r.traits), func(a, b traitGroup) int {
		return cmp.Or(cmp.Compare(a.check.ID, b.check.ID), natural.Compare(a.group, b.group))
	})
	for _, g := range groups {
		values := r.traits[g]
		if len(values) < 2 {
			continue
		}
		usual, of := "", 0
		for _, v := range natural.Keys(values) {
			of += values[v].n
			if usual == "" || cmp.Or(cmp.Compare(values[v].sound, values[usual].sound), cmp.Compare(values[v].n, values[usual].n), cmp.Compare(values[usual].layer, values[v].layer)) >= 0 {
				usual = v
			}
		}
		for _, v := range natural.Keys(values) {
			if v == usual || values[v].assumed != "" && values[usual].assumed != "" {
				continue
			}
			for _, dev := range natural.Keys(values[v].devices) {
				g.check.Outliers(&checks.Outlier{Check: g.check, Group: g.group, Device: dev, Ports: values[v].devices[dev],
					Value: v + values[v].assumed, Usual: usual + values[usual].assumed, Share: values[usual].n, Of: of, Where: values[v].where[dev],
					Outcome: r.outcomes[dev], Add: r.found.Add})
			}
		}
	}
}

// drift reports the differences from the intent that no other finding reports.
func (r *Run) drift() {
	for _, name := range natural.Keys(r.outcomes) {
		s := r.outcomes[name]
		for i, ch := range s.Drift.Changes {
			if s.Reported[i] {
				continue
			}
			if f, ok := s.Instead[ch.Place()]; ok {
				r.found.Add(f, ch.Port)
				continue
			}
			f := checks.Finding{ID: "DRIFT", Severity: checks.Error, Device: name, Where: render.Reason(r.fabric.Switch(name), ch.Place()),
				What: fmt.Sprintf("%s is %s, the intent says %s", ch.Field, ch.Old, ch.New),
				Fix:  "apply the intent, or change the intent"}
			if id := s.Odd[ch.Place()]; id != "" {
				f.Covers = []string{id}
			}
			if ch.Field.Kind == qos.KindPort {
				f.What, f.Fix = "the device has no such port", "correct the name in the intent, or break the port out on the device"
			}
			r.found.Add(f, ch.Port)
		}
	}
}
