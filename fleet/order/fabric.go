package order

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// fabric holds the devices and the links between them.
type fabric struct {
	list  []*Device
	index map[string]int
	links []cable
	// chains numbers the sequences of states (before and after) that ports have.
	chains trie[port]
	states [][]port // the states of each chain, by its number
}

// cable is a link between two devices of the fabric, with the chains of its ends.
type cable struct {
	a, b   end
	chains [2]int
}

type end struct {
	device int
	port   string
}

// port is a [Port] with the properties of its device.
type port struct {
	Port
	host  bool
	sends uint64 // code points that the host itself sends
}

// trie assigns numbers to sequences; 0 is the empty sequence.
type trie[T comparable] struct {
	next map[trieKey[T]]int
}

type trieKey[T comparable] struct {
	prefix int
	last   T
}

func (t *trie[T]) add(prefix int, last T) (n int, fresh bool) {
	if t.next == nil {
		t.next = map[trieKey[T]]int{}
	}
	k := trieKey[T]{prefix, last}
	if n = t.next[k]; n == 0 {
		n, fresh = len(t.next)+1, true
		t.next[k] = n
	}
	return n, fresh
}

func newFabric(devices []*Device, links []*intent.Link) *fabric {
	f := &fabric{list: devices, index: map[string]int{}, states: [][]port{nil}}
	for i, d := range devices {
		f.index[d.Name] = i
	}
	for _, l := range links {
		a, okA := f.end(l.A)
		b, okB := f.end(l.B)
		if okA && okB {
			f.links = append(f.links, cable{a, b, [2]int{f.chain(a), f.chain(b)}})
		}
	}
	return f
}

func (f *fabric) end(e intent.Endpoint) (end, bool) {
	i, ok := f.index[e.Device]
	if !ok {
		return end{}, false
	}
	for _, s := range f.list[i].States {
		if _, ok := s.Ports[e.Port]; !ok {
			return end{}, false
		}
	}
	return end{i, e.Port}, true
}

func (f *fabric) chain(e end) int {
	n := 0
	d := f.list[e.device]
	for _, s := range d.States {
		p := port{s.Ports[e.port], d.Host, s.Sends}
		next, fresh := f.chains.add(n, p)
		if fresh {
			f.states = append(f.states, append(f.states[n][:len(f.states[n]):len(f.states[n])], p))
		}
		n = next
	}
	return n
}

// change returns a key that is equal for devices whose ports change in the same ways.
func (f *fabric) change(d *Device) string {
	seen := map[int]bool{}
	for name := range d.States[0].Ports {
		if e, ok := f.end(intent.Endpoint{Device: d.Name, Port: name}); ok {
			seen[f.chain(e)] = true
		}
	}
	key := ""
	for n := range len(f.states) {
		if seen[n] {
			key += fmt.Sprintf("%d,", n)
		}
	}
	return key
}

// moment is the traffic that hosts may send at one time.
type moment struct {
	sends, twice uint64 // code points sent by at least one host, and by more than one
	mtu          int    // largest MTU of a host's port
}

// add adds the traffic of device d in all states of a span. It ignores switches.
func (m *moment) add(d *Device, of span) {
	if !d.Host {
		return
	}
	var sends uint64
	for _, s := range d.States[of.from : of.to+1] {
		sends |= s.Sends
		for _, p := range s.Ports {
			m.mtu = max(m.mtu, p.MTU)
		}
	}
	m.twice |= m.sends & sends
	m.sends |= sends
}

// span is the range of states, first to last, that a device may be in.
type span struct{ from, to int }

// faults is a bit set of the faults of a link: PFC at only one end, one bit per priority,
// then the constants below.
type faults uint16

const (
	lossyA faults = 1 << (qos.NumPriorities + iota) // traffic that enters at end a may be dropped
	lossyB
	smallA // the MTU of end a is too small for the hosts' packets
	smallB

	oneSided faults = 1<<qos.NumPriorities - 1 // PFC at only one end, any priority
)

// checks lists the checks of a link, and the faults that each check finds.
var checks = []struct {
	id     string
	faults faults
}{{"PFC-01", oneSided}, {"PFC-02", oneSided}, {"CLS-02", lossyA | lossyB}, {"MTU-03", smallA | smallB}}

// pfcCheck returns the ID of the check that compares PFC at the two ends of a link.
func (f *fabric) pfcCheck(c cable) string {
	if f.list[c.a.device].Host || f.list[c.b.device].Host {
		return "PFC-02"
	}
	return "PFC-01"
}

// linkFaults returns the faults of a link with the ends a and b. toA and toB are the code
// points of the traffic that enters at a and at b.
func linkFaults(a, b port, toA, toB uint64, m moment) faults {
	out := faults(a.PFC ^ b.PFC)
	if lossy(a, b, toB) {
		out |= lossyB
	}
	if lossy(b, a, toA) {
		out |= lossyA
	}
	if !a.host && a.MTU != 0 && a.MTU < m.mtu {
		out |= smallA
	}
	if !b.host && b.MTU != 0 && b.MTU < m.mtu {
		out |= smallB
	}
	return out
}

// lossy reports whether RDMA traffic from one end of a link to the other may be dropped.
// It is safe only if both ends put the traffic in the same class and have PFC enabled for
// that class: the receiver sends the pauses and the sender obeys them.
func lossy(from, to port, sends uint64) bool {
	if from.host {
		sends = from.sends
	}
	if from.Classes == nil || to.Classes == nil {
		return false
	}
	for ; sends != 0; sends &= sends - 1 {
		d := bits.TrailingZeros64(sends)
		p := to.Classes[d]
		if p != from.Classes[d] || !to.PFC.Has(int(p)) || !from.PFC.Has(int(p)) {
			return true
		}
	}
	return false
}

// places calls do for each fault of a link, with the check, the class and the end at which
// the fault is reported. PFC faults are reported at the switch if the other end is a host.
func (f *fabric) places(c cable, of faults, do func(check, class string, e end)) {
	first := c.a
	if f.list[c.a.device].Host {
		first = c.b
	}
	for p := range qos.NumPriorities {
		if of&(1<<p) != 0 {
			do(f.pfcCheck(c), fmt.Sprintf("priority %d", p), first)
		}
	}
	for _, x := range []struct {
		bit   faults
		check string
		e     end
	}{{lossyA, "CLS-02", c.a}, {lossyB, "CLS-02", c.b}, {smallA, "MTU-03", c.a}, {smallB, "MTU-03", c.b}} {
		if of&x.bit != 0 {
			do(x.check, "", x.e)
		}
	}
}

// route holds the properties of a link that decide which faults count in a state of its
// ends.
type route struct {
	chains [2]int
	// was and will are the priorities with PFC at both ends, before and after.
	was, will qos.PrioritySet
	// idle is set if the link carries no class of the intent yet.
	idle bool
}

func (f *fabric) route(chains [2]int, before moment) route {
	a, b := f.states[chains[0]], f.states[chains[1]]
	r := route{chains: chains, was: a[0].PFC & b[0].PFC, will: a[len(a)-1].PFC & b[len(b)-1].PFC}
	r.idle = before.sends == 0 && lossless(a[0], b[0])&lossless(a[len(a)-1], b[len(b)-1]) == 0
	return r
}

// lossless returns the code points that a link carries without loss.
func lossless(a, b port) (out uint64) {
	if a.Classes == nil || b.Classes == nil {
		return 0
	}
	for d, p := range a.Classes {
		if p >= 0 && p == b.Classes[d] && (a.PFC & b.PFC).Has(int(p)) {
			out |= 1 << d
		}
	}
	return out
}

// unused returns the faults that affect no traffic when the ends are in states a and b.
// PFC at only one end is such a fault for a priority that was not lossless before. It also is
// if the link carries without loss all priorities that it carried so before the change, or all
// that it will carry so after it. RDMA traffic in a lossy class is such a fault on an idle
// link.
func (r route) unused(a, b port) faults {
	out := oneSided &^ faults(r.was)
	if now := a.PFC & b.PFC; now&r.was == r.was || now&r.will == r.will {
		out = oneSided
	}
	if r.idle {
		out |= lossyA | lossyB
	}
	return out
}

// faultsOver returns the faults of a link over all combinations of states of its two ends, and
// separately the faults that affect no traffic in any of them. states counts the
// combinations.
func (f *fabric) faultsOver(r route, a, b span, m moment) (out, unused faults, states int) {
	as, bs := f.states[r.chains[0]][a.from:a.to+1], f.states[r.chains[1]][b.from:b.to+1]
	toA, toB := m.enteringDSCPs(as), m.enteringDSCPs(bs)
	for _, x := range as {
		for _, y := range bs {
			all, none := linkFaults(x, y, toA, toB, m), r.unused(x, y)
			out |= all &^ none
			unused |= all & none
			states++
		}
	}
	return out, unused &^ out, states
}

// enteringDSCPs returns the code points of the traffic that enters a device with the states seen. A
// host receives no traffic from itself.
func (m moment) enteringDSCPs(seen []port) uint64 {
	var own uint64
	for _, p := range seen {
		own |= p.sends
	}
	return m.sends &^ (own &^ m.twice)
}

// outerFaults returns the faults of a link before and after the whole change.
func (f *fabric) outerFaults(r route, before, after moment) faults {
	last := func(chain int) span { n := len(f.states[chain]) - 1; return span{n, n} }
	was, unused, _ := f.faultsOver(r, span{}, span{}, before)
	is, none, _ := f.faultsOver(r, last(r.chains[0]), last(r.chains[1]), after)
	return was | unused | is | none
}

func (f *fabric) outerMoments() (before, after moment) {
	for _, d := range f.list {
		last := len(d.States) - 1
		before.add(d, span{})
		after.add(d, span{last, last})
	}
	return before, after
}

// deadlock explains for which priorities PFC appears on some links and disappears from
// others, so that an intermediate state may have a cycle that exists neither before nor
// after; "" if there are none. If PFC only appears, or only disappears, the links with PFC in
// any intermediate state are a subset of those after, or before, the change.
func (f *fabric) deadlock() string {
	var come, go_ qos.PrioritySet
	for _, c := range f.links {
		a, b := f.states[c.chains[0]], f.states[c.chains[1]]
		was, is := a[0].PFC&b[0].PFC, a[len(a)-1].PFC&b[len(b)-1].PFC
		come |= is &^ was
		go_ |= was &^ is
	}
	if both := come & go_; both != 0 {
		return fmt.Sprintf("PFC of priority %s comes to some links and goes from others: a deadlock in between is not excluded", both.Join(", "))
	}
	return ""
}

// timetable holds the stage in which each device changes, or -1 if it does not change.
type timetable []int

func (f *fabric) timetable(stages []Stage) timetable {
	t := make(timetable, len(f.list))
	for i := range t {
		t[i] = -1
	}
	for n, s := range stages {
		for _, name := range s.Devices {
			t[f.index[name]] = n
		}
	}
	return t
}

// during returns the states that a device may be in during a stage; changes is the stage in
// which the device changes. after returns its state after a stage.
func during(changes, stage int) span {
	return span{after(changes, stage-1).from, after(changes, stage).from}
}

func after(changes, stage int) span {
	if changes >= 0 && changes <= stage {
		return span{1, 1}
	}
	return span{}
}

// alike identifies links whose ends have equal states and change in the same stages.
type alike struct {
	chains, changes [2]int
	pfc             string // ID of the PFC check
}

// prove evaluates all links in all stages. It evaluates equal links only once, because
// links times stages grows with the square of the fabric's size.
func (f *fabric) prove(stages []Stage) Proof {
	p := Proof{Links: len(f.links), Worse: make([][]Fault, len(stages)), Looked: make([][]CheckSummary, len(stages)), Unproven: f.deadlock()}
	t := f.timetable(stages)
	in, between := make([]moment, len(stages)), make([]moment, len(stages))
	for n := range stages {
		for i, d := range f.list {
			in[n].add(d, during(t[i], n))
			between[n].add(d, after(t[i], n))
		}
		p.Looked[n] = make([]CheckSummary, len(checks))
	}
	var links ordered.Groups[alike, *cable]
	for i, c := range f.links {
		links.Add(alike{c.chains, [2]int{t[c.a.device], t[c.b.device]}, f.pfcCheck(c)}, &f.links[i])
	}
	outerBefore, outerAfter := f.outerMoments()
	exposed := make([]exposure, len(stages))
	worse := make([]ordered.Map[[2]string, Fault], len(stages))
	for k, cables := range links.All() {
		r := f.route(k.chains, outerBefore)
		known, unclassed := f.outerFaults(r, outerBefore, outerAfter), f.unclassed(*cables[0])
		if unclassed {
			p.Unclassed += len(cables)
		}
		run := lasting{}
		for n := range stages {
			all, unused, states := f.faultsOver(r, during(k.changes[0], n), during(k.changes[1], n), in[n])
			left, _, _ := f.faultsOver(r, after(k.changes[0], n), after(k.changes[1], n), between[n])
			s := sight{(all | unused) & known, unused &^ known, all &^ known, states}
			p.States += states
			exposed[n].add(len(cables), s.worse, left&^known)
			addToSummaries(p.Looked[n], k, unclassed, len(cables), s)
			for _, e := range run.next(n, s.worse, left&^known) {
				f.addFaults(&worse[e.from], cables, e.of, n+1, Lasts(stages[e.from:n+1]))
			}
		}
	}
	for n, looked := range p.Looked {
		p.Looked[n] = slices.DeleteFunc(looked, func(l CheckSummary) bool { return l.Links == 0 })
		p.Cost = p.Cost.Plus(exposed[n].cost(stages[n]))
		for _, w := range worse[n].All() {
			p.Worse[n] = append(p.Worse[n], w)
		}
	}
	return p
}

// Lasts returns how long a state lasts, in seconds, that begins in the first of stages and
// ends in the last: the sum of their writes and the gates in between.
func Lasts(stages []Stage) (sum float64) {
	for i, s := range stages {
		sum += s.Writes
		if i < len(stages)-1 {
			sum += s.Gate
		}
	}
	return sum
}

// sight is the result for a link in a stage: faults that also exist before or after the
// whole change (known), faults in classes that the link does not carry yet (unused), and all
// others (worse).
type sight struct {
	known, unused, worse faults
	states               int
}

// lasting holds, for each current fault of a link, the stage in which it began.
type lasting [16]struct {
	from int
	on   bool
}

// ended is a set of faults of a link that began in stage from and have ended.
type ended struct {
	from int
	of   faults
}

// next records the faults seen during a stage and those left after it, and returns the
// faults that end in the stage.
func (l *lasting) next(stage int, seen, left faults) (out []ended) {
	for bit := range l {
		of := faults(1) << bit
		if seen&of == 0 {
			continue
		}
		if !l[bit].on {
			l[bit].from, l[bit].on = stage, true
		}
		if left&of != 0 {
			continue
		}
		l[bit].on = false
		if i := slices.IndexFunc(out, func(e ended) bool { return e.from == l[bit].from }); i >= 0 {
			out[i].of |= of
		} else {
			out = append(out, ended{l[bit].from, of})
		}
	}
	return out
}

// addFaults adds the faults of equal links to the result, in the order of the links. The faults
// end in stage until and have lasted the given seconds.
func (f *fabric) addFaults(to *ordered.Map[[2]string, Fault], links []*cable, of faults, until int, seconds float64) {
	for i, c := range links[:min(len(links), mostPorts)] {
		f.places(*c, of, func(check, class string, e end) {
			w := to.At([2]string{check, class})
			if i == 0 {
				w.Check, w.Class = check, class
				w.Count += len(links)
				w.Until, w.Seconds = max(w.Until, until), max(w.Seconds, seconds)
			}
			if len(w.Ports) < mostPorts {
				w.Ports = append(w.Ports, f.list[e.device].Name+"/"+e.port)
			}
		})
	}
}

// addToSummaries adds the result for n equal links to the summary of each check.
func addToSummaries(looked []CheckSummary, links alike, unclassed bool, n int, s sight) {
	for i, x := range checks {
		if x.faults == oneSided && x.id != links.pfc || x.id == "CLS-02" && unclassed {
			continue
		}
		l := &looked[i]
		l.Check = x.id
		l.Links += n
		l.States += n * s.states
		l.Known += n * (s.known & x.faults).count()
		l.Unused += n * (s.unused & x.faults).count()
		l.Worse += n * (s.worse & x.faults).count()
	}
}

// unclassed reports whether the classes of an end of a link are never known.
func (f *fabric) unclassed(c cable) bool {
	known := func(p port) bool { return p.Classes != nil }
	return !slices.ContainsFunc(f.states[c.chains[0]], known) || !slices.ContainsFunc(f.states[c.chains[1]], known)
}

func (f faults) count() int { return bits.OnesCount16(uint16(f)) }
