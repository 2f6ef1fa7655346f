package derive

import (
	"cmp"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
)

// wish holds the settings that an intent would state for one port, or for most ports of a
// switch, a role or the fabric. Arrays are indexed by priority.
type wish struct {
	tune  tunes
	curve [qos.NumPriorities]curve
	rate  [qos.NumPriorities]units.Rate
	dog   dog
	poll  time.Duration // of the switch; 0 if not stated
	asym  bool
	pause bool // keep link pause
	trust qos.Trust
	mtu   int
	keep  keeps
}

// keeps tells what is left to the switch, in the order of keptKinds.
type keeps [4]bool

// keepsBandwidth is the index of schedulers in keeps.
const keepsBandwidth = 0

// keptKinds lists what an intent can leave to the switch, and the attributes concerned.
var keptKinds = [len(keeps{})]struct {
	key   string
	kinds []qos.Kind
}{
	{"bandwidth", []qos.Kind{qos.KindScheduler}},
	{"buffers", []qos.Kind{qos.KindQueueBuffer, qos.KindGroupBuffer, qos.KindDerivedFrom, qos.KindLossless, qos.KindHeadroom, qos.KindIngressProfiles, qos.KindEgressProfiles}},
	{"queues", []qos.Kind{qos.KindMap}},
	{"watchdog", []qos.Kind{qos.KindWatchdog}},
}

// tunes holds the queues and shares of all classes, which only fit together.
type tunes [qos.NumPriorities]tune

type tune struct {
	queue            int
	lossless, strict bool
	share            int // percent; 0 if strict
}

// curve is a marking curve as an intent writes it. The zero value is off; keep stands for a
// curve that no intent can express.
type curve struct {
	on, auto bool
	keep     bool
	min, max qos.Threshold // unused if auto
	prob     int
	bySpeed  *speeds // instead of all others but on
}

// dog holds watchdog settings.
type dog struct {
	on              bool
	detect, restore time.Duration
	action          qos.WatchdogAction
}

var defaultDog = dog{true, intent.DefaultDetect, intent.DefaultRestore, qos.ActionDrop}

// accept holds the values that would suit a port: several if they are equivalent, none if
// nothing is known.
type accept struct {
	tune  []tunes
	curve [qos.NumPriorities][]curve
	rate  [qos.NumPriorities]units.Rate
	dog   []dog
	poll  []time.Duration
	asym  []bool
	pause []bool
	trust []qos.Trust
	mtu   []int
	keep  []keeps
}

// wishes determines the values that each port accepts, with every enabled curve as auto, and
// chooses the settings.
func (d *deriver) wishes() {
	for _, s := range d.switches {
		if s.Planned {
			continue
		}
		for _, n := range s.names {
			p := s.ports[n]
			p.want = d.accepts(s, n)
			for i, l := range p.want.curve {
				if len(l) > 0 {
					p.own[i] = l[0]
				}
				if p.own[i].on {
					p.want.curve[i] = []curve{{on: true, auto: true, prob: p.own[i].prob}}
				}
			}
		}
	}
	d.choose()
}

func (d *deriver) accepts(s *box, name string) accept {
	p := s.ports[name].run
	m := s.Running.MapsOf(name)
	var a accept
	t := d.tuneOf(p, m)
	a.tune = []tunes{t}
	for _, c := range d.classes {
		q := p.Queues[t[c.priority].queue]
		a.rate[c.priority] = q.Scheduler.V.MaxRate
		if q.ECN.Set {
			a.curve[c.priority] = []curve{curveOf(q.ECN.V)}
		}
	}
	if w := p.Watchdog; w.Set && p.PFC.Or(0) != 0 {
		a.dog = []dog{dogOf(w.V)}
	}
	// An OS that does not show the setting does not have it.
	a.asym = []bool{p.PFCAsymmetric.Or(false)}
	if p.LinkPause.V && p.PFC.Or(0) != 0 {
		a.pause = []bool{true}
	} else {
		a.pause = []bool{false, true}
	}
	if p.Trust.Set || m != nil {
		a.trust = []qos.Trust{trustOf(s.Running, name)}
	}
	a.keep = []keeps{{}}
	if p.MTU.Set && p.MTU.V >= minMTU {
		a.mtu = []int{min(p.MTU.V, maxMTU)}
	}
	return a
}

// Range of MTUs in an intent; the minimum has room for the smallest RDMA packet.
const (
	minMTU = 256 + intent.RDMAOverhead
	maxMTU = 9216
)

// tuneOf reads queues, shares and which classes are lossless. If two classes share a queue, the
// second gets a free one, as an intent cannot express shared queues.
func (d *deriver) tuneOf(p *qos.Port, m *qos.Maps) tunes {
	var t tunes
	var taken qos.PrioritySet
	var late []int
	sum := 0
	share := d.evenShare()
	for _, q := range p.Queues {
		if q.Scheduler.Set {
			share = 1 // share of queues without a scheduler, if others have one
		}
	}
	for _, c := range d.classes {
		i := c.priority
		t[i] = tune{queue: i, lossless: p.PFC.Or(0).Has(i), share: share}
		if m != nil {
			if q := int(m.TCToQueue[i]); q >= 0 && q < qos.NumPriorities {
				t[i].queue = q
			}
		}
		if sch := p.Queues[t[i].queue].Scheduler; sch.Set {
			t[i].strict, t[i].share = sch.V.Strict, min(max(sch.V.Weight, 1), 1_000_000)
		}
		if t[i].strict {
			t[i].share = 0
		}
		sum += t[i].share
		if taken.Has(t[i].queue) {
			late = append(late, i)
			continue
		}
		taken |= qos.Priorities(t[i].queue)
	}
	for _, i := range late {
		for q := range qos.NumPriorities {
			if at := (i + q) % qos.NumPriorities; !taken.Has(at) {
				t[i].queue = at
				taken |= qos.Priorities(at)
				break
			}
		}
	}
	if sum > 100 {
		scale(&t, sum)
	}
	return t
}

// scale converts relative shares into percentages of at most 100 in total.
func scale(t *tunes, sum int) {
	left := 100
	most := -1
	for i := range t {
		if t[i].share > 0 {
			t[i].share = max(1, t[i].share*100/sum)
			left -= t[i].share
			if most < 0 || t[i].share > t[most].share {
				most = i
			}
		}
	}
	if most >= 0 && left < 0 {
		t[most].share += left
	}
}

// curveOf returns a curve in bytes if that is exact, else in the switch's units; keep is set if
// an intent cannot express it.
func curveOf(e qos.ECN) curve {
	if e == (qos.ECN{}) {
		return curve{}
	}
	lower, upper := e.Unit.Split()
	c := curve{on: true, min: inBytes(qos.Threshold{N: e.Min, Unit: lower}), max: inBytes(qos.Threshold{N: e.Max, Unit: upper}), prob: e.Probability}
	said := qos.ECN{Enabled: true, Min: c.min.N, Max: c.max.N, Unit: qos.Units(c.min.Unit, c.max.Unit), Probability: e.Probability}
	if c.min.N < 1 || c.min.Unit == c.max.Unit && c.min.N > c.max.N || e.Probability < 0 || e.Probability > 100 || !e.Same(said) {
		return curve{keep: true}
	}
	return c
}

// inBytes converts a threshold to bytes (1 kbyte = 1000 bytes) if its unit has a size.
func inBytes(t qos.Threshold) qos.Threshold {
	if n, _, ok := t.Unit.Bytes(t.N); ok {
		return qos.Threshold{N: n}
	}
	return t
}

func dogOf(w qos.Watchdog) dog {
	if !w.Enabled {
		return dog{}
	}
	out := dog{true, w.Detect, w.Restore, w.Action}
	if !slices.Contains([]qos.WatchdogAction{qos.ActionDrop, qos.ActionForward, qos.ActionAlert, qos.ActionErrDisable}, w.Action) {
		out.action = qos.ActionDrop
	}
	for _, t := range []*time.Duration{&out.detect, &out.restore} {
		if *t <= 0 || *t%time.Millisecond != 0 || *t > time.Hour {
			*t = intent.DefaultDetect
		}
	}
	return out
}

// foldCurves writes a curve as auto if that gives the same curve on the port. In trial all
// curves are auto.
func (d *deriver) foldCurves(trial *render.Compiler) {
	f := trial.Fabric()
	for _, s := range d.switches {
		desired := trial.Device(f.Switch(s.Name)).Desired
		for _, n := range s.names {
			p := s.ports[n]
			for _, c := range d.classes {
				i := c.priority
				if !p.own[i].on {
					continue
				}
				q := p.wish.tune[i].queue
				have, auto := p.run.Queues[q].ECN.V, desired.Ports[n].Queues[q].ECN.V
				auto.Probability = have.Probability
				switch {
				case p.own[i].auto:
				case have.Same(auto):
					p.want.curve[i] = []curve{{on: true, auto: true, prob: p.own[i].prob}, p.own[i]}
				default:
					p.want.curve[i] = []curve{p.own[i]}
				}
			}
		}
	}
}

// foldPolls omits the polling interval of a watchdog if the default gives the same. trial states
// no interval.
func (d *deriver) foldPolls(trial *render.Compiler) {
	f := trial.Fabric()
	for _, s := range d.switches {
		have, auto := s.Running.WatchdogPoll, trial.Device(f.Switch(s.Name)).Desired.WatchdogPoll
		if !have.Set || have.V <= 0 || have.V%time.Millisecond != 0 {
			continue
		}
		polls := []time.Duration{have.V}
		if have.V == auto.V {
			polls = []time.Duration{0, have.V}
		}
		for _, n := range s.names {
			if p := s.ports[n]; p.run.PFC.Or(0) != 0 {
				p.want.poll = polls
			}
		}
	}
}

// keepRest leaves to the switches what the intent would change but can leave alone; c is the
// compiled intent. A lossless group without a buffer is never kept: see [qos.DiffSaved]. It
// reports whether anything is kept.
func (d *deriver) keepRest(c *render.Compiler) (some bool) {
	for _, s := range d.switches {
		if s.Planned {
			continue
		}
		for _, change := range qos.DiffSaved(s.Running, c.Device(c.Fabric().Switch(s.Name)).Desired) {
			if change.Port == "" && change.Field.Kind != qos.KindGlobalMap || change.Port == "" && intent.SystemOf(s.OS).BufferModel {
				s.keepsGlobals, some = true, true
			}
			p := s.ports[change.Port]
			if t, ok := change.Field.Table(); p == nil || ok && (t == qos.DSCPToTC || t == qos.PCPToTC) {
				continue
			}
			for i, k := range keptKinds {
				if slices.Contains(k.kinds, change.Field.Kind) {
					p.want.keep = []keeps{p.want.keep[0]}
					p.want.keep[0][i], some = true, true
				}
			}
		}
	}
	return some
}

// keepAll reports whether all ports keep something.
func (d *deriver) keepAll(what int) bool {
	some := false
	for _, s := range d.switches {
		for _, n := range s.names {
			if !s.ports[n].wish.keep[what] {
				return false
			}
			some = true
		}
	}
	return some
}

// choose sets the values of the fabric, the roles, the switches and the ports: the value that
// most of their ports accept, or, on a tie, the outer level's value.
func (d *deriver) choose() {
	var all []*port
	byRole := map[string][]*port{}
	for _, s := range d.switches {
		if s.Planned {
			continue
		}
		for _, n := range s.names {
			all = append(all, s.ports[n])
			byRole[s.role] = append(byRole[s.role], s.ports[n])
		}
	}
	d.base = d.pick(all, d.defaults())
	d.roles = map[string]wish{"": d.base}
	for _, r := range d.roleList {
		d.roles[r] = d.pick(byRole[r], d.base)
	}
	for _, s := range d.switches {
		var ports []*port
		for _, n := range s.names {
			ports = append(ports, s.ports[n])
		}
		if s.Planned { // has no settings of its own
			s.wish = d.roles[s.role]
			for _, p := range ports {
				p.wish = s.wish
			}
			continue
		}
		s.wish = d.pick(ports, d.roles[s.role])
		for _, p := range ports {
			p.wish = d.pick([]*port{p}, s.wish)
			p.wish.poll = s.wish.poll
		}
	}
}

// defaults returns the settings of an intent that states nothing.
func (d *deriver) defaults() wish {
	if d.usual {
		return d.usualWish()
	}
	w := wish{dog: defaultDog, trust: qos.TrustDSCP, mtu: intent.DefaultMTUFabric}
	for i := range w.tune {
		w.tune[i].queue = i
	}
	for _, c := range d.classes {
		w.tune[c.priority].share = d.evenShare()
		if d.lossless.Has(c.priority) {
			w.curve[c.priority] = curve{on: true, auto: true, prob: int(intent.DefaultECNProbability)}
		}
	}
	return w
}

// evenShare returns the share of each class if none is known.
func (d *deriver) evenShare() int { return max(1, 100/max(1, len(d.classes))) }

func (d *deriver) pick(ports []*port, outer wish) wish {
	w := outer
	w.tune = vote(ports, outer.tune, func(a *accept) []tunes { return a.tune })
	for _, c := range d.classes {
		i := c.priority
		w.curve[i] = vote(ports, outer.curve[i], func(a *accept) []curve { return a.curve[i] })
		if len(ports) > 0 && !slices.ContainsFunc(ports, func(p *port) bool { return p.want.rate[i] == 0 }) {
			// An inner block cannot unset a rate set by an outer one.
			w.rate[i] = vote(ports, outer.rate[i], func(a *accept) []units.Rate { return []units.Rate{a.rate[i]} })
		}
	}
	w.dog = vote(ports, outer.dog, func(a *accept) []dog { return a.dog })
	w.poll = vote(ports, outer.poll, func(a *accept) []time.Duration { return a.poll })
	w.asym = vote(ports, outer.asym, func(a *accept) []bool { return a.asym })
	w.pause = vote(ports, outer.pause, func(a *accept) []bool { return a.pause })
	w.trust = vote(ports, outer.trust, func(a *accept) []qos.Trust { return a.trust })
	w.mtu = vote(ports, outer.mtu, func(a *accept) []int { return a.mtu })
	w.keep = vote(ports, outer.keep, func(a *accept) []keeps { return a.keep })
	for i := range w.tune {
		if w.keep[keepsBandwidth] { // nothing is stated about what is kept
			w.tune[i].strict, w.tune[i].share = outer.tune[i].strict, outer.tune[i].share
		}
	}
	return w
}

// vote returns the value that most ports accept; outer on a tie.
func vote[T comparable](ports []*port, outer T, of func(*accept) []T) T {
	var count ordered.Map[T, int]
	count.At(outer) // wins ties
	for _, p := range ports {
		for _, v := range of(&p.want) {
			*count.At(v)++
		}
	}
	return *cmp.Or(most(&count), &outer)
}

// remarkKept reports marking that no intent can express.
func (d *deriver) remarkKept() {
	for _, s := range d.switches {
		type kept struct{ class, curve string }
		var ports ordered.Groups[kept, string]
		for _, n := range s.names {
			p := s.ports[n]
			for _, c := range d.classes {
				w := p.wish.tune[c.priority]
				e := p.run.Queues[w.queue].ECN
				if p.wish.curve[c.priority].keep && e.Set {
					ports.Add(kept{c.name, e.V.String()}, n)
				}
			}
		}
		for k, names := range ports.All() {
			d.noteLeftOut(s.Name, names, "the ECN of class %s is %s, which no intent can state; ecn: keep leaves it as it is", k.class, k.curve)
		}
	}
}
