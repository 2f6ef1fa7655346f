package nxos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// policy accounts for a policy and its classes.
func (a *accountant) policy(l *Line, h head) {
	if h.typ == typeQueuing && !a.attached(h.typ, h.name) && a.inputQueuing(h.name) {
		a.pauseBuffer(l)
		return
	}
	d := a.policyUse(l, h)
	a.add("", l, d)
	for _, c := range l.Sub {
		typ, name, isClass := classOf(c.Text)
		switch {
		case isComment(c.Text):
		case !isClass:
			a.below(l.Text, c, verdict{fate: render.Unknown, why: notKnown})
		case d.fate == render.Inert:
			a.below(l.Text, c, inert("%s", d.why))
		case d.fate == render.Unknown:
			delete(a.unknown, c.No)
			a.below(l.Text, c, d)
		case typ != h.typ:
			a.below(l.Text, c, verdict{fate: render.Unknown, why: "a class of another type than the policy"})
		case h.typ == typeQoS:
			a.classQoS(l, c, name)
		case h.typ == typeNetwork:
			a.classNetwork(l, c, name)
		default:
			a.classQueuing(l, c, name, a.users[keyOutput][h.name])
		}
	}
}

// policyUse returns the verdict of the header of a policy.
func (a *accountant) policyUse(l *Line, h head) verdict {
	switch {
	case h.typ == typeNetwork && !a.attached(h.typ, h.name):
		d := inert("the policy is not attached under %s", systemHeader)
		if a.pausesAny(l) && len(a.v.network.pauses()) == 0 {
			d = d.failing("PFC-04")
		}
		return d
	case h.typ == typeNetwork:
		if d := a.networkInForce(); d.fate == render.Represented {
			return d
		}
		return left("it pauses nothing on any port")
	case !a.attached(h.typ, h.name):
		return inert("no port has the policy")
	case h.typ == typeQoS:
		return represented(a.users[keyInput][h.name], classification...)
	}
	return represented(a.users[keyOutput][h.name], scheduling...)
}

// inputQueuing reports whether a queuing policy is attached in the input direction.
func (a *accountant) inputQueuing(name string) bool {
	is := func(l *Line) bool {
		rest, _, ok := last(l, keyQueuingInput)
		return ok && firstWord(rest) == name
	}
	if is(a.v.system) {
		return true
	}
	for _, l := range a.v.ports {
		if is(l) {
			return true
		}
	}
	return false
}

// classQoS accounts for a class of an input policy.
func (a *accountant) classQoS(policy, c *Line, name string) {
	d := a.verdictOf(c)
	where := policy.Text + " / " + c.Text
	if name != "class-default" && a.v.classMaps[name] == nil {
		delete(a.unknown, c.No)
		d = inert("there is no class-map %s, so it matches nothing", name)
	}
	if d.fate == render.Inert && name != "class-default" && a.v.classMaps[name] != nil {
		d = a.unreached(a.v.classMaps[name], d)
	}
	a.add(policy.Text, c, d)
	group, _, _ := last(c, keyGroup)
	for _, l := range c.Sub {
		rest, isGroup := cutWords(l.Text, keyGroup)
		_, rewrites := cutWords(l.Text, keySetDSCP)
		switch {
		case isComment(l.Text):
		case rewrites && a.unknown[l.No] == "":
			e := d
			if d.fate == render.Represented || d.fate == render.Default {
				e = represented(a.users[keyInput][name], qos.KindMap.Table(qos.TCToDSCP))
			}
			a.add(where, l, e)
		case isGroup && rest != group:
			a.add(where, l, inert("a later line of the class overrides it"))
		case isGroup:
			a.add(where, l, d)
		default:
			a.add(where, l, verdict{fate: render.Unknown, why: notKnown})
		}
	}
}

// unreached returns the verdict of a class that no packet is known to reach, and says why.
func (a *accountant) unreached(cm *Line, d verdict) verdict {
	matches := false
	for _, l := range cm.Sub {
		if a.unknown[l.No] != "" {
			return verdict{fate: render.Unknown, why: "the packets of the class are not known: " + a.unknown[l.No]}
		}
		matches = matches || !isComment(l.Text)
	}
	if !matches {
		return inert("the class-map matches nothing")
	}
	return d
}

// classNetwork accounts for a class of the network-qos policy in force.
func (a *accountant) classNetwork(policy, c *Line, name string) {
	g, ok := a.v.queue(typeNetwork, name)
	n := a.v.network.class[g]
	where := policy.Text + " / " + c.Text
	if !ok || n == nil || n.line != c {
		a.below(policy.Text, c, verdict{fate: render.Unknown, why: "not a network-qos class of this switch"})
		return
	}
	ports := a.pausers(n.pause, g)
	if len(ports) > 0 {
		a.add(policy.Text, c, represented(ports, qos.KindPFC.Attr()))
	} else {
		a.add(policy.Text, c, left("no port pauses by it"))
	}
	_, lastMTU, _ := last(c, keyMTU)
	for _, l := range c.Sub {
		pause, isPause := cutWords(l.Text, keyPause)
		_, isMTU := cutWords(l.Text, keyMTU)
		switch {
		case isComment(l.Text):
		case isPause:
			ps, _ := numbers(pause, qos.NumPriorities-1)
			a.add(where, l, a.pauses(qos.Priorities(ps...), g))
		case isMTU && l != lastMTU:
			a.add(where, l, inert("a later line of the class overrides it"))
		case isMTU:
			a.add(where, l, a.classMTU(n, ports, name))
		case isDefault(inClassNetwork, l.Text) || strings.HasPrefix(l.Text, "no "):
			a.add(where, l, usual("it is so without the line"))
		default:
			a.add(where, l, verdict{fate: render.Unknown, why: notKnown})
		}
	}
}

// pausers returns the ports on which group g pauses a priority of the set.
func (a *accountant) pausers(set qos.PrioritySet, g int) (ports []string) {
	in := a.v.network.pauses()
	for _, p := range set.List() {
		if in[p] == g {
			ports = append(ports, a.pausing[p]...)
		}
	}
	return ports
}

// pauses returns the verdict of a line that pauses priorities in a group.
func (a *accountant) pauses(set qos.PrioritySet, g int) verdict {
	in := a.v.network.pauses()
	for _, p := range set.List() {
		if in[p] != g {
			return inert("the class of qos-group %d pauses priority %d already", in[p], p)
		}
	}
	if ports := a.pausers(set, g); len(ports) > 0 {
		return represented(ports, qos.KindPFC.Attr(), qos.KindMap.Table(qos.PFCToQueue))
	}
	return a.pausesNoPort()
}

// classMTU returns the verdict of the MTU of a class.
func (a *accountant) classMTU(n *networkClass, ports []string, name string) verdict {
	bounds := slices.DeleteFunc(slices.Clone(ports), func(p string) bool { return a.v.interfaceMTU(p) < n.mtu || a.dev.Ports[p].MTU.V != n.mtu })
	switch {
	case n.mtu == defaultMTU && len(bounds) == 0:
		return usual("1500 bytes is the default MTU of a class")
	case len(ports) == 0:
		return left("an intent cannot express the MTU of a class that no port pauses")
	case len(bounds) == 0:
		return left("no port that pauses takes a packet that is larger")
	}
	d := represented(bounds, qos.KindMTU.Attr())
	if slices.ContainsFunc(bounds, func(p string) bool { return a.v.interfaceMTU(p) > n.mtu }) {
		d = d.failing("MTU-05")
	}
	return d
}

// classQueuing accounts for a class of an output policy in force on ports.
func (a *accountant) classQueuing(policy, c *Line, name string, ports []string) {
	q, ok := a.v.queue(typeQueuing, name)
	where := policy.Text + " / " + c.Text
	if !ok {
		a.below(policy.Text, c, verdict{fate: render.Unknown, why: "not an output queue of this switch"})
		return
	}
	_, _, strict := last(c, keyPriority)
	sched, ecn := represented(ports, qos.KindScheduler.At(q)), represented(ports, qos.KindECN.At(q))
	lossless := slices.ContainsFunc(ports, func(p string) bool {
		return slices.ContainsFunc(a.dev.Ports[p].PFC.V.List(), func(n int) bool { return a.v.network.pauses()[n] == q })
	})
	idle := q > 0 && q < a.v.m.top() && !slices.ContainsFunc(c.Sub, func(l *Line) bool {
		return keyOf(inClassQueuing, l.Text) != keyBandwidth || !strings.HasSuffix(l.Text, " percent 0")
	})
	if idle {
		for _, l := range c.Sub {
			a.add(where, l, usual("a queue without a line has no share of its own"))
		}
		a.add(policy.Text, c, usual("a queue without a line has no share of its own"))
		return
	}
	a.add(policy.Text, c, represented(ports, qos.KindScheduler.At(q), qos.KindECN.At(q)))
	for _, l := range c.Sub {
		key := keyOf(inClassQueuing, l.Text)
		rest, _ := cutWords(l.Text, key)
		_, at, _ := last(c, key)
		d := verdict{fate: render.Unknown, why: notKnown}
		switch {
		case isComment(l.Text):
			continue
		case strings.HasPrefix(l.Text, "no "):
			d = usual("it is so without the line")
		case key != "queue-limit" && at != l && key != keyWRED && slices.Contains([]string{keyBandwidth, keyPriority, keyShape}, key):
			d = inert("a later line of the class overrides it: line %d", at.No)
		case key == keyBandwidth && strict:
			d = inert("the queue is strict")
		case key == keyBandwidth && strings.HasSuffix(rest, "percent 0") && q > 0 && q < a.v.m.top():
			d = usual("a queue without a line has no share of its own")
		case key == keyBandwidth || key == keyShape:
			d = sched
		case key == keyPriority:
			d = a.level(rest, q, sched)
		case key == keyWRED && !wredOf(rest).Enabled:
			if d.why = "it drops at random: it has no \"ecn\""; lossless {
				d = d.failing("ECN-08")
			}
		case key == keyWRED || key == "afd":
			d = ecn
			if e := wredOf(rest); key == keyWRED && e.Other == "" && e.Min > e.Max && !strings.Contains(string(e.Unit), "/") {
				d = d.failing("ECN-02")
			}
		}
		a.add(where, l, d)
	}
}

// level returns the verdict of a priority line. The model orders strict queues by their number.
func (a *accountant) level(rest string, q int, d verdict) verdict {
	text, ok := cutWords(rest, "level")
	n, isNumber := lines.Number(text, 8)
	if usual := a.v.m.top() - q + 1; ok && isNumber && n != usual {
		return left("the queue is strict; an intent orders strict queues by number, which would be level %s", fmt.Sprint(usual))
	}
	return d
}
