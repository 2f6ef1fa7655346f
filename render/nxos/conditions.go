package nxos

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Condition is a requirement of working PFC that a priority of a port does not meet.
type Condition struct {
	Port     string
	Priority int
	// Broken states the fact. Fix gives the modes and lines to type, separated by " / ".
	Broken, Fix string
	// Auto is set if the PFC mode is auto: PFC is on only if the DCBX peer agrees.
	Auto bool
	// Maps is set if the missing requirement is the classification into the group.
	Maps bool
}

// Conditions returns, for each port and priority that desired pauses, the requirements of
// working PFC that the configuration does not meet, with ports in natural order: the class of
// the group has "pause pfc-cos", its policy is attached under system qos, the PFC mode of the
// port is on, and traffic is classified into the group (Nexus 9000 NX-OS QoS Configuration
// Guide, Configuring Priority Flow Control). Mode auto does not count as on, since it depends on
// the peer.
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

// Narrow returns the classes of the attached network-qos policy that limit a port to less than
// the MTU that desired wants, although its interface has that MTU. Ports are in natural order;
// Priority is the qos-group.
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
	others   map[string]*network // all network-qos policies; nil until they are read
	out      []Condition
}

func (k *conditioner) add(fix, format string, a ...any) {
	k.out = append(k.out, Condition{Port: k.port, Priority: k.priority, Broken: fmt.Sprintf(format, a...), Fix: fix})
}

// pauses checks the first two conditions. If an unattached policy has the pause, it reports only
// the missing attachment.
func (k *conditioner) pauses(g int) {
	n := k.v.network
	if n != nil && n.class[g] != nil && n.class[g].pause.Has(k.priority) {
		return
	}
	class := k.v.class(typeNetwork, g)
	policies := k.v.policies[typeNetwork]
	if k.others == nil {
		k.others = make(map[string]*network, len(policies))
		quiet := &view{m: k.v.m, groups: k.v.groups, seen: map[Unknown]bool{}, plain: map[*Line]bool{}} // its notes about odd lines are discarded
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
			// In most cases a suitable policy exists but is not attached to this port.
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
				continue // a match-all class-map that matches this and something else
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
	m := p.Maps.V
	check := func(what, key string, want, table []int8) (asked bool) {
		var elsewhere []int
		for i, tc := range want {
			if int(groupOfClass(m, tc)) == g {
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
	if m != nil {
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

// matches reports whether a class-map matches some of the values in a match line.
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
