package eos

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// spot is a setting in a section.
type spot struct{ queue, key string }

// held is the line that a section holds for a spot.
type held struct {
	spot
	hit
	id   int
	line *Line
	// text is the line; for a list, the line of this entry alone.
	text string
	// inert is set if the line configures nothing.
	inert bool
}

// section is an interface, a profile, or, with an empty name, the top level.
type section struct {
	name  string
	at    place
	nodes []*Line // several if the text opens it again
	held  []held  // one per spot; the last line counts
	index map[spot]int
	// foreign is set if the section has lines that the grammar does not know.
	foreign bool
}

// overridden is a line in whose place a later line is in force.
type overridden struct {
	held
	in *section
}

// reading indexes a configuration by sections.
type reading struct {
	global   *section
	defaults *section
	top      []*Line // lines in no section
	sections map[string]*section
	order    []*section
	unknown  []Unknown
	// fragment is set if the text is not the complete output of a switch.
	fragment bool
	// without is a line to ignore; nil for none.
	without *Line
	// ports holds the defaults for ports.
	ports portDefaults
	// state is scratch space for the interface being evaluated.
	state state
	// why holds the reason why each line in unknown is not understood, and overridden the lines in
	// whose place a later line of the same section is in force.
	why        map[*Line]string
	overridden []overridden
	// blocks holds the lines of policies and class maps, policies the ones read so far.
	blocks   map[string][]*Line
	policies map[string]*policy
}

const (
	whyUnknown = "this tool does not know the line and leaves it"
	whyKind    = "only Ethernet ports are read, and whether the members of a port channel take the line is not documented"
	whyOverlay = "an intent cannot express it; CLS-16 compares it with the port"
	whyDoubt   = "it is not documented whether the line overrides the profile; this tool assumes that the profile wins"
)

// leavesOpen lists the reasons of lines that may change the class, the pause or the queue of
// packets.
var leavesOpen = []string{whyUnknown, whyKind, whyDoubt, whyPolicy, whyNegotiate, whyShape, whyBuffers}

func read(c *Config) *reading {
	r := &reading{
		global:   &section{at: inGlobal, index: map[spot]int{}},
		defaults: &section{name: sectionDefaults, at: inDefaults, index: map[spot]int{}},
		sections: map[string]*section{}, fragment: !c.Complete(), why: map[*Line]string{},
		blocks: policyBlocks(c), policies: map[string]*policy{},
	}
	var top []*Line
	for _, l := range c.Lines {
		if headerOf(l.Text) != headSection {
			top = append(top, l)
			continue
		}
		if canonical(l.Text) == sectionDefaults {
			r.portDefaults(inDefaults, l.Sub)
			continue
		}
		r.section(canonical(l.Text)).nodes = append(r.section(canonical(l.Text)).nodes, l)
	}
	r.top = top
	r.lines(r.global, "", top)
	r.ports = r.globals().ports
	for _, s := range r.order {
		s.reserve()
		for _, n := range s.nodes {
			r.lines(s, "", n.Sub)
		}
	}
	return r
}

// reserve makes room for the lines of a section.
func (s *section) reserve() {
	n := 0
	for _, node := range s.nodes {
		n += len(node.Sub)
		for _, l := range node.Sub {
			n += len(l.Sub)
		}
	}
	s.held, s.index = make([]held, 0, n), make(map[spot]int, n)
}

// canonical returns a line with single spaces. Most lines have them already.
func canonical(text string) string {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == ' ' && (i == 0 || i == len(text)-1 || text[i-1] == ' ') {
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return text
}

func (r *reading) section(name string) *section {
	s := r.sections[name]
	if s == nil {
		s = &section{name: name, at: inInterface}
		if strings.HasPrefix(name, sectionProfile) {
			s.at = inProfile
		}
		r.sections[name] = s
		r.order = append(r.order, s)
	}
	return s
}

// lines reads the lines of a section or of one of its queues.
func (r *reading) lines(s *section, queue string, ls []*Line) {
	at := placeIn(s.at, queue)
	from := len(s.held)
	all := false
	for _, l := range ls {
		if queue == "" && at != inGlobal && headerOf(l.Text) == headQueue {
			r.lines(s, l.Text, l.Sub)
			continue
		}
		if at == inGlobal && buffers(l.Text) && !defines(l.Text) {
			r.report(s, l, whyBuffers)
		}
		h, ok := matchLine(l, at)
		if !ok {
			s.foreign = true
			if aboutQoS(at, l.Text) {
				r.report(s, l, whyUnknown)
			}
			continue
		}
		s.foreign = s.foreign || h.Other || len(l.Sub) > 0
		if h.Other {
			continue
		}
		// The old form of an unset line is a separate row of the grammar.
		h.Negated = h.Negated || h.set == nil && h.No
		all = all || h.Negated && h.Key != keyShutdown // people type "no shutdown" themselves
		if !h.List() {
			r.hold(s, held{spot: spot{queue, h.keyText(0)}, hit: h, line: l, text: h.Text, inert: h.Negated})
			continue
		}
		for _, id := range h.Entries() {
			r.hold(s, held{spot: spot{queue, h.keyText(id)}, hit: h, id: id, line: l, text: h.Entry(itoa(id)), inert: h.Negated})
		}
	}
	for i := from; i < len(s.held); i++ {
		h := &s.held[i]
		if h.queue != queue {
			continue
		}
		// If the block comes from "show running-config all", a line with the default value is
		// not configuration.
		h.inert = h.inert || all && h.text == r.usual(s, h)
		if !h.inert && h.text != h.First().Absent {
			r.reportUnmodelled(s, h)
		}
	}
}

// placeIn returns the place of lines in a section, or in a queue of the section.
func placeIn(section place, queue string) place {
	if queue != "" {
		return inQueue
	}
	return section
}

// portDefaults reads "interface defaults". The model covers all settings there, so every unknown
// line is reported; the account lists only those that concern QoS.
func (r *reading) portDefaults(at place, ls []*Line) {
	for _, l := range ls {
		h, ok := matchLine(l, at)
		switch {
		case !ok && concerns(l.Text):
			r.report(r.defaults, l, whyUnknown)
		case !ok:
			r.unknown = append(r.unknown, Unknown{Line: l.No, Section: r.defaults.name, Text: l.Text, Why: whyUnknown, Open: true})
		case h.Other:
			r.portDefaults(inEthernetDefaults, l.Sub)
		default:
			r.hold(r.defaults, held{spot: spot{key: h.Key}, hit: h, line: l, text: h.Text, inert: h.Negated})
		}
	}
}

// usual returns the line that states the default for a spot.
func (r *reading) usual(s *section, h *held) string {
	switch {
	case s.at != inInterface || h.queue != "":
	case h.spot.key == keyShutdown && r.ports.shutdown && isEthernet(s.port()):
		return keyShutdown
	case h.spot.key == keySwitchport && r.ports.routed:
		return "no " + keySwitchport
	}
	return h.First().Absent
}

// reportUnmodelled reports a line that the model cannot represent.
func (r *reading) reportUnmodelled(s *section, h *held) {
	switch {
	case h.Why != "" && h.Key != keyPolicy: // see [reading.classify] for policies
		r.report(s, h.line, h.Why)
	case h.set != nil && strings.HasPrefix(h.queue, multicastQueue):
		r.report(s, h.line, whyMulticast)
	case s.isOverlay(h):
		r.report(s, h.line, whyOverlay)
	case s.at == inInterface && roce(h.text) && !isEthernet(s.port()):
		r.report(s, h.line, whyKind)
	case strings.Contains(h.text, " drop-precedence ") && h.List():
		r.report(s, h.line, "the drop precedence is not compared")
	}
}

// reportDoubtfulUnsets reports interface lines that unset something that the profile configures.
// "show running-config all" prints such lines for everything, including all eight priorities;
// otherwise someone configured them.
func (r *reading) reportDoubtfulUnsets(s *section) {
	p := r.profile(s.profileName())
	if p == nil {
		return
	}
	inert := 0
	for i := range qos.NumPriorities {
		if h := s.get("", keyNoDrop+itoa(i)); h != nil && h.inert {
			inert++
		}
	}
	if inert == qos.NumPriorities {
		return
	}
	for i := range s.held {
		if h := &s.held[i]; h.Negated && p.value(h.queue, h.spot.key) != "" {
			r.report(s, h.line, whyDoubt)
		}
	}
}

func (r *reading) report(s *section, l *Line, why string) {
	r.unknown = append(r.unknown, Unknown{Line: l.No, Section: s.name, Text: l.Text, Why: why, Open: slices.Contains(leavesOpen, why)})
	r.why[l] = why
}

func (r *reading) hold(s *section, h held) {
	if i, ok := s.index[h.spot]; ok {
		if s.held[i].line != h.line {
			r.overridden = append(r.overridden, overridden{s.held[i], s})
		}
		s.held[i] = h
		return
	}
	s.index[h.spot] = len(s.held)
	s.held = append(s.held, h)
}

// get returns the line that the section holds at a spot; nil if there is none.
func (s *section) get(q, key string) *held {
	if s == nil {
		return nil
	}
	if i, ok := s.index[spot{q, key}]; ok {
		return &s.held[i]
	}
	return nil
}

// value returns the line that configures a spot; "" for the default.
func (s *section) value(q, key string) string {
	if h := s.get(q, key); h != nil && !h.inert {
		return h.text
	}
	return ""
}

func (s *section) port() string { return strings.TrimPrefix(s.name, sectionInterface) }

// profileName returns the name of the profile that an interface uses.
func (s *section) profileName() string {
	if s == nil {
		return ""
	}
	return strings.TrimPrefix(s.value("", keyProfile), keyProfile+" ")
}

// profile returns the section of a profile; nil if it is not defined.
func (r *reading) profile(name string) *section { return r.sections[sectionProfile+name] }

// isEthernet reports whether a name is that of one Ethernet port: "Ethernet1/1".
func isEthernet(name string) bool {
	n, ok := strings.CutPrefix(name, "Ethernet")
	if !ok || len(n) > 16 {
		return false
	}
	parts := strings.Split(n, "/")
	for _, p := range parts {
		if _, ok := lines.Number(p, math.MaxInt); !ok {
			return false
		}
	}
	return len(parts) <= 3
}

// globals returns the switch-wide settings, including defaults.
func (r *reading) globals() globals {
	s := state{global: defaultGlobals()}
	for _, sec := range []*section{r.global, r.defaults} {
		sec.apply(&s, r.without)
	}
	return s.global
}

// apply applies the lines of a section to a state, except the line without.
func (s *section) apply(st *state, without *Line) {
	if s == nil {
		return
	}
	for i := range s.held {
		if s.held[i].line != without {
			s.held[i].apply(st)
		}
	}
}

// apply applies a line to a state.
func (h *held) apply(s *state) {
	if h.inert || h.set == nil {
		return
	}
	a := args{line: h.Text, w: h.Values, id: h.id}
	if h.queue == "" {
		h.set(s, a)
		return
	}
	if strings.HasPrefix(h.queue, multicastQueue) {
		return
	}
	q := &s.port.queues[h.queue[len(h.queue)-1]-'0']
	s.queue = *q
	h.set(s, a)
	*q = s.queue
}

// effective returns the settings in force on an interface: defaults, then its profile, then its
// own lines.
func (r *reading) effective(s *section) portState {
	st := &r.state
	*st = state{port: portState{routed: r.ports.routed}}
	if named := s.get("", keyProfile); named != nil && named.line != r.without {
		r.profile(s.profileName()).apply(st, r.without)
	}
	s.apply(st, r.without)
	p := st.port
	if r.fragment && p.mtu > 0 && !s.switched() {
		// Generated text does not say which ports are routed: its MTU holds in either case.
		p.l2mtu = cmp.Or(p.l2mtu, p.mtu)
	}
	if bundle := r.sections[sectionInterface+p.lag]; isEthernet(s.port()) && bundle != nil {
		// A member is routed if its port channel is, and has the channel's MTU. A port channel
		// is never a member of another one.
		b := r.effective(bundle)
		p.routed, p.mtu, p.l2mtu = b.routed, b.mtu, b.l2mtu
	}
	return p
}

// switched reports whether an interface has a "switchport" line.
func (s *section) switched() bool {
	for _, n := range s.nodes {
		for _, l := range n.Sub {
			if first, _, _ := strings.Cut(l.Text, " "); first == keySwitchport {
				return true
			}
		}
	}
	return false
}

// same reports whether two lines of one spot mean the same; "" is the default.
func same(a, b string, queue string, at place) bool {
	if a == b {
		return true
	}
	at = placeIn(at, queue)
	stateOf := func(text string) (state, bool) {
		s := state{global: defaultGlobals()}
		if text == "" {
			return s, true
		}
		h, ok := match(text, at)
		if !ok {
			return s, false
		}
		one := held{hit: h, spot: spot{queue: queue}, inert: h.Negated}
		if h.List() && !h.Negated {
			one.id = h.Entries()[0]
		}
		if h.set == nil && h.Text != h.First().Absent && !h.Negated {
			return s, false
		}
		one.apply(&s)
		return s, true
	}
	x, ok := stateOf(a)
	y, also := stateOf(b)
	if !ok || !also {
		return false
	}
	for i := range qos.NumPriorities {
		p, q := &x.port.queues[i], &y.port.queues[i]
		if p.ecn.Same(q.ecn) {
			p.ecn = q.ecn
		}
	}
	x.queue, y.queue = queueState{}, queueState{}
	return x == y
}

// tidy sorts by line number and removes duplicates, which list lines cause.
func tidy(us []Unknown) []Unknown {
	ordered.Sort(us, func(a, b Unknown) int { return cmp.Compare(a.Line, b.Line) })
	return slices.Compact(us)
}
