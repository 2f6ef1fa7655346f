package nxos

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// network is the decoded form of a network-qos policy.
type network struct {
	name  string
	line  *Line
	class map[int]*networkClass // by qos-group
}

type networkClass struct {
	line  *Line
	mtu   int // bytes
	pause qos.PrioritySet
	// noDrop is the line that pauses without naming a priority; nil if there is none.
	noDrop *Line
}

// pausesBare reports whether a class pauses a priority without naming it.
func (c *networkClass) pausesBare(priority int) bool {
	return c != nil && c.noDrop != nil && c.pause.Has(priority)
}

// pauses returns the group that each paused priority stops. If two groups name the same
// priority, the lower group counts. A nil network pauses nothing.
func (n *network) pauses() map[int]int {
	out := map[int]int{}
	if n == nil {
		return out
	}
	for g := range qos.NumPriorities {
		if c := n.class[g]; c != nil {
			for _, p := range c.pause.List() {
				if _, ok := out[p]; !ok {
					out[p] = g
				}
			}
		}
	}
	return out
}

// trafficClasses returns the traffic class of each qos-group, given the group that each paused
// priority stops. A group has the traffic class of its own number. If only other priorities pause it,
// it has the class of the lowest of them, and the group of that number gets the class left over.
func trafficClasses(pauses map[int]int) (of [qos.NumPriorities]int8) {
	for g := range of {
		of[g] = int8(g)
	}
	given := map[int]bool{}
	for p := range qos.NumPriorities {
		g, paused := pauses[p]
		if own, ok := pauses[g]; !paused || given[g] || ok && own == g && g != p {
			continue
		}
		given[g] = true
		at := slices.Index(of[:], int8(p))
		of[at], of[g] = of[g], of[at]
	}
	return of
}

// groupOfClass returns the qos-group of a traffic class: the queue that the maps give it, else the
// group of its number. Values that are not traffic classes stay as they are.
func groupOfClass(m *qos.Maps, tc int8) int8 {
	if tc >= 0 && tc < qos.NumPriorities && m.TCToQueue[tc] >= 0 {
		return m.TCToQueue[tc]
	}
	return tc
}

// mtu returns the largest packet size of a group, in bytes: the MTU of its class, or 1500 if the
// policy has no class for it.
func (n *network) mtu(group int) int {
	if c := n.class[group]; c != nil {
		return c.mtu
	}
	return defaultMTU
}

// ours reports whether the policy was created by this package.
func (n *network) ours() bool { return n != nil && strings.HasPrefix(n.name, prefix) }

const defaultMTU = 1500 // bytes: of an interface and of a network-qos class

// readNetwork reads the policy attached under system qos. It returns nil for a built-in policy
// that the text does not show.
func (v *view) readNetwork() *network {
	name, at, ok := last(v.system, keyNetwork)
	if !ok {
		return nil
	}
	policy := v.policies[typeNetwork][name]
	switch {
	case policy == nil && templates.MatchString(name):
		v.add(systemHeader, at, "a template of the switch that pauses priorities which the text does not show")
		return nil
	case policy == nil && !builtIn(name):
		v.add(systemHeader, at, "there is no network-qos policy of that name")
		return nil
	case policy == nil:
		return nil
	}
	return v.readNetworkPolicy(name, policy)
}

// templates matches built-in policies with lossless classes: all but the one with eight Ethernet
// classes (Nexus 7000 NX-OS QoS Configuration Guide, network-qos templates). The switch prints
// them without their classes.
var templates = lazyre.New(`^default-nq-[4-7]e(-\w+)?-policy$`)

// builtIn reports whether a policy is predefined: default-nq-policy.
func builtIn(name string) bool { return strings.HasPrefix(name, "default-") }

func (v *view) readNetworkPolicy(name string, policy *Line) *network {
	n := &network{name: name, line: policy, class: map[int]*networkClass{}}
	for _, l := range classes(policy) {
		typ, class, _ := classOf(l.Text)
		g, ok := v.queue(typeNetwork, class)
		if !ok || typ != typeNetwork {
			if _, queuing := EightQueue.queue(typeQueuing, class); queuing {
				v.plain[l] = true
			}
			v.add(policy.Text, l, "not a network-qos class of this switch")
			continue
		}
		c := &networkClass{line: l, mtu: defaultMTU}
		n.class[g] = c
		for _, s := range l.Sub {
			v.readNetworkLine(policy, s, c, class, g)
		}
	}
	return n
}

// readNetworkLine reads a line of a class of a network-qos policy.
func (v *view) readNetworkLine(policy, l *Line, c *networkClass, class string, group int) {
	mtu, _ := cutWords(l.Text, keyMTU)
	pause, _ := cutWords(l.Text, keyPause)
	noDrop, lossless := cutWords(l.Text, keyNoDrop)
	if n, ok := lines.Number(mtu, maxMTU); ok {
		c.mtu = n
	} else if ps, ok := numbers(pause, qos.NumPriorities-1); ok {
		c.pause |= qos.Priorities(ps...)
	} else if lossless {
		ps, why := v.noDrop(class, group, noDrop)
		if why != "" {
			v.noteTrafficRelevant(policy.Text, l, "%s", why)
			return
		}
		c.pause |= ps
		c.noDrop = l
	} else if !isComment(l.Text) {
		v.add(policy.Text, l, "this tool cannot represent this line of %s", class)
	}
}

// noDrop returns the priorities that "pause no-drop" pauses in the class of a group: those that
// follow it, else the CoS that input policies put into the group (Nexus 3000 and 5000 NX-OS QoS
// Configuration Guides, type network-qos policies). why says why they are not known.
func (v *view) noDrop(class string, group int, args string) (set qos.PrioritySet, why string) {
	if _, predefined := v.m.queue(typeNetwork, class); predefined {
		return 0, "a class of the switch pauses with \"" + keyPause + "\"; this is the form of Nexus 3000 and 5000, which have user-defined classes"
	}
	if args != "" {
		list, _ := cutWords(args, "pfc-cos")
		ps, ok := numbers(list, qos.NumPriorities-1)
		if !ok {
			return 0, "this tool cannot represent this line of " + class
		}
		return qos.Priorities(ps...), ""
	}
	quiet := *v
	quiet.seen, quiet.unknown, quiet.why = map[Unknown]bool{}, nil, nil
	quiet.inputs, quiet.matches, quiet.network = map[string]*classifier{}, map[string]matched{}, nil
	for name := range v.policies[typeQoS] {
		if !v.uses(name) {
			continue
		}
		for p, g := range quiet.readInput(name).pcp() {
			if int(g) == group {
				set |= qos.Priorities(p)
			}
		}
	}
	if set == 0 {
		return 0, "the class drops nothing; which priorities it pauses is not known, as no CoS is classified into its group"
	}
	return set, ""
}

// uses reports whether system qos or an interface attaches an input policy.
func (v *view) uses(policy string) bool {
	attaches := func(l *Line) bool {
		rest, _, ok := last(l, keyInput)
		return ok && firstWord(rest) == policy
	}
	if attaches(v.system) {
		return true
	}
	for _, l := range v.ports {
		if attaches(l) {
			return true
		}
	}
	return false
}

// networkPolicy writes a network-qos policy if the one in force does not do what the ports want.
func (p *planner) networkPolicy() {
	carried := p.carried()
	if !p.need.network && !p.networkFails(carried) {
		return
	}
	old := p.v.network
	if len(p.all.pauses) == 0 && old == nil {
		return
	}
	body := p.networkLines(old, carried)
	name := ""
	for n, l := range p.v.policies[typeNetwork] {
		if strings.HasPrefix(n, prefix) && sameLines(networkBody(l), body) && (name == "" || n < name) {
			name = n
		}
	}
	if name == "" {
		name = lines.FreeName(prefix+"NQ", maxName, p.taken)
		section := head{at: inPolicy, typ: typeNetwork, name: name}.text()
		p.set(section, "", "", lines.Present)
		for _, s := range body {
			s.Section = section
			p.edit = append(p.edit, s)
		}
	}
	if old != nil && old.name == name {
		return
	}
	if p.v.system == nil {
		p.set(systemHeader, "", "", lines.Present)
	}
	p.set(systemHeader, "", keyNetwork, keyNetwork+" "+name)
}

// carried returns the groups that ports in the intent classify into after the edit, with the
// largest desired MTU of those ports; 0 if none is desired.
func (p *planner) carried() map[int]int {
	out := map[int]int{}
	for name, want := range p.want.Ports {
		if p.v.ports[name] == nil {
			continue
		}
		groups := p.v.input(name).groups()
		if p.need.ports[name]&partMaps != 0 {
			if in, ok := p.resolve(name); ok {
				groups = in.groups()
			}
		}
		for _, g := range groups.List() {
			out[g] = max(out[g], want.MTU.V)
		}
	}
	return out
}

// networkFails reports whether the policy in force prevents what a port wants: a priority is not
// paused in its group, or the MTU of its class is too small. A policy of ours must also have a
// large enough class for every group that the ports classify into.
func (p *planner) networkFails(carried map[int]int) bool {
	have := p.v.network
	paused := have.pauses()
	if have.ours() {
		for g, mtu := range carried {
			if have.mtu(g) < mtu || have.class[g] == nil {
				return true
			}
		}
	}
	for _, name := range p.ports {
		want, parts := p.want.Ports[name], p.need.ports[name]
		for _, n := range want.PFC.V.List() {
			g, ok := paused[n]
			if parts&(partPFC|partWatchdog) != 0 && (!ok || g != groupOf(want, n)) {
				return true
			}
			if ok && parts&(partMTU|partPFC) != 0 && want.MTU.Set && have.class[g].mtu < want.MTU.V {
				return true
			}
		}
	}
	return false
}

// ownPauses reports whether the policy in force is ours and does not pause exactly what is
// wanted.
func (p *planner) ownPauses() bool {
	have := p.v.network
	return have.ours() && !maps.Equal(have.pauses(), p.all.pauses)
}

// networkLines returns the body of the policy that replaces old: lossless classes with the
// maximum MTU, the classes of old with their MTU, and the default class, with the maximum MTU if
// old is nil. A class that a policy does not list has an MTU of 1500, so groups that carry lossy
// traffic are listed as well; if their MTU is too small, they get the maximum too.
func (p *planner) networkLines(old *network, carried map[int]int) []lines.Setting {
	priority := map[int]int{}
	for n, g := range p.all.pauses {
		priority[g] = n
	}
	var out []lines.Setting
	top := p.v.m.top()
	for i := range top + 1 {
		g := (i + 1) % (top + 1) // the default class comes last
		n, lossless := priority[g]
		var theirs *networkClass
		if old != nil {
			theirs = old.class[g]
		}
		wanted, carries := carried[g]
		if !lossless && theirs == nil && !carries && g != 0 {
			continue
		}
		class := classHeader(typeNetwork, p.v.class(typeNetwork, g))
		line := func(key, line string) { out = append(out, lines.Setting{Block: class, Key: key, Line: line}) }
		line("", lines.Present)
		switch {
		case lossless || old == nil || carries && (theirs == nil || theirs.mtu < wanted):
			line(keyMTU, "mtu "+strconv.Itoa(maxMTU))
		case theirs == nil:
			line(keyMTU, "mtu "+strconv.Itoa(defaultMTU))
		default:
			line(keyMTU, "mtu "+strconv.Itoa(theirs.mtu))
		}
		if lossless && !theirs.pausesBare(n) {
			pause := keyPause + " " + strconv.Itoa(n)
			line(pause, pause)
		}
		if theirs == nil {
			continue
		}
		keys, text := linesOf(inClassNetwork, theirs.line)
		for _, key := range keys {
			_, pause := cutWords(key, "pause")
			_, cos := cutWords(key, keyPause)
			if p.need.kept&SharedPauses != 0 && !lossless {
				cos, pause = false, false
			}
			if key != keyMTU && !cos && (lossless || !pause) && repeatable(inClassNetwork, text[key]) {
				line(key, text[key])
			}
		}
	}
	return out
}

// networkBody returns the body of an existing policy in the form of networkLines.
func networkBody(policy *Line) []lines.Setting {
	var out []lines.Setting
	for _, c := range classes(policy) {
		out = append(out, lines.Setting{Block: c.Text, Line: lines.Present})
		keys, text := linesOf(inClassNetwork, c)
		for _, key := range keys {
			out = append(out, lines.Setting{Block: c.Text, Key: key, Line: text[key]})
		}
	}
	return out
}

// sameLines compares two bodies as sets, ignoring lines that state a default.
func sameLines(a, b []lines.Setting) bool {
	has := func(in []lines.Setting, s lines.Setting) bool {
		return isDefault(inClassNetwork, s.Line) || slices.Contains(in, s)
	}
	return !slices.ContainsFunc(a, func(s lines.Setting) bool { return !has(b, s) }) &&
		!slices.ContainsFunc(b, func(s lines.Setting) bool { return !has(a, s) })
}
