package nxos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
)

// Account returns the fate of each relevant line of a configuration, in the order of the text,
// on a switch of a class model. Its time is linear in the text and in the number of ports.
func Account(c *Config, m ClassModel) []render.Line {
	v := newView(c, m)
	a := &accountant{v: v, dev: v.device(), unknown: map[int]string{}, users: map[string]map[string][]string{}, timers: v.readTimers()}
	for _, u := range v.unknown {
		if u.Line > 0 && a.unknown[u.Line] == "" {
			a.unknown[u.Line] = u.Why
		}
	}
	a.survey(c)
	for _, l := range c.Lines {
		a.block(l)
	}
	ordered.Sort(a.out, func(x, y render.Line) int { return cmp.Compare(x.No, y.No) })
	return a.out
}

type accountant struct {
	v       *view
	dev     *qos.Device
	timers  timers
	unknown map[int]string // reason why a line is not understood, by line number
	out     []render.Line

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

// verdict is the fate of a line and the reason for it.
type verdict struct {
	fate  render.Fate
	why   string
	check string
	ports []string
	attrs []qos.Attr
}

func inert(format string, args ...any) verdict {
	return verdict{fate: render.Inert, why: fmt.Sprintf(format, args...)}
}

func usual(format string, args ...any) verdict {
	return verdict{fate: render.Default, why: fmt.Sprintf(format, args...)}
}

func left(format string, args ...any) verdict {
	return verdict{fate: render.Left, why: fmt.Sprintf(format, args...)}
}

func (d verdict) failing(check string) verdict {
	d.check = check
	return d
}

// represented returns the verdict of a line that sets attributes of ports.
func represented(ports []string, attrs ...qos.Attr) verdict {
	return verdict{fate: render.Represented, ports: ports, attrs: attrs}
}

const notKnown = "this tool does not know the line and leaves it"

// add records the verdict of a line. A line that is not understood is reported as such, unless
// it does nothing.
func (a *accountant) add(where string, l *Line, d verdict) {
	if why := a.unknown[l.No]; why != "" && d.fate != render.Inert {
		d.fate, d.why, d.ports, d.attrs = render.Unknown, why, nil, nil
	}
	a.out = append(a.out, render.Line{No: l.No, Where: where, Text: l.Text, Fate: d.fate, Why: d.why, Check: d.check, Ports: d.ports, Attrs: d.attrs})
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
	quiet.seen, quiet.unknown = map[Unknown]bool{}, nil
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

// verdictOf returns the verdict of a class, or of a line in a class-map, of type qos.
func (a *accountant) verdictOf(l *Line) verdict {
	d := a.served[l]
	switch {
	case d == nil:
		return inert("no attached policy uses it")
	case d.hidden:
		return inert("no packet reaches it: earlier classes match everything that it matches")
	case d.usual:
		return usual("its packets get the same group without it")
	}
	return represented(d.ports, d.attrs...)
}

// block accounts for a top-level line and the lines below it.
func (a *accountant) block(l *Line) {
	h, ok := headOf(l.Text)
	switch {
	case !ok:
		a.global(l)
		return
	case h.at == inInterface:
		for _, s := range l.Sub {
			a.port(l.Text, s, h)
		}
	case h.at == inProfile:
		a.profile(l, h)
	case h.at == inSystem:
		for _, s := range l.Sub {
			a.system(s)
		}
	case h.at == inClassMap && slices.Contains(types, h.typ):
		a.classMap(l, h)
	case h.at == inPolicy && slices.Contains(types, h.typ):
		a.policy(l, h)
	case !notQoS(h):
		a.addBlock(l, verdict{fate: render.Unknown, why: "a type of policy that this tool does not know"})
	}
}

var types = []string{typeQoS, typeNetwork, typeQueuing}

// notQoS reports whether a class-map or policy-map serves another purpose than QoS.
func notQoS(h head) bool {
	return slices.Contains([]string{"control-plane", "copp", "pbr", "pdp", "traffic", "inspect"}, h.typ) || strings.Contains(h.name, "copp")
}

// addBlock gives a block and all lines below it the same verdict.
func (a *accountant) addBlock(l *Line, d verdict) {
	a.add("", l, d)
	for _, s := range l.Sub {
		a.below(l.Text, s, d)
	}
}

func (a *accountant) below(where string, l *Line, d verdict) {
	if isComment(l.Text) {
		return
	}
	a.add(where, l, d)
	for _, s := range l.Sub {
		a.below(where+" / "+l.Text, s, d)
	}
}

// concerns holds the first words of lines that an account must list, in any block.
var concerns = []string{"qos", "priority-flow-control", "random-detect", "service-policy", "service-profile", "flowcontrol", "tx-queue", "uc-tx-queue", "mc-tx-queue",
	"mtu", "dcbx", "congestion-control", "traffic-policy"}

func concerned(text string) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "no "), "default ")
	word, rest, _ := strings.Cut(text, " ")
	return slices.Contains(concerns, word) ||
		(word == "hardware" || word == "platform") && (strings.HasPrefix(rest, "qos") || strings.HasPrefix(rest, "buffer") || strings.Contains(rest, " pfc") || strings.Contains(rest, " qos") || strings.Contains(rest, " buffer")) ||
		word == "system" && strings.HasPrefix(rest, "jumbomtu") || word == "l2" && strings.HasPrefix(rest, "mtu") || word == keyInheritWord && strings.HasPrefix(rest, "port-profile")
}

const keyInheritWord = "inherit"

// global accounts for a top-level line that opens no known block.
func (a *accountant) global(l *Line) {
	if _, banner := bannerOf(l.Text); banner || strings.HasPrefix(l.Text, "control-plane") {
		return
	}
	for _, s := range l.Sub {
		if concerned(s.Text) {
			a.add(l.Text, s, verdict{fate: render.Unknown, why: "not a line of a port; it is left as it is"})
		}
	}
	if !concerned(l.Text) {
		return
	}
	d := verdict{fate: render.Unknown, why: notKnown}
	off, t := strings.HasPrefix(l.Text, "no "), a.timers
	text := strings.TrimPrefix(l.Text, "no ")
	key := keyOf(inGlobal, text)
	rest, _ := cutWords(text, key)
	watchdog := qos.KindWatchdog.Attr()
	_, at, _ := last(a.v.global, key)
	switch {
	case belongs(inGlobal, text) && at != l:
		d = inert("a later line overrides it: line %d", at.No)
	case belongs(inGlobal, text) && off:
		d = usual("it is off without the line")
	case key == keyWatchdog && rest == "off":
		d = usual("the watchdog is off without the line")
	case key == keyWatchdog && rest == "on" && len(a.guarded) == 0:
		if d = inert("no port has %s on", keyWatchdog).failing("WD-03"); len(a.watched) > 0 {
			d = inert("no port with %s on pauses a priority", keyWatchdog)
		}
	case key == keyWatchdog && rest == "on":
		d = represented(a.guarded, watchdog)
	case key == keyInterval && rest == fmt.Sprint(defaultInterval), key == keyMultiplier && rest == fmt.Sprint(defaultMultiplier), key == keyRestore && rest == fmt.Sprint(defaultRestore), key == keyFixed && rest == "0":
		d = usual("it is %s without the line", rest)
	case key == keyInterval || key == keyMultiplier || key == keyRestore:
		switch users := a.timed(key); {
		case !t.on:
			d = inert("the watchdog of the switch is off")
		case len(a.guarded) == 0:
			d = inert("no port has a watchdog")
		case len(users) == 0:
			d = inert("every port has an interface-multiplier")
		default:
			d = represented(users, watchdog)
		}
	case key == keyOverride && rest == "off":
		if d = represented(a.all, qos.KindPFC.Attr()); len(a.overridden()) == 0 {
			d = inert("no port would pause without it")
		}
	case l.Text == fmt.Sprintf("system jumbomtu %d", maxMTU):
		d = usual("it is %d without the line", maxMTU)
	case strings.HasPrefix(l.Text, "system jumbomtu "):
		d = left("the intent has the MTU of ports, not what bridged ports can have")
	}
	a.add("", l, d)
}

// timed returns the guarded ports to which a switch-wide watchdog timer applies.
func (a *accountant) timed(key string) (out []string) {
	if key != keyMultiplier {
		return a.guarded
	}
	for _, port := range a.guarded {
		if rest, _ := a.v.line(port, keyWatchdog); !strings.Contains(rest, "interface-multiplier") {
			out = append(out, port)
		}
	}
	return out
}

// overridden returns the ports that would pause if PFC were not turned off on all ports.
func (a *accountant) overridden() (out []string) {
	pauses := a.v.network.pauses()
	for _, port := range a.all {
		mode, _ := a.v.line(port, keyPFC)
		for _, g := range pauses {
			if firstWord(mode) == "on" && a.v.input(port).into(g) {
				out = append(out, port)
				break
			}
		}
	}
	return out
}

// system accounts for a line of system qos.
func (a *accountant) system(l *Line) {
	if isComment(l.Text) {
		return
	}
	key := keyOf(inSystem, l.Text)
	rest, _ := cutWords(l.Text, key)
	name := firstWord(rest)
	_, at, _ := last(a.v.system, key)
	d := verdict{fate: render.Unknown, why: notKnown}
	switch {
	case strings.HasPrefix(l.Text, "no "):
		d = usual("the switch's own policy is in force without the line")
	case (key == keyNetwork || key == keyInput || key == keyOutput) && at != l:
		d = inert("a later line overrides it: line %d", at.No)
	case key == keyNetwork && a.v.network != nil:
		d = a.networkInForce()
	case key == keyNetwork || key == keyOutput && a.v.policies[typeQueuing][name] == nil:
		d = usual("the switch's own policy is in force without the line")
	case (key == keyInput || key == keyOutput) && len(a.by[l]) == 0:
		d = inert("every port has a policy of its own")
	case key == keyInput:
		d = represented(a.by[l], classification...)
	case key == keyOutput:
		d = represented(a.by[l], scheduling...)
	case key == keyQueuingInput && builtIn(name):
		d = usual("the switch's own policy is in force without the line")
	case key == keyQueuingInput:
		d = buffered
	}
	a.add(systemHeader, l, d)
}

// classification holds the attributes that input policies set, scheduling those that output
// policies set.
var (
	classification = []qos.Attr{qos.KindMap.Table(qos.DSCPToTC), qos.KindMap.Table(qos.PCPToTC)}
	scheduling     = []qos.Attr{qos.KindScheduler.Span(0, qos.NumPriorities-1), qos.KindECN.Span(0, qos.NumPriorities-1)}
)

// networkInForce returns the verdict of a line that puts the network-qos policy in force.
func (a *accountant) networkInForce() verdict {
	var ports []string
	for _, port := range a.all {
		if a.dev.Ports[port].PFC.V != 0 {
			ports = append(ports, port)
		}
	}
	if len(ports) == 0 {
		if n := a.v.network; len(n.pauses()) == 0 {
			return left("it pauses nothing, and an intent cannot express the MTUs of its classes")
		}
		return a.pausesNoPort()
	}
	return represented(ports, qos.KindPFC.Attr())
}

// pausesNoPort returns the verdict of a pause setting that no port uses. In mode auto, the default,
// PFC depends on the DCBX peer, so its state is unknown.
func (a *accountant) pausesNoPort() verdict {
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
		return inert("no port pauses by it: PFC is off on all ports by %s off", keyOverride)
	case on > 0:
		return inert("no port pauses by it: no port with PFC classifies anything into its group")
	case auto > 0:
		return left("no port has %s on; with auto a port pauses only if its DCBX peer agrees", keyPFC)
	}
	return inert("no port pauses by it: PFC is off on all ports")
}

// profile accounts for the lines of a port-profile.
func (a *accountant) profile(l *Line, h head) {
	_, _, on := last(l, keyState)
	used, inherits := a.profileUse(firstProfile(h.name))
	for i, s := range append([]*Line{l}, l.Sub...) {
		where := l.Text
		if i == 0 {
			where = ""
		}
		switch {
		case isComment(s.Text):
		case !on:
			a.add(where, s, inert("the port-profile is not enabled: it has no line %q", keyState))
		case !inherits:
			a.add(where, s, inert("no interface inherits the port-profile"))
		case i > 0 && s.Text != keyState && !concerned(s.Text):
			a.add(where, s, left("it is not about QoS"))
		case i == 0 || s.Text == keyState:
			a.add(where, s, represented(used, qos.KindMTU.Attr(), qos.KindPFC.Attr(), qos.KindWatchdog.Attr(), classification[0]))
		default:
			a.port(where, s, h)
		}
	}
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

// port accounts for a line of an interface or of a port-profile.
func (a *accountant) port(where string, l *Line, h head) {
	if !concerned(l.Text) {
		return
	}
	text := strings.TrimPrefix(l.Text, "no ")
	key := keyOf(inInterface, text)
	rest, _ := cutWords(text, key)
	ports := a.by[l]
	d := verdict{fate: render.Unknown, why: notKnown}
	switch known := belongs(inInterface, text) && oddity(l.Text) == ""; {
	case key == keyInherit:
		d = a.inherits(h, rest)
	case !known:
	case l.Text != text || isDefault(inInterface, l.Text):
		if d = usual("it is so without the line"); key == keyPFC {
			d.why += "; whether PFC is on then depends on the DCBX peer"
		}
		if len(ports) > 0 && slices.ContainsFunc(ports, a.overridesInherited(key)) {
			d = represented(ports, portAttrs[key]...)
		}
	case h.at == inInterface && len(ports) == 0 && !strings.HasPrefix(h.name, "port-channel") && !isPort(h.name) && len(rangeOf(h.name)) == 1:
		d = left("the interface cannot be a port in an intent")
	case len(ports) == 0 && strings.HasPrefix(h.name, "port-channel"):
		d = inert("the port-channel has no member without a line of its own")
	case len(ports) == 0:
		d = inert("another line overrides it")
	case key == keyQueuingInput:
		d = buffered
	default:
		d = a.inForce(l, key, rest, ports)
	}
	a.add(where, l, d)
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

// portAttrs lists the attributes that lines of an interface set, by key.
var portAttrs = map[string][]qos.Attr{
	keyMTU: {qos.KindMTU.Attr()}, keyPFC: {qos.KindPFC.Attr()}, keyWatchdog: {qos.KindWatchdog.Attr()},
	keyReceive: {qos.KindLinkPause.Attr()}, keySend: {qos.KindLinkPause.Attr()}, keyInput: classification, keyOutput: scheduling,
}

// inherits returns the verdict of a line that inherits a port-profile.
func (a *accountant) inherits(h head, name string) verdict {
	p := a.v.profiles[name]
	if p == nil {
		return verdict{fate: render.Unknown, why: "there is no port-profile of that name"}
	}
	if _, _, on := last(p, keyState); !on {
		return inert("the port-profile is not enabled: it has no line %q", keyState)
	}
	var attrs []qos.Attr
	for _, s := range p.Sub {
		attrs = append(attrs, portAttrs[keyOf(inInterface, s.Text)]...)
	}
	if len(attrs) == 0 {
		return left("the port-profile has no QoS settings")
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
	return represented(ports, attrs...)
}

// inForce returns the verdict of an interface line that is in force on ports.
func (a *accountant) inForce(l *Line, key, rest string, ports []string) verdict {
	some := func(f func(port string) bool) bool { return slices.ContainsFunc(ports, f) }
	switch {
	case key == keyMTU && !some(func(p string) bool { return fmt.Sprint(a.dev.Ports[p].MTU.V) == rest }):
		return left("a network-qos class limits the port to %d bytes", a.dev.Ports[ports[0]].MTU.V).failing("MTU-05")
	case key == keyPFC && firstWord(rest) == "on" && !some(func(p string) bool { return a.dev.Ports[p].PFC.V != 0 }):
		return a.unpaused(ports[0])
	case key == keyWatchdog && !some(func(p string) bool { return a.dev.Ports[p].Watchdog.V.Enabled }):
		delete(a.unknown, l.No)
		if !a.timers.on {
			return inert("the watchdog of the switch is off: there is no line %q at the top level", keyWatchdog+" on").failing("WD-03")
		}
		return inert("the port pauses no priority")
	case (key == keyReceive || key == keySend) && some(func(p string) bool { return a.dev.Ports[p].PFC.V != 0 }):
		return represented(ports, portAttrs[key]...).failing("PFC-05")
	case key == keyOutput && a.v.policies[typeQueuing][firstWord(rest)] == nil && builtIn(firstWord(rest)):
		return usual("the switch's own policy is in force without the line")
	}
	return represented(ports, portAttrs[key]...)
}

// unpaused returns the verdict of a line that turns PFC on but pauses no priority.
func (a *accountant) unpaused(port string) verdict {
	pauses := a.v.network.pauses()
	switch {
	case a.v.overridden():
		return inert("PFC is off on all ports by %s off", keyOverride)
	case len(pauses) > 0:
		return inert("the port pauses nothing: it classifies nothing into a qos-group that network-qos policy %s pauses", a.v.network.name)
	}
	for _, name := range natural.Keys(a.v.policies[typeNetwork]) {
		if !a.attached(typeNetwork, name) && a.pausesAny(a.v.policies[typeNetwork][name]) {
			return inert("the port pauses nothing: network-qos policy %s is not attached under %s", name, systemHeader).failing("PFC-03")
		}
	}
	return inert("the port pauses nothing: no network-qos policy pauses a priority").failing("PFC-03")
}

// pausesAny reports whether a network-qos policy pauses any priority.
func (a *accountant) pausesAny(policy *Line) bool {
	for _, c := range classes(policy) {
		for _, l := range c.Sub {
			if _, ok := cutWords(l.Text, keyPause); ok {
				return true
			}
		}
	}
	return false
}

// classMap accounts for a class-map.
func (a *accountant) classMap(l *Line, h head) {
	id := h.typ + " " + h.name
	top := a.classMapUse(h, id)
	if _, q := a.v.m.queue(h.typ, h.name); q && h.typ != typeQoS {
		top = usual("a class of the switch")
	}
	a.add("", l, top)
	for _, s := range l.Sub {
		switch {
		case isComment(s.Text):
		case top.fate != render.Represented || h.typ != typeQoS:
			a.add(l.Text, s, top)
		default:
			d := a.verdictOf(s)
			if strings.Contains(a.unknown[s.No], "must all hold") {
				d = verdict{fate: render.Unknown}.failing("CLS-12")
			} else if a.served[s] == nil {
				d = verdict{fate: render.Unknown, why: notKnown}
			}
			a.add(l.Text, s, d)
		}
	}
}

// classMapUse returns the verdict of the header of a class-map.
func (a *accountant) classMapUse(h head, id string) verdict {
	switch {
	case !a.mentioned[id]:
		return inert("no policy names the class-map")
	case !a.named[id]:
		return inert("no policy that names the class-map is attached")
	}
	var ports []string
	var attrs []qos.Attr
	if h.typ == typeQoS {
		for name, p := range a.v.policies[typeQoS] {
			if classIn(p, classHeader(typeQoS, h.name)) != nil {
				ports = append(ports, a.users[keyInput][name]...)
			}
		}
		return represented(ports, classification...)
	}
	if h.typ == typeNetwork {
		d := a.networkInForce()
		if _, ok := a.v.groups[h.typ][h.name]; !ok {
			d = verdict{fate: render.Unknown, why: "not a network-qos class of this switch"}
		}
		return d
	}
	for name, p := range a.v.policies[typeQueuing] {
		if classIn(p, classHeader(typeQueuing, h.name)) != nil {
			ports = append(ports, a.users[keyOutput][name]...)
		}
	}
	if q, ok := a.v.groups[h.typ][h.name]; ok {
		attrs = []qos.Attr{qos.KindScheduler.At(q), qos.KindECN.At(q)}
		return represented(ports, attrs...)
	}
	return verdict{fate: render.Unknown, why: "not an output queue of this switch"}
}
