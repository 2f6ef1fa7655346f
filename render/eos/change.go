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

// maxRounds limits how often a change is recomputed because a shared line disturbed a port. Each
// round adds at least one port. More than a few rounds do not occur, since only the switch-wide
// watchdog and the profiles of this tool are shared.
const maxRounds = 8

// Change returns an edit that brings have to the desired state, which must be fitted. It is
// empty if have already means the same, whoever configured it; ports that do are left alone.
// Other ports get one profile per distinct shape, and their own lines that contradict it are
// removed.
//
// A profile in use is edited in place, only where it differs, whatever its name. If an interface
// outside desired uses it, it is edited only if desired owns shared settings. Other shapes get a
// profile of this tool. Profiles of this tool that become unused are removed, unless they
// contain lines that this package does not know.
//
// After [Edit.Apply] nothing differs from desired except what [Refusals] names, and the LAG to
// which a port belongs.
func Change(have *Config, desired *qos.Device, kw Keyword) Edit {
	return ChangeWithin(have, desired, kw, 0)
}

// ChangeWithin is like [Change] but leaves the kept shared settings as they are.
func ChangeWithin(have *Config, desired *qos.Device, kw Keyword, kept Shared) Edit {
	p := newPlanner(have, writable(desired), kw)
	p.kept = kept
	return p.plan()
}

// Shared is a set of settings that all ports of a switch have in common.
type Shared uint8

// Members of Shared.
const (
	SharedDSCP Shared = 1 << iota
	SharedCoS
	SharedQueues
	SharedPFC // the line that turns PFC off on all ports
	SharedWatchdog
)

// SharedParts describes the members of Shared.
var SharedParts = []struct {
	Part Shared
	Name string
	// Table is the map that the part stands for, if Maps is set.
	Table qos.Table
	Maps  bool
}{
	{SharedDSCP, "DSCP map", qos.DSCPToTC, true},
	{SharedCoS, "CoS map", qos.PCPToTC, true},
	{SharedQueues, "map of traffic classes to queues", qos.TCToQueue, true},
	{SharedPFC, "line \"priority-flow-control all off\"", 0, false},
	{SharedWatchdog, "PFC watchdog", 0, false},
}

// String names the members for people.
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
	// touched holds the ports for which the planner chooses a profile.
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
		if !p.addDifferingPorts(after, round == maxRounds-1) {
			break
		}
		e = append(slices.Clip(base), p.profiles(&g)...)
		after = read(e.Apply(p.have))
	}
	return p.tidy(e, after)
}

// keeps returns the marking lines that a port has through its profile, for queues with a curve
// that desired does not manage. A new profile must repeat them.
func (p *planner) keeps(name string, port *qos.Port) Edit {
	own := p.r.sections[sectionInterface+name]
	if own == nil {
		return nil
	}
	profile := p.r.profile(own.profileName())
	if profile == nil {
		return nil
	}
	var e Edit
	curve := map[string]bool{} // queues that have a curve
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

// addDifferingPorts adds the ports that still differ from desired after an edit in what a
// profile sets, or all ports, and reports whether any was new.
func (p *planner) addDifferingPorts(after *reading, all bool) bool {
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

// table is a switch-wide map, running and desired, with the syntax of its entries.
type table struct {
	part       Shared
	have, want []int8
	head, key  string // "qos map traffic-class ", and " to tx-queue" if the key continues with it
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

// moves reports whether an entry needs another value.
func (t *table) moves(i int) bool { return t.want[i] >= 0 && t.have[i] != t.want[i] }

// maps writes the entries that differ. An entry that returns to its default is written too, so
// that nothing depends on how EOS unsets entries.
func (p *planner) maps(running *qos.Device) Edit {
	var e Edit
	other := " to " + string(otherKeyword(p.kw))
	for _, t := range p.tables(running) {
		for i, w := range t.want {
			if !t.moves(i) {
				continue
			}
			id := t.head + itoa(i)
			// If both keywords map a traffic class, it is not known which one counts.
			if t.key != "" && p.r.global.get("", id+other) != nil {
				e = append(e, lines.Setting{Key: id + other})
			}
			e = append(e, lines.Setting{Key: id + t.key, Line: id + t.to + itoa(int(w))})
		}
	}
	return e
}

// globals writes the switch-wide watchdog if a port's watchdog differs from desired, and removes
// the line that turns PFC off on all ports.
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
			e = append(e, lines.Setting{Key: keyAction}) // no port has a line for this action
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

// profiles assigns a profile to each touched port and edits the profiles.
func (p *planner) profiles(g *globals) Edit {
	of := map[string]shape{}      // shape of every port of desired
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

// staying returns the ports that keep their profile, which is edited in place: all ports that
// use the profile shall have the same shape, and no port with another profile shall have it.
func (p *planner) staying() map[string]bool {
	of := func(n string) shapedBy {
		port := p.d.Ports[n]
		return shapedBy{port.Trust, port.Queues, port.PFC, port.Watchdog, ""}
	}
	profile := map[shapedBy]string{}
	shapes := map[string]shapedBy{}
	mixed := map[string]bool{"": true}
	for _, s := range p.r.order {
		if name := s.profileName(); s.at == inInterface && p.d.Ports[s.port()] == nil {
			mixed[name] = mixed[name] || !p.d.OwnsGlobals
		}
	}
	for n := range p.d.Ports {
		name, shape := p.r.sections[sectionInterface+n].profileName(), of(n)
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
		if name := p.r.sections[sectionInterface+n].profileName(); !mixed[name] && p.r.profile(name) != nil {
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

// name chooses a profile for each shape of a touched port. A profile goes to the shape that most
// of its ports have.
func (p *planner) name(of map[string]shape, stays map[string]bool) map[string]string {
	needed := map[string]bool{}
	for n, s := range of {
		if p.touched[n] {
			needed[s.text] = true
		}
	}
	votes := map[string]map[string]int{} // number of ports by profile and shape
	pinned := map[string]bool{}
	taken := map[string]bool{}
	for _, s := range p.r.order {
		name := strings.TrimPrefix(s.name, sectionProfile)
		if s.at == inProfile {
			taken[name] = true
			continue
		}
		carried := s.profileName()
		if carried == "" {
			continue
		}
		taken[carried] = true
		if p.r.profile(carried) == nil {
			// Creating this missing profile now could not be undone without leaving its name
			// behind.
			continue
		}
		shape, ours := of[s.port()]
		if !ours {
			pinned[carried] = !p.d.OwnsGlobals
			continue
		}
		if !isOwn(carried) && !stays[s.port()] && !p.setsOnly(carried, shape) {
			continue // other ports would get the lines of the profile that the shape does not cover
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
			if names[text] == "" && (!pinned[name] || p.alreadySets(name, text, of)) {
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

// setsOnly reports whether a profile sets nothing beyond what a shape covers.
func (p *planner) setsOnly(name string, s shape) bool {
	of := map[spot]bool{}
	for _, want := range s.settings {
		of[spot{want.Block, want.Key}] = true
	}
	return !slices.ContainsFunc(p.r.profile(name).held, func(h held) bool { return !h.inert && !of[h.spot] })
}

// alreadySets reports whether a profile already sets what a shape requires.
func (p *planner) alreadySets(name, text string, of map[string]shape) bool {
	for _, s := range of {
		if s.text == text {
			return len(p.edit(name, s)) == 0
		}
	}
	return false
}

// edit returns the settings that make a profile match a shape.
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
				// Remove settings under the other keyword.
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

// queuesOf returns the queue, preceded by the same queue under the other keyword if the section
// has it.
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

// attach attaches a profile to a port and removes lines of the port that contradict it.
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

// tidy removes profiles of this tool that no interface uses after an edit.
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
			carried[s.profileName()] = true
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
