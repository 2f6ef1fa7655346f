package nxos

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Condition is something that live PFC needs and that a priority of a port lacks.
type Condition struct {
	Port     string
	Priority int
	// Broken is the fact, Fix the modes and lines to type, with " / " between.
	Broken, Fix string
	// Auto says that the mode is auto: it holds where the peer has agreed.
	Auto bool
	// Maps says that it is the classification into the group.
	Maps bool
}

// Conditions says, for each port and priority that desired pauses, which of
// the conditions of live PFC a configuration breaks, ports in natural order:
// the class of the group has "pause pfc-cos", its policy is attached under
// system qos, the mode of the port is on, and the traffic is classified into
// the group (Nexus 9000 NX-OS QoS Configuration Guide, Configuring Priority
// Flow Control). A mode of auto counts as not on: it depends on the peer.
func Conditions(c *Config, desired *qos.Device, m ClassModel) []Condition {
	k := conditioner{v: newView(c, m)}
	for _, name := range natural.Keys(desired.Ports) {
		p := desired.Ports[name]
		if k.v.ports[name] == nil {
			continue
		}
		for _, n := range p.PFC.V.List() {
			k.port, k.priority = name, n
			g := groupOf(p, n)
			if g > m.top() {
				k.add("", "the switch has no group %d", g)
				continue
			}
			k.pauses(g)
			k.mode()
			before := len(k.out)
			k.classified(p, g)
			for i := range k.out[before:] {
				k.out[before+i].Maps = true
			}
		}
	}
	return k.out
}

// Narrow names the classes of the attached network-qos policy that keep a port,
// whose interface has it, from the MTU that desired wants, ports in natural
// order. Priority is the group.
func Narrow(c *Config, desired *qos.Device, m ClassModel) []Condition {
	v := newView(c, m)
	var out []Condition
	for _, name := range natural.Keys(desired.Ports) {
		want := desired.Ports[name].MTU
		if v.ports[name] == nil || !want.Set || v.interfaceMTU(name) < want.V {
			continue
		}
		for _, g := range v.bounds(name, v.paused(name)).List() {
			if n := v.network; n.mtu(g) < want.V {
				class := m.class(typeNetwork, g)
				out = append(out, Condition{Port: name, Priority: g,
					Broken: fmt.Sprintf("class %s of network-qos policy %s has room for %d bytes", class, n.name, n.mtu(g)),
					Fix:    fmt.Sprintf("policy-map type network-qos %s / class type network-qos %s / mtu %d", n.name, class, maxMTU)})
			}
		}
	}
	return out
}

type conditioner struct {
	v        *view
	port     string
	priority int
	others   map[string]*network // attached or not; nil before they are read
	out      []Condition
}

func (k *conditioner) add(fix, format string, a ...any) {
	k.out = append(k.out, Condition{Port: k.port, Priority: k.priority, Broken: fmt.Sprintf(format, a...), Fix: fix})
}

// pauses checks the first two conditions. Where a policy that is not attached
// has the pause, it is the attachment that is broken, and not both.
func (k *conditioner) pauses(g int) {
	n := k.v.network
	if n != nil && n.class[g] != nil && n.class[g].pause.Has(k.priority) {
		return
	}
	class := k.v.class(typeNetwork, g)
	policies := k.v.policies[typeNetwork]
	if k.others == nil {
		k.others = make(map[string]*network, len(policies))
		quiet := &view{m: k.v.m, seen: map[Unknown]bool{}} // nobody hears what it finds odd
		for name, l := range policies {
			k.others[name] = quiet.readNetworkPolicy(name, l)
		}
	}
	for _, name := range natural.Keys(k.others) {
		other := k.others[name]
		if other.class[g] == nil || !other.class[g].pause.Has(k.priority) {
			continue
		}
		attached := "the switch's own policy is in force"
		if n != nil {
			attached = "attached is " + n.name
		}
		k.add(systemHeader+" / "+keyNetwork+" "+name, "network-qos policy %s, which pauses priority %d, is not attached under system qos; %s", name, k.priority, attached)
		return
	}
	name := "ROCE"
	if n != nil {
		name = n.name
	}
	fix := fmt.Sprintf("policy-map type network-qos %s / class type network-qos %s / pause pfc-cos %d", name, class, k.priority)
	if n == nil {
		k.add(fix+" / "+systemHeader+" / "+keyNetwork+" "+name, "no network-qos policy pauses priority %d", k.priority)
		return
	}
	k.add(fix, "class %s of network-qos policy %s does not pause priority %d", class, n.name, k.priority)
}

func (k *conditioner) mode() {
	if k.v.overridden() {
		k.add("no "+keyOverride+" off", "PFC is off on all ports by %s off", keyOverride)
		return
	}
	if k.v.pfcOn(k.port) {
		return
	}
	mode, ok := k.v.line(k.port, keyPFC)
	if !ok {
		mode = "auto"
	}
	k.add("interface "+k.port+" / "+keyPFC+" on", "the PFC mode is %s", mode)
	k.out[len(k.out)-1].Auto = firstWord(mode) == "auto"
}

func (k *conditioner) classified(p *qos.Port, g int) {
	have := k.v.input(k.port)
	fix := func(match string) string {
		in := k.v.attached(k.port, keyInput)
		if match == "" || k.v.policies[typeQoS][in] == nil {
			// A policy that does it is mostly there, and not on this port.
			for _, name := range natural.Keys(k.v.policies[typeQoS]) {
				if k.v.readInput(name).into(g) {
					return "interface " + k.port + " / " + keyInput + " " + name
				}
			}
			if k.v.policies[typeQoS][in] == nil {
				in = "ROCE"
			}
			if match == "" {
				return fmt.Sprintf("policy-map type qos %s / class ROCE / %s %d", in, keyGroup, g)
			}
		}
		for _, c := range classes(k.v.policies[typeQoS][in]) {
			rest, _, _ := last(c, keyGroup)
			_, class, _ := classOf(c.Text)
			cm := k.v.classMaps[class]
			if cm == nil || k.matches(cm, match) && rest == fmt.Sprint(g) {
				continue // it matches that and something else at once: match-all
			}
			if rest == fmt.Sprint(g) {
				return cm.Text + " / " + match
			}
			if k.matches(cm, match) {
				return "policy-map type qos " + in + " / " + c.Text + " / " + fmt.Sprintf("%s %d", keyGroup, g)
			}
		}
		class := lines.FreeName("ROCE", maxName, func(n string) bool { return k.v.classMaps[n] != nil })
		return fmt.Sprintf("class-map type qos match-any %s / %s / policy-map type qos %s / class %s / %s %d / interface %s / %s %s", class, match, in, class, keyGroup, g, k.port, keyInput, in)
	}
	check := func(what, key string, want, table []int8) (asked bool) {
		var elsewhere []int
		for i, tc := range want {
			if int(tc) == g {
				asked = true
				if int(table[i]) != g {
					elsewhere = append(elsewhere, i)
				}
			}
		}
		if len(elsewhere) > 0 {
			list := qos.FoldInts(elsewhere)
			k.add(fix(key+" "+list), "%s %s goes to qos-group %d, not %d", what, list, table[elsewhere[0]], g)
		}
		return asked
	}
	if m := p.Maps.V; m != nil {
		dscp := check("DSCP", keyDSCP, m.DSCPToTC[:], have.dscp())
		pcp := check("priority", keyCoS, m.PCPToTC[:], have.pcp())
		if dscp || pcp {
			return
		}
	}
	if !have.into(g) {
		k.add(fix(""), "nothing is classified into qos-group %d", g)
	}
}

// matches reports whether a class-map catches part of what a line matches.
func (k *conditioner) matches(cm *Line, match string) bool {
	for _, key := range []string{keyDSCP, keyCoS} {
		rest, ok := cutWords(match, key)
		want, _ := numbers(rest, qos.NumDSCP-1)
		if !ok {
			continue
		}
		for _, l := range cm.Sub {
			rest, ok := cutWords(l.Text, key)
			have, _ := numbers(rest, qos.NumDSCP-1)
			if ok && slices.ContainsFunc(want, func(n int) bool { return slices.Contains(have, n) }) {
				return true
			}
		}
	}
	return false
}
