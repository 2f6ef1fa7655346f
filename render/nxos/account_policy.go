package nxos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms"
)

// claimClassMap claims a class-map and its lines.
func (a *accountant) claimClassMap(l *Line, h head) {
	top := a.classMapUse(h, h.typ+" "+h.name)
	if _, q := a.v.m.queue(h.typ, h.name); q && h.typ != typeQoS {
		top = forms.Default("a class of the switch")
	}
	if top.Fate != render.Represented || h.typ != typeQoS {
		a.Whole(l, top)
		return
	}
	a.Say(l, top)
	for _, s := range l.Sub {
		switch {
		case isComment(s.Text):
		case strings.Contains(a.v.why[s], "must all hold"):
			a.Say(s, forms.Unknown("%s", a.v.why[s]).Failing("CLS-12"))
		case a.served[s] != nil:
			a.Say(s, a.decides(s))
		}
	}
}

// classMapUse returns the claim of the header of a class-map.
func (a *accountant) classMapUse(h head, id string) forms.Claim {
	q, ok := a.v.groups[h.typ][h.name]
	switch {
	case !a.mentioned[id]:
		return forms.Inert("no policy names the class-map")
	case !a.named[id]:
		return forms.Inert("no policy that names the class-map is attached")
	case h.typ == typeQoS:
		return forms.Sets(a.usersOf(keyInput, h), classification...)
	case h.typ == typeNetwork && !ok:
		return forms.Unknown("not a network-qos class of this switch")
	case h.typ == typeNetwork:
		if n := a.v.network; n != nil && n.class[q] != nil && len(a.pausers(n.class[q].pause, q)) == 0 {
			return forms.Left("no port pauses by the class")
		}
		return a.networkInForce()
	case !ok:
		return forms.Unknown("not an output queue of this switch")
	}
	return forms.Sets(a.usersOf(keyOutput, h), qos.KindScheduler.At(q), qos.KindECN.At(q))
}

// usersOf returns the ports on which policies with a class are in force.
func (a *accountant) usersOf(key string, class head) (ports []string) {
	for name, p := range a.v.policies[class.typ] {
		if classIn(p, classHeader(class.typ, class.name)) != nil {
			ports = append(ports, a.users[key][name]...)
		}
	}
	return ports
}

// decides returns the claim of a class, or of a line in a class-map, of type qos.
func (a *accountant) decides(l *Line) forms.Claim {
	d := a.served[l]
	switch {
	case d == nil:
		return forms.Inert("no attached policy uses it")
	case d.hidden:
		return forms.Inert("no packet reaches it: earlier classes match everything that it matches")
	case d.usual:
		return forms.Default("its packets get the same group without it")
	}
	return forms.Sets(d.ports, d.attrs...)
}

// claimPolicy claims a policy and its classes.
func (a *accountant) claimPolicy(l *Line, h head) {
	if h.typ == typeQueuing && !a.attached(h.typ, h.name) && a.inputQueuing(h.name) {
		a.Whole(l, buffered)
		return
	}
	d := a.policyUse(l, h)
	a.Say(l, d)
	for _, c := range classes(l) {
		typ, name, _ := classOf(c.Text)
		switch {
		case d.Fate == render.Inert:
			a.Whole(c, forms.Inert("%s", d.Why))
		case typ != h.typ:
			a.Whole(c, forms.Unknown("a class of another type than the policy"))
		case h.typ == typeQoS:
			a.claimClassQoS(c, name, a.users[keyInput][h.name])
		case h.typ == typeNetwork:
			a.claimClassNetwork(c, name)
		default:
			a.claimClassQueuing(c, name, a.users[keyOutput][h.name])
		}
	}
}

// policyUse returns the claim of the header of a policy.
func (a *accountant) policyUse(l *Line, h head) forms.Claim {
	switch {
	case h.typ == typeNetwork && !a.attached(h.typ, h.name):
		d := forms.Inert("the policy is not attached under %s", systemHeader)
		if pausesAny(l) && len(a.v.network.pauses()) == 0 && a.doubt(a.pauseBlocks()...) == nil {
			d = d.Failing("PFC-04")
		}
		return d
	case h.typ == typeNetwork:
		if d := a.networkInForce(); d.Fate == render.Represented {
			return d
		}
		return forms.Left("it pauses nothing on any port")
	case !a.attached(h.typ, h.name):
		return forms.Inert("no port has the policy")
	case h.typ == typeQoS:
		return forms.Sets(a.users[keyInput][h.name], classification...)
	}
	return forms.Sets(a.users[keyOutput][h.name], scheduling...)
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

// claimClassQoS claims a class of an input policy that is in force on ports.
func (a *accountant) claimClassQoS(c *Line, name string, ports []string) {
	d := a.decides(c)
	switch cm := a.v.classMaps[name]; {
	case name == "class-default":
	case cm == nil:
		d = forms.Inert("there is no class-map %s, so it matches nothing", name)
	case d.Fate == render.Inert:
		d = a.unreached(cm, d)
	}
	a.Say(c, d)
	grammar.InForce(inClassQoS, c, func(l *Line, f forms.Found) {
		switch {
		case f.Key == keyGroup, f.Key == keySetDSCP && d.Fate != render.Represented && d.Fate != render.Default:
			a.Say(l, d)
		case f.Key == keySetDSCP:
			a.Say(l, forms.Sets(ports, qos.KindMap.Table(qos.TCToDSCP)))
		}
	})
}

// unreached returns the claim of a class that no packet is known to reach.
func (a *accountant) unreached(cm *Line, d forms.Claim) forms.Claim {
	matches := false
	for _, l := range cm.Sub {
		if why := a.v.why[l]; why != "" {
			return forms.Unknown("the packets of the class are not known: %s", why)
		}
		matches = matches || !isComment(l.Text)
	}
	if !matches {
		return forms.Inert("the class-map matches nothing")
	}
	return d
}

// claimClassNetwork claims a class of the network-qos policy in force.
func (a *accountant) claimClassNetwork(c *Line, name string) {
	g, ok := a.v.queue(typeNetwork, name)
	n := a.v.network.class[g]
	if !ok || n == nil || n.line != c {
		a.Whole(c, forms.Unknown("not a network-qos class of this switch"))
		return
	}
	ports := a.pausers(n.pause, g)
	if len(ports) > 0 {
		a.Say(c, forms.Sets(ports, qos.KindPFC.Attr()))
	} else {
		a.Say(c, forms.Left("no port pauses by it"))
	}
	grammar.InForce(inClassNetwork, c, func(l *Line, f forms.Found) {
		switch f.Key {
		case keyPause:
			ps, _ := numbers(f.Rest(), qos.NumPriorities-1)
			a.Say(l, a.pauses(qos.Priorities(ps...), g))
		case keyNoDrop:
			if n.noDrop == l {
				a.Say(l, a.pauses(n.pause, g))
			}
		case keyMTU:
			a.Say(l, a.classMTU(n, ports))
		}
	})
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

// pauses returns the claim of a line that pauses priorities in a group.
func (a *accountant) pauses(set qos.PrioritySet, g int) forms.Claim {
	in := a.v.network.pauses()
	for _, p := range set.List() {
		if in[p] != g {
			return forms.Inert("the class of qos-group %d pauses priority %d already", in[p], p)
		}
	}
	if ports := a.pausers(set, g); len(ports) > 0 {
		return forms.Sets(ports, qos.KindPFC.Attr(), qos.KindMap.Table(qos.PFCToQueue))
	}
	return a.pausesNoPort()
}

// classMTU returns the claim of the MTU of a class that pauses on ports.
func (a *accountant) classMTU(n *networkClass, ports []string) forms.Claim {
	bounds := slices.DeleteFunc(slices.Clone(ports), func(p string) bool { return a.v.interfaceMTU(p) < n.mtu || a.dev.Ports[p].MTU.V != n.mtu })
	switch {
	case n.mtu == defaultMTU && len(bounds) == 0:
		return forms.Default("1500 bytes is the default MTU of a class")
	case len(ports) == 0:
		return forms.Left("an intent cannot express the MTU of a class that no port pauses")
	case len(bounds) == 0:
		return forms.Left("no port that pauses takes a packet that is larger")
	}
	d := forms.Sets(bounds, qos.KindMTU.Attr())
	if !a.v.bridgedMTU && slices.ContainsFunc(bounds, func(p string) bool { return a.v.interfaceMTU(p) > n.mtu }) {
		d = d.Failing("MTU-05")
	}
	return d
}

// queueClass is a class of an output policy that is in force on ports.
type queueClass struct {
	a          *accountant
	line       *Line
	queue      int
	sched, ecn forms.Claim
	// inner is set for a queue between the lowest and the highest, strict if the queue is strict,
	// lossless if a port pauses a priority of the queue.
	inner, strict, lossless bool
}

// unshared is the claim of a line that gives a queue the share that it has without a line.
var unshared = forms.Default("a queue without a line has no share of its own")

// claimClassQueuing claims a class of an output policy that is in force on ports.
func (a *accountant) claimClassQueuing(c *Line, name string, ports []string) {
	q, ok := a.v.queue(typeQueuing, name)
	if !ok {
		a.Whole(c, forms.Unknown("not an output queue of this switch"))
		return
	}
	k := queueClass{a: a, line: c, queue: q, sched: forms.Sets(ports, qos.KindScheduler.At(q)), ecn: forms.Sets(ports, qos.KindECN.At(q))}
	k.inner = q > 0 && q < a.v.m.top()
	taken := slices.DeleteFunc(slices.Clone(c.Sub), forms.Misfits)
	if k.inner && !slices.ContainsFunc(taken, func(l *Line) bool {
		return keyOf(inClassQueuing, l.Text) != keyBandwidth || !strings.HasSuffix(l.Text, " percent 0")
	}) {
		for _, l := range append(taken, c) {
			a.Say(l, unshared)
		}
		return
	}
	_, _, k.strict = last(c, keyPriority)
	k.lossless = a.some(ports, func(p *qos.Port) bool {
		return slices.ContainsFunc(p.PFC.V.List(), func(n int) bool { return a.v.network.pauses()[n] == q })
	})
	a.Say(c, forms.Sets(ports, qos.KindScheduler.At(q), qos.KindECN.At(q)))
	grammar.InForce(inClassQueuing, c, func(l *Line, f forms.Found) {
		if claim := queueClaims[f.Key]; claim != nil {
			a.Say(l, claim(&k, f.Rest()))
		}
	})
}

// queueClaims holds the claim function of each form of a class of an output policy, by key.
var queueClaims = map[string]func(k *queueClass, rest string) forms.Claim{
	keyBandwidth: func(k *queueClass, rest string) forms.Claim {
		switch {
		case k.strict:
			return forms.Inert("the queue is strict").Failing("CFG-02")
		case k.inner && strings.HasSuffix(rest, "percent 0"):
			return unshared
		}
		return k.sched
	},
	keyShape:    func(k *queueClass, _ string) forms.Claim { return k.sched },
	keyPriority: func(k *queueClass, rest string) forms.Claim { return level(rest, k.a.v.m.top()-k.queue+1, k.sched) },
	keyWRED:     (*queueClass).wred,
	keyAFD:      func(k *queueClass, _ string) forms.Claim { return k.ecn },
}

// wred returns the claim of a random-detect line.
func (k *queueClass) wred(rest string) forms.Claim {
	e := wredOf(rest)
	switch {
	case !e.Enabled && k.lossless:
		return forms.Unknown("it drops at random: it has no \"ecn\"").Failing("ECN-08")
	case !e.Enabled:
		return forms.Unknown("it drops at random: it has no \"ecn\"")
	case e.Other == "" && e.Min > e.Max && !strings.Contains(string(e.Unit), "/"):
		return k.ecn.Failing("ECN-02")
	}
	return k.ecn
}
