package eos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
)

// Account returns the fate of each relevant line of a configuration, in the order of the text. A
// line is represented if leaving it out would change the model. The time grows with the number
// of lines and with the number of ports whose lines differ.
func Account(c *Config) []render.Line {
	r := read(c)
	a := &accountant{r: r, globals: r.globals(), whole: r.decode(), unknown: map[Unknown]string{}, seen: map[*Line]int{}}
	for _, u := range r.unknown {
		why := u.Why
		u.Why, u.Open = "", false
		a.unknown[u] = why
	}
	a.groups()
	a.policies = a.readPolicies()
	for _, l := range c.Lines {
		a.block(l)
	}
	return a.out
}

// accountant computes the account of one configuration.
type accountant struct {
	r       *reading
	globals globals
	// whole is the decoded configuration.
	whole    *qos.Device
	unknown  map[Unknown]string // reason why a line is not understood
	policies *policies
	// alike holds the groups of Ethernet ports with the same lines, by the profile or port
	// channel section that they depend on.
	alike map[string][]*group
	every []*group
	seen  map[*Line]int // index in out of each line, for lines that stand below several headers
	out   []render.Line
}

// group is a set of ports that behave the same, whichever line is left out.
type group struct {
	first *section
	ports []string
	// state is the effective configuration of the ports, and port its model in normalized form.
	state portState
	port  *qos.Port
}

func (a *accountant) groupOf(s *section) *group {
	g := &group{first: s, state: a.r.effective(s)}
	g.port = modelOf(g.state, &a.globals)
	return g
}

// modelOf returns the model of a port, normalized for comparison.
func modelOf(s portState, all *globals) *qos.Port {
	p := all.port(s)
	qos.Normalize(&qos.Device{Ports: map[string]*qos.Port{"": p}})
	return p
}

// groups groups the ports by their lines, including those of their profile and port channel.
func (a *accountant) groups() {
	a.alike = map[string][]*group{}
	by := map[string]*group{}
	for _, s := range a.r.order {
		if s.at != inInterface || !isEthernet(s.port()) {
			continue
		}
		var id strings.Builder
		for i := range s.held {
			id.WriteString(s.held[i].queue + "\x00" + s.held[i].text + "\n")
		}
		if s.switched() {
			id.WriteString("\x01")
		}
		g := by[id.String()]
		if g == nil {
			g = a.groupOf(s)
			by[id.String()] = g
			a.every = append(a.every, g)
			for _, on := range []string{sectionProfile + s.profileName(), sectionInterface + a.r.effective(s).lag} {
				a.alike[on] = append(a.alike[on], g)
			}
		}
		g.ports = append(g.ports, s.port())
		if a.alike[s.name] == nil {
			one := *g
			one.first, one.ports = s, []string{s.port()}
			a.alike[s.name] = []*group{&one}
		}
	}
}

// block accounts for a top-level line and the lines below it.
func (a *accountant) block(l *Line) {
	text := canonical(l.Text)
	switch {
	case text == sectionDefaults:
		a.below(a.r.defaults, "", l)
	case headerOf(text) == headSection:
		s := a.r.sections[text]
		if s.at == inProfile && len(l.Sub) == 0 {
			a.say(l, "", render.Inert, "the profile is empty", "")
		}
		a.below(s, "", l)
	case strings.HasPrefix(text, "class-map "), strings.HasPrefix(text, "policy-map "):
		fate, why := a.policies.fate(text)
		a.all(l, "", func(*Line) (render.Fate, string) { return fate, why })
	case buffers(text):
		a.all(l, "", func(*Line) (render.Fate, string) { return render.Unknown, whyBuffers })
	case concerns(text):
		a.line(a.r.global, "", l)
		a.addNotUnderstood(l)
	default:
		// Marking and policing of the switch's own packets is outside every intent.
		a.all(l, "", func(l *Line) (render.Fate, string) {
			if concerns(l.Text) {
				return render.Represented, ""
			}
			return "", ""
		})
	}
}

// buffers reports whether a top-level line is about the packet buffers of the switch.
func buffers(text string) bool {
	return strings.HasPrefix(text, "platform ") && (strings.Contains(text, " mmu ") || strings.Contains(text, " qos ")) ||
		strings.HasPrefix(text, "hardware buffer ") || strings.HasPrefix(text, "hardware qos ")
}

// defines reports whether a line begins a buffer profile, which has no effect until another line
// applies it.
func defines(text string) bool {
	return strings.Contains(text, " queue profile ") && !strings.HasSuffix(text, " apply")
}

const whyBuffers = "buffers and the queues inside of the switch are not read; they are tuned on the switch"

// all gives a line and all lines below it the fate that the function returns; "" skips a line.
func (a *accountant) all(l *Line, where string, fate func(*Line) (render.Fate, string)) {
	if f, why := fate(l); f != "" {
		a.say(l, where, f, why, "")
	}
	for _, s := range l.Sub {
		a.all(s, canonical(l.Text), fate)
	}
}

// concerns reports whether an account must list a line.
func concerns(text string) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "no "), "default ")
	first, rest, _ := strings.Cut(text, " ")
	return roce(text) || first == keyMTU || first == "service-policy" || first == "traffic-policy" || first == "l2" && strings.HasPrefix(rest, "m")
}

func (a *accountant) below(s *section, queue string, header *Line) {
	for _, l := range header.Sub {
		switch {
		case queue == "" && headerOf(l.Text) == headQueue:
			if len(l.Sub) == 0 {
				a.say(l, s.name, render.Inert, "the queue has no lines", "")
			}
			a.below(s, l.Text, l)
		case queue == "" && s == a.r.defaults && len(l.Sub) > 0:
			a.below(s, "", l)
		case concerns(l.Text):
			a.line(s, queue, l)
			a.addNotUnderstood(l)
		}
	}
}

// addNotUnderstood accounts for lines below a line that opens no block.
func (a *accountant) addNotUnderstood(header *Line) {
	for _, l := range header.Sub {
		a.all(l, canonical(header.Text), func(*Line) (render.Fate, string) { return render.Unknown, whyUnknown })
	}
}

func (a *accountant) say(l *Line, where string, fate render.Fate, why, check string) *render.Line {
	a.seen[l] = len(a.out)
	a.out = append(a.out, render.Line{No: l.No, Where: where, Text: l.Text, Fate: fate, Why: why, Check: check})
	return &a.out[len(a.out)-1]
}

// line accounts for one line of a section or of one of its queues.
func (a *accountant) line(s *section, queue string, l *Line) {
	where := strings.TrimSpace(s.name + " " + queue)
	if at, again := a.seen[l]; again {
		// Its header names several ports.
		if o := &a.out[at]; o.Ports != nil && s.at == inInterface {
			o.Ports = append(slices.Clip(o.Ports), s.port())
		}
		return
	}
	if s.at == inInterface && strings.HasPrefix(s.port(), "Port-Channel") && a.alike[s.name] == nil {
		a.say(l, where, render.Inert, "no port is a member of the port channel", "")
		return
	}
	if p, is := strings.CutPrefix(canonical(l.Text), keyPolicy+" "); is {
		fate, why := a.policies.fate(policyHead + p)
		a.say(l, where, fate, why, "")
		return
	}
	if why, ok := a.unknown[Unknown{Line: l.No, Section: s.name, Text: l.Text}]; ok {
		fate := render.Unknown
		if p, is := strings.CutPrefix(canonical(l.Text), keyProfile+" "); is && isEthernet(s.port()) && a.r.profile(p) == nil {
			fate = render.Inert
		}
		a.say(l, where, fate, why, "")
		return
	}
	at := placeIn(s.at, queue)
	h, ok := matchLine(l, at)
	if !ok && at == inDefaults {
		h, ok = matchLine(l, inEthernetDefaults)
	}
	switch {
	case !ok || h.Other:
		// The line is about another protocol or policy-based forwarding.
		a.say(l, where, render.Represented, "", "")
		return
	case s.at == inInterface && !isEthernet(s.port()) && a.alike[s.name] == nil:
		a.say(l, where, render.Represented, "", "").Ports = []string{s.port()}
		return
	case h.Negated || h.Text == h.First().Absent || h.No && h.set == nil:
		a.say(l, where, render.Default, "", "")
		return
	}
	if by := a.later(s, queue, l, h); by != "" {
		a.say(l, where, render.Inert, by, "")
		return
	}
	if why := inertKeys[h.Key]; why != "" {
		a.say(l, where, render.Inert, why, "")
		return
	}
	a.effect(s, queue, l, h, where)
}

// inertKeys lists keys whose lines have no effect on packets, with the reason.
var inertKeys = map[string]string{
	keyCount: "it counts marked packets and does nothing to them",
	keyName:  "it names a queue or a class and does nothing to packets",
}

// later names the later line that overrides l; "" if l is in force.
func (a *accountant) later(s *section, queue string, l *Line, h hit) string {
	ids := []int{0}
	if h.List() {
		ids = h.Entries()
	}
	by := ""
	for _, id := range ids {
		other := s.get(queue, h.keyText(id))
		if other == nil || other.line == l {
			return ""
		}
		by = "overridden by line " + itoa(other.line.No)
	}
	return by
}

// effect determines the fate of a line by decoding the configuration without it.
func (a *accountant) effect(s *section, queue string, l *Line, h hit, where string) {
	with, without := a.globals, a.globals
	var changes []qos.Change
	if s == a.r.global || s == a.r.defaults {
		a.r.without = l
		without = a.r.globals()
		a.r.without = nil
	}
	if s == a.r.global {
		before, after := &qos.Device{GlobalMaps: a.whole.GlobalMaps}, &qos.Device{GlobalMaps: qos.Of(without.maps())}
		if changes = qos.Diff(before, after); len(changes) == 0 && with.poll != without.poll && a.guarded() {
			changes = []qos.Change{{Field: qos.KindWatchdogPoll.Attr()}}
		}
		changes = slices.DeleteFunc(changes, func(c qos.Change) bool { return !a.trusted(c.Field) })
	}
	concerned := a.alike[s.name]
	if s == a.r.global || s == a.r.defaults {
		concerned = a.every
	}
	out := a.say(l, where, render.Represented, "", "")
	for _, c := range changes {
		out.Attrs = append(out.Attrs, c.Field)
		if h.List() {
			out.Keys = h.Entries()
		}
	}
	if !h.List() {
		a.addChangesWithout(out, l, concerned, &without)
	}
	if pause := h.Key == keySend || h.Key == keyReceive; pause && strings.HasSuffix(h.Text, " on") {
		// Either of the two lines is enough for link pause.
		out.Attrs, out.Ports = []qos.Attr{qos.KindLinkPause.Attr()}, nil
		for _, g := range concerned {
			out.Ports = append(out.Ports, g.ports...)
		}
	}
	if len(out.Attrs) == 0 {
		out.Fate, out.Why, out.Check = a.idle(s, queue, h, concerned)
	} else if h.Key == keyAllOff {
		out.Check = "PFC-07"
	} else if out.Attrs[0].Kind == qos.KindLinkPause && slices.ContainsFunc(out.Ports, func(p string) bool { return a.whole.Ports[p].PFC.V != 0 }) {
		out.Check = "PFC-05"
	}
	ordered.Sort(out.Ports, natural.Compare)
}

// mostCompared limits the number of port groups that are compared to find the attributes that a
// line sets. With few exceptions a line sets the same attributes on all of them.
const mostCompared = 8

// addChangesWithout adds the attributes and ports that change when a line is left out.
func (a *accountant) addChangesWithout(out *render.Line, l *Line, concerned []*group, without *globals) {
	known := map[qos.Attr]bool{}
	device := len(out.Attrs) > 0
	compared := 0
	for _, g := range concerned {
		a.r.without = l
		state := a.r.effective(g.first)
		a.r.without = nil
		if state == g.state && *without == a.globals {
			continue
		}
		is := modelOf(state, without)
		if *is == *g.port {
			continue
		}
		if compared++; compared <= mostCompared {
			of := func(p *qos.Port) *qos.Device {
				return &qos.Device{Ports: map[string]*qos.Port{"": p}, GlobalMaps: a.whole.GlobalMaps}
			}
			diffs := qos.Diff(of(g.port), of(is))
			for _, c := range diffs {
				if c.Field.Kind != qos.KindAdminUp && !known[c.Field] {
					known[c.Field] = true
					out.Attrs = append(out.Attrs, c.Field)
				}
			}
			if len(diffs) == 0 {
				continue
			}
		}
		if !device {
			out.Ports = append(out.Ports, g.ports...)
		}
	}
}

// guarded reports whether the watchdog is on at any port.
func (a *accountant) guarded() bool {
	for _, p := range a.whole.Ports {
		if p.Watchdog.V.Enabled {
			return true
		}
	}
	return false
}

// trusted reports whether any port classifies by a map.
func (a *accountant) trusted(f qos.Attr) bool {
	by := map[qos.Attr]qos.Trust{qos.KindGlobalMap.Table(qos.DSCPToTC): qos.TrustDSCP, qos.KindGlobalMap.Table(qos.PCPToTC): qos.TrustPCP}[f]
	for _, p := range a.whole.Ports {
		if by == "" || p.Trust.V == by {
			return true
		}
	}
	return false
}
