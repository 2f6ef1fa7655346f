package nxos

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Decode returns the state that a configuration means on a switch of a class model, and the
// lines that the model cannot represent, in the order of the text. Every Ethernet interface is a
// port. Each value is the one in force, from the interface, its port-channel, system qos or the
// switch's default. An interface that prints neither "shutdown" nor "no shutdown" counts as down
// if it is routed, and as up if it is switched, unless the text has "system default switchport
// shutdown".
func Decode(c *Config, m ClassModel) (*qos.Device, []Unknown) {
	v := newView(c, m)
	d := v.device()
	ordered.Sort(v.unknown, func(a, b Unknown) int { return cmp.Compare(a.Line, b.Line) })
	return d, v.unknown
}

func (v *view) device() *qos.Device {
	d := &qos.Device{Ports: map[string]*qos.Port{}}
	t := v.readTimers()
	d.WatchdogPoll = qos.Of(t.interval)
	for _, name := range natural.Keys(v.ports) {
		switch {
		case isPort(name):
			d.Ports[name] = v.readPort(name, t)
		case isTunnel(name):
			if d.Tunnels == nil {
				d.Tunnels = map[string]qos.Tunnel{}
			}
			d.Tunnels[name] = tunnelOf(v.ports[name])
		case strings.ContainsAny(name, ",-") && !strings.HasPrefix(name, "port-channel"):
			v.noteTrafficRelevant(v.ports[name].Text, v.ports[name], "not a range of interfaces that this tool knows")
		}
	}
	d.Bridges, d.Overlays, d.HashSeed = v.bridges(), v.overlays(), v.hashSeed()
	v.reportUnmodelledGlobals()
	v.idlePauses(natural.Keys(d.Ports))
	qos.Normalize(d)
	return d
}

// hashSeed returns the universal ID that hashes begin with, and how far they are rotated. Without the
// former the switch chooses one (Nexus 9000 NX-OS Unicast Routing Configuration Guide, Configuring
// Load Sharing in the Unicast FIB).
func (v *view) hashSeed() string {
	line, _, _ := last(v.global, "ip load-sharing address")
	words := strings.Fields(line)
	after := func(key, usual string) string {
		if i := slices.Index(words, key); i >= 0 && i+1 < len(words) {
			return words[i+1]
		}
		return usual
	}
	id := after("universal-id", "")
	if id == "" {
		return ""
	}
	return id + " rotated by " + after("rotate", "32")
}

// isTunnel reports whether an interface is a VXLAN tunnel endpoint.
func isTunnel(name string) bool { return strings.HasPrefix(name, "nve") }

// tunnelOf reads a VXLAN tunnel interface. With "qos-mode pipe" decapsulation keeps the inner
// DSCP; otherwise it copies the DSCP of the outer header (Nexus 9000 NX-OS VXLAN Configuration
// Guide, Configuring VXLAN QoS).
func tunnelOf(own *Line) qos.Tunnel {
	t := qos.Tunnel{Kind: qos.TunnelVXLAN, Decap: qos.Of(qos.DSCPUniform)}
	if _, _, on := last(own, keyTunnelMode); on {
		t.Decap = qos.Of(qos.DSCPPipe)
	}
	return t
}

// isPort reports whether an interface is a physical port.
func isPort(name string) bool {
	return strings.HasPrefix(name, "Ethernet") && !strings.ContainsAny(name, ".,-")
}

// reportUnmodelledGlobals reports lines outside ports and policies that the model cannot represent.
func (v *view) reportUnmodelledGlobals() {
	for _, l := range v.global.Sub {
		word, rest, _ := strings.Cut(l.Text, " ")
		switch {
		case word == "priority-flow-control" && !knows(inGlobal, l), strangeAtTop(l):
			v.noteTrafficRelevant("", l, "%s", forms.NotKnown)
		case word == "hardware" && strings.HasPrefix(rest, "qos "):
			v.noteTrafficRelevant("", l, "this tool cannot represent this line and leaves it")
		}
		if n, ok := cutWords(l.Text, keyFixed); ok && n != "0" {
			v.add("", l, "this tool cannot represent a fixed time after which a queue is restored")
		}
	}
	if v.system == nil {
		return
	}
	for _, l := range v.system.Sub {
		if !knows(inSystem, l) && !isComment(l.Text) {
			v.noteTrafficRelevant(systemHeader, l, "%s", forms.NotKnown)
		}
	}
}

// idlePauses reports classes that pause a priority although no pausing port has traffic in their
// group. According to Cisco's guides they do nothing; what the switch announces for them to its
// neighbours is not documented.
func (v *view) idlePauses(ports []string) {
	ports = slices.DeleteFunc(ports, func(name string) bool { return !v.pfcOn(name) })
	if len(ports) == 0 {
		return
	}
	for p, g := range v.network.pauses() {
		if slices.ContainsFunc(ports, func(name string) bool { return v.input(name).into(g) }) {
			continue
		}
		if _, at, ok := last(v.network.class[g].line, keyPause); ok {
			v.plain[at] = true
			v.noteTrafficRelevant(v.network.class[g].line.Text, at, "no port classifies traffic into group %d; whether the switch pauses priority %d nevertheless is not documented", g, p)
		}
	}
}

// inherited lists the keys that a port without its own line takes from its port-channel.
var inherited = []string{keyMTU, keyPFC, keyWatchdog, keyInput, keyOutput, keyQueuingInput}

// aggregate returns the port-channel of a port; "" if it has none.
func aggregate(own *Line) string {
	rest, _, ok := last(own, keyChannel)
	n := firstWord(rest)
	if _, isNumber := lines.Number(n, 4096); !ok || !isNumber {
		return ""
	}
	return "port-channel" + n
}

// line returns the value of a key on a port, from the port's own line or its port-channel's.
func (v *view) line(port, key string) (rest string, ok bool) {
	own := v.ports[port]
	rest, at, ok := last(own, key)
	if at != nil {
		return rest, ok
	}
	if at := v.lag(aggregate(own))[key]; at != nil {
		return cutWords(at.Text, key)
	}
	return "", false
}

// lineAt returns the line that puts a key in force on a port: its own, the line of its
// port-profile or port-channel, or the line of system qos; nil if there is none.
func (v *view) lineAt(port, key string) *Line {
	own := v.ports[port]
	if _, at, ok := last(own, key); at != nil && (ok || attachedType[key] == "") {
		return at
	} else if at != nil {
		// A port whose own policy is removed uses the policy of system qos.
		_, at, _ = last(v.system, key)
		return at
	}
	if at := v.lag(aggregate(own))[key]; at != nil {
		return at
	}
	_, at, _ := last(v.system, key)
	return at
}

// lag returns the lines that members take from a port-channel, by key; nil if name is "".
func (v *view) lag(name string) map[string]*Line {
	if name == "" {
		return nil
	}
	ls, ok := v.lags[name]
	if !ok {
		ls = map[string]*Line{}
		for _, key := range inherited {
			if _, at, _ := last(v.ports[name], key); at != nil {
				ls[key] = at
			}
		}
		v.lags[name] = ls
	}
	return ls
}

// attached returns the name of the policy in force on a port for an attachment key: from the
// port, its port-channel or system qos; "" if there is none.
func (v *view) attached(port, key string) string {
	rest, ok := v.line(port, key)
	if !ok {
		rest, _, _ = last(v.system, key)
	}
	return firstWord(rest)
}

// pfcOn reports whether PFC is on. Mode auto, which depends on the peer, counts as off.
func (v *view) pfcOn(port string) bool {
	mode, _ := v.line(port, keyPFC)
	return firstWord(mode) == "on" && !v.overridden()
}

// overridden reports whether PFC is turned off for all ports, whatever their mode.
func (v *view) overridden() bool {
	rest, _, ok := last(v.global, keyOverride)
	return ok && rest == "off"
}

// paused returns the priorities that a port pauses: its PFC mode is on, the attached network-qos
// policy pauses them, and the port classifies traffic into their group.
func (v *view) paused(port string) qos.PrioritySet {
	var set qos.PrioritySet
	if !v.pfcOn(port) {
		return set
	}
	k := v.input(port)
	for p, g := range v.network.pauses() {
		if k.into(g) {
			set |= qos.Priorities(p)
		}
	}
	return set
}

func (v *view) input(port string) *classifier { return v.readInput(v.attached(port, keyInput)) }

func (v *view) readPort(name string, t timers) *qos.Port {
	own := v.ports[name]
	p := &qos.Port{AdminUp: qos.Of(v.up(own)), LAG: qos.Of(aggregate(own)), LinkPause: qos.Of(false)}
	v.reportUnmodelledPortLines(name, own)
	p.Maps = qos.Of(v.input(name).maps)
	p.Queues = *v.readOutput(v.attached(name, keyOutput))
	p.PFC = qos.Of(v.paused(name))
	v.readGroups(name, p)
	p.MTU = qos.Of(v.mtu(name, p.PFC.V))
	p.Watchdog = qos.Of(v.watchdog(name, p.PFC.V, t))
	if rest, l, ok := last(own, keyWatchdog); ok && !p.Watchdog.V.Enabled && strings.HasPrefix(rest, "on") {
		why := "the watchdog of the switch is off, so the line does nothing"
		if t.on {
			why = "the port pauses no priority, so the line does nothing"
		}
		v.add(own.Text, l, "%s", why)
	}
	for _, key := range []string{keyReceive, keySend} {
		if rest, _, ok := last(own, key); ok && rest == "on" {
			p.LinkPause.V = true
		}
	}
	return p
}

func (v *view) up(own *Line) bool {
	if _, at, ok := last(own, keyShutdown); at != nil {
		return !ok
	}
	for _, l := range own.Sub {
		if l.Text == "no switchport" {
			return false
		}
	}
	_, at, ok := last(v.global, "system default switchport shutdown")
	return at == nil || !ok
}

// mtu returns the MTU of a port: the MTU of its interface, limited by its qos-groups.
func (v *view) mtu(port string, paused qos.PrioritySet) int {
	mtu := v.interfaceMTU(port)
	for _, g := range v.bounds(port, paused).List() {
		mtu = min(mtu, v.network.mtu(g))
	}
	return mtu
}

// bounds returns the groups whose classes limit the MTU of a port: those of the priorities that
// it pauses, and, under a policy of this package, every group that it classifies into. Foreign
// policies, such as Cisco's examples, omit the classes of small packets, and it is not known
// what their ports then drop.
func (v *view) bounds(port string, paused qos.PrioritySet) (set qos.PrioritySet) {
	if v.network.ours() {
		set = v.input(port).groups()
	}
	for p, g := range v.network.pauses() {
		if paused.Has(p) {
			set |= qos.Priorities(g)
		}
	}
	return set
}

func (v *view) interfaceMTU(port string) int {
	rest, _ := v.line(port, keyMTU)
	if n, ok := lines.Number(rest, 1<<16); ok {
		return n
	}
	if v.bridgedMTU && !v.switched(port).Routed {
		return maxMTU
	}
	return defaultMTU
}

func (v *view) watchdog(port string, paused qos.PrioritySet, t timers) qos.Watchdog {
	rest, ok := v.line(port, keyWatchdog)
	w := strings.Fields(rest)
	if !t.on || !ok || len(w) == 0 || w[0] != "on" || paused == 0 {
		return qos.Watchdog{}
	}
	out := qos.Watchdog{
		Enabled: true, Priorities: paused, Action: qos.ActionDrop,
		Detect: t.interval * time.Duration(t.multiplier), Restore: t.interval * time.Duration(t.restore),
	}
	for i, option := range w {
		switch option {
		case "disable-action":
			out.Action = qos.ActionAlert
		case wordPortMultiplier:
			if i+1 < len(w) {
				if n, ok := lines.Number(w[i+1], 1000); ok && n > 0 {
					out.Detect = t.interval * time.Duration(n)
				}
			}
		}
	}
	return out
}

// reportUnmodelledPortLines reports the lines of a port that the model cannot represent, and
// lines that contradict its port-channel.
func (v *view) reportUnmodelledPortLines(name string, own *Line) {
	lag := aggregate(own)
	raw := v.raw[name]
	if raw == nil {
		raw = own
	}
	if rest, at, ok := last(raw, keyInherit); ok && v.profiles[rest] == nil {
		v.add(own.Text, at, "there is no port-profile of that name")
	}
	for _, l := range raw.Sub {
		if !listedOnPort(l) {
			continue
		}
		if why := oddity(l); why != "" {
			v.noteTrafficRelevant(own.Text, l, "%s", why)
		}
		f, ok := grammar.Lookup(inInterface, l)
		if !ok || lag == "" {
			continue
		}
		if theirs := v.lag(lag)[f.Sets()]; theirs != nil && theirs.Text != l.Text {
			v.noteTrafficRelevant(own.Text, l, "%s says otherwise: %s", lag, theirs.Text)
		}
	}
	for _, key := range []string{keyInput, keyOutput, keyQueuingInput} {
		policy, typ := v.attached(name, key), attachedType[key]
		if policy != "" && v.policies[typ][policy] == nil && !builtIn(policy) {
			at := v.lineAt(name, key)
			v.add(v.blockOf(name, at), at, "there is no %s policy %s; the default is assumed", typ, policy)
		}
	}
}

// blockOf returns the header of the block that holds a line in force on a port: the port, its
// port-profile, its port-channel, or system qos.
func (v *view) blockOf(port string, at *Line) string {
	own := v.ports[port]
	if v.system != nil && slices.Contains(v.system.Sub, at) {
		return systemHeader
	}
	blocks := []*Line{v.raw[port]}
	if lag := aggregate(own); lag != "" {
		blocks = append(blocks, v.raw[lag])
	}
	for _, b := range blocks {
		for range 5 { // the block and four levels of profiles
			if b == nil {
				break
			}
			if slices.Contains(b.Sub, at) {
				return b.Text
			}
			name, _, _ := last(b, keyInherit)
			b = v.profiles[name]
		}
	}
	return own.Text
}

// listedOnPort reports whether an account must list a line of a port.
func listedOnPort(l *Line) bool { return concerned(l.Text) || strange(l) }

// strange reports whether a line of an interface is about QoS and not known: by its words, or by the
// key of a form that changes attributes.
func strange(l *Line) bool {
	f, ok := grammar.Lookup(inInterface, l)
	return ok && !f.Fits() && len(f.Kinds) > 0 || !ok && !isComment(l.Text) && forms.AboutQoS(l.Text)
}

// strangeAtTop reports whether a line outside blocks is about QoS and not known there: by its
// words, or as a line of a block.
func strangeAtTop(l *Line) bool {
	if isComment(l.Text) || knows(inGlobal, l) {
		return false
	}
	if _, other := elsewhere.Find(inGlobal, l.Text); other {
		return false
	}
	return forms.AboutQoS(l.Text) || slices.ContainsFunc(qosPlaces, func(at place) bool { return belongs(at, l.Text) })
}

// oddity returns why the model cannot represent an interface line; "" if it can.
func oddity(l *Line) string {
	switch f, ok := grammar.Lookup(inInterface, l); {
	case !ok || !f.Fits():
		return forms.NotKnown
	case f.Negated:
		return ""
	default:
		return f.Why
	}
}
