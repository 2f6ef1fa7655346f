package nxos

import (
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms"
)

// Account returns the fate of each relevant line of a configuration, in the order of the text,
// on a switch of a class model. Its time is linear in the text and in the number of ports.
func Account(c *Config, m ClassModel) []render.Line {
	v := newView(c, m)
	a := &accountant{v: v, dev: v.device(), users: map[string]map[string][]string{}, timers: v.readTimers()}
	a.Ledger = forms.Ledger{Table: grammar, Join: " / ", Top: inGlobal, Opens: opens, Several: several, Comment: isComment, Listed: listed}
	a.doubts = maps.Clone(v.why)
	maps.DeleteFunc(a.doubts, func(l *Line, _ string) bool { return v.plain[l] })
	a.survey(c)
	a.claimGlobal()
	for _, l := range c.Lines {
		a.claimBlock(l)
	}
	for l, why := range v.why {
		a.NotUnderstood(l, why)
	}
	return a.Account(c)
}

// accountant claims the lines of a configuration, with one function for each form.
type accountant struct {
	forms.Ledger
	v      *view
	dev    *qos.Device
	timers timers
	// doubts holds the lines of policies that are not understood, with the reasons.
	doubts map[*Line]string

	// users lists the ports on which a policy is in force, by the key of its attachment and its
	// name.
	users map[string]map[string][]string
	// by lists the ports on which a line of an interface, port-profile, port-channel or system
	// qos is in force.
	by map[*Line][]string
	// named holds the class-maps that attached policies use, mentioned those that any policy
	// uses.
	named, mentioned map[string]bool
	// all lists the ports, watched those with a line that turns the watchdog on, guarded those
	// on which the watchdog runs.
	all, watched, guarded []string
	pausing               map[int][]string // ports that pause a priority
	// served tells what lines of attached policies of type qos decide.
	served map[*Line]*decided
}

// decided tells what a line of a class-map, or a class, decides on ports.
type decided struct {
	ports  []string
	attrs  []qos.Attr
	usual  bool // same result as for packets that no class matches
	hidden bool // earlier classes match all of its packets
}

// survey determines on which ports each line is in force.
func (a *accountant) survey(c *Config) {
	a.by, a.pausing = map[*Line][]string{}, map[int][]string{}
	for _, key := range []string{keyInput, keyOutput} {
		a.users[key] = map[string][]string{}
	}
	for _, port := range natural.Keys(a.dev.Ports) {
		a.all = append(a.all, port)
		if rest, _ := a.v.line(port, keyWatchdog); firstWord(rest) == "on" {
			a.watched = append(a.watched, port)
		}
		if a.dev.Ports[port].Watchdog.V.Enabled {
			a.guarded = append(a.guarded, port)
		}
		for _, n := range a.dev.Ports[port].PFC.V.List() {
			a.pausing[n] = append(a.pausing[n], port)
		}
		for _, key := range inherited {
			at := a.v.lineAt(port, key)
			if at != nil {
				a.by[at] = append(a.by[at], port)
			}
			if key == keyInput || key == keyOutput {
				if name := a.v.attached(port, key); name != "" {
					a.users[key][name] = append(a.users[key][name], port)
				}
			}
		}
		for _, key := range []string{keyReceive, keySend} {
			if _, at, _ := last(a.v.ports[port], key); at != nil {
				a.by[at] = append(a.by[at], port)
			}
		}
	}
	a.named, a.mentioned = map[string]bool{}, map[string]bool{}
	for typ, policies := range a.v.policies {
		for name, p := range policies {
			for _, l := range classes(p) {
				t, class, _ := classOf(l.Text)
				a.mentioned[t+" "+class] = true
				if a.attached(typ, name) {
					a.named[t+" "+class] = true
				}
			}
		}
	}
	a.served = map[*Line]*decided{}
	for name, ports := range a.users[keyInput] {
		if p := a.v.policies[typeQoS][name]; p != nil {
			a.decide(p, ports)
		}
	}
}

// attached reports whether a policy is in force on any port or on the switch.
func (a *accountant) attached(typ, name string) bool {
	switch typ {
	case typeNetwork:
		return a.v.network != nil && a.v.network.name == name
	case typeQoS:
		return len(a.users[keyInput][name]) > 0
	}
	return len(a.users[keyOutput][name]) > 0
}

// decide determines which lines of a policy of type qos classify packets. For each code point
// and priority, the first class that matches decides.
func (a *accountant) decide(policy *Line, ports []string) {
	type match struct {
		class, line *Line
		group       int8
	}
	var table [len(matched{})][]match
	rest, restLine := int8(0), (*Line)(nil)
	quiet := *a.v
	quiet.seen, quiet.unknown, quiet.why = map[Unknown]bool{}, nil, nil
	for _, l := range classes(policy) {
		_, name, _ := classOf(l.Text)
		group, _ := quiet.readActions(policy, l)
		a.decision(l).hidden = true
		if name == "class-default" {
			rest, restLine = group, l
			continue
		}
		cm := a.v.classMaps[name]
		if cm == nil {
			continue
		}
		all := quiet.readClassMap(cm)
		for _, s := range cm.Sub {
			var m matched
			if isComment(s.Text) || !m.add(s.Text) {
				continue
			}
			a.decision(s)
			for i := range m {
				if m[i] && all[i] {
					table[i] = append(table[i], match{l, s, group})
				}
			}
		}
	}
	for i, ms := range table {
		attr := qos.KindMap.Table(qos.DSCPToTC)
		if i >= qos.NumDSCP {
			attr = qos.KindMap.Table(qos.PCPToTC)
		}
		if len(ms) == 0 {
			if restLine != nil {
				a.decision(restLine).recordAttribute(ports, attr, rest == 0)
			}
			continue
		}
		same := ms[0].group == rest && !slices.ContainsFunc(ms, func(m match) bool { return m.group != rest })
		a.decision(ms[0].class).recordAttribute(ports, attr, same)
		a.decision(ms[0].line).recordAttribute(ports, attr, same)
	}
}

func (a *accountant) decision(l *Line) *decided {
	d := a.served[l]
	if d == nil {
		d = &decided{hidden: true, usual: true}
		a.served[l] = d
	}
	return d
}

// recordAttribute records that the line decides an attribute on ports.
func (d *decided) recordAttribute(ports []string, attr qos.Attr, usual bool) {
	d.hidden = false
	if usual {
		return
	}
	d.usual = false
	if !slices.Contains(d.attrs, attr) {
		d.attrs = append(d.attrs, attr)
	}
	if len(d.ports) == 0 {
		d.ports = ports
	} else if len(ports) > 0 && !slices.Contains(d.ports, ports[0]) {
		d.ports = slices.Concat(d.ports, ports)
	}
}

var types = []string{typeQoS, typeNetwork, typeQueuing}

// notQoS reports whether a class-map or policy-map serves another purpose than QoS.
func notQoS(h head) bool {
	return slices.Contains([]string{"control-plane", "copp", "pbr", "pdp", "traffic", "inspect"}, h.typ) || strings.Contains(h.name, "copp")
}

// listed reports whether an account lists a line that nothing claims: all lines of policies and of
// class-maps, and elsewhere those that begin with words of QoS.
func listed(section, line *Line) bool {
	block := section
	if block == nil {
		block = line
	}
	if _, banner := bannerOf(block.Text); banner || strings.HasPrefix(block.Text, "control-plane") {
		return false
	}
	switch h, ok := headOf(block.Text); {
	case !ok:
		return listedOutside(section, line)
	case h.at == inInterface:
		return section != nil && listedOn(h.name, line)
	case h.at == inSystem:
		return section != nil
	case h.at == inProfile:
		return true
	default:
		return slices.Contains(types, h.typ) || !notQoS(h)
	}
}

// listedOutside reports whether an account lists a line outside blocks, or below a line that opens
// no block: all lines below one about QoS, as they have no meaning there.
func listedOutside(section, line *Line) bool {
	if section == nil {
		return concerned(line.Text) || strangeAtTop(line)
	}
	return concerned(line.Text) || concerned(section.Text)
}

// listedOn reports whether an account lists a line of an interface.
func listedOn(name string, line *Line) bool {
	port := isPort(name) || strings.HasPrefix(name, "port-channel")
	return concerned(line.Text) || port && strange(line)
}

// concerns holds the first words of lines that an account must list, in any block.
var concerns = []string{"qos", "priority-flow-control", "random-detect", "service-policy", "service-profile", "flowcontrol", "tx-queue", "uc-tx-queue", "mc-tx-queue",
	"mtu", "dcbx", "congestion-control", "traffic-policy"}

func concerned(text string) bool {
	text, _ = forms.CutNegation(text)
	word, rest, _ := strings.Cut(text, " ")
	return slices.Contains(concerns, word) ||
		(word == "hardware" || word == "platform") && (strings.HasPrefix(rest, "qos") || strings.HasPrefix(rest, "buffer") || strings.Contains(rest, " pfc") || strings.Contains(rest, " qos") || strings.Contains(rest, " buffer")) ||
		word == "system" && strings.HasPrefix(rest, "jumbomtu") || word == "l2" && strings.HasPrefix(rest, "mtu") || word == "inherit" && strings.HasPrefix(rest, "port-profile")
}
