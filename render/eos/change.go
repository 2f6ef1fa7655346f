package eos

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// maxRounds bounds how often a change is looked at again because a shared line
// disturbed a port. Each round takes in at least one port more; more than a few do not
// occur, since only the switch's watchdog and the profiles of this tool are shared.
const maxRounds = 8

// Change returns what makes have hold desired, which must be fitted. It is
// empty where have means the same already, whoever configured it: ports that
// do are left alone. Other ports have one profile for each distinct shape, and their
// own lines that contradict it are taken away.
//
// A profile that ports carry now is edited in place, only where it differs, whatever its
// name; one that an interface outside of desired carries is edited only where desired
// owns what is shared. Other shapes get a profile of this tool. Profiles of this tool
// that nothing carries any more go, unless there are lines in them that this package
// does not know.
//
// After [Edit.Apply] nothing differs from desired but what [Refusals] names,
// and the aggregate that a port belongs to.
func Change(have *Config, desired *qos.Device, kw Keyword) Edit {
	return ChangeWithin(have, desired, kw, 0)
}

// ChangeWithin is [Change] with something that all ports share left as it is.
func ChangeWithin(have *Config, desired *qos.Device, kw Keyword, kept Shared) Edit {
	p := newPlanner(have, writable(desired), kw)
	p.kept = kept
	return p.plan()
}

// Shared is what all ports of a switch have in common, as a set.
type Shared uint8

// The members of Shared.
const (
	SharedDSCP Shared = 1 << iota
	SharedCoS
	SharedQueues
	SharedPFC // the line that turns PFC off on all ports
	SharedWatchdog
)

// SharedParts are the members of Shared, in words.
var SharedParts = []struct {
	Part Shared
	Name string
	// Table is the map that it is; see Maps.
	Table qos.Table
	Maps  bool
}{
	{SharedDSCP, "DSCP map", qos.DSCPToTC, true},
	{SharedCoS, "CoS map", qos.PCPToTC, true},
	{SharedQueues, "map of traffic classes to queues", qos.TCToQueue, true},
	{SharedPFC, "line \"priority-flow-control all off\"", 0, false},
	{SharedWatchdog, "PFC watchdog", 0, false},
}

// String names the members.
func (s Shared) String() string {
	var parts []string
	for _, p := range SharedParts {
		if s&p.Part != 0 {
			parts = append(parts, p.Name)
		}
	}
	return strings.Join(parts, " and the ")
}

type planner struct {
	have *Config
	r    *reading
	d    *qos.Device
	kw   Keyword
	kept Shared
	// touched are the ports whose profile is ours to choose.
	touched map[string]bool
}

func newPlanner(have *Config, d *qos.Device, kw Keyword) *planner {
	return &planner{have: have, r: read(have), d: d, kw: kw, touched: map[string]bool{}}
}

func (p *planner) plan() Edit {
	running := p.r.decode()
	base := p.maps(running)
	watchdogs := slices.ContainsFunc(qos.Diff(running, p.d), func(c qos.Change) bool {
		return (c.Field.Kind == qos.KindWatchdog || c.Field.Kind == qos.KindPort) && p.d.Ports[c.Port].Watchdog.V.Enabled
	})
	base = append(append(base, p.globals(running, watchdogs)...), p.ports(running)...)
	e, after := base, read(base.Apply(p.have))
	g := after.globals()
	for round := range maxRounds {
		if !p.touch(after, round == maxRounds-1) {
			break
		}
		e = append(slices.Clip(base), p.profiles(&g)...)
		after = read(e.Apply(p.have))
	}
	return p.tidy(e, after)
}

// keeps are the lines about marking that a port has by its profile, of queues
// with a curve that desired leaves alone. Another profile is to have them too.
func (p *planner) keeps(name string, port *qos.Port) Edit {
	own := p.r.sections[sectionInterface+name]
	if own == nil {
		return nil
	}
	profile := p.r.profile(own.carries())
	if profile == nil {
		return nil
	}
	var e Edit
	curve := map[string]bool{} // queues that have one
	for i := range profile.held {
		h := &profile.held[i]
		kind, number, _ := strings.Cut(h.queue, " ")
		q, err := strconv.Atoi(number)
		switch {
		case kind != string(TxQueue) && kind != string(UCTxQueue), err != nil || q < 0 || q >= qos.NumPriorities, port.Queues[q].ECN.Set:
		case h.inert || !strings.HasPrefix(h.spot.key, keyMarking) || own.value(h.queue, h.spot.key) != "":
		default:
			queue := string(p.kw) + " " + number
			e = append(e, lines.Setting{Block: queue, Key: h.spot.key, Line: h.text})
			curve[queue] = curve[queue] || h.set != nil
		}
	}
	return slices.DeleteFunc(e, func(s lines.Setting) bool { return !curve[s.Block] })
}

// touch adds the ports that are different from desired after an edit in what a
// profile says, or all of them, and reports whether there was one more.
func (p *planner) touch(after *reading, all bool) bool {
	more := false
	add := func(name string) {
		more = more || !p.touched[name]
		p.touched[name] = true
	}
	if all {
		for n := range p.d.Ports {
			add(n)
		}
		return more
	}
	for _, c := range qos.Diff(after.decode(), p.d) {
		if c.Port != "" && c.Field.Kind != qos.KindLAG && c.Field.Kind != qos.KindMTU {
			add(c.Port)
		}
	}
	return more
}

// table is a map of the switch, running and desired, and how EOS writes an entry.
type table struct {
	part       Shared
	have, want []int8
	head, key  string // "qos map traffic-class ", " to tx-queue" where the key goes on so
	to         string // " to tx-queue "
}

func (p *planner) tables(running *qos.Device) []table {
	if !p.d.GlobalMaps.Set {
		return nil
	}
	have, want := running.GlobalMaps.V, p.d.GlobalMaps.V
	queue := " to " + string(p.kw)
	return slices.DeleteFunc([]table{
		{SharedCoS, have.PCPToTC[:], want.PCPToTC[:], keyMapCOS, "", " to traffic-class "},
		{SharedDSCP, have.DSCPToTC[:], want.DSCPToTC[:], keyMapDSCP, "", " to traffic-class "},
		{SharedQueues, have.TCToQueue[:], want.TCToQueue[:], keyMapTC, queue, queue + " "},
	}, func(t table) bool { return p.kept&t.part != 0 })
}

// moves reports whether an entry is to get another value.
func (t *table) moves(i int) bool { return t.want[i] >= 0 && t.have[i] != t.want[i] }

// maps writes the entries that differ; one that returns to its default is
// written as well, so that nothing depends on how an entry is unset.
func (p *planner) maps(running *qos.Device) Edit {
	var e Edit
	other := " to " + string(otherKeyword(p.kw))
	for _, t := range p.tables(running) {
		for i, w := range t.want {
			if !t.moves(i) {
				continue
			}
			id := t.head + itoa(i)
			// Where both keywords map a class, which one counts is not known.
			if t.key != "" && p.r.global.get("", id+other) != nil {
				e = append(e, lines.Setting{Key: id + other})
			}
			e = append(e, lines.Setting{Key: id + t.key, Line: id + t.to + itoa(int(w))})
		}
	}
	return e
}

// globals writes the switch's watchdog, where that of a port differs from
// desired, and lifts what turns PFC off everywhere.
func (p *planner) globals(running *qos.Device, differs bool) Edit {
	var e Edit
	g := p.r.globals()
	w, watched := commonWatchdog(p.d)
	lossless, lenient, shuts := false, false, false
	for _, port := range p.d.Ports {
		lossless = lossless || port.PFC.V != 0
		lenient = lenient || port.Watchdog.V.Enabled && port.Watchdog.V.Action != qos.ActionDrop
		shuts = shuts || port.Watchdog.V.Action == qos.ActionErrDisable
	}
	if g.allOff && lossless && p.kept&SharedPFC == 0 {
		e = append(e, lines.Setting{Key: keyAllOff})
	}
	if p.kept&SharedWatchdog != 0 {
		return e
	}
	put := func(key string, have, want time.Duration) {
		if have != want {
			e = append(e, lines.Setting{Key: key, Line: key + " " + secondsText(want)})
		}
	}
	differs = differs && watched
	if differs {
		put(keyTimeout, g.timeout, w.Detect)
		put(keyRecovery, g.recovery, w.Restore)
	}
	if p.d.WatchdogPoll.Set {
		put(keyPoll, running.WatchdogPoll.V, p.d.WatchdogPoll.V)
	}
	if differs {
		switch {
		case shuts && g.action != qos.ActionErrDisable:
			e = append(e, lines.Setting{Key: keyAction}) // no port has a line for it
		case !shuts && w.Action == qos.ActionDrop && g.action != qos.ActionDrop:
			e = append(e, lines.Setting{Key: keyAction, Line: keyAction + " drop"})
		}
		if g.override && lenient {
			e = append(e, lines.Setting{Key: keyOverride})
		}
	}
	return e
}

// ports writes the lines that only an interface can have.
func (p *planner) ports(running *qos.Device) Edit {
	var e Edit
	g := p.r.globals()
	for _, name := range natural.Keys(p.d.Ports) {
		want, have := p.d.Ports[name], running.Ports[name]
		header := sectionInterface + name
		put := func(key, line string) { e = append(e, lines.Setting{Section: header, Key: key, Line: line}) }
		s := p.r.sections[header]
		if s == nil {
			e = append(e, lines.Setting{Section: header, Line: lines.Present})
			have = g.port(portState{routed: g.ports.routed})
		}
		if m := want.MTU; m.Set {
			routed := g.ports.routed
			if s != nil {
				routed = p.r.effective(s).routed
			}
			switch {
			case have.MTU == m || have.LAG.V != "":
				// A member has the MTU of its port channel.
			case routed:
				put(keyMTU, keyMTU+" "+itoa(m.V))
			default:
				put(keyL2MTU, keyL2MTU+" "+itoa(m.V))
			}
		}
		if up := want.AdminUp; up.Set && up != have.AdminUp {
			put(keyShutdown, adminLine(up.V))
		}
		if pause := want.LinkPause; pause.Set && pause != have.LinkPause {
			put(keySend, lineIf(pause.V, keySend+" on"))
			put(keyReceive, lineIf(pause.V, keyReceive+" on"))
		}
	}
	return e
}

// profiles gives the touched ports a profile each, and edits the profiles.
func (p *planner) profiles(g *globals) Edit {
	of := map[string]shape{}      // every port of desired
	known := map[shapedBy]shape{} // most ports are alike
	stays := p.staying()
	for n, port := range p.d.Ports {
		var kept Edit
		if !stays[n] {
			kept = p.keeps(n, port)
		}
		by := shapedBy{port.Trust, port.Queues, port.PFC, port.Watchdog, shapeText(kept)}
		s, ok := known[by]
		if !ok {
			s = shapeOf(port, g, p.kw, p.d.WatchdogPoll.Or(g.poll), kept)
			known[by] = s
		}
		if len(s.settings) > 0 {
			of[n] = s
		}
	}
	names := p.name(of, stays)
	var e Edit
	for _, s := range sortedShapes(of) {
		if name := names[s.text]; name != "" {
			e = append(e, p.edit(name, s)...)
		}
	}
	for _, n := range natural.Keys(of) {
		if p.touched[n] {
			e = append(e, p.attach(n, names[of[n].text], of[n])...)
		}
	}
	return e
}

// staying are the ports that keep their profile, which is edited in place: all that
// carry it are to be alike, and no other port is to be like them.
func (p *planner) staying() map[string]bool {
	of := func(n string) shapedBy {
		port := p.d.Ports[n]
		return shapedBy{port.Trust, port.Queues, port.PFC, port.Watchdog, ""}
	}
	profile := map[shapedBy]string{}
	shapes := map[string]shapedBy{}
	mixed := map[string]bool{"": true}
	for _, s := range p.r.order {
		if name := s.carries(); s.at == inInterface && p.d.Ports[s.port()] == nil {
			mixed[name] = mixed[name] || !p.d.OwnsGlobals
		}
	}
	for n := range p.d.Ports {
		name, shape := p.r.sections[sectionInterface+n].carries(), of(n)
		if was, ok := profile[shape]; ok && was != name {
			mixed[was], mixed[name] = true, true
		}
		if was, ok := shapes[name]; ok && was != shape {
			mixed[name] = true
		}
		profile[shape], shapes[name] = name, shape
	}
	out := map[string]bool{}
	for n := range p.d.Ports {
		if name := p.r.sections[sectionInterface+n].carries(); !mixed[name] && p.r.profile(name) != nil {
			out[n] = true
		}
	}
	return out
}

func otherKeyword(k Keyword) Keyword {
	if k == TxQueue {
		return UCTxQueue
	}
	return TxQueue
}

// name chooses a profile for each shape that a touched port has. A profile goes to the
// shape that most of its ports have.
func (p *planner) name(of map[string]shape, stays map[string]bool) map[string]string {
	needed := map[string]bool{}
	for n, s := range of {
		if p.touched[n] {
			needed[s.text] = true
		}
	}
	votes := map[string]map[string]int{} // profile, shape
	pinned := map[string]bool{}
	taken := map[string]bool{}
	for _, s := range p.r.order {
		name := strings.TrimPrefix(s.name, sectionProfile)
		if s.at == inProfile {
			taken[name] = true
			continue
		}
		carried := s.carries()
		if carried == "" {
			continue
		}
		taken[carried] = true
		if p.r.profile(carried) == nil {
			// Made now, it could not be unmade without leaving a name behind.
			continue
		}
		shape, ours := of[s.port()]
		if !ours {
			pinned[carried] = !p.d.OwnsGlobals
			continue
		}
		if !isOwn(carried) && !stays[s.port()] && !p.says(carried, shape) {
			continue // its lines that the shape does not name would come to other ports
		}
		if votes[carried] == nil {
			votes[carried] = map[string]int{}
		}
		votes[carried][shape.text]++
	}
	names := map[string]string{}
	for _, name := range natural.Keys(votes) {
		shapes := ordered.Sorted(maps.Keys(votes[name]), func(a, b string) int {
			return cmp.Or(votes[name][b]-votes[name][a], strings.Compare(a, b))
		})
		for _, text := range shapes {
			if names[text] == "" && (!pinned[name] || p.holds(name, text, of)) {
				names[text] = name
				break
			}
		}
	}
	for _, s := range sortedShapes(of) {
		if needed[s.text] && names[s.text] == "" {
			names[s.text] = lines.FreeName(profileName, math.MaxInt, func(n string) bool { return taken[n] })
			taken[names[s.text]] = true
		}
	}
	maps.DeleteFunc(names, func(text, _ string) bool { return !needed[text] })
	return names
}

// says reports whether a profile says nothing but what a shape speaks of.
func (p *planner) says(name string, s shape) bool {
	of := map[spot]bool{}
	for _, want := range s.settings {
		of[spot{want.Block, want.Key}] = true
	}
	return !slices.ContainsFunc(p.r.profile(name).held, func(h held) bool { return !h.inert && !of[h.spot] })
}

// holds reports whether a profile says what a shape does already.
func (p *planner) holds(name, text string, of map[string]shape) bool {
	for _, s := range of {
		if s.text == text {
			return len(p.edit(name, s)) == 0
		}
	}
	return false
}

// edit makes a profile say what a shape does.
func (p *planner) edit(name string, s shape) Edit {
	header := sectionProfile + name
	sec := p.r.sections[header]
	var e Edit
	if sec == nil {
		e = append(e, lines.Setting{Section: header, Line: lines.Present})
	}
	for _, want := range s.settings {
		for _, queue := range queuesOf(sec, want.Block) {
			have, line := sec.value(queue, want.Key), want.Line
			if queue != want.Block {
				// Settings under the other keyword must not count.
				line = ""
			} else if sec != nil && same(have, line, queue, inProfile) {
				continue
			}
			if have == line {
				continue
			}
			e = append(e, lines.Setting{Section: header, Block: queue, Key: want.Key, Line: line})
		}
	}
	return e
}

// queuesOf returns the queue, and before it the same one by another keyword, if there.
func queuesOf(sec *section, queue string) []string {
	if queue == "" || sec == nil {
		return []string{queue}
	}
	kind, n, _ := strings.Cut(queue, " ")
	other := string(otherKeyword(Keyword(kind))) + " " + n
	for s := range sec.index {
		if s.queue == other {
			return []string{other, queue}
		}
	}
	return []string{queue}
}

// attach gives a port its profile and takes away what contradicts it.
func (p *planner) attach(port, name string, s shape) Edit {
	header := sectionInterface + port
	sec := p.r.sections[header]
	var e Edit
	if sec.value("", keyProfile) != keyProfile+" "+name {
		e = append(e, lines.Setting{Section: header, Key: keyProfile, Line: keyProfile + " " + name})
	}
	for _, want := range s.settings {
		for _, queue := range queuesOf(sec, want.Block) {
			if have := sec.value(queue, want.Key); have != "" && !same(have, want.Line, queue, inInterface) {
				e = append(e, lines.Setting{Section: header, Block: queue, Key: want.Key})
			}
		}
	}
	return e
}

// tidy removes the profiles of ours that nothing carries after an edit.
func (p *planner) tidy(e Edit, after *reading) Edit {
	if len(e) == 0 {
		return nil
	}
	own := func(s *section) bool {
		return s.at == inProfile && isOwn(strings.TrimPrefix(s.name, sectionProfile)) && !s.foreign
	}
	if !slices.ContainsFunc(p.r.order, own) {
		return e
	}
	carried := map[string]bool{}
	for _, s := range after.order {
		if s.at == inInterface {
			carried[s.carries()] = true
		}
	}
	gone := map[string]bool{}
	var removed Edit
	for _, s := range p.r.order {
		if own(s) && !carried[strings.TrimPrefix(s.name, sectionProfile)] {
			gone[s.name] = true
			removed = append(removed, lines.Setting{Section: s.name})
		}
	}
	e = slices.DeleteFunc(e, func(x lines.Setting) bool { return gone[x.Section] })
	return append(e, removed...)
}
