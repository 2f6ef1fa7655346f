package validate

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Source says where the configuration that a check looks at comes from.
type Source int

// The sources.
const (
	Intended Source = iota // compiled from the intent
	Saved                  // a configuration in a file
	Running                // read from the switch
)

// State is the state that a switch shows in addition to its configuration.
type State struct {
	// InForce lists values that are configured but not in force; nil if the switch does not
	// show that.
	InForce []drivers.Mismatch
	// Unknown is configuration that [qos.Device] cannot represent.
	Unknown []drivers.Unknown
	// MayDerive is [drivers.Saved.MayDerive].
	MayDerive bool
	// Account returns what is known about each line of the running configuration; nil if it is
	// not needed.
	Account func() []render.Line
	// Unsaved names running configuration that a reload would lose.
	Unsaved []string
	// NotInForce says why the switch does not show what is in force; "" if it does.
	NotInForce string
	// NotSaved says why the switch does not show what a reload would lose; "" if it does.
	NotSaved string
	// Identity is the identity that the switch shows; Recorded is the one that run RecordedBy
	// recorded.
	Identity   drivers.Identity
	Recorded   drivers.Unit
	RecordedBy string
	// LeftDown maps ports that a run of this tool took down and did not bring up to that run.
	LeftDown map[string]string
	// Ports holds all ports that the switch shows, configured or not; nil if it shows none.
	Ports map[string]*drivers.PortState
}

// evidence returns what proves that the switch is the one in the intent.
func (s *State) evidence() Evidence {
	return Evidence{Identity: s.Identity, Recorded: s.Recorded, Run: s.RecordedBy, Ports: s.Ports}
}

// Result holds the findings for one switch, and the data for comparing it with others.
type Result struct {
	outcome   *outcome
	sw        *intent.Switch
	source    Source
	identity  drivers.Identity        // as the switch shows it
	ends      map[string]End          // of ports with a link
	neighbors map[string]qos.Neighbor // by LLDP, of ports with a link
	names     *portNames              // of a switch that was read
}

// Switch runs the checks of one switch. cfg is the configuration to check, compiled from the
// intent or read; state is nil if the switch was not read. Switch may be called concurrently.
func Switch(d *render.Device, cfg *qos.Device, source Source, state *State) *Result {
	if state == nil {
		state = &State{}
	}
	r := viewOf(d, cfg, source, state)
	r.compare()
	out := &Result{outcome: r.out, sw: d.Switch, source: source, identity: state.Identity, ends: map[string]End{}, neighbors: map[string]qos.Neighbor{}}
	for _, c := range registry {
		r.perform(c)
	}
	r.reportLacks(Lookup)
	if source == Running {
		out.names = runningNames(d.Switch, cfg, state.Ports)
	}
	for _, p := range d.Switch.Ports {
		if p.Link != nil {
			out.ends[p.Name] = r.end(p)
			if q := cfg.Ports[p.Name]; q != nil && source == Running && q.Neighbor.V != (qos.Neighbor{}) {
				out.neighbors[p.Name] = q.Neighbor.V
			}
		}
	}
	return out
}

// viewOf returns the view of a switch for its checks.
func viewOf(d *render.Device, cfg *qos.Device, source Source, state *State) *deviceRun {
	r := newDeviceRun(d, cfg, source, state)
	if source != Intended {
		r.bare = barePorts(d, cfg)
	}
	return r
}

func newDeviceRun(d *render.Device, cfg *qos.Device, source Source, state *State) *deviceRun {
	r := &deviceRun{d: d, cfg: cfg, source: source, seen: *state, layers: d.Fabric.Layers(d.Switch),
		out:   &outcome{drift: &drift{}, explained: map[qos.Place]bool{}},
		cures: map[qos.Place]string{}, unpaused: map[string]bool{}, lacking: map[lack][]string{}}
	for _, m := range state.InForce {
		if at := (qos.Place{Port: m.Port, Field: m.Field}); m.Fix != "" && r.cures[at] == "" {
			r.cures[at] = m.Fix
		}
	}
	r.memory = d.Memory(nil)
	if source != Intended {
		r.memory = d.Memory(cfg)
	}
	return r
}

// perform runs a check of the switch, or records what it lacks.
func (r *deviceRun) perform(c *Check) {
	r.check = c
	if c.needs != nil {
		if l := c.needs(r); l != nil {
			r.addLack(*l, c.device != nil || c.state != nil)
			return
		}
	}
	if c.device != nil {
		c.device(r)
	}
	if c.state != nil && r.source == Running {
		c.state(r)
	}
}

// Lacking reports which checks of a switch cannot be made from its intent, for example because
// its model is unknown.
func Lacking(d *render.Device) []Finding {
	r := viewOf(d, d.Desired, Intended, &State{})
	for _, c := range registry {
		if r.check = c; c.needs == nil {
			continue
		}
		if l := c.needs(r); l != nil {
			r.addLack(*l, c.device != nil)
		}
	}
	r.reportLacks(Lookup)
	return r.out.findings.list
}

// compare computes the differences from the intent, once.
func (r *deviceRun) compare() {
	if r.compared || r.source == Intended {
		return
	}
	r.compared = true
	diff := qos.Diff
	if r.seen.MayDerive {
		diff = qos.DiffSaved
	}
	out := r.out
	out.drift = driftOf(diff(r.cfg, r.d.Desired))
	out.reported = make([]bool, len(out.drift.changes))
	out.drifted = map[string]bool{}
	for _, ch := range out.drift.changes {
		out.drifted[ch.Port] = true
	}
}

// end returns the settings of a port as the end of a link, with what findings say about it.
func (r *deviceRun) end(p *intent.Port) End {
	e := endOf(r.cfg, p.Name)
	e.intended = e == endOf(r.d.Desired, p.Name)
	e.bare = r.bare[p.Name]
	e.wire = wireOf(r.seen.Ports[p.Name], r.d.Desired.Ports[p.Name])
	if q := r.cfg.Ports[p.Name]; q != nil {
		e.hole, e.pfcRead = r.hole(p, q) != 0, q.PFC.Set
	}
	e.unpaused = r.unpaused[p.Name]
	e.mtuSaid = r.cureOf(p.Name, qos.KindMTU.Attr()) != ""
	if _, differs := r.differs(p.Name, qos.KindPFC.Attr()); differs && r.pfcExplained(p, r.cfg.Ports[p.Name]) {
		e.pfcSaid = true
		r.out.markReported(p.Name, qos.KindPFC.Attr())
	}
	return e
}

// deviceRun is one check of one switch.
type deviceRun struct {
	check  *Check
	d      *render.Device // the intended configuration, and the catalogue's model
	cfg    *qos.Device    // the configuration to check
	memory render.Memory  // computed from cfg
	source Source
	seen   State
	layers []*intent.Settings // settings of the intent, outermost first
	cures  map[qos.Place]string
	bare   map[string]bool // ports without any configuration of the intent
	// compared is set once the drift has been computed, which not every check needs.
	compared bool
	// unpaused holds ports with an intended lossless group but no PFC for it.
	unpaused map[string]bool
	lacking  map[lack][]string // checks that were not made, by what they lack
	memo     memo
	out      *outcome
}

// ports yields the ports that the intent manages and the switch has, in natural order: as
// intended, and as checked. It skips ports without any configuration, which only PRT-01
// reports.
func (r *deviceRun) ports() iter.Seq2[*intent.Port, *qos.Port] {
	return func(yield func(*intent.Port, *qos.Port) bool) {
		for _, p := range r.d.Switch.Ports {
			if q := r.cfg.Ports[p.Name]; q != nil && !r.bare[p.Name] && !yield(p, q) {
				return
			}
		}
	}
}

// intended restricts a check to the configuration compiled from the intent.
func intended(check func(*deviceRun)) func(*deviceRun) {
	return func(r *deviceRun) {
		if r.source == Intended {
			check(r)
		}
	}
}

// observed restricts a check to saved and running configurations.
func observed(check func(*deviceRun)) func(*deviceRun) {
	return func(r *deviceRun) {
		if r.source != Intended {
			check(r)
		}
	}
}

// eachPort runs a check on each of [deviceRun.ports].
func eachPort(check func(*deviceRun, *intent.Port, *qos.Port)) func(*deviceRun) {
	return func(r *deviceRun) {
		for p, q := range r.ports() {
			check(r, p, q)
		}
	}
}

// classCheck is a check of one class of one port.
type classCheck func(*deviceRun, *intent.Port, *qos.Port, *intent.Class)

// eachClass runs a check on each class of each port, eachLossless on the lossless classes.
func eachClass(check classCheck) func(*deviceRun) {
	return eachPort(func(r *deviceRun, p *intent.Port, q *qos.Port) {
		for _, k := range p.Settings.Classes {
			check(r, p, q, k)
		}
	})
}

func eachLossless(check classCheck) func(*deviceRun) {
	return eachClass(func(r *deviceRun, p *intent.Port, q *qos.Port, k *intent.Class) {
		if k.Lossless.V {
			check(r, p, q, k)
		}
	})
}

// eachRDMA runs a check on each class that carries RDMA.
func eachRDMA(check classCheck) func(*deviceRun) {
	return eachClass(func(r *deviceRun, p *intent.Port, q *qos.Port, k *intent.Class) {
		if k.RDMA() {
			check(r, p, q, k)
		}
	})
}

// addLack records that the switch lacks something and, with notMade, that the check was not made
// for it.
func (r *deviceRun) addLack(l lack, notMade bool) {
	ids := r.lacking[l]
	if notMade && !slices.Contains(ids, r.check.ID) {
		ids = append(ids, r.check.ID)
	}
	r.lacking[l] = ids
}

// reportLacks reports which checks were not made, with one finding per reason.
func (r *deviceRun) reportLacks(lookup func(id string) *Check) {
	for _, l := range ordered.Sorted(maps.Keys(r.lacking), func(a, b lack) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.why, b.why)) }) {
		f := Finding{Severity: Info, What: l.why, Fix: l.fix, Where: l.where, Unchecked: l.what, Because: l.short, NotMade: r.lacking[l]}
		if l.near {
			f.Severity = Warning
		}
		r.check = lookup(l.id)
		r.found(f, "")
	}
}

// found adds a finding on a port; port is "" for the whole switch. attrs are the attributes
// that the finding is about: if they differ from the intent, no other finding reports the
// difference. The first one gives the line of the intent if the finding has none; the check
// gives the fix if the finding has none.
func (r *deviceRun) found(f Finding, port string, attrs ...qos.Attr) {
	r.check.mayFind(f.Severity)
	f.ID, f.Device, f.Covers = r.check.ID, r.d.Switch.Name, append(f.Covers, r.check.Covers...)
	if f.Where == "" {
		f.Where = r.d.Switch.Pos.String()
		if len(attrs) > 0 {
			f.Where = render.Reason(r.d.Switch, qos.Place{Port: port, Field: attrs[0]})
		}
	}
	if f.Fix == "" {
		f.Fix = r.fixOf(r.check.Fix, port, attrs...)
	}
	r.compare()
	r.out.markReported(port, attrs...)
	r.out.findings.add(f, port)
}

// foundTowards adds a finding about both ends of a link. The text does not name the other end,
// so that one cause on many links is one finding.
func (r *deviceRun) foundTowards(peer intent.Endpoint, f Finding, port string, attrs ...qos.Attr) {
	f.Peers = []string{peer.String()}
	r.found(f, port, attrs...)
}

// applyIntent is the fix for a difference from the intent.
const applyIntent = "apply the intent"

// insteadOfDrift records a finding that replaces the drift finding of an attribute, unless a
// finding of another check is about it.
func (r *deviceRun) insteadOfDrift(f Finding, port string, attr qos.Attr) {
	r.check.mayFind(f.Severity)
	if r.out.instead == nil {
		r.out.instead = map[qos.Place]Finding{}
	}
	at := qos.Place{Port: port, Field: attr}
	f.ID, f.Device, f.Where, f.Fix = r.check.ID, r.d.Switch.Name, render.Reason(r.d.Switch, at), r.fixOf(r.check.Fix, port, attr)
	r.out.instead[at] = f
}

// fixOf returns the fix for a finding about these attributes. If they differ from the intent,
// the fix is to apply it: changing the intent would not help, and changing the switch by hand
// would bypass the intent.
func (r *deviceRun) fixOf(fix, port string, attrs ...qos.Attr) string {
	for _, attr := range attrs {
		if _, ok := r.differs(port, attr); ok && !strings.Contains(fix, applyIntent) {
			return applyIntent
		}
	}
	return fix
}

// markReported records that a finding is about these attributes, so that their drift is not reported
// again. The outcome is nil in a [Run] for a switch without drift.
func (s *outcome) markReported(port string, attrs ...qos.Attr) {
	if s == nil {
		return
	}
	for _, attr := range attrs {
		at := qos.Place{Port: port, Field: attr}
		if i, differs := s.drift.at[at]; differs {
			s.reported[i] = true
		} else if s.explained != nil {
			s.explained[at] = true
		}
	}
}

// isReported reports whether a finding is already about an attribute of a port.
func (s *outcome) isReported(port string, attr qos.Attr) bool {
	at := qos.Place{Port: port, Field: attr}
	if i, differs := s.drift.at[at]; differs {
		return s.reported[i]
	}
	return s.explained[at]
}

// differs reports whether any of the attributes of a port differs from the intent. The outcome
// may be nil.
func (s *outcome) differs(port string, attrs ...qos.Attr) bool {
	return s != nil && slices.ContainsFunc(attrs, func(a qos.Attr) bool { _, ok := s.drift.find(port, a); return ok })
}

// cureOf returns the fix for an attribute that is not in force; "" if the driver knows none.
func (r *deviceRun) cureOf(port string, attr qos.Attr) string {
	return r.cures[qos.Place{Port: port, Field: attr}]
}

// differs returns how an attribute differs from the intent, if it does.
func (r *deviceRun) differs(port string, attr qos.Attr) (qos.Change, bool) {
	r.compare()
	return r.out.drift.find(port, attr)
}

// trait records the value of a member of a group whose members should be equal. The member is a
// port, or the switch if port is "".
func (r *deviceRun) trait(group, value, port, where string) {
	r.add(trait{group: group, value: value, port: port, where: where})
}

// setting records a trait for a value from a port's settings. from return the settings that
// determine the value: the finding names the line of the innermost one. assumed says where the
// value comes from if the intent does not state it; otherwise it is "".
func (r *deviceRun) setting(group, value, assumed string, p *intent.Port, from ...func(*intent.Settings) intent.Origin) {
	t := trait{group: group, value: value, assumed: assumed, port: p.Name}
	for _, of := range from {
		at := of(p.Settings)
		layer := slices.IndexFunc(r.layers, func(s *intent.Settings) bool { return of(s) == at })
		if layer < 0 {
			layer = len(r.layers) // set on the port itself
		}
		if t.where == "" || layer > t.layer {
			t.where, t.layer = at.String(), layer
		}
	}
	r.add(t)
}

func (r *deviceRun) add(t trait) {
	r.compare()
	t.check, t.sound = r.check, !r.out.drifted[t.port]
	r.out.traits = append(r.out.traits, t)
}

type trait struct {
	check        *Check
	group, value string
	assumed      string
	port, where  string
	layer        int  // of the intent that states the value: 0 is the fabric
	sound        bool // the member has no drift
}

// Run collects the results of a fabric's switches and hosts and compares them. Its methods must
// not be called concurrently.
type Run struct {
	fabric    *intent.Fabric
	memo      memo // of the checks of links
	seen      map[string]*seen
	miscabled map[intent.Endpoint]string // what LLDP shows in place of the link's other end
	found     collector
	answered  Answered
	others    []Finding // of hosts, and of commands
	outcomes  outcomes  // of switches with drift
	traits    map[traitGroup]map[string]*bearers
	counted   []gate.PortWindow
	pauses    []gate.Source
	alike     shared
}

// seen is the data of a switch that is kept to compare it with others.
type seen struct {
	sw        *intent.Switch
	taken     bool           // it was added, and not only assumed
	ends      []*End         // by port; nil for a port without a link
	neighbors []qos.Neighbor // by port, from LLDP; nil if it shows none
	names     *portNames     // nil if the switch was not read
}

type traitGroup struct {
	check *Check
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
	return &Run{fabric: f, seen: map[string]*seen{}, outcomes: outcomes{}, traits: map[traitGroup]map[string]*bearers{}, alike: newShared()}
}

// deviceOf returns the data kept of a switch.
func (r *Run) deviceOf(sw *intent.Switch) *seen {
	return cached(&r.seen, sw.Name, func() *seen { return &seen{sw: sw, ends: make([]*End, len(sw.Ports))} })
}

// isAdded reports whether a switch was added.
func (r *Run) isAdded(name string) bool {
	s := r.seen[name]
	return s != nil && s.taken
}

// end returns the known settings of an end of a link, or nil.
func (r *Run) end(e intent.Endpoint) *End {
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
		r.others = append(r.others, Finding{ID: "TOP-11", Severity: Error, Device: name, What: what, Where: s.sw.Pos.String(), Fix: Lookup("TOP-11").Fix})
	}
	r.others = append(r.others, s.outcome.findings.list...)
	r.alike.compact(r.others[len(r.others)-len(s.outcome.findings.list):])
	if s.neighbors != nil {
		kept.neighbors = make([]qos.Neighbor, len(kept.ends))
	}
	for i, p := range kept.sw.Ports {
		if e, ok := s.ends[p.Name]; ok {
			e.source, e.drifted = s.source, s.outcome.drifted[p.Name]
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
	for _, t := range s.outcome.traits {
		g := cached(&r.traits, traitGroup{t.check, t.group}, func() map[string]*bearers { return map[string]*bearers{} })
		b := cached(&g, t.value, func() *bearers {
			return &bearers{layer: t.layer, assumed: t.assumed, devices: map[string][]string{}, where: map[string]string{}}
		})
		b.layer = min(b.layer, t.layer)
		if t.assumed == "" {
			b.assumed = ""
		}
		b.n++
		if t.sound {
			b.sound++
		}
		if _, ok := bears[b]; !ok {
			b.where[name] = t.where
		}
		bears[b] = append(bears[b], t.port)
	}
	for b, ports := range bears {
		b.devices[name] = r.alike.list(ports)
	}
	if !s.outcome.drift.empty() {
		r.outcomes[name] = &outcome{drift: r.alike.drift(s.outcome.drift), instead: s.outcome.instead, reported: slices.Clone(s.outcome.reported)}
	}
}

// Drift returns the number of settings that differ from the intent.
func (s *Result) Drift() int { return len(s.outcome.drift.changes) }

// End returns the settings of an end of a link, like [Run.End]. The result may be nil.
func (s *Result) End(port string) End {
	if s == nil {
		return End{}
	}
	return s.ends[port]
}

// Assume takes the ends of links of a switch that is not added to be as intended, so that the
// other ends are compared with them.
func (r *Run) Assume(d *render.Device) {
	kept := r.deviceOf(d.Switch)
	for i, p := range kept.sw.Ports {
		if p.Link != nil && kept.ends[i] == nil {
			e := endOf(d.Desired, p.Name)
			e.assumed = true
			kept.ends[i] = r.alike.end(e)
		}
	}
}

// Note adds findings that are made elsewhere: of a host, or that a device could not be read.
func (r *Run) Note(fs ...Finding) { r.others = append(r.others, fs...) }

// End returns the settings of an end of a link; it is not Known if its switch was not added.
func (r *Run) End(e intent.Endpoint) End {
	if end := r.end(e); end != nil {
		return *end
	}
	return End{}
}

// Findings compares everything that was added and returns all findings, sorted. Findings that
// the intent accepts at the time now are marked as suppressed.
func (r *Run) Findings(now time.Time) []Finding {
	r.found, r.others = collector{}, slices.Clip(r.others)
	r.cabling()
	r.linked()
	r.links()
	r.reportOutliers()
	r.drift()
	r.alike.compact(r.found.list)
	return Sort(Accept(r.fabric, append(r.others, r.found.list...), now))
}

// outlierRun is one switch of a group whose value differs from most of the group.
type outlierRun struct {
	check        *Check
	group        string
	device       string
	ports        []string // ports of the switch; "" for the whole switch
	value, usual string
	share, of    int // members with the usual value, and all members
	where        string
	outcome      *outcome              // of the switch; nil without drift
	add          func(Finding, string) // receives findings, each with its port
}

// found adds the finding. attrs are the attributes of the ports or the switch that it is about.
func (o *outlierRun) found(f Finding, attrs ...qos.Attr) {
	f.ID, f.Device = o.check.ID, o.device
	f.Where = cmp.Or(f.Where, o.where)
	f.Fix = o.check.Fix
	if !strings.Contains(f.Fix, applyIntent) && slices.ContainsFunc(o.ports, func(p string) bool { return o.outcome.differs(p, attrs...) }) {
		f.Fix = applyIntent
	}
	for _, p := range o.ports {
		// The severity must not depend on how many devices are read: a difference from the
		// intent is reported as drift, even if most others are as intended.
		if f.Severity != Error && o.outcome.differs(p, attrs...) {
			for _, a := range attrs {
				cached(&o.outcome.odd, qos.Place{Port: p, Field: a}, func() string { return f.ID })
			}
			continue
		}
		o.add(f, p)
		o.outcome.markReported(p, attrs...)
		o.outcome.markReported("", attrs...)
	}
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
				g.check.outliers(&outlierRun{check: g.check, group: g.group, device: dev, ports: values[v].devices[dev],
					value: v + values[v].assumed, usual: usual + values[usual].assumed, share: values[usual].n, of: of, where: values[v].where[dev],
					outcome: r.outcomes[dev], add: r.found.add})
			}
		}
	}
}

// drift reports the differences from the intent that no other finding reports.
func (r *Run) drift() {
	for _, name := range natural.Keys(r.outcomes) {
		s := r.outcomes[name]
		for i, ch := range s.drift.changes {
			if s.reported[i] {
				continue
			}
			if f, ok := s.instead[ch.Place()]; ok {
				r.found.add(f, ch.Port)
				continue
			}
			f := Finding{ID: "DRIFT", Severity: Error, Device: name, Where: render.Reason(r.fabric.Switch(name), ch.Place()),
				What: fmt.Sprintf("%s is %s, the intent says %s", ch.Field, ch.Old, ch.New),
				Fix:  "apply the intent, or change the intent"}
			if id := s.odd[ch.Place()]; id != "" {
				f.Covers = []string{id}
			}
			if ch.Field.Kind == qos.KindPort {
				f.What, f.Fix = "the device has no such port", "correct the name in the intent, or break the port out on the device"
			}
			r.found.add(f, ch.Port)
		}
	}
}
