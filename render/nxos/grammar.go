package nxos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// place is the kind of block that a line stands in.
type place = lines.Place

const (
	inGlobal place = iota
	inClassMap
	inPolicy
	inClassQoS
	inClassNetwork
	inClassQueuing
	inSystem
	inInterface
	inProfile
	inOther
)

// Types of class-maps and policy-maps.
const (
	typeQoS     = "qos"
	typeNetwork = "network-qos"
	typeQueuing = "queuing"
)

// attachedType is the type of the policies that a key attaches.
var attachedType = map[string]string{keyInput: typeQoS, keyOutput: typeQueuing, keyQueuingInput: typeQueuing}

// head is the parsed header of a block.
type head struct {
	at        place
	typ, name string
	// match tells how a class-map combines its lines: match-any or match-all.
	match string
}

// text returns the header as NX-OS prints it.
func (h head) text() string {
	switch h.at {
	case inClassMap:
		return "class-map type " + h.typ + " " + h.match + " " + h.name
	case inPolicy:
		return "policy-map type " + h.typ + " " + h.name
	case inSystem:
		return systemHeader
	}
	return "interface " + h.name
}

const systemHeader = "system qos"

// headOf parses the header of a block. A missing map type means qos, a missing match type
// match-all.
func headOf(text string) (head, bool) {
	if text == systemHeader {
		return head{at: inSystem}, true
	}
	word, rest, _ := strings.Cut(text, " ")
	if word != "interface" && word != "class-map" && word != "policy-map" && word != "port-profile" {
		return head{}, false
	}
	w := strings.Fields(rest)
	if word == "interface" {
		return head{at: inInterface, name: interfaceName(strings.Join(w, ""))}, len(w) > 0
	}
	if word == "port-profile" {
		return head{at: inProfile, name: strings.TrimPrefix(rest, "type ")}, len(w) > 0
	}
	h := head{at: inPolicy, typ: typeQoS}
	if len(w) > 2 && w[0] == "type" {
		h.typ, w = w[1], w[2:]
	}
	if word == "class-map" {
		h.at, h.match = inClassMap, "match-all"
		if len(w) > 1 && strings.HasPrefix(w[0], "match-") {
			h.match, w = w[0], w[1:]
		}
	}
	if len(w) != 1 {
		return head{}, false
	}
	h.name = w[0]
	return h, true
}

// interfaceName expands an abbreviated interface type as the switch does: "eth1/1".
func interfaceName(s string) string {
	at := strings.IndexAny(s, "0123456789")
	if at <= 0 || s[0] == 'E' && strings.HasPrefix(s, "Ethernet") {
		return s
	}
	typ := strings.ToLower(s[:at])
	switch {
	case strings.HasPrefix("ethernet", typ):
		return "Ethernet" + s[at:]
	case len(typ) > 1 && strings.HasPrefix("port-channel", typ):
		return "port-channel" + s[at:]
	}
	return s
}

// classOf parses the header of a class in a policy-map: "class ROCE", "class type queuing
// c-out-8q-q3".
func classOf(text string) (typ, name string, ok bool) {
	w := strings.Fields(text)
	switch {
	case len(w) == 2 && w[0] == "class":
		return typeQoS, w[1], true
	case len(w) == 4 && w[0] == "class" && w[1] == "type":
		return w[2], w[3], true
	}
	return "", "", false
}

// classHeader returns the header of a class in a policy-map of the given type.
func classHeader(typ, name string) string {
	if typ == typeQoS {
		return "class " + name
	}
	return "class type " + typ + " " + name
}

func classPlace(typ string) place {
	switch typ {
	case typeQoS:
		return inClassQoS
	case typeNetwork:
		return inClassNetwork
	case typeQueuing:
		return inClassQueuing
	}
	return inOther
}

// statement describes a kind of line that this package knows.
type statement struct {
	// words are the first words of the line; they are its key.
	words string
	// many is set if several such lines may stand in one block, each with its own key.
	many bool
	// unset is the command that removes the line; "" means "no" and the line itself.
	unset string
	// absent is the line that means the same as no line.
	absent string
}

// Keys that are used in more than one place in this package.
const (
	keyMTU          = "mtu"
	keyPFC          = "priority-flow-control mode"
	keyWatchdog     = "priority-flow-control watch-dog-interval"
	keyInput        = "service-policy type qos input"
	keyOutput       = "service-policy type queuing output"
	keyQueuingInput = "service-policy type queuing input"
	keyNetwork      = "service-policy type network-qos"
	keyShutdown     = "shutdown"
	keyReceive      = "flowcontrol receive"
	keySend         = "flowcontrol send"
	keyChannel      = "channel-group"
	keyInterval     = "priority-flow-control watch-dog interval"
	keyMultiplier   = "priority-flow-control watch-dog shutdown-multiplier"
	keyRestore      = "priority-flow-control auto-restore multiplier"
	keyFixed        = "priority-flow-control fixed-restore multiplier"
	keyOverride     = "priority-flow-control override-interface mode"
	keyDSCP         = "match dscp"
	keyCoS          = "match cos"
	keyGroup        = "set qos-group"
	keySetDSCP      = "set dscp"
	keyPause        = "pause pfc-cos"
	keyBandwidth    = "bandwidth"
	keyPriority     = "priority"
	keyShape        = "shape"
	keyNonECN       = "random-detect non-ecn"
	keyWRED         = "random-detect"
	keyDescription  = "description"
	keyPrecedence   = "match precedence"
	keyMatchGroup   = "match qos-group"
	keyInherit      = "inherit port-profile"
	keyTunnelMode   = "qos-mode pipe"
	keyState        = "state enabled"
)

// grammar lists the statements of each place. Of two that begin alike, the longer comes first.
// Sources: Cisco Nexus 9000 Series NX-OS Command Reference 9.3(x); YangModels/yang
// vendor/cisco/nx/9.3-2/Cisco-NX-OS-device.yang; batfish CiscoNxos_policy_map.g4 and
// CiscoNxos_class_map.g4.
var grammar = map[place][]statement{
	inGlobal: {
		{words: keyWatchdog, absent: keyWatchdog + " off"},
		{words: keyInterval}, {words: keyMultiplier}, {words: keyRestore}, {words: keyFixed}, {words: keyOverride},
	},
	inClassMap: {{words: keyDSCP, many: true}, {words: keyCoS, many: true}, {words: keyPrecedence, many: true}, {words: keyDescription}, {words: "match", many: true}},
	inPolicy:   {{words: keyDescription}, {words: "class", many: true}},
	inClassQoS: {{words: keyGroup}, {words: "set", many: true}, {words: "police", many: true}, {words: "service-policy"}},
	inClassNetwork: {
		{words: keyMTU, unset: "no mtu", absent: "mtu 1500"},
		{words: keyPause, many: true}, {words: "pause", many: true}, {words: "congestion-control"}, {words: "queue-limit"}, {words: "set", many: true},
	},
	inClassQueuing: {
		{words: keyBandwidth}, {words: keyPriority}, {words: keyShape}, {words: keyNonECN}, {words: keyWRED},
		{words: "queue-limit"}, {words: "afd"}, {words: "pause", many: true},
	},
	inSystem: {{words: keyNetwork}, {words: keyInput}, {words: keyOutput}, {words: keyQueuingInput}, {words: "service-policy", many: true}},
	inInterface: {
		{words: keyDescription},
		{words: keyMTU, unset: "no mtu", absent: "mtu 1500"},
		{words: keyPFC, absent: keyPFC + " auto"},
		{words: keyWatchdog, absent: keyWatchdog + " off"},
		{words: keyInput}, {words: keyOutput}, {words: keyQueuingInput}, {words: "service-policy", many: true},
		{words: keyShutdown},
		{words: keyReceive, unset: keyReceive + " off", absent: keyReceive + " off"},
		{words: keySend, unset: keySend + " off", absent: keySend + " off"},
		{words: keyChannel},
		{words: "switchport", many: true}, {words: "ip address", many: true}, {words: "ipv6 address", many: true}, {words: "speed"},
		{words: keyInherit}, {words: "lldp", many: true}, {words: "spanning-tree", many: true}, {words: "vrf member"}, {words: "priority-flow-control", many: true},
	},
}

func init() {
	grammar[inProfile] = append([]statement{{words: "state"}, {words: "max-ports"}}, grammar[inInterface]...)
}

// statementOf returns the statement that matches a line at a place.
func statementOf(at place, text string) (statement, bool) {
	text = strings.TrimPrefix(text, "no ")
	for _, s := range grammar[at] {
		if _, ok := cutWords(text, s.words); ok {
			return s, true
		}
	}
	return statement{}, false
}

// belongs reports whether a line is known at a place.
func belongs(at place, text string) bool {
	_, ok := statementOf(at, text)
	return ok
}

// elsewhere holds the first words of lines of the top level that have nothing to do with QoS. Such
// a line ends the blocks before it.
var elsewhere = []string{"aaa", "banner", "boot", "callhome", "class-map", "cli", "clock", "control-plane", "copp", "errdisable", "evpn", "fabric", "feature", "feature-set", "flow", "hardware",
	"hostname", "icam", "ip access-list", "ip arp", "ip domain-lookup", "ip domain-name", "ip name-server", "ip prefix-list", "ip route", "ipv6 access-list", "ipv6 route", "key", "line", "lldp", "logging", "mac",
	"monitor", "ntp", "nv", "nxapi", "object-group", "policy-map", "priority-flow-control", "rmon", "role", "route-map", "router", "snmp-server", "spanning-tree", "ssh", "switchname", "system", "tacacs-server", "telemetry",
	"track", "username", "vdc", "version", "vlan", "vpc", "vrf context"}

// takes reports whether a line is known at a place.
func takes(at place, text string) bool {
	if belongs(at, text) {
		return true
	}
	text = strings.TrimPrefix(text, "no ")
	return at == inGlobal && slices.ContainsFunc(elsewhere, func(words string) bool { _, ok := cutWords(text, words); return ok })
}

// keyOf returns the key that a line at a place sets. An unknown line is its own key.
func keyOf(at place, text string) string {
	if s, ok := statementOf(at, text); ok && !s.many {
		return s.words
	}
	return text
}

// unsetOf returns the command that removes a line.
func unsetOf(at place, text string) string {
	if s, ok := statementOf(at, text); ok && s.unset != "" {
		return s.unset
	}
	if rest, ok := strings.CutPrefix(text, "no "); ok {
		return rest
	}
	return "no " + text
}

// isDefault reports whether a line only states the default.
func isDefault(at place, text string) bool {
	s, ok := statementOf(at, text)
	return ok && s.absent == text
}

// cutWords removes leading words from a line.
func cutWords(text, words string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, words)
	if !ok || rest != "" && rest[0] != ' ' {
		return "", false
	}
	return strings.TrimLeft(rest, " "), true
}

// last returns the text after the key in the last line of a block that has the key. ok is false
// if there is no such line or it is negated.
func last(l *Line, key string) (rest string, at *Line, ok bool) {
	if l == nil {
		return "", nil, false
	}
	for _, s := range slices.Backward(l.Sub) {
		if rest, ok := cutWords(s.Text, key); ok {
			return rest, s, true
		}
		if t, ok := strings.CutPrefix(s.Text, "no "); ok {
			if _, ok := cutWords(t, key); ok {
				return "", s, false
			}
		}
	}
	return "", nil, false
}

// numbers reads a list of numbers, at most max each, and of DSCP names.
func numbers(s string, max int) ([]int, bool) {
	return lines.Numbers(s, func(n string) (int, bool) { return codePoint(n, max) })
}

// codePoint reads a number or, if max is 63, the name of a DSCP (RFC 2474, 2597, 3246, 5865).
func codePoint(s string, max int) (int, bool) {
	if n, ok := lines.Number(s, max); ok || max != 63 {
		return n, ok
	}
	s = strings.ToLower(s)
	if n, ok := map[string]int{"default": 0, "ef": 46, "va": 44, "voice-admit": 44}[s]; ok {
		return n, true
	}
	if n, ok := strings.CutPrefix(s, "cs"); ok {
		c, ok := lines.Number(n, 7)
		return c * 8, ok && len(n) == 1
	}
	if n, ok := strings.CutPrefix(s, "af"); ok && len(n) == 2 && n[0] >= '1' && n[0] <= '4' && n[1] >= '1' && n[1] <= '3' {
		return int(n[0]-'0')*8 + int(n[1]-'0')*2, true
	}
	return 0, false
}
