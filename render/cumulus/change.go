package cumulus

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Prefix begins the names of the profiles that this package creates.
const Prefix = "roce-fabric"

// Shared is a set of settings that all ports of a switch have in common.
type Shared uint8

// Members of Shared: the map of switch priorities to traffic classes, the watchdog timers, and
// the pools.
const (
	SharedQueues Shared = 1 << iota
	SharedWatchdog
	SharedPools
)

// SharedParts describes the members of Shared.
var SharedParts = []struct {
	Part Shared
	Name string
}{
	{SharedQueues, "map of switch priorities to traffic classes"},
	{SharedWatchdog, "timers of the PFC watchdog"},
	{SharedPools, "traffic pools"},
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

// Change returns an edit that brings have to the desired state, which must be fitted. It is
// empty if have already means the same, whoever configured it. The RoCE preset stays on or off
// as it is. After the edit, the decoded state differs from desired only in what [Refusals]
// names, and in membership of bonds.
//
// A profile used only by changed ports with the same needs is edited in place and keeps its
// name. Other ports get profiles of this package ([Prefix]), which state everything that they
// decide. The profile default-global is edited only if desired owns shared settings. Profiles of
// this package that become unused are removed.
//
// If a port pauses and the switch has no pool for lossless traffic, the edit creates one.
func Change(have *Config, desired *qos.Device) Edit { return ChangeWithin(have, desired, 0) }

// ChangeWithin is like Change but leaves the kept shared settings alone, as ports outside
// desired depend on them. Desired values that would need them are not reached.
func ChangeWithin(have *Config, desired *qos.Device, kept Shared) Edit {
	if desired.Empty() {
		return nil
	}
	want := render.Accepted(desired, Refusals(desired, have.Release))
	n := need{ports: map[string]part{}, kept: kept}
	running, _ := Decode(have)
	if !n.add(qos.Diff(running, want)) {
		return nil
	}
	var e Edit
	// A change for one port may affect another, so repeat until nothing more is needed.
	for range 5 {
		e = plan(have, want, n)
		after, _ := Decode(e.Apply(have))
		if !n.add(qos.Diff(after, want)) {
			break
		}
	}
	return dropNeedlessQueueEntries(e, have, want)
}

// dropNeedlessQueueEntries removes from an edit the entries of the priority-to-traffic-class map
// that make no difference once the ports classify as desired.
func dropNeedlessQueueEntries(e Edit, have *Config, want *qos.Device) Edit {
	left := func(e Edit) int {
		after, _ := Decode(e.Apply(have))
		return len(qos.Diff(after, want))
	}
	most := -1
	for i := len(e) - 1; i >= 0; i-- {
		if e[i].Path[1] != "egress-queue-mapping" {
			continue
		}
		if most < 0 {
			most = left(e)
		}
		if less := slices.Delete(slices.Clone(e), i, i+1); left(less) <= most {
			e = less
		}
	}
	return e
}

// Encode returns the configuration of a switch that has the ports of d and nothing else, with
// every value of d written out. It means the same with the preset on or off.
func Encode(d *qos.Device, rel Release) *Config {
	have := &Config{Tree: &Node{}, Release: rel, Hostname: d.Name, Ports: natural.Keys(d.Ports)}
	want := render.Accepted(d, Refusals(d, rel))
	n := need{ports: map[string]part{}, queues: true, timers: true, pools: true, full: true}
	for name := range want.Ports {
		n.ports[name] = partAll
	}
	return plan(have, want, n).Apply(have)
}

// part is a set of aspects of a port that need writing.
type part uint16

const (
	partMapping part = 1 << iota
	partPFC
	partECN
	partScheduler
	partShaper
	partWatchdog
	partMTU
	partAdmin
	partPause
	partAll part = 1<<iota - 1
)

// need is what an edit must write.
type need struct {
	ports                 map[string]part
	queues, timers, pools bool
	full                  bool // also write values that are the default
	kept                  Shared
}

// add adds the parts that the changes need and reports whether any of them is new.
func (n *need) add(changes []qos.Change) bool {
	more := false
	set := func(p *bool) { more, *p = more || !*p, true }
	for _, c := range changes {
		var p part
		switch c.Field.Kind {
		case qos.KindWatchdogPoll:
			set(&n.timers)
		case qos.KindPort:
			p = partAll
		case qos.KindTrust:
			p = partMapping
		case qos.KindMap:
			if t, _ := c.Field.Table(); t == qos.TCToQueue {
				set(&n.queues)
			} else {
				p = partMapping
			}
		case qos.KindPFC, qos.KindCable:
			p = partPFC
		case qos.KindLossless:
			set(&n.pools)
		case qos.KindECN:
			p = partECN
		case qos.KindScheduler:
			p = partScheduler | partShaper
		case qos.KindWatchdog:
			p = partWatchdog
			set(&n.timers)
		case qos.KindMTU:
			p = partMTU
		case qos.KindAdminUp:
			p = partAdmin
		case qos.KindLinkPause:
			p = partPause
		}
		if c.Port != "" && n.ports[c.Port]|p != n.ports[c.Port] {
			n.ports[c.Port] |= p
			more = true
		}
	}
	return more
}

type planner struct {
	v    *view
	want *qos.Device
	n    need
	edit Edit
	// fresh is set while a new profile is made. It then uses the NVUE values closest to desired;
	// otherwise values that mean the same are kept.
	fresh bool
}

func plan(have *Config, want *qos.Device, n need) Edit {
	p := &planner{v: newView(have), want: want, n: n}
	if n.queues && n.kept&SharedQueues == 0 {
		p.queues()
	}
	if n.pools && n.kept&SharedPools == 0 {
		p.pools()
	}
	for _, f := range []struct {
		name string
		of   part
		fill func(port string, want *qos.Port) *Node
	}{
		{famMapping, partMapping, p.fillMapping},
		{famPFC, partPFC, p.fillPFC},
		{famECN, partECN, p.fillECN},
		{famScheduler, partScheduler, p.fillScheduler},
		{famShaper, partShaper, p.fillShaper},
	} {
		p.family(f.name, f.of, f.fill)
	}
	if n.timers && n.kept&SharedWatchdog == 0 {
		p.timers()
	}
	for _, name := range natural.Keys(want.Ports) {
		p.port(name, want.Ports[name], n.ports[name])
	}
	p.tidy(have)
	return p.edit
}

// set adds a setting unless the tree already holds it.
func (p *planner) set(v *Node, path ...string) {
	if have := p.v.c.Tree.At(path...); have == nil || have.Kind != v.Kind || have.Value != v.Value {
		p.edit = append(p.edit, Setting{Path: slices.Clone(path), Set: v})
	}
}

// unset adds a setting that removes a path, if the tree has it.
func (p *planner) unset(path ...string) {
	if p.v.c.Tree.At(path...) != nil {
		p.edit = append(p.edit, Setting{Path: slices.Clone(path)})
	}
}

// queues writes the map of priorities to traffic classes.
func (p *planner) queues() {
	for i, q := range queuesOf(p.want) {
		if q >= 0 && (p.n.full || p.v.queues[i] != q) {
			p.set(number(int64(q)), "qos", "egress-queue-mapping", global, "switch-priority", strconv.Itoa(i), "traffic-class")
		}
	}
}

// losslessShare is the percentage of buffer memory for a new lossless pool. The intent does not
// state it; NVIDIA's guide gives each pool half of the memory (Cumulus Linux 5.17, Flow Control
// Buffers).
const losslessShare = 50

// pools creates a lossless pool if a port pauses and the switch has none. As shares above 100
// percent are refused, the lossy pool is made smaller.
func (p *planner) pools() {
	paused := false
	for _, port := range p.want.Ports {
		paused = paused || port.PFC.V != 0
	}
	if !paused || p.v.losslessPool() != "" {
		return
	}
	name := poolLossless
	if p.v.preset != nil {
		name = poolRoCELossless // the pool that the preset uses
	}
	others, lossy := 0, 100
	for pool, n := range p.v.qos.At("traffic-pool").subs() {
		percent, ok := digits(n.At("memory-percent").Word())
		switch {
		case !ok:
		case pool == poolLossy:
			lossy = percent
		case pool != poolLossless && pool != poolRoCELossless:
			others += percent
		}
	}
	share := max(1, min(losslessShare, 100-others))
	if rest := max(0, 100-others-share); lossy > rest {
		p.set(number(int64(rest)), "qos", "traffic-pool", poolLossy, "memory-percent")
	}
	p.set(number(int64(share)), "qos", "traffic-pool", name, "memory-percent")
}

// timers writes the watchdog timers.
func (p *planner) timers() {
	w, some := watchdogOf(p.want)
	poll, robustness := p.v.timers()
	interval := p.want.WatchdogPoll.Or(poll)
	if some && !p.want.WatchdogPoll.Set {
		interval = w.Restore
	}
	if interval != poll || p.n.full && some {
		p.set(number(interval.Milliseconds()), "qos", "pfc-watchdog", "polling-interval")
	}
	if !some || interval <= 0 {
		return
	}
	if n := int(w.Detect / interval); n != robustness || p.n.full {
		p.set(number(int64(n)), "qos", "pfc-watchdog", "robustness")
	}
}

// port writes the settings that only an interface has.
func (p *planner) port(name string, want *qos.Port, parts part) {
	own := p.v.ifs.At(name)
	if want.MTU.Set && parts&partMTU != 0 && p.v.bonds[name] == "" {
		p.set(number(int64(want.MTU.V)), "interface", name, "link", "mtu")
	}
	if want.AdminUp.Set && parts&partAdmin != 0 {
		to := "down"
		if want.AdminUp.V {
			to = "up"
		}
		if state := own.At("link", "state"); state.Word() != to {
			if state != nil && state.Kind != Branch {
				p.set(text(to), "interface", name, "link", "state")
			} else {
				p.set(&Node{}, "interface", name, "link", "state", to)
			}
		}
	}
	if want.Watchdog.Set && parts&partWatchdog != 0 {
		has := own.At("qos", "pfc-watchdog")
		switch {
		case want.Watchdog.V.Enabled && !onAt(has, true):
			p.set(text(p.v.c.Release.enabled(true)), "interface", name, "qos", "pfc-watchdog", "state")
		case !want.Watchdog.V.Enabled && has != nil:
			p.unset("interface", name, "qos", "pfc-watchdog")
		}
	}
	if want.LinkPause.Set && !want.LinkPause.V && parts&partPause != 0 && p.v.linkPause(name) {
		p.unset("interface", p.v.binds(name), "qos", famPause)
	}
}

// group is a set of ports that need the same profile.
type group struct {
	ports   []string
	content *Node
	needs   bool
}

// family assigns a profile of the family to each port that needs one, and writes the profiles.
func (p *planner) family(family string, of part, fill func(string, *qos.Port) *Node) {
	groups := p.group(family, of, fill)
	taken := map[string]bool{}
	for name := range p.v.qos.At(family).subs() {
		taken[name] = true
	}
	for name := range p.users(family) {
		taken[name] = true
	}
	used, bound := map[string]bool{}, map[string]bool{}
	for i := range groups {
		g := &groups[i]
		if !g.needs {
			continue
		}
		name, edit := "", false
		p.fresh = true
		content := fill(g.ports[0], p.want.Ports[g.ports[0]])
		p.fresh = false
		for _, n := range p.v.qos.At(family).Keys() {
			if isOwn(n) && !used[n] && p.v.qos.At(family, n).Equal(content) {
				name = n
				break
			}
		}
		if name == "" {
			if n := p.editable(family, of, groups, i); n != "" && !used[n] {
				name, edit = n, true
			}
		}
		switch {
		case edit:
			p.editProfile(family, name, g, fill)
		case name == "":
			name = lines.FreeName(Prefix, math.MaxInt, func(n string) bool { return taken[n] })
			taken[name] = true
			p.write(content, "qos", family, name)
		}
		used[name] = true
		p.bind(family, of, name, g, bound)
	}
}

// shape holds everything that determines the content of a profile.
type shape struct {
	profile string // in force on the port now
	trust   qos.Opt[qos.Trust]
	maps    qos.Opt[*qos.Maps]
	pfc     qos.Opt[qos.PrioritySet]
	cable   qos.Opt[units.Length]
	queues  [qos.NumPriorities]qos.Queue
}

// group groups the ports by the profile that they need; nil if no port needs a change.
func (p *planner) group(family string, of part, fill func(string, *qos.Port) *Node) []group {
	needed := false
	for name := range p.want.Ports {
		needed = needed || p.n.ports[name]&of != 0
	}
	if !needed {
		return nil
	}
	var groups []group
	at := map[string]int{}   // by content
	known := map[shape]int{} // group of each shape; most ports are alike
	for _, name := range natural.Keys(p.want.Ports) {
		port := p.want.Ports[name]
		by := shape{p.v.profile(name, family), port.Trust, port.Maps, port.PFC, port.Cable, port.Queues}
		i, ok := known[by]
		if !ok {
			i = -1
			if content := fill(name, port); content != nil {
				key := string(content.JSON())
				if i, ok = at[key]; !ok {
					i = len(groups)
					at[key], groups = i, append(groups, group{content: content})
				}
			}
			known[by] = i
		}
		if i < 0 {
			continue
		}
		groups[i].ports = append(groups[i].ports, name)
		groups[i].needs = groups[i].needs || p.n.ports[name]&of != 0
	}
	return groups
}

// users lists the ports on which each profile of a family is in force.
func (p *planner) users(family string) map[string][]string {
	out := map[string][]string{}
	for _, port := range p.v.ports {
		name := p.v.profile(port, family)
		out[name] = append(out[name], port)
	}
	for _, name := range p.v.ifs.Keys() {
		if n := p.v.ifs.At(name, "qos", family, "profile").Word(); n != "" && !isPort(name) && len(p.v.ifs.At(name, "bond", "member").subs()) == 0 {
			out[n] = append(out[n], name)
		}
	}
	return out
}

// editable returns the present profile of a group of ports if it may be edited in place: no
// other port uses it or, if the intent owns shared settings, only ports outside the intent.
// Otherwise it returns "".
func (p *planner) editable(family string, of part, groups []group, i int) string {
	g := &groups[i]
	name := ""
	for _, port := range g.ports {
		if p.n.ports[port]&of != 0 {
			name = p.v.profile(port, family)
			break
		}
	}
	if name == global && !p.want.OwnsGlobals || p.v.qos.At(family, name) == nil && name != global ||
		family == famShaper && p.v.qos.At(family, name, "mode").Word() == "pps" {
		return ""
	}
	for _, user := range p.users(family)[name] {
		if !slices.Contains(g.ports, user) && (!p.want.OwnsGlobals || p.want.Ports[user] != nil) {
			return ""
		}
	}
	return name
}

// write sets every value of a node below a path.
func (p *planner) write(n *Node, path ...string) {
	if len(n.Sub) == 0 {
		p.set(n, path...)
		return
	}
	n.leaves(nil, func(at Path, leaf *Node) { p.set(leaf, slices.Concat(path, at)...) })
}

// editProfile edits a profile to give a group what it needs, where that differs from what the
// profile means now.
func (p *planner) editProfile(family, name string, g *group, fill func(string, *qos.Port) *Node) {
	one := g.ports[slices.IndexFunc(g.ports, func(port string) bool { return p.v.profile(port, family) == name })]
	running := p.v.port(one, 0, 0)
	if family == famMapping { // compare the map as written, before fold
		m, own := *running.Maps.V, p.v.mapping(name)
		m.DSCPToTC, m.PCPToTC = own.dscp, own.pcp
		running.Maps = qos.Of(&m)
	}
	is := fill(one, restrict(running, p.want.Ports[one]))
	have := p.v.qos.At(family, name)
	for _, key := range g.content.Keys() {
		sub := g.content.Sub[key]
		// A list replaces the default as a whole, so all of it must be written.
		if listed := key == "switch-priority" || key == "traffic-class"; listed && have.At(key) == nil && !sub.Equal(is.At(key)) {
			p.write(sub, "qos", family, name, key)
			continue
		}
		at := func(path Path, leaf *Node) {
			path = append(Path{key}, path...)
			if was := is.At(path...); was == nil || was.Kind != leaf.Kind || was.Value != leaf.Value {
				p.set(leaf, slices.Concat(Path{"qos", family, name}, path)...)
			}
		}
		sub.leaves(nil, at)
		if len(sub.Sub) == 0 {
			at(nil, sub)
		}
	}
	// Remove what the profile has and the content deliberately omits.
	gone := map[string]bool{}
	if pauses := g.content.At("switch-priority"); pauses != nil {
		for _, id := range have.At("switch-priority").Keys() {
			if pauses.Sub[id] == nil { // also if it pauses in one direction only
				gone[(Path{"qos", family, name, "switch-priority", id}).String()] = true
				p.unset("qos", family, name, "switch-priority", id)
			}
		}
	}
	is.leaves(nil, func(path Path, _ *Node) {
		for i := range path {
			if to := path[:i+1]; g.content.At(to...) == nil {
				if full := slices.Concat(Path{"qos", family, name}, to); !gone[full.String()] {
					gone[full.String()] = true
					p.unset(full...)
				}
				return
			}
		}
	})
}

// restrict returns a copy of have that has only the values that want manages.
func restrict(have, want *qos.Port) *qos.Port {
	out := *want
	out.Trust, out.PFC, out.Cable = have.Trust, have.PFC, have.Cable
	if want.Maps.Set && want.Maps.V != nil {
		m := *want.Maps.V
		for t := range qos.NumTables {
			for i, to := range m.Table(t) {
				if to != qos.Unmanaged {
					m.Table(t)[i] = have.Maps.V.Table(t)[i]
				}
			}
		}
		out.Maps = qos.Of(&m)
	}
	for i := range out.Queues {
		q, h := &out.Queues[i], have.Queues[i]
		if q.Scheduler.Set {
			q.Scheduler = h.Scheduler
		}
		if q.ECN.Set {
			q.ECN = h.ECN
		}
	}
	return &out
}

// bind binds a profile to the ports of a group that need it. bound holds the interfaces that
// another group has bound already, as members of a bond may want different profiles.
func (p *planner) bind(family string, of part, profile string, g *group, bound map[string]bool) {
	for _, port := range g.ports {
		if p.n.ports[port]&of == 0 || p.v.profile(port, family) == profile {
			continue
		}
		on := p.v.binds(port)
		if on != port && !p.allMembersManaged(on) {
			continue // a bond member outside the intent would change as well
		}
		if !bound[on] {
			bound[on] = true
			p.set(text(profile), "interface", on, "qos", family, "profile")
		}
	}
}

// allMembersManaged reports whether all members of a bond may change.
func (p *planner) allMembersManaged(bond string) bool {
	for _, m := range p.v.ifs.At(bond, "bond", "member").Keys() {
		if p.want.Ports[m] == nil && !p.want.OwnsGlobals {
			return false
		}
	}
	return true
}

// tidy removes profiles of this package that nothing uses after the edit.
func (p *planner) tidy(have *Config) {
	if len(p.edit) == 0 {
		return
	}
	after := newView(p.edit.Apply(have))
	for _, family := range []string{famMapping, famPFC, famECN, famScheduler, famShaper} {
		used := map[string]bool{}
		for _, name := range after.ifs.Keys() {
			used[after.ifs.At(name, "qos", family, "profile").Word()] = true
		}
		for _, name := range after.qos.At(family).Keys() {
			if !isOwn(name) || used[name] {
				continue
			}
			at := Path{"qos", family, name}
			p.edit = slices.DeleteFunc(p.edit, func(s Setting) bool { return len(s.Path) >= len(at) && slices.Equal(s.Path[:len(at)], at) })
			p.unset(at...)
		}
	}
}

// fillMapping and the functions below return the content of a profile. It states everything that
// the profile decides: managed values as desired, the rest as the port has it. nil means that no
// profile is needed.

func (p *planner) fillMapping(port string, want *qos.Port) *Node {
	if !want.Trust.Set && !want.Maps.Set {
		return nil
	}
	m := *p.v.mapping(p.v.profile(port, famMapping))
	if want.Trust.Set && (want.Trust.V != m.trust || p.fresh) {
		m.word = map[qos.Trust]string{qos.TrustDSCP: "l3", qos.TrustPCP: "l2", qos.TrustNone: "port"}[want.Trust.V]
	}
	if want.Maps.Set && want.Maps.V != nil {
		overlay(m.dscp[:], want.Maps.V.DSCPToTC[:])
		overlay(m.pcp[:], want.Maps.V.PCPToTC[:])
	}
	n := &Node{}
	n.Put(text(m.word), "trust")
	if m.word == "l3" || m.word == "both" || m.dscp != blocks() {
		for i, to := range m.dscp {
			n.Put(number(int64(to)), "dscp", strconv.Itoa(i), "switch-priority")
		}
	}
	if m.word == "l2" || m.word == "both" || m.pcp != identity() {
		for i, to := range m.pcp {
			n.Put(number(int64(to)), "pcp", strconv.Itoa(i), "switch-priority")
		}
	}
	if sp := p.v.qos.At(famMapping, m.name, "port-default-sp"); sp != nil {
		n.Put(sp.Clone(), "port-default-sp")
	}
	return n
}

// overlay copies the managed entries of from over the entries of to.
func overlay(to, from []int8) {
	for i, v := range from {
		if v >= 0 {
			to[i] = v
		}
	}
}

func (p *planner) fillPFC(port string, want *qos.Port) *Node {
	if !want.PFC.Set {
		return nil
	}
	name := p.v.profile(port, famPFC)
	n := &Node{}
	on := want.PFC.V != 0
	n.Put(text(enable(on)), "tx")
	n.Put(text(enable(on)), "rx")
	if !on {
		return n
	}
	for _, i := range want.PFC.V.List() {
		n.Put(&Node{}, "switch-priority", strconv.Itoa(i))
	}
	cable := want.Cable
	if !cable.Set {
		cable = p.v.pfc(name).cable
	}
	if cable.Set {
		n.Put(number(int64(cable.V)), "cable-length")
	}
	if name != global {
		for key, leaf := range p.v.qos.At(famPFC, name).subs() {
			if n.Sub[key] == nil && key != "cable-length" {
				n.Put(leaf.Clone(), key) // tuned by hand
			}
		}
	}
	return n
}

func (p *planner) fillECN(port string, want *qos.Port) *Node {
	name := p.v.profile(port, famECN)
	have, stated := p.v.ecn(name), p.v.qos.At(famECN, name, "traffic-class")
	n, managed := &Node{}, false
	for i := range want.Queues {
		tc := []string{"traffic-class", strconv.Itoa(i)}
		e, own := want.Queues[i].ECN, want.Queues[i].ECN.Set
		managed = managed || own
		if !own {
			e = have[i]
		}
		if !e.Set || !own && e.V == (qos.ECN{}) {
			continue
		}
		put := func(v *Node, key string) { n.Put(v, append(tc[:2:2], key)...) }
		put(text(enable(e.V.Enabled)), "ecn")
		put(text(enable(e.V.Drops)), "red")
		if !e.V.Enabled && !e.V.Drops {
			continue
		}
		put(number(int64(e.V.Probability)), "probability")
		if e.V.Unit == qos.UnitPercent {
			put(text("relative"), "mode")
			put(number(e.V.Min), "min-threshold-percent")
			put(number(e.V.Max), "max-threshold-percent")
			continue
		}
		if stated.At(strconv.Itoa(i), "mode").Word() == "relative" && !p.fresh {
			put(text("absolute"), "mode")
		}
		lower, upper := e.V.Unit.Split()
		low, _, _ := lower.Bytes(e.V.Min)
		high, _, _ := upper.Bytes(e.V.Max)
		put(number(low), "min-threshold")
		put(number(high), "max-threshold")
	}
	if !managed {
		return nil
	}
	return n
}

// fillScheduler omits the share of a queue that desired does not manage if the shares would add
// up to more than 100 percent. Such a queue is served only when all others are idle.
func (p *planner) fillScheduler(port string, want *qos.Port) *Node {
	have := p.v.scheduler(p.v.profile(port, famScheduler))
	var shares [qos.NumPriorities]share
	sum, managed := 0, false
	for i := range want.Queues {
		if s := want.Queues[i].Scheduler; s.Set {
			shares[i] = share{strict: s.V.Strict, percent: s.V.Weight}
			sum += s.V.Weight
			managed = true
		}
	}
	if !managed {
		return nil
	}
	others := 0
	for i := range want.Queues {
		if !want.Queues[i].Scheduler.Set {
			others += have[i].percent
		}
	}
	n := &Node{}
	for i := range want.Queues {
		s := shares[i]
		if !want.Queues[i].Scheduler.Set {
			if s = have[i]; !s.strict && (s.percent == 0 || sum+others > 100) {
				continue
			}
		}
		tc := []string{"traffic-class", strconv.Itoa(i)}
		if s.strict {
			n.Put(text("strict"), append(tc[:2:2], "mode")...)
			continue
		}
		n.Put(text("dwrr"), append(tc[:2:2], "mode")...)
		n.Put(number(int64(s.percent)), append(tc[:2:2], "bw-percent")...)
	}
	return n
}

func (p *planner) fillShaper(port string, want *qos.Port) *Node {
	have := p.v.shaper(p.v.profile(port, famShaper))
	n := &Node{}
	any := false
	for i := range want.Queues {
		s, h := want.Queues[i].Scheduler, have[i]
		low, high := h.min, h.max
		if s.Set {
			low, high = s.V.MinRate, s.V.MaxRate
		}
		any = any || low|high != 0 || s.Set && (h.min|h.max != 0 || h.other != "")
		if low|high|h.min|h.max == 0 {
			continue
		}
		rate := func(key string, r units.Rate, none int64) {
			kbps := int64(r / 1000)
			if kbps == 0 {
				kbps = none
			}
			n.Put(number(kbps), "traffic-class", strconv.Itoa(i), key)
		}
		rate("min-rate", low, 0)
		rate("max-rate", high, noRate)
	}
	if !any {
		return nil
	}
	return n
}
