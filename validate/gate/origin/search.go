package origin

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// search follows the pauses of one priority.
type search struct {
	devices map[string]Device
	ways    []Way
	out     map[string][]int // by device, in natural order
	size    []float64        // pause of each way: its time, the bound from frames, or the share of frames
	exact   []bool
	known   []bool
	paused  []bool
	order   []int                       // paused ways, in natural order
	groups  ordered.Map[group, verdict] // in the order of the ways
	blind   string                      // a port whose pauses neither end counts; "" if there is none
}

// group is the ingress ports of a switch that lead up, or those that lead down. Packets that
// came down do not go up again, so the two groups may have different egress ports as causes.
type group struct {
	device string
	above  bool
}

// verdict says why a group of ingress ports pauses.
type verdict struct {
	in []int // paused ways that end at the group
	// follow are the paused egress ways that explain the pauses, the longest pause first.
	follow []int
	// local are egress ways that may themselves be full, the likeliest first; empty if the
	// paused ways explain everything.
	local []int
	// sure is set if follow, or the first of local, is the only explanation.
	sure bool
	why  string
	// here is set if the congestion of local causes most of the pauses.
	here bool
	// dark is set if a pause that may be the cause is not counted.
	dark bool
}

// measure computes the size of each pause and which pauses are above the noise.
func (s *search) measure() {
	n := len(s.ways)
	s.size, s.exact, s.known, s.paused = make([]float64, n), make([]bool, n), make([]bool, n), make([]bool, n)
	var frames uint64
	for _, w := range s.ways {
		frames = max(frames, w.Frames.V)
	}
	var top, bound float64
	for i, w := range s.ways {
		switch {
		case w.Paused.Set:
			s.size[i], s.exact[i], s.known[i] = w.Paused.V, true, true
			top = max(top, s.size[i])
		case w.AtMost.Set:
			s.size[i], s.known[i] = w.AtMost.V, true
			bound = max(bound, s.size[i])
		case w.Frames.Set:
			s.known[i] = true
			if frames > 0 {
				s.size[i] = float64(w.Frames.V) / float64(frames)
			}
			bound = max(bound, s.size[i])
		}
	}
	for i, w := range s.ways {
		if !s.known[i] && (s.blind == "" || w.To.String() < s.blind) {
			s.blind = w.To.String()
		}
		most := bound
		if s.exact[i] {
			most = top
		}
		s.paused[i] = s.known[i] && s.size[i] >= least && s.size[i] >= leastOfTop*most
	}
}

// ratio compares the pauses of two ways in a unit that both ends count.
func (s *search) ratio(a, b int) float64 {
	x, y := s.ways[a], s.ways[b]
	if s.exact[a] != s.exact[b] && x.Frames.Set && y.Frames.Set && y.Frames.V > 0 {
		// A way that is paused without a break has few frames.
		return max(float64(x.Frames.V)/float64(y.Frames.V), s.size[a]/s.size[b])
	}
	return s.size[a] / s.size[b]
}

func (s *search) tier(device string) int { return s.devices[device].Tier }

// groupOf returns the group of ingress ports that a way ends at.
func (s *search) groupOf(way int) group {
	w := s.ways[way]
	return group{w.To.Device, !s.devices[w.From.Device].Host && s.tier(w.From.Device) > s.tier(w.To.Device)}
}

// egress returns the ways by which packets of a group may leave. With valley, it returns those
// that no packet takes if the fabric routes correctly.
func (s *search) egress(g group, in []int, valley bool) []int {
	var out []int
	for _, i := range s.out[g.device] {
		w := s.ways[i]
		up := !s.devices[w.To.Device].Host && s.tier(w.To.Device) > s.tier(g.device)
		if g.above && up != valley {
			continue
		}
		// A packet does not leave through its ingress port.
		if !slices.ContainsFunc(in, func(d int) bool { return s.ways[d].To != w.From }) {
			continue
		}
		out = append(out, i)
	}
	return out
}

// judge explains the pauses of all switches that pause.
func (s *search) judge() {
	for _, i := range s.order {
		if s.devices[s.ways[i].To.Device].Host {
			continue
		}
		v := s.groups.At(s.groupOf(i))
		v.in = append(v.in, i)
	}
	for _, g := range s.groups.Keys() {
		s.explain(g, s.groups.At(g))
	}
}

func (s *search) explain(g group, v *verdict) {
	longest := s.longest(v.in)
	find := func(ways []int) (follow []int) {
		for _, e := range ways {
			if s.paused[e] && s.ratio(e, longest) >= leads {
				follow = append(follow, e)
			}
		}
		ordered.Sort(follow, func(a, b int) int { return cmp.Compare(s.size[b], s.size[a]) })
		return follow
	}
	ways := s.egress(g, v.in, false)
	v.follow = find(ways)
	if len(v.follow) == 0 && g.above {
		if over := s.egress(g, v.in, true); len(find(over)) > 0 {
			ways, v.follow = over, find(over)
		}
	}
	v.sure = true
	rest := slices.DeleteFunc(slices.Clone(ways), func(e int) bool { return slices.Contains(v.follow, e) })
	if len(v.follow) == 0 {
		v.local, v.sure, v.why = s.congested(ways)
		v.here = true
	} else if part, told := s.covered(v.follow, longest); told && part < covers && len(rest) > 0 {
		// An egress queue can have waited only while it sent or was paused, and that is shorter
		// than the pause of the ingress ports.
		v.local, v.sure, v.why = s.congested(rest)
		v.here = part < covers/2
	} else if rival := s.rival(v.follow, rest); rival >= 0 {
		v.sure, v.why = false, fmt.Sprintf("%s is full or marks as well", s.ways[rival].From)
		v.local, v.here = []int{rival}, s.ratio(v.follow[0], longest) < 0.5
	}
	if len(v.follow) > 0 && s.ratio(v.follow[0], longest) >= 0.5 {
		return
	}
	for _, e := range rest {
		if s.known[e] {
			continue
		}
		if v.sure || !v.dark {
			v.why = fmt.Sprintf("the pauses of %s are not counted", s.ways[e].To)
		}
		v.sure, v.dark = false, true
		if !slices.Contains(v.local, e) {
			v.local = append(v.local, e)
		}
	}
}

// covered returns the fraction of a pause for which the egress ways can have waited; told is
// false if that is not counted.
func (s *search) covered(follow []int, in int) (part float64, told bool) {
	if !s.exact[in] {
		return 0, false
	}
	for _, e := range follow {
		if !s.exact[e] || !s.ways[e].Used.Set {
			return 0, false
		}
		part += s.size[e] + s.ways[e].Used.V
	}
	return part / s.size[in], true
}

// rival returns an egress way that shows as much congestion as the longest-paused way of
// follow: one that is not paused, or one that is full if the pause of that way is counted only
// in frames; -1 if there is none.
func (s *search) rival(follow, rest []int) int {
	var marks uint64
	told := true
	for _, e := range follow {
		marks, told = max(marks, s.ways[e].Marked.V), told && s.ways[e].Marked.Set
	}
	for _, e := range rest {
		w := s.ways[e]
		marked := told && w.Marked.Set
		if marked && w.Marked.V > marks && w.Marked.V > 0 || !marked && w.Used.V >= full {
			return e
		}
	}
	for _, e := range follow[1:] {
		if !s.exact[follow[0]] && s.ways[e].Used.V >= full && s.ways[follow[0]].Used.V < full {
			return e
		}
	}
	return -1
}

// congested orders egress ways by how likely they receive more than they carry; sure says that
// the first one stands out. Marks cover the whole time, while a peak may come from a single
// burst, and a full link need not be overloaded.
func (s *search) congested(ways []int) (order []int, sure bool, why string) {
	order = slices.Clone(ways)
	if len(order) == 0 {
		return nil, false, "no egress port is known"
	}
	all := func(told func(Way) bool) bool {
		return !slices.ContainsFunc(order, func(e int) bool { return !told(s.ways[e]) })
	}
	by := func(value func(Way) float64) (first, second float64) {
		ordered.Sort(order, func(a, b int) int { return cmp.Compare(value(s.ways[b]), value(s.ways[a])) })
		if len(order) > 1 {
			second = value(s.ways[order[1]])
		}
		return value(s.ways[order[0]]), second
	}
	used := func(w Way) float64 { return w.Used.V }
	peak := func(w Way) float64 { return float64(w.Peak.V) }
	marks := func(w Way) float64 { return float64(w.Marked.V) }
	why = "several egress ports may be full"
	if len(order) == 1 {
		return order, true, ""
	}
	usedTold, peakTold, marksTold := all(func(w Way) bool { return w.Used.Set }), all(func(w Way) bool { return w.Peak.Set }), all(func(w Way) bool { return w.Marked.Set })
	if usedTold {
		first, second := by(used)
		sure = first >= full && second <= 0.75*first
	}
	if peakTold {
		fullest := order[0]
		first, second := by(peak)
		if usedTold && sure && order[0] != fullest && peak(s.ways[fullest]) < first/2 {
			sure = false
		}
		if !sure {
			sure = first > 0 && second <= first/3
		} else {
			by(used)
		}
	}
	if marksTold {
		if first, second := by(marks); first > 0 {
			sure = second <= first/3
		}
	}
	if sure {
		why = ""
	}
	return order, sure, why
}

// end is where the pauses of a way lead: a way to a NIC, a full egress way, or the ways of a
// cycle.
type end struct {
	way   int
	local bool
	cycle []int
	at    string // the device, if way is -1
	why   string // why the full egress way is not known
}

// follow walks from a paused way to its end. through are the groups that it passes.
func (s *search) follow(way int) (e end, through []group) {
	seen := map[group]int{} // the position in trail
	var trail []int
	for {
		if s.devices[s.ways[way].To.Device].Host {
			return end{way: way}, through
		}
		g := s.groupOf(way)
		v := s.groups.At(g)
		if at, again := seen[g]; again {
			loop := trail[at:]
			if exit, ok := s.exit(loop); ok {
				return exit, through
			}
			return end{way: loop[0], cycle: loop}, through
		}
		through = append(through, g)
		if v.here || len(v.follow) == 0 {
			if len(v.local) == 0 || v.dark {
				return end{way: -1, at: g.device}, through
			}
			return s.local(v), through
		}
		seen[g] = len(trail)
		way = v.follow[0]
		trail = append(trail, way)
	}
}

// exit finds the way out of a cycle of pauses that is not a deadlock: if its queues still move,
// the pauses come from one of the other ports.
func (s *search) exit(loop []int) (end, bool) {
	if !slices.ContainsFunc(loop, func(i int) bool { return s.size[i] < stuck || s.ways[i].Used.V > idle }) {
		return end{}, false
	}
	for _, i := range loop {
		for _, e := range s.groups.At(s.groupOf(i)).follow {
			if s.devices[s.ways[e].To.Device].Host {
				return end{way: e}, true
			}
		}
	}
	// Otherwise a port is full where packets that came down would have to go up again.
	for _, i := range loop {
		if g := s.groupOf(i); g.above {
			v := s.groups.At(g)
			if v.local, _, v.why = s.congested(s.egress(g, v.in, false)); len(v.local) > 0 {
				v.sure, v.why = false, "pauses go around, and the queues still move"
				return s.local(v), true
			}
		}
	}
	return end{}, false
}

// local returns the egress way that the packets of a group wait for. A way that sent hardly
// anything cannot have been full for as long as the group paused.
func (s *search) local(v *verdict) end {
	e := s.ways[v.local[0]]
	longest := s.longest(v.in)
	least := idle
	if s.exact[longest] {
		least = leads * s.size[longest]
	}
	if e.Used.Set && e.Used.V < least {
		return end{way: -1, at: e.From.Device, why: "no egress port sent enough to have been full for that long"}
	}
	return end{way: v.local[0], local: true}
}

// longest returns the way that was paused the longest.
func (s *search) longest(ways []int) int {
	return slices.MaxFunc(ways, func(a, b int) int { return cmp.Compare(s.size[a], s.size[b]) })
}

// sources collects the ends of all paused ways.
func (s *search) sources() []Source {
	s.judge()
	type key struct {
		kind Kind
		at   intent.Endpoint
	}
	byKey := map[key]*Source{}
	get := func(e end) *Source {
		src := s.source(e)
		k := key{src.Kind, src.At}
		if byKey[k] == nil {
			byKey[k] = &src
		}
		return byKey[k]
	}
	for _, i := range s.order {
		e, through := s.follow(i)
		src := get(e)
		src.weight += s.size[i]
		if s.exact[i] {
			src.counted += s.size[i]
		}
		src.Ways = append(src.Ways, i)
		for _, g := range through {
			v := s.groups.At(g)
			if !v.sure && (src.Certain || src.Kind == Pauser) {
				src.Certain, src.Why = false, v.why
			}
			if !v.sure {
				s.candidates(src, v)
			}
		}
		if n := len(through); n > 0 {
			if last := s.groups.At(through[n-1]).in; n == 1 || e.cycle == nil && last[0] == i {
				src.Feeders = max(src.Feeders, len(last))
			}
		}
	}
	// The same switch may have a second source.
	for _, v := range s.groups.All() {
		if len(v.follow) > 0 && len(v.local) > 0 && v.sure && !v.here {
			if src := get(s.local(&v)); src.weight == 0 {
				src.weight = s.size[v.in[0]]
				src.Ways, src.Feeders = slices.Clone(v.in), len(v.in)
			}
		}
	}
	var out []Source
	for _, src := range byKey {
		out = append(out, *src)
	}
	ordered.Sort(out, func(a, b Source) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.At.Device, b.At.Device), cmp.Compare(a.At.Port, b.At.Port), cmp.Compare(a.Kind, b.Kind))
	})
	for i := range out {
		if out[i].weight < other*out[0].weight {
			out = out[:i]
			break
		}
	}
	for i := range out {
		s.outlasted(&out[i])
	}
	rank(out)
	return out
}

// outlasted marks a slow receiver as uncertain if a pause that leads to it is more than twice as
// long as its own: between its pauses its link may get more than it carries.
func (s *search) outlasted(src *Source) {
	if src.Kind != SlowReceiver || !src.Certain || s.ratio(src.Way, s.longest(src.Ways)) >= 0.5 {
		return
	}
	w := s.ways[src.Way]
	src.Certain, src.Why = false, fmt.Sprintf("%s paused for less than half as long as links that lead to it, and its own link may be full at times", w.To)
	src.Candidates = []intent.Endpoint{w.To, w.From}
}

// rank marks the first source as uncertain if another one may stop more: pauses counted only in
// frames may have been short.
func rank(out []Source) {
	if len(out) < 2 || !out[0].Certain || out[0].Kind == Cycle || out[0].counted >= out[1].weight {
		return
	}
	first := &out[0]
	first.Certain, first.Why = false, "how long these pauses last is not counted, and others lead elsewhere"
	first.Candidates = []intent.Endpoint{first.At}
	for _, src := range out[1:min(len(out), fewCandidates)] {
		if first.counted < src.weight {
			first.Candidates = append(first.Candidates, src.At)
		}
	}
}

// source converts the end of a walk to a source.
func (s *search) source(e end) Source {
	switch {
	case e.way < 0:
		return Source{Kind: Pauser, At: intent.Endpoint{Device: e.at}, Way: -1, Why: cmp.Or(e.why, "no egress port of it is known")}
	case e.cycle != nil:
		first := slices.MinFunc(e.cycle, func(a, b int) int {
			return cmp.Or(cmp.Compare(s.ways[a].From.Device, s.ways[b].From.Device), cmp.Compare(s.ways[a].From.Port, s.ways[b].From.Port))
		})
		src := Source{Kind: Cycle, At: s.ways[first].From, Way: first, Certain: true}
		for _, i := range e.cycle {
			switch w := s.ways[i]; {
			case s.size[i] < stuck || w.Used.V > idle:
				src.Certain, src.Moves, src.Why = false, true, "the queues of the cycle still move"
			case !w.Used.Set && !src.Moves:
				src.Certain, src.Why = false, fmt.Sprintf("what %s sent is not counted", w.From)
			}
			src.Candidates = append(src.Candidates, s.ways[i].From)
		}
		return src
	case e.local:
		return Source{Kind: Congestion, At: s.ways[e.way].From, Way: e.way, Certain: true}
	}
	w := s.ways[e.way]
	src := Source{Kind: SlowReceiver, At: w.To, Way: e.way, Certain: true}
	size, exact := s.size[e.way], s.exact[e.way]
	switch {
	case w.Storms > 0, size >= stuck && w.Used.Set && w.Used.V <= idle, exact && size >= 1-idle:
		src.Kind = Storm
	case w.Used.Set && (w.Used.V >= full || exact && size < slow && w.Used.V+size >= full):
		src.Kind, src.At = Congestion, w.From
	case !w.Used.Set && !exact:
		src.Certain, src.Why = false, fmt.Sprintf("neither the time that %s paused nor its bytes are counted", w.To)
		src.Candidates = []intent.Endpoint{w.To, w.From}
	case !w.Used.Set && size >= stuck:
		src.Certain, src.Why = false, fmt.Sprintf("what %s received is not counted; if it received hardly anything, this is a pause storm", w.To)
		src.Candidates = []intent.Endpoint{w.To}
	case !exact && w.Used.V+size >= full:
		src.Certain, src.Why = false, fmt.Sprintf("how long %s paused is not counted, and its link may be full", w.To)
		src.Candidates = []intent.Endpoint{w.To, w.From}
	case (!exact || size < slow) && s.blind != "":
		src.Certain, src.Why = false, "the pauses of "+s.blind+" are not counted"
		src.Candidates = []intent.Endpoint{w.To}
	}
	return src
}

// candidates adds the other possible sources of a verdict.
func (s *search) candidates(src *Source, v *verdict) {
	add := func(e intent.Endpoint) {
		if len(src.Candidates) < fewCandidates && !slices.Contains(src.Candidates, e) {
			src.Candidates = append(src.Candidates, e)
		}
	}
	if src.Kind != Pauser {
		add(src.At)
	}
	for _, e := range v.local {
		if s.known[e] {
			add(s.ways[e].From)
		} else {
			add(s.ways[e].To)
		}
	}
}
