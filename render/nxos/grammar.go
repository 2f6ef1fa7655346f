package nxos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/forms"
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

// qosPlaces lists the places in which every line is about QoS.
var qosPlaces = []place{inClassMap, inPolicy, inClassQoS, inClassNetwork, inClassQueuing, inSystem}

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
	if strings.HasPrefix(text, keyBreakout+" ") {
		return head{}, false
	}
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
	keyNoDrop       = "pause no-drop"
	keyBreakout     = "interface breakout"
	keyBandwidth    = "bandwidth"
	keyPriority     = "priority"
	keyShape        = "shape"
	keyAFD          = "afd"
	keyNonECN       = "random-detect non-ecn"
	keyLimit        = "queue-limit"
	keyWRED         = "random-detect"
	keyDescription  = "description"
	keyPrecedence   = "match precedence"
	keyMatchGroup   = "match qos-group"
	keyInherit      = "inherit port-profile"
	keyTunnelMode   = "qos-mode pipe"
	keyState        = "state enabled"
)

// Attributes that a kind of line may change.
var (
	changesPause = []qos.Kind{qos.KindPFC, qos.KindMTU, qos.KindWatchdog, qos.KindHeadroom, qos.KindLossless, qos.KindMap}
	changesInput = changesPause
	changesQueue = []qos.Kind{qos.KindScheduler, qos.KindECN}
	changesGroup = []qos.Kind{qos.KindHeadroom, qos.KindLossless}
	changesAny   = slices.Concat(changesPause, changesQueue, []qos.Kind{qos.KindLAG, qos.KindAdminUp, qos.KindLinkPause})

	changesMTU      = []qos.Kind{qos.KindMTU}
	changesMap      = []qos.Kind{qos.KindMap}
	changesPolling  = []qos.Kind{qos.KindWatchdog, qos.KindWatchdogPoll}
	changesWatchdog = []qos.Kind{qos.KindWatchdog}
	changesLink     = []qos.Kind{qos.KindLinkPause}
	changesAdmin    = []qos.Kind{qos.KindAdminUp}
)

const (
	noActionPlace = "this tool cannot represent this action and leaves it"
	noMatchPlace  = "this tool cannot represent this match, so its packets are not known"
	noLinePlace   = "this tool cannot represent this line"
	whyNonECN     = "this tool cannot represent drops of traffic without ECN"
	whyLimit      = "whether a queue that drops nothing obeys the limit is not documented"
)

// grammar lists the forms of each place. Of two keys that begin alike, the longer comes first.
// Sources: Cisco Nexus 9000 Series NX-OS Command Reference 9.3(x); YangModels/yang
// vendor/cisco/nx/9.3-2/Cisco-NX-OS-device.yang; batfish CiscoNxos_policy_map.g4 and
// CiscoNxos_class_map.g4.
var grammar = forms.NewTable(slices.Concat(
	standing([]place{inGlobal},
		forms.Form{Key: keyWatchdog, Args: "on|off", Absent: keyWatchdog + " off", Kinds: changesWatchdog},
		forms.Form{Key: keyInterval, Args: "<0-1000000>", Kinds: changesPolling},
		forms.Form{Key: keyMultiplier, Args: "<0-1000000>", Kinds: changesWatchdog},
		forms.Form{Key: keyRestore, Args: "<0-1000000>", Kinds: changesWatchdog},
		forms.Form{Key: keyFixed, Args: "0"},
		forms.Form{Key: keyFixed, Args: "<0-1000000>", Why: "this tool cannot represent a fixed time after which a queue is restored"},
		forms.Form{Key: keyOverride, Args: "off", Kinds: changesPause},
		forms.Form{Key: "hardware access-list tcam region", Many: true, Other: true},
	),
	standing([]place{inClassMap},
		forms.Form{Key: keyDSCP, Args: "<dscps>", Many: true, Kinds: changesInput, Written: true},
		forms.Form{Key: keyCoS, Args: "<list:7>", Many: true, Kinds: changesInput, Written: true},
		forms.Form{Key: keyPrecedence, Args: "<list:7>", Many: true, Kinds: changesInput},
		forms.Form{Key: keyPrecedence, Args: precedences, Many: true, Why: noMatchPlace, Kinds: changesInput},
		forms.Form{Key: keyDescription, Args: "*"},
		forms.Form{Key: keyMatchGroup, Args: "<0-511>", Many: true, Why: noMatchPlace, Kinds: changesAny},
		forms.Form{Key: "match", Args: "access-group name <word>", Many: true, Why: noMatchPlace, Kinds: changesInput},
		forms.Form{Key: "match", Args: "protocol <word>", Many: true, Why: noMatchPlace, Kinds: changesInput},
		forms.Form{Key: "match", Many: true, Why: noMatchPlace, Kinds: changesInput},
	),
	standing([]place{inPolicy},
		forms.Form{Key: keyDescription, Args: "*"},
		forms.Form{Key: "class", Args: "[type queuing|network-qos] <word>", Many: true, Kinds: changesAny},
	),
	standing([]place{inClassQoS},
		forms.Form{Key: keyGroup, Args: "<0-511>", Kinds: changesInput, Written: true},
		forms.Form{Key: keySetDSCP, Args: "<dscps>", Many: true, Kinds: changesMap},
		forms.Form{Key: "set", Args: "cos|precedence <0-7>", Many: true, Why: noActionPlace, Kinds: changesMap},
		forms.Form{Key: "set", Many: true, Why: noActionPlace, Kinds: changesMap},
		forms.Form{Key: "police", Many: true, Why: noActionPlace},
		forms.Form{Key: "service-policy", Why: noActionPlace},
	),
	standing([]place{inClassNetwork},
		forms.Form{Key: keyMTU, Args: "<0-" + strconv.Itoa(maxMTU) + ">", Unset: "no mtu", Absent: "mtu 1500", Kinds: changesMTU, Written: true},
		forms.Form{Key: keyPause, Args: "<list:7>", Many: true, Kinds: changesPause, Written: true},
		forms.Form{Key: keyNoDrop, Args: "[pfc-cos <list:7>]", Kinds: changesPause},
		forms.Form{Key: "pause", Many: true, Why: noLinePlace},
		forms.Form{Key: "congestion-control", Why: noLinePlace},
		forms.Form{Key: "queue-limit", Why: noLinePlace},
		forms.Form{Key: "set", Many: true, Why: noLinePlace},
	),
	standing([]place{inClassQueuing},
		forms.Form{Key: keyBandwidth, Args: "[remaining] percent <0-100>", Kinds: changesQueue, Written: true},
		forms.Form{Key: keyPriority, Args: "[level <1-8>]", Kinds: changesQueue, Written: true},
		forms.Form{Key: keyShape, Args: shapes, Kinds: changesQueue, Written: true},
		forms.Form{Key: keyShape, Kinds: changesQueue},
		forms.Form{Key: keyNonECN, Args: thresholds + " [drop-probability <0-100>]", Why: whyNonECN},
		forms.Form{Key: keyNonECN, Why: whyNonECN},
		forms.Form{Key: keyWRED, Args: "[" + thresholds + "] [drop-probability <0-100>] [weight <0-15>] [cap-average] [ecn]", Kinds: changesQueue, Written: true},
		forms.Form{Key: keyWRED, Args: "threshold burst-optimized|mesh-optimized [ecn]", Kinds: changesQueue},
		forms.Form{Key: keyWRED, Kinds: changesQueue},
		forms.Form{Key: keyLimit, Args: "[dynamic] <0-12582912> [packets|bytes|kbytes|mbytes|gbytes|ms|us|percent]", Why: whyLimit, Open: true},
		forms.Form{Key: keyLimit, Why: whyLimit, Open: true},
		forms.Form{Key: keyAFD, Args: "[queue-desired <0-52428800> bytes|kbytes|mbytes] [ecn]", Kinds: changesQueue, Written: true},
		forms.Form{Key: keyAFD, Kinds: changesQueue},
		forms.Form{Key: "pause", Args: "buffer-size <0-268435456> pause-threshold <0-268435456> resume-threshold <0-268435456>", Many: true, Why: noLinePlace, Kinds: changesGroup},
		forms.Form{Key: "pause", Many: true, Why: noLinePlace, Kinds: changesGroup},
	),
	standing([]place{inSystem},
		forms.Form{Key: keyNetwork, Args: policyName, Kinds: changesPause},
		forms.Form{Key: keyInput, Args: policyName, Kinds: changesInput},
		forms.Form{Key: keyOutput, Args: policyName, Kinds: changesQueue},
		forms.Form{Key: keyQueuingInput, Args: policyName, Kinds: changesGroup},
		forms.Form{Key: "service-policy", Many: true},
	),
	standing([]place{inProfile},
		forms.Form{Key: "state", Args: "enabled", Kinds: changesAny},
		forms.Form{Key: "max-ports", Args: "*"},
	),
	standing([]place{inInterface, inProfile},
		forms.Form{Key: keyDescription, Args: "*"},
		forms.Form{Key: keyMTU, Args: "<0-65536>", Unset: "no mtu", Absent: "mtu 1500", Kinds: changesMTU, Attrs: []qos.Attr{qos.KindMTU.Attr()}, Written: true},
		forms.Form{Key: keyPFC, Args: pfcMode, Absent: keyPFC + " auto", Kinds: changesPause, Attrs: []qos.Attr{qos.KindPFC.Attr()}, Written: true},
		forms.Form{Key: keyWatchdog, Args: "on|off *", Absent: keyWatchdog + " off", Kinds: changesWatchdog, Attrs: []qos.Attr{qos.KindWatchdog.Attr()}, Written: true},
		forms.Form{Key: keyInput, Args: policyName, Kinds: changesInput, Attrs: classification, Written: true},
		forms.Form{Key: keyOutput, Args: policyName, Kinds: changesQueue, Attrs: scheduling, Written: true},
		forms.Form{Key: keyQueuingInput, Args: policyName, Kinds: changesGroup},
		forms.Form{Key: "service-policy", Many: true, Why: forms.NotKnown},
		forms.Form{Key: keyShutdown, Args: forms.Nothing, Kinds: changesAdmin, Written: true},
		forms.Form{Key: keyReceive, Args: "on|off", Unset: keyReceive + " off", Absent: keyReceive + " off", Kinds: changesLink, Attrs: []qos.Attr{qos.KindLinkPause.Attr()}, Written: true},
		forms.Form{Key: keySend, Args: "on|off", Unset: keySend + " off", Absent: keySend + " off", Kinds: changesLink, Attrs: []qos.Attr{qos.KindLinkPause.Attr()}, Written: true},
		forms.Form{Key: keyChannel, Args: "<1-4096> [force] [mode active|passive|on] [force]", Kinds: changesAny},
		forms.Form{Key: "switchport", Args: "*", Many: true, Kinds: changesAdmin},
		forms.Form{Key: "ip address", Args: "*", Many: true},
		forms.Form{Key: "ipv6 address", Args: "*", Many: true},
		forms.Form{Key: "speed", Args: "*"},
		forms.Form{Key: keyInherit, Args: "<word>", Kinds: changesAny},
		forms.Form{Key: "lldp", Args: "*", Many: true},
		forms.Form{Key: "spanning-tree", Args: "*", Many: true},
		forms.Form{Key: "vrf member", Args: "*"},
		forms.Form{Key: "priority-flow-control", Many: true, Why: forms.NotKnown},
	),
))

// standing puts forms into modes.
func standing(modes []place, list ...forms.Form) []forms.Form {
	for i := range list {
		list[i].In = modes
	}
	return list
}

// Patterns of arguments: a PFC mode, the name of a policy with the option that follows it, the
// thresholds of a curve, the rates of a shaper, and names of IP precedences.
const (
	pfcMode    = "on|off|auto [send-tlv]"
	policyName = "<word> [no-stats]"
	thresholds = "minimum-threshold <0-1000000000> " + sizes + " maximum-threshold <0-1000000000> " + sizes
	sizes      = "bytes|kbytes|mbytes|packets"
	shapes     = "[min <0-1000000000> bps|kbps|mbps|gbps] [max <0-1000000000> bps|kbps|mbps|gbps]"

	precedences = "critical|flash|flash-override|immediate|internet|network|priority|routine"
)

// elsewhere holds the first words of lines that have nothing to do with QoS. One of the top level
// ends the blocks before it, unless an interface has such a line as well.
var elsewhere = forms.NewTable(func() (out []forms.Form) {
	for _, words := range []string{
		"bandwidth", "bfd", "cdp", "copp", "duplex", "encapsulation", "fabric forwarding mode", "fec", "flow", "hardware profile", "hsrp", "ip access-group", "ip arp", "ip dhcp", "ip flow", "ip forward", "ip igmp", "ip ospf",
		"ip pim", "ip policy", "ip port", "ip proxy-arp", "ip redirects", "ip router", "ip unnumbered", "ip unreachables", "ip verify", "ipv6", "isis", "key", "lacp", "link", "load-interval", "logging event", "mac port", "mac-address",
		"medium", "monitor", "negotiate", "ntp", "ptp", "snmp", "storm-control", "track", "udld", "vpc <1-4096>", "vpc orphan-port", "vpc peer-link", "vrrp",
	} {
		out = append(out, forms.Form{In: []forms.Mode{inInterface}, Key: words, Other: true})
	}
	for _, words := range []string{
		keyBreakout, "aaa", "banner", "boot", "callhome", "class-map", "cli", "clock", "control-plane", "copp", "errdisable", "evpn", "fabric", "feature", "feature-set", "flow", "hardware",
		"hostname", "icam", "ip access-list", "ip arp", "ip domain-lookup", "ip domain-name", "ip name-server", "ip prefix-list", "ip route", "ipv6 access-list", "ipv6 route",
		"key", "line", "lldp", "logging", "mac", "monitor", "ntp", "nv", "nxapi", "object-group", "policy-map", "priority-flow-control", "rmon", "role", "route-map", "router",
		"snmp-server", "spanning-tree", "ssh", "switchname", "system", "tacacs-server", "telemetry", "track", "username", "vdc", "version", "vlan", "vpc", "vrf context",
	} {
		out = append(out, forms.Form{In: []forms.Mode{inGlobal}, Key: words, Other: true})
	}
	return out
}())

// formOf returns the form that describes a line at a place.
func formOf(at place, text string) (forms.Found, bool) { return grammar.Find(at, text) }

// belongs reports whether a line is known at a place.
func belongs(at place, text string) bool {
	_, ok := formOf(at, text)
	return ok
}

// knows reports whether a line of a configuration is known at a place.
func knows(at place, l *Line) bool {
	_, ok := grammar.Lookup(at, l)
	return ok
}

// writes reports whether this package writes the lines of a key at a place.
func writes(at place, key string) bool {
	f, ok := formOf(at, key)
	return ok && f.Sets() == key && f.First().Written
}

// keyOf returns the key that a line at a place sets. An unknown line is its own key.
func keyOf(at place, text string) string {
	if f, ok := formOf(at, text); ok {
		return f.Sets()
	}
	return text
}

// unsetOf returns the command that removes a line.
func unsetOf(at place, text string) string {
	if f, ok := formOf(at, text); ok && f.Unset != "" {
		return f.Unset
	}
	if rest, ok := strings.CutPrefix(text, "no "); ok {
		return rest
	}
	return "no " + text
}

// isDefault reports whether a line only states the default.
func isDefault(at place, text string) bool {
	f, ok := formOf(at, text)
	return ok && f.Absent != "" && f.Absent == text
}

// cutWords removes leading words from a line.
func cutWords(text, words string) (rest string, ok bool) { return forms.CutWords(text, words) }

// last returns the text after the key in the last line of a block that has the key and arguments
// that the switch takes. ok is false if there is no such line or it is negated.
func last(l *Line, key string) (rest string, at *Line, ok bool) {
	if l == nil {
		return "", nil, false
	}
	for _, s := range slices.Backward(l.Sub) {
		if rest, ok := cutWords(s.Text, key); ok && !forms.Misfits(s) {
			return rest, s, true
		}
		if t, ok := forms.CutNegation(s.Text); ok && !forms.Misfits(s) {
			if _, ok := cutWords(t, key); ok {
				return "", s, false
			}
		}
	}
	return "", nil, false
}

// numbers reads a list of numbers, at most max each, and of DSCP names.
func numbers(s string, max int) ([]int, bool) {
	return lines.Numbers(s, func(n string) (int, bool) {
		if max == qos.NumDSCP-1 {
			return lines.CodePoint(n)
		}
		return lines.Number(n, max)
	})
}
