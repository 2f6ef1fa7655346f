package nxos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Lines is the grammar of NX-OS for the machine that edits configuration by
// lines. A policy or class-map that something names is not removed. Within a
// queuing policy bandwidth is given up before it is given.
var Lines = &lines.Grammar{
	Top:      inGlobal,
	Opens:    opens,
	Sets:     sets,
	Unset:    func(at place, _, held string) string { return unsetOf(at, held) },
	Rank:     rankOf,
	Default:  isDefault,
	Lasting:  []place{inSystem, inInterface},
	Named:    namedIn,
	Phases:   phases,
	Swap:     swaps,
	Rations:  map[place]lines.Ration{inClassQueuing: {Order: queueOrder, Frees: gives}},
	Known:    known,
	Indent:   2,
	Raw:      func(line string) bool { _, ok := bannerOf(line); return ok },
	Complete: complete,
	Gap: func(prev, next *Line, depth int) string {
		if depth == 0 && prev != nil && apart(prev, next) {
			return "\n"
		}
		return ""
	},
}

// opens returns what a block is known by, and what stands in it.
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

// namedIn returns whether something names a policy or class-map.
func namedIn(c *Config) func(section string) bool {
	used := namesIn(c)
	return func(section string) bool {
		h, _ := headOf(section)
		return h.at == inPolicy && used.policies[h.name] || h.at == inClassMap && used.classes[h.name]
	}
}

// swaps reports whether the old line goes before the new one comes. A policy
// attached in the place of another is attached once that is gone; only that of
// system qos is known to be replaced in one step.
func swaps(at place, key, was, is string) bool {
	return at == inInterface && strings.HasPrefix(key, "service-policy") ||
		at == inClassQueuing && key == keyBandwidth && form(was) != form(is)
}

// phases: the watchdog's timers come first: a switch that does not know their
// lines refuses them before anything in force is touched. An object is created
// before the lines that refer to it, and removed after them: network-qos
// policies that nothing uses yet, class-maps, policies, other global lines,
// system qos, interfaces, then removals. A network-qos policy in use is not
// edited while it is attached.
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

// timerKeys are the watchdog's timers, whose names no public document has.
var timerKeys = []string{keyInterval, keyMultiplier, keyRestore}

// rankOf orders what this package writes, as a Nexus prints it.
func rankOf(at place, text string) (rank int, ok bool) {
	if at == inPolicy {
		if text == classDefault {
			rank = 1 // it stays last
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

// form is a line without its last word: "bandwidth remaining percent".
func form(text string) string { return text[:max(0, strings.LastIndexByte(text, ' '))] }

// gives reports whether a class keeps its kind of share and makes it smaller.
func gives(was, is *Line) bool {
	_, _, strict := last(is, keyPriority)
	_, _, wasStrict := last(was, keyPriority)
	return !strict && !wasStrict && bandwidthOf(is) < bandwidthOf(was)
}

// bandwidthOf is the percentage that a class has; 0 for none.
func bandwidthOf(class *Line) int {
	rest, _, _ := last(class, keyBandwidth)
	n, _ := lines.Number(rest[strings.LastIndexByte(rest, ' ')+1:], 100)
	return n
}

// queueOrder orders a queuing policy's classes by queue; the default is the lowest.
func queueOrder(header string) int {
	n, _ := lines.Number(header[len(header)-1:], 9)
	return n
}

// linesOf returns a block's lines, but no classes, by key, and the keys in order.
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
