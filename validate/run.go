package validate

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
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

// State is what a switch shows beside its configuration.
type State struct {
	// InForce is what is configured and not in force; nil where the switch
	// does not show that.
	InForce []drivers.Mismatch
	// Unknown is configuration that the model has no place for.
	Unknown []drivers.Unknown
	// Unsaved names what is running and would be lost by a reload.
	Unsaved []string
}

// Result is what the checks of one switch found, and what is kept of it for
// those that compare switches.
type Result struct {
	sw        *intent.Switch
	source    Source
	findings  collector
	ends      map[string]End // of ports with a link
	drift     []qos.Change
	explained map[place]bool
	traits    []trait
}

// place is a value of a switch: a port, "" for the whole, and a field of
// [qos.Diff].
type place struct{ port, field string }

// Switch makes the checks of one switch. cfg is what is looked at, compiled
// from the intent or read; state is nil where the switch itself was not asked.
// It may be called from several goroutines.
func Switch(d *render.Device, cfg *qos.Device, source Source, state *State) *Result {
	out := &Result{sw: d.Switch, source: source, ends: map[string]End{}, explained: map[place]bool{}}
	if state == nil {
		state = &State{}
	}
	r := &deviceRun{d: d, cfg: cfg, source: source, seen: *state, out: out}
	if source != Intended {
		out.drift = slices.DeleteFunc(qos.Diff(cfg, d.Desired), func(ch qos.Change) bool {
			return source == Saved && generated(cfg, d.Desired, ch)
		})
		r.drifted = make(map[place]qos.Change, len(out.drift))
		for _, ch := range out.drift {
			r.drifted[place{ch.Port, ch.Field}] = ch
		}
		r.bare = barePorts(d, cfg)
	}
	for _, c := range registry {
		r.check = c
		if c.device != nil {
			c.device(r)
		}
		if c.state != nil && source == Running {
			c.state(r)
		}
	}
	for _, p := range d.Switch.Ports {
		if p.Link != nil {
			e := EndOf(cfg, p.Name)
			e.bare = r.bare[p.Name]
			if q := cfg.Ports[p.Name]; q != nil && source == Running {
				e.elsewhere, _ = r.elsewhere(p, q)
			}
			if _, differs := r.differs(p.Name, "pfc"); differs && r.pfcExplained(p, cfg.Ports[p.Name]) {
				e.pfcSaid = true
				r.explain(p.Name, "pfc")
			}
			out.ends[p.Name] = e
		}
	}
	return out
}

// generated reports whether a saved configuration lacks only what the switch
// makes by itself: lossless groups that it derives from speed and cable.
func generated(cfg, desired *qos.Device, ch qos.Change) bool {
	have, want := cfg.Ports[ch.Port], desired.Ports[ch.Port]
	if have == nil || want == nil {
		return false
	}
	for i := range want.Groups {
		w := &want.Groups[i]
		if ch.Field == fmt.Sprintf("groups[%d].lossless", i) || ch.Field == fmt.Sprintf("groups[%d].derived_from", i) {
			return w.DerivedFrom.Set && !have.Groups[i].DerivedFrom.Set && !have.Groups[i].Headroom.Set
		}
	}
	return false
}

// deviceRun is one switch under one check.
type deviceRun struct {
	check   *Check
	d       *render.Device // what is intended, and the catalogue's model
	cfg     *qos.Device    // what is looked at
	source  Source
	seen    State
	drifted map[place]qos.Change // how cfg differs from what is intended
	bare    map[string]bool      // ports with nothing of the intent
	memo    memo
	out     *Result
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

// found notes a finding on a port, "" for the whole switch. fields are those of
// [qos.Diff] that it is about: where they differ from the intent, the finding
// says it, and no other one does. The first gives the line of the intent, where
// the finding names none.
func (r *deviceRun) found(f Finding, port string, fields ...string) {
	f.ID, f.Device = r.check.ID, r.d.Switch.Name
	if !r.check.allows(f.Severity) {
		panic(fmt.Sprintf("%s has no severity %q", f.ID, f.Severity))
	}
	if f.Where == "" {
		f.Where = r.d.Switch.Pos.String()
		if len(fields) > 0 {
			f.Where = render.Reason(r.d.Switch, qos.Change{Port: port, Field: fields[0]})
		}
	}
	r.explain(port, fields...)
	r.out.findings.add(f, port)
}

// explain says that the findings of the check are about these fields: that they
// differ from the intent needs no finding of its own.
func (r *deviceRun) explain(port string, fields ...string) {
	for _, field := range fields {
		r.out.explained[place{port, field}] = true
	}
}

// differs reports whether a field is not as intended, and how.
func (r *deviceRun) differs(port, field string) (qos.Change, bool) {
	ch, ok := r.drifted[place{port, field}]
	return ch, ok
}

// trait says that a member of a group, a port or "" for the switch, has a
// value, which the group is held to share.
func (r *deviceRun) trait(group, value, port, where string) {
	r.out.traits = append(r.out.traits, trait{r.check, group, value, port, where, !r.out.drifted(port)})
}

type trait struct {
	check        *Check
	group, value string
	port, where  string
	sound        bool // the member is as the intent says
}

// Run takes in the switches and hosts of a fabric and says what is wrong with
// it. Its methods are called one at a time.
type Run struct {
	fabric  *intent.Fabric
	senders senders
	ends    map[intent.Endpoint]End
	found   collector
	others  []Finding // of hosts, and of commands
	results map[string]*Result
	traits  map[traitGroup]map[string]*bearers
	counted []gate.PortWindow
}

type traitGroup struct {
	check *Check
	group string
}

// bearers are the members of a group that have one value.
type bearers struct {
	n, sound int
	devices  map[string][]string // their ports
	where    map[string]string   // the place of the first of each device
}

// NewRun begins to look at a fabric.
func NewRun(f *intent.Fabric) *Run {
	return &Run{fabric: f, senders: sendersOf(f), ends: map[intent.Endpoint]End{}, results: map[string]*Result{}, traits: map[traitGroup]map[string]*bearers{}}
}

// Clone returns a copy of a result, for another run: [Run.Add] uses one up.
func (s *Result) Clone() *Result {
	c := *s
	c.explained = maps.Clone(s.explained)
	return &c
}

// Add takes in the result of one switch, which is used up.
func (r *Run) Add(s *Result) {
	name := s.sw.Name
	r.others = append(r.others, s.findings.list...)
	for port, e := range s.ends {
		e.source, e.drifted = s.source, s.drifted(port)
		r.ends[intent.Endpoint{Device: name, Port: port}] = e
	}
	for _, t := range s.traits {
		g := r.traits[traitGroup{t.check, t.group}]
		if g == nil {
			g = map[string]*bearers{}
			r.traits[traitGroup{t.check, t.group}] = g
		}
		b := g[t.value]
		if b == nil {
			b = &bearers{devices: map[string][]string{}, where: map[string]string{}}
			g[t.value] = b
		}
		b.n++
		if t.sound {
			b.sound++
		}
		if _, ok := b.devices[name]; !ok {
			b.where[name] = t.where
		}
		b.devices[name] = append(b.devices[name], t.port)
	}
	s.findings, s.ends, s.traits = collector{}, nil, nil
	if len(s.drift) > 0 {
		r.results[name] = s
	}
}

// drifted reports whether any value of a port differs from the intent.
func (s *Result) drifted(port string) bool {
	return slices.ContainsFunc(s.drift, func(c qos.Change) bool { return c.Port == port })
}

// Note takes in findings that are made elsewhere: of a host, or that a device
// could not be read.
func (r *Run) Note(fs ...Finding) { r.others = append(r.others, fs...) }

// End returns what an end of a link runs; it is not Known where its switch was
// not taken in.
func (r *Run) End(e intent.Endpoint) End { return r.ends[e] }

// Findings compares what was taken in and returns everything that is wrong,
// sorted, with what the intent accepts on the day of now marked as such.
func (r *Run) Findings(now time.Time) []Finding {
	r.found, r.others = collector{}, slices.Clip(r.others)
	r.links()
	r.odd()
	r.drift()
	return Sort(suppress(r.fabric, append(r.others, r.found.list...), now))
}

// linkRun is one link under one check.
type linkRun struct {
	check  *Check
	run    *Run
	l      *intent.Link
	a, b   End
	pa, pb *intent.Port
}

func (r *Run) links() {
	for _, c := range registry {
		if c.link == nil {
			continue
		}
		for _, l := range r.fabric.Links {
			a, b := r.ends[l.A], r.ends[l.B]
			if a.Known && b.Known && !a.bare && !b.bare {
				c.link(&linkRun{check: c, run: r, l: l, a: a, b: b, pa: end(r.fabric, l.A), pb: end(r.fabric, l.B)})
			}
		}
	}
}

func end(f *intent.Fabric, e intent.Endpoint) *intent.Port {
	if sw := f.Switch(e.Device); sw != nil {
		return sw.Port(e.Port)
	}
	return nil
}

// found notes that the two ends differ. what says it with three %v: the value
// here, the other switch, its value. It is told of the end that is not as
// intended, if one is, so that what is wrong on one switch is one finding.
// fields are what it is about.
func (r *linkRun) found(s Severity, fix, what string, a, b any, fields ...string) {
	if !r.check.allows(s) {
		panic(fmt.Sprintf("%s has no severity %q", r.check.ID, s))
	}
	here, there := r.l.A, r.l.B
	if r.b.drifted && !r.a.drifted {
		here, there, a, b = there, here, b, a
	}
	for _, e := range []intent.Endpoint{here, there} {
		if res := r.run.results[e.Device]; res != nil {
			for _, f := range fields {
				res.explained[place{e.Port, f}] = true
			}
		}
	}
	r.run.found.add(Finding{
		ID: r.check.ID, Severity: s, Device: here.Device, Where: r.l.Pos.String(), Fix: fix,
		What: fmt.Sprintf(what, a, there.Device, b) + r.miscabled(),
	}, here.Port, there.String())
}

// miscabled says where the two may not be the ends of one cable at all.
func (r *linkRun) miscabled() string {
	for _, e := range []struct {
		at   intent.Endpoint
		seen string
	}{{r.l.A, r.a.elsewhere}, {r.l.B, r.b.elsewhere}} {
		if e.seen != "" {
			return fmt.Sprintf("; by LLDP %s is cabled to %s, so that these may not be the two ends", e.at, e.seen)
		}
	}
	return ""
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

// found notes it. fields are what it is about, of its ports and of the switch.
func (o *oddRun) found(f Finding, fields ...string) {
	f.ID, f.Device = o.check.ID, o.device
	f.Where = cmp.Or(f.Where, o.where)
	res := o.run.results[o.device]
	for _, p := range o.ports {
		o.run.found.add(f, p)
		for _, field := range fields {
			if res != nil {
				res.explained[place{p, field}], res.explained[place{"", field}] = true, true
			}
		}
	}
}

// odd finds those whose value is not that of most of their group, of those that
// are as the intent says before all others. Of two values that are as frequent,
// the one that sorts last is held to be usual.
func (r *Run) odd() {
	groups := slices.SortedFunc(maps.Keys(r.traits), func(a, b traitGroup) int {
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
			if usual == "" || cmp.Or(cmp.Compare(values[v].sound, values[usual].sound), cmp.Compare(values[v].n, values[usual].n)) >= 0 {
				usual = v
			}
		}
		for _, v := range natural.Keys(values) {
			if v == usual {
				continue
			}
			for _, dev := range natural.Keys(values[v].devices) {
				g.check.odd(&oddRun{check: g.check, group: g.group, device: dev, ports: values[v].devices[dev],
					value: v, usual: usual, share: values[usual].n, of: of, where: values[v].where[dev], run: r})
			}
		}
	}
}

// drift reports what differs from the intent and no other finding speaks of.
func (r *Run) drift() {
	for _, name := range natural.Keys(r.results) {
		s := r.results[name]
		for _, ch := range s.drift {
			if s.explained[place{ch.Port, ch.Field}] {
				continue
			}
			f := Finding{ID: "DRIFT", Severity: Error, Device: name, Where: render.Reason(s.sw, ch),
				What: fmt.Sprintf("%s is %s, the intent says %s", ch.Field, ch.Old, ch.New),
				Fix:  "apply the intent, or change it to what is wanted"}
			if ch.Field == qos.PortField {
				f.What, f.Fix = "the device has no such port", "correct the name in the intent, or break the port out on the device"
			}
			r.found.add(f, ch.Port)
		}
	}
}

// End is what one end of a link is set to: the values that the other end must
// share.
type End struct {
	PFC   qos.PrioritySet
	MTU   int // bytes of an IP packet; 0 where it is not known
	Trust qos.Trust
	// Asymmetric says that pause is obeyed on every priority.
	Asymmetric qos.Opt[bool]
	Known      bool

	source  Source
	drifted bool
	pfcSaid bool // another finding says why PFC is not as intended
	// elsewhere is what LLDP shows at the other end of the cable, where that is
	// not the link's.
	elsewhere string
	bare      bool // PRT-01 says that it has nothing to compare
}

// EndOf returns what a port is set to.
func EndOf(d *qos.Device, port string) End {
	p := d.Ports[port]
	if p == nil {
		return End{}
	}
	return End{PFC: p.PFC.Or(0), MTU: p.MTU.Or(0), Trust: p.Trust.Or(""), Asymmetric: p.PFCAsymmetric, Known: true}
}
