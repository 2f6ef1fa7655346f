package nxos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// view indexes a configuration by the names of its blocks.
type view struct {
	m ClassModel
	// global holds the lines outside blocks.
	global    *Line
	system    *Line
	classMaps map[string]*Line
	policies  map[string]map[string]*Line // by type and name
	// ports holds interfaces of all kinds, each with the lines in force on it: those of its
	// port-profile, then those of ranges and its own.
	ports map[string]*Line
	// raw holds the interfaces as written, profiles the port-profiles.
	raw, profiles map[string]*Line
	// groups holds the qos-groups of user-defined classes, by type and name.
	groups map[string]map[string]int

	// bridgedMTU is set if only network-qos classes limit the MTU of a switched port.
	bridgedMTU bool

	// Blocks that have been read, by name.
	matches      map[string]matched
	lags         map[string]map[string]*Line
	inputs       map[string]*classifier
	outputs      map[string]*queues
	pauseBuffers map[string]pauseBuffers
	network      *network // the attached policy; nil for the default

	unknown []Unknown
	seen    map[Unknown]bool
	// why holds the first reason why a line of the text is not understood.
	why map[*Line]string
	// plain holds the lines in why whose meaning is known.
	plain map[*Line]bool
}

func newView(c *Config, m ClassModel) *view {
	v := &view{
		m: m, global: &Line{}, classMaps: map[string]*Line{}, ports: map[string]*Line{}, raw: map[string]*Line{}, profiles: map[string]*Line{},
		groups:   map[string]map[string]int{typeNetwork: {}, typeQueuing: {}},
		policies: map[string]map[string]*Line{typeQoS: {}, typeNetwork: {}, typeQueuing: {}},
		matches:  map[string]matched{}, lags: map[string]map[string]*Line{}, inputs: map[string]*classifier{}, outputs: map[string]*queues{}, pauseBuffers: map[string]pauseBuffers{}, seen: map[Unknown]bool{}, plain: map[*Line]bool{},
	}
	for _, l := range c.Lines {
		h, ok := headOf(l.Text)
		switch {
		case !ok:
			v.global.Sub = append(v.global.Sub, l)
		case h.at == inSystem:
			v.system = l
		case h.at == inInterface:
			v.raw[h.name] = l
			v.addToInterfaces(h.name, l)
		case h.at == inProfile:
			v.profiles[firstProfile(h.name)] = l
		case h.at == inClassMap && h.typ == typeQoS:
			v.classMaps[h.name] = l
		case h.at == inClassMap && v.groups[h.typ] != nil:
			rest, _, _ := last(l, keyMatchGroup)
			if g, ok := lines.Number(rest, m.top()); ok {
				v.groups[h.typ][h.name] = g
			}
		case h.at == inPolicy && v.policies[h.typ] != nil:
			v.policies[h.typ][h.name] = l
		}
	}
	v.readRelease()
	v.restClasses()
	v.inherit()
	v.network = v.readNetwork()
	return v
}

// oldTrain matches the releases of Nexus 3000 and 5000 in which switched ports have no MTU of
// their own (Nexus 3000 and 5000 NX-OS QoS Configuration Guides, jumbo MTU): 6.0(2)U6(5),
// 7.3(6)N1(1).
var oldTrain = lazyre.New(`^version \d+\.\d+\(\w+\)[NU]\d`)

// readRelease reads what follows from the release that the text states.
func (v *view) readRelease() {
	v.bridgedMTU = slices.ContainsFunc(v.global.Sub, func(l *Line) bool { return oldTrain.MatchString(l.Text) })
}

// restClasses gives the class of the rest its group in the policies that name it.
func (v *view) restClasses() {
	for _, typ := range []string{typeNetwork, typeQueuing} {
		for _, p := range v.policies[typ] {
			if classIn(p, classHeader(typ, restClass)) != nil {
				v.groups[typ][restClass] = 0
			}
		}
	}
}

// firstProfile returns the name of a port-profile without its type: "ethernet SERVERS".
func firstProfile(name string) string { return name[strings.LastIndexByte(name, ' ')+1:] }

// maxRange limits the number of interfaces that ranges in a text may name.
const maxRange = 4096

// addToInterfaces adds the lines of a block to the interfaces that its header names.
func (v *view) addToInterfaces(name string, l *Line) {
	names := rangeOf(name)
	for _, n := range names {
		have := v.ports[n]
		switch {
		case have == nil && len(names) == 1:
			v.ports[n] = l
		case have == nil && len(v.ports) < maxRange:
			v.ports[n] = &Line{Text: "interface " + n, No: l.No, Sub: l.Sub}
		case have != nil:
			v.ports[n] = &Line{Text: "interface " + n, No: l.No, Sub: slices.Concat(have.Sub, l.Sub)}
		}
	}
}

// rangeOf returns the interfaces named by a header: one, or those of "Ethernet1/1-4,
// Ethernet1/9". Text that is not a known range is taken as one name.
func rangeOf(name string) []string {
	at := strings.IndexAny(name, "0123456789")
	if at <= 0 || !strings.ContainsAny(name[at:], "-,") {
		return []string{name}
	}
	typ := name[:at]
	var out []string
	for _, part := range strings.Split(name, ",") {
		part = strings.TrimPrefix(interfaceName(part), typ)
		first, end, isRange := strings.Cut(part, "-")
		slot := first[:strings.LastIndexByte(first, '/')+1]
		a, ok := lines.Number(first[len(slot):], maxRange)
		b := a
		if isRange {
			var also bool
			b, also = lines.Number(strings.TrimPrefix(strings.TrimPrefix(interfaceName(end), typ), slot), maxRange)
			ok = ok && also
		}
		if !ok || b < a || len(out)+b-a >= maxRange {
			return []string{name}
		}
		for n := a; n <= b; n++ {
			out = append(out, typ+slot+strconv.Itoa(n))
		}
	}
	return out
}

// inherit puts the lines of enabled port-profiles before the lines of interfaces that inherit
// them (Nexus 9000 NX-OS Interfaces Configuration Guide, Port Profiles: a setting on the
// interface wins).
func (v *view) inherit() {
	if len(v.profiles) == 0 {
		return
	}
	for name, own := range v.ports {
		if sub := v.profiled(own, 0); len(sub) > 0 {
			v.ports[name] = &Line{Text: own.Text, No: own.No, Sub: slices.Concat(sub, own.Sub)}
		}
	}
}

// profiled returns the lines that an interface or port-profile inherits, through at most four
// levels of profiles.
func (v *view) profiled(own *Line, depth int) []*Line {
	name, _, ok := last(own, keyInherit)
	p := v.profiles[name]
	if !ok || p == nil || depth >= 4 {
		return nil
	}
	if _, _, on := last(p, keyState); !on {
		return nil
	}
	return slices.Concat(v.profiled(p, depth+1), p.Sub)
}

// queue returns the queue or qos-group of a class in a queuing or network-qos policy. The class
// is predefined, or a user's class-map assigns it a group.
func (v *view) queue(typ, class string) (int, bool) {
	if q, ok := v.m.queue(typ, class); ok {
		return q, true
	}
	q, ok := v.groups[typ][class]
	return q, ok
}

// restClass is the class of what no other class matches. In policies of type network-qos and
// queuing it has qos-group 0 (Nexus 3000 and 5000 NX-OS QoS Configuration Guides, system classes;
// later releases take it as well).
const restClass = "class-default"

// class returns the class name for a queue in policies of a type: the user-defined class if a
// policy uses one, else the predefined class.
func (v *view) class(typ string, q int) string {
	for name, g := range v.groups[typ] {
		if g == q && slices.ContainsFunc(natural.Keys(v.policies[typ]), func(p string) bool {
			return classIn(v.policies[typ][p], classHeader(typ, name)) != nil
		}) {
			return name
		}
	}
	return v.m.class(typ, q)
}

// add notes a line whose meaning is known but that the model cannot represent.
func (v *view) add(section string, l *Line, why string, a ...any) {
	v.note(section, l, Unknown{Why: fmt.Sprintf(why, a...)})
}

// noteTrafficRelevant notes a line that may change how the switch handles traffic.
func (v *view) noteTrafficRelevant(section string, l *Line, why string, a ...any) {
	v.note(section, l, Unknown{Why: fmt.Sprintf(why, a...), Open: true})
}

func (v *view) note(section string, l *Line, u Unknown) {
	u.Section = section
	if l != nil {
		u.Line, u.Text = l.No, l.Text
		if v.why == nil {
			v.why = map[*Line]string{}
		}
		if v.why[l] == "" {
			v.why[l] = u.Why
		}
	}
	if !v.seen[u] {
		v.seen[u] = true
		v.unknown = append(v.unknown, u)
	}
}

// classes returns the classes of a policy in order; none if policy is nil.
func classes(policy *Line) []*Line {
	if policy == nil {
		return nil
	}
	var out []*Line
	for _, l := range policy.Sub {
		if _, _, ok := classOf(l.Text); ok {
			out = append(out, l)
		}
	}
	return out
}

// isComment reports whether a line is a comment or a description.
func isComment(text string) bool {
	return text[0] == '!' || text == keyDescription || strings.HasPrefix(text, keyDescription+" ")
}

// table holds the group of each DSCP, followed by the group of each priority.
type table [qos.NumDSCP + qos.NumPriorities]int8

func (t *table) dscp() []int8 { return t[:qos.NumDSCP] }
func (t *table) pcp() []int8  { return t[qos.NumDSCP:] }

// fill changes every entry with value from to value to.
func (t *table) fill(from, to int8) {
	for i := range t {
		if t[i] == from {
			t[i] = to
		}
	}
}

// groups returns the groups that anything is classified into.
func (t *table) groups() qos.PrioritySet {
	var set qos.PrioritySet
	for _, g := range t {
		if g >= 0 && g < qos.NumPriorities {
			set |= qos.Priorities(int(g))
		}
	}
	return set
}

// classifier is the decoded form of an input policy.
type classifier struct {
	table
	maps *qos.Maps // the same, with maps that are fixed on the switch
}

// into reports whether anything is classified into a group.
func (k *classifier) into(group int) bool { return k.groups().Has(group) }

// readInput reads a policy of type qos. "" means no policy: everything is in group 0. The first
// class that matches wins.
func (v *view) readInput(name string) *classifier {
	if k := v.inputs[name]; k != nil {
		return k
	}
	k := &classifier{}
	v.inputs[name] = k
	var leaves [qos.NumDSCP]int8
	for i := range leaves {
		leaves[i] = qos.Unmapped
	}
	var rewriting []*Line
	policy := v.policies[typeQoS][name]
	defer func() {
		m := qos.UnmappedMaps()
		pauses := v.network.pauses()
		tcs := trafficClasses(pauses)
		for i, g := range k.dscp() {
			m.DSCPToTC[i] = tcs[g]
		}
		for i, g := range k.pcp() {
			m.PCPToTC[i] = tcs[g]
		}
		several := false
		for g, tc := range tcs {
			m.TCToQueue[tc] = int8(g)
			to, one := rewritten(k.dscp(), leaves[:], int8(g))
			m.TCToDSCP[tc], several = to, several || !one
		}
		for n, g := range pauses {
			m.PFCToQueue[n] = int8(g)
		}
		for _, l := range rewriting {
			if several {
				v.add(policy.Text, l, "packets of one qos-group leave with several DSCPs, which this tool cannot represent")
			}
		}
		k.maps = m
	}()
	if policy == nil {
		return k
	}
	k.fill(0, qos.Unmapped)
	rest, restDSCP := int8(0), int8(qos.Unmapped)
	for _, l := range classes(policy) {
		_, class, _ := classOf(l.Text)
		group, dscp := v.readActions(policy, l)
		if _, at, ok := last(l, keySetDSCP); ok && dscp >= 0 {
			rewriting = append(rewriting, at)
		}
		if class == restClass {
			rest, restDSCP = group, dscp
			continue
		}
		m := v.match(policy, l, class)
		for i := range k.table {
			if k.table[i] == qos.Unmapped && m[i] {
				k.table[i] = group
				if dscp >= 0 && i < len(leaves) {
					leaves[i] = dscp
				}
			}
		}
	}
	for i, g := range k.dscp() {
		if g == qos.Unmapped && restDSCP >= 0 {
			leaves[i] = restDSCP
		}
	}
	k.fill(qos.Unmapped, rest)
	return k
}

// rewritten returns the DSCP with which all packets of a group leave, given the DSCP with which
// each code point leaves; Unmapped if they keep theirs. one is false if they leave with several.
func rewritten(groups, leaves []int8, group int8) (to int8, one bool) {
	to, one = qos.Unmapped, true
	set := false
	for d, g := range groups {
		if g != group {
			continue
		}
		leaf := int8(d)
		if leaves[d] >= 0 {
			leaf, set = leaves[d], true
		}
		one = one && (to == qos.Unmapped || to == leaf)
		to = leaf
	}
	if !set || !one {
		return qos.Unmapped, one || !set
	}
	return to, true
}

// readActions returns the qos-group that a class sets, 0 if it sets none, and the DSCP that it
// sets, Unmapped if it sets none.
func (v *view) readActions(policy, class *Line) (group, dscp int8) {
	dscp = qos.Unmapped
	for _, l := range class.Sub {
		if to, ok := cutWords(l.Text, keySetDSCP); ok {
			if n, known := numbers(to, qos.NumDSCP-1); known && len(n) == 1 {
				dscp = int8(n[0])
				continue
			}
		}
		rest, ok := cutWords(l.Text, keyGroup)
		n, isGroup := lines.Number(rest, v.m.top())
		switch {
		case ok && isGroup:
			group = int8(n)
		case ok:
			v.add(policy.Text, l, "not a qos-group of this switch; group 0 is assumed")
		case !isComment(l.Text):
			v.add(policy.Text, l, "this tool cannot represent this action of %s and leaves it", class.Text)
		}
	}
	return group, dscp
}

// matched marks the entries of a table that a class-map matches.
type matched [len(table{})]bool

// add marks the values that a line matches; it returns false for an unknown line.
func (m *matched) add(line string) bool {
	from, size := 0, qos.NumDSCP
	rest, ok := cutWords(line, keyDSCP)
	if ps, is := cutWords(line, keyPrecedence); is {
		ns, known := numbers(ps, qos.NumPriorities-1)
		for _, n := range ns {
			for i := range 8 {
				m[8*n+i] = true
			}
		}
		return known
	}
	if !ok {
		from, size = qos.NumDSCP, qos.NumPriorities
		rest, ok = cutWords(line, keyCoS)
	}
	ns, known := numbers(rest, size-1)
	if !ok || !known {
		return false
	}
	for _, n := range ns {
		m[from+n] = true
	}
	return true
}

// match returns the entries that a class matches.
func (v *view) match(policy, at *Line, class string) matched {
	if m, ok := v.matches[class]; ok {
		return m
	}
	cm := v.classMaps[class]
	if cm == nil {
		v.add(policy.Text, at, "there is no class-map %s; the class matches nothing", class)
		return matched{}
	}
	m := v.readClassMap(cm)
	v.matches[class] = m
	return m
}

func (v *view) readClassMap(cm *Line) (m matched) {
	h, _ := headOf(cm.Text)
	if h.match != "match-any" {
		fields := map[string]bool{}
		for _, l := range cm.Sub {
			if w := strings.Fields(l.Text); len(w) > 1 && !isComment(l.Text) {
				fields[w[1]] = true
			}
		}
		if len(fields) > 1 {
			for _, l := range cm.Sub {
				if !isComment(l.Text) {
					v.add(cm.Text, l, "matches of several fields that must all hold; the packets of the class are not known")
				}
			}
			return m
		}
	}
	for _, l := range cm.Sub {
		if !isComment(l.Text) && !m.add(l.Text) {
			v.add(cm.Text, l, "this tool cannot represent this match, so its packets are not known")
		}
	}
	return m
}

// classIn returns the class of a policy with the given header; nil if there is none.
func classIn(policy *Line, header string) *Line {
	typ, name, _ := classOf(header)
	for _, l := range classes(policy) {
		if t, n, _ := classOf(l.Text); t == typ && n == name {
			return l
		}
	}
	return nil
}
