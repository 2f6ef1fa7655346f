package nxos

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// part is a set of aspects of a port that need writing.
type part uint8

const (
	partMaps part = 1 << iota
	partECN
	partScheduler
	partPFC
	partMTU
	partWatchdog
	partAdmin
	partPause
	partAll    part = 1<<iota - 1
	partQueues      = partECN | partScheduler
)

// need is what an edit must write: parts of ports, and the watchdog timers.
type need struct {
	ports  map[string]part
	timers bool
	// network forces a new network-qos policy.
	network bool
	// full also writes values that are the default.
	full bool
	// kept names switch-wide settings that the edit must not change.
	kept Shared
}

// Shared is a set of settings that all ports of a switch have in common.
type Shared uint8

// SharedPauses are the pauses of the attached network-qos policy that desired does not name.
// SharedNetwork is that policy as a whole. SharedWatchdog is the watchdog with its timers and
// the PFC override.
const (
	SharedPauses Shared = 1 << iota
	SharedNetwork
	SharedWatchdog
)

// String names the settings for people.
func (s Shared) String() string {
	network := "network-qos policy"
	if s&SharedNetwork == 0 {
		network = "pauses of the network-qos policy"
	}
	switch {
	case s&SharedWatchdog == 0:
		return network
	case s == SharedWatchdog:
		return "PFC watchdog"
	}
	return network + " and the PFC watchdog"
}

// Change returns an edit that brings have to the desired state on a switch of a class model. It
// is empty if have already behaves like desired, whoever configured it. After the edit, [Decode]
// differs from desired only in values that [Refusals] and [ClassModel.Refusals] name, in ports
// that have lacks, and in membership of port-channels.
//
// A policy that only changed ports use is edited in place and keeps its name. If other ports use
// it too, or an input policy does more than the model represents, the ports get policies of this
// package ([prefix]). The attached network-qos policy is never edited: a policy with another
// name replaces it and repeats its classes without unwanted pauses. Objects of this package that
// become unused are removed.
//
// If desired has no port, the switch is left as it is.
func Change(have *Config, desired *qos.Device, m ClassModel) Edit {
	return ChangeWithin(have, desired, m, 0)
}

// ChangeWithin is like Change but leaves the kept settings alone, as ports outside desired
// depend on them. Desired values that would need them are not reached.
func ChangeWithin(have *Config, desired *qos.Device, m ClassModel, kept Shared) Edit {
	want := accepted(desired, m)
	if desired.Empty() {
		return nil
	}
	n := need{ports: map[string]part{}, kept: kept}
	running, _ := Decode(have, m)
	want = keepGroups(want, running)
	if !n.add(qos.Diff(running, want), running) {
		return nil
	}
	// A policy that one port gets may change another port that shares it, so repeat until
	// nothing more is needed.
	for range 4 {
		e := plan(have, want, m, n)
		after, _ := Decode(e.Apply(have), m)
		if !n.add(qos.Diff(after, want), running) {
			return e
		}
	}
	return plan(have, want, m, n)
}

// keepGroups fills in what want leaves open with what the switch has: the group of a traffic class that
// is not the group of its number, and the group that pauses of a wanted priority stop.
func keepGroups(want, running *qos.Device) *qos.Device {
	kept := *want
	kept.Ports = maps.Clone(want.Ports)
	for name, p := range want.Ports {
		have := running.Ports[name]
		if have == nil || p.Maps.V == nil {
			continue
		}
		m := *p.Maps.V
		for tc, g := range have.Maps.V.TCToQueue {
			if m.TCToQueue[tc] == qos.Unmanaged && int(g) != tc {
				m.TCToQueue[tc] = g
			}
			if m.PFCToQueue[tc] == qos.Unmanaged && p.PFC.V.Has(tc) {
				m.PFCToQueue[tc] = have.Maps.V.PFCToQueue[tc]
			}
		}
		if m != *p.Maps.V {
			port := *p
			port.Maps.V = &m
			kept.Ports[name] = &port
		}
	}
	return &kept
}

// Encode returns the configuration that Change makes on a switch that has the ports of d and
// nothing else, with every value of d written out.
func Encode(d *qos.Device, m ClassModel) *Config {
	have := Lines.New()
	have.Whole = true
	want := accepted(d, m)
	n := need{ports: map[string]part{}, timers: d.WatchdogPoll.Set, network: true, full: true}
	for _, name := range natural.Keys(want.Ports) {
		have.Lines = append(have.Lines, &Line{Text: "interface " + name})
		n.ports[name] = partAll
	}
	return plan(have, want, m, n).Apply(have)
}

// add adds the parts that the changes need and reports whether any of them is new.
func (n *need) add(changes []qos.Change, running *qos.Device) bool {
	more := false
	set := func(p *bool) { more, *p = more || !*p, true }
	for _, c := range changes {
		if c.Port == "" {
			if c.Field.Kind == qos.KindWatchdogPoll {
				set(&n.timers)
			}
			continue
		}
		if running.Ports[c.Port] == nil {
			continue
		}
		var p part
		switch c.Field.Kind {
		case qos.KindMap:
			switch t, _ := c.Field.Table(); t {
			case qos.PFCToQueue:
				set(&n.network)
			case qos.DSCPToTC, qos.PCPToTC:
				p = partMaps
			case qos.TCToQueue:
				p = partMaps
				// If it remains after the maps were written, the group still pauses another priority.
				if n.ports[c.Port]&partMaps != 0 {
					set(&n.network)
				}
			}
		case qos.KindECN:
			p = partECN
		case qos.KindScheduler, qos.KindQueueBuffer:
			p = partScheduler
		case qos.KindPFC:
			p = partPFC
			// If a change remains after PFC was written, the network-qos policy is the cause.
			if n.ports[c.Port]&partPFC != 0 {
				set(&n.network)
			}
		case qos.KindMTU:
			p = partMTU
			if n.ports[c.Port]&partMTU != 0 {
				set(&n.network)
			}
		case qos.KindWatchdog:
			p = partWatchdog
		case qos.KindAdminUp:
			p = partAdmin
		case qos.KindLinkPause:
			p = partPause
		}
		if n.ports[c.Port]|p != n.ports[c.Port] {
			n.ports[c.Port] |= p
			more = true
		}
	}
	return more
}

// planner computes an edit.
type planner struct {
	v     *view
	want  *qos.Device
	all   common
	need  need
	ports []string // ports to write to
	tree  *lines.Tree
	edit  Edit
	// policies holds the policies that the edit writes or names.
	policies map[string]bool
}

func plan(have *Config, want *qos.Device, m ClassModel, n need) Edit {
	names := natural.Keys(want.Ports)
	p := &planner{v: newView(have, m), want: want, all: commonOf(want, names), need: n, tree: lines.NewTree(have), policies: map[string]bool{}}
	for _, name := range names {
		if p.v.ports[name] != nil && n.ports[name] != 0 {
			p.ports = append(p.ports, name)
		}
	}
	inputs := p.inputs()
	outputs := p.outputs()
	if n.kept&SharedNetwork == 0 {
		p.networkPolicy()
	}
	if n.kept&SharedWatchdog == 0 {
		p.global()
	}
	for _, name := range p.ports {
		p.port(name, inputs[name], outputs[name])
	}
	if len(p.edit) > 0 && !n.network && n.kept&(SharedNetwork|SharedPauses) == 0 && p.ownPauses() {
		n.network = true
		return plan(have, want, m, n)
	}
	if len(p.edit) > 0 && slices.ContainsFunc(have.Lines, func(l *Line) bool { h, ok := headOf(l.Text); return ok && strings.HasPrefix(h.name, prefix) }) {
		for _, h := range unused(p.edit.Apply(have)) {
			if p.tree.Has(h.text(), "") {
				p.edit = append(p.edit, lines.Setting{Section: h.text()})
			}
		}
	}
	return p.edit
}

// set adds a setting unless the configuration already holds it.
func (p *planner) set(section, class, key, line string) {
	held := p.tree.Line(section, class, key)
	if key == "" && p.tree.Has(section, class) {
		held = lines.Present
	}
	if held != line {
		p.edit = append(p.edit, lines.Setting{Section: section, Block: class, Key: key, Line: line})
	}
}

// port adds the settings of an interface.
func (p *planner) port(name, input, output string) {
	want, parts, own := p.want.Ports[name], p.need.ports[name], p.v.ports[name]
	section := own.Text
	line := func(key, line string) { p.set(section, "", key, line) }
	if parts&partMTU != 0 && want.MTU.Set && (p.v.interfaceMTU(name) != want.MTU.V || p.need.full) {
		line(keyMTU, "mtu "+strconv.Itoa(want.MTU.V))
	}
	if parts&partPFC != 0 && want.PFC.Set {
		p.toggle(name, keyPFC, want.PFC.V != 0, "on")
	}
	if parts&partWatchdog != 0 && want.Watchdog.Set {
		p.toggle(name, keyWatchdog, want.Watchdog.V.Enabled, p.watchdogOn(want.Watchdog.V))
	}
	attach := func(key, policy string) {
		if policy != "" && p.v.attached(name, key) != policy {
			line(key, key+" "+policy)
		}
	}
	attach(keyInput, input)
	attach(keyOutput, output)
	if parts&partPause != 0 && want.LinkPause.Set {
		on := ""
		for _, key := range []string{keyReceive, keySend} {
			if want.LinkPause.V {
				on = key + " on"
			}
			line(key, on)
		}
	}
	if parts&partAdmin != 0 && want.AdminUp.Set && (p.v.up(own) != want.AdminUp.V || p.need.full) {
		if want.AdminUp.V {
			line(keyShutdown, "no shutdown")
		} else {
			line(keyShutdown, "shutdown")
		}
	}
}

// toggle turns a feature on or off that is off by default and that a port may take from its
// port-channel. enabled is what follows the key if it is on.
func (p *planner) toggle(name, key string, on bool, enabled string) {
	own := p.v.ports[name]
	rest, _ := p.v.line(name, key)
	is := firstWord(rest) == "on"
	if key == keyWatchdog {
		is = rest == enabled
	}
	if on {
		if !is {
			p.set(own.Text, "", key, key+" "+enabled)
		}
		return
	}
	theirs := ""
	if l := p.v.lag(aggregate(own))[key]; l != nil {
		theirs, _ = cutWords(l.Text, key)
	}
	for _, l := range p.v.profiled(own, 0) {
		if rest, ok := cutWords(l.Text, key); ok && theirs == "" {
			theirs = rest
		}
	}
	if firstWord(theirs) == "on" {
		p.set(own.Text, "", key, key+" off")
	} else if firstWord(rest) == "on" {
		p.set(own.Text, "", key, "")
	}
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// users lists where each policy is attached: interface names, and "" for system qos.
func (p *planner) users(key string) map[string][]string {
	out := map[string][]string{}
	add := func(name string, l *Line) {
		if rest, _, ok := last(l, key); ok {
			out[firstWord(rest)] = append(out[firstWord(rest)], name)
		}
	}
	for name, l := range p.v.ports {
		add(name, l)
	}
	add("", p.v.system)
	return out
}

// grouped groups the ports that need the part of by the shape of their policy. It returns the
// shapes and, for each, the ports.
func grouped[T comparable](p *planner, of part, shape func(port string) (T, bool)) (shapes []T, groups [][]string) {
	for _, name := range p.ports {
		if p.need.ports[name]&of == 0 {
			continue
		}
		if s, ok := shape(name); ok {
			i := slices.Index(shapes, s)
			if i < 0 {
				i, shapes, groups = len(shapes), append(shapes, s), append(groups, nil)
			}
			groups[i] = append(groups[i], name)
		}
	}
	return shapes, groups
}

// byPort returns the policy name of each port, given the name for each group.
func byPort(groups [][]string, names []string) map[string]string {
	out := map[string]string{}
	for i, ports := range groups {
		for _, port := range ports {
			out[port] = names[i]
		}
	}
	return out
}

// choose picks a policy for each group of ports with the same shape: one that already does what
// is wanted, else one that only these ports use and that is editable, else a new one. fresh
// reports which policies must be written.
func (p *planner) choose(typ, key, base string, groups [][]string, means, editable func(name string, group int) bool) (names []string, fresh []bool) {
	users := p.users(key)
	used := func(n string) bool { return p.policies[typ+" "+n] }
	use := func(i int, n string) {
		names[i], p.policies[n], p.policies[typ+" "+n] = n, true, true
	}
	ours := slices.DeleteFunc(natural.Keys(p.v.policies[typ]), func(n string) bool { return !strings.HasPrefix(n, prefix) })
	names, fresh = make([]string, len(groups)), make([]bool, len(groups))
	for i := range groups {
		for _, n := range ours {
			if !used(n) && means(n, i) {
				use(i, n)
				break
			}
		}
	}
	for i, ports := range groups {
		if names[i] != "" {
			continue
		}
		fresh[i] = true
		if n := p.v.attached(ports[0], key); !used(n) && p.mayEdit(typ, key, n, ports) && editable(n, i) {
			use(i, n)
			continue
		}
		for _, port := range ports {
			rest, _, _ := last(p.v.ports[port], key)
			n := firstWord(rest)
			if slices.Contains(ours, n) && !used(n) && !slices.ContainsFunc(users[n], func(u string) bool { return !slices.Contains(ports, u) }) {
				use(i, n)
				break
			}
		}
		if names[i] == "" {
			use(i, lines.FreeName(base, maxName, p.taken))
		}
	}
	return names, fresh
}

// mayEdit reports whether a policy is in force only on the given ports. With "globals: own",
// ports outside the intent do not count.
func (p *planner) mayEdit(typ, key, name string, ports []string) bool {
	if p.v.policies[typ][name] == nil {
		return false
	}
	in := map[string]bool{} // port-channels of these ports
	for _, port := range ports {
		in[aggregate(p.v.ports[port])] = true
	}
	for port, own := range p.v.ports {
		counts := isPort(port) && (!p.want.OwnsGlobals || p.want.Ports[port] != nil)
		if counts && p.v.attached(port, key) == name && !slices.Contains(ports, port) {
			return false
		}
		if rest, _, _ := last(own, key); !isPort(port) && firstWord(rest) == name && !in[port] {
			return false
		}
	}
	return !slices.ContainsFunc(p.v.global.Sub, func(l *Line) bool {
		return slices.ContainsFunc(l.Sub, func(s *Line) bool {
			return strings.HasPrefix(s.Text, "service-policy ") && slices.Contains(strings.Fields(s.Text), name)
		})
	})
}

// taken reports whether a name is in use by a policy.
func (p *planner) taken(name string) bool {
	taken := p.policies[name]
	for _, of := range p.v.policies {
		taken = taken || of[name] != nil
	}
	return taken
}
