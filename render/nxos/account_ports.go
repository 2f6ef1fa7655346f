package nxos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// classification holds the attributes that input policies set, scheduling those that output
// policies set.
var (
	classification = []qos.Attr{qos.KindMap.Table(qos.DSCPToTC), qos.KindMap.Table(qos.PCPToTC)}
	scheduling     = []qos.Attr{qos.KindScheduler.Span(0, qos.NumPriorities-1), qos.KindECN.Span(0, qos.NumPriorities-1)}
)

// ownPolicy is the claim of a line without which the switch does the same.
var ownPolicy = forms.Default("the switch's own policy is in force without the line")

// claimBlock claims a block of the top level and the lines below it.
func (a *accountant) claimBlock(l *Line) {
	h, ok := headOf(l.Text)
	switch {
	case !ok:
	case h.at == inInterface:
		a.claimInterface(l, h)
	case h.at == inProfile:
		a.claimProfile(l, h)
	case h.at == inSystem:
		grammar.InForce(inSystem, l, func(s *Line, f forms.Found) {
			if claim := systemClaims[f.Key]; claim != nil {
				a.Say(s, claim(a, s, firstWord(f.Rest())))
			}
		})
	case h.at == inClassMap && slices.Contains(types, h.typ):
		a.claimClassMap(l, h)
	case h.at == inPolicy && slices.Contains(types, h.typ):
		a.claimPolicy(l, h)
	case !notQoS(h):
		a.Whole(l, forms.Unknown("a type of policy that this tool does not know"))
	}
}

// claimGlobal claims the lines outside blocks.
func (a *accountant) claimGlobal() {
	grammar.InForce(inGlobal, a.v.global, func(l *Line, f forms.Found) {
		if claim := globalClaims[f.Key]; claim != nil && f.Why == "" && !f.Usual() {
			a.Say(l, claim(a, f))
		}
	})
	for _, l := range a.v.global.Sub {
		if size, ok := cutWords(l.Text, "system jumbomtu"); ok && size == fmt.Sprint(maxMTU) {
			a.Say(l, forms.Default("it is %d without the line", maxMTU))
		} else if ok {
			a.Say(l, forms.Left("the intent has the MTU of ports, not what bridged ports can have"))
		}
	}
}

// globalClaims holds the claim function of each form of the top level, by key.
var globalClaims = map[string]func(*accountant, forms.Found) forms.Claim{
	keyWatchdog:   (*accountant).globalWatchdog,
	keyInterval:   (*accountant).timer,
	keyMultiplier: (*accountant).timer,
	keyRestore:    (*accountant).timer,
	keyFixed:      func(*accountant, forms.Found) forms.Claim { return forms.Default("it is 0 without the line") },
	keyOverride:   (*accountant).override,
}

// globalWatchdog returns the claim of the line that turns the watchdog of the switch on.
func (a *accountant) globalWatchdog(forms.Found) forms.Claim {
	switch {
	case len(a.guarded) > 0:
		return forms.Sets(a.guarded, qos.KindWatchdog.Attr())
	case len(a.watched) > 0:
		return forms.Inert("no port with %s on pauses a priority", keyWatchdog)
	}
	for _, l := range a.v.raw {
		if d := a.doubt(l); d != nil {
			return forms.Undecided(d)
		}
	}
	return forms.Inert("no port has %s on", keyWatchdog).Failing("WD-03")
}

// defaultTimers holds the values of the watchdog timers without a line.
var defaultTimers = map[string]int{keyInterval: defaultInterval, keyMultiplier: defaultMultiplier, keyRestore: defaultRestore}

// timer returns the claim of a watchdog timer of the switch.
func (a *accountant) timer(f forms.Found) forms.Claim {
	users := a.timed(f.Key)
	switch {
	case f.Rest() == fmt.Sprint(defaultTimers[f.Key]):
		return forms.Default("it is %s without the line", f.Rest())
	case !a.timers.on:
		return forms.Inert("the watchdog of the switch is off")
	case len(a.guarded) == 0:
		return forms.Inert("no port has a watchdog")
	case len(users) == 0:
		return forms.Inert("every port has an " + wordPortMultiplier)
	}
	return forms.Sets(users, qos.KindWatchdog.Attr())
}

// timed returns the guarded ports to which a switch-wide watchdog timer applies.
func (a *accountant) timed(key string) (out []string) {
	if key != keyMultiplier {
		return a.guarded
	}
	for _, port := range a.guarded {
		if rest, _ := a.v.line(port, keyWatchdog); !strings.Contains(rest, wordPortMultiplier) {
			out = append(out, port)
		}
	}
	return out
}

// override returns the claim of the line that turns PFC off on all ports.
func (a *accountant) override(forms.Found) forms.Claim {
	pauses := a.v.network.pauses()
	for _, port := range a.all {
		mode, _ := a.v.line(port, keyPFC)
		for _, g := range pauses {
			if firstWord(mode) == "on" && a.v.input(port).into(g) {
				return forms.Sets(a.all, qos.KindPFC.Attr())
			}
		}
	}
	return forms.Inert("no port would pause without it")
}

// systemClaims holds the claim function of each form of system qos, by key. name is the policy that
// the line attaches.
var systemClaims = map[string]func(a *accountant, l *Line, name string) forms.Claim{
	keyNetwork: func(a *accountant, _ *Line, _ string) forms.Claim {
		if a.v.network == nil {
			return ownPolicy
		}
		return a.networkInForce()
	},
	keyInput: func(a *accountant, l *Line, _ string) forms.Claim { return a.systemPolicy(l, classification) },
	keyOutput: func(a *accountant, l *Line, name string) forms.Claim {
		if a.v.policies[typeQueuing][name] == nil {
			return ownPolicy
		}
		return a.systemPolicy(l, scheduling)
	},
	keyQueuingInput: func(_ *accountant, _ *Line, name string) forms.Claim {
		if builtIn(name) {
			return ownPolicy
		}
		return buffered
	},
}

// systemPolicy returns the claim of a line that attaches a policy to all ports without their own.
func (a *accountant) systemPolicy(l *Line, attrs []qos.Attr) forms.Claim {
	if len(a.by[l]) == 0 {
		return forms.Inert("every port has a policy of its own")
	}
	return forms.Sets(a.by[l], attrs...)
}

// networkInForce returns the claim of a line that puts the network-qos policy in force.
func (a *accountant) networkInForce() forms.Claim {
	var ports []string
	for _, port := range a.all {
		if a.dev.Ports[port].PFC.V != 0 {
			ports = append(ports, port)
		}
	}
	switch {
	case len(ports) > 0:
		return forms.Sets(ports, qos.KindPFC.Attr())
	case len(a.v.network.pauses()) == 0:
		return forms.Left("it pauses nothing, and an intent cannot express the MTUs of its classes")
	}
	return a.pausesNoPort()
}

// pausesNoPort returns the claim of a pause setting that no port uses. In mode auto, the default, PFC
// depends on the DCBX peer, so its state is unknown.
func (a *accountant) pausesNoPort() forms.Claim {
	on, auto := 0, 0
	for _, port := range a.all {
		mode, _ := a.v.line(port, keyPFC)
		switch firstWord(mode) {
		case "on":
			on++
		case "auto", "":
			auto++
		}
	}
	switch {
	case a.v.overridden():
		return forms.Inert("no port pauses by it: PFC is off on all ports by %s off", keyOverride)
	case on > 0:
		return forms.Inert("no port pauses by it: no port with PFC classifies anything into its group")
	case auto > 0:
		return forms.Left("no port has %s on; with auto a port pauses only if its DCBX peer agrees", keyPFC)
	}
	return forms.Inert("no port pauses by it: PFC is off on all ports")
}

// claimProfile claims a port-profile and its lines.
func (a *accountant) claimProfile(l *Line, h head) {
	_, _, on := last(l, keyState)
	used, inherits := a.profileUse(firstProfile(h.name))
	switch {
	case !on:
		a.Whole(l, forms.Inert("the port-profile is not enabled: it has no line %q", keyState))
		return
	case !inherits:
		a.Whole(l, forms.Inert("no interface inherits the port-profile"))
		return
	}
	all := forms.Sets(used, qos.KindMTU.Attr(), qos.KindPFC.Attr(), qos.KindWatchdog.Attr(), classification[0])
	a.Say(l, all)
	for _, s := range l.Sub {
		if s.Text == keyState {
			a.Say(s, all)
		} else if !concerned(s.Text) && !strange(s) && !forms.Misfits(s) {
			a.Say(s, forms.Left("it is not about QoS"))
		}
	}
	a.claimInterface(l, h)
}

// profileUse returns the ports that inherit a port-profile, directly or through another one.
// some reports whether any interface inherits it.
func (a *accountant) profileUse(name string) (ports []string, some bool) {
	for port, own := range a.v.ports {
		for range 4 {
			n, _, ok := last(own, keyInherit)
			if !ok {
				break
			}
			if n == name {
				some = true
				if isPort(port) {
					ports = append(ports, port)
				}
				break
			}
			if own = a.v.profiles[n]; own == nil {
				break
			}
		}
	}
	ordered.Sort(ports, natural.Compare)
	return ports, some
}

// claimInterface claims the lines of an interface or of a port-profile.
func (a *accountant) claimInterface(l *Line, h head) {
	for _, s := range l.Sub {
		f, ok := grammar.Lookup(inInterface, s)
		if !ok || !f.Fits() || f.Why != "" || !concerned(s.Text) {
			continue
		}
		if f.Usual() {
			a.Say(s, a.usualOf(s, f))
		} else {
			a.Say(s, a.portLine(s, f, h))
		}
	}
}

// usualOf returns the claim of an interface line that states the default. It sets that default where
// it overrides a port-profile or a port-channel.
func (a *accountant) usualOf(l *Line, f forms.Found) forms.Claim {
	c := forms.Default("it is so without the line")
	switch {
	case slices.ContainsFunc(a.by[l], a.overridesInherited(f.Key)):
		return forms.Sets(a.by[l], f.Attrs...)
	case f.Key == keyPFC:
		c = forms.Default("it is so without the line; whether PFC is on then depends on the DCBX peer")
	}
	c.Ports, c.Attrs = a.by[l], f.Attrs
	return c
}

// portLine returns the claim of an interface line that does not state the default.
func (a *accountant) portLine(l *Line, f forms.Found, h head) forms.Claim {
	ports := a.by[l]
	claim := portClaims[f.Key]
	switch {
	case f.Key == keyInherit:
		return a.inherits(h, f.Rest())
	case len(ports) == 0 && h.at == inInterface && !strings.HasPrefix(h.name, "port-channel") && !isPort(h.name) && len(rangeOf(h.name)) == 1:
		return forms.Left("the interface cannot be a port in an intent")
	case len(ports) == 0 && strings.HasPrefix(h.name, "port-channel"):
		return forms.Inert("the port-channel has no member without a line of its own")
	case len(ports) == 0:
		return forms.Inert("another line overrides it")
	case claim != nil:
		return a.individually(claim(a, f, ports), h)
	}
	return a.individually(forms.Sets(ports, f.Attrs...), h)
}

// individually adds to the claim of a line of a port-channel that its members lose the line as
// individual ports, unless they are suspended without LACP (Nexus 9000 NX-OS Interfaces
// Configuration Guide, Configuring Port Channels: lacp suspend-individual is the default).
func (a *accountant) individually(c forms.Claim, h head) forms.Claim {
	if c.Fate != render.Represented || c.Check != "" || !strings.HasPrefix(h.name, "port-channel") {
		return c
	}
	if _, at, on := last(a.v.raw[h.name], "lacp suspend-individual"); at != nil && !on {
		return c.Failing("PRT-07")
	}
	return c
}

// overridesInherited returns a function that reports whether a line with a default value, on a port,
// overrides the key in its port-profile or port-channel.
func (a *accountant) overridesInherited(key string) func(port string) bool {
	return func(port string) bool {
		own := a.v.ports[port]
		if a.v.lag(aggregate(own))[key] != nil {
			return true
		}
		for _, l := range a.v.profiled(own, 0) {
			if _, ok := cutWords(l.Text, key); ok {
				return true
			}
		}
		return false
	}
}

// inherits returns the claim of a line that inherits a port-profile.
func (a *accountant) inherits(h head, name string) forms.Claim {
	p := a.v.profiles[name]
	if p == nil {
		return forms.Unknown("there is no port-profile of that name")
	}
	if _, _, on := last(p, keyState); !on {
		return forms.Inert("the port-profile is not enabled: it has no line %q", keyState)
	}
	var attrs []qos.Attr
	for _, s := range p.Sub {
		if f, ok := grammar.Lookup(inInterface, s); ok {
			attrs = append(attrs, f.Attrs...)
		}
	}
	if len(attrs) == 0 {
		return forms.Left("the port-profile has no QoS settings")
	}
	ports := []string{}
	for _, port := range rangeOf(h.name) {
		if a.dev.Ports[port] != nil {
			ports = append(ports, port)
		}
	}
	if h.at == inProfile {
		ports, _ = a.profileUse(firstProfile(h.name))
	}
	return forms.Sets(ports, attrs...)
}

// portClaims holds the claim functions of forms of an interface, by key. The line is in force on
// the ports. A form without one sets its attributes there.
var portClaims = map[string]func(a *accountant, f forms.Found, ports []string) forms.Claim{
	keyMTU: func(a *accountant, f forms.Found, ports []string) forms.Claim {
		if a.some(ports, func(p *qos.Port) bool { return fmt.Sprint(p.MTU.V) == f.Rest() }) {
			return forms.Sets(ports, f.Attrs...)
		}
		return forms.Left("a network-qos class limits the port to %d bytes", a.dev.Ports[ports[0]].MTU.V).Failing("MTU-05")
	},
	keyPFC: func(a *accountant, f forms.Found, ports []string) forms.Claim {
		if firstWord(f.Rest()) != "on" || a.some(ports, pausing) {
			return forms.Sets(ports, f.Attrs...)
		}
		if d := a.doubt(slices.Concat(a.pauseBlocks(), a.inputBlocks(ports))...); d != nil {
			return forms.Undecided(d)
		}
		return a.unpaused()
	},
	keyWatchdog: func(a *accountant, f forms.Found, ports []string) forms.Claim {
		switch {
		case a.some(ports, func(p *qos.Port) bool { return p.Watchdog.V.Enabled }):
			return forms.Sets(ports, f.Attrs...)
		case !a.timers.on:
			if d := a.doubt(a.v.global); d != nil {
				return forms.Undecided(d)
			}
			return forms.Inert("the watchdog of the switch is off: there is no line %q at the top level", keyWatchdog+" on").Failing("WD-03")
		}
		return forms.Inert("the port pauses no priority")
	},
	keyReceive: (*accountant).linkPause,
	keySend:    (*accountant).linkPause,
	keyOutput: func(a *accountant, f forms.Found, ports []string) forms.Claim {
		if name := firstWord(f.Rest()); a.v.policies[typeQueuing][name] == nil && builtIn(name) {
			return ownPolicy
		}
		return forms.Sets(ports, f.Attrs...)
	},
	keyQueuingInput: func(*accountant, forms.Found, []string) forms.Claim { return buffered },
}

// some reports whether f holds for any of the ports.
func (a *accountant) some(ports []string, f func(*qos.Port) bool) bool {
	return slices.ContainsFunc(ports, func(name string) bool { return f(a.dev.Ports[name]) })
}

func pausing(p *qos.Port) bool { return p.PFC.V != 0 }

// linkPause returns the claim of a line that turns link pause on.
func (a *accountant) linkPause(f forms.Found, ports []string) forms.Claim {
	c := forms.Sets(ports, f.Attrs...)
	if a.some(ports, pausing) {
		return c.Failing("PFC-05")
	}
	return c
}

// unpaused returns the claim of a line that turns PFC on but pauses no priority.
func (a *accountant) unpaused() forms.Claim {
	pauses := a.v.network.pauses()
	switch {
	case a.v.overridden():
		return forms.Inert("PFC is off on all ports by %s off", keyOverride)
	case len(pauses) > 0:
		return forms.Inert("the port pauses nothing: it classifies nothing into a qos-group that network-qos policy %s pauses", a.v.network.name).Failing("CLS-19")
	}
	for _, name := range natural.Keys(a.v.policies[typeNetwork]) {
		if !a.attached(typeNetwork, name) && pausesAny(a.v.policies[typeNetwork][name]) {
			return forms.Inert("the port pauses nothing: network-qos policy %s is not attached under %s", name, systemHeader).Failing("PFC-03")
		}
	}
	return forms.Inert("the port pauses nothing: no network-qos policy pauses a priority").Failing("PFC-03")
}

// pausesAny reports whether a network-qos policy pauses any priority.
func pausesAny(policy *Line) bool {
	for _, c := range classes(policy) {
		for _, l := range c.Sub {
			if _, ok := cutWords(l.Text, keyPause); ok {
				return true
			}
		}
	}
	return false
}

// level returns the claim of a priority line. The model orders strict queues by their number.
func level(rest string, usual int, d forms.Claim) forms.Claim {
	text, ok := cutWords(rest, "level")
	if n, isNumber := lines.Number(text, 8); ok && isNumber && n != usual {
		return forms.Left("the queue is strict; an intent orders strict queues by number, which would be level %d", usual)
	}
	return d
}
