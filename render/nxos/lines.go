package nxos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Lines is the grammar of NX-OS for package lines. A policy or class-map that is still referred
// to is not removed. Within a queuing policy, bandwidth is released before it is assigned.
var Lines = &lines.Grammar{
	Top:       inGlobal,
	Opens:     opens,
	Sets:      sets,
	Unset:     func(at place, _, held string) string { return unsetOf(at, held) },
	Rank:      rankOf,
	Default:   isDefault,
	Lasting:   []place{inSystem, inInterface},
	Named:     namedIn,
	Phases:    phases,
	Swap:      swaps,
	Rations:   map[place]lines.Ration{inClassQueuing: {Order: queueOrder, Frees: getsSmallerShare}},
	Known:     known,
	Indent:    2,
	Raw:       func(line string) bool { _, ok := bannerOf(line); return ok },
	Leave:     func(top []*Line) map[*Line]bool { return layout.Leave(top) },
	Outermost: forms.Outermost,
	Complete:  complete,
	Gap: func(prev, next *Line, depth int) string {
		if depth == 0 && prev != nil && apart(prev, next) {
			return "\n"
		}
		return ""
	},
}

// opens returns the identity of a block and the place of the lines in it.
func opens(section, line string) (id string, at place, ok bool) {
	if section == "" {
		h, ok := headOf(line)
		return strconv.Itoa(int(h.at)) + " " + h.typ + " " + h.name, h.at, ok
	}
	typ, name, ok := classOf(line)
	if !ok {
		return "", 0, false
	}
	h, _ := headOf(section)
	return typ + " " + name, classPlace(h.typ), h.at == inPolicy
}

func sets(at place, line string) lines.Sets {
	if isComment(line) && (at == inGlobal || line[0] == '!') {
		return lines.Sets{}
	}
	return lines.Sets{Keys: []string{keyOf(at, line)}}
}

// namedIn returns a function that reports whether anything refers to a policy or class-map.
func namedIn(c *Config) func(section string) bool {
	used := namesIn(c)
	return func(section string) bool {
		h, _ := headOf(section)
		return h.at == inPolicy && used.policies[h.name] || h.at == inClassMap && used.classes[h.name]
	}
}

// swaps reports whether the old line must be removed before the new one is typed. A policy on an
// interface is attached only after the previous one is detached; only system qos is known to
// replace a policy in one step.
func swaps(at place, key, was, is string) bool {
	return at == inInterface && strings.HasPrefix(key, "service-policy") ||
		at == inClassQueuing && key == keyBandwidth && withoutLastWord(was) != withoutLastWord(is)
}

// phases returns the phase of each command. The watchdog timers come first: a switch that does
// not know them refuses before anything in force is touched. Objects are created before the
// lines that refer to them and removed afterwards: unused network-qos policies, class-maps,
// policies, other global lines, system qos, interfaces, then removals. The network-qos policy in
// use is edited only after it is detached.
func phases(have *Config) func(section, key string, gone bool) int {
	network := ""
	for _, l := range have.Lines {
		if l.Text == systemHeader {
			network, _, _ = last(l, keyNetwork)
		}
	}
	return func(section, key string, gone bool) int {
		h, _ := headOf(section)
		switch {
		case section == "" && slices.Contains(timerKeys, key):
			return 0
		case section == "":
			return 5
		case h.at == inPolicy && gone:
			return 8
		case h.at == inClassMap && gone:
			return 9
		case h.at == inPolicy && h.typ == typeNetwork && h.name == network:
			return 8
		case h.at == inPolicy && h.typ == typeNetwork:
			return 1
		case h.at == inClassMap:
			return 2
		case h.at == inPolicy && h.typ == typeQoS:
			return 3
		case h.at == inPolicy:
			return 4
		case h.at == inSystem:
			return 6
		}
		return 7
	}
}

// timerKeys lists the watchdog timers, whose syntax no public document confirms.
var timerKeys = []string{keyInterval, keyMultiplier, keyRestore}

// rankOf orders the lines that this package writes as a Nexus prints them.
func rankOf(at place, text string) (rank int, ok bool) {
	if at == inPolicy {
		if text == classDefault {
			rank = 1 // the default class stays last
		}
		_, _, ok = classOf(text)
		return rank, ok
	}
	if at != inGlobal {
		return 0, false
	}
	h, block := headOf(text)
	switch {
	case !block && belongs(inGlobal, text):
		return 2, true
	case !block:
		return 0, false
	case h.at == inPolicy && h.typ == typeNetwork:
		return 1, true
	case h.at == inClassMap:
		return 3, true
	case h.at == inPolicy && h.typ == typeQoS:
		return 4, true
	case h.at == inPolicy:
		return 5, true
	case h.at == inSystem:
		return 6, true
	}
	return 7, true
}

const classDefault = "class class-default"

// withoutLastWord returns a line without its last word: "bandwidth remaining percent".
func withoutLastWord(text string) string { return text[:max(0, strings.LastIndexByte(text, ' '))] }

// getsSmallerShare reports whether a class stays weighted and gets a smaller bandwidth.
func getsSmallerShare(was, is *Line) bool {
	_, _, strict := last(is, keyPriority)
	_, _, wasStrict := last(was, keyPriority)
	return !strict && !wasStrict && bandwidthOf(is) < bandwidthOf(was)
}

// bandwidthOf returns the bandwidth of a class in percent; 0 if it has none.
func bandwidthOf(class *Line) int {
	rest, _, _ := last(class, keyBandwidth)
	n, _ := lines.Number(rest[strings.LastIndexByte(rest, ' ')+1:], 100)
	return n
}

// queueOrder returns the rank of a class in a queuing policy: its queue; the default class is
// the lowest.
func queueOrder(header string) int {
	n, _ := lines.Number(header[len(header)-1:], 9)
	return n
}

// linesOf returns the lines of a block except its classes, by key, and the keys in order.
func linesOf(at place, block *Line) (keys []string, text map[string]string) {
	text = map[string]string{}
	if block == nil {
		return nil, text
	}
	for _, l := range block.Sub {
		if _, _, isClass := classOf(l.Text); isClass && at == inPolicy || l.Text[0] == '!' {
			continue
		}
		key := keyOf(at, l.Text)
		if _, ok := text[key]; !ok {
			keys = append(keys, key)
		}
		text[key] = l.Text
	}
	return keys, text
}
