package eos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms"
)

// Account returns the fate of each relevant line of a configuration, in the order of the text. A
// line is represented if leaving it out would change the model. The time grows with the number
// of lines and with the number of ports whose lines differ.
func Account(c *Config) []render.Line {
	r := read(c)
	a := &accountant{r: r, globals: r.globals(), whole: r.decode(), strange: map[*Line]string{}}
	a.Ledger = forms.Ledger{Table: grammar(), Top: inGlobal, Opens: blockOf, Join: " ", Several: several, Comment: isComment, Listed: listed}
	for l, why := range r.why {
		if why == whyUnknown {
			a.strange[l] = why
		}
	}
	a.groups()
	a.policies = a.readPolicies()
	for _, l := range c.Lines {
		a.claimBlock(l)
	}
	for _, s := range slices.Concat([]*section{r.global, r.defaults}, r.order) {
		a.claimSection(s)
	}
	a.claimOverridden()
	for l, why := range r.why {
		if !strings.HasPrefix(canonical(l.Text), keyPolicy+" ") {
			a.NotUnderstood(l, why)
		}
	}
	a.claimFallback()
	return a.Account(c)
}

// accountant claims the lines of a configuration, with one function for each form whose lines may
// have no effect.
type accountant struct {
	forms.Ledger
	r       *reading
	globals globals
	// whole is the decoded configuration.
	whole *qos.Device
	// strange holds the lines that nobody knows.
	strange map[*Line]string
	// policies holds the claims of class maps and policies, by header.
	policies map[string]forms.Claim
	// alike holds the groups of Ethernet ports with the same lines, by the profile or port
	// channel section that they depend on.
	alike map[string][]*group
	every []*group
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

// isComment reports whether a line says nothing to the switch.
func isComment(line string) bool { return line[0] == '!' }

// listed reports whether an account lists a line that nothing claims.
func listed(block, line *Line) bool {
	if headerOf(line.Text) != headNone {
		return false
	}
	return concerns(line.Text) || block != nil && strings.HasPrefix(block.Text, sectionInterface) && misfits(line)
}

// misfits reports whether a line of an interface begins as one that changes attributes and has
// arguments that the switch refuses.
func misfits(l *Line) bool {
	text, _ := forms.CutNegation(l.Text)
	first, _, _ := strings.Cut(text, " ")
	_, known := matchLine(l, inInterface)
	return !known && (first == keyShutdown || first == keyChannel)
}

// concerns reports whether an account must list a line.
func concerns(text string) bool {
	text, _ = forms.CutNegation(text)
	first, rest, _ := strings.Cut(text, " ")
	return roce(text) || first == keyMTU || first == "service-policy" || first == "traffic-policy" || first == "l2" && strings.HasPrefix(rest, "m")
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

// claimBlock claims a line of the top level, unless it is a setting, and the lines below it that
// are read as a whole or not at all.
func (a *accountant) claimBlock(l *Line) {
	text := canonical(l.Text)
	switch {
	case headerOf(text) == headSection:
		if len(l.Sub) == 0 && strings.HasPrefix(text, sectionProfile) {
			a.Say(l, forms.Inert("the profile is empty"))
		}
		for _, s := range l.Sub {
			switch {
			case headerOf(s.Text) == headNone:
				a.claimUnder(s)
			case len(s.Sub) == 0:
				a.Say(s, forms.Inert("the queue has no lines"))
			default:
				for _, q := range s.Sub {
					a.claimUnder(q)
				}
			}
		}
	case strings.HasPrefix(text, "class-map "), strings.HasPrefix(text, "policy-map "):
		a.Whole(l, a.policyClaim(text))
	case buffers(text):
		a.Whole(l, forms.Unknown(whyBuffers))
	case concerns(text):
		a.claimUnder(l)
	default:
		a.claimForeign(l.Sub)
	}
}

// claimUnder claims the lines below a line about QoS that opens no block.
func (a *accountant) claimUnder(l *Line) {
	if len(l.Sub) > 0 && concerns(l.Text) {
		for _, s := range l.Sub {
			a.Whole(s, forms.Unknown(whyUnknown))
		}
	}
}

// claimForeign claims the lines about QoS below a line of another feature: marking and policing of
// the switch's own packets is outside every intent.
func (a *accountant) claimForeign(ls []*Line) {
	for _, l := range ls {
		if concerns(l.Text) {
			a.Say(l, forms.Sets(nil))
		}
		a.claimForeign(l.Sub)
	}
}

// claimSection claims the settings of a section.
func (a *accountant) claimSection(s *section) {
	if s.at == inInterface && strings.HasPrefix(s.port(), "Port-Channel") && a.alike[s.name] == nil {
		for _, n := range s.nodes {
			a.claimUnused(n.Sub)
		}
		return
	}
	for i := range s.held {
		h := &s.held[i]
		if !concerns(h.line.Text) {
			continue
		}
		if c, again := a.Claimed(h.line); again {
			// The line sets several entries, or its header names several ports.
			if c.Ports != nil && s.at == inInterface {
				c.Ports = append(slices.Clip(c.Ports), s.port())
				a.Say(h.line, c)
			}
			continue
		}
		if a.r.why[h.line] == "" || h.Key == keyPolicy || h.Key == keyProfile {
			a.Say(h.line, a.claim(s, h))
		}
	}
}

// claimUnused claims the lines about QoS of a port channel without members.
func (a *accountant) claimUnused(ls []*Line) {
	for _, l := range ls {
		if concerns(l.Text) && headerOf(l.Text) == headNone {
			a.Say(l, forms.Inert("no port is a member of the port channel"))
		}
		a.claimUnused(l.Sub)
	}
}

// claimOverridden claims the lines in whose place a later line is in force.
func (a *accountant) claimOverridden() {
	for _, o := range a.r.overridden {
		if _, ok := a.Claimed(o.line); ok || a.r.why[o.line] != "" || !concerns(o.line.Text) {
			continue
		}
		if o.states() {
			a.Say(o.line, forms.Default(""))
		} else {
			a.Say(o.line, forms.Inert("overridden by line %d", o.in.get(o.queue, o.spot.key).line.No))
		}
	}
}

// states reports whether a line states a default.
func (h *held) states() bool {
	return h.Negated || h.Text == h.First().Absent || h.No && h.set == nil
}

// claim returns the claim of a line that is in force.
func (a *accountant) claim(s *section, h *held) forms.Claim {
	switch {
	case h.Key == keyPolicy && !h.Negated:
		return a.policyClaim(policyHead + h.Values[0])
	case h.Key == keyProfile && a.r.why[h.line] != "" && isEthernet(s.port()):
		return forms.Inert("%s", a.r.why[h.line])
	case s.at == inInterface && !isEthernet(s.port()) && a.alike[s.name] == nil:
		return forms.Sets([]string{s.port()})
	case h.states():
		return forms.Default("")
	case inertKeys[h.Key] != "":
		return forms.Inert("%s", inertKeys[h.Key])
	}
	return a.effect(s, h)
}

// inertKeys lists keys whose lines have no effect on packets, with the reason.
var inertKeys = map[string]string{
	keyCount: "it counts marked packets and does nothing to them",
	keyName:  "it names a queue or a class and does nothing to packets",
}

// effect returns the claim of a line by decoding the configuration without it.
func (a *accountant) effect(s *section, h *held) forms.Claim {
	without := a.globals
	concerned := a.alike[s.name]
	if s == a.r.global || s == a.r.defaults {
		a.r.without = h.line
		without = a.r.globals()
		a.r.without = nil
		concerned = a.every
	}
	out := forms.Sets(nil)
	if s == a.r.global {
		out.Attrs = a.changesOfSwitch(&without)
		if h.List() && len(out.Attrs) > 0 {
			out.Keys = h.Entries()
		}
	}
	if !h.List() {
		a.addChangesWithout(&out, h.line, concerned, &without)
	}
	if pause := h.Key == keySend || h.Key == keyReceive; pause && strings.HasSuffix(h.Text, " on") {
		// Either of the two lines is enough for link pause.
		out.Attrs, out.Ports = []qos.Attr{qos.KindLinkPause.Attr()}, nil
		for _, g := range concerned {
			out.Ports = append(out.Ports, g.ports...)
		}
	}
	switch {
	case len(out.Attrs) == 0:
		out = statingDefault(a.idle(s, h, concerned), h, concerned)
	case h.Key == keyAllOff:
		out.Check = "PFC-07"
	case out.Attrs[0].Kind == qos.KindLinkPause && slices.ContainsFunc(out.Ports, func(p string) bool { return a.whole.Ports[p].PFC.V != 0 }):
		out.Check = "PFC-05"
	}
	ordered.Sort(out.Ports, natural.Compare)
	return out
}

// statingDefault adds to the claim of a line that states the default the ports and attributes for
// which it does.
func statingDefault(c forms.Claim, h *held, concerned []*group) forms.Claim {
	if c.Fate != render.Default {
		return c
	}
	for _, g := range concerned {
		c.Ports = append(c.Ports, g.ports...)
	}
	for _, k := range h.Kinds {
		c.Attrs = append(c.Attrs, k.Attr())
	}
	return c
}

// changesOfSwitch returns the attributes of the switch that change if it has other globals.
func (a *accountant) changesOfSwitch(without *globals) (out []qos.Attr) {
	before, after := &qos.Device{GlobalMaps: a.whole.GlobalMaps}, &qos.Device{GlobalMaps: qos.Of(without.maps())}
	changes := qos.Diff(before, after)
	if len(changes) == 0 && a.globals.poll != without.poll && a.guarded() {
		changes = []qos.Change{{Field: qos.KindWatchdogPoll.Attr()}}
	}
	for _, c := range changes {
		if a.trusted(c.Field) {
			out = append(out, c.Field)
		}
	}
	return out
}

// mostCompared limits the number of port groups that are compared to find the attributes that a
// line sets. With few exceptions a line sets the same attributes on all of them.
const mostCompared = 8

// addChangesWithout adds the attributes and ports that change when a line is left out.
func (a *accountant) addChangesWithout(out *forms.Claim, l *Line, concerned []*group, without *globals) {
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
