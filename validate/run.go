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

// Source says where the device that a check looks at is from.
type Source int

// The sources.
const (
	Intended Source = iota // compiled from the intent
	Saved                  // a configuration in a file
	Running                // read from the switch
)

// State is what a switch shows in addition to its configuration.
type State struct {
	// InForce is what is configured and not in force; nil where the switch
	// does not show that.
	InForce []drivers.Mismatch
	// Unknown is configuration that the model has no place for.
	Unknown []drivers.Unknown
	// MayDerive is that of [drivers.Saved].
	MayDerive bool
	// Account returns what is known of each line of the running configuration; nil
	// where nobody asks.
	Account func() []render.Line
	// Unsaved names what is running and would be lost by a reload.
	Unsaved []string
	// NotInForce is why the switch does not show what is in force; "" where it
	// does.
	NotInForce string
	// NotSaved is why the switch does not show what a reload would lose; "" where
	// it does.
	NotSaved string
	// Identity is what the switch says of itself, and Recorded what the run RecordedBy
	// recorded of it.
	Identity   drivers.Identity
	Recorded   drivers.Unit
	RecordedBy string
	// LeftDown are ports that a run of this tool took down and did not bring up again,
	// each with the run.
	LeftDown map[string]string
	// Ports are all ports that the switch shows, configured or not; nil where it
	// shows none.
	Ports map[string]*drivers.PortState
}

// evidence tells whether the switch is the one that the intent means.
func (s *State) evidence() Evidence {
	return Evidence{Identity: s.Identity, Recorded: s.Recorded, Run: s.RecordedBy, Ports: s.Ports}
}

// Result is what the checks of one switch found, and what is kept of it for
// those that compare switches.
type Result struct {
	sw        *intent.Switch
	source    Source
	identity  drivers.Identity // as the switch shows it
	findings  collector
	ends      map[string]End          // of ports with a link
	neighbors map[string]qos.Neighbor // by LLDP, of those ports
	names     *portNames              // of a switch that was read
	drift     *drift
	instead   map[qos.Place]Finding // of the finding that a change of drift is
	drifted   map[string]bool       // the ports of drift; "" is the switch
	odd       map[qos.Place]string  // the checks that find a change of drift by comparison with others
	explained map[qos.Place]bool    // findings are about these attributes, which do not differ
	told      []bool                // and about these changes of drift
	traits    []trait
}

// Switch makes the checks of one switch. cfg is what is looked at, compiled
// from the intent or read; state is nil where the switch itself was not asked.
// It may be called from several goroutines.
func Switch(d *render.Device, cfg *qos.Device, source Source, state *State) *Result {
	if state == nil {
		state = &State{}
	}
	r := newDeviceRun(d, cfg, source, state)
	r.compare()
	out := r.out
	for _, c := range registry {
		r.perform(c)
	}
	r.lacks()
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

func newDeviceRun(d *render.Device, cfg *qos.Device, source Source, state *State) *deviceRun {
	r := &deviceRun{d: d, cfg: cfg, source: source, seen: *state, layers: d.Fabric.Layers(d.Switch),
		out:   &Result{sw: d.Switch, source: source, identity: state.Identity, drift: &drift{}, ends: map[string]End{}, neighbors: map[string]qos.Neighbor{}, explained: map[qos.Place]bool{}},
		cures: map[qos.Place]string{}, unpaused: map[string]bool{}, lacking: map[lack][]string{}}
	for _, m := range state.InForce {
		if at := (qos.Place{Port: m.Port, Field: m.Field}); m.Fix != "" && r.cures[at] == "" {
			r.cures[at] = m.Fix
		}
	}
	r.memory = d.Memory(nil)
	if source != Intended {
		r.memory, r.bare = d.Memory(cfg), barePorts(d, cfg)
	}
	return r
}

// perform makes a check of the switch, or notes what it lacks for that.
func (r *deviceRun) perform(c *Check) {
	r.check = c
	if c.needs != nil {
		if l := c.needs(r); l != nil {
			r.misses(*l, c.device != nil || c.state != nil)
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

// Lacking says what of a switch no check can judge by its intent, as where its model is
// unknown.
func Lacking(d *render.Device) []Finding {
	r := newDeviceRun(d, d.Desired, Intended, &State{})
	for _, c := range registry {
		if r.check = c; c.needs == nil {
			continue
		}
		if l := c.needs(r); l != nil {
			r.misses(*l, c.device != nil)
		}
	}
	r.lacks()
	return r.out.findings.list
}

// compare notes how what is looked at differs from what is intended, once.
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
	out.told = make([]bool, len(out.drift.changes))
	out.drifted = map[string]bool{}
	for _, ch := range out.drift.changes {
		out.drifted[ch.Port] = true
	}
}

// end is the end of a link that a port is, and what findings said of it.
func (r *deviceRun) end(p *intent.Port) End {
	e := endOf(r.cfg, p.Name)
	e.intended = e == endOf(r.d.Desired, p.Name)
	e.bare = r.bare[p.Name]
	e.wire = wireOf(r.seen.Ports[p.Name], r.d.Desired.Ports[p.Name])
	if q := r.cfg.Ports[p.Name]; q != nil {
		e.hole, e.pfcRead = r.hole(p, q) != 0, q.PFC.Set
	}
	e.unpaused = r.unpaused[p.Name]
	e.mtuSaid = r.cure(p.Name, qos.KindMTU.Attr()) != ""
	if _, differs := r.differs(p.Name, qos.KindPFC.Attr()); differs && r.pfcExplained(p, r.cfg.Ports[p.Name]) {
		e.pfcSaid = true
		r.out.explain(p.Name, qos.KindPFC.Attr())
	}
	return e
}

// deviceRun is one switch under one check.
type deviceRun struct {
	check  *Check
	d      *render.Device // what is intended, and the catalogue's model
	cfg    *qos.Device    // what is looked at
	memory render.Memory  // of cfg
	source Source
	seen   State
	layers []*intent.Settings // of the intent, outermost first
	cures  map[qos.Place]string
	bare   map[string]bool // ports with nothing of the intent
	// compared says that the drift is known, which not every check asks for.
	compared bool
	// unpaused are ports with a lossless group, as intended, and no PFC for it.
	unpaused map[string]bool
	lacking  map[lack][]string // the checks that were not made, by what they lack
	memo     memo
	out      *Result
}

// ports yields the ports that the intent manages and the switch has, in
// natural order, as the intent has them and as they are looked at. One that has
// nothing of the intent is left out: PRT-01 says so, and no other check needs to.
func (r *deviceRun) ports() iter.Seq2[*intent.Port, *qos.Port] {
	return func(yield func(*intent.Port, *qos.Port) bool) {
		for _, p := range r.d.Switch.Ports {
			if q := r.cfg.Ports[p.Name]; q != nil && !r.bare[p.Name] && !yield(p, q) {
				return
			}
		}
	}
}

// intended makes a check of what is compiled from the intent alone.
func intended(check func(*deviceRun)) func(*deviceRun) {
	return func(r *deviceRun) {
		if r.source == Intended {
			check(r)
		}
	}
}

// observed makes a check of what is saved or running alone.
func observed(check func(*deviceRun)) func(*deviceRun) {
	return func(r *deviceRun) {
		if r.source != Intended {
			check(r)
		}
	}
}

// eachPort makes a check of each of [deviceRun.ports].
func eachPort(check func(*deviceRun, *intent.Port, *qos.Port)) func(*deviceRun) {
	return func(r *deviceRun) {
		for p, q := range r.ports() {
			check(r, p, q)
		}
	}
}

// classCheck is a check of one class of one port.
type classCheck func(*deviceRun, *intent.Port, *qos.Port, *intent.Class)

// eachClass makes a check of each class of each port, eachLossless of the lossless
// ones.
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

// eachRDMA makes a check of each class that RDMA travels in.
func eachRDMA(check classCheck) func(*deviceRun) {
	return eachClass(func(r *deviceRun, p *intent.Port, q *qos.Port, k *intent.Class) {
		if k.RDMA() {
			check(r, p, q, k)
		}
	})
}

// misses notes what the switch lacks, and that the check is not made for it.
func (r *deviceRun) misses(l lack, notMade bool) {
	ids := r.lacking[l]
	if notMade && !slices.Contains(ids, r.check.ID) {
		ids = append(ids, r.check.ID)
	}
	r.lacking[l] = ids
}

// lacks says which checks were not made, and why: one finding for each reason.
func (r *deviceRun) lacks() {
	for _, l := range ordered.Sorted(maps.Keys(r.lacking), func(a, b lack) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.why, b.why)) }) {
		f := Finding{Severity: Info, What: l.why, Fix: l.fix, Where: l.where, Unchecked: l.what, Because: l.short, NotMade: r.lacking[l]}
		if l.near {
			f.Severity = Warning
		}
		r.check = Lookup(l.id)
		r.found(f, "")
	}
}

// found notes a finding on a port, "" for the whole switch. attrs are what it is
// about: where they differ from the intent, the finding says it, and no other one
// does. The first gives the line of the intent, where the finding names none; the
// check says the fix, where the finding does not.
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
	r.out.explain(port, attrs...)
	r.out.findings.add(f, port)
}

// foundTowards is found for what is about both ends of a link. The text does not
// name the other one, so that one cause towards many is one finding.
func (r *deviceRun) foundTowards(peer intent.Endpoint, f Finding, port string, attrs ...qos.Attr) {
	f.Peers = []string{peer.String()}
	r.found(f, port, attrs...)
}

// applyIntent fixes what differs from the intent.
const applyIntent = "apply the intent"

// insteadOfDrift notes a finding for a difference that no finding of another check is
// about in the end.
func (r *deviceRun) insteadOfDrift(f Finding, port string, attr qos.Attr) {
	r.check.mayFind(f.Severity)
	if r.out.instead == nil {
		r.out.instead = map[qos.Place]Finding{}
	}
	at := qos.Place{Port: port, Field: attr}
	f.ID, f.Device, f.Where, f.Fix = r.check.ID, r.d.Switch.Name, render.Reason(r.d.Switch, at), r.fixOf(r.check.Fix, port, attr)
	r.out.instead[at] = f
}

// fixOf returns the fix for a finding about these attributes. Where they differ
// from the intent, the fix is to apply it: a change of the intent would not
// help, and a change by hand would bypass it.
func (r *deviceRun) fixOf(fix, port string, attrs ...qos.Attr) string {
	for _, attr := range attrs {
		if _, ok := r.differs(port, attr); ok && !strings.Contains(fix, applyIntent) {
			return applyIntent
		}
	}
	return fix
}

// explain says that findings are about these attributes: that they differ from the
// intent needs no finding of its own. The result is nil in a [Run] for a switch that is
// as the intent says.
func (s *Result) explain(port string, attrs ...qos.Attr) {
	if s == nil {
		return
	}
	for _, attr := range attrs {
		at := qos.Place{Port: port, Field: attr}
		if i, differs := s.drift.at[at]; differs {
			s.told[i] = true
		} else if s.explained != nil {
			s.explained[at] = true
		}
	}
}

// said reports whether a finding is about an attribute of a port already.
func (s *Result) said(port string, attr qos.Attr) bool {
	at := qos.Place{Port: port, Field: attr}
	if i, differs := s.drift.at[at]; differs {
		return s.told[i]
	}
	return s.explained[at]
}

// differs reports whether one of the attributes of a port is not as the intent says. The
// result may be nil.
func (s *Result) differs(port string, attrs ...qos.Attr) bool {
	return s != nil && slices.ContainsFunc(attrs, func(a qos.Attr) bool { _, ok := s.drift.find(port, a); return ok })
}

// cure is the fix for an attribute that is not in force, where the driver knows it.
func (r *deviceRun) cure(port string, attr qos.Attr) string {
	return r.cures[qos.Place{Port: port, Field: attr}]
}

// differs reports whether an attribute is not as intended, and how.
func (r *deviceRun) differs(port string, attr qos.Attr) (qos.Change, bool) {
	r.compare()
	return r.out.drift.find(port, attr)
}

// trait says that a member of a group, a port or "" for the switch, has a
// value, which the group is taken to share.
func (r *deviceRun) trait(group, value, port, where string) {
	r.add(trait{group: group, value: value, port: port, where: where})
}

// setting is trait for a value of a port's settings. from are the settings that
// make it: the finding names the line of the innermost. assumed says what makes
// the value where the intent does not state it; "" where it does.
func (r *deviceRun) setting(group, value, assumed string, p *intent.Port, from ...func(*intent.Settings) intent.Origin) {
	t := trait{group: group, value: value, assumed: assumed, port: p.Name}
	for _, of := range from {
		at := of(p.Settings)
		layer := slices.IndexFunc(r.layers, func(s *intent.Settings) bool { return of(s) == at })
		if layer < 0 {
			layer = len(r.layers) // of the port itself
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
	sound        bool // the member is as the intent says
}

// Run takes in the switches and hosts of a fabric and says what is wrong with
// it. Its methods are called one at a time.
type Run struct {
	fabric    *intent.Fabric
	senders   senders
	seen      map[string]*seen
	miscabled map[intent.Endpoint]string // what LLDP shows where it is not the link's other end
	found     collector
	answered  Answered
	others    []Finding // of hosts, and of commands
	results   map[string]*Result
	traits    map[traitGroup]map[string]*bearers
	counted   []gate.PortWindow
	pauses    []gate.Source
	alike     shared
}

// seen is what is kept of a switch to be compared with others.
type seen struct {
	sw        *intent.Switch
	taken     bool           // it was taken in, and not only assumed
	ends      []*End         // of its ports; nil where there is no link
	neighbors []qos.Neighbor // by LLDP, of its ports; nil where it sees none at all
	names     *portNames     // nil where it was not read
}

type traitGroup struct {
	check *Check
	group string
}

// bearers are the members of a group that have one value.
type bearers struct {
	n, sound int
	layer    int                 // the outermost that states the value
	assumed  string              // what makes the value where none states it
	devices  map[string][]string // their ports
	where    map[string]string   // the place of the first of each device
}

// NewRun begins to look at a fabric.
func NewRun(f *intent.Fabric) *Run {
	return &Run{fabric: f, senders: sendersOf(f), seen: map[string]*seen{}, results: map[string]*Result{}, traits: map[traitGroup]map[string]*bearers{}, alike: newShared()}
}

// of returns what is kept of a switch.
func (r *Run) of(sw *intent.Switch) *seen {
	return cached(&r.seen, sw.Name, func() *seen { return &seen{sw: sw, ends: make([]*End, len(sw.Ports))} })
}

// taken reports whether a switch was taken in.
func (r *Run) taken(name string) bool {
	s := r.seen[name]
	return s != nil && s.taken
}

// end returns what is known of an end of a link, or nil.
func (r *Run) end(e intent.Endpoint) *End {
	if s := r.seen[e.Device]; s != nil {
		if i := s.sw.Index(e.Port); i >= 0 {
			return s.ends[i]
		}
	}
	return nil
}

// Add takes in the result of one switch.
func (r *Run) Add(s *Result) {
	name, kept := s.sw.Name, r.of(s.sw)
	kept.taken = true
	if what := r.answered.Add(r.fabric, name, s.identity); what != "" {
		r.others = append(r.others, Finding{ID: "TOP-11", Severity: Error, Device: name, What: what, Where: s.sw.Pos.String(), Fix: Lookup("TOP-11").Fix})
	}
	r.others = append(r.others, s.findings.list...)
	r.alike.compact(r.others[len(r.others)-len(s.findings.list):])
	if s.neighbors != nil {
		kept.neighbors = make([]qos.Neighbor, len(kept.ends))
	}
	for i, p := range kept.sw.Ports {
		if e, ok := s.ends[p.Name]; ok {
			e.source, e.drifted = s.source, s.drifted[p.Name]
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
	for _, t := range s.traits {
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
	if !s.drift.empty() {
		r.results[name] = &Result{sw: s.sw, drift: r.alike.drift(s.drift), instead: s.instead, told: slices.Clone(s.told)}
	}
}

// End returns what an end of a link of the switch runs, as [Run.End] does. The result may
// be nil.
func (s *Result) End(port string) End {
	if s == nil {
		return End{}
	}
	return s.ends[port]
}

// Assume holds the ends of links of a switch that is not taken in to be as
// intended, so that the other ends are compared with them.
func (r *Run) Assume(d *render.Device) {
	kept := r.of(d.Switch)
	for i, p := range kept.sw.Ports {
		if p.Link != nil && kept.ends[i] == nil {
			e := endOf(d.Desired, p.Name)
			e.assumed = true
			kept.ends[i] = r.alike.end(e)
		}
	}
}

// Note takes in findings that are made elsewhere: of a host, or that a device
// could not be read.
func (r *Run) Note(fs ...Finding) { r.others = append(r.others, fs...) }

// End returns what an end of a link runs; it is not Known where its switch was
// not taken in.
func (r *Run) End(e intent.Endpoint) End {
	if end := r.end(e); end != nil {
		return *end
	}
	return End{}
}

// Findings compares what was taken in and returns everything that is wrong,
// sorted, with what the intent accepts on the day of now marked as such.
func (r *Run) Findings(now time.Time) []Finding {
	r.found, r.others = collector{}, slices.Clip(r.others)
	r.cabling()
	r.linked()
	r.links()
	r.odd()
	r.drift()
	r.alike.compact(r.found.list)
	return Sort(Accept(r.fabric, append(r.others, r.found.list...), now))
}

// oddRun is one switch of a group with another value than most of it.
type oddRun struct {
	check        *Check
	group        string
	device       string
	ports        []string // "" where the whole switch is meant
	value, usual string
	share, of    int // how many of the group have the usual value
	where        string
	run          *Run
}

// found notes it. attrs are what it is about, of its ports and of the switch.
func (o *oddRun) found(f Finding, attrs ...qos.Attr) {
	f.ID, f.Device = o.check.ID, o.device
	f.Where = cmp.Or(f.Where, o.where)
	f.Fix = o.check.Fix
	res := o.run.results[o.device]
	if !strings.Contains(f.Fix, applyIntent) && slices.ContainsFunc(o.ports, func(p string) bool { return res.differs(p, attrs...) }) {
		f.Fix = applyIntent
	}
	for _, p := range o.ports {
		// The verdict on a device does not hang on how many others are read: what differs
		// from the intent is an error, also where most others are as intended.
		if f.Severity != Error && res.differs(p, attrs...) {
			for _, a := range attrs {
				cached(&res.odd, qos.Place{Port: p, Field: a}, func() string { return f.ID })
			}
			continue
		}
		o.run.found.add(f, p)
		res.explain(p, attrs...)
		res.explain("", attrs...)
	}
}

// odd finds those whose value is not that of most of their group, of those that
// are as the intent says before all others. Of two values that are as frequent,
// that of the outer layer of the intent is taken to be usual, then the one that
// sorts last. Assumed values are not compared with one another.
func (r *Run) odd() {
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
				g.check.odd(&oddRun{check: g.check, group: g.group, device: dev, ports: values[v].devices[dev],
					value: v + values[v].assumed, usual: usual + values[usual].assumed, share: values[usual].n, of: of, where: values[v].where[dev], run: r})
			}
		}
	}
}

// drift reports what differs from the intent and no other finding names.
func (r *Run) drift() {
	for _, name := range natural.Keys(r.results) {
		s := r.results[name]
		for i, ch := range s.drift.changes {
			if s.told[i] {
				continue
			}
			if f, ok := s.instead[ch.Place()]; ok {
				r.found.add(f, ch.Port)
				continue
			}
			f := Finding{ID: "DRIFT", Severity: Error, Device: name, Where: render.Reason(s.sw, ch.Place()),
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
